"""The tables of benchmarks/agreement.py, whose docstring says what counts as wrong and as right."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import sqrt
from typing import Any

Row = dict[str, Any]
REJECTED = ("no_candidate", "illegal", "compile_error", "runtime_error", "incorrect")
MISSING: Row = {"status": "missing", "reason": ""}


@dataclass(frozen=True)
class Case:
    """One candidate with both verdicts, and what it counts as."""

    row: Row
    simulator: Row
    cuda: Row
    truth: str  # "wrong", "right" or "unknown"

    @property
    def told(self) -> str:
        """What the simulator says, in the words of the truth."""
        status = self.simulator["status"]
        return "wrong" if status in REJECTED else "right" if status == "correct" else status

    @property
    def agrees(self) -> bool:
        return self.told == self.truth


def cases(manifest: list[Row], simulator: list[Row], cuda: list[Row]) -> list[Case]:
    simulated, real = _last(simulator), _last(cuda)
    return [
        Case(row, simulated.get(row["id"], MISSING), real.get(row["id"], MISSING), _truth(row, real))
        for row in manifest
    ]


def _last(lines: list[Row]) -> dict[str, Row]:
    """The last verdict of each candidate; lines of runs that only started hold none."""
    return {line["id"]: line for line in lines if "status" in line}


def _truth(row: Row, real: dict[str, Row]) -> str:
    on_gpu = real.get(row["id"], MISSING)["status"]
    if on_gpu in REJECTED:
        return "wrong"
    base_is_right = "base" not in row or real.get(row["base"], MISSING)["status"] == "correct"
    if row["shown"] and base_is_right:
        return "wrong"
    return "right" if on_gpu == "correct" else "unknown"


def report(manifest: list[Row], simulator: list[Row], cuda: list[Row]) -> str:
    """Markdown: what was judged, the rates, a table by class, and every disagreement."""
    everything = cases(manifest, simulator, cuda)
    return "\n".join(
        [
            *_head(everything, simulator, cuda),
            *_rates(everything),
            *_by_class(everything),
            *_by_mutation(everything),
            *_disagreements(everything),
            *_left_out(everything),
        ]
    )


def _head(everything: list[Case], simulator: list[Row], cuda: list[Row]) -> list[str]:
    total = len(everything)
    lines = [f"{total} candidates: {_counted(Counter(case.row['source'] for case in everything))}.", ""]
    lines += ["| backend | runs started | verdicts | not judged | by status |", "|---|---|---|---|---|"]
    for name, log in (("simulator", simulator), ("cuda", cuda)):
        statuses = Counter(line["status"] for line in _last(log).values())
        started = sum("started" in line for line in log)
        failed = sum(line.get("status") == "not_judged" for line in log)
        verdicts = sum(statuses.values()) - statuses["not_judged"]
        lines.append(f"| {name} | {started} | {verdicts} | {failed} | {_counted(statuses)} |")
    failing = sum(case.cuda["status"] in REJECTED for case in everything)
    return [*lines, "", f"Failing on the GPU: {_share(failing, total)}.", ""]


def _rates(everything: list[Case]) -> list[str]:
    lines = ["| | of | agree | rate | 95 % interval |", "|---|---|---|---|---|"]
    for name, truth in (("sensitivity", "wrong"), ("specificity", "right")):
        decided = [case for case in everything if case.truth == truth and case.told in ("wrong", "right")]
        lines.append(_rate_line(name, decided))
    silent = [c for c in everything if c.truth == "wrong" and c.cuda["status"] == "correct" and c.told != "unsupported"]
    lines.append(_rate_line("planted and right on the GPU", [c for c in silent if c.told in ("wrong", "right")]))
    unsupported = sum(case.told == "unsupported" for case in everything)
    return [*lines, "", f"`unsupported` on the simulator: {_share(unsupported, len(everything))}.", ""]


def _rate_line(name: str, decided: list[Case]) -> str:
    good = sum(case.agrees for case in decided)
    if not decided:
        return f"| {name} | 0 | 0 | - | - |"
    low, high = _wilson(good, len(decided))
    return f"| {name} | {len(decided)} | {good} | {100 * good / len(decided):.1f} % | {low:.1f} to {high:.1f} % |"


def _wilson(good: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share, in per cent."""
    share = good / total
    middle = share + z * z / (2 * total)
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return tuple(100 * (middle + sign * half) / (1 + z * z / total) for sign in (-1, 1))  # type: ignore[return-value]


def _by_class(everything: list[Case]) -> list[str]:
    lines = ["| planted | candidates | wrong on the GPU | counted wrong | rejected | counted right | called correct |"]
    lines += ["|---|---|---|---|---|---|---|"]
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in everything:
        groups[case.row["planted"]].append(case)
    for name, members in sorted(groups.items()):
        wrong = [case for case in members if case.truth == "wrong"]
        right = [case for case in members if case.truth == "right"]
        failing = sum(case.cuda["status"] in REJECTED for case in members)
        numbers = (len(members), failing, len(wrong), _agreeing(wrong), len(right), _agreeing(right))
        lines.append(f"| {name} | " + " | ".join(map(str, numbers)) + " |")
    return [*lines, ""]


def _by_mutation(everything: list[Case]) -> list[str]:
    lines = ["| mutation | plants | mutants | simulator | cuda |", "|---|---|---|---|---|"]
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in everything:
        if "mutation" in case.row:
            groups[case.row["mutation"]].append(case)
    for name, members in sorted(groups.items()):
        told = [_counted(Counter(side(case)["status"] for case in members)) for side in (_simulated, _real)]
        lines.append(f"| {name} | {members[0].row['planted']} | {len(members)} | {told[0]} | {told[1]} |")
    return [*lines, ""]


def _simulated(case: Case) -> Row:
    return case.simulator


def _real(case: Case) -> Row:
    return case.cuda


def _disagreements(everything: list[Case]) -> list[str]:
    lines = ["Disagreements:", ""]
    for case in everything:
        if case.truth != "unknown" and case.told in ("wrong", "right") and not case.agrees:
            lines += _told(case)
    return [*lines, ""] if len(lines) > 2 else ["Disagreements: none.", ""]


def _left_out(everything: list[Case]) -> list[str]:
    rest = [case for case in everything if case.truth == "unknown" or case.told not in ("wrong", "right")]
    return ["In neither rate:", "", *(line for case in rest for line in _told(case))] if rest else []


def _told(case: Case) -> list[str]:
    row = case.row
    what = f"{row['mutation']} at line {row['line']}: `{row['now']}`" if "mutation" in row else row["source"]
    lines = [f"- **{row['id']}** ({row['planted']}; counts as {case.truth}; {what})"]
    for name, verdict in (("simulator", case.simulator), ("cuda", case.cuda)):
        lines.append(f"  - {name}: {verdict['status']}: {verdict['reason'][:300]}")
    return lines


def _agreeing(members: list[Case]) -> str:
    """How many agree; those that the simulator did not decide are told beside."""
    undecided = sum(case.told not in ("wrong", "right") for case in members)
    return f"{sum(case.agrees for case in members)}" + (f" ({undecided} undecided)" if undecided else "")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "none"


def _share(part: int, total: int) -> str:
    return f"{part} of {total} ({100 * part / max(1, total):.1f} %)"
