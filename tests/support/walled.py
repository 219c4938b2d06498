"""Code that runs within walls: in a child of a launcher, under each mode that this machine has."""

from __future__ import annotations

import json
import os
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mooreeval.errors import MooreError
from mooreeval.execute.children import ChildEnded, Launcher
from mooreeval.sandbox.modes import VARIABLE, sandbox_here

MARK = "probe "
MIB = 1 << 20
LIMITS = {"data_bytes": 4096 * MIB, "disk_bytes": 64 * MIB, "file_bytes": 64 * MIB, "log_bytes": 8 * MIB, "tasks": 256}


def needs_mode(mode: str) -> None:
    """Take this mode from now on; a machine that has it not skips the test, and CI fails."""
    os.environ[VARIABLE] = mode
    try:
        sandbox_here()
    except MooreError as error:
        if os.environ.get("MOORE_CI"):
            pytest.fail(f"CI must have every mode: {error}")
        pytest.skip(str(error))


@contextmanager
def launcher_in(mode: str) -> Iterator[Launcher]:
    """A launcher whose children are within the walls of one mode."""
    before = os.environ.get(VARIABLE)
    try:
        needs_mode(mode)
        launcher = Launcher()
        try:
            yield launcher
        finally:
            launcher.close()
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def ended(
    launcher: Launcher, code: str, seconds: float = 60.0, *, device: bool = False, **limits: int
) -> tuple[ChildEnded, str]:
    """How a child ends that runs this code, and what it printed. `device`: one that may use real devices."""
    task = "import json, os, socket, subprocess, sys, time\n" + textwrap.dedent(code) + "\nos._exit(0)\n"
    fields = {"name": "t", "code": task, "candidate_text": "", "budget": None, "weight_seed": 1, "example_seed": 1}
    with launcher.spawn("reference", {**LIMITS, **limits}, device=device) as child:
        with pytest.raises(ChildEnded) as end:
            child.ask("prepare", fields, {}, seconds)
        return end.value, child.log_tail()


def told(launcher: Launcher, code: str, *, device: bool = False, **limits: int) -> Any:
    """What code tells by `tell(value)`. Its `tried(action)` is "done" or the name of what was raised."""
    _end, log = ended(launcher, _TOOLS + textwrap.dedent(code), device=device, **limits)
    lines = [line.removeprefix(MARK) for line in log.splitlines() if line.startswith(MARK)]
    assert lines, log
    return json.loads(lines[-1])


_TOOLS = f"""
def tell(value):
    print({MARK!r} + json.dumps(value), flush=True)

def tried(action):
    try:
        action()
    except BaseException as error:
        return type(error).__name__
    return "done"

"""


def running(word: str) -> list[int]:
    """Processes of this machine with this word in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and word in (folder / "cmdline").read_text(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def none_runs(word: str, seconds: float = 10.0) -> bool:
    """Whether no process has this word in its command line, or soon none has."""
    until = time.monotonic() + seconds
    while running(word):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
