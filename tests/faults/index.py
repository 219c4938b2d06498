"""Reads the planted faults.

tests/faults/KIND/NAME/task.py         the task, in the KernelBench format
tests/faults/KIND/NAME/faulty.py       a candidate with one fault
tests/faults/KIND/NAME/fixed.py        its twin: the same file without the fault
tests/faults/KIND/NAME/expected.json   what must be concluded about `faulty.py`; `fixed.py` must be correct
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mooreeval.verdict import FindingKind, Status

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """One planted fault and its twin."""

    group: str  # the folder; for memory faults and races the kind of finding
    name: str
    folder: Path
    status: Status  # of `faulty.py`
    kinds: tuple[FindingKind, ...]  # one of these must be found; empty: no finding is required
    lines: tuple[int, ...]  # 1-based lines of `faulty.py`, one of which must be named; empty: none is required
    mismatch: str | None  # `Mismatch.kind`, where the status is incorrect
    rule: str | None  # `RuleHit.rule`, where the status is illegal
    note: str  # one sentence: the mechanism

    @property
    def key(self) -> str:
        """What messages and lists call it."""
        return f"{self.group}/{self.name}"

    @property
    def task(self) -> Path:
        return self.folder / "task.py"

    @property
    def faulty(self) -> Path:
        return self.folder / "faulty.py"

    @property
    def fixed(self) -> Path:
        return self.folder / "fixed.py"


def cases(folder: Path = FOLDER) -> list[Fault]:
    """All planted faults, in alphabetical order."""
    return [_fault(path.parent) for path in sorted(folder.glob("*/*/expected.json"))]


def _fault(folder: Path) -> Fault:
    record = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return Fault(
        group=folder.parent.name,
        name=folder.name,
        folder=folder,
        status=Status(record.pop("status")),
        kinds=tuple(FindingKind(kind) for kind in record.pop("kinds")),
        lines=tuple(record.pop("lines")),
        mismatch=record.pop("mismatch", None),
        rule=record.pop("rule", None),
        **record,  # the note; an unknown field is an error
    )
