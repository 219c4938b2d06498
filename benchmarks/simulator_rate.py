"""What a verdict of the simulator costs where many are given one after another, by part, and how many a second.

    python benchmarks/simulator_rate.py [--data KernelBenchLeaderboard/docs/assets] [--answers 12] [--rounds 2]
        [--workers 1 2] [--ways mini full] [--only TASK/CANDIDATE ...] [--out FILE.json]

One `LocalVerifier` for each way to build, its launcher warm. Every candidate is built anew each time, as one that
nobody has seen before. CPU seconds (user and system, of everything that a verdict makes run) are told for each part:
compiling, linking, the child of each role, the launcher's own work (most of it forks), the judge itself. They are
measured with one verdict at a time; then, for each number of workers, verdicts a second, and wall seconds of one.

The candidates are those of the gallery that end by themselves, and answers of the public leaderboard, spread evenly.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leaderboard import answers
from verdict_cost import descendants

from mooreeval import gallery
from mooreeval.candidate import Candidate, load_candidate
from mooreeval.config import load_config
from mooreeval.execute.children import Child
from mooreeval.task import Task, load_task
from mooreeval.verify import LocalVerifier, Outcome, versions

_NEVER_END = frozenset({"never_returns"})  # nothing but its deadline would be measured
_TICK = os.sysconf("SC_CLK_TCK")
Named = tuple[str, Task, Candidate]


def chosen(args: argparse.Namespace) -> list[Named]:
    """The candidates, with the names that the table gives them."""
    found = [
        (f"{e.task_name}/{e.candidate_name}", load_task(e.task_path), load_candidate(e.candidate_path))
        for e in gallery.load()
        if e.candidate_name not in _NEVER_END
    ]
    if args.data:
        rows = answers(args.data)
        for row in rows[:: max(1, len(rows) // max(1, args.answers))][: args.answers]:
            name = f"L{row['level']} {row['name']} {Path(row['answer']).stem[:8]}"
            found.append((name, load_task(row["task"]), load_candidate(row["answer"])))
    return [each for each in found if not args.only or each[0] in args.only]


class Meter:
    """CPU seconds by part, noted where they are known; the rest is what the totals say beyond them."""

    def __init__(self, verifier: LocalVerifier) -> None:
        self._verifier = verifier
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = defaultdict(float)
        self._watch_compilers()
        self._watch_children()
        self._forget_builds()

    def _note(self, part: str, seconds: float) -> None:
        with self._lock:
            self._seconds[part] += seconds

    def _watch_compilers(self) -> None:
        pool = self._verifier._toolchain.pool
        run = pool.run

        def watched(command: Any, *rest: Any, **named: Any) -> Any:
            ran = run(command, *rest, **named)
            self._note("compile" if "-c" in command else "link", ran.cpu_seconds)
            return ran

        pool.run = watched

    def _watch_children(self) -> None:
        """Each child is told of once, when it is reaped, with the name of its scratch folder: its role."""
        end = Child.end
        note = self._note

        def watched(child: Child) -> int | None:
            before = child.cpu_seconds
            code = end(child)
            if child.cpu_seconds != before:
                note(child.scratch.name.partition("-")[0], child.cpu_seconds - before)
            return code

        Child.end = watched

    def _forget_builds(self) -> None:
        """A build is found again within one verdict, which may ask twice, and in no other."""
        kept = self._verifier._toolchain._kept
        get, self.here = kept.get, threading.local()

        def forgetful(key: str, *rest: Any) -> Any:
            seen = self.here.__dict__.setdefault("seen", set())
            if key in seen:
                return get(key, *rest)
            seen.add(key)
            return None

        kept.get = forgetful

    def totals(self) -> dict[str, float]:
        """CPU seconds of judge, launcher and everything below them until now; and the parts that are known."""
        own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        pid = self._verifier._launcher._process.pid
        launcher = seconds_of(pid)[0]
        below = sum(sum(seconds_of(each)) for each in descendants(pid)) - launcher  # some outlive a verdict
        judge = own.ru_utime + own.ru_stime
        with self._lock:
            known = dict(self._seconds)
        compilers = known.get("compile", 0.0) + known.get("link", 0.0)  # behind walls they are nobody's children
        others = max(compilers, children.ru_utime + children.ru_stime)
        return {"all": judge + launcher + below + others, **known, "launcher": launcher, "judge": judge}


def seconds_of(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of those of its children that have been waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0.0
    return sum(map(int, stat[11:13])) / _TICK, sum(map(int, stat[13:15])) / _TICK


def judged(
    verifier: LocalVerifier, meter: Meter, pairs: list[Named], workers: int
) -> tuple[list[Outcome], list[float]]:
    """Outcomes in order, and wall seconds of each."""
    walls = [0.0] * len(pairs)
    judge = verifier._outcome

    def timed(index: int, task: Task, candidate: Candidate) -> Outcome:
        meter.here.__dict__["seen"] = set()
        start = time.monotonic()
        try:
            return judge(index, task, candidate)
        finally:
            walls[index] = time.monotonic() - start

    verifier._outcome = timed  # ty: ignore[invalid-assignment]
    try:
        return verifier.verify_many([(task, candidate) for _name, task, candidate in pairs], workers), walls
    finally:
        verifier._outcome = judge  # ty: ignore[invalid-assignment]


def measure(way: list[str], pairs: list[Named], args: argparse.Namespace) -> dict[str, Any]:
    """Everything about one way to build."""
    settings = [*args.set, *way, *(["simulator.audit_share=0"] if way else [])]
    with LocalVerifier(load_config(settings=["backend=simulator", "deadlines.run_seconds=10", *settings])) as verifier:
        meter = Meter(verifier)
        judged(verifier, meter, pairs[:4], 1)  # the parts, the launcher
        time.sleep(6)  # it imports more when it has nothing to do
        rows = list(_one_by_one(verifier, meter, pairs * args.rounds))
        return {"rows": rows, "rates": [_rate(verifier, meter, pairs * args.rounds, n) for n in args.workers]}


def _one_by_one(verifier: LocalVerifier, meter: Meter, pairs: list[Named]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        before = meter.totals()
        [outcome], [wall] = judged(verifier, meter, [pair], 1)
        after = meter.totals()
        parts = {name: round(after[name] - before.get(name, 0.0), 3) for name in after}
        status = outcome.verdict.status.value if outcome.verdict else "not judged"
        tiers = ",".join(outcome.verdict.build_tiers) if outcome.verdict else str(outcome.error)
        print(
            f"{pair[0]:<44}{status:<15}{tiers:<10}{parts['all']:6.2f} CPU-s {wall:6.2f} s", file=sys.stderr, flush=True
        )
        yield {"name": pair[0], "status": status, "tiers": tiers, "wall": round(wall, 3), "cpu": parts}


def _rate(verifier: LocalVerifier, meter: Meter, pairs: list[Named], workers: int) -> dict[str, float]:
    before, start = meter.totals()["all"], time.monotonic()
    _outcomes, walls = judged(verifier, meter, pairs, workers)
    seconds = time.monotonic() - start
    return {
        "workers": workers,
        "verdicts": len(pairs),
        "per_second": round(len(pairs) / seconds, 2),
        "cpu_seconds": round((meter.totals()["all"] - before) / len(pairs), 3),
        "wall_median": round(statistics.median(walls), 3),
        "wall_largest": round(max(walls), 3),
    }


# The rest is what no part has been told of: children that outlive a verdict, and addr2line.
_PARTS = ("compile", "link", "reference", "recorder", "reader", "run", "compare", "launcher", "judge", "rest", "all")


def tell(results: dict[str, dict[str, Any]]) -> None:
    """Tables in Markdown: the parts side by side, then the rates."""
    rows = {way: result["rows"] for way, result in results.items()}
    print(f"\n| CPU-s a verdict | {' | '.join(results)} |\n|---|{'---|' * len(results)}")
    for part in _PARTS:
        print(_line(f"{part}, mean", [_mean(r, part) for r in rows.values()]))
    print(_line("all, median", [statistics.median(r["cpu"]["all"] for r in each) for each in rows.values()]))
    print(_line("all, largest", [max(r["cpu"]["all"] for r in each) for each in rows.values()]))
    print(_line("wall s, median", [statistics.median(r["wall"] for r in each) for each in rows.values()]))
    heads = ("way", "workers", "verdicts", "a second", "CPU-s a verdict", "wall s, median", "largest")
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for way, result in results.items():
        for rate in result["rates"]:
            print(f"| {way} | {' | '.join(str(value) for value in rate.values())} |")


def _line(name: str, values: list[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |"


def _mean(rows: list[dict[str, Any]], part: str) -> float:
    known = [p for p in _PARTS if p not in ("rest", "all")]
    if part == "rest":
        return statistics.mean(r["cpu"]["all"] - sum(r["cpu"].get(p, 0.0) for p in known) for r in rows)
    return statistics.mean(r["cpu"].get(part, 0.0) for r in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--answers", type=int, default=12)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--ways", nargs="*", default=["mini", "full"])
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    pairs = chosen(args)
    tiers = {"mini": ["simulator.tiers=[mini, full]"], "full": ["simulator.tiers=[full]"], "present": []}
    results = {way: measure(tiers[way], pairs, args) for way in args.ways}
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    print(f"{time.strftime('%Y-%m-%d')}, {machine}, {versions()}, {' '.join(sys.argv)}")
    tell(results)
    if args.out:
        args.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
