"""What a verified program of our author costs, many at a time and alone.

    python benchmarks/synth_rate.py [--count 512] [--batch 32] [--workers 2] [--first-seed 0] [--alone 8]

CPU seconds (user and system) are of everything: writing, compilers, the processes that run references, candidates and
comparisons, the launcher that forks them, and this process. The first batch, which makes what all share, is left out,
as is the import of PyTorch. Programs of the batches that were refused are counted and named; of those judged alone,
which are some of the first ones, whatever is not correct is a disagreement.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from simulator_rate import Meter, seconds_of
from verdict_cost import descendants

from mooreeval.batch import BatchReport, BatchVerifier
from mooreeval.config import load_config
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier, versions
from musacoder.data import author
from musacoder.data.records import Program
from musacoder.data.trusted import check_programs, pair_of
from musacoder.synth.config import ProgramsConfig

SETTINGS = ["backend=simulator", "seed=5eed"]


def many(args: argparse.Namespace) -> tuple[dict[str, Any], list[Program]]:
    """Figures of the batches, and the programs that they called correct."""
    correct: list[Program] = []
    refused: list[dict[str, Any]] = []
    cpu: Counter[str] = Counter()
    batches: list[list[Program]] = []
    with BatchVerifier(load_config(settings=SETTINGS), ProgramsConfig().limits) as verifier:
        verifier.check([pair_of(author.write(10**9))])
        launcher, start, own = verifier._launcher._process.pid, time.monotonic(), time.process_time()
        before = _launcher_seconds(launcher)
        for number, report in check_programs(verifier, _written(args, batches, cpu), args.workers):
            _add(report, batches[number], cpu, correct, refused)
        wall = time.monotonic() - start
        cpu["launcher"] = _launcher_seconds(launcher) - before
        cpu["this process, writing apart"] = time.process_time() - own - cpu["writing"]
    parts = {name: round(seconds / args.count, 4) for name, seconds in cpu.items() if not name.startswith("of it")}
    return {
        "programs": args.count,
        "correct": len(correct),
        "distinct": len({p.program_hash for p in correct}),
        "wall_seconds": round(wall, 1),
        "programs_a_minute": round(60 * args.count / wall, 1),
        "cpu_seconds_a_program": round(sum(parts.values()), 4),
        "parts": parts,
        "of_the_child": {n: round(s / args.count, 4) for n, s in cpu.items() if n.startswith("of it")},
        "families": dict(Counter(p.family for p in correct)),
        "refused": refused,
    }, correct


def _launcher_seconds(pid: int) -> float:
    """Of the launcher, and of what stands around it where it is in walls; between batches it has no child."""
    return sum(seconds_of(each)[0] for each in {pid, *descendants(pid)})


def _written(args: argparse.Namespace, batches: list[list[Program]], cpu: Counter[str]) -> Iterator[list[Program]]:
    for first in range(args.first_seed, args.first_seed + args.count, args.batch):
        start = time.thread_time()
        last = min(first + args.batch, args.first_seed + args.count)
        batches.append([author.write(seed) for seed in range(first, last)])
        cpu["writing"] += time.thread_time() - start
        yield batches[-1]


def _add(
    report: BatchReport, batch: list[Program], cpu: Counter[str], correct: list[Program], refused: list[dict[str, Any]]
) -> None:
    cpu["compilers"] += report.build_cpu_seconds
    cpu["the child"] += report.run_cpu_seconds
    for program, outcome in zip(batch, report.outcomes, strict=True):
        for stage, seconds in outcome.seconds.items():
            cpu[f"of it {stage}"] += seconds
        if outcome.status is Status.CORRECT:
            correct.append(program)
        else:
            told = {"seed": program.seed, "family": program.family, "status": outcome.status.value}
            refused.append({**told, "reason": outcome.reason})


def alone(programs: list[Program]) -> dict[str, Any]:
    """Figures of the same judged one by one, each built anew."""
    with LocalVerifier(load_config(settings=[*SETTINGS, "simulator.audit_share=0"])) as verifier:
        verifier.verify(*pair_of(author.write(10**9)))
        meter = Meter(verifier)
        before, start = meter.totals()["all"], time.monotonic()
        verdicts = [verifier.verify(*pair_of(program)) for program in programs]
        wall, cpu = time.monotonic() - start, meter.totals()["all"] - before
    return {
        "programs": len(programs),
        "disagreements": [
            {"seed": p.seed, "status": v.status.value, "reason": v.reason}
            for p, v in zip(programs, verdicts, strict=True)
            if v.status is not Status.CORRECT
        ],
        "wall_seconds": round(wall, 1),
        "programs_a_minute": round(60 * len(programs) / wall, 1),
        "cpu_seconds_a_program": round(cpu / len(programs), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=512)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--alone", type=int, default=8)
    args = parser.parse_args()
    figures, correct = many(args)
    result = {"machine": platform.processor() or platform.machine(), "versions": versions(), "many": figures}
    if args.alone:
        result["alone"] = alone(correct[: args.alone])
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
