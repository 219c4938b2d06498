"""How well planted faults are found: kind and line of each, and whether any corrected twin is accused.

    python benchmarks/faults.py [--kind KIND ...] [--json FILE]

Judges every case of tests/faults (faulty and fixed) and prints the table that docs/results/ quotes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from faults.index import Fault, cases

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.task import load_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier, Outcome


def _key(case: Fault) -> str:
    return f"{case.group}/{case.name}"


def judge_all(chosen: list[Fault], workers: int, seconds: int = 20) -> dict[str, dict[str, Outcome]]:
    """Outcomes by case name: "faulty" and "fixed"."""
    keys = [(case, which) for case in chosen for which in ("faulty", "fixed")]
    pairs = [(load_task(case.task), load_candidate(getattr(case, which))) for case, which in keys]
    outcomes: dict[str, dict[str, Outcome]] = defaultdict(dict)
    config = load_config(settings=[f"deadlines.run_seconds={seconds}"])
    with LocalVerifier(config) as verifier:

        def note(outcome: Outcome) -> None:
            case, which = keys[outcome.index]
            outcomes[_key(case)][which] = outcome
            status = outcome.verdict.status.value if outcome.verdict else f"not judged: {outcome.error}"
            print(f"{_key(case)} {which}: {status}", file=sys.stderr, flush=True)

        verifier.verify_many(pairs, workers, on_outcome=note)
    return outcomes


def found(case: Fault, verdict: Verdict | None) -> tuple[bool, bool]:
    """Whether the kind, and whether kind and line, are as planted."""
    if verdict is None or verdict.status is not case.status:
        return False, False
    if not case.kinds:
        return True, True
    # What nobody wrote is undefined, and the values decide: that finding is a warning by its nature.
    wanted = "warning" if case.status is Status.INCORRECT else "error"
    hits = [f for f in verdict.findings if f.kind in case.kinds and f.severity == wanted]
    lines = {p.line for f in hits for p in (f.place, f.other) if p is not None and p.file == "candidate"}
    return bool(hits), not case.lines or bool(lines & set(case.lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    chosen = [c for c in cases() if not args.kind or c.group in args.kind]
    outcomes = judge_all(chosen, args.workers)
    rows = []
    for case in chosen:
        faulty, fixed = outcomes[_key(case)]["faulty"].verdict, outcomes[_key(case)]["fixed"].verdict
        kind, line = found(case, faulty)
        rows.append(
            {
                "case": _key(case),
                "group": case.group,
                "kind": kind,
                "line": kind and line,
                "status": faulty.status if faulty else "not judged",
                "reason": faulty.reason if faulty else str(outcomes[_key(case)]["faulty"].error),
                "twin": fixed.status if fixed else "not judged",
                "twin_reason": fixed.reason if fixed else str(outcomes[_key(case)]["fixed"].error),
            }
        )
    report(rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


def report(rows: list[dict]) -> None:
    groups = defaultdict(list)
    for row in rows:
        groups[row["group"]].append(row)
    print(f"{'kind of fault':<24}{'cases':>6}{'kind right':>12}{'line right':>12}{'twins accused':>15}")
    for group, members in sorted(groups.items()):
        accused = sum(row["twin"] is not Status.CORRECT for row in members)
        kind, line = sum(row["kind"] for row in members), sum(row["line"] for row in members)
        print(f"{group:<24}{len(members):>6}{kind:>12}{line:>12}{accused:>15}")
    for row in rows:
        if not row["line"]:
            print(f"missed: {row['case']}: {row['status']}: {row['reason'][:160]}")
        if row["twin"] is not Status.CORRECT:
            print(f"twin accused: {row['case']}: {row['twin']}: {row['twin_reason'][:160]}")


if __name__ == "__main__":
    main()
