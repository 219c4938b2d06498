"""Verdicts a minute on a GPU, what each holds it, how long it idles; beside KernelBench's own evaluation.

    python benchmarks/verdicts.py --data KernelBenchLeaderboard/docs/assets --out runs/verdicts.json --workers 16
    python benchmarks/verdicts.py ... --peer KernelBench --peer-sample 8 [--alone] [--minutes 8]

Judged are public answers with CUDA in their own file, drawn by the seed, one of each task before a second of any,
against the tasks that the leaderboard gives beside them (or those of the same number in `--tasks`, a KernelBench
folder, whose sizes may be others). Two passes: `cold`, before which candidates' builds and tasks' torch.compile
baselines are removed, and `warm`. What all candidates share is prepared before either, by a verdict that is not
counted; so is the verifier's start. KernelBench's evaluation, below, times no compiled model: to compare like with
like, `--set timing.compile_baseline=false`.

With `--peer` a seeded sample of the same answers is judged once more, by us in passes of its own and by KernelBench's
`eval_kernel_against_ref` with its scripts' defaults (see kernelbench_peer.py): one answer after the other as its
scripts do on one GPU, each in a fresh process, first with an empty build folder, then in another process with that
build. One that takes longer than `--peer-seconds`, its script's own limit, counts with the time that it took until
then, and has no second run; where it raised, crashed or gave no result, neither that run nor its time is in its rate.
The peer's commit is read from PEER/COMMIT or from git. `--alone` adds passes of ours with one worker. `--dry-run`
imports the peer and calls nothing; with `--backend simulator` there are no device times: both are for trying this
program where there is no GPU.

Verdicts a minute are those of a pass over its wall time. The device is held by one verdict alone while it is timed, by
several during their trials; it idles where none has it, which is looked at ten times a second. CPU seconds are the
judge's and all its children's, the verifier's start included. Every run that is started is listed in OUT. After
`--minutes` none is begun, and the same command goes on where it stopped, as long as CACHE is kept. A pass in several
pieces has their walls added up; at the end of each piece workers idle.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from leaderboard import answers
from run_list import Row, RunList, judged, markdown

from mooreeval import gallery
from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.hashing import content_hash
from mooreeval.task import load_task
from mooreeval.verify import LocalVerifier

PEER = Path(__file__).parent / "kernelbench_peer.py"
PEER_VERDICTS = ("correct", "incorrect", "compile_error", "timed_out")
_MARK = "of-run.txt"
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Pass:
    """Answers judged by so many workers. A cold one begins without what earlier verdicts left in the cache."""

    name: str
    rows: Sequence[Row]
    workers: int
    cold: bool


def main() -> None:
    args = _arguments()
    chosen = chosen_answers(answers(args.data), args.tasks, args.answers, args.seed)
    sample = random.Random(f"{args.seed} peer").sample(chosen, min(args.peer_sample, len(chosen))) if args.peer else []
    runs = RunList(args.out, _plan(args, chosen, sample))
    os.environ |= {"MOOREEVAL_CACHE": str(args.cache), "CCACHE_DISABLE": "1"}
    _claim(args.cache, runs)
    end = time.monotonic() + 60 * args.minutes
    try:
        for each in _passes(args, chosen, sample):
            judge(each, runs, args, end)
        if args.peer:
            evaluate_by_peer(sample, runs, args, end)
    finally:
        print(report(runs))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a leaderboard's docs/assets")
    parser.add_argument("--tasks", type=Path, help="a KernelBench folder with level1/ and so on, for the tasks")
    parser.add_argument("--out", type=Path, required=True, help="JSON file with every run")
    parser.add_argument("--cache", type=Path, help="folder for builds, of this run alone (default: OUT's name, .cache)")
    parser.add_argument("--answers", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--backend", choices=("cuda", "simulator"), default="cuda")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many minutes")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c")
    parser.add_argument("--peer", type=Path, help="a checkout of ScalingIntelligence/KernelBench")
    parser.add_argument("--peer-sample", type=int, default=8)
    parser.add_argument("--peer-seconds", type=float, default=180, help="limit for one of the peer's evaluations")
    parser.add_argument("--peer-arch", default="Hopper", help="the device's architecture, as KernelBench names it")
    parser.add_argument("--alone", action="store_true", help="judge the peer's sample with one worker, too")
    parser.add_argument("--dry-run", action="store_true", help="the peer is imported, nothing is called")
    args = parser.parse_args()
    args.cache = (args.cache or args.out.with_suffix(".cache")).absolute()
    if args.peer and not args.dry_run and not shutil.which("ninja"):
        parser.error("the peer builds by load_inline, which needs ninja on PATH: pip install ninja")
    return args


def chosen_answers(pool: list[dict[str, str]], tasks: Path | None, count: int, seed: int) -> list[Row]:
    """Answers with inline CUDA in an order drawn by the seed, distinct tasks first."""
    pool = [row for row in pool if _has_cuda(Path(row["answer"]).read_text(encoding="utf-8"))]
    random.Random(seed).shuffle(pool)
    taken: Counter[str] = Counter()
    rounds = []
    for row in pool:
        rounds.append(taken[row["task"]])  # how many of its task came before it
        taken[row["task"]] += 1
    order = sorted(range(len(pool)), key=rounds.__getitem__)[:count]
    return [_named(pool[index], tasks) for index in order]


def _has_cuda(code: str) -> bool:
    return "load_inline" in code and "__global__" in code


def _named(row: dict[str, str], tasks: Path | None) -> Row:
    name = f"L{row['level']} {row['name']} {Path(row['answer']).stem[:8]}"
    if tasks is None:
        return {**row, "id": name}
    (task,) = tasks.glob(f"level{row['level']}/{row['name'].split('_')[0]}_*.py")
    return {**row, "id": name, "task": str(task)}


def _plan(args: argparse.Namespace, chosen: list[Row], sample: list[Row]) -> Row:
    code = [[row["id"], *(Path(row[key]).read_text(encoding="utf-8") for key in ("task", "answer"))] for row in chosen]
    plan: Row = {
        "seed": args.seed, "answers": [row["id"] for row in chosen], "answers_hash": content_hash(code),
        "backend": args.backend, "settings": args.set, "workers": args.workers, "sample": [row["id"] for row in sample],
        "alone": args.alone,
    }  # fmt: skip
    if args.peer:
        plan |= {"peer_commit": _commit(args.peer), "peer_seconds": args.peer_seconds, "peer_arch": args.peer_arch}
        plan["dry_run"] = args.dry_run
    return plan


def _commit(peer: Path) -> str:
    if (peer / "COMMIT").exists():
        return (peer / "COMMIT").read_text(encoding="utf-8").strip()
    asked = subprocess.run(["git", "-C", peer, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or sys.exit(f"{peer} is no git checkout and has no COMMIT file: which commit is it?")


def _claim(cache: Path, runs: RunList) -> None:
    """A run that is taken up again finds its own builds, or says that they are gone."""
    cache.mkdir(parents=True, exist_ok=True)
    mark, own = cache / _MARK, runs.invocations[0]["started"]
    if runs.runs and (not mark.exists() or mark.read_text(encoding="utf-8") != own):
        sys.exit(f"the builds of this run are not in {cache}: name its folder with --cache, or begin another --out")
    mark.write_text(own, encoding="utf-8")


# ----------------------------------------------------------------------------------------------------------------- ours
def _passes(args: argparse.Namespace, chosen: list[Row], sample: list[Row]) -> list[Pass]:
    passes = [("", chosen, args.workers)]
    if sample:
        passes += [(" sample", sample, args.workers), *([(" sample alone", sample, 1)] if args.alone else [])]
    return [
        Pass(f"{heat}{which}", rows, workers, heat == "cold")
        for which, rows, workers in passes
        for heat in ("cold", "warm")
    ]


def judge(this: Pass, runs: RunList, args: argparse.Namespace, end: float) -> None:
    """Verdicts of a pass on what has none yet; none is begun after `end`."""
    done = {row["id"] for row in runs.ended(which=this.name)}
    todo = [row for row in this.rows if row["id"] not in done]
    if not todo or time.monotonic() > end:
        return
    if this.cold and not any(row["which"] == this.name for row in runs.runs):
        _drop_what_answers_left(args.cache)
    config = load_config(settings=[f"backend={args.backend}", *args.set])
    with LocalVerifier(config) as verifier:
        _prepare(verifier)  # in a verifier of its own, so that its CPU time is told apart
    cpu = _cpu_seconds()
    with LocalVerifier(config) as verifier:
        _prepare(verifier)
        start, rows = time.monotonic(), []
        with _Watch(verifier) as watch, ThreadPoolExecutor(this.workers) as pool:
            for row in pool.map(lambda row: _verdict(verifier, this.name, row, runs, end), todo):
                rows += [row] if row else []
        wall = time.monotonic() - start
    if not rows:
        return
    runs.segment(
        which=this.name, verdicts=len(rows), wall_seconds=round(wall, 2), cpu_seconds=round(_cpu_seconds() - cpu, 1),
        idle_seconds=round(wall * watch.idle_share(), 3),
    )  # fmt: skip


class _Watch(threading.Thread):
    """Looks again and again whether anybody has the device, while it is used as a context."""

    def __init__(self, verifier: LocalVerifier) -> None:
        super().__init__(name="device watch", daemon=True)
        self._turns = getattr(verifier._toolchain, "turns", None)  # a simulated device has none
        self._over, self._looks, self._idle = threading.Event(), 0, 0

    def run(self) -> None:
        while self._turns and not self._over.wait(LOOK_SECONDS):
            self._looks += 1
            self._idle += self._turns.is_idle()

    def idle_share(self) -> float:
        """Of the looks; 0 where there was none."""
        return self._idle / max(self._looks, 1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def _drop_what_answers_left(cache: Path) -> None:
    for kind in ("*module-*", "baseline-*"):
        for folder in (cache / "entries").glob(kind):
            shutil.rmtree(folder)


def _prepare(verifier: LocalVerifier) -> None:
    """What all candidates share is built and the verifier's processes are up: by a verdict that is not counted."""
    entry = next(entry for entry in gallery.load() if entry.expected.status == "correct")
    told = judged(verifier, load_task(entry.task_path), load_candidate(entry.candidate_path))
    if told["status"] != "correct":
        sys.exit(f"a right candidate of the gallery is {told['status']}: {told['reason']}")


