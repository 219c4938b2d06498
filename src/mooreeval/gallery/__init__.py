"""The bundled gallery: small tasks, and candidates whose verdict is known.

    gallery/TASK/task.py              a task in the KernelBench format
    gallery/TASK/candidates/NAME.py   what a model could have answered
    gallery/TASK/expected.toml        one table for each candidate, see `Expected`

The expectations live beside the candidates and not in them, so that a candidate carries no hint of its fault.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooreeval.verdict import FindingKind, Status

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Expected:
    """What a judge should conclude, as far as it is certain in advance."""

    status: Status
    kinds: tuple[FindingKind, ...] = ()  # one of these must be found; empty: no finding is required
    lines: tuple[int, ...] = ()  # 1-based lines of the candidate's file that may be named; empty: no line is required
    mismatch: str | None = None  # `Mismatch.kind` of an incorrect output
    rule: str | None = None  # `RuleHit.rule` of an illegal candidate
    feature: str | None = None  # `Verdict.unsupported_feature`
    ends_by_itself: bool = True  # False: nothing but the deadline of its run ends it


@dataclass(frozen=True)
class GalleryEntry:
    """One candidate of one task."""

    task_name: str
    candidate_name: str
    task_path: Path
    candidate_path: Path
    description: str  # one line
    expected: Expected


def load(folder: Path = FOLDER) -> list[GalleryEntry]:
    """Every entry, tasks in alphabetical order, candidates in the order of their `expected.toml`."""
    entries = []
    for expectations in sorted(folder.glob("*/expected.toml")):
        tables = tomllib.loads(expectations.read_text(encoding="utf-8"))
        entries += [_entry(expectations.parent, name, table) for name, table in tables.items()]
    return entries


def _entry(task_folder: Path, name: str, table: dict[str, Any]) -> GalleryEntry:
    fields = dict(table)  # what remains after the two named ones are fields of Expected; an unknown one is an error
    description = fields.pop("description")
    expected = Expected(
        status=Status(fields.pop("status")),
        kinds=tuple(FindingKind(kind) for kind in fields.pop("kinds", ())),
        lines=tuple(fields.pop("lines", ())),
        **fields,
    )
    return GalleryEntry(
        task_name=task_folder.name,
        candidate_name=name,
        task_path=task_folder / "task.py",
        candidate_path=task_folder / "candidates" / f"{name}.py",
        description=description,
        expected=expected,
    )
