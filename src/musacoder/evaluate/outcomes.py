"""What became of each attempt: one word, and whether it counts for or against the model.

An attempt is one turn of one sample of one task. It is *scored* where its outcome says something about the model:
every status of a verdict but `unsupported`, and answers that the model itself failed to give. What a server, the
judge or an interruption left open is counted and named, and is no failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from mooreeval.config import Baseline
from mooreeval.reward import WORST, faster, faster_confirmed, reward, speedup
from mooreeval.verdict import Status, Verdict
from musacoder.runlog import Judged, Key, Manifest, Sample

BASELINES: tuple[Baseline, ...] = ("eager", "compile")
# Failures to answer that are the model's own; all others are of whatever served it, and say nothing of it.
MODELS_OWN = frozenset({"empty", "only_reasoning", "filtered", "prompt_too_long"})


class Outcome(StrEnum):
    """The statuses of a verdict, and what may happen to an attempt besides."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    ILLEGAL = "illegal"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    NO_CANDIDATE = "no_candidate"
    NO_ANSWER = "no_answer"  # the model gave none: it only reasoned, declined, or said nothing
    UNSUPPORTED = "unsupported"  # the backend cannot judge it
    NOT_JUDGED = "not_judged"  # the judge failed
    NOT_ANSWERED = "not_answered"  # whatever serves the model failed
    OTHER_EVIDENCE = "other_evidence"  # judged on a device where this table is of emulation, or the other way round
    PENDING = "pending"  # an answer that waits for its verdict
    MISSING = "missing"  # asked for by the manifest, and no record of it


UNSCORED = frozenset(
    {
        Outcome.UNSUPPORTED,
        Outcome.NOT_JUDGED,
        Outcome.NOT_ANSWERED,
        Outcome.OTHER_EVIDENCE,
        Outcome.PENDING,
        Outcome.MISSING,
    }
)


@dataclass(frozen=True)
class Attempt:
    """One turn of one sample, with what is known of it."""

    task: str
    index: int
    turn: int
    outcome: Outcome
    detail: str | None = None  # kind of the model's failure, or why it was not judged
    verdict: Verdict | None = None
    score: float | None = None  # the paper's s; None where there is nothing to score

    @property
    def scored(self) -> bool:
        return self.outcome not in UNSCORED

    def speedup(self, baseline: Baseline) -> float | None:
        """v over a baseline; None where the attempt is not correct or that was not measured."""
        if self.outcome is not Outcome.CORRECT or self.verdict is None or self.verdict.timing is None:
            return None
        if getattr(self.verdict.timing, f"{baseline}_ms") is None:
            return None
        try:
            return speedup(self.verdict.timing, baseline)
        except ValueError:  # times that no clock gives
            return None

    def faster(self, baseline: Baseline) -> bool | None:
        """Whether it counts for the Faster Rate; None where it is correct and was not timed against this baseline."""
        if self.outcome is not Outcome.CORRECT:
            return False
        known = self.verdict is not None and self.speedup(baseline) is not None
        return faster(self.verdict, baseline) if known and self.verdict else None

    def confirmed(self, baseline: Baseline) -> bool | None:
        """As `faster`, by the lower end of the speed-up's interval."""
        if self.outcome is not Outcome.CORRECT:
            return False
        return None if self.verdict is None else faster_confirmed(self.verdict, baseline)


@dataclass(frozen=True)
class Candidate:
    """All turns of one sample of one task, in order; never empty."""

    task: str
    index: int
    attempts: tuple[Attempt, ...]

    @property
    def first(self) -> Attempt:
        """The first turn, whatever became of it."""
        return self.attempts[0]

    @property
    def best(self) -> Attempt:
        """The turn with the highest score, the earliest of equals; where none is scored, the first that says why."""
        return max(self.attempts, key=_worth)  # max keeps the first of equals

    @property
    def turn_of_success(self) -> int | None:
        """The first turn that is correct."""
        return next((a.turn for a in self.attempts if a.outcome is Outcome.CORRECT), None)


def _worth(attempt: Attempt) -> tuple[bool, float, bool]:
    score = attempt.score if attempt.scored and attempt.score is not None else float("-inf")
    return attempt.scored, score, attempt.outcome is Outcome.UNSUPPORTED


def candidates_of(
    manifest: Manifest, samples: Iterable[Sample], verdicts: Iterable[Judged], evidence: str | None
) -> list[Candidate]:
    """Every sample that the manifest asks for, in its order; what is missing is there as such."""
    attempts = attempts_of(samples, verdicts, evidence)
    by_sample: dict[tuple[str, int], list[Attempt]] = defaultdict(list)
    for key in sorted(attempts):
        by_sample[key[:2]].append(attempts[key])
    keys = [(task.name, index) for task in manifest.tasks for index in range(manifest.samples)]
    return [Candidate(*key, _from_the_first_turn(key, by_sample.get(key, []))) for key in keys]


def _from_the_first_turn(key: tuple[str, int], attempts: list[Attempt]) -> tuple[Attempt, ...]:
    """A later turn whose first was lost must not pass for a first turn."""
    lost = () if attempts and attempts[0].turn == 1 else (Attempt(*key, 1, Outcome.MISSING),)
    return (*lost, *attempts)


def attempts_of(samples: Iterable[Sample], verdicts: Iterable[Judged], evidence: str | None) -> dict[Key, Attempt]:
    """An attempt for each key; of several records of one key the last counts, as that of a resumed run."""
    judged = {v.key: v for v in verdicts}
    answered = {s.key: s for s in samples}
    return {
        key: _of_its_evidence(_attempt(key, answered.get(key), judged.get(key)), evidence)
        for key in {**answered, **judged}
    }


def _attempt(key: Key, sample: Sample | None, judged: Judged | None) -> Attempt:
    if sample is not None and sample.failure is not None:
        return _without_answer(key, sample.failure.kind)
    if judged is None:
        return Attempt(*key, Outcome.PENDING)
    verdict = judged.verdict
    if verdict is None:
        return Attempt(*key, Outcome.NOT_JUDGED, judged.not_judged)
    score = judged.reward if judged.reward is not None else _reward(verdict)
    if verdict.status is Status.UNSUPPORTED:
        return Attempt(*key, Outcome.UNSUPPORTED, verdict.unsupported_feature, verdict)
    return Attempt(*key, Outcome(verdict.status.value), None, verdict, score)


def _without_answer(key: Key, kind: str) -> Attempt:
    if kind in MODELS_OWN:
        return Attempt(*key, Outcome.NO_ANSWER, kind, score=WORST)  # nothing to extract, in the paper's words
    return Attempt(*key, Outcome.NOT_ANSWERED, kind)


def _of_its_evidence(attempt: Attempt, evidence: str | None) -> Attempt:
    found = attempt.verdict.evidence if attempt.verdict else None
    if evidence is None or found in (None, evidence):
        return attempt
    return replace(attempt, outcome=Outcome.OTHER_EVIDENCE, detail=found, score=None)


def _reward(verdict: Verdict) -> float | None:
    try:
        return reward(verdict)
    except ValueError:  # times that no clock gives
        return None
