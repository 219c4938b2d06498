"""Modules of folders of Python files as jobs of expansion: each class is read, bundled, tried, written as tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mooreeval.errors import TaskError
from mooreeval.task import make_task
from mooreeval.verdict import Record
from musacoder.data.expand.bundle import Bundle, bundle
from musacoder.data.expand.folder import SourceFolder, read_folder
from musacoder.data.expand.module_task import module_task
from musacoder.data.expand.names import Names
from musacoder.data.expand.records import Dropped, ExpandConfig, ExpandedTask, Explored, Job, Origin, Reason
from musacoder.data.expand.sandboxed import ChildFailed, Sandboxed
from musacoder.evaluate.families import family_of

_SEARCH_SHARE = 0.6  # of a child's time; the rest is for its start and one try that it cannot end by itself
_MOST_TEXT = 400  # of one guessed expression that a child answers


class _Fit(Record):
    """One configuration of a class, as a child tells it."""

    arguments: dict[str, str]
    inputs: tuple[str, ...]
    operators: tuple[str, ...]
    has_neutral_weights: bool


_FITS = TypeAdapter(tuple[_Fit, ...])


def module_jobs(config: ExpandConfig) -> Iterator[Job]:
    """A job for each public module of the folders, and one for each file that cannot be read.

    Raises UsageError where a folder is none, or holds no Python file.
    """
    for name in config.folders:
        folder = read_folder(Path(name))
        for dropped in folder.dropped:
            yield Job(dropped.what, lambda _children, d=dropped: Explored(what=d.what, dropped=d))
        names = Names(folder)
        for module, file in folder.files.items():
            for node in names.modules(file):
                yield Job(f"{module}:{node.name}", partial(_explored, folder, module, node.name, config))


def _explored(folder: SourceFolder, module: str, name: str, config: ExpandConfig, children: Sandboxed) -> Explored:
    what, left_out = f"{module}:{name}", tuple(folder.files[module].effects[:10])
    made = bundle(folder, module, name, most_characters=config.most_characters)
    if isinstance(made, Dropped):
        return Explored(what=what, dropped=made, left_out=left_out)
    fits = _fits(made, what, config, children)
    if isinstance(fits, Dropped):
        return Explored(what=what, dropped=fits, left_out=left_out)
    return Explored(what=what, tasks=tuple(_tasks(made, what, fits, config)), left_out=left_out)


def _fits(made: Bundle, what: str, config: ExpandConfig, children: Sandboxed) -> tuple[_Fit, ...] | Dropped:
    fields = {
        "code": made.code,
        "name": made.name,
        "most": config.configurations,
        "seconds": config.trial_seconds * _SEARCH_SHARE,
    }
    try:
        answer = children.ask("explore", fields, config.trial_seconds)
    except ChildFailed as failed:
        return Dropped(what=what, reason=failed.reason, message=str(failed))
    return _believed(answer, what)


def _believed(answer: dict[str, Any], what: str) -> tuple[_Fit, ...] | Dropped:
    """What a child tells, where it has the form of it: the module has run there, and may have written it itself."""
    try:
        fits = _FITS.validate_python(answer.get("found"))
        if any(len(text) > _MOST_TEXT for fit in fits for text in (*fit.arguments.values(), *fit.inputs)):
            raise ValueError("an expression is too long")
        if fits:
            return fits
        return Dropped(what=what, reason=Reason(answer.get("reason")), message=str(answer.get("message"))[:300])
    except (ValidationError, ValueError):
        return Dropped(what=what, reason=Reason.ENDS_PROCESS, message="it wrote the answer of its own process")


def _tasks(made: Bundle, what: str, fits: tuple[_Fit, ...], config: ExpandConfig) -> Iterator[ExpandedTask]:
    package = what.partition(".")[0].partition(":")[0]
    licence = config.licences.get(package, "unknown")
    base = re.sub(r"\W+", "_", what)
    for number, fit in enumerate(fits[: config.configurations], start=1):
        neutral = fit.has_neutral_weights
        code = module_task(made, what, licence, fit.arguments, fit.inputs, has_neutral_weights=neutral)
        try:
            make_task(base, code)
        except TaskError:  # only where a child told expressions that are none
            continue
        yield ExpandedTask(
            task_id=f"module/{base}_{number}",
            code=code,
            origin=Origin.MODULE,
            made_from=what,
            licence=licence,
            family=family_of(code),
            operators=fit.operators,
        )
