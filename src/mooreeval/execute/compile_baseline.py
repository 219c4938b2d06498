"""The baselines without any candidate: torch.compile's time as a share of an eager call's, and the eager call's own.

They depend on the task, the device and the software alone, so they are timed once, in a process of their own, and
remembered. Compiling takes half a minute of CPU time, and the device for one call; only what is timed has the device
for itself. A baseline that is slower beside a candidate than it was alone may have been slowed by it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, Transient
from mooreeval.execute.asking import last_line
from mooreeval.execute.children import Child, ChildEnded, Launcher
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.gpu_state import GpuState, GpuWatch
from mooreeval.execute.processes import Processes
from mooreeval.execute.seeds import derive_seed
from mooreeval.execute.timed_peers import PRECISION, core_for
from mooreeval.execute.timing import Measured, Untimed, Work, measure
from mooreeval.execute.timing_stage import work_of_a_call
from mooreeval.hashing import content_hash
from mooreeval.task import Task
from mooreeval.verdict import PROTOCOL_VERSION

_RECORD = "baseline.json"
# Beyond this the baseline was slowed. A short call's launches alone take some microseconds more in one process than in
# another.
SLOWED_FACTOR, SLOWED_SLACK_SECONDS = 1.15, 8e-6


@dataclass(frozen=True)
class CompileBaseline:
    """Time of a compiled call over that of an eager one with its 95 % interval, or why there is none.

    `eager_seconds`: the eager one's, alone on the device.
    """

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    error: str | None = None
    eager_seconds: float | None = None

    def tells_slowed(self, eager_seconds: float) -> bool:
        """Whether an eager call of so many seconds, beside a candidate, was slower than it can be by itself."""
        alone = self.eager_seconds
        return alone is not None and eager_seconds > SLOWED_FACTOR * alone + SLOWED_SLACK_SECONDS


def add_compile_baseline(
    task: Task,
    candidate: Candidate,
    config: VerifyConfig,
    secret: str,
    launcher: Launcher,
    toolchain: Any,
    progress: Callable[[str], None],
    evidence: Evidence,
) -> bool:
    """Tell in the evidence's timing what torch.compile takes, or in a warning why that is not known.

    Returns whether the eager baseline holds: false where it was slower beside the candidate than alone; its time is
    void then. Raises nothing of its own.
    """
    del candidate  # who asked does not matter
    timing = evidence.timing
    if timing is None or timing.eager_ms is None:
        return True
    progress("baseline")
    start = time.monotonic()
    facts = toolchain.facts
    key = content_hash([task.task_hash, asdict(facts), toolchain.toolkit.torch_version, PRECISION, PROTOCOL_VERSION])
    processes = Processes(config, launcher, toolchain, evidence)

    def seed(purpose: str, number: int) -> int:
        return derive_seed(secret, purpose, task.task_hash, "", number)

    def write(folder: Path) -> None:
        found = _measured(task, config, processes, evidence, facts, seed)
        (folder / _RECORD).write_text(json.dumps(asdict(found)), encoding="utf-8")

    try:
        record = toolchain.cache.get_or_make(f"baseline-{key[:40]}", write) / _RECORD
        found = CompileBaseline(**json.loads(record.read_text(encoding="utf-8")))
    except NotJudged as lost:
        found = CompileBaseline(error=str(lost))
    finally:
        evidence.stage_seconds["baseline"] = round(time.monotonic() - start, 4)
    if found.tells_slowed(timing.eager_ms * 1e-3):
        alone = (found.eager_seconds or 0.0) * 1e3
        evidence.timing = None
        evidence.warnings.append(
            f"timing: the task's own model took {timing.eager_ms:.4g} ms beside this candidate, {alone:.4g} ms alone: "
            "not scored"
        )
        return False
    if found.ratio is None:
        evidence.warnings.append(f"torch.compile is no baseline: {found.error}")
        return True
    ends = {}
    for end, speedup, ratio in (
        ("low", timing.eager_speedup_low, found.low),
        ("high", timing.eager_speedup_high, found.high),
    ):
        ends[f"compile_speedup_{end}"] = speedup * ratio if speedup and ratio else None
    evidence.timing = timing.model_copy(update={"compile_ms": timing.eager_ms * found.ratio, **ends})
    return True


def _measured(
    task: Task,
    config: VerifyConfig,
    processes: Processes,
    evidence: Evidence,
    facts: Any,
    seed: Callable[[str, int], int],
) -> CompileBaseline:
    """Compile the task's model in a process of its own and time it beside itself, uncompiled.

    Raises Transient where the process was lost.
    """
    deadlines = config.deadlines
    fields = {
        "name": task.task_id, "code": task.code, "candidate_text": "", "budget": None,
        "weight_seed": seed("weights", 0), "example_seed": seed("example", 0),
    }  # fmt: skip
    with processes.spawn("reference") as reference:
        processes.begin_start(reference)
        processes.finish_start(reference)
        try:
            reference.ask("prepare", fields, {}, deadlines.reference_seconds)
            error = _compiled(reference, seed("compiled inputs", 0), deadlines.compile_seconds)
            if reference.is_alive():
                measured = _timed(reference, config, processes, work_of_a_call(evidence, facts), seed, error is None)
            else:  # the compiler took too long, and its process had to be ended
                return CompileBaseline(error=error)
        except ChildEnded as end:
            raise Transient(f"its process was lost ({end}): {last_line(reference.log_tail())}") from None
        except Untimed as why:
            return CompileBaseline(error=error or str(why))
    eager, speedup = median(measured.baseline), measured.speedup()
    if error is not None:
        return CompileBaseline(error=error, eager_seconds=eager)
    return CompileBaseline(1 / speedup.value, 1 / speedup.high, 1 / speedup.low, eager_seconds=eager)


def _compiled(reference: Child, seed: int, seconds: float) -> str | None:
    """Compile the model; why there is no compiled one, where there is none."""
    try:
        return reference.ask("compile", {"seed": seed}, {}, seconds).fields["error"]
    except ChildEnded as end:
        if end.timed_out:
            return f"it was not done within {seconds:g} s"
        raise


def _timed(
    reference: Child,
    config: VerifyConfig,
    processes: Processes,
    work: Work,
    seed: Callable[[str, int], int],
    compiled: bool,
) -> Measured:
    """The model beside itself: compiled, or once more as it is, for the time that it takes alone."""
    device, seconds = config.cuda.device, config.deadlines.reference_seconds
    peers = _Compiled(reference, seed, GpuWatch(device), seconds, core_for(device), compiled=compiled)
    with processes.turn():
        return measure(peers, work, config.timing, random.Random(seed("timing of the compiled model", 0)))


class _Compiled:
    """Peers of the timer in one child: the task's model, and the same compiled. Its outputs are not looked at."""

    def __init__(
        self,
        reference: Child,
        seed: Callable[[str, int], int],
        watch: GpuWatch,
        seconds: float,
        core: int | None,
        *,
        compiled: bool,
    ) -> None:
        self._reference, self._seed, self._watch, self._seconds, self._core = reference, seed, watch, seconds, core
        self._is_compiled = compiled

    def fresh_inputs(self, round_index: int, count: int, cycle: int) -> None:
        seeds = [self._seed("inputs of the compiled model", round_index * count + k) for k in range(count)]
        self._reference.ask("arenas", {"seeds": seeds, "cycle": cycle, "core": self._core}, {}, self._seconds)

    def baseline(self, calls: int, first: int, kept: int, held: float = 0.0) -> float:
        return self._block(calls, first, kept, held, compiled=False)

    def candidate(self, calls: int, first: int, kept: int, held: float = 0.0) -> float:
        return self._block(calls, first, kept, held, compiled=self._is_compiled)

    def _block(self, calls: int, first: int, kept: int, held: float, *, compiled: bool) -> float:
        fields: dict[str, Any] = {"calls": calls, "first": first, "keep": kept, "held": held, "compiled": compiled}
        start = time.perf_counter()
        self._reference.ask("block", fields, {}, self._seconds)
        return time.perf_counter() - start

    def check(self, back: int) -> None:
        """Both are the judge's own."""

    def state(self) -> GpuState | None:
        return self._watch.read()
