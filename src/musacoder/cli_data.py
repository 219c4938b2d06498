"""The commands that make training data: `synth`."""

from __future__ import annotations

from typing import Annotated

import typer

from musacoder.cli_options import AsJson, ConfigFile, Settings, Verbose

Run = Annotated[
    str | None,
    typer.Option("--run", metavar="NAME", help="A name below runs/, or a path; where it exists, the run goes on."),
]


def synth(
    run: Run = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Distinct programs that are found correct.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Batches, or judgements, at once.")] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Make training data: programs that our author writes, checked many at a time, some of them judged again alone."""
    from musacoder.session import run_path
    from musacoder.synth.command import run_synth, synth_config

    path = run_path(run, "synth")
    options = {"programs.count": count, "work.workers": workers}
    loaded = synth_config(path, config, settings or (), options)
    raise typer.Exit(run_synth(loaded, path, as_json=json, verbose=verbose))
