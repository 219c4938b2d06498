"""What compilers take, and what the build pool makes of it. No GPU is needed.

    python benchmarks/build_pool.py peaks --cuda-python .venv-cuda/bin/python --every 3
    python benchmarks/build_pool.py together --slots 12 2
    python benchmarks/build_pool.py late

`peaks` builds every n-th honest candidate of the gallery with each tier of the toolchain `cuda` and for the simulator,
in caches of their own; a peak is the resident memory of the largest process of one compiler call. `together` builds 12
different candidates at once, by number of slots. `late` wakes every 2 ms beside twice as many endless loops as there
are cores, each in a session of its own. The last two need a machine with nothing else on it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.builds import GOOD, extension, prepared_cache  # noqa: E402
from support.cuda_build import honest, recorded  # noqa: E402

from mooreeval.config import PoolConfig  # noqa: E402
from mooreeval.machine import Machine  # noqa: E402
from mooreeval.toolchains.build_pool import BuildClock, BuildPool  # noqa: E402
from mooreeval.toolchains.cuda import CudaToolchain  # noqa: E402
from mooreeval.toolchains.simulator import SimulatorToolchain  # noqa: E402
from mooreeval.toolchains.simulator_process import Ran  # noqa: E402

_FIND_TORCH = "import importlib.util as u; print(next(iter(u.find_spec('torch').submodule_search_locations)))"
_LOOP = "{ echo $0 >/proc/self/autogroup; } 2>/dev/null; while :; do :; done"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["peaks", "together", "late"])
    parser.add_argument("--cuda-python", default="")
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--slots", type=int, nargs="+", default=[12, 2])
    args = parser.parse_args()
    if args.what == "late":
        for nice in (None, 0, 5, 10, 19):
            late(nice)
        return
    with tempfile.TemporaryDirectory(prefix="moore-pool-") as scratch:
        if args.what == "peaks":
            peaks(Path(scratch), args.cuda_python, args.every)
        else:
            for slots in args.slots:
                together(Path(scratch) / str(slots), slots)


def peaks(scratch: Path, cuda_python: str, every: int) -> None:
    """One line for each way to build and each kind of command."""
    pools = []
    extensions = [e for _, task, candidate in honest()[::every] for e in recorded(task, candidate)]
    pools.append(("simulator", SimulatorToolchain(scratch / "simulator")))
    if cuda_python:
        found = subprocess.run([cuda_python, "-c", _FIND_TORCH], capture_output=True, text=True, check=True)
        torch = Path(found.stdout.strip())
        pools += [(tier, CudaToolchain(scratch / tier, torch, tiers=(tier,))) for tier in ("mini", "slim", "full")]
    for name, toolchain in pools:
        rows: dict[str, list[Ran]] = defaultdict(list)
        _watch(toolchain.pool, rows)
        toolchain.prepare()
        _tell(f"{name}, shared parts", rows)
        for one in extensions:
            toolchain.build(one, 3600)
        _tell(name, rows)


def _watch(pool: BuildPool, rows: dict[str, list[Ran]]) -> None:
    run = pool.run

    def watched(command: Sequence[str], folder: Path, clock: BuildClock, claims: int = 1) -> Ran:
        ran = run(command, folder, clock, claims)
        rows[f"{Path(command[0]).name} {'links' if '-shared' in command else 'compiles'}"].append(ran)
        return ran

    pool.run = watched  # ty: ignore[invalid-assignment]


def _tell(name: str, rows: dict[str, list[Ran]]) -> None:
    for what, runs in sorted(rows.items()):
        mib = [ran.peak_bytes >> 20 for ran in runs]
        cpu = statistics.median(ran.cpu_seconds for ran in runs)
        median = statistics.median(mib)
        print(f"{name}: {what} n={len(mib)} median {median:.0f} largest {max(mib)} MiB, {cpu:.1f} CPU-s")
    rows.clear()


def together(folder: Path, slots: int) -> None:
    """Twelve different candidates, asked for at once."""
    toolchain = SimulatorToolchain(prepared_cache(folder), pool=PoolConfig(builds=slots))
    toolchain.prepare()
    machine, ended, stop = Machine(), threading.Event(), []
    least = [start := machine.available_bytes()]

    def watch() -> None:
        while not ended.wait(0.05):
            least[0] = min(least[0], machine.available_bytes())

    watcher, begin = threading.Thread(target=watch), time.monotonic()
    watcher.start()

    def build(number: int) -> Any:
        built = toolchain.build(extension(GOOD % number), 3600)
        stop.append(time.monotonic() - begin)
        return built

    with ThreadPoolExecutor(12) as threads:
        built = list(threads.map(build, range(12)))
    ended.set()
    watcher.join()
    print(
        f"{slots} slots: first after {min(stop):.1f} s, median {statistics.median(stop):.1f}, last {max(stop):.1f}; "
        f"{sum(b.seconds for b in built):.0f} CPU-s; {(start - least[0]) >> 20} MiB; longest wait "
        f"{max(b.waited_seconds for b in built):.1f} s"
    )
    shutil.rmtree(folder)


def late(nice: int | None) -> None:
    """How late a sleeper wakes beside loops of this priority; None: without loops."""
    loops = [] if nice is None else [_loop(nice) for _ in range(2 * len(os.sched_getaffinity(0)))]
    delays, until = [], time.perf_counter() + 6
    while time.perf_counter() < until:
        before = time.perf_counter()
        time.sleep(0.002)
        delays.append((time.perf_counter() - before - 0.002) * 1e6)
        sum(range(4000))
    for loop in loops:
        loop.kill()
        loop.wait()
    ranked = sorted(delays)
    parts = ", ".join(f"p{p} {ranked[len(ranked) * p // 100]:.0f}" for p in (50, 95, 99))
    print(f"{'no loops' if nice is None else f'nice {nice}'}: late by {parts} µs")


def _loop(nice: int) -> subprocess.Popen[bytes]:
    time.sleep(0.15)  # the kernel takes one change of a session's priority in a tenth of a second
    command = ["nice", "-n", str(nice), "/bin/sh", "-c", _LOOP, str(nice)]
    return subprocess.Popen(command, start_new_session=True)


if __name__ == "__main__":
    main()
