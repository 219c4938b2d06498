"""Everything below a process, found in /proc and ended. It must have adopted its orphans (`kernel.adopt_orphans`)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def end_descendants() -> None:
    """Kill every process below this one, until none is left. First all are stopped, so that none can fork again."""
    while found := descendants(os.getpid()):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)


def descendants(root: int) -> set[int]:
    """Numbers of all living processes below `root`, zombies of others left out."""
    parents = _parents(root)
    below: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - below
        below |= fresh
    return below


def _parents(root: int) -> dict[int, int]:
    """Each process's parent."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in "ZX" or int(parent) == root:
                    parents[int(folder.name)] = int(parent)
    return parents
