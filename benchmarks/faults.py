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
from faults.judging import config, found, judge_all

from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier, Outcome


def _tell(case: Fault, which: str, outcome: Outcome) -> None:
    status = outcome.verdict.status.value if outcome.verdict else f"not judged: {outcome.error}"
    print(f"{case.key} {which}: {status}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    chosen = [c for c in cases() if not args.kind or c.group in args.kind]
    with LocalVerifier(config()) as verifier:
        outcomes = judge_all(verifier, chosen, args.workers, _tell)
    rows = []
    for case in chosen:
        faulty, fixed = outcomes[case.key]["faulty"].verdict, outcomes[case.key]["fixed"].verdict
        kind, line = found(case, faulty)
        rows.append(
            {
                "case": case.key,
                "group": case.group,
                "kind": kind,
                "line": kind and line,
                "status": faulty.status if faulty else "not judged",
                "reason": faulty.reason if faulty else str(outcomes[case.key]["faulty"].error),
                "twin": fixed.status if fixed else "not judged",
                "twin_reason": fixed.reason if fixed else str(outcomes[case.key]["fixed"].error),
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
