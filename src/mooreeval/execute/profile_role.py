"""The child that runs a profiler, and below it the candidate: nothing of the candidate's is loaded here.

Operations
    profile  command, device, request, seconds -> output of the profiler, timed_out

It has what every child has: namespaces, limits, a scratch folder, an environment without secrets, and an end that takes
all that it started with it. The profiler writes to a file without a name; its program's output goes to the judge's log.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any

MAX_OUTPUT = 5 << 18  # bytes; a launch takes ten to twenty thousand, and the wire holds six times as many
REQUEST = "request.json"
_PR_SET_CHILD_SUBREAPER = 36
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


class ProfileRole:
    """State: none."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op != "profile":
            raise ValueError(f"the profiler's child has no operation {op}")
        Path(REQUEST).write_text(json.dumps(fields["request"]), encoding="utf-8")
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what is orphaned below stays below
        bring_up_loopback()
        with tempfile.TemporaryFile(dir=".", buffering=0) as output:
            timed_out = _run(fields["command"], fields["device"], fields["seconds"], output)
            return {"output": _beginning(output), "timed_out": timed_out}, {}


def _run(command: list[str], device: str, seconds: float, output: IO[bytes]) -> bool:
    """Whether the time was over before the command; all that it started is gone on return."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": device}
    deadline = time.monotonic() + seconds
    try:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, env=environment)
    except OSError as error:
        output.write(f"==ERROR== {command[0]} could not be started: {error.strerror}\n".encode())
        return False
    try:
        running.wait(max(0.0, deadline - time.monotonic()))
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        end_descendants()
        running.wait()


def _beginning(output: IO[bytes]) -> str:
    """At most `MAX_OUTPUT` bytes, whole lines."""
    data = os.pread(output.fileno(), MAX_OUTPUT + 1, 0)
    if len(data) > MAX_OUTPUT:
        data = data[: data.rfind(b"\n", 0, MAX_OUTPUT) + 1]
    return data.decode("utf-8", "replace")


def end_descendants() -> None:
    """Kill every process below this one, until none is left."""
    while found := _descendants(os.getpid()):
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)


def _descendants(root: int) -> set[int]:
    """Numbers of all living processes below `root`, zombies of others left out."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in "ZX" or int(parent) == root:
                    parents[int(folder.name)] = int(parent)
    below: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - below
        below |= fresh
    return below


def bring_up_loopback() -> None:
    """A network namespace of one's own begins with its loopback down; a profiler may speak to its program over it."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
