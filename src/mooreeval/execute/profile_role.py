"""The child that runs a profiler, and below it the candidate: nothing of the candidate's is loaded here.

Operations
    profile  command, device, request, seconds -> output of the profiler, timed_out

It has what every child has: namespaces, limits, a scratch folder, an environment without secrets, and an end that takes
all that it started with it. The profiler writes to a file without a name; its program's output goes to the judge's log.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from mooreeval.sandbox import kernel
from mooreeval.sandbox.descendants import end_descendants

MAX_OUTPUT = 5 << 18  # bytes; a launch takes ten to twenty thousand, and the wire holds six times as many
REQUEST = "request.json"


class ProfileRole:
    """State: none."""

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op != "profile":
            raise ValueError(f"the profiler's child has no operation {op}")
        Path(REQUEST).write_text(json.dumps(fields["request"]), encoding="utf-8")
        kernel.adopt_orphans()
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
