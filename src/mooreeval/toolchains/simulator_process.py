"""Compilers as children that can be killed: own process group, deadline, limits, empty environment.

They end with us too, however we end: a shell in their group waits for the end of a pipe whose other end we hold.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from mooreeval.cache import CACHE_REMEDY
from mooreeval.errors import NotJudged
from mooreeval.space import no_space, ran_out

_MEMORY_KIB = 8 << 20
_FILE_BLOCKS = 4 << 20  # of 512 bytes: 2 GiB
_LOG_BYTES = 2 << 20
# The shell sets the limits: Python code between fork and exec would not be safe beside threads. Its standard input is
# the pipe; g++ forks compilers of its own, so that a signal at its parent's death would not reach them.
_LIMITED = (
    f"ulimit -v {_MEMORY_KIB}; ulimit -f {_FILE_BLOCKS}; ulimit -c 0; exec 3<&0 </dev/null; "
    '{ read -r _ <&3; kill -KILL 0; } & exec 3<&-; exec "$@"'
)


@dataclass(frozen=True)
class Ran:
    """How a command ended. `returncode` is None where the deadline ended it."""

    returncode: int | None
    log: str  # stdout and stderr together, the first two MiB
    cpu_seconds: float


def run_compiler(command: list[str], folder: Path, deadline_seconds: float) -> Ran:
    """Run `command` in `folder`; at the deadline its whole process group is killed.

    Raises NotJudged where the program cannot be started or the disk is full.
    """
    if not os.access(command[0], os.X_OK):
        raise NotJudged(f"the compiler {command[0]} cannot be started")
    with tempfile.TemporaryFile(dir=folder) as log, _alive() as watched:
        child = subprocess.Popen(
            ["/bin/sh", "-c", _LIMITED, "sh", *command],
            cwd=folder,
            stdin=watched,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(folder),
            start_new_session=True,
        )
        returncode, cpu_seconds = _wait(child, max(deadline_seconds, 0.01))
        log.seek(0)
        ran = Ran(returncode, log.read(_LOG_BYTES).decode("utf-8", "replace"), cpu_seconds)
    if returncode and ran_out(ran.log, folder):
        raise no_space(folder, CACHE_REMEDY)
    return ran


@contextlib.contextmanager
def _alive() -> Generator[int]:
    """The end of a pipe that reads as closed when this process is gone; no other program inherits the other end."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


def _wait(child: subprocess.Popen, seconds: float) -> tuple[int | None, float]:
    """Exit status (None at the deadline) and CPU seconds of the child with its own children."""
    expired = threading.Event()

    def end() -> None:
        expired.set()
        _kill_group(child.pid)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # not reaped yet: its number cannot be another's
    finally:
        timer.cancel()
        _kill_group(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return None if expired.is_set() else child.returncode, usage.ru_utime + usage.ru_stime


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str]:
    # A g++ that is ccache in disguise would write outside the scratch folder, and answer from another's work.
    own = {"LC_ALL": "C", "TMPDIR": str(folder), "HOME": str(folder), "CCACHE_DISABLE": "1"}
    return {"PATH": os.environ.get("PATH", os.defpath), **own}
