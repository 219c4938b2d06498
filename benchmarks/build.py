"""CPU seconds of building candidates: the toolchain `cuda`, tier by tier, against plain load_inline.

    python benchmarks/build.py --out runs/build.jsonl --cuda-python .venv-cuda/bin/python       the gallery, one by one
    python benchmarks/build.py --out runs/build.jsonl --data KernelBenchLeaderboard/docs/assets \\
        --sample 150 --plain 30 --spoil 30 --jobs 12 --minutes 7
    python benchmarks/build.py --report runs/build.jsonl runs/more.jsonl

The candidates are shuffled by `--seed`; each is built with each set of `--tiers`, and `--plain` of them, evenly spread,
by `torch.utils.cpp_extension.load_inline` as a user would run it (a process of its own, ninja, a fresh build folder,
no ccache). The ways alternate from one candidate to the next, and all share the same `--jobs` workers, so that all meet
the same load. `--spoil` of the candidates are built once more with one thing broken, for what a rejection costs.

Every run is one line of OUT: results, failed ones too, and what the end of `--minutes` cut. Started again, the
benchmark goes on with what OUT, and files given by `--known`, do not hold yet; the table is over all of them.
`--recorded FILE` keeps what the candidates ask to have compiled: on another machine the answers need not be there.
CPU seconds are those of the compilers with all their children; for load_inline also those of Python, told apart as
`python_seconds`. `--cuda-python` has a CUDA build of PyTorch and ninja; no GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_table import print_table
from build_ways import PLAIN, Toolchains, plain
from leaderboard import answers
from recorded import extensions_from
from spoilt import spoilt

from mooreeval import gallery
from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.cuda_toolkit import Toolkit

_FIND_TORCH = "import importlib.util as u; print(next(iter(u.find_spec('torch').submodule_search_locations)))"
_USUAL_PLAIN_SECONDS, _USUAL_SECONDS = 90.0, 10.0  # the first, until one has been seen


@dataclass(frozen=True)
class Run:
    """One build to be made. `kind`: "answer" as it was written, or "spoilt"."""

    candidate: str
    index: int
    extension: Extension
    way: str
    kind: str

    @property
    def key(self) -> tuple[str, str]:
        return self.extension.content_hash(), self.way

    def row(self) -> dict[str, Any]:
        names = {"candidate": self.candidate, "extension": self.index, "kind": self.kind}
        return {**names, "way": self.way, "hash": self.extension.content_hash()}


def main() -> None:
    args = _arguments()
    if args.report:
        print_table([run for path in args.report for run in _read(path)[1]])
        return
    start = time.monotonic()
    torch_dir = Path(_answer([args.cuda_python, "-c", _FIND_TORCH]).strip())
    toolkit = Toolkit(torch_dir, args.arch)
    log = Log(args.out, args.known, toolkit)
    plan = list(planned(_chosen(_candidates(args), args), args))
    todo = _once([run for run in plan if run.key not in log.known])
    print(f"{len(plan)} runs, {len(todo)} of them to be made", flush=True)
    with tempfile.TemporaryDirectory(prefix="moore-build-") as scratch:
        toolchains = Toolchains(Path(scratch), torch_dir, args.arch, args.tiers, args.confirm_failures)
        log.begin(toolchains.prepare())
        until = start + 60 * args.minutes if args.minutes else None

        def make(run: Run) -> dict[str, Any]:
            if run.way == PLAIN:
                return plain(toolkit, args.cuda_python, run.extension, until)
            return toolchains.build(run.way, run.extension, until)

        make_all(todo, make, log, args.jobs, until, toolchains.close)
    print_table(log.runs)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file of all runs, one JSON line each; added to")
    parser.add_argument("--known", type=Path, action="append", default=[], help="more such files, which are only read")
    parser.add_argument("--report", type=Path, nargs="+", help="print the table of such files, and build nothing")
    parser.add_argument("--data", type=Path, help="folder of a leaderboard's answers (default: the gallery)")
    parser.add_argument(
        "--recorded", type=Path, help="file of what all candidates ask for; written where it is missing"
    )
    parser.add_argument("--cuda-python", default=sys.executable, help="a Python with a CUDA build of PyTorch")
    parser.add_argument("--arch", default="9.0", help="compute capability")
    parser.add_argument("--tiers", action="append", help="sets of tiers to try, as slim+full; may be repeated")
    parser.add_argument("--confirm-failures", default="always", choices=("always", "ambiguous", "sampled"))
    parser.add_argument("--sample", type=int, help="so many candidates, drawn at random (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the order, the sample, and what is spoilt")
    parser.add_argument("--plain", type=int, help=f"so many of them by {PLAIN} (default: all)")
    parser.add_argument("--spoil", type=int, default=0, help="so many of them once more with one thing broken")
    parser.add_argument("--jobs", type=int, default=1, help="builds at the same time")
    parser.add_argument("--minutes", type=float, help="wall time for all, with the shared parts")
    args = parser.parse_args()
    args.tiers = args.tiers or ["mini+slim+full", "slim+full"]
    if not args.report and not args.out:
        parser.error("--out or --report is needed")
    return args


def _candidates(args: argparse.Namespace) -> list[tuple[str, list[Extension]]]:
    """Every candidate's name with what it asks to have compiled."""
    if args.recorded and args.recorded.exists():
        pairs = [json.loads(line) for line in args.recorded.read_text(encoding="utf-8").splitlines()]
    else:
        files = _from_leaderboard(args.data) if args.data else _from_gallery()
        paths = [str(path) for _, task, candidate in files for path in (task, candidate)]
        lines = _answer([sys.executable, str(Path(__file__).parent / "recorded.py"), *paths]).splitlines()
        pairs = [[name, line] for (name, _, _), line in zip(files, lines, strict=True)]
    if args.recorded and not args.recorded.exists():
        args.recorded.parent.mkdir(parents=True, exist_ok=True)
        args.recorded.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs), encoding="utf-8")
    return [(name, extensions_from(line)) for name, line in pairs]


