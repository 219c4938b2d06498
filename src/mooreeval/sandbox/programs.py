"""The walls of programs that the judge starts: compilers, and what reads what they made."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from mooreeval.sandbox import seccomp
from mooreeval.sandbox.bubblewrap import around_compiler
from mooreeval.sandbox.enter import USAGE
from mooreeval.sandbox.modes import limited, rights_here, takes_bwrap, wanted_mode
from mooreeval.sandbox.view import system_view

_ENTER = str(Path(__file__).parent / "enter.py")


@dataclass(frozen=True)
class ProgramWalls:
    """`readable`: files and folders beyond the system's that every program of somebody's may read."""

    readable: tuple[str, ...] = ()
    writable: ClassVar[tuple[str, ...]] = ()  # beside the folder of each: for compilers of tests that count their calls

    def command(self, command: Sequence[str], folder: str, more: Iterable[str] = ()) -> list[str]:
        """The command within walls. It works in `folder`, the only one that it can write to, and may read `more`."""
        own = [str(Path(command[0]).parent), *self.readable, *more]
        view = replace(system_view(more=own), writable=tuple(filter(os.path.exists, self.writable)))
        paths = {"readable": view.readable, "writable": view.writable, "folder": os.path.abspath(folder)}
        enter = [sys.executable, "-I", "-S", _ENTER]
        if takes_bwrap():
            spec = {**paths, "inside": True, "landlock": 0, "calls": seccomp.is_known()}
            return [*around_compiler(view, os.path.abspath(folder)), *enter, json.dumps(spec), *command]
        rights = limited(rights_here()) if wanted_mode() == "limits" else rights_here()
        return [*enter, json.dumps({**paths, **rights.to_json()}), *command]

    @staticmethod
    def code(returncode: int) -> int:
        """A program's own exit code: bwrap tells the signal that ended it as a shell does."""
        return 128 - returncode if takes_bwrap() and 128 < returncode < 160 else returncode

    @staticmethod
    def usage(folder: Path) -> tuple[float, int] | None:
        """CPU seconds and peak of resident bytes, where they were left in a file, which is removed."""
        file = folder / USAGE
        try:
            took = json.loads(file.read_text(encoding="ascii"))
            file.unlink()
            return float(took["cpu_seconds"]), int(took["peak_bytes"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
