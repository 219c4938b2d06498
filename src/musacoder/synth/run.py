"""What the stages of one run share."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from musacoder.synth.config import SynthConfig
from musacoder.synth.folder import SynthFolder

Tell = Callable[[int, str], None]  # how many are done, and what is worth knowing
_LINE_SECONDS = 10.0  # between two lines where output goes to a file


@dataclass(frozen=True)
class SynthRun:
    """A run that goes on: its folder, its configuration, and whoever watches."""

    folder: SynthFolder
    config: SynthConfig
    quiet: bool = False

    @contextmanager
    def progress(self, doing: str, total: int | None) -> Generator[Tell]:
        """A callback for how far a stage is: a live line on a terminal, else a line every ten seconds."""
        console = Console(stderr=True, highlight=False)
        if self.quiet:
            yield lambda _done, _line: None
        elif console.is_terminal:
            words = TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            with Progress(*words, TextColumn("{task.fields[last]}", markup=False), console=console) as shown:
                bar = shown.add_task("", total=total, last="")
                yield lambda done, line: shown.update(bar, completed=done, last=line)
        else:
            of = f" {{}}/{total}" if total else ""
            yield _seldom(lambda done, line: console.print(f"{doing}{of.format(done)} {line}", markup=False))


def _seldom(tell: Tell) -> Tell:
    """The first, and then one in so many seconds."""
    last = -_LINE_SECONDS

    def told(done: int, line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            tell(done, line)

    return told
