"""`musacoder bench`: a model's answers to a suite, judged, in a run folder that any crash leaves whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from mooreeval.errors import UsageError
from mooreeval.render import strict_json
from mooreeval.verify import LocalVerifier
from musacoder.config import BenchConfig
from musacoder.conversation import Conversation
from musacoder.models import Model
from musacoder.models.opening import open_model
from musacoder.pipeline import Ledger, NoMoreAnswers, Pipeline, Told
from musacoder.pipeline.pipeline import Parts
from musacoder.preparation import announce_preparation
from musacoder.progress import progress
from musacoder.runlog import RunFolder
from musacoder.session import closing, manifest_of, opened, shown_run, stopped, tell
from musacoder.suites import GALLERY, Suite, load_suite
from musacoder.summary import metrics_of, print_metrics

OK, NOT_JUDGED = 0, 3


def run_bench(config: BenchConfig, path: Path, *, again: bool, as_json: bool, verbose: bool) -> int:
    """Begin the run in `path`, or go on with it, until every answer is judged; then print what came out.

    `again`: ask again for answers that failed, and judge again what was not judged. 0, or 3 where nothing was judged.
    """
    config = _with_suite(config)
    suite = load_suite(config.suite)
    for line in suite.left_out:
        tell(line)
    if config.model.name is None:
        raise UsageError("name the model: --model NAME with --base-url, hf:PATH_OR_ID, or scripted:gallery")
    with ExitStack() as stack:
        model = open_model(config.model.name, config.model)
        stack.callback(model.close)
        verifier = stack.enter_context(LocalVerifier(config.verify))
        manifest = manifest_of("bench", path, config, suite.name, suite.tasks, config.turns, verifier)
        run = stack.enter_context(opened(path, manifest, config))
        try:
            complete(config, suite, run, model, verifier, again=again, quiet=as_json, verbose=verbose)
        except KeyboardInterrupt:
            tell(f"go on with: musacoder bench --run {shown_run(path)}")
            raise
        except NoMoreAnswers as error:
            raise stopped(error, "bench", path) from None
        return _told(run, suite, as_json=as_json)


def _with_suite(config: BenchConfig) -> BenchConfig:
    """The gallery's answers fit the gallery's tasks alone, so that suite need not be named."""
    if config.suite.source is not None or config.model.name != f"scripted:{GALLERY}":
        return config
    return config.model_copy(update={"suite": config.suite.model_copy(update={"source": GALLERY})})


def complete(
    config: BenchConfig,
    suite: Suite,
    run: RunFolder,
    model: Model,
    verifier: LocalVerifier,
    *,
    again: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Ask and judge what the run misses of the suite's tasks. NoMoreAnswers where the model gives none."""
    ledger = Ledger(run)
    if again and (lost := ledger.forget_failures()):
        tell(f"{lost} answers are asked for or judged again")
    conversation = Conversation(config.prompt, model, verifier)
    parts = Parts(
        run, model, verifier, conversation, config.sampling, config.verify, config.work, closing(model, verifier)
    )
    pipeline = Pipeline(parts, suite.tasks, ledger)
    missing, total = pipeline.unfinished(config.samples, config.turns), config.samples * len(suite.tasks)
    tell(f"run {run.path}: {missing} of {total} answers to ask or judge")
    if not missing:
        return
    announce_preparation(verifier)
    with progress("answers", missing, quiet=quiet, verbose=verbose) as advance:
        pipeline.complete(config.samples, config.turns, lambda told: _show(told, advance))


def _show(told: Told, advance: Callable[[str], None]) -> None:
    if told.is_last:
        turn = f", turn {told.key.turn}" if told.key.turn > 1 else ""
        advance(f"{told.key.task} answer {told.key.index + 1}{turn}: {told.how.replace('_', ' ')}")


def _told(run: RunFolder, suite: Suite, *, as_json: bool) -> int:
    from musacoder.evaluate import family_of

    metrics = metrics_of(run, {t.task.task_id: family_of(t.task.code) for t in suite.tasks})
    run.add_metrics(metrics.model_dump(mode="json"))
    if as_json:
        print(strict_json({"run": str(run.path), "metrics": metrics.model_dump(mode="json")}, indent=2))
    else:
        print_metrics(Console(highlight=False), metrics)
        tell(f"all of it is in {run.path}; musacoder report {run.path} says more")
    return OK if metrics.coverage.scored else NOT_JUDGED
