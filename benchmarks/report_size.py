"""How large a report is, how long it takes to write, and how much memory: on a made-up run with answers of real length.

    python benchmarks/report_size.py [--tasks 250] [--samples 8] [--turns 3]

Answers are some 10 kB of code and 14 kB of reasoning with many random numbers, so that they are harder to compress than
what models write. Where Chromium is installed, prints also how long it takes to show the page and to open a task.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support import report_runs  # noqa: E402 - the tests' own runs
from support.browser import NAMES, browser  # noqa: E402

from musacoder.runlog import RunFolder, Sample  # noqa: E402


def long_run(folder: Path, tasks: int, samples: int, turns: int) -> Path:
    """A run whose answers are as long as real ones."""
    short = report_runs.write_run(folder / "short", tasks=tasks, samples=samples, turns=turns, skill=0.35)
    generator = random.Random(1)
    with RunFolder.create(folder / "long", short.manifest, {}) as run:
        for sample in RunFolder.open(short.path).samples():
            run.add_sample(lengthened(sample, generator))
        for judged in RunFolder.open(short.path).verdicts():
            run.add_verdict(judged)
    return run.path


def lengthened(sample: Sample, generator: random.Random) -> Sample:
    """The sample with comments before its kernel, and reasoning."""
    lines = (f"// tile {i}: shared[{generator.random():.6f}] = x[{generator.randint(0, 999)} + i]" for i in range(180))
    code = "\n".join([*lines, "__global__"])
    answer = sample.answer and sample.answer.replace("__global__", code, 1)
    thought = " ".join(f"Then index {generator.randint(0, 10**6)} is {generator.random():.4f}." for _ in range(450))
    return sample.model_copy(update={"answer": answer, "reasoning": thought})


def reported(run: Path, *options: str) -> float:
    """Seconds that the command takes."""
    start = time.monotonic()
    command = [sys.executable, "-m", "musacoder", "report", str(run), *options]
    subprocess.run(command, check=True, capture_output=True, env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin"})
    return time.monotonic() - start


def written(run: Path) -> Iterator[str]:
    """What the command takes, as lines."""
    seconds = reported(run)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    folder = sum((run / name).stat().st_size for name in ("samples.jsonl", "verdicts.jsonl")) / 1e6
    page = (run / "report.html").stat().st_size / 1e6
    bare = run / "bare.html"
    reported(run, "--no-code", "--out", str(bare))
    yield f"without code {bare.stat().st_size / 1e6:.1f} MB"
    yield f"run folder {folder:.0f} MB, page {page:.0f} MB, written in {seconds:.0f} s with {memory:.0f} MiB"


def shown(page: Path, profile: Path) -> Iterator[str]:
    """What a browser takes, as lines."""
    with browser(profile) as chromium:
        start = time.monotonic()
        chromium.open(page)
        yield f"shown in {time.monotonic() - start:.1f} s"
        start = time.monotonic()
        chromium.evaluate("document.querySelector('.task').open = true")
        chromium.until("document.querySelector('.candidate') !== null")
        yield f"a task opened in {time.monotonic() - start:.1f} s"


def main() -> None:
    """Write a run, report on it, show it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tasks", 250), ("samples", 8), ("turns", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = long_run(Path(folder), asked.tasks, asked.samples, asked.turns)
        count = sum(1 for _ in RunFolder.open(run).samples())
        print(f"{asked.tasks} tasks, {asked.samples} samples, {count} answers")
        for line in written(run):
            print(line)
        if any(map(shutil.which, NAMES)):
            for line in shown(run / "report.html", Path(folder) / "profile"):
                print(line)


if __name__ == "__main__":
    main()