def _chosen(candidates: list[tuple[str, list[Extension]]], args: argparse.Namespace) -> list[Any]:
    asking = [candidate for candidate in candidates if candidate[1]]
    print(f"{len(asking)} of {len(candidates)} candidates ask for an extension", flush=True)
    random.Random(args.seed).shuffle(asking)
    return asking[: args.sample]


def planned(candidates: list[tuple[str, list[Extension]]], args: argparse.Namespace) -> Iterator[Run]:
    """All runs in their order: any beginning of it is a sample, too."""
    plain_ones = _evenly(len(candidates), args.plain)
    spoilt_ones = _evenly(len(candidates), args.spoil)
    for number, (name, extensions) in enumerate(candidates):
        ways = [*([PLAIN] if number in plain_ones else []), *args.tiers]
        ways = ways if number % 2 == 0 else ways[::-1]
        for index, extension in enumerate(extensions):
            yield from (Run(name, index, extension, way, "answer") for way in ways)
        broken = spoilt(extensions[0], args.seed) if number in spoilt_ones else None
        if broken:
            yield from (Run(name, 0, broken, way, "spoilt") for way in ways)


def _evenly(total: int, number: int | None) -> set[int]:
    """So many of range(total), at even distances."""
    number = total if number is None else min(number, total)
    return {k * total // number for k in range(number)}


def _once(runs: list[Run]) -> list[Run]:
    """Several candidates may ask for the same."""
    return list({run.key: run for run in runs}.values())


class Queue:
    """Runs in their order, for several workers; those that would not end by `until` are passed over."""

    def __init__(self, runs: list[Run], until: float | None) -> None:
        self._runs, self._until, self._lock = iter(runs), until, threading.Lock()
        self._plain_seconds: list[float] = []

    def next(self) -> Run | None:
        with self._lock:
            return next((run for run in self._runs if self._fits(run)), None)

    def took(self, run: Run, seconds: float) -> None:
        if run.way == PLAIN:
            self._plain_seconds.append(seconds)

    def _fits(self, run: Run) -> bool:
        if self._until is None:
            return True
        needed = 1.2 * max(self._plain_seconds or [_USUAL_PLAIN_SECONDS]) if run.way == PLAIN else _USUAL_SECONDS
        return self._until - time.monotonic() > needed


def make_all(
    runs: list[Run], make: Callable[[Run], dict[str, Any]], log: Log, jobs: int, until: float | None, end: Any
) -> None:
    """Make the runs; what is under way when the time is over is ended by `end`."""
    queue = Queue(runs, until)

    def work() -> None:
        while run := queue.next():
            result = make(run)
            queue.took(run, result["wall_seconds"])
            log.add({**run.row(), **result})

    timer = threading.Timer(until - time.monotonic() if until else 0.0, end)
    timer.daemon = True
    if until:
        timer.start()
    with ThreadPoolExecutor(jobs) as pool:
        for worker in [pool.submit(work) for _ in range(jobs)]:
            worker.result()
    timer.cancel()


def _from_gallery() -> list[tuple[str, Path, Path]]:
    entries = [entry for entry in gallery.load() if entry.expected.status == "correct"]
    return [(f"{e.task_name}/{e.candidate_name}", e.task_path, e.candidate_path) for e in entries]


def _from_leaderboard(data: Path) -> list[tuple[str, Path, Path]]:
    rows = answers(data)
    return [(f"L{r['level']} {r['name']} {Path(r['answer']).stem}", Path(r["task"]), Path(r["answer"])) for r in rows]


def _answer(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _read(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Heads and runs of a file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return [row["head"] for row in rows if "head" in row], [row for row in rows if "head" not in row]


class Log:
    """The file of runs, with those of earlier invocations. Safe for several threads.

    Ends the program where an earlier run was of other versions: medians over both would mean nothing.
    """

    def __init__(self, path: Path, more: list[Path], toolkit: Toolkit) -> None:
        self._path, self._versions, self._lock = path, toolkit.versions, threading.Lock()
        self.runs: list[dict[str, Any]] = []
        for known in (path, *more):
            heads, runs = _read(known)
            other = {k for head in heads for k, v in head["versions"].items() if v != self._versions.get(k)}
            other -= {"folders"}
            if other:
                sys.exit(f"{known} was made with another {', '.join(sorted(other))}: name another file")
            self.runs += [run for run in runs if run["result"] != "cut"]
        self.known = {(run["hash"], run["way"]) for run in self.runs}

    def begin(self, prepared: dict[str, float]) -> None:
        head = {"machine": platform.platform(), "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
        self._write({"head": {**head, "versions": self._versions, "prepared_cpu_seconds": prepared, "argv": sys.argv}})

    def add(self, run: dict[str, Any]) -> None:
        with self._lock:
            self._write(run)
            self.runs.append(run)
        cost = f"{run.get('cpu_seconds', float('nan')):7.1f} CPU-s {run['wall_seconds']:6.1f} s"
        kind = "" if run["kind"] == "answer" else "spoilt "
        print(
            f"{kind + run['candidate']:44.44} {run['way']:15} {run['result']:14} {cost} {run.get('tier', '')}",
            flush=True,
        )

    def _write(self, row: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(f"{json.dumps(row)}\n")


if __name__ == "__main__":
    main()
