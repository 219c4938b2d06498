"""Tables of docs/results/admission.md, from the records of `musacoder admit --record`.

    python benchmarks/admission_tables.py RECORDS.jsonl...

Of a task that is recorded several times the last record counts.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from mooreeval.admission import Admission, Outcome


def records(paths: list[str]) -> list[Admission]:
    """The last admission of each task, in the order of their ids."""
    found: dict[str, Admission] = {}
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            admission = Admission.model_validate_json(line)
            found[admission.task_id] = admission
    return sorted(found.values(), key=lambda a: (a.task_id.split("/")[0], int(a.task_id.split("/")[-1].split("_")[0])))


def by_level(admissions: list[Admission]) -> str:
    """How many of each outcome, and how many need other inputs."""
    rows = [
        "| level | tasks | admitted | of these only with other inputs | weak | refused |",
        "|---|---|---|---|---|---|",
    ]
    for level in sorted({a.task_id.split("/")[0] for a in admissions}):
        own = [a for a in admissions if a.task_id.startswith(f"{level}/")]
        count = Counter(a.outcome for a in own)
        needing = sum(a.outcome is Outcome.ADMITTED and bool(a.needs) for a in own)
        counts = (len(own), count[Outcome.ADMITTED], needing, count[Outcome.WEAK], count[Outcome.REFUSED])
        rows.append(f"| {level} | {' | '.join(map(str, counts))} |")
    return "\n".join(rows)


def listed(admissions: list[Admission], outcome: Outcome) -> str:
    """The tasks of one outcome with their reasons."""
    rows = ["| task | why |", "|---|---|"]
    for admission in admissions:
        if admission.outcome is outcome:
            why = "; ".join(f"`{r.kind}`: {r.message}" if outcome is Outcome.REFUSED else f"`{r.kind}`{_at(r.message)}"
                            for r in admission.reasons)  # fmt: skip
            rows.append(f"| {admission.task_id} | {why} |")
    return "\n".join(rows)


def _at(message: str) -> str:
    place = message.partition("(")[2].rstrip(")")
    return f" ({place})" if place else ""


def counted(admissions: list[Admission]) -> str:
    """How often each impostor was told only by a variation, or by nothing, and how often each note was made."""
    rows = ["| impostor | tasks in which nothing tells it | only other inputs do |", "|---|---|---|"]
    names = dict.fromkeys(i.name for a in admissions for i in a.impostors)
    alive = [a for a in admissions if a.outcome is not Outcome.REFUSED]
    for name in names:
        kinds = [[i for i in a.impostors if i.name == name] for a in alive]
        passing = sum(any(i.passes for i in kind) for kind in kinds)
        varied = sum(any(not i.passes and "plain" not in i.told_by for i in kind) for kind in kinds)
        rows.append(f"| `{name}` | {passing} | {varied} |")
    notes = Counter(note.kind for a in admissions for note in a.notes)
    return "\n".join([*rows, "", ", ".join(f"`{kind}` {n}" for kind, n in notes.most_common())])


def main() -> int:
    """Print them."""
    admissions = records(sys.argv[1:])
    for part in (by_level(admissions), listed(admissions, Outcome.REFUSED), listed(admissions, Outcome.WEAK)):
        print(part, end="\n\n")
    print(counted(admissions))
    seconds = sorted(sum(a.stage_seconds.values()) for a in admissions)
    print(f"\nseconds of a task: median {seconds[len(seconds) // 2]:.1f}, largest {seconds[-1]:.0f}")
    print(f"versions {admissions[0].versions}, seeds {sorted({a.seed for a in admissions})}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
