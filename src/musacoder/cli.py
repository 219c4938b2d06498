"""The command line: what a person types, and how it ends.

    0    correct; every gallery verdict as expected; a backend is there; no task is refused
    1    judged and not correct; a gallery verdict is not as expected; a task is refused
    2    bad usage or bad task
    3    not judged, or unsupported by the backend
    130  interrupted

What goes wrong is one line on standard error, with a traceback only under -v; with --json the same words are on
standard output too, as {"error": ..., "exit_code": ...}. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from mooreeval.errors import MooreError, UsageError
from musacoder import cli_data, cli_train, cli_write
from musacoder.cli_inputs import GALLERY, load_candidate_named, load_task_named, load_tasks_named
from musacoder.cli_options import (
    BAD_USAGE,
    NOT_CORRECT,
    NOT_JUDGED,
    OK,
    AsJson,
    Backend,
    Command,
    ConfigFile,
    Policy,
    Protocol,
    Settings,
    Verbose,
)
from musacoder.diagnose import diagnose
from musacoder.report.command import register as register_report
from musacoder.start import INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console

    from mooreeval.candidate import Candidate, NoCandidate
    from mooreeval.config import VerifyConfig
    from mooreeval.task import Task
    from mooreeval.verdict import Verdict

app = typer.Typer(
    name="musacoder",
    help="Judges GPU kernels written for PyTorch modules.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave the process with its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    code = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one command; every error is told here."""
    verbose = any(a in ("-v", "--verbose") for a in arguments)
    as_json = "--json" in arguments
    try:
        code = app(args=arguments, prog_name="musacoder", standalone_mode=False)
        code = code if isinstance(code, int) else OK
        return _told("interrupted", INTERRUPTED) if code == INTERRUPTED else code
    except (KeyboardInterrupt, typer.Abort):
        return _told("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return NOT_CORRECT
    except MooreError as error:
        code = BAD_USAGE if isinstance(error, UsageError) else NOT_JUDGED
        return _told(str(error), code, error if verbose else None, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the last line of defence: a fault of ours, told in one line
        usage = getattr(error, "format_message", None)  # only the option parser's own errors have it
        if callable(usage):
            command = getattr(getattr(error, "ctx", None), "command_path", None) or "musacoder"
            return _told(f"{usage()} (see {command} --help)", BAD_USAGE, as_json=as_json)
        message = f"internal error, not judged: {type(error).__name__}: {error}" + (
            "" if verbose else " (-v shows more)"
        )
        return _told(message, NOT_JUDGED, error if verbose else None, as_json=as_json)


def _told(message: str, code: int, error: BaseException | None = None, *, as_json: bool = False) -> int:
    line = " ".join(message.split())
    if error is not None:
        traceback.print_exception(error, file=sys.stderr)
    print(f"musacoder: {line}", file=sys.stderr)
    if as_json:
        from mooreeval.render import strict_json

        print(strict_json({"error": line, "exit_code": code}, indent=2))
    return code


def _print_version(wanted: bool) -> None:
    if wanted:
        from mooreeval import __version__

        print(f"musacoder {__version__}")
        raise typer.Exit(OK)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    del version  # its callback has answered
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(BAD_USAGE)


@app.command(cls=Command)
def verify(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="Python file with Model and get_inputs, gallery:NAME or bundled:NAME.")
    ],
    candidate: Annotated[
        str,
        typer.Argument(metavar="CANDIDATE", help="File with ModelNew or a model's answer, gallery:TASK/NAME, or -."),
    ],
    backend: Annotated[
        str | None, typer.Option(metavar="NAME", help="auto, cuda, musa, musa-shim or simulator.")
    ] = None,
    policy: Policy = None,
    protocol: Protocol = None,
    seed: Annotated[str | None, typer.Option(metavar="HEX", help="Run secret of an earlier verdict.")] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Ask Nsight Compute what holds a correct candidate back.")
    ] = False,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Judge one candidate against one task."""
    from mooreeval.config import load_config

    options = {"backend": backend, "policy": policy, "protocol": protocol, "seed": seed}
    asked = ["profile.enabled=true"] if profile else []
    loaded = load_config(config, [*(settings or ()), *asked], options)
    the_task, the_candidate = load_task_named(task), load_candidate_named(candidate)
    verdict = _judged(the_task, the_candidate, loaded, verbose=verbose, quiet=json)
    if json:
        from mooreeval.render import strict_json

        print(strict_json(_document(verdict, the_candidate, loaded), indent=2))
    else:
        _print_verdict(verdict, the_candidate, loaded, file_name=_file_name(candidate, the_candidate), verbose=verbose)
    raise typer.Exit(exit_code(verdict))


@app.command(cls=Command)
def admit(
    tasks: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK...",
            help="Python files, folders, JSONL or parquet files of tasks, data sets, gallery:NAME, bundled:NAME, or "
            "gallery: and bundled: for all.",
        ),
    ],
    backend: Backend = None,
    protocol: Protocol = None,
    seed: Annotated[str | None, typer.Option(metavar="HEX", help="Run secret of an earlier admission.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Tasks examined at the same time.")] = 2,
    again: Annotated[bool, typer.Option("--again", help="Examine tasks whose admission is known, too.")] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append each admission to this file, a line of JSON each.")
    ] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show that tasks can tell right from wrong, or what they can't tell."""
    from mooreeval.config import load_config
    from musacoder.admit import run_admit

    loaded = load_config(config, settings or (), {"backend": backend, "protocol": protocol, "seed": seed})
    read = [task for name in tasks for task in load_tasks_named(name)]
    raise typer.Exit(
        run_admit(read, loaded, workers=workers, again=again, record=record, as_json=json, verbose=verbose)
    )


