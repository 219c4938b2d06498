"""Compilers as children that can be killed: own process group, deadline, limits, empty environment."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mooreeval.errors import NotJudged

_MEMORY_BYTES = 8 << 30
_FILE_BYTES = 2 << 30
_LOG_BYTES = 2 << 20


@dataclass(frozen=True)
class Ran:
    """How a command ended. `returncode` is None where the deadline ended it."""

    returncode: int | None
    log: str  # stdout and stderr together, the first two MiB
    cpu_seconds: float


def run_compiler(command: list[str], folder: Path, deadline_seconds: float) -> Ran:
    """Run `command` in `folder`; at the deadline its whole process group is killed.

    Raises NotJudged where the program cannot be started.
    """
    with tempfile.TemporaryFile() as log:
        try:
            child = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(folder),
                start_new_session=True,
                preexec_fn=_limit,
            )
        except OSError as error:
            raise NotJudged(f"the compiler {command[0]} cannot be started: {error.strerror}") from error
        started = time.monotonic()
        returncode, cpu = _wait(child, started + deadline_seconds)
        log.seek(0)
        return Ran(returncode, log.read(_LOG_BYTES).decode("utf-8", "replace"), cpu)


def _wait(child: subprocess.Popen, until: float) -> tuple[int | None, float]:
    """Exit status (None at the deadline) and the CPU seconds of the child and its children."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        try:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            child.wait(max(until - time.monotonic(), 0.01))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return child.returncode, spent
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    return None, 0.0


def _environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(folder), "HOME": str(folder)}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
