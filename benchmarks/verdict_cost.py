"""What one simulator verdict costs, in CPU seconds, wall seconds and memory: cold, and with the build cached.

    python benchmarks/verdict_cost.py [--only TASK/CANDIDATE ...] [--out FILE.json]

Each verdict is one `musacoder verify` process, so the start of Python and torch is included. The first line is what the
cache holds for good: run time, emulated device and precompiled header. Every candidate is judged three times: first
with memory sampled, which also makes a precompiled header that only some candidates need; then with its own build
removed from the cache ("cold"); then with everything there ("cached"). Memory is the largest sum of proportional set
sizes of all processes of one verdict, sampled every 50 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from mooreeval import gallery

SAMPLE_SECONDS = 0.05


def descendants(root: int) -> list[int]:
    """Process ids of a process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def proportional_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure(command: list[str], environment: dict[str, str], *, sampled: bool = False) -> dict[str, float]:
    """Run a command; CPU seconds of everything it waited for, wall seconds, peak MiB (if sampled), exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_SECONDS):
            peak[0] = max(peak[0], sum(proportional_kib(pid) for pid in descendants(process.pid)))

    watcher = threading.Thread(target=watch)
    if sampled:
        watcher.start()
    stdout, stderr = process.communicate()
    wall = time.monotonic() - start
    done.set()
    if sampled:
        watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu_seconds": round(cpu, 2),
        "wall_seconds": round(wall, 2),
        "peak_mib": peak[0] // 1024,
        "exit": process.returncode,
        "stdout": stdout,
        "stderr": stderr[-300:],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "MOOREEVAL_CACHE": cache, "CCACHE_DISABLE": "1"}
        prepare = "from mooreeval.toolchains.simulator import SimulatorToolchain as S; S().prepare()"
        once = measure([sys.executable, "-c", prepare], environment)
        print(f"prepared once: {once['cpu_seconds']} CPU-s, {once['wall_seconds']} s", flush=True)
        for entry in gallery.load():
            name = f"{entry.task_name}/{entry.candidate_name}"
            if args.only and name not in args.only:
                continue
            command = [sys.executable, "-m", "musacoder", "verify", str(entry.task_path), str(entry.candidate_path)]
            command += ["--json", "--set", "deadlines.run_seconds=10"]
            first = measure(command, environment, sampled=True)
            status = json.loads(first.pop("stdout"))["status"]
            for entry_folder in Path(cache, "entries").glob("module-*"):
                shutil.rmtree(entry_folder)
            cold, warm = measure(command, environment), measure(command, environment)
            for run in (cold, warm):
                run.pop("stdout")
            rows.append({"name": name, "status": status, "first": first, "cold": cold, "cached": warm})
            line = f"{name:<40} {status:<14} cold {cold['cpu_seconds']:6.1f} CPU-s {cold['wall_seconds']:6.1f} s"
            line += f"   cached {warm['cpu_seconds']:6.1f} CPU-s {warm['wall_seconds']:6.1f} s"
            print(f"{line}  {first['peak_mib']:5d} MiB", flush=True)
    report(rows)
    if args.out:
        args.out.write_text(
            json.dumps({"prepared": {k: v for k, v in once.items() if k != "stdout"}, "rows": rows}, indent=1)
        )


def report(rows: list[dict]) -> None:
    for kind, field in (
        ("cold", "cpu_seconds"),
        ("cold", "wall_seconds"),
        ("cached", "cpu_seconds"),
        ("cached", "wall_seconds"),
        ("first", "peak_mib"),
    ):
        values = [row[kind][field] for row in rows]
        print(f"{kind} {field}: median {statistics.median(values):.1f}, largest {max(values):.1f}")


if __name__ == "__main__":
    main()
