"""`musacoder rft`: a model's own right answers become what it is trained on, as many ways of writing them as it knows.

    tasks ──k answers each──> judge ──> correct and legal ──> clusters by structure ──> pool ──> rows to train on

The run folder is `bench`'s, with samples and verdicts of every answer: failures stay there for repair rows. Beside the
rows whose targets are drawn from the pool stand those of best-of-one: the same tasks and visits, one target each.

    runs/NAME/pool.jsonl                    right answers, with their clusters
    runs/NAME/rows/rows.jsonl               a row a visit, its target drawn anew
    runs/NAME/rows_best_of_one/rows.jsonl   a row a visit, its target always the same
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mooreeval.errors import UsageError
from mooreeval.render import print_whole, strict_json
from mooreeval.verify import LocalVerifier
from musacoder.bench import complete
from musacoder.config import RftConfig
from musacoder.data.asking import task_of
from musacoder.data.io import read_programs
from musacoder.data.records import Program, Split
from musacoder.evaluate import family_of
from musacoder.models.opening import open_model
from musacoder.pipeline import NoMoreAnswers
from musacoder.runlog import RunFolder
from musacoder.session import manifest_of, opened, shown_run, stopped, tell
from musacoder.suites import Suite, SuiteTask, load_suite
from musacoder.train.diversity import Diversity, diversity_of
from musacoder.train.pool import Origin, PoolEntry, best_of_one, fill_pool, row_of, targets_of, visits, write_rows

OK, NOT_JUDGED = 0, 3
ROWS, BEST_OF_ONE = "rows", "rows_best_of_one"
_NOT_STATED = "not stated"


def run_rft(config: RftConfig, path: Path, *, again: bool, as_json: bool, verbose: bool) -> int:
    """Begin the run in `path`, or go on with it, until every answer is judged; then write the rows.

    0, or 3 where no answer was right: there is nothing to train on.
    """
    _require_our_protocol(config)
    suite, origins = _tasks(config)
    if config.model.name is None:
        raise UsageError("name the model: --model hf:PATH_OR_ID, NAME with --base-url, or scripted:gallery")
    with ExitStack() as stack:
        model = open_model(config.model.name, config.model)
        stack.callback(model.close)
        verifier = stack.enter_context(LocalVerifier(config.verify))
        manifest = manifest_of("rft", path, config, suite.name, suite.tasks, config.turns, verifier)
        run = stack.enter_context(opened(path, manifest, config))
        try:
            complete(config, suite, run, model, verifier, again=again, quiet=as_json, verbose=verbose)
        except KeyboardInterrupt:
            tell(f"go on with: musacoder rft --run {shown_run(path)}")
            raise
        except NoMoreAnswers as error:
            raise stopped(error, "rft", path) from None
        return _finished(config, run, origins, as_json=as_json)


def _require_our_protocol(config: RftConfig) -> None:
    """What a model learns is held to our own tolerances: the other protocol's are for comparable tables alone."""
    if config.verify.protocol != "ours":
        raise UsageError(f"rft judges by protocol ours, not {config.verify.protocol}")


def _tasks(config: RftConfig) -> tuple[Suite, dict[str, Origin]]:
    """The tasks to answer, and what their rows say of them, by hash."""
    if config.programs is None:
        suite = load_suite(config.suite)
        for line in suite.left_out:
            tell(line)
        return suite, {t.task.task_hash: Origin(family_of(t.task.code), (), _NOT_STATED) for t in suite.tasks}
    if config.suite.source is not None:
        raise UsageError("name programs or a suite, not both")
    return _of_programs(Path(config.programs), config.suite.draw)


def _of_programs(path: Path, most: int | None) -> tuple[Suite, dict[str, Origin]]:
    """Tasks of the training split; the first so many by their hashes, which is as good as by lot."""
    by_hash: dict[str, Program] = {p.task_hash: p for p in read_programs(path) if p.split is Split.TRAIN}
    if not by_hash:
        raise UsageError(f"{path} holds no program of the training split")
    chosen = [by_hash[key] for key in sorted(by_hash)[:most]]
    origins = {p.task_hash: Origin(p.family, p.operators, p.licence) for p in chosen}
    return Suite(str(path), tuple(SuiteTask(task_of(p)) for p in chosen)), origins


def _finished(config: RftConfig, run: RunFolder, origins: Mapping[str, Origin], *, as_json: bool) -> int:
    entries = fill_pool(run)
    ways = {ROWS: targets_of(entries, config.pool.per_cluster), BEST_OF_ONE: best_of_one(entries)}
    figures: dict[str, Any] = {"tasks_asked": len(run.manifest.tasks), "answers": diversity_of(entries)}
    for name, targets in ways.items():
        rows = (
            row_of(entry, epoch, run.manifest.model, origins[entry.task_hash])
            for epoch, entry in visits(targets, config.pool.epochs, config.pool.seed)
        )
        count = write_rows(run.path / name / "rows.jsonl", rows)
        figures[name] = {"rows": count, "targets": diversity_of(e for of in targets.values() for e in of)}
    run.add_metrics({"rft": _plain(figures)})
    if as_json:
        print(strict_json({"run": str(run.path), **_plain(figures)}, indent=2))
    else:
        _print(Console(highlight=False), run, entries, figures)
    return OK if entries else NOT_JUDGED


def _plain(figures: Mapping[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, Diversity):
            return value.model_dump(mode="json")
        return {k: plain(v) for k, v in value.items()} if isinstance(value, Mapping) else value

    return {name: plain(value) for name, value in figures.items()}


def _print(console: Console, run: RunFolder, entries: list[PoolEntry], figures: Mapping[str, Any]) -> None:
    asked, samples = figures["tasks_asked"], run.manifest.samples
    console.print(f"{run.manifest.model} · {asked} tasks, {samples} answers each: {len(entries)} right", markup=False)
    if not entries:
        tell("no answer was right: there is nothing to train on")
        return
    table = Table(box=None, header_style="none", pad_edge=False)
    for name in ("by task", "tasks", "answers", "clusters", "effective", "entropy", "in 4 answers"):
        table.add_column(name, justify="left" if name == "by task" else "right")
    table.add_row("right answers", *_cells(figures["answers"]))
    table.add_row("pool", *_cells(figures[ROWS]["targets"]))
    table.add_row("best of one", *_cells(figures[BEST_OF_ONE]["targets"]))
    print_whole(console, table)
    tell(
        f"{figures[ROWS]['rows']} rows are in {run.path / ROWS}, and as many of best-of-one in {run.path / BEST_OF_ONE}"
    )


def _cells(of: Diversity) -> list[str]:
    numbers = (of.clusters, of.effective, of.entropy, of.clusters_in_4)
    return [str(of.tasks), str(of.answers), *("-" if value is None else f"{value:.2f}" for value in numbers)]
