"""The public leaderboard's best answers judged as a model's, and our speed-ups beside those that were published.

    python benchmarks/published.py draw --data KernelBenchLeaderboard/docs/assets --tasks KernelBench --count 100
        --compiled 40 --seed 1 --out runs/published
    python benchmarks/published.py judge --out runs/published --minutes 8 --workers 16 --results results

`draw` takes so many of the tasks that have a published answer, by the seed, and writes two suites and the answers into
a folder that needs nothing beside it: the first `--compiled` of those drawn are to be timed against torch.compile too,
which takes a device half a minute each. The tasks are those of a KernelBench checkout by their level and number, or,
without `--tasks`, the leaderboard's own, whose sizes are what its times are of.

`judge` runs `musacoder bench` on both suites, those without compile first, and ends in time; called again, it goes on.
It needs no network, and of our dependencies neither openai nor httpx2. Into `--results` it writes published.md,
report.html and report.md, which hold no code of an answer and may be shown; bench.log; and state.tar.gz, the whole
folder with the answers, from which `judge --state` goes on on another machine.

published.md has one row for each task: the verdict, our speed-up over eager and over compile, the published one, and
the ratio; and under it the counts. An answer whose ratio is outside [1/1.5, 1.5] is marked, to be explained by hand.
`table` prints it of any runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from mooreeval.verdict import Status
from musacoder.runlog import Judged, RunFolder

LARGE = 1.5
SUITES = ("compiled", "eager")
ROOT = Path(__file__).resolve().parents[1]
RUNS = {"run-eager": ("eager", "--set", "verify.timing.compile_baseline=false"), "run-compiled": ("compiled",)}
RESERVED_SECONDS = 40  # of the time for the runs: to end them, and to write what they say
STATE = "state.tar.gz"


@dataclass(frozen=True)
class Published:
    """The best published answer to a task."""

    level: str
    name: str  # with its number
    model: str
    answer: str  # file
    speedup: float  # over eager, as published

    @property
    def number(self) -> str:
        return self.name.partition("_")[0]


def best_answers(data: Path) -> list[Published]:
    """The fastest answer to each task of a leaderboard's docs/assets whose file is there."""
    found = []
    for title, entries in json.loads((data / "data.json").read_text(encoding="utf-8")).items():
        level, name = re.fullmatch(r"Level (\d+): (\d+_.*)", title).groups()
        there = [(e, data / "solutions" / f"{e['file']}.py") for e in entries]
        rows = [
            Published(level, name, e["display_name"], str(p), float(e["torch_speedup"])) for e, p in there if p.exists()
        ]
        found += sorted(rows, key=lambda row: -row.speedup)[:1]
    return found


def draw(args: argparse.Namespace) -> None:
    rows = [(row, path) for row in best_answers(args.data) if (path := _task_file(row, args)) is not None]
    if args.count > len(rows):
        raise SystemExit(f"published.py: only {len(rows)} tasks have an answer")
    chosen = random.Random(args.seed).sample(rows, args.count)
    answers = {}
    for place, (row, path) in enumerate(chosen):
        folder = args.out / SUITES[place >= args.compiled] / f"level{row.level}"
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / f"{row.name.rstrip('_')}.py"
        shutil.copyfile(path, copy)
        answer = args.out / "answers" / f"level{row.level}_{row.number}.py"
        answer.parent.mkdir(exist_ok=True)
        shutil.copyfile(row.answer, answer)
        answers[str(copy.relative_to(args.out))] = [str(answer.relative_to(args.out))]
    (args.out / "answers.json").write_text(json.dumps(answers, indent=1), encoding="utf-8")
    drawn = {f"level{row.level}/{row.name.rstrip('_')}": asdict(row) for row, _path in chosen}
    (args.out / "drawn.json").write_text(json.dumps(drawn, indent=1), encoding="utf-8")
    print(
        f"{len(chosen)} of {len(rows)} tasks, {min(args.compiled, args.count)} of them with compile, "
        f"seed {args.seed}: {args.out}"
    )


def _task_file(row: Published, args: argparse.Namespace) -> Path | None:
    if args.tasks is None:
        path = args.data / "problems" / f"l{row.level}_p{row.number}.py"
        return path if path.exists() else None
    inner = args.tasks / "KernelBench" if (args.tasks / "KernelBench").is_dir() else args.tasks
    return next(iter(sorted((inner / f"level{row.level}").glob(f"{row.number}_*.py"))), None)


# ---------------------------------------------------------------------------------------------------------------- judge
def judge(args: argparse.Namespace) -> None:
    end = time.monotonic() + 60 * args.minutes
    args.results.mkdir(parents=True, exist_ok=True)
    if not (args.out / "drawn.json").exists():
        _taken_up(args)
    with (args.results / "bench.log").open("ab") as log:
        for run, (suite, *settings) in RUNS.items():
            command = [*("bench", "--run", f"./{run}", "--suite", f"./{suite}", "--model", "scripted:answers.json")]
            command += ["--samples", "1", "--policy", "mixed", "--backend", args.backend]
            command += ["--workers", str(args.workers), *settings]
            _bounded(command, args.out, log, end - RESERVED_SECONDS - time.monotonic())
    _show(args)


def _taken_up(args: argparse.Namespace) -> None:
    if args.state is None or not args.state.exists():
        raise SystemExit(f"published.py: {args.out} has no drawn tasks: `draw` them, or name a --state to go on from")
    with tarfile.open(args.state) as state:
        state.extractall(args.out, filter="data")


