"""Draw the answers of the public KernelBench leaderboard that `benchmarks/labels` labels by reading.

    python benchmarks/labelled_sample.py --data KernelBenchLeaderboard/docs/assets [--show FROM:TO]

Every distinct answer with CUDA source in it belongs to the stratum of its level and model. A stratum gives the same
share of its answers, but at least `FEWEST` (or all that it has). Prints one line an answer: level, problem, candidate
hash prefix, model, answer file. Nothing here judges.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from pathlib import Path

from leaderboard import answers

from mooreeval.candidate import Candidate, load_candidate

SEED = 20261201
SHARE = 0.42
FEWEST = 4
HASH_DIGITS = 12


def cuda_answers(data: Path) -> list[dict[str, str]]:
    """Answers that hold CUDA source, each text once, in an order that does not depend on the data file's."""
    distinct: dict[str, dict[str, str]] = {}
    for row in sorted(answers(data), key=lambda row: (row["level"], row["name"], row["model"], row["answer"])):
        candidate = load_candidate(row["answer"])
        if isinstance(candidate, Candidate) and "__global__" in candidate.code:
            distinct.setdefault(candidate.candidate_hash, {**row, "hash": candidate.candidate_hash[:HASH_DIGITS]})
    return list(distinct.values())


def sample(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same share of every stratum, shuffled, so that any beginning of the list is a sample too."""
    strata = defaultdict(list)
    for row in rows:
        strata[row["level"], row["model"]].append(row)
    chance = random.Random(SEED)
    drawn = []
    for key in sorted(strata):
        wanted = max(FEWEST, math.ceil(SHARE * len(strata[key])))
        drawn += chance.sample(strata[key], min(wanted, len(strata[key])))
    chance.shuffle(drawn)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", metavar="FROM:TO", help="print these answers with their code, to be read")
    args = parser.parse_args()
    drawn = sample(cuda_answers(args.data))
    first, last = map(int, args.show.split(":")) if args.show else (0, len(drawn))
    for number, row in enumerate(drawn[first:last], first):
        line = (row["level"], row["name"], row["hash"], row["model"], Path(row["answer"]).name)
        print(f"{number}\t" + "\t".join(line))
        if args.show:
            print(load_candidate(row["answer"]).code)


if __name__ == "__main__":
    main()