@app.command(cls=Command)
def demo(
    only: Annotated[str | None, typer.Option(metavar="TASK", help="Judge the candidates of one task only.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Candidates judged at the same time.")] = 2,
    backend: Backend = None,
    config: ConfigFile = None,
    settings: Settings = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Judge the bundled gallery of right and wrong candidates, and compare with what is known of them."""
    from mooreeval.config import load_config
    from musacoder.demo import run_demo

    loaded = load_config(config, settings or (), {"backend": backend})
    raise typer.Exit(run_demo(loaded, only=only, workers=workers, as_json=json, verbose=verbose))


@app.command(cls=Command)
def doctor(json: AsJson = False, verbose: Verbose = False) -> None:
    """Show which backends this machine has, what is missing, and how to get it."""
    from musacoder.doctor import run_doctor

    del verbose  # accepted everywhere, so that -v never is a usage error; it acts where errors are told
    raise typer.Exit(run_doctor(as_json=json))


register_report(app)
app.command(cls=Command)(cli_write.generate)
app.command(cls=Command)(cli_write.bench)
app.command(cls=Command)(cli_data.synth)
app.command(cls=Command)(cli_train.sft)
app.command(cls=Command)(cli_train.rft)
app.command(cls=Command)(diagnose)
app.command(cls=Command)(cli_train.rl)


def exit_code(verdict: Verdict) -> int:
    """What a verdict means to a shell."""
    from mooreeval.verdict import Status

    return {Status.CORRECT: OK, Status.UNSUPPORTED: NOT_JUDGED}.get(verdict.status, NOT_CORRECT)


def _judged(
    task: Task, candidate: Candidate | NoCandidate, config: VerifyConfig, *, verbose: bool, quiet: bool
) -> Verdict:
    from mooreeval.candidate import Candidate
    from mooreeval.verify import LocalVerifier
    from musacoder.preparation import announce_preparation

    with LocalVerifier(config) as verifier:
        if isinstance(candidate, Candidate):
            announce_preparation(verifier)
        with _progress(verbose=verbose, quiet=quiet) as report:
            verdict = verifier.verify(task, candidate, report)
    return _with_own_time(verdict)


def _with_own_time(verdict: Verdict) -> Verdict:
    """The verdict with the rest of this command's time, starting and preparing, so that all adds up to the wait."""
    rest = _seconds_since_start() - sum(verdict.stage_seconds.values())
    seconds = {**verdict.stage_seconds, "rest": round(max(rest, 0.0), 4)}
    return verdict.model_copy(update={"stage_seconds": seconds})


def _seconds_since_start() -> float:
    """Wall seconds that this process has lived."""
    ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _document(verdict: Verdict, candidate: Candidate | NoCandidate, config: VerifyConfig) -> dict[str, Any]:
    """What --json prints: the verdict's fields, and beside them what a trainer makes of it."""
    from mooreeval.feedback import feedback
    from mooreeval.reward import reward

    told = feedback(verdict, getattr(candidate, "code", None), config.feedback)
    return {**verdict.model_dump(mode="json"), "reward": reward(verdict, config.reward), "feedback": told}


@contextmanager
def _progress(*, verbose: bool, quiet: bool) -> Generator[Any]:
    """A callback for stage names: a spinner on a terminal, lines under -v, else silence. Always on standard error."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if console.is_terminal and not quiet:
        with console.status("starting ...") as status:
            yield lambda stage: status.update(f"{stage} ...")
    elif verbose:
        yield lambda stage: console.print(f"{stage} ...", markup=False)
    else:
        yield lambda _stage: None


def _file_name(argument: str, candidate: Candidate | NoCandidate) -> str | None:
    """What the reader calls the candidate's file; None where its lines are not those of a file."""
    if argument == "-" or candidate.origin != "file":
        return None
    return f"{argument.rpartition('/')[2]}.py" if argument.startswith(GALLERY) else argument


def _print_verdict(
    verdict: Verdict,
    candidate: Candidate | NoCandidate,
    config: VerifyConfig,
    *,
    file_name: str | None,
    verbose: bool,
) -> None:
    from rich.console import Console

    from mooreeval.render import print_report
    from mooreeval.reward import reward

    console: Console = Console(highlight=False)
    print_report(console, verdict, getattr(candidate, "code", None), file_name=file_name, verbose=verbose)
    score = reward(verdict, config.reward)
    console.print(f"  reward {'none' if score is None else f'{score:g}'}", style="dim", markup=False)
