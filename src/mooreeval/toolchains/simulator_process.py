"""Compilers as children that can be killed: own process group, deadline, limits, empty environment.

They end with us too, however we end: a shell in their group waits for the end of a pipe whose other end we hold.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mooreeval.cache import CACHE_REMEDY, CLOSED, cache_error
from mooreeval.errors import NotJudged
from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.space import no_space, ran_out

_MEMORY_KIB = 8 << 20
_FILE_BLOCKS = 4 << 20  # of 512 bytes: 2 GiB
_LOG_BYTES = 2 << 20
# The shell sets the limits: Python code between fork and exec would not be safe beside threads. Its standard input is
# the pipe; g++ forks compilers of its own, so that a signal at its parent's death would not reach them. Where the
# kernel schedules by sessions, a priority counts within its session alone, and the session has one of its own.
_LIMITED = (
    f"{{ ulimit -v {_MEMORY_KIB}; ulimit -f {_FILE_BLOCKS}; ulimit -c 0; echo $1 >/proc/self/autogroup; }} "
    "2>/dev/null; shift; exec 3<&0 </dev/null; "
    '{ read -r _ <&3; kill -KILL 0; } & exec 3<&-; exec "$@"'
)


@dataclass(frozen=True)
class Ran:
    """How a command ended. `returncode` is None where the deadline ended it."""

    returncode: int | None
    log: str  # stdout and stderr together, the first two MiB
    cpu_seconds: float
    peak_bytes: int = 0  # resident, of the largest of its processes


class Compilers:
    """The compilers that somebody runs; all of them can be ended at once, and then no more are started.

    `nice`: their priority, as `nice` counts it.
    """

    def __init__(self, nice: int = 0) -> None:
        self.nice = nice
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self.ended = False

    def start(self, command: Sequence[str], folder: Path, stdin: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """A process in `folder`, at the head of a group of its own. Raises NotJudged after the end."""
        with self._lock:
            self.require_going()
            child = subprocess.Popen(
                command,
                cwd=folder,
                stdin=stdin,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(folder),
                start_new_session=True,
            )
            self._running.add(child.pid)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, child.pid, max(self.nice, os.getpriority(os.PRIO_PROCESS, 0)))
        return child

    def require_going(self) -> None:
        if self.ended:
            raise NotJudged(CLOSED)

    def kill(self, pid: int) -> None:
        """End a compiler with all its children, unless it has been reaped: then its number may be another's."""
        with self._lock:
            if pid in self._running:
                _kill_group(pid)

    def reap(self, pid: int) -> tuple[int, resource.struct_rusage]:
        """Status and usage of a compiler, which is ended for it."""
        with self._lock:
            _kill_group(pid)
            _, status, usage = os.wait4(pid, 0)
            self._running.discard(pid)
        return os.waitstatus_to_exitcode(status), usage

    def end(self) -> None:
        """End all."""
        with self._lock:
            self.ended = True
            for pid in self._running:
                _kill_group(pid)


def run_compiler(
    command: list[str],
    folder: Path,
    deadline_seconds: float,
    compilers: Compilers | None = None,
    walls: ProgramWalls | None = None,
    readable: Sequence[str] = (),
) -> Ran:
    """Run `command` in `folder`, as one of `compilers`; at the deadline its whole process group is killed.

    Within `walls` it can read what these show and what `readable` names, and write to `folder` alone.

    Raises NotJudged where the program cannot be started, the disk is full, or `compilers` were ended.
    """
    compilers = compilers or Compilers()
    if not os.access(command[0], os.X_OK):
        raise NotJudged(f"the compiler {command[0]} cannot be started")
    try:
        log = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
    except OSError as error:
        raise cache_error(error, folder) from error
    with log, _alive() as watched:
        walled = walls.command(command, str(folder), readable) if walls else command
        child = compilers.start(["/bin/sh", "-c", _LIMITED, "sh", str(compilers.nice), *walled], folder, watched, log)
        returncode, usage = _wait(child, max(deadline_seconds, 0.01), compilers)
        took = usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10
        if walls:
            returncode = None if returncode is None else walls.code(returncode)
            took = walls.usage(folder) or took
        log.seek(0)
        text = log.read(_LOG_BYTES).decode("utf-8", "replace")
    compilers.require_going()
    if returncode and ran_out(text, folder):
        raise no_space(folder, CACHE_REMEDY)
    return Ran(returncode, text, *took)


@contextlib.contextmanager
def _alive() -> Generator[int]:
    """The end of a pipe that reads as closed when this process is gone; no other program inherits the other end."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


def _wait(
    child: subprocess.Popen[bytes], seconds: float, compilers: Compilers
) -> tuple[int | None, resource.struct_rusage]:
    """Exit status (None at the deadline) and usage of the child with its own children."""
    expired = threading.Event()

    def end() -> None:
        expired.set()
        compilers.kill(child.pid)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # not reaped yet: its number cannot be another's
    finally:
        timer.cancel()
        child.returncode, usage = compilers.reap(child.pid)
    return None if expired.is_set() else child.returncode, usage


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str]:
    # A g++ that is ccache in disguise would write outside the scratch folder, and answer from another's work.
    own = {"LC_ALL": "C", "TMPDIR": str(folder), "HOME": str(folder), "CCACHE_DISABLE": "1"}
    return {"PATH": os.environ.get("PATH", os.defpath), **own}
