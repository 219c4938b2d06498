"""The timer's view of the children: blocks, fresh inputs, a look at an output. See `timing`."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from mooreeval.errors import Transient
from mooreeval.execute.answers import BlockAnswer, ShowAnswer, read_answer
from mooreeval.execute.asking import ask, last_line, or_end, outputs_of
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.gpu_state import GpuState, GpuWatch
from mooreeval.execute.timed_sets import set_of_call
from mooreeval.execute.timing import Measured, WrongOutput
from mooreeval.execute.wire import read_values
from mooreeval.verdict import Mismatch, Timing

PRECISION = "float32 without TF32"

Compare = Callable[[dict[str, Any], Sequence[str], dict[str, Any]], Mismatch | None]


def core_for(device: str) -> int | None:
    """The core of the host that calls on a device are timed from; None where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = sorted(os.sched_getaffinity(0), reverse=True)
    return cores[(int(device) if device.isdecimal() else zlib.crc32(device.encode())) % len(cores)]


class CandidateRaised(Exception):
    """A call that had gone well in the trials raised while it was timed."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.message)
        self.error = error


class TimedPeers:
    """Two children on one device, of which one runs the task's own model.

    Args:
        child, reference: the candidate's and the task's process.
        compare: outputs of the one against values of the other, see `Run._compare`.
        seed: the seed of a set of inputs by its number.
        watch: reads the device's state.
        seconds: what one question to the candidate may take, and one to the task.
        core: both launch from this one of the host's cores: they never run at once, and no two cores are equally fast.
    """

    def __init__(
        self,
        child: Child,
        reference: Child,
        compare: Compare,
        seed: Callable[[int], int],
        watch: GpuWatch,
        seconds: Mapping[str, float],
        core: int | None,
    ) -> None:
        self._child, self._reference, self._compare, self._seed = child, reference, compare, seed
        self._watch, self._seconds, self._core = watch, seconds, core
        self._last, self._cycle = (0, 0), 1  # first set and number of calls of the last block

    def fresh_inputs(self, round_index: int, count: int, cycle: int) -> None:
        """New sets of inputs on both sides."""
        self._cycle = cycle
        seeds = [self._seed(round_index * count + k) for k in range(count)]
        message = self._ask_reference("arenas", {"seeds": seeds, "cycle": cycle, "core": self._core})
        fields = {"leaves": message.fields["leaves"], "count": count, "cycle": cycle, "core": self._core}
        values = {"arenas": read_values(message)["arenas"]}
        self._checked(ask(self._child, "arenas", BlockAnswer, fields, values, self._seconds["run"])[0])

    def baseline(self, calls: int, first: int, kept: int, held: float = 0.0) -> float:
        """Seconds of a block of the task's own model."""
        fields = {"calls": calls, "first": first, "keep": kept, "held": held}
        start = time.perf_counter()
        self._ask_reference("block", fields)
        return time.perf_counter() - start

    def candidate(self, calls: int, first: int, kept: int, held: float = 0.0) -> float:
        """Seconds of a block of the candidate."""
        fields = {"calls": calls, "first": first, "keep": kept, "held": held}
        start = time.perf_counter()
        message = self._child.ask("block", fields, {}, self._seconds["run"])
        spent = time.perf_counter() - start
        self._checked(or_end(self._child, lambda: read_answer(message, BlockAnswer, "block")))
        self._last = first, calls
        return spent

    def check(self, back: int) -> None:
        """The output of the call `back` calls before the candidate's last one is what the reference gives."""
        answer, message = ask(self._child, "show", ShowAnswer, {"back": back}, {}, self._seconds["run"])
        self._checked(answer)
        first, calls = self._last
        index = set_of_call(first, first + calls - 1 - back, self._cycle)
        want = read_values(self._ask_reference("expected", {"index": index}))
        mismatch = or_end(self._child, lambda: self._compare(outputs_of(message), answer.devices, want))
        if mismatch is not None:
            raise WrongOutput(mismatch)

    def state(self) -> GpuState | None:
        return self._watch.read()

    def timing(self, measured: Measured) -> Timing:
        """What was measured, for the verdict."""
        speedup, each = measured.speedup(), median(measured.candidate)
        clocks = [state.sm_clock for state in measured.states]
        eager_device, candidate_device = measured.on_device or (None, None)
        return Timing(
            candidate_ms=each * 1e3,
            eager_ms=each * speedup.value * 1e3,
            eager_speedup_low=speedup.low,
            eager_speedup_high=speedup.high,
            eager_device_ms=eager_device and eager_device * 1e3,
            candidate_device_ms=candidate_device and candidate_device * 1e3,
            baseline_precision=PRECISION,
            rounds=len(measured.candidate),
            calls=measured.calls,
            input_sets=measured.sets,
            sm_clock_mhz=round(median(clocks)) if clocks else None,
            temperature_c=max((state.temperature for state in measured.states), default=None),
            throttled=measured.throttled,
        )

    def _checked(self, answer: Any) -> None:
        if answer.error is not None:
            raise CandidateRaised(answer.error)

    def _ask_reference(self, op: str, fields: dict[str, Any]) -> Any:
        try:
            return self._reference.ask(op, fields, {}, self._seconds["reference"])
        except ChildEnded as end:
            log = last_line(self._reference.log_tail())
            raise Transient(f"the baseline could not be timed ({end}): {log}") from None
