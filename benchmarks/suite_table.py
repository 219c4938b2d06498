"""The table of docs/results/suite.md, from the records of `musacoder admit bundled: --record`.

    python benchmarks/suite_table.py RECORDS.jsonl

Runs the suite's own tasks in this process, on the meta device where they allow it, to tell what they cost at their
own sizes. Of a task that is recorded several times the last record counts.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from mooreeval.admission import Admission
from mooreeval.execute.fake_run import quick_run
from mooreeval.task import load_task
from musacoder.suite import LEVELS, BundledTask, bundled_tasks

SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "uint8": "u8", "int8": "i8"}


def records(path: str) -> dict[str, Admission]:
    """The last admission of each task."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return {admission.task_id: admission for admission in map(Admission.model_validate_json, lines)}


def summary(found: dict[str, Admission]) -> str:
    """How many of each outcome, by level."""
    rows = ["| level | tasks | admitted | only with other inputs | weak | refused |", "|---|---|---|---|---|---|"]
    for level in LEVELS:
        own = [a for task_id, a in found.items() if task_id.startswith(f"level{level}/")]
        count = Counter(a.outcome.value for a in own)
        needing = sum(bool(a.needs) for a in own)
        rows.append(
            f"| {level} | {len(own)} | {count['admitted']} | {needing} | {count['weak']} | {count['refused']} |"
        )
    return "\n".join(rows)


def row(bundled: BundledTask, admission: Admission) -> str:
    """One task: inputs, cost at its own sizes, sizes as examined, impostors that were told."""
    cost = quick_run(load_task(bundled.path).code, name=bundled.name).cost
    inputs = [shape for shape in admission.shapes if shape.name.startswith("input")]
    types = ", ".join(SHORT.get(dtype, dtype) for dtype in dict.fromkeys(shape.dtype for shape in inputs))
    changed = ", ".join(f"{r.name} {r.original} to {r.used}" for r in admission.reductions) or "none"
    told = sum(not impostor.passes for impostor in admission.impostors)
    notes = ", ".join(f"`{note.kind}`" for note in admission.notes)
    cells = (bundled.name, types, f"{cost.elements / 1e6:.1f}", f"{cost.flops / 1e9:.2f}", changed, told, notes)
    return f"| {' | '.join(map(str, cells))} |"


def main(path: str) -> None:
    """Print both tables."""
    found = records(path)
    print(summary(found))
    for level in LEVELS:
        print(
            f"\n## Level {level}\n\n| task | inputs | 10^6 elements | GFLOP | sizes changed | impostors told | notes |"
        )
        print("|---|---|---|---|---|---|---|")
        for bundled in bundled_tasks():
            if bundled.level == level:
                print(row(bundled, found[f"level{level}/{bundled.name}"]))


if __name__ == "__main__":
    main(sys.argv[1])
