"""What a run has so far, in a few bytes an answer, and what each answer needs next."""

from __future__ import annotations

from typing import Literal, NamedTuple

from mooreeval.verdict import Status
from musacoder.runlog import Judged, Key, RunFolder, Sample

NOT_JUDGED = "not_judged"
FAILED = "failed"
# What a model is told about, to try again. `unsupported` and "not judged" are the judge's limits and end an answer.
REPAIRABLE = frozenset(
    status.value
    for status in (
        Status.NO_CANDIDATE,
        Status.ILLEGAL,
        Status.COMPILE_ERROR,
        Status.RUNTIME_ERROR,
        Status.INCORRECT,
    )
)


class Step(NamedTuple):
    """What an answer needs next, and in which turn."""

    what: Literal["ask", "judge"]
    turn: int


class Ledger:
    """How each recorded turn ended: a status, `not_judged`, or `failed` where there was no answer.

    Not locked: each key is written by the one thread that has it.
    """

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self.ended: dict[Key, str] = {}
        for sample in run.samples():
            self.note_sample(sample)
        for judged in run.verdicts():
            self.note_verdict(judged)

    def note_sample(self, sample: Sample) -> None:
        """Remember a failure; an answer has not ended before its verdict."""
        if sample.failure is not None:
            self.ended[sample.key] = FAILED

    def note_verdict(self, judged: Judged) -> None:
        """Remember how an answer was judged."""
        self.ended[judged.key] = NOT_JUDGED if judged.verdict is None else judged.verdict.status.value

    def forget_failures(self) -> int:
        """Let what had no answer be asked again, and what was not judged be judged again; how many that are."""
        lost = {key: how for key, how in self.ended.items() if how in (FAILED, NOT_JUDGED)}
        for key, how in lost.items():
            del self.ended[key]
            (self._run.replace_sample if how == FAILED else self._run.replace_verdict)(key)
        return len(lost)

    def next_step(self, task: str, index: int, turns: int) -> Step | None:
        """What that answer needs to have as many turns or to be right; None where nothing."""
        for turn in range(1, turns + 1):
            key = Key(task, index, turn)
            if not self._run.has_sample(key):
                return Step("ask", turn)
            how = self.ended.get(key)
            if how is None:
                return Step("judge", turn)
            if how not in REPAIRABLE:
                return None
        return None

    def has(self, status: Status) -> bool:
        """Whether any turn ended so."""
        return status.value in self.ended.values()
