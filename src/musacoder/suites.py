"""Suites: the tasks that a run is over, and which of them are chosen.

    gallery          the tasks of the bundled gallery; a run of the model scripted:gallery needs no other name
    bundled          the bundled suite
    split:NAME       a fixed test set of our own data: unseen_op, unseen_combo or long_chain; levels are operators
    programs:FILE    the training tasks of a file of programs, as `musacoder synth` writes it; levels are operators
    a folder         a checkout of KernelBench, or any folder of tasks; files that are no tasks are named and left out
    a file           one task, or JSONL or parquet rows of tasks
    owner/name       a data set of the Hugging Face hub, or a folder laid out like one

KernelBench's paper, and whoever compares with it, measures on its levels 1 to 3: its level 4, whole models of a hub, is
taken where it is asked for by name.

Which tasks a draw takes depends on its seed and on the tasks' ids: neither on their order nor on Python's version.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from mooreeval.config import Count, Whole
from mooreeval.errors import TaskError, UsageError
from mooreeval.hashing import content_hash
from mooreeval.task import Task, load_task, make_task
from mooreeval.task_sources import load_tasks, natural
from mooreeval.verdict import Record

if TYPE_CHECKING:
    from musacoder.data.records import Program

GALLERY, BUNDLED, SPLIT, PROGRAMS = "gallery", "bundled", "split", "programs"
_LEVEL_FOLDER = re.compile(r"level_?\d+", re.IGNORECASE)
_KERNELBENCH, _NOT_USUAL = "KernelBench", "4"
_NAMED = 5  # unknown ids, levels and the like that a message lists


def _texts(value: object) -> object:
    """One word or number is a list of one; numbers are texts."""
    values = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
    return [str(v) if type(v) is int else v for v in values] if isinstance(values, list | tuple) else value


def _stripped(values: tuple[str, ...]) -> tuple[str, ...]:
    if not all(value.strip() for value in values):
        raise ValueError("must not be empty")
    return tuple(value.strip() for value in values)


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts), AfterValidator(_stripped)]


class SuiteConfig(Record):
    """Which tasks a run is over. What is given is required together; a draw is made of what is left."""

    source: str | None = Field(
        None,
        description="`gallery`, `bundled`, `split:NAME`, `programs:FILE`, a folder or file of tasks, or a data set "
        "`owner/name`.",
    )
    levels: Texts = Field((), description="Only these levels; none: all, or of KernelBench 1 to 3.")
    ids: Texts = Field(
        (), description="Only these tasks: by id, by its last part, or by the number that part begins with."
    )
    names: Texts = Field((), description="Only tasks whose id, or its last part, fits one of these patterns (* and ?).")
    draw: Count | None = Field(None, description="That many of them, drawn by `seed`; none: all.")
    seed: Whole = Field(0, description="Which tasks are drawn.")


@dataclass(frozen=True)
class SuiteTask:
    """A task, and where it stands in its suite."""

    task: Task
    level: str | None = None


@dataclass(frozen=True)
class Suite:
    """The tasks of a run, in natural order of their ids."""

    name: str
    tasks: tuple[SuiteTask, ...]
    left_out: tuple[str, ...] = ()  # one line for each file that is no task, and why, and for a level that is not usual


def load_suite(config: SuiteConfig) -> Suite:
    """The chosen tasks of a suite.

    Raises:
        UsageError: no such suite, nothing chosen, an id or level that is not there, fewer tasks than are to be drawn.
        TaskError: a row that is no task, or two tasks of one name.
    """
    if config.source is None or not config.source.strip():
        raise UsageError(f"name the suite: {GALLERY}, {BUNDLED}, a folder or file of tasks, or a data set owner/name")
    source = config.source.strip()
    everything, left_out = _read(source)
    usual, line = _usual(everything, config, source)
    chosen = _drawn(_chosen(usual, config), config)
    ordered = sorted(chosen, key=lambda t: natural(t.task.task_id))
    return Suite(source, tuple(ordered), (*left_out, *line))


def gallery_tasks() -> list[Task]:
    """The gallery's tasks, named `gallery:NAME`."""
    from mooreeval import gallery

    paths = {entry.task_name: entry.task_path for entry in gallery.load()}
    return [dataclasses.replace(load_task(path), task_id=f"gallery:{name}") for name, path in paths.items()]


def _read(source: str) -> tuple[list[SuiteTask], list[str]]:
    if source == GALLERY:
        return [SuiteTask(task) for task in gallery_tasks()], []
    if source == BUNDLED:
        return _bundled(), []
    kind, _, rest = source.partition(":")
    if kind == SPLIT:
        return _split(rest), []
    if kind == PROGRAMS:
        return _training_tasks(Path(rest)), []
    no_tasks: list[str] = []

    def note(path: Path, error: UsageError) -> None:
        no_tasks.append(f"{path} is left out: {_reason(error, path)}")

    try:
        found = load_tasks(_tasks_of_checkout(source), on_no_task=note)
    except TaskError:
        raise
    except UsageError as error:
        raise UsageError(f"{error}{_and_left_out(no_tasks)}") from None
    return [SuiteTask(task, None if task.level is None else str(task.level)) for task in found], no_tasks


def _bundled() -> list[SuiteTask]:
    from musacoder.suite import bundled_tasks

    return [SuiteTask(load_task(bundled.path), str(bundled.level)) for bundled in bundled_tasks()]


def _split(name: str) -> list[SuiteTask]:
    """The tasks of a fixed test set, which a rule-based author writes again each time."""
    from musacoder.data import author
    from musacoder.data.records import Split

    tests = [split for split in Split if split is not Split.TRAIN]
    if name not in tests:
        raise UsageError(f"{SPLIT}:{name} is no test set; there are {', '.join(f'{SPLIT}:{split}' for split in tests)}")
    return _of_programs(name, author.test_set(Split(name)))


