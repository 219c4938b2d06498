"""Where compilers run: a slot for each, shared by all threads and processes that use one cache folder.

    ROOT/slots/N         one file a slot, locked by whoever runs a compiler in it, with the memory that it claims and
                         since when; a lock dies with its process
    lock `slots-turn`    held by who waits at the head of the queue; the others wait behind, first come first served
    lock `slots-begun`   the same for builds that have had a slot before: they go first, and so the first of many ends
                         long before the last

There are as many slots as cores and memory allow. A slot is held for one compiler's run and never while its holder
waits for something else, so that nobody waits in a circle. Waiting stops the build's clock, and ends when the cache
handle is closed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mooreeval.cache import FileCache, unlock
from mooreeval.config import PoolConfig
from mooreeval.errors import NotJudged, Transient
from mooreeval.machine import Machine
from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.toolchains.compiler_faults import Fault, fault_of
from mooreeval.toolchains.simulator_process import Compilers, Ran, run_compiler

_TURN, _BEGUN = "slots-turn", "slots-begun"
_LOOK_SECONDS = 0.02
_GROWING_SECONDS = 30.0  # a compiler younger than this may not have taken yet what it will need


class BuildClock:
    """A build's deadline in wall seconds; waiting for others is not counted."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.waited_seconds = seconds, 0.0
        self.begun = False  # has the build had a slot?
        self._until = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._until - time.monotonic()

    @contextlib.contextmanager
    def stopped(self) -> Generator[None]:
        """Time in here is waiting."""
        start = time.monotonic()
        try:
            yield
        finally:
            spent = time.monotonic() - start
            self._until += spent
            self.waited_seconds += spent


class CompilerCrashed(NotJudged):
    """A compiler fell over a bug of its own, twice, on the same input."""


@dataclass(frozen=True)
class Claim:
    """A compiler that runs: when it began, by the machine's monotonic clock, and how many bytes it may come to take."""

    start: float
    memory: int


class BuildPool:
    """Runs compilers for one toolchain. Safe for several threads; `close` ends all that run.

    `nice`: how far they give way to everybody else.
    """

    def __init__(
        self, cache: FileCache, config: PoolConfig | None = None, machine: Machine | None = None, nice: int = 0
    ) -> None:
        config, self._machine = config or PoolConfig(), machine or Machine()
        self._cache, self._folder = cache, cache.root / "slots"
        self._bytes = config.build_mib << 20
        fitting = min(self._machine.cores(), self._machine.memory_bytes() // self._bytes)
        self.slots = config.builds or max(1, fitting)
        self._minds_memory = config.builds is None
        self._compilers = Compilers(nice)
        self.walls = ProgramWalls()
        with cache.told_clearly():
            self._folder.mkdir(exist_ok=True)

    def close(self) -> None:
        """End every compiler with all its children, and all waiting for a slot; for good. Idempotent."""
        self._cache.close()
        self._compilers.end()

    def show(self, *paths: Path) -> None:
        """Let every compiler read these, too."""
        self.walls = ProgramWalls((*self.walls.readable, *map(str, paths)))

    def run(self, command: Sequence[str], folder: Path, clock: BuildClock, claims: int = 1) -> Ran:
        """Run a compiler in `folder` when there is a slot for it. `claims`: memory, in those of a usual compiler.

        Raises Transient where it was killed, or crashed over a precompiled header that is not as it was written and has
        been dropped; NotJudged where it could not do its work through no fault of the sources.
        """
        ran = self._in_a_slot(command, folder, clock, claims)
        fault = _own_fault(ran)
        if fault and fault.kind == "crashed":
            again = self._in_a_slot(command, folder, clock, claims)
            spent = ran.cpu_seconds + again.cpu_seconds
            ran, fault = (
                Ran(again.returncode, again.log, spent, max(ran.peak_bytes, again.peak_bytes)),
                _own_fault(again),
            )
        if fault and fault.kind == "crashed" and self._cache.drop_damaged():
            raise Transient(f"{Path(command[0]).name} crashed over a shared part that was damaged: {fault.line}")
        if fault:
            raise _error(Path(command[0]).name, fault)
        return ran

    def _in_a_slot(self, command: Sequence[str], folder: Path, clock: BuildClock, claims: int) -> Ran:
        with self._slot(clock, claims * self._bytes):
            entries = self._cache.entries_in(command)
            return run_compiler(list(command), folder, clock.left, self._compilers, self.walls, entries)

    @contextlib.contextmanager
    def _slot(self, clock: BuildClock, memory: int) -> Generator[None]:
        with clock.stopped():
            handle = self._take(clock.begun, memory)
        clock.begun = True
        try:
            yield
        finally:
            unlock(handle)

    def _take(self, begun: bool, memory: int) -> int:
        with self._cache.lock(_BEGUN if begun else _TURN):
            while True:
                if begun or not self._cache.is_locked(_BEGUN):
                    handle = self._free_slot(memory)
                    if handle is not None:
                        return handle
                self._cache.wait(_LOOK_SECONDS)

    def _free_slot(self, memory: int) -> int | None:
        """The locked file of a slot; None where all are taken, or what runs leaves no memory for more."""
        free: int | None = None
        others: list[Claim] = []
        try:
            for number in range(self.slots):
                handle = self._locked(self._folder / str(number), others)
                if handle is not None and free is not None:
                    unlock(handle)
                elif handle is not None:
                    free = handle
            if free is not None and self._has_memory(others, memory):
                with self._cache.told_clearly():
                    os.pwrite(free, b"%-20d %-20.3f" % (memory, time.monotonic()), 0)
                taken, free = free, None
                return taken
            return None
        finally:
            if free is not None:
                unlock(free)

    def _locked(self, path: Path, others: list[Claim]) -> int | None:
        """The file, locked; where another has it, what that claims is added to `others`."""
        with self._cache.told_clearly():
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            others.append(_claim(os.pread(handle, 64, 0), self._bytes))
            os.close(handle)
            return None
        return handle

    def _has_memory(self, others: Sequence[Claim], memory: int) -> bool:
        """One compiler may always run; another where memory is left when those that just began have taken theirs."""
        if not others or not self._minds_memory:
            return True
        growing = sum(claim.memory for claim in others if time.monotonic() - claim.start < _GROWING_SECONDS)
        return self._machine.available_bytes() >= growing + memory


def _claim(text: bytes, usual: int) -> Claim:
    """What stands in a slot's file; one that cannot be read is of a usual compiler that has just begun."""
    try:
        memory, start = text.split()[:2]
        return Claim(float(start), int(memory))
    except ValueError:
        return Claim(time.monotonic(), usual)


def _own_fault(ran: Ran) -> Fault | None:
    return None if ran.returncode is None else fault_of(ran.returncode, ran.log)


def _error(program: str, fault: Fault) -> NotJudged:
    if fault.kind == "killed":
        return Transient(f"{program} was killed, perhaps for want of memory: {fault.line}")
    if fault.kind == "crashed":
        return CompilerCrashed(f"{program} crashed twice on the same sources: {fault.line}")
    if fault.kind == "exhausted":
        return NotJudged(f"{program} ran out of memory or disk space: {fault.line}")
    return NotJudged(f"{program} is not completely installed: {fault.line}")