def _verdict(verifier: LocalVerifier, which: str, row: Row, runs: RunList, end: float) -> Row | None:
    if time.monotonic() > end:
        return None
    run = runs.start(which=which, id=row["id"], model=row["model"])
    runs.end(run, judged(verifier, load_task(row["task"]), load_candidate(row["answer"])))
    held = run.get("device_seconds") or 0.0
    head = f"{which:<12} {run['status']:<13} {run['wall_seconds']:6.1f} s, device {held:5.2f} s"
    print(f"{head}  {run['id']}: {run['reason'][:100]}", file=sys.stderr, flush=True)
    return run


def _cpu_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


# ------------------------------------------------------------------------------------------------------------- the peer
def evaluate_by_peer(sample: list[Row], runs: RunList, args: argparse.Namespace, end: float) -> None:
    """Each answer by the peer: with an empty build folder, then in another process with that build."""
    for number, row in enumerate(sample):
        folder = args.cache / "peer" / str(number)
        for which in ("peer cold", "peer warm"):
            if runs.ended(which=which, id=row["id"]):
                continue
            if time.monotonic() > end:
                return
            if which == "peer cold":
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
            elif runs.ended(which="peer cold", id=row["id"], status="timed_out"):
                break  # its scripts remove such a build
            run = runs.start(which=which, id=row["id"], model=row["model"])
            runs.end(run, _peer_run(row, folder, args))
            told = f"{which:<12} {run['status']:<13} {run['wall_seconds']:6.1f} s  {run['id']}"
            print(told, file=sys.stderr, flush=True)


