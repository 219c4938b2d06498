"""What `generate` knows of its answers: which is the best, what to ask next, what has been spent.

All of it follows from the records of the run, so that a run that goes on decides as it would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mooreeval.config import Baseline
from mooreeval.reward import speedup
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier
from musacoder.config import BudgetConfig
from musacoder.conversation import Conversation
from musacoder.models import Model
from musacoder.pipeline import REPAIRABLE
from musacoder.prompts import Prompt, PromptConfig
from musacoder.runlog import Judged, Key, RunFolder, Sample
from musacoder.suites import SuiteTask

_TOLD = {*REPAIRABLE, Status.CORRECT.value}  # what a model can learn something from


@dataclass(frozen=True)
class Result:
    """How one turn ended."""

    key: Key
    how: str  # a status, "not_judged", or the class of a failure
    reason: str = ""  # one line
    speedup: float | None = None  # over the baseline; None where it is not right, or was not timed

    @property
    def is_right(self) -> bool:
        return self.how == Status.CORRECT


def results_of(run: RunFolder, baseline: Baseline) -> list[Result]:
    """Every turn that has ended, by turn and then by answer."""
    failed = (Result(s.key, s.failure.kind, s.failure.message) for s in run.samples() if s.failure)
    judged = (_result(v, baseline) for v in run.verdicts())
    return sorted([*failed, *judged], key=lambda r: (r.key.turn, r.key.index))


def _result(judged: Judged, baseline: Baseline) -> Result:
    if judged.verdict is None:
        return Result(judged.key, "not_judged", judged.not_judged or "")
    verdict = judged.verdict
    return Result(judged.key, verdict.status.value, verdict.reason, measured(verdict, baseline))


def measured(verdict: Verdict, baseline: Baseline) -> float | None:
    """The speed-up of a right answer; None where it was not timed against this baseline."""
    if verdict.status is not Status.CORRECT or verdict.timing is None:
        return None
    return None if getattr(verdict.timing, f"{baseline}_ms") is None else speedup(verdict.timing, baseline)


def best_of(results: Iterable[Result]) -> Result | None:
    """The right answer with the highest speed-up, timed before untimed, the earliest of equals; None where none is."""
    right = [result for result in results if result.is_right]
    return max(right, key=lambda r: -1.0 if r.speedup is None else r.speedup, default=None)


def optimisation_turns(results: Sequence[Result]) -> list[Result]:
    """Those that were asked after the same answer had been right."""
    right = [r.key for r in results if r.is_right]
    return [r for r in results if any(k.index == r.key.index and k.turn < r.key.turn for k in right)]


def next_turn(results: Sequence[Result], run: RunFolder) -> Key | None:
    """The next optimisation turn: one that was begun, else a new one of the best answer; None where none is right."""
    best = best_of(results)
    if best is None:
        return None
    ended = {result.key for result in results}
    begun = [s.key for s in run.samples() if s.key not in ended]
    last = max(key.turn for key in ended if key.index == best.key.index)
    return begun[0] if begun else best.key._replace(turn=last + 1)


def is_spent(budget: BudgetConfig, results: Sequence[Result], run: RunFolder) -> bool:
    """Whether a bound of the budget is reached."""
    if len(optimisation_turns(results)) >= budget.turns:
        return True
    if budget.tokens is not None and sum(s.completion_tokens or 0 for s in run.samples()) >= budget.tokens:
        return True
    return budget.seconds is not None and seconds_spent(run) >= budget.seconds


def seconds_spent(run: RunFolder) -> float:
    """Seconds in which something was asked or judged, over all times that the run was gone on with."""
    spans = [(s.asked_at, s.answered_at) for s in run.samples()]
    spans += [(v.started_at, v.ended_at) for v in run.verdicts()]
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return total


class Improving(Conversation):
    """As a conversation, but what is improved is the best answer so far, not the last.

    One that is wrong or slower after it is gone on from once; then the best is taken up again.
    """

    def __init__(self, config: PromptConfig, model: Model, verifier: LocalVerifier, baseline: Baseline) -> None:
        super().__init__(config, model, verifier)
        self._baseline: Baseline = baseline

    def next(self, task: SuiteTask, history: Sequence[tuple[Sample, Judged]]) -> Prompt:
        """The turn after the best answer, or after one that followed it. Raises as `first`."""
        return super().next(task, kept(history, self._baseline))


def kept(history: Sequence[tuple[Sample, Judged]], baseline: Baseline) -> list[tuple[Sample, Judged]]:
    """The turns up to the best, and the last one where it is to be gone on from; all where none is right."""
    told = [turn for turn in history if turn[1].verdict and turn[1].verdict.status in _TOLD]
    results = [_result(judged, baseline) for _, judged in told]
    best = best_of(results)
    if best is None:
        return told
    at = next(i for i, result in enumerate(results) if result is best)
    after = len(told) - at - 1
    return [*told[: at + 1], *(told[-1:] if after % 2 else ())]
