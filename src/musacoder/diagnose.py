"""`musacoder diagnose`: profiles tasks, draws a balanced set of them, and turns a run's rates into sampling weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooreeval.errors import UsageError
from musacoder.cli_options import OK, AsJson, ConfigFile, Settings, Verbose

if TYPE_CHECKING:
    from musacoder.data.diagnose import Diagnosis, TaskProfile
    from musacoder.evaluate import Metrics


def diagnose(
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="As for admit.")],
    run: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A run folder of bench over these tasks: its rates become weights."),
    ] = None,
    profiles: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keeps profiles, a line of JSON each; what is in it is not profiled again."),
    ] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show which families of operators tasks are of, and how often each is to be sampled."""
    from mooreeval.render import strict_json
    from musacoder.cli_inputs import load_tasks_named
    from musacoder.config import read_config
    from musacoder.data.diagnose import DiagnoseConfig, diagnosis, profile_tasks
    from musacoder.progress import progress

    loaded = read_config(DiagnoseConfig, config, settings or ())
    read = [task for name in tasks for task in load_tasks_named(name)]
    known = _known(profiles)
    with progress("profiling", len(read), quiet=json, verbose=verbose) as advance, _Kept(profiles) as kept:

        def note(profile: TaskProfile) -> None:
            kept.add(profile)
            advance(f"{profile.task_id}: {profile.failure or profile.family}")

        found = profile_tasks(read, loaded, known, note)
    told = diagnosis(found, loaded, _metrics(run, found))
    if json:
        print(strict_json(told, indent=2))
    else:
        _print(told)
    raise typer.Exit(OK)


class _Kept:
    """The file of profiles, if there is one."""

    def __init__(self, path: Path | None) -> None:
        from musacoder.runlog.lines import Lines

        self._lines = None if path is None else Lines(path)

    def add(self, profile: TaskProfile) -> None:
        if self._lines is not None:
            self._lines.append(profile.model_dump_json())

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._lines is not None:
            self._lines.close()


def _known(path: Path | None) -> dict[str, TaskProfile]:
    from musacoder.data.diagnose import TaskProfile
    from musacoder.runlog.lines import read_lines

    known: dict[str, TaskProfile] = {}
    for _offset, place, data in read_lines(path) if path is not None else ():
        try:
            profile = TaskProfile.model_validate(data)
        except ValueError:
            raise UsageError(f"{place} is no profile of a task") from None
        if profile.failure is None:  # what failed is tried again
            known[profile.task_hash] = profile
    return known


def _metrics(run: Path | None, profiles: list[TaskProfile]) -> Metrics | None:
    """The metrics of the run by the profiles' families. UsageError where it was over none of these tasks."""
    if run is None:
        return None
    from musacoder.data.diagnose import rates_by_family
    from musacoder.runlog import RunFolder

    folder = RunFolder.open(run)
    hashes = {profile.task_hash for profile in profiles}
    if not any(task.hash in hashes for task in folder.manifest.tasks):
        raise UsageError(f"the run {run} is over none of these tasks")
    return rates_by_family(profiles, folder.manifest, folder.samples(), folder.verdicts())


def _print(told: Diagnosis) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("family", "tasks", "drawn", "answers", "correct", "smoothed", "weight", "share"):
        table.add_column(title, justify="left" if title == "family" else "right")
    for row in told.families:
        rates = [f"{100 * rate:.1f} %" if rate is not None else "" for rate in (row.rate, row.smoothed)]
        counts = (str(row.tasks), str(row.drawn), str(row.scored or ""))
        table.add_row(row.family, *counts, *rates, f"{row.weight:.2f}", f"{100 * row.share:.1f} %")
    console = Console(highlight=False)
    console.print(table)
    for task_id, why in told.skipped.items():
        console.print(f"left out  {task_id}: {why}", markup=False, soft_wrap=True)
    if told.run is None:
        console.print("\nweights are 1: name a run of bench with --run", markup=False)
