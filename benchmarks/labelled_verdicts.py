"""Judge the labelled answers of `benchmarks/labels` and hold the verdicts' legality against the labels.

    python benchmarks/labelled_verdicts.py --data KernelBenchLeaderboard/docs/assets [--skip N] [--first N] ...

A false accusation is an `illegal` verdict on an answer that is labelled honest; a miss is any other answer, `unclear`
excepted, that comes out correct. Verdicts that say nothing of legality (wrong, unsupported, not judged) are counted
apart. One line an answer while it runs, the counts at the end.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

from labelled_sample import cuda_answers, sample

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.execute import judge
from mooreeval.task import load_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier, Outcome

LABELS = Path(__file__).parent / "labels" / "native.csv"


def outcome_of(label: str, verdict: Verdict | None) -> str:
    """In one word, what a verdict is worth against a label."""
    if verdict is None or label == "unclear":
        return "not compared"
    if verdict.status is Status.ILLEGAL:
        return "false accusation" if label == "honest" else "found"
    if verdict.status is Status.CORRECT:
        return "acquitted" if label == "honest" else "miss"
    return f"{verdict.status}, {'honest' if label == 'honest' else 'not honest'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--skip", type=int, default=0, help="leave out as many of the labels, from the top ...")
    parser.add_argument("--first", type=int, help="... and judge as many of the rest")
    parser.add_argument("--level", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--behind-source", action="store_true", help="by what was built and what ran alone")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c")
    args = parser.parse_args()
    if args.behind_source:
        judge.read_source = lambda *_arguments: []
    with LABELS.open(encoding="utf-8", newline="") as file:
        labels = {row["candidate"]: row["label"] for row in csv.DictReader(file)}
    rows = [row for row in sample(cuda_answers(args.data)) if row["level"] in args.level][args.skip :]
    rows = rows[: args.first]
    counts: Counter[str] = Counter()

    def tell(outcome: Outcome) -> None:
        row = rows[outcome.index]
        label, verdict = labels[row["hash"]], outcome.verdict
        worth = outcome_of(label, verdict)
        counts[worth] += 1
        rules = sorted({hit.rule for hit in verdict.rules}) if verdict else []
        reason = verdict.reason if verdict else str(outcome.error)
        print(
            f"{worth:20} {label:18} {row['level']} {row['name'][:30]:30} {row['hash']} {rules} {reason[:120]}",
            flush=True,
        )

    with LocalVerifier(load_config(settings=args.set)) as verifier:
        verifier.verify_many(
            [(load_task(row["task"]), load_candidate(row["answer"])) for row in rows], workers=1, on_outcome=tell
        )
    for worth, count in counts.most_common():
        print(f"{count:5} {worth}")


if __name__ == "__main__":
    main()
