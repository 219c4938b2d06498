"""Programs of our own author, checked many at a time; and the audit that judges some of them alone.

Trust is for code of ours alone. A batch shares one process with what compares it, so a program that meant to could say
anything of itself and of its neighbours. The author writes from rules and means nothing; a model's answers, a teacher's
and whatever else has another source than "author" are refused here and go to `LocalVerifier`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from mooreeval.batch import BatchReport, BatchVerifier
from mooreeval.candidate import Candidate
from mooreeval.errors import MooreError, UsageError
from mooreeval.task import Task, make_task
from mooreeval.verdict import Record, Status, Verdict
from mooreeval.verify import Verifier
from musacoder.data.records import SCHEMA_VERSION, Program

TRUSTED = "author"
JUDGED_BY = "trusted batch"
_LOTS = 1 << 64


class Disagreement(MooreError):
    """A program that the batch called correct and the judge does not."""


class Audited(Record):
    """What the judge said of one program, alone."""

    schema_version: Literal[1] = SCHEMA_VERSION
    program_hash: str
    family: str
    seed: int | None
    status: str
    reason: str
    backend: str  # of the verdict

    @property
    def agrees(self) -> bool:
        return self.status == Status.CORRECT.value


def pair_of(program: Program) -> tuple[Task, Candidate]:
    """What the judge takes. TaskError where the task's text is none."""
    return make_task(program.program_hash[:12], program.task_code), Candidate(program.candidate_code)


def check_programs(
    verifier: BatchVerifier, batches: Iterable[Sequence[Program]], workers: int
) -> Iterator[tuple[int, BatchReport]]:
    """Reports with the number of their batch, as they come. UsageError for a program of another author."""
    return verifier.check_many(([pair_of(p) for p in _trusted(batch)] for batch in batches), workers)


def _trusted(programs: Sequence[Program]) -> Sequence[Program]:
    for program in programs:
        if program.source != TRUSTED:
            raise UsageError(
                f"program {program.program_hash[:12]} is of {program.source!r}: only programs of {TRUSTED!r} are "
                "checked many at a time, others are judged alone"
            )
    return programs


def verified(program: Program) -> Program:
    """The same program, called correct by a batch."""
    return program.model_copy(update={"status": Status.CORRECT.value, "judged_by": JUDGED_BY})


def drawn_for_audit(programs: Sequence[Program], share: float, seed: int) -> list[Program]:
    """The programs whose lot, by seed and hash, is drawn; at least one. The order of the others decides nothing."""
    lots = {p.program_hash: _lot(seed, p.program_hash) for p in programs}
    found = [p for p in programs if lots[p.program_hash] < share * _LOTS]
    return found or sorted(programs, key=lambda p: lots[p.program_hash])[:1]


def _lot(seed: int, word: str) -> int:
    return int.from_bytes(hashlib.sha256(f"audit {seed} {word}".encode()).digest()[:8], "big")


def audited(program: Program, verifier: Verifier) -> Audited:
    """One program before the judge, alone. Raises NotJudged where it has no word on it."""
    return audited_of(program, verifier.verify(*pair_of(program)))


def audited_of(program: Program, verdict: Verdict) -> Audited:
    """What is kept of a verdict."""
    return Audited(
        program_hash=program.program_hash,
        family=program.family,
        seed=program.seed,
        status=verdict.status.value,
        reason=verdict.reason,
        backend=verdict.backend,
    )


def require_agreement(entries: Iterable[Audited]) -> None:
    """Raises Disagreement, which names the first program that the judge does not call correct."""
    for entry in entries:
        if not entry.agrees:
            raise Disagreement(
                f"the judge disagrees about program {entry.program_hash[:12]} (family {entry.family}, "
                f"seed {entry.seed}), which the batch called correct: {entry.status}: {entry.reason}"
            )
