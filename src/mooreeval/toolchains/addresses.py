"""Addresses in a candidate's module as lines of its sources, read by addr2line.

addr2line parses debug information that a candidate can shape (a hostile file for a large parser), so the judge runs it
as it runs compilers: within walls, with limits, ended at a deadline.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from mooreeval.errors import NotJudged
from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.toolchains.simulator_process import run_compiler

SECONDS = 120.0

Line = tuple[str, int]  # name of a source, and line


def resolve(
    module: Path, offsets: Sequence[int], knows: Callable[[str], bool], walls: ProgramWalls | None = None
) -> list[Line | None]:
    """(source name, line) of each return address in a shared object; None where none of the known sources is near.

    Of the inlined frames the innermost one that lies in the candidate's sources is taken: what it called is ours.
    Without `walls` the caller is within some.
    """
    tool = shutil.which("addr2line")
    if tool is None or not offsets:
        return [None] * len(offsets)
    addresses = [hex(max(offset - 1, 0)) for offset in offsets]  # the call, not what comes after it
    said = _told([tool, "-i", "-a", "-e", str(module.resolve()), *addresses], module.resolve().parent, walls)
    chosen = [next((line for line in inlined if knows(line[0])), None) for inlined in _frames(said)]
    return (chosen + [None] * len(offsets))[: len(offsets)]


def _told(command: list[str], shown: Path, walls: ProgramWalls | None) -> str:
    """What the program says; nothing where it does not run, does not end, or has no walls to be had."""
    with tempfile.TemporaryDirectory(prefix="mooreeval-") as folder:
        try:
            return run_compiler(command, Path(folder), SECONDS, walls=walls, readable=[str(shown)]).log
        except NotJudged:
            return ""


def _frames(said: str) -> list[list[Line]]:
    """For each address that was asked for, the lines of its inlined frames, the innermost first."""
    frames: list[list[Line]] = []
    for row in said.splitlines():
        if row.startswith("0x"):
            frames.append([])
        elif frames:
            name, _, line = row.split(" (")[0].rpartition(":")
            if line.isdigit():
                frames[-1].append((name.rsplit("/", 1)[-1], int(line)))
    return frames
