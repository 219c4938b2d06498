"""Rollouts: a first turn is sampled and judged, and repaired on the judge's feedback until it passes.

    asks ──prompts──> sampler (all first turns at once) ──> judge ──> those that failed ──> sampler ──> judge ──> groups

An answer that could not be judged ends its trajectory without a score: it leaves its group and counts nowhere. A group
with too few left is dropped, counted and replaced by another task.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Protocol

from pydantic import Field

from mooreeval.candidate import Candidate
from mooreeval.config import Count, VerifyConfig, Whole
from mooreeval.errors import NotJudged, TaskError
from mooreeval.extract import extract
from mooreeval.feedback import feedback
from mooreeval.many import as_completed
from mooreeval.reward import reward
from mooreeval.task import Task
from mooreeval.verdict import Record
from mooreeval.verify import Verifier
from musacoder.models.types import Message
from musacoder.prompts import PromptTooLong, Turn
from musacoder.prompts.templates import fence
from musacoder.rollout.trajectory import FirstTurn, Group, GroupAsk, JudgedTurn, Trajectory


class RolloutConfig(Record):
    """How a group is rolled out."""

    answers: Annotated[Count, Field(ge=2, le=1024)] = Field(8, description="First answers to a prompt: the group.")
    turns: Annotated[Count, Field(le=16)] = Field(3, description="Turns of a trajectory at most; it ends at a pass.")
    judging: Annotated[Count, Field(le=256)] = Field(2, description="Answers that are judged at once.")
    fewest: Annotated[Count, Field(ge=2)] = Field(2, description="Judged answers below which a group is dropped.")
    replacements: Whole = Field(2, description="How often a dropped group's place is given to another task in a step.")


@dataclass(frozen=True)
class Sampled:
    """One answer of a sampler."""

    text: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: str | None  # "stop" or "length"


@dataclass(frozen=True)
class Answers:
    """What one call of a sampler gives."""

    policy_version: int
    to: list[list[Sampled]]  # each prompt, in the order of the prompts


class TurnSampler(Protocol):
    """What draws the answers: the policy, or an older version of it."""

    def answers(self, prompts: Sequence[Sequence[Message]], n: int) -> Answers:
        """n answers to each prompt."""
        ...


class PromptWriter(Protocol):
    """What writes the prompts; both raise PromptTooLong."""

    def first(self, task: Task) -> Sequence[Message]: ...

    def repair(self, task: Task, history: Sequence[Turn]) -> Sequence[Message]: ...


@dataclass(frozen=True)
class Span:
    """When something was done, in seconds of the monotonic clock."""

    what: str  # "sample" or "judge"
    begun: float
    ended: float


@dataclass
class RolloutFigures:
    """What a call of the driver did, for the training run's metrics."""

    spans: list[Span] = field(default_factory=list)
    answers: int = 0
    tokens: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # not_judged, dropped_groups, replaced_groups, long_prompts


@dataclass(frozen=True)
class _Live:
    """A trajectory that is under way."""

    index: int  # among all first turns, which keeps a group in the order in which it was sampled
    group: int
    trajectory: Trajectory


