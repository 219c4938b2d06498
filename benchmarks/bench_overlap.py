"""Is a judge idle while answers wait for it? And does memory grow with a run? By a judge that takes a known time.

    python benchmarks/bench_overlap.py --tasks 250 --samples 8 --judges 4 --judge-seconds 0.25

Everything is as in `musacoder bench`, prompts, threads and run folder, but for the model, which answers at once, and
the judge, which sleeps. The idle share follows from the times in the run folder alone, so any run can be asked for it:

    python benchmarks/bench_overlap.py --of runs/NAME --judges 4
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import TaskError
from mooreeval.hashing import content_hash
from mooreeval.task import Task, make_task
from mooreeval.verdict import Status, Verdict
from musacoder.config import BenchConfig, plain
from musacoder.conversation import Conversation
from musacoder.models.scripted import Answer, ScriptedModel, ScriptedTask, wrapped
from musacoder.pipeline import Ledger, Pipeline
from musacoder.pipeline.pipeline import Parts
from musacoder.runlog import Judged, Manifest, RunFolder, TaskEntry
from musacoder.suites import SuiteTask

TASK = """# task {number}
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * {number}


def get_inputs():
    return [torch.randn(1024, 1024)]
"""
CANDIDATE = """# answer {number}
import torch
from torch.utils.cpp_extension import load_inline

source = '''
{filler}
'''


class ModelNew(torch.nn.Module):
    pass
"""
MIB = 1 << 20


class SleepingJudge:
    """Takes its time, and finds every second candidate right."""

    device_name = None

    def __init__(self, seconds: float, config: VerifyConfig) -> None:
        self.seconds, self.config = seconds, config.with_backend("simulator")

    def describe(self, task: Task) -> Any:
        raise TaskError(f"task {task.task_id} is not described")

    def verify(self, task: Task, candidate: Any, progress: Any = None) -> Verdict:
        del progress
        time.sleep(self.seconds)
        assert isinstance(candidate, Candidate)
        is_right = int(candidate.candidate_hash, 16) % 2 == 0
        return Verdict(
            status=Status.CORRECT if is_right else Status.INCORRECT,
            reason="by lot",
            q=1.0 if is_right else 0.0,
            evidence="emulation",
            backend="simulator",
            task_hash=task.task_hash,
            candidate_hash=candidate.candidate_hash,
            config_hash=self.config.config_hash(),
            config=self.config.of_the_verdict(),
        )


@dataclass(frozen=True)
class Overlap:
    """Judges' time while at least one answer waited."""

    waiting_seconds: float  # in which some answer waited
    idle_share: float  # of the judges' time in these
    judged: int
    wall_seconds: float


def overlap(verdicts: Iterable[Judged], judges: int) -> Overlap:
    """From the times of a run: who waited, and how many judged meanwhile."""
    changes, judged = [], 0
    for verdict in verdicts:
        judged += 1
        changes += [(verdict.queued_at, 1, 0), (verdict.started_at, -1, 1), (verdict.ended_at, 0, -1)]
    changes.sort()
    waiting = busy = 0
    idle = total = 0.0
    for (now, more_waiting, more_busy), (then, *_) in pairwise(changes):
        waiting, busy = waiting + more_waiting, busy + more_busy
        if waiting > 0:
            total += then - now
            idle += (then - now) * max(judges - busy, 0)
    wall = changes[-1][0] - changes[0][0] if changes else 0.0
    return Overlap(total, idle / (judges * total) if total else 0.0, judged, wall)


def scripted(tasks: Iterable[SuiteTask], samples: int, answer_kib: int) -> ScriptedModel:
    """A model with `samples` answers of that size to each task."""
    filler = "__global__ void kernel(const float* x, float* y, int n) {}\n" * (answer_kib * 1024 // 60)
    made = [
        ScriptedTask(
            t.task.code.strip(),
            t.task.task_hash,
            tuple(
                Answer(wrapped(CANDIDATE.format(number=f"{t.task.task_id} {i}", filler=filler)), None)
                for i in range(samples)
            ),
        )
        for t in tasks
    ]
    return ScriptedModel("scripted", made)


def run(folder: Path, config: BenchConfig, tasks: list[SuiteTask], seconds: float, answer_kib: int) -> Iterator[float]:
    """MiB that this process held, at each tenth of the run."""
    model = scripted(tasks, config.samples, answer_kib)
    judge: Any = SleepingJudge(seconds, config.verify)
    marks, held, step = iter(range(10)), [], max(len(tasks) * config.samples // 10, 1)
    seen = 0

    def on_told(told: Any) -> None:
        nonlocal seen
        seen += told.is_last
        if told.is_last and seen % step == 0 and next(marks, None) is not None:
            held.append(_resident_mib())

    with RunFolder.create(folder, _manifest(config, tasks), plain(config)) as made:
        parts = Parts(
            made, model, judge, Conversation(config.prompt, model, judge), config.sampling, config.verify, config.work,
            _nothing,
        )  # fmt: skip
        Pipeline(parts, tasks, Ledger(made)).complete(config.samples, config.turns, on_told)
    yield from held


_nothing: Callable[[], None] = lambda: None  # noqa: E731 - there is nothing to close


def _manifest(config: BenchConfig, tasks: list[SuiteTask]) -> Manifest:
    return Manifest(
        name="overlap", kind="bench", model="scripted", suite="made", samples=config.samples, turns=config.turns,
        backend="simulator", policy="native", protocol="ours", evidence="emulation",
        config_hash=content_hash(plain(config)), created_at=time.time(),
        tasks=tuple(TaskEntry(name=t.task.task_id, hash=t.task.task_hash) for t in tasks),
    )  # fmt: skip


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def main(arguments: list[str] | None = None) -> int:
    """Run, and print what the run folder says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=250)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--judges", type=int, default=4)
    parser.add_argument("--judge-seconds", type=float, default=0.25)
    parser.add_argument("--answer-kib", type=int, default=24, help="size of an answer")
    parser.add_argument("--of", type=Path, help="a run folder to look at, in place of a run of its own")
    options = parser.parse_args(arguments)
    if options.of:
        _print(overlap(RunFolder.open(options.of).verdicts(), options.judges))
        return 0
    config = BenchConfig.model_validate(
        {"samples": options.samples, "turns": options.turns, "work": {"judging": options.judges}}
    )
    tasks = [SuiteTask(make_task(f"task{i}", TASK.format(number=i))) for i in range(options.tasks)]
    with tempfile.TemporaryDirectory(prefix="overlap-") as folder:
        held = list(run(Path(folder) / "run", config, tasks, options.judge_seconds, options.answer_kib))
        _print(overlap(RunFolder.open(Path(folder) / "run").verdicts(), options.judges))
        size = sum(file.stat().st_size for file in (Path(folder) / "run").iterdir())
    print(f"memory at each tenth, MiB: {' '.join(f'{mib:.0f}' for mib in held)}; run folder {size / MIB:.0f} MiB")
    return 0


def _print(found: Overlap) -> None:
    print(
        f"{found.judged} answers judged in {found.wall_seconds:.1f} s; some waited for {found.waiting_seconds:.1f} s, "
        f"in which judges were idle {100 * found.idle_share:.2f} % of their time"
    )


if __name__ == "__main__":
    sys.exit(main())
