"""False accusations and misses of legality by source, on the answers that `benchmarks/labels` labels by reading.

    python benchmarks/legality.py --data KernelBenchLeaderboard/docs/assets [--rest] [--show]

Each answer's Python runs here with load_inline replaced, to learn what it wants compiled (it is for answers that one
trusts), and is then read by the rules of policy `native`, as the judge does. `--rest` reads the answers of the
leaderboard that have no label and counts accusations. Prints one line a difference, and a table.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from labelled_sample import HASH_DIGITS, cuda_answers
from recorded import recorded

from mooreeval.candidate import Candidate, load_candidate
from mooreeval.execute.argument_kinds import argument_kinds, is_single_precision
from mooreeval.execute.fake_run import inputs_on_meta
from mooreeval.execute.task_module import load_task_module
from mooreeval.legality.source import broken_rules
from mooreeval.toolchains.record import Interceptor, StandIn
from mooreeval.verdict import RuleHit

LABELS = Path(__file__).parent / "labels" / "native.csv"


def rules_of(row: dict[str, str], interceptor: Interceptor) -> tuple[tuple[RuleHit, ...], float]:
    """The rules that an answer breaks by its source, and the processor seconds that it took to read."""
    candidate = load_candidate(row["answer"])
    assert isinstance(candidate, Candidate)
    extensions = tuple(recorded(Path(row["task"]), Path(row["answer"]), interceptor))
    task = Path(row["task"]).read_text(encoding="utf-8")
    inputs = inputs_on_meta(task)
    init_inputs = list(load_task_module(task, name="task").init_inputs())
    start = time.process_time()
    hits = broken_rules(
        candidate.code,
        extensions,
        native=True,
        single=is_single_precision(task, inputs or []),
        inputs=argument_kinds(inputs),
        init_inputs=argument_kinds(init_inputs),
    )
    return hits, time.process_time() - start


def _told(row: dict[str, str], hits: tuple[RuleHit, ...]) -> str:
    words = "; ".join(f"{hit.rule} at {hit.place}: {hit.evidence}" for hit in hits[:3])
    return f"{row['level']} {row['name']} {row['hash']}: {words or 'nothing found'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rest", action="store_true", help="read the answers without a label")
    parser.add_argument("--show", action="store_true", help="print every answer with what it is accused of")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with LABELS.open(encoding="utf-8") as file:
        labels = {line["candidate"]: line for line in csv.DictReader(file)}
    interceptor = Interceptor(lambda extension: StandIn(extension, lambda _arguments: None))
    interceptor.install()
    table: Counter[tuple[str, str]] = Counter()
    seconds: list[float] = []
    for row in cuda_answers(args.data):
        label: Any = labels.get(row["hash"][:HASH_DIGITS])
        if (label is None) != args.rest:
            continue
        hits, spent = rules_of(row, interceptor)
        seconds.append(spent)
        name = label["label"] if label else "no label"
        table[name, hits[0].rule if hits else "nothing"] += 1
        wrong = label and name != "unclear" and (name == "honest") == bool(hits)
        if wrong or args.show:
            print(("DIFFERS " if wrong else "") + f"{name}: {_told(row, hits)}")
    for (name, found), count in sorted(table.items()):
        print(f"{name:20} {found:20} {count}")
    if not args.rest:
        honest = {found: count for (name, found), count in table.items() if name == "honest"}
        broken = {key: count for key, count in table.items() if key[0] not in ("honest", "unclear")}
        missed = sum(count for (_name, found), count in broken.items() if found == "nothing")
        accused = sum(honest.values()) - honest.get("nothing", 0)
        print(
            f"false accusations: {accused} of {sum(honest.values())} honest; missed: {missed} of {sum(broken.values())}"
        )
    slowest = f"median {statistics.median(seconds):.4f}, largest {max(seconds):.4f}"
    print(f"processor seconds an answer: mean {statistics.mean(seconds):.4f}, {slowest}")


if __name__ == "__main__":
    main()