class Driver:
    """Rolls groups out, all of a step together: the sampler works best on many prompts."""

    def __init__(
        self,
        prompts: PromptWriter,
        sampler: TurnSampler,
        verifier: Verifier,
        config: RolloutConfig,
        verify: VerifyConfig,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """`close` frees the verifier's threads where the caller is interrupted."""
        self._prompts, self._sampler, self._verifier = prompts, sampler, verifier
        self.config, self._verify, self._close = config, verify, close
        self.figures = RolloutFigures()

    def groups(self, asks: Sequence[GroupAsk], fresh: Callable[[], GroupAsk] | None = None) -> list[Group | None]:
        """A group for each ask, in their order; None where it was dropped and could not be replaced.

        Args:
            fresh: gives another task for the place of a group that was dropped; none: no replacements.
        """
        places: list[Group | None] = [None] * len(asks)
        waiting = dict(enumerate(asks))
        for attempt in range(1 + (self.config.replacements if fresh else 0)):
            if attempt and fresh:
                waiting = {place: fresh() for place in waiting}
                self.figures.counts["replaced_groups"] += len(waiting)
            for place, group in zip(list(waiting), self._rolled(list(waiting.values())), strict=True):
                if group is not None and len(group.judged) >= self.config.fewest:
                    places[place] = group
                    del waiting[place]
            self.figures.counts["dropped_groups"] += len(waiting)
            if not waiting:
                break
        return places

    def _rolled(self, asks: Sequence[GroupAsk]) -> list[Group | None]:
        prompts = [self._first_prompt(ask) for ask in asks]
        asked = [place for place, prompt in enumerate(prompts) if prompt is not None]
        live = self._first_turns(asks, [(place, prompts[place] or ()) for place in asked])
        finished: list[_Live] = []
        for _ in range(self.config.turns - 1):
            finished += [item for item in live if not self._goes_on(item)]
            live = self._next_turns(asks, [item for item in live if self._goes_on(item)], finished)
        everyone = sorted(finished + live, key=lambda item: item.index)
        return [
            self._group(ask, prompt, [item.trajectory for item in everyone if item.group == place])
            for place, (ask, prompt) in enumerate(zip(asks, prompts, strict=True))
        ]

    @staticmethod
    def _goes_on(item: _Live) -> bool:
        last = item.trajectory.last
        return last.score is not None and not last.passed

    @staticmethod
    def _group(ask: GroupAsk, prompt: Sequence[Message] | None, trajectories: Sequence[Trajectory]) -> Group | None:
        return Group(ask, tuple(prompt), tuple(trajectories)) if prompt is not None and trajectories else None

    def _first_prompt(self, ask: GroupAsk) -> Sequence[Message] | None:
        try:
            if (failure := ask.repaired) is None:
                return self._prompts.first(ask.task)
            turn = Turn(fence(failure.code, "python"), failure.verdict, failure.feedback)
            return self._prompts.repair(ask.task, [turn])
        except PromptTooLong:
            self.figures.counts["long_prompts"] += 1
            return None

    def _first_turns(self, asks: Sequence[GroupAsk], prompts: Sequence[tuple[int, Sequence[Message]]]) -> list[_Live]:
        drawn = self._drawn([prompt for _, prompt in prompts], self.config.answers)
        version = drawn.policy_version
        answers = [(place, answer) for (place, _), several in zip(prompts, drawn.to, strict=True) for answer in several]
        judged = self._judged([(asks[place].task, answer) for place, answer in answers])
        return [
            _Live(index, place, Trajectory(FirstTurn(a.prompt_ids, a.token_ids, a.logprobs, version), (turn,)))
            for index, ((place, a), turn) in enumerate(zip(answers, judged, strict=True))
        ]

    def _next_turns(self, asks: Sequence[GroupAsk], live: Sequence[_Live], finished: list[_Live]) -> list[_Live]:
        """Those that got one more turn; whoever's prompt is too long ends as it is."""
        prompts, asked = [], []
        for item in live:
            try:
                prompts.append(self._prompts.repair(asks[item.group].task, _history(asks[item.group], item.trajectory)))
                asked.append(item)
            except PromptTooLong:
                self.figures.counts["long_prompts"] += 1
                finished.append(item)
        drawn = [answer for (answer,) in self._drawn(prompts, 1).to]
        judged = self._judged([(asks[item.group].task, a) for item, a in zip(asked, drawn, strict=True)])
        return [
            replace(item, trajectory=item.trajectory.with_turn(turn)) for item, turn in zip(asked, judged, strict=True)
        ]

    def _drawn(self, prompts: Sequence[Sequence[Message]], n: int) -> Answers:
        if not prompts:
            return Answers(0, [])
        since = time.monotonic()
        drawn = self._sampler.answers(prompts, n)
        self.figures.spans.append(Span("sample", since, time.monotonic()))
        self.figures.answers += sum(map(len, drawn.to))
        self.figures.tokens += sum(len(answer.token_ids) for several in drawn.to for answer in several)
        return drawn

    def _judged(self, answers: Sequence[tuple[Task, Sampled]]) -> list[JudgedTurn]:
        since = time.monotonic()
        jobs: Iterator[Callable[[], tuple[int, JudgedTurn]]] = (
            (lambda i=i, task=task, answer=answer: (i, self._judge(task, answer)))
            for i, (task, answer) in enumerate(answers)
        )
        turns = dict(as_completed(jobs, self.config.judging, self._close))
        self.figures.spans.append(Span("judge", since, time.monotonic()))
        self.figures.counts["not_judged"] += sum(turn.score is None for turn in turns.values())
        return [turns[i] for i in range(len(answers))]

    def _judge(self, task: Task, answer: Sampled) -> JudgedTurn:
        candidate = extract(answer.text, finish_reason=answer.finish_reason)
        code = candidate.code if isinstance(candidate, Candidate) else None
        try:
            verdict = self._verifier.verify(task, candidate)
            score = reward(verdict, self._verify.reward)
        except (NotJudged, TaskError, ValueError) as error:
            return JudgedTurn(answer.text, code, None, "", None, not_judged=str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours with one answer must not end a training run
            return JudgedTurn(answer.text, code, None, "", None, not_judged=f"{type(error).__name__}: {error}")
        why = f"unsupported: {verdict.unsupported_feature}" if score is None else None
        return JudgedTurn(answer.text, code, verdict, feedback(verdict, code, self._verify.feedback), score, why)


def _history(ask: GroupAsk, trajectory: Trajectory) -> list[Turn]:
    """What the next prompt shows: the failure that came back, if it was one, and this trajectory's own turns."""
    before = ask.repaired
    shown = [] if before is None else [Turn(fence(before.code, "python"), before.verdict, before.feedback)]
    return shown + [Turn(t.answer, t.verdict, t.feedback) for t in trajectory.turns if t.verdict is not None]
