"""Progress of many verdicts or admissions: a live line on a terminal, one line for each where output goes elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(doing: str, total: int, *, quiet: bool, verbose: bool) -> Generator[Callable[[str], Any]]:
    """A callback for the line of each as it is known. `doing`: the word before the bar. It goes to standard error."""
    console = Console(stderr=True, highlight=False)
    if quiet and not verbose:
        yield lambda _line: None
    elif console.is_terminal:
        columns = (
            TextColumn(doing),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
        )
        with Progress(*columns, console=console, transient=True) as shown:
            bar = shown.add_task("", total=total, last="starting")
            yield lambda line: shown.update(bar, advance=1, last=line)
    else:
        done = iter(range(1, total + 1))
        yield lambda line: console.print(f"{next(done):>3}/{total} {line}", markup=False, soft_wrap=True)
