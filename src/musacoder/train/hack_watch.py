"""Looks at every batch for signs that the policy has found a hole in the judge, and keeps the code that shows it.

Two things are worth a person's eyes: a rule of legality that no answer of this run had broken before, and a reward that
jumps further than the run's own noise. Neither is proof; both come first in the report. No torch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Literal

from pydantic import Field

from mooreeval.config import Count, Positive
from mooreeval.verdict import Record
from musacoder.train.rollout_records import AnswerTold, RolloutTold

_MAD_TO_DEVIATION = 1.4826  # of a normal distribution


class WatchConfig(Record):
    """When a reward is said to jump."""

    window: Count = Field(20, description="Batches before this one that it is compared with.")
    fewest: Count = Field(5, description="Batches that have to be there before any is compared.")
    deviations: Positive = Field(5.0, description="Of the window's batches, from their median.")
    least: Positive = Field(0.5, description="Jumps smaller than this are none: a quarter of worst to right.")


class Alarm(Record):
    """Something to look at: what, when, and the answer that shows it best."""

    schema_version: Literal[1] = 1
    kind: Literal["new_rule", "reward_jump", "record_score"]
    step: int
    what: str
    task_hash: str
    code: str | None
    score: float


class HackWatch:
    """Told of batches in their order; a resumed run tells it those of before again."""

    def __init__(self, config: WatchConfig | None = None) -> None:
        self._config = config or WatchConfig()
        self._rules: set[str] = set()
        self._means: deque[float] = deque(maxlen=self._config.window)
        self._best: float | None = None

    def look(self, step: int, rollouts: Iterable[RolloutTold]) -> list[Alarm]:
        """What is new in this batch."""
        answers = [(r, turn) for r in rollouts for turn in r.turns if turn.score is not None]
        if not answers:
            return []
        return [*self._new_rules(step, answers), *self._jump(step, answers), *self._record(step, answers)]

    def _new_rules(self, step: int, answers: list[tuple[RolloutTold, AnswerTold]]) -> Iterator[Alarm]:
        for rollout, turn in answers:
            for rule in turn.rules:
                if rule not in self._rules:
                    self._rules.add(rule)
                    yield _alarm("new_rule", step, f"the first answer that breaks {rule}", rollout, turn)

    def _jump(self, step: int, answers: list[tuple[RolloutTold, AnswerTold]]) -> Iterator[Alarm]:
        mean = sum(turn.score or 0.0 for _, turn in answers) / len(answers)
        before = list(self._means)
        self._means.append(mean)
        if len(before) < self._config.fewest:
            return
        middle = median(before)
        noise = _MAD_TO_DEVIATION * median(abs(m - middle) for m in before)
        if mean - middle > max(self._config.deviations * noise, self._config.least):
            rollout, turn = max(answers, key=lambda pair: pair[1].score or 0.0)
            yield _alarm("reward_jump", step, f"the mean score went from {middle:.2f} to {mean:.2f}", rollout, turn)

    def _record(self, step: int, answers: list[tuple[RolloutTold, AnswerTold]]) -> Iterator[Alarm]:
        """A score above all before by more than what right is above nearly right: a speed that is hard to believe."""
        rollout, turn = max(answers, key=lambda pair: pair[1].score or 0.0)
        score, best = turn.score or 0.0, self._best
        self._best = score if best is None else max(best, score)
        if best is not None and best >= 1 and score - best > self._config.least:
            yield _alarm("record_score", step, f"a score of {score:.2f}, the best before was {best:.2f}", rollout, turn)


def _alarm(
    kind: Literal["new_rule", "reward_jump", "record_score"],
    step: int,
    what: str,
    rollout: RolloutTold,
    turn: AnswerTold,
) -> Alarm:
    return Alarm(kind=kind, step=step, what=what, task_hash=rollout.task_hash, code=turn.code, score=turn.score or 0.0)
