"""The commands that make models: `sft`, `rft`, `rl`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from musacoder.cli_options import AsJson, Backend, ConfigFile, Policy, Settings, Verbose
from musacoder.cli_write import Again, BaseUrl, ModelName, Run, Samples, Temperature, Workers

Recipe = Annotated[
    Path | None, typer.Argument(metavar="RECIPE", help="YAML file with the configuration, such as recipes/nano.yaml.")
]
Data = Annotated[
    list[str] | None, typer.Option("--data", metavar="PATH", help="Folder of parquet files with rows, or a file.")
]
Minutes = Annotated[
    float | None, typer.Option(help="Of this stage, after which the run is left with a checkpoint to go on from.")
]


def sft(
    recipe: Recipe = None,
    data: Data = None,
    run: Run = None,
    minutes: Minutes = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Train a model on rows: tasks and verified answers, repairs, analyses."""
    from musacoder.session import run_path
    from musacoder.train.sft import configuration, run_sft

    options: dict[str, Any] = {"data": data or None, "train.minutes": minutes}
    path = run_path(run, "sft", recipe.stem if recipe else "")
    loaded = configuration(path, recipe, settings or (), options)
    raise typer.Exit(run_sft(loaded, path, as_json=json, verbose=verbose))


def rft(
    programs: Annotated[
        str | None,
        typer.Option("--programs", metavar="FILE", help="Programs whose tasks are answered (programs.jsonl)."),
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="S", help="Instead of programs, as for bench: never a test suite.")
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    samples: Samples = None,
    per_cluster: Annotated[
        int | None, typer.Option(min=1, help="Programs of one structure in a task's pool at most.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Visits of each task.")] = None,
    draw: Annotated[int | None, typer.Option(min=1, help="Only so many of the tasks.")] = None,
    temperature: Temperature = None,
    run: Run = None,
    again: Again = False,
    workers: Workers = None,
    backend: Backend = None,
    policy: Policy = None,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Turn a model's own right answers into rows to train on: as many ways of writing each kernel as it knows."""
    from musacoder.config import RftConfig
    from musacoder.session import configuration, run_path
    from musacoder.train.rft import run_rft

    options: dict[str, Any] = {
        "programs": programs,
        "suite.source": suite,
        "suite.draw": draw,
        "samples": samples,
        "pool.per_cluster": per_cluster,
        "pool.epochs": epochs,
        "model.name": model,
        "model.server.base_url": base_url,
        "sampling.temperature": temperature,
        "work.judging": workers,
        "verify.backend": backend,
        "verify.policy": policy,
    }
    path = run_path(run, "rft", model or "")
    loaded = configuration(RftConfig, path, config, settings or (), options)
    raise typer.Exit(run_rft(loaded, path, again=again, as_json=json, verbose=verbose))


def rl(
    recipe: Recipe = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="PATH", help="Checkpoint to begin with: a folder or an id."),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option("--tasks", metavar="S", help="What is trained on, as a suite of bench."),
    ] = None,
    run: Run = None,
    minutes: Minutes = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Train a model on what the judge says of its kernels, in one turn or several."""
    from musacoder.session import run_path
    from musacoder.train.rl import configuration, run_rl

    options: dict[str, Any] = {"model": model, "tasks.source": tasks, "train.minutes": minutes}
    path = run_path(run, "rl", recipe.stem if recipe else "")
    loaded = configuration(path, recipe, settings or (), options)
    raise typer.Exit(run_rl(loaded, path, as_json=json, verbose=verbose))
