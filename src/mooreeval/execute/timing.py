"""Time by the judge's clock: how much faster than the task's own model a candidate that has been found right is.

    round: fresh sets of inputs ─> warm-up on the first of them ─> a short queue over the others
           ─> some pairs of blocks, baseline and candidate (order alternates) ─> an output of either is shown

A block is a queue of calls that cycle through sets of inputs that together exceed the device's cache; the clock runs in
this process from the request until the child says that the device is idle. The time of an empty block is taken off.
How long a queue is and which of its last outputs must be shown afterwards is drawn at random, and the output is
compared like that of a trial. Work that is left out shows as a wrong value; work that is put off until it is asked for,
or replayed where an input comes again, as a short queue over inputs never seen before that takes longer a call than a
long one does, or as more bytes a second than the device's memory gives.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

from mooreeval.config import TimingConfig
from mooreeval.execute.gpu_state import GpuState
from mooreeval.execute.timing_statistics import FEWEST, Estimate, estimate

MOST_SETS, SETS_IN_CACHE = 256, 32
ARENA_SHARE = 8  # the sets of one side take this part of the device's memory at most
MOST_CALLS = 4096
MOST_KEPT, KEPT_BYTES = 16, 2 << 30
CACHE_FACTOR = 2  # sets together hold this many times what the cache does
PAIRS = 4  # of blocks in a round
TAKING_CALLS = 2
SLOW_CALL_SECONDS = 3e-3
SPREAD = 0.2  # by which the length of a block varies
SHORT_SHARE = 4  # a short queue has at least so many times fewer calls
SHORT_SECONDS = 1.5e-3  # aim: how long it takes, where inputs enough fit
SHORT_FACTOR, SHORT_SLACK_SECONDS = 1.3, 200e-6  # the slack is one of a whole queue: it waits for its first launch
LEAST_SECONDS = 1e-6  # no call launches a kernel in less
ROOF_SLACK = 1.1  # clocks and rounding

SHORT_CALL_SECONDS = 20e-6  # below, the time on the device is told, too: the launch is a large part of the rest
HELD_CALLS, HELD_SECONDS, HELD_BLOCKS = 100, 4e-3, 5  # so many launches are queued before the device begins

Block = Callable[..., float]  # calls, first set, outputs kept, seconds held -> seconds by this process's clock


class Untimed(Exception):
    """There is no time to be told, and why, in one line."""


class WrongOutput(Exception):
    """An output of a timed call was not what the reference gives; holds the mismatch."""

    def __init__(self, mismatch: Any) -> None:
        super().__init__(mismatch.message)
        self.mismatch = mismatch


@dataclass(frozen=True)
class Work:
    """What one call touches, and the device that it runs on."""

    input_bytes: int
    output_bytes: int
    cache_bytes: int
    memory_bytes: int
    peak_bytes_per_second: float

    @property
    def sets(self) -> int:
        """How many sets of inputs blocks cycle through: beyond the cache, where that is within reason."""
        beyond = math.ceil(CACHE_FACTOR * self.cache_bytes / max(self.input_bytes, 1))
        return max(1, min(beyond if beyond <= MOST_SETS else SETS_IN_CACHE, self._fitting))

    def more_sets(self, seconds: float, calls: int) -> int:
        """How many more a short queue of at most so many calls, each of so many seconds, sees for the first time."""
        return max(0, min(math.ceil(SHORT_SECONDS / seconds), calls, MOST_SETS, self._fitting - self.sets))

    def sets_of(self, calls: int) -> int:
        """How many of the sets blocks of so many calls cycle through: no more than they have calls."""
        return min(self.sets, max(calls, 2))

    @property
    def _fitting(self) -> int:
        return self.memory_bytes // ARENA_SHARE // max(self.input_bytes, 1)

    @property
    def kept(self) -> int:
        """How many of a block's last outputs stay until one is asked for."""
        return max(1, min(MOST_KEPT, KEPT_BYTES // max(self.output_bytes, 1)))

    @property
    def least_seconds(self) -> float:
        """No call is faster that reads its inputs from memory and writes its outputs; 0 where a cache can hold them."""
        total = self.input_bytes + self.output_bytes
        beyond_cache = self.sets * self.input_bytes >= self.cache_bytes
        return total / (self.peak_bytes_per_second * ROOF_SLACK) if beyond_cache else 0.0


class Peers(Protocol):
    """What the timer asks of the judge: blocks on both sides, fresh inputs, a look at an output."""

    def fresh_inputs(self, round_index: int, count: int, cycle: int) -> None:
        """New content in `count` sets. A block that begins in the first `cycle` of them stays there."""

    def baseline(self, calls: int, first: int, kept: int, held: float = 0.0) -> float: ...

    def candidate(self, calls: int, first: int, kept: int, held: float = 0.0) -> float: ...

    def check(self, back: int) -> None:
        """Raises WrongOutput."""

    def state(self) -> GpuState | None: ...


@dataclass
class Measured:
    """Times of one call in seconds, one for each block, pair by pair."""

    baseline: list[float] = field(default_factory=list)
    candidate: list[float] = field(default_factory=list)
    shorts: list[float] = field(default_factory=list)  # of the candidate, in short queues over new inputs
    short_calls: int = 1
    sets: int = 1
    calls: int = 0
    states: list[GpuState] = field(default_factory=list)
    on_device: tuple[float, float] | None = None  # of the baseline and the candidate, without what a launch takes

    def speedup(self) -> Estimate:
        return estimate([b / c for b, c in zip(self.baseline, self.candidate, strict=True)])

    @property
    def throttled(self) -> str | None:
        return next((state.throttled for state in self.states if state.throttled), None)


def measure(peers: Peers, work: Work, config: TimingConfig, source: random.Random) -> Measured:
    """Blocks until the speed-up's interval is narrow enough or the budget is spent.

    Raises:
        WrongOutput: a timed call gave another output than the reference.
        Untimed: the times can't be those of the whole work.
    """
    timer = _Timer(peers, work, config, source)
    measured = timer.run()
    if measured.throttled:
        measured = timer.run()  # once more: a device that was hot for a moment
    _plausible(measured, work)
    return measured


class _Timer:
    def __init__(self, peers: Peers, work: Work, config: TimingConfig, source: random.Random) -> None:
        self._peers, self._work, self._config, self._source = peers, work, config, source
        self._round = 0
        self._cycle = work.sets_of(2)  # sets that blocks cycle through; few until it is known how long a call takes
        self._more = work.more_sets(SHORT_SECONDS, 1)  # sets for the short queue; of slow calls one is enough
        self._is_slow = False  # a call takes so long that changing between processes does not matter
        self._short_is_shown = False

    def run(self) -> Measured:
        measured = Measured()
        until = time.monotonic() + self._config.budget_seconds
        self._fresh()
        idle = median(self._peers.candidate(0, 0, 1) for _ in range(5))
        calls = self._queue_length(self._peers.baseline, idle), self._queue_length(self._peers.candidate, idle)
        plan = self._cycle, self._more
        self._cycle = self._work.sets_of(max(calls))
        self._more = self._work.more_sets(self._config.block_seconds / calls[1], max(1, calls[1] // SHORT_SHARE))
        self._is_slow = min(calls) * SLOW_CALL_SECONDS < self._config.block_seconds
        is_fresh = plan == (self._cycle, self._more)  # what the length of a queue was found on are the block's inputs
        measured.sets, measured.short_calls = self._cycle, max(1, self._more)
        while True:
            if not is_fresh:
                self._fresh()
            is_fresh = False
            self._note_state(measured)
            self._short(measured, idle)
            last = [self._pair(measured, calls, idle) for _ in range(PAIRS)][-1]
            if not self._short_is_shown:
                self._peers.check(self._source.randrange(min(self._work.kept, last)))
            pairs = len(measured.candidate)
            if pairs >= FEWEST and measured.speedup().width <= self._config.interval:
                break
            if pairs >= self._config.fewest_pairs and time.monotonic() > until:
                break
        if min(*map(median, (measured.baseline, measured.candidate))) < SHORT_CALL_SECONDS:
            measured.on_device = self._on_device(self._peers.baseline), self._on_device(self._peers.candidate)
        self._note_state(measured)
        return measured

    def _on_device(self, side: Block) -> float:
        """Seconds of a call whose launches were queued while the device was kept busy.

        That it was kept busy as long is the child's own word: such a time is told and never scored.
        """
        held = [side(HELD_CALLS, 0, 1, HELD_SECONDS) - side(0, 0, 1, HELD_SECONDS) for _ in range(HELD_BLOCKS)]
        return max(median(held), 1e-9) / HELD_CALLS

    def _fresh(self) -> None:
        """New inputs; then each side sees those of the blocks, and memory for the outputs that are kept is at hand."""
        kept = self._work.kept
        self._peers.fresh_inputs(self._round, self._cycle + self._more, self._cycle)
        self._round += 1
        self._peers.baseline(1 if self._is_slow else kept, 0, kept)
        self._peers.candidate(self._cycle if self._is_slow else max(self._cycle, kept), 0, kept)

    def _take_the_device(self, side: Block) -> None:
        """A block that is not timed: changing from one process to the other costs the device half a millisecond."""
        if not self._is_slow:
            side(TAKING_CALLS, 0, self._work.kept)

    def _note_state(self, measured: Measured) -> None:
        if state := self._peers.state():
            measured.states.append(state)

    def _queue_length(self, side: Block, idle: float) -> int:
        """Calls that fill a block, found by ever longer queues; the first ones are the warm-up, too."""
        calls, target = 1, self._config.block_seconds
        side(1, 0, 1)
        while True:
            each = max(side(calls, 0, self._work.kept) - idle, 1e-7) / calls
            if each * calls >= target / 4 or calls >= MOST_CALLS:
                return max(1, min(MOST_CALLS, math.ceil(target / each)))
            calls = min(MOST_CALLS, max(2 * calls, min(16 * calls, math.ceil(target / 3 / each))))

    def _short(self, measured: Measured, idle: float) -> None:
        """A few calls on inputs that no call has seen; perhaps it is one of their outputs that is looked at."""
        calls, kept = self._more, self._work.kept
        self._short_is_shown = bool(calls) and self._source.random() < 0.5
        if not calls:  # a set of a size that lasts: what is replayed would be faster than memory
            return
        self._take_the_device(self._peers.candidate)
        measured.shorts.append(max(self._peers.candidate(calls, self._cycle, kept) - idle, 1e-9) / calls)
        if self._short_is_shown:
            self._peers.check(self._source.randrange(min(kept, calls)))
            self._peers.candidate(1 if self._is_slow else kept, 0, kept)  # the look took memory

    def _pair(self, measured: Measured, calls: tuple[int, int], idle: float) -> int:
        """One block of each, in an order that alternates; how many calls the candidate's had."""
        baseline, candidate = (max(1, round(n * self._source.uniform(1 - SPREAD, 1 + SPREAD))) for n in calls)
        blocks = [
            lambda: measured.baseline.append(self._each(self._peers.baseline, baseline, idle)),
            lambda: measured.candidate.append(self._each(self._peers.candidate, candidate, idle)),
        ]
        # Who begins a round is not always the same: its first block is the slower one where inputs are large.
        for block in blocks if (len(measured.candidate) + self._round) % 2 else reversed(blocks):
            block()
        measured.calls += baseline + candidate
        return candidate

    def _each(self, side: Block, calls: int, idle: float) -> float:
        first = self._source.randrange(self._cycle)
        self._take_the_device(side)
        return max(side(calls, first, self._work.kept) - idle, 1e-9) / calls


def _plausible(measured: Measured, work: Work) -> None:
    each = median(measured.candidate)
    if each < work.least_seconds:
        raise Untimed(
            f"{each * 1e3:.4g} ms a call is faster than the device's memory is "
            f"({work.least_seconds * 1e3:.4g} ms for its inputs and outputs): not scored"
        )
    if each < LEAST_SECONDS:
        raise Untimed(f"{each * 1e9:.3g} ns a call is less than a launch takes: not scored")
    if measured.shorts:
        # The least: what is left out elsewhere takes its time in each of them, a pause of the host only in some.
        short, slack = min(measured.shorts), SHORT_SLACK_SECONDS / measured.short_calls
        if short > SHORT_FACTOR * each + slack:
            raise Untimed(
                f"a call takes {short * 1e3:.4g} ms in a short queue over new inputs and {each * 1e3:.4g} ms in a long "
                "one: not scored"
            )


def slower_neighbour(states: Sequence[GpuState]) -> str | None:
    """A word on clocks that moved while the device was timed; None where they held still."""
    clocks = [state.sm_clock for state in states[1:]]  # at the first reading the device may still be waking up
    if not clocks or min(clocks) >= 0.9 * max(clocks):
        return None
    return f"the device's clock moved between {min(clocks)} and {max(clocks)} MHz while it was timed"
