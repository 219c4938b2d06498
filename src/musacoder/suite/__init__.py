"""The bundled suite: tasks in the KernelBench format that a GPU engineer meets, each admitted by `musacoder admit`.

    suite/level1/NAME.py   single operators
    suite/level2/NAME.py   operators worth fusing
    suite/level3/NAME.py   small networks

The files are data: a judge reads them, and runs them in a process of their own. Their admission is recorded in
docs/results/suite.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class BundledTask:
    """One task file; `mooreeval.task.load_task(path)` makes a task named `level{level}/{name}` of it."""

    name: str  # unique in the suite
    level: int
    path: Path


def bundled_tasks() -> list[BundledTask]:
    """Every task, by level and then by name."""
    return [
        BundledTask(path.stem, level, path)
        for level in LEVELS
        for path in sorted((FOLDER / f"level{level}").glob("*.py"))
    ]
