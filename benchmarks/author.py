"""What the rule-based author writes: families, clusters of structure, lengths, and how many of its programs are right.

python benchmarks/author.py --programs 500
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import mean

from mooreeval.batch import BatchVerifier
from mooreeval.verdict import Status
from musacoder.data import author
from musacoder.data.operators import CATALOGUE, FAMILIES
from musacoder.data.records import Program, Split
from musacoder.data.structure import structure_of
from musacoder.data.trusted import check_programs

BATCH = 50


def main() -> None:
    """Writes the programs, prints what they are, then what the batches say of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--split", type=Split, default=Split.TRAIN)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.programs)
    programs = [author.write(seed, args.split) for seed in seeds]
    describe(programs)
    judge(programs, args.workers)


def describe(programs: Sequence[Program]) -> None:
    """The table by family, and the totals."""
    grouped: dict[str, list[Program]] = defaultdict(list)
    for program in programs:
        grouped[program.family].append(program)
    print(f"{len(CATALOGUE)} operators, {len(FAMILIES)} families, {len(programs)} programs")
    print(f"mean characters of a candidate: {mean(len(p.candidate_code) for p in programs):.0f}")
    print(f"{'family':14} {'share':>6} {'clusters':>8} {'characters':>10}")
    for family in FAMILIES:
        found = grouped[family]
        if not found:
            continue
        clusters = {structure_of(p.candidate_code).cluster_key for p in found}
        characters = mean(len(p.candidate_code) for p in found)
        print(f"{family:14} {len(found) / len(programs):6.1%} {len(clusters):8} {characters:10.0f}")


def judge(programs: Sequence[Program], workers: int) -> None:
    """How many are right, and each that is not."""
    batches = [programs[start : start + BATCH] for start in range(0, len(programs), BATCH)]
    counts: Counter[Status] = Counter()
    with BatchVerifier() as verifier:
        for number, report in check_programs(verifier, batches, workers):
            for program, outcome in zip(batches[number], report.outcomes, strict=True):
                counts[outcome.status] += 1
                if outcome.status is not Status.CORRECT:
                    print(f"seed {program.seed}: {program.operators}: {outcome.status}: {outcome.reason}")
    print(f"right: {counts[Status.CORRECT]} of {len(programs)}")


if __name__ == "__main__":
    main()
