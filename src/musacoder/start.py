"""The start of a command: what a verdict waits for longest is on its way before the command line is imported."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

INTERRUPTED = 130
_JUDGING = ("verify", "demo", "admit", "bench", "generate")


def main() -> NoReturn:
    """Run one command and leave the process with its exit code."""
    prepare_process()
    try:
        if sys.argv[1:2] and sys.argv[1] in _JUDGING and "--help" not in sys.argv:
            from mooreeval.execute.children import start_ahead

            start_ahead()
        from musacoder.cli import main as command_line
    except KeyboardInterrupt:
        print("musacoder: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    command_line()


def prepare_process() -> None:
    """Standard streams that are open, and a polite kill that cleans up as Ctrl-C does."""
    _open_standard_streams()
    signal.signal(signal.SIGTERM, _interrupt)


def _open_standard_streams() -> None:
    """Give a closed standard stream (`>&-`) a place to go: else a socket of ours would get its number."""
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_WRONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False, encoding="utf-8"))  # noqa: SIM115


def _interrupt(_signal: int, _frame: Any) -> NoReturn:
    raise KeyboardInterrupt