def _training_tasks(path: Path) -> list[SuiteTask]:
    """Each task once, of the training split alone."""
    from musacoder.data.io import read_programs
    from musacoder.data.records import Split

    programs = {p.task_hash: p for p in read_programs(path) if p.split is Split.TRAIN}
    if not programs:
        raise UsageError(f"{path} holds no program of the training split")
    return _of_programs("train", programs.values())


def _of_programs(name: str, programs: Iterable[Program]) -> list[SuiteTask]:
    """Named by how many operators they have and by their place."""
    found = []
    for number, program in enumerate(programs):
        length = len(program.operators)
        task = make_task(f"{name}/{length}-{number:05}", program.task_code, source=f"{name} of {program.source}")
        found.append(SuiteTask(task, str(length)))
    return found


def _tasks_of_checkout(source: str) -> str:
    """The folder of tasks in a checkout of KernelBench, which holds programs too; any other source as it is."""
    inner = Path(source) / "KernelBench"
    try:
        is_checkout = any(_LEVEL_FOLDER.fullmatch(below.name) and below.is_dir() for below in inner.iterdir())
    except (OSError, ValueError):  # no such folder, or a name that no folder can have
        return source
    return str(inner) if is_checkout else source


def _usual(tasks: list[SuiteTask], config: SuiteConfig, source: str) -> tuple[list[SuiteTask], list[str]]:
    """The tasks that comparable figures are of, and a line where these are not all."""
    if config.levels or not _is_kernelbench(source):
        return tasks, []
    usual = [t for t in tasks if t.level != _NOT_USUAL]
    others = [t for t in tasks if t.level == _NOT_USUAL]
    if not others or not usual:
        return tasks, []
    # An id or a pattern that fits no usual task asks for the others.
    ids = [i for i in config.ids if not any(_is_named(t, i) for t in usual)]
    names = [n for n in config.names if not any(_fits(t, n) for t in usual)]
    asked = [t for t in others if any(_is_named(t, i) for i in ids) or any(_fits(t, n) for n in names)]
    which = f"KernelBench's level {_NOT_USUAL} ({len(others)} tasks)"
    line = f"{which} is left out, as in its paper: --level {_NOT_USUAL} takes it"
    return [*usual, *asked], [] if config.ids or asked else [line]


def _is_kernelbench(source: str) -> bool:
    """A checkout, its folder of tasks, its file of rows, or the data set of its name."""
    return Path(_tasks_of_checkout(source)).absolute().name.partition(".")[0] == _KERNELBENCH


def _reason(error: UsageError, path: Path) -> str:
    """Without the words that name the file a second time."""
    text = str(error)
    if text.startswith(f"{path} "):  # the sentence's subject
        return f"it {text.removeprefix(f'{path} ')}"
    _, found, rest = text.partition(f"({path}): ")
    return rest if found else text.partition(": ")[2] or text


def _and_left_out(no_tasks: list[str]) -> str:
    if not no_tasks:
        return ""
    more = f"; and {len(no_tasks) - _NAMED} more" if len(no_tasks) > _NAMED else ""
    are = "1 file is no task" if len(no_tasks) == 1 else f"{len(no_tasks)} files are no tasks"
    return f"; {are}: {'; '.join(no_tasks[:_NAMED])}{more}"


def _chosen(tasks: list[SuiteTask], config: SuiteConfig) -> list[SuiteTask]:
    _require_all(config.levels, [t for t in config.levels if any(s.level == t for s in tasks)], "level", tasks)
    _require_all(config.ids, [i for i in config.ids if any(_is_named(s, i) for s in tasks)], "task", tasks)
    chosen = [
        s
        for s in tasks
        if (not config.levels or s.level in config.levels)
        and (not config.ids or any(_is_named(s, wanted) for wanted in config.ids))
        and (not config.names or any(_fits(s, pattern) for pattern in config.names))
    ]
    if not chosen:
        raise UsageError(f"none of the {len(tasks)} tasks of {config.source} is of these levels, ids and names")
    return chosen


def _require_all(wanted: Iterable[str], found: list[str], what: str, tasks: list[SuiteTask]) -> None:
    missing = [w for w in wanted if w not in found]
    if missing:
        there = (s.level if what == "level" else s.task.task_id for s in tasks)
        known = sorted({str(t) for t in there if t is not None}, key=natural)[:_NAMED]
        told = f"it has e.g. {', '.join(known)}" if known else f"its tasks have no {what}"
        raise UsageError(f"the suite has no {what} {', '.join(missing[:_NAMED])}; {told}")


def _last(suite_task: SuiteTask) -> str:
    return re.split(r"[/:]", suite_task.task.task_id)[-1]


def _is_named(suite_task: SuiteTask, wanted: str) -> bool:
    last = _last(suite_task)
    parts = wanted.rpartition("/")
    by_number = parts[2].isdecimal() and last.startswith(f"{parts[2]}_")
    inside = suite_task.task.task_id.removesuffix(last).rstrip("/")
    return wanted in (suite_task.task.task_id, last) or (by_number and parts[0] in ("", inside))


def _fits(suite_task: SuiteTask, pattern: str) -> bool:
    names = (suite_task.task.task_id, _last(suite_task))
    return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for name in names)


def _drawn(tasks: list[SuiteTask], config: SuiteConfig) -> list[SuiteTask]:
    if config.draw is None:
        return tasks
    if config.draw > len(tasks):
        raise UsageError(f"{config.draw} tasks are to be drawn, but only {len(tasks)} of {config.source} are chosen")
    by_lot = sorted(tasks, key=lambda t: content_hash([config.seed, t.task.task_id]))
    return by_lot[: config.draw]
