"""`musacoder generate`: the best kernel that a model writes for one task, with its verdict.

    first turns ──> repair turns, while none is right ──> optimisation turns, while budget lasts ──> the best one

Every round is decided by the rounds before it, which are complete by then; so a run that goes on ends as it would have.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mooreeval.config import VerifyConfig
from mooreeval.errors import UsageError
from mooreeval.feedback import plain
from mooreeval.render import STYLES, print_whole, strict_json
from mooreeval.task import Task
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier
from musacoder.cli_inputs import GALLERY, load_task_named
from musacoder.config import GenerateConfig
from musacoder.improving import Improving, Result, best_of, is_spent, next_turn, optimisation_turns, results_of
from musacoder.kernel_file import KernelFile
from musacoder.models.opening import open_model
from musacoder.pipeline import Ledger, NoMoreAnswers, Pipeline, Told
from musacoder.pipeline.pipeline import Parts
from musacoder.preparation import announce_preparation
from musacoder.progress import progress
from musacoder.runlog import RunFolder
from musacoder.session import closing, manifest_of, opened, shown_run, stopped, tell
from musacoder.suites import SuiteTask

OK, NONE_RIGHT, NOT_JUDGED = 0, 1, 3
_REASON_CHARACTERS = 90
_LOOKS = 20  # times as long as a look for the best takes, until the next
_STYLES = {status.value: style for status, style in STYLES.items()}


@dataclass(frozen=True)
class _Generation:
    """The parts of a run that goes on."""

    config: GenerateConfig
    run: RunFolder
    pipeline: Pipeline
    ledger: Ledger
    file: KernelFile
    is_timed: bool  # a device judges, so speed is known

    def results(self) -> list[Result]:
        return results_of(self.run, self.config.verify.reward.baseline)

    def keep_best(self) -> None:
        """Write the best kernel so far, where there is one."""
        if best := best_of(self.results()):
            self.file.write(self.run.sample(best.key), self.run.verdict(best.key))


def run_generate(config: GenerateConfig, path: Path, *, again: bool, as_json: bool, verbose: bool) -> int:
    """Begin the run in `path`, or go on with it; write the best kernel below `config.out` (default: the run's folder).

    0 where a right kernel was found, 1 where none is right, 3 where nothing was judged.
    """
    if config.task is None:
        raise UsageError("name the task: a file, gallery:NAME or bundled:NAME")
    if config.model.name is None:
        raise UsageError("name the model: --model NAME with --base-url, hf:PATH_OR_ID, or scripted:gallery")
    task = _named(load_task_named(config.task), config.task)
    file = KernelFile.of(Path(config.out) if config.out else path, task)
    with ExitStack() as stack:
        level = None if task.level is None else str(task.level)
        generation = _opened(stack, config, path, SuiteTask(task, level), file)
        if again and (lost := generation.ledger.forget_failures()):
            tell(f"{lost} answers are asked for or judged again")
        try:
            _generate(generation, quiet=as_json, verbose=verbose)
        except KeyboardInterrupt:
            tell(f"go on with: musacoder generate --run {shown_run(path)}")
            raise
        except NoMoreAnswers as error:
            raise stopped(error, "generate", path) from None
        return _told(generation, as_json=as_json)


def _named(task: Task, name: str) -> Task:
    """A task of the gallery is called by its name there."""
    return replace(task, task_id=name) if name.startswith(GALLERY) else task


def _opened(stack: ExitStack, config: GenerateConfig, path: Path, task: SuiteTask, file: KernelFile) -> _Generation:
    model = open_model(config.model.name or "", config.model)
    stack.callback(model.close)
    verifier = stack.enter_context(LocalVerifier(_judging(config)))
    turns = 1 + config.repairs + (config.budget.turns if verifier.device_name else 0)
    manifest = manifest_of("generate", path, config, config.task or "", [task], turns, verifier)
    run = stack.enter_context(opened(path, manifest, config))
    announce_preparation(verifier)
    ledger, baseline = Ledger(run), config.verify.reward.baseline
    prompts = Improving(config.prompt, model, verifier, baseline)
    close = closing(model, verifier)
    parts = Parts(run, model, verifier, prompts, config.sampling, config.verify, config.work, close)
    return _Generation(config, run, Pipeline(parts, [task], ledger), ledger, file, verifier.device_name is not None)


def _judging(config: GenerateConfig) -> VerifyConfig:
    """The judge's configuration, with a profile where one is of use: it changes no verdict."""
    verify = config.verify
    if not config.profile or verify.backend == "simulator":
        return verify
    return verify.model_copy(update={"profile": verify.profile.model_copy(update={"enabled": True})})


def _generate(generation: _Generation, *, quiet: bool, verbose: bool) -> None:
    """All rounds that are due."""
    config = generation.config
    most = config.samples * (1 + config.repairs) + (config.budget.turns if generation.is_timed else 0)
    with progress("answers", most, quiet=quiet, verbose=verbose) as advance:
        try:
            _rounds(generation, _showing(generation, advance))
        finally:
            generation.keep_best()


def _rounds(generation: _Generation, on_told: Callable[[Told], None]) -> None:
    config = generation.config
    for turn in range(1, config.repairs + 2):
        if any(r.is_right and r.key.turn < turn for r in generation.results()):
            break
        generation.pipeline.complete(config.samples, turn, on_told)
    while generation.is_timed and not is_spent(config.budget, generation.results(), generation.run):
        key = next_turn(generation.results(), generation.run)
        if key is None:
            break
        generation.pipeline.one_more(key, on_told)


def _showing(generation: _Generation, advance: Callable[[str], None]) -> Callable[[Told], None]:
    """Shows what happens, and keeps the best now and then, so that a run that is killed leaves one."""
    next_look = 0.0

    def on_told(told: Told) -> None:
        nonlocal next_look
        begin = time.monotonic()
        if told.how == Status.CORRECT and begin >= next_look:
            generation.keep_best()
            now = time.monotonic()  # looking takes the longer the more a run has
            next_look = now + _LOOKS * (now - begin)
        advance(f"answer {told.key.index + 1}, turn {told.key.turn}: {told.how.replace('_', ' ')}")

    return on_told


def _told(generation: _Generation, *, as_json: bool) -> int:
    results = generation.results()
    best = best_of(results)
    generation.run.add_metrics(_summary(generation, results, best))
    if as_json:
        print(strict_json(_summary(generation, results, best), indent=2))
    else:
        console = Console(highlight=False)
        print_whole(console, _table(results, best, is_timed=generation.is_timed))
        console.print()
        print_whole(console, Text(_conclusion(generation, results, best), "bold"))
    if best is not None:
        return OK
    statuses = {status.value for status in STYLES}
    return NONE_RIGHT if any(r.how in statuses and r.how != "unsupported" for r in results) else NOT_JUDGED


def _summary(generation: _Generation, results: list[Result], best: Result | None) -> dict[str, object]:
    return {
        "run": str(generation.run.path),
        "kernel": str(generation.file.code) if best else None,
        "verdict": str(generation.file.verdict) if best else None,
        "best": best and {**best.key._asdict(), "speedup": best.speedup},
        "speed_is_known": generation.is_timed,
        "answers": [{**r.key._asdict(), "how": r.how, "reason": r.reason, "speedup": r.speedup} for r in results],
    }


def _table(results: list[Result], best: Result | None, *, is_timed: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("answer", "turn", "verdict", *(("speed-up",) if is_timed else ()), ""):
        table.add_column(name, no_wrap=True)
    improved = {r.key for r in optimisation_turns(results)}
    for result in results:
        mark = "<- the best" if result is best else ""
        how = Text(result.how.replace("_", " "), _STYLES.get(result.how, "yellow"))
        speed = [f"{result.speedup:.2f}" if result.speedup is not None else "-"] if is_timed else []
        turn = f"{result.key.turn}{' (faster?)' if result.key in improved else ''}"
        why = mark if result.is_right else plain(result.reason, _REASON_CHARACTERS)
        table.add_row(str(result.key.index + 1), turn, how, *speed, Text(why, "dim"))
    return table


def _conclusion(generation: _Generation, results: list[Result], best: Result | None) -> str:
    if best is None:
        return f"none of {len(results)} answers is right; all of it is in {generation.run.path}"
    if best.speedup is not None:
        speed = f"{best.speedup:.2f} times as fast as {generation.config.verify.reward.baseline}"
    else:
        speed = "its speed is unknown" + ("" if generation.is_timed else ": judged by emulation, without a GPU")
    return f"{generation.file.code} is right; {speed}. Its verdict is in {generation.file.verdict}"
