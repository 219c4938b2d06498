"""Is a verdict of the simulator the same whichever way the candidate was built? Judges both ways and lists differences.

    python benchmarks/simulator_tiers.py --out runs/tiers [--sets gallery faults answers] [--data .../docs/assets]
        [--answers 80] [--workers 1]

Both ways share one secret, so that seeds, inputs and schedules are the same. Compared are the status, the place of the
reason, rules, findings (kind, severity, kernel, lines, count), trials with their mismatch, launches, the unsupported
feature, and the candidate's exception. One JSON line a candidate is written to OUT/verdicts.jsonl as it is known; an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from faults.index import cases
from leaderboard import answers

from mooreeval import gallery
from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.errors import MooreError
from mooreeval.task import load_task
from mooreeval.verdict import Verdict
from mooreeval.verify import LocalVerifier

SECRET = "5eed"


def named(args: argparse.Namespace) -> Iterator[tuple[str, Path, Path]]:
    """Name, task and candidate of everything that is compared."""
    if "gallery" in args.sets:
        for entry in gallery.load():
            yield f"gallery/{entry.task_name}/{entry.candidate_name}", entry.task_path, entry.candidate_path
    if "faults" in args.sets:
        for case in cases():
            yield f"faults/{case.key}/faulty", case.task, case.faulty
            yield f"faults/{case.key}/fixed", case.task, case.fixed
    if "answers" in args.sets:
        rows = answers(args.data)
        for row in rows[:: max(1, len(rows) // args.answers)][: args.answers]:
            yield f"answers/{Path(row['answer']).stem}", Path(row["task"]), Path(row["answer"])


def summary(verdict: Verdict) -> dict[str, Any]:
    """What must not depend on the way."""
    findings = [[f.kind, f.severity, f.kernel, str(f.place), str(f.other), f.count] for f in verdict.findings]
    return {
        "status": verdict.status,
        "place": str(verdict.place),
        "rules": [str(rule) for rule in verdict.rules],
        "findings": findings,
        "trials": [trial.model_dump(mode="json") for trial in verdict.trials],
        "launches": [launch.model_dump(mode="json") for launch in verdict.launches],
        "feature": verdict.unsupported_feature,
        "exception": verdict.exception,
        "reason": verdict.reason,
    }


def both(verifiers: dict[str, LocalVerifier], name: str, task: Path, candidate: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name}
    for way, verifier in verifiers.items():
        try:
            verdict = verifier.verify(load_task(task), load_candidate(candidate))
        except MooreError as error:
            row[way] = {"status": "not judged", "reason": f"{type(error).__name__}: {error}"}
            continue
        row[way] = json.loads(json.dumps(summary(verdict)))
        row[f"{way}_tiers"] = list(verdict.build_tiers)
    return row


def differences(row: dict[str, Any]) -> list[str]:
    mini, full = row["mini"], row["full"]
    return [key for key in full if mini.get(key) != full[key]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=["gallery", "faults"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--answers", type=int, default=80)
    parser.add_argument("--match", default="", help="only candidates with this in their name")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    log = args.out / "verdicts.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {row["name"] for row in rows}
    common = ["backend=simulator", f"seed={SECRET}", "deadlines.run_seconds=20", "simulator.audit_share=0"]
    ways = {"mini": "simulator.tiers=[mini, full]", "full": "simulator.tiers=[full]"}
    verifiers = {way: LocalVerifier(load_config(settings=[*common, tiers])) for way, tiers in ways.items()}
    try:
        for name, task, candidate in named(args):
            if name in known or args.match not in name:
                continue
            row = both(verifiers, name, task, candidate)
            with log.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(
                f"{name:<70} {row['full']['status']:<14} {row.get('mini_tiers')} {differences(row) or ''}", flush=True
            )
    finally:
        for verifier in verifiers.values():
            verifier.close()
    tell(rows)


def tell(rows: list[dict[str, Any]]) -> None:
    built = Counter(tier for row in rows for tier in row.get("mini_tiers", []))
    print(f"{len(rows)} candidates judged both ways; extensions built by {dict(built)}")
    for key in ("status", "findings", "place", "trials", "launches", "feature", "exception", "rules", "reason"):
        print(f"  {key}: {sum(key in differences(row) for row in rows)} differ")
    for row in rows:
        if found := differences(row):
            print(f"\n{row['name']} ({row.get('mini_tiers')})")
            for key in found:
                for way in ("full", "mini"):
                    print(f"  {key} {way} {str(row[way].get(key))[:300]}")


if __name__ == "__main__":
    main()
