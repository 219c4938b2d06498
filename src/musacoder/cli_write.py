"""The commands that let a model write kernels: `bench` and `generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from musacoder.cli_options import AsJson, Backend, ConfigFile, Policy, Protocol, Settings, Verbose

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="M", help="NAME on a server, hf:PATH_OR_ID in this process, scripted:gallery or :FOLDER."
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Of the server, such as http://localhost:8000/v1.")
]
Samples = Annotated[int | None, typer.Option("--samples", "-n", min=1, help="Answers to the first prompt of a task.")]
Temperature = Annotated[float | None, typer.Option("--temperature", help="Of the sampling.")]
Run = Annotated[
    str | None,
    typer.Option("--run", metavar="NAME", help="A name below runs/, or a path; where it exists, the run goes on."),
]
Again = Annotated[
    bool, typer.Option("--again", help="Ask again for answers that failed, and judge again what was not judged.")
]
Workers = Annotated[int | None, typer.Option(min=1, max=64, help="Answers judged at the same time.")]


def bench(
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="S",
            help="gallery, bundled, a folder or file of tasks, or a data set. Of scripted:gallery it is the gallery.",
        ),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    samples: Samples = None,
    turns: Annotated[int | None, typer.Option(min=1, help="Turns of an answer that is not right.")] = None,
    levels: Annotated[list[str] | None, typer.Option("--level", metavar="L", help="Only this level.")] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Only this task.")] = None,
    names: Annotated[
        list[str] | None, typer.Option("--name", metavar="PATTERN", help="Only tasks whose name fits, e.g. '*conv*'.")
    ] = None,
    draw: Annotated[int | None, typer.Option(min=1, help="So many of them, drawn by suite.seed.")] = None,
    temperature: Temperature = None,
    run: Run = None,
    again: Again = False,
    workers: Workers = None,
    backend: Backend = None,
    policy: Policy = None,
    protocol: Protocol = None,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Let a model answer a suite of tasks, judge every answer, and show how good it is."""
    from musacoder.bench import run_bench
    from musacoder.config import BenchConfig
    from musacoder.session import configuration, run_path

    options: dict[str, Any] = {
        "suite.source": suite,
        "suite.levels": levels or None,
        "suite.ids": ids or None,
        "suite.names": names or None,
        "suite.draw": draw,
        "turns": turns,
        **_common(model, base_url, samples, temperature, workers, backend, policy, protocol),
    }
    path = run_path(run, suite or "", model or "")
    loaded = configuration(BenchConfig, path, config, settings or (), options)
    raise typer.Exit(run_bench(loaded, path, again=again, as_json=json, verbose=verbose))


def generate(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="Python file with Model and get_inputs, gallery: or bundled:NAME."),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    samples: Samples = None,
    repairs: Annotated[int | None, typer.Option(min=0, help="Repair turns, while no answer is right.")] = None,
    optimise: Annotated[int | None, typer.Option(min=0, help="Optimisation turns, where a device judges.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Answered in all, before optimisation ends.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Asking and judging in all, before optimisation ends.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the kernel goes; else to the run's folder.")
    ] = None,
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
    """Let a model write a kernel for one task: repaired until right, then made faster; the best one is kept."""
    from musacoder.config import GenerateConfig
    from musacoder.generate import run_generate
    from musacoder.session import configuration, run_path

    options: dict[str, Any] = {
        "task": task,
        "out": None if out is None else str(out),
        "repairs": repairs,
        "budget.turns": optimise,
        "budget.tokens": tokens,
        "budget.seconds": seconds,
        **_common(model, base_url, samples, temperature, workers, backend, policy, None),
    }
    path = run_path(run, task or "", model or "")
    loaded = configuration(GenerateConfig, path, config, settings or (), options)
    raise typer.Exit(run_generate(loaded, path, again=again, as_json=json, verbose=verbose))


def _common(
    model: str | None,
    base_url: str | None,
    samples: int | None,
    temperature: float | None,
    workers: int | None,
    backend: str | None,
    policy: str | None,
    protocol: str | None,
) -> dict[str, Any]:
    return {
        "model.name": model,
        "model.server.base_url": base_url,
        "samples": samples,
        "sampling.temperature": temperature,
        "work.judging": workers,
        "verify.backend": backend,
        "verify.policy": policy,
        "verify.protocol": protocol,
    }