def _peer_run(row: Row, folder: Path, args: argparse.Namespace) -> Row:
    """One evaluation in a fresh process; its wall time holds the start of Python and PyTorch."""
    result, log = folder / "result.json", folder / "log.txt"
    result.unlink(missing_ok=True)
    paths = [args.peer.absolute(), *(Path(row[key]).absolute() for key in ("task", "answer")), folder / "build", result]
    command: list[Any] = [sys.executable, "-P", PEER, *paths, "--arch", args.peer_arch]
    command += ["--dry-run"] if args.dry_run else []
    start = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, start_new_session=True)
        try:
            process.wait(args.peer_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return {"status": "timed_out", "wall_seconds": round(time.monotonic() - start, 3)}
    wall = {"wall_seconds": round(time.monotonic() - start, 3), "exit_code": process.returncode}
    if result.exists():
        return {**json.loads(result.read_text(encoding="utf-8")), **wall}
    tail = log.read_bytes()[-600:].decode("utf-8", "replace")
    return {"status": "crashed", "reason": tail, **wall}


# --------------------------------------------------------------------------------------------------------------- report
def report(runs: RunList) -> str:
    """The tables, with what they were made by."""
    names = list(dict.fromkeys(segment["which"] for segment in runs.segments))
    head = ["pass", "verdicts", "wall s", "verdicts/min", "device alone s, median", "90 %", "beside others",
            "device idle", "one verdict, wall s", "of it build", "CPU-s a verdict", "statuses"]  # fmt: skip
    parts = [f"`{runs.command}`", runs.machine(), markdown(head, [_line(runs, name) for name in names])]
    if runs.plan["sample"]:
        parts += [f"KernelBench {runs.plan['peer_commit']}", _peer_table(runs), _ratios(runs)]
    if open_runs := [row["id"] for row in runs.runs if "status" not in row]:
        parts.append(f"begun and not ended: {', '.join(open_runs)}")
    return "\n\n".join(parts)


def _line(runs: RunList, name: str) -> list[str]:
    wall, count, cpu, idle = _sums(runs, name)
    rows = runs.ended(which=name)
    held = [(row["device_seconds"], row["shared_device_seconds"]) for row in rows if row.get("device_seconds")]
    alone, shared = [all_of_it - part for all_of_it, part in held], [part for _all_of_it, part in held]
    builds = [row["stage_seconds"]["build"] for row in rows if "build" in row.get("stage_seconds", {})]
    statuses = ", ".join(f"{status} {n}" for status, n in Counter(row["status"] for row in rows).most_common())
    return [
        name, str(count), f"{wall:.0f}", f"{60 * count / wall:.1f}", _number(alone, 0.5), _number(alone, 0.9),
        _number(shared, 0.5), f"{100 * idle / wall:.0f} %" if held else "-",
        _number([row["wall_seconds"] for row in rows], 0.5), _number(builds, 0.5), f"{cpu / count:.1f}", statuses,
    ]  # fmt: skip


def _sums(runs: RunList, name: str) -> tuple[float, int, float, float]:
    """Wall seconds, verdicts, CPU seconds and seconds without a verdict on the device of all pieces of a pass."""
    pieces = [s for s in runs.segments if s["which"] == name and s["verdicts"]]
    sums = [sum(s[key] for s in pieces) for key in ("wall_seconds", "verdicts", "cpu_seconds", "idle_seconds")]
    return sums[0] or 1e-9, sums[1] or 1, sums[2], sums[3]


def _number(values: Sequence[float], share: float) -> str:
    return f"{quantile(values, share):.2f}" if values else "-"


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed; the median for one half."""
    ordered = sorted(values)
    return statistics.median(ordered) if share == 0.5 else ordered[math.ceil(share * len(ordered)) - 1]


def _peer_table(runs: RunList) -> str:
    lines = []
    for answer in runs.plan["sample"]:
        line = [answer]
        for which in ("cold sample", "warm sample", "peer cold", "peer warm"):
            row = next(iter(runs.ended(which=which, id=answer)), None)
            line.append(f"{row['wall_seconds']:.1f}, {row['status']}" if row else "-")
        cold = next(iter(runs.ended(which="peer cold", id=answer)), {})
        lines.append([*line, f"{cold['build_seconds']:.1f}" if "build_seconds" in cold else "-"])
    head = ["answer, seconds and verdict", "ours, cold", "warm", "KernelBench, cold", "warm", "its compile step, cold"]
    return markdown(head, lines)


def _ratios(runs: RunList) -> str:
    lines = []
    for heat in ("cold", "warm"):
        theirs = [row for row in runs.ended(which=f"peer {heat}") if row["status"] in PEER_VERDICTS]
        for which in (f"{heat} sample", f"{heat} sample alone"):
            wall, count, *_ = _sums(runs, which)
            if theirs and runs.ended(which=which):
                seconds = [row["wall_seconds"] for row in theirs]
                rate, own = 60 * len(theirs) / sum(seconds), 60 * count / wall
                told = [str(len(theirs)), f"{sum(seconds) / len(theirs):.1f}", _number(seconds, 0.5), f"{rate:.2f}"]
                lines.append([which, f"{own:.1f}", *told, f"{own / rate:.1f}"])
    head = [
        "our pass",
        "verdicts/min",
        "KernelBench's",
        "s an answer, mean",
        "median",
        "verdicts/min",
        "ratio of rates",
    ]
    return markdown(head, lines) if lines else "no rate of the peer's to compare with"


if __name__ == "__main__":
    main()