def _bounded(command: list[str], folder: Path, log: IO[bytes], seconds: float) -> None:
    """Run a command of ours in the folder, and interrupt it when the time is over: it can go on later."""
    if seconds <= 0:
        return
    program = [sys.executable, "-m", "musacoder", *command]
    with subprocess.Popen(program, cwd=folder, env=_environment(), stdout=log, stderr=log) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(RESERVED_SECONDS / 2)
            except subprocess.TimeoutExpired:
                process.kill()


def _environment() -> dict[str, str]:
    """In which `musacoder` is this checkout's, wherever it is started."""
    others = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *([others] if others else [])])}


def _show(args: argparse.Namespace) -> None:
    runs = [args.out / run for run in RUNS if RunFolder.exists(args.out / run)]
    told = "\n".join(lines(rows_of(args.out, runs)))
    (args.results / "published.md").write_text(told + "\n", encoding="utf-8")
    with tarfile.open(args.results / STATE, "w:gz") as state:
        state.add(args.out, arcname=".")
    print(told, flush=True)
    page = ["--no-code", "--out", str(args.results / "report.html"), "--markdown", str(args.results / "report.md")]
    if any(next(RunFolder.open(run).samples(), None) for run in runs):
        program = [sys.executable, "-m", "musacoder", "report", *map(str, runs), *page]
        subprocess.run(program, env=_environment(), check=True)


# ---------------------------------------------------------------------------------------------------------------- table
@dataclass(frozen=True)
class Row:
    """One answer, judged."""

    task: str
    status: str
    eager: float | None
    compiled: float | None
    published: float
    reason: str

    @property
    def ratio(self) -> float | None:
        """Our speed-up over eager to the published one."""
        return self.eager / self.published if self.eager is not None and self.published > 0 else None

    @property
    def is_far(self) -> bool:
        return self.ratio is not None and not 1 / LARGE <= self.ratio <= LARGE


def rows_of(out: Path, runs: list[Path]) -> list[Row]:
    """The answers of these runs, in the order of their tasks."""
    drawn = json.loads((out / "drawn.json").read_text(encoding="utf-8"))
    return sorted(
        (
            _row(judged, drawn[judged.task]["speedup"])
            for run in runs
            for judged in RunFolder.open(run).verdicts()
            if judged.task in drawn
        ),
        key=lambda row: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", row.task)],
    )


def _row(judged: Judged, published: float) -> Row:
    verdict = judged.verdict
    if verdict is None:
        return Row(judged.task, "not judged", None, None, published, judged.not_judged or "")
    timing = verdict.timing
    eager = timing.eager_ms / timing.candidate_ms if timing else None
    compiled = timing.compile_ms / timing.candidate_ms if timing and timing.compile_ms else None
    status = verdict.status.value
    reason = "" if verdict.status is Status.CORRECT else verdict.reason
    return Row(judged.task, status, eager, compiled, published, " ".join(reason.split()))


def table(args: argparse.Namespace) -> None:
    print("\n".join(lines(rows_of(args.out, args.runs))))


def lines(rows: list[Row]) -> Iterator[str]:
    """The table and the counts under it."""
    yield "| task | verdict | over eager | over compile | published, over eager | ratio | |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        numbers = " | ".join(
            "" if v is None else f"{v:.2f}" for v in (row.eager, row.compiled, row.published, row.ratio)
        )
        note = "far" if row.is_far else row.reason[:100].replace("|", "/")
        yield f"| {row.task} | {row.status} | {numbers} | {note} |"
    yield from summary(rows)


def summary(rows: list[Row]) -> Iterator[str]:
    """The counts under the table."""
    yield ""
    yield f"{len(rows)} answers: " + ", ".join(
        f"{n} {status}" for status, n in Counter(r.status for r in rows).most_common()
    )
    for name, values in (("eager", [r.eager for r in rows]), ("compile", [r.compiled for r in rows])):
        known = [v for v in values if v is not None]
        if known:
            faster = sum(v > 1.1 for v in known)
            yield f"over {name}: {len(known)} timed, median {statistics.median(known):.2f}, {faster} above 1.1"
    ratios = [r.ratio for r in rows if r.ratio is not None]
    if ratios:
        far = sum(r.is_far for r in rows)
        yield f"ours to published: median {statistics.median(ratios):.2f}; {far} of {len(ratios)} are far apart"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    drawing = commands.add_parser("draw")
    drawing.set_defaults(do=draw)
    drawing.add_argument("--data", type=Path, required=True, help="a leaderboard's docs/assets")
    drawing.add_argument("--tasks", type=Path, help="a KernelBench checkout; without it the leaderboard's own tasks")
    drawing.add_argument("--count", type=int, default=100)
    drawing.add_argument("--compiled", type=int, default=40, help="so many of them against torch.compile, too")
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--out", type=Path, default=Path("runs/published"))
    judging = commands.add_parser("judge")
    judging.set_defaults(do=judge)
    judging.add_argument(
        "--out", type=Path, default=Path("runs/published"), help="what `draw` wrote; runs go there too"
    )
    judging.add_argument("--minutes", type=float, default=8.0, help="after which it ends, to be called again")
    judging.add_argument("--backend", default="cuda")
    judging.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    judging.add_argument("--results", type=Path, default=Path("runs/published-results"))
    judging.add_argument("--state", type=Path, help=f"a {STATE} to go on from where --out has nothing")
    printing = commands.add_parser("table")
    printing.set_defaults(do=table)
    printing.add_argument("--out", type=Path, default=Path("runs/published"), help="what `draw` wrote")
    printing.add_argument("runs", type=Path, nargs="+")
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
