"""All of expansion: `expand_tasks(config, folder, progress) -> ExpansionSummary`, resumable.

    folder/config.json        what it was begun with; going on with another configuration is refused
    folder/explored.jsonl     one line a class, graph or table row: its tasks, or why it has none
    folder/proved.jsonl       one line a task: what admission said of it
    folder/tasks/ID.py        admitted tasks, in the KernelBench format
    folder/tasks/ID.inputs.json   the sets of inputs that travel with a task

Whatever ends it, the same call goes on: what has a line is not done again.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooreeval.config import VerifyConfig
from mooreeval.errors import TaskError, UsageError
from mooreeval.hashing import content_hash
from mooreeval.locks import lock_if_free, unlock
from mooreeval.task import make_task
from mooreeval.verdict import Record
from musacoder.data.expand.graphs import Drawer, graph_jobs
from musacoder.data.expand.input_sets import input_sets
from musacoder.data.expand.modules import module_jobs
from musacoder.data.expand.records import MEANINGS, Dropped, ExpandConfig, ExpandedTask, Explored, Job, Proved, Reason
from musacoder.data.expand.sandboxed import Sandboxed
from musacoder.data.expand.variant_tables import TABLES
from musacoder.data.expand.variants import variant_jobs
from musacoder.runlog.drift import changed_keys, shortened
from musacoder.runlog.lines import Lines, read_lines

if TYPE_CHECKING:
    from mooreeval.admit import Admitted, Admitter

CONFIG, EXPLORED, PROVED, TASKS, LOCK = "config.json", "explored.jsonl", "proved.jsonl", "tasks", ".lock"
_FREE = ("workers", "trial_seconds")  # change how long it takes
Progress = Callable[[str], Any]


class ReasonCount(Record):
    """How often something was dropped for one reason, with the first example."""

    reason: Reason
    count: int
    example: str


class ExpansionSummary(Record):
    """What a folder of expansion holds."""

    jobs: int  # classes, graphs and rows of tables that were looked at
    tasks: int  # written
    admitted: int
    weak: int
    refused: int
    not_judged: int
    by_origin: dict[str, int]  # admitted tasks
    classes: int  # of which at least one task is admitted
    dropped: tuple[ReasonCount, ...]  # jobs without a task, then tasks that admission does not let through


def expand_tasks(
    config: ExpandConfig, folder: Path, progress: Progress | None = None, verify: VerifyConfig | None = None
) -> ExpansionSummary:
    """Explores whatever the configuration names, has each task admitted, and keeps what is.

    Args:
        folder: where everything is written; an interrupted expansion there is gone on with.
        progress: told a line for each job.

    Raises UsageError: a folder of modules is none; `folder` was begun with another configuration, or is damaged.
    """
    _begin(config, folder)
    done = {explored.what for explored in read_explored(folder)}
    drawer = Drawer()
    jobs = sorted(_jobs(config, drawer), key=lambda job: content_hash([config.seed, job.what]))
    _require_distinct(jobs)
    with closing(drawer), _Work(config, folder, verify) as work:
        work.admit_what_waits()
        for job in jobs:
            if job.what not in done:
                (progress or (lambda _line: None))(work.do(job))
    return summary(folder)


def admitted_tasks(folder: Path) -> Iterator[ExpandedTask]:
    """The tasks that may be trained on."""
    admitted = {proved.task_id for proved in read_proved(folder) if proved.outcome == "admitted"}
    for explored in read_explored(folder):
        yield from (task for task in explored.tasks if task.task_id in admitted)


def read_explored(folder: Path) -> Iterator[Explored]:
    """Every job that was done. Raises UsageError where a line is damaged."""
    yield from _records(folder / EXPLORED, Explored)


def read_proved(folder: Path) -> Iterator[Proved]:
    """What admission said of each task, last. Raises UsageError where a line is damaged."""
    yield from {proved.task_id: proved for proved in _records(folder / PROVED, Proved)}.values()


def summary(folder: Path) -> ExpansionSummary:
    """Counts of what is in the folder, and why the rest is not."""
    explored, proved = list(read_explored(folder)), list(read_proved(folder))
    outcomes = Counter(p.outcome for p in proved)
    admitted = {p.task_id for p in proved if p.outcome == "admitted"}
    kept = [task for e in explored for task in e.tasks if task.task_id in admitted]
    return ExpansionSummary(
        jobs=len(explored),
        tasks=sum(len(e.tasks) for e in explored),
        **{name: outcomes[name] for name in ("admitted", "weak", "refused", "not_judged")},
        by_origin=dict(Counter(task.origin.value for task in kept)),
        classes=len({task.made_from for task in kept}),
        dropped=tuple(_reason_counts(explored, proved)),
    )


def _reason_counts(explored: Iterable[Explored], proved: Iterable[Proved]) -> Iterator[ReasonCount]:
    told = [(e.dropped.reason, f"{e.what}: {e.dropped.message}") for e in explored if e.dropped]
    told += [(Reason(p.outcome), f"{p.task_id}: {p.message}") for p in proved if p.outcome in ("weak", "refused")]
    counts = Counter(reason for reason, _ in told)
    for reason in MEANINGS:
        if counts[reason]:
            example = next(words for found, words in told if found is reason)
            yield ReasonCount(reason=reason, count=counts[reason], example=example[:200])


class _Work:
    """The open files and processes of one call."""

    def __init__(self, config: ExpandConfig, folder: Path, verify: VerifyConfig | None) -> None:
        self._config, self._folder, self._verify = config, folder, verify or VerifyConfig(backend="simulator")
        self._lock = _locked(folder)
        self._explored, self._proved = Lines(folder / EXPLORED), Lines(folder / PROVED)
        self._children = Sandboxed(self._verify)
        self._admitter: Admitter | None = None
        self._prints = {fingerprint(task.code) for e in read_explored(folder) for task in e.tasks}

    def __enter__(self) -> _Work:
        return self

    def __exit__(self, *_error: object) -> None:
        for opened in (self._explored, self._proved, self._admitter):
            if opened is not None:
                opened.close()
        self._children.close()
        unlock(self._lock)

    def do(self, job: Job) -> str:
        """One job with the admission of its tasks; a line for people."""
        explored = self._without_duplicates(job.explore(self._children))
        self._explored.append(explored.model_dump_json())
        if explored.dropped:
            return f"{job.what}: {explored.dropped.reason.value} ({explored.dropped.message})"
        return f"{job.what}: {self._admit(explored.tasks)}"

    def admit_what_waits(self) -> None:
        """Tasks that were written and not admitted when an earlier call ended."""
        known = {proved.task_id for proved in read_proved(self._folder) if proved.outcome != "not_judged"}
        waiting = [t for e in read_explored(self._folder) for t in e.tasks if t.task_id not in known]
        if waiting:
            self._admit(waiting)

    def _without_duplicates(self, explored: Explored) -> Explored:
        kept = []
        for task in explored.tasks:
            print_ = fingerprint(task.code)
            if print_ not in self._prints:
                kept.append(task)
            self._prints.add(print_)
        if explored.tasks and not kept:
            message = "an earlier task has the same code but for names of files and words"
            return explored.model_copy(
                update={
                    "tasks": (),
                    "dropped": Dropped(what=explored.what, reason=Reason.DUPLICATE, message=message),
                }
            )
        return explored.model_copy(update={"tasks": tuple(kept)})

    def _admit(self, tasks: Iterable[ExpandedTask]) -> str:
        """How many of them were admitted, in words."""
        written = list(tasks)
        outcomes: Counter[str] = Counter()

        def note(found: Admitted) -> None:
            proved = _proved(written[found.index], found)
            if proved.outcome == "admitted":
                proved = self._written(written[found.index], proved)
            self._proved.append(proved.model_dump_json())
            outcomes[proved.outcome] += 1

        made = [make_task(task.task_id, task.code) for task in written]
        self._admits().admit_many(made, self._config.workers, note)
        return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "no task"

    def _written(self, task: ExpandedTask, proved: Proved) -> Proved:
        """The task's file and the unit tests that travel with it; `details` say how many its reference supports."""
        path = self._folder / TASKS / f"{task.task_id}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(task.code, encoding="utf-8")
        if not self._config.unit_tests:
            return proved
        try:
            sets = input_sets(make_task(task.task_id, task.code), self._children)
        except TaskError as error:
            return proved.model_copy(update={"details": {**proved.details, "unit_tests": str(error)}})
        path.with_suffix(".inputs.json").write_text(sets.model_dump_json(indent=1), encoding="utf-8")
        supported = sum(bool(each.supported) for each in sets.sets)
        return proved.model_copy(update={"details": {**proved.details, "unit_tests": supported}})

    def _admits(self) -> Admitter:
        if self._admitter is None:
            from mooreeval.admit import Admitter

            self._admitter = Admitter(self._verify)
        return self._admitter


def _proved(task: ExpandedTask, found: Admitted) -> Proved:
    task_hash = content_hash(task.code)
    if found.admission is None:
        return Proved(task_id=task.task_id, task_hash=task_hash, outcome="not_judged", message=str(found.error)[:500])
    admission = found.admission
    details = {
        "kinds": [reason.kind for reason in admission.reasons],
        "needs": list(admission.needs),
        "forward_seconds": admission.forward_seconds,
    }
    return Proved(
        task_id=task.task_id,
        task_hash=task_hash,
        outcome=admission.outcome.value,
        message=admission.in_words()[:500],
        details=details,
    )


def fingerprint(code: str) -> str:
    """SHA-256 (hex) of a task's code without its docstrings: two that differ in words alone are one."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[:1] = []
    return content_hash(ast.dump(tree))


def _jobs(config: ExpandConfig, drawer: Drawer) -> Iterator[Job]:
    yield from module_jobs(config)
    yield from variant_jobs(TABLES if config.variants else ())
    yield from graph_jobs(config, drawer)


def _require_distinct(jobs: Iterable[Job]) -> None:
    """What is called alike would be one job: two folders can hold modules of one name."""
    for what, count in Counter(job.what for job in jobs).items():
        if count > 1:
            raise UsageError(f"{what} is there {count} times: two of the folders hold it, or one is named twice")


def _begin(config: ExpandConfig, folder: Path) -> None:
    """Makes the folder, or holds the configuration against that of an earlier call."""
    path = folder / CONFIG
    now = config.model_dump(mode="json")
    try:
        (folder / TASKS).mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(json.dumps(now, indent=2), encoding="utf-8")
        before = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} is damaged: it cannot be read") from None
    if changes := changed_keys(before, now, _FREE):
        raise UsageError(f"{folder} was begun with another configuration: {shortened(changes)}")


def _locked(folder: Path) -> int:
    if (lock := lock_if_free(folder / LOCK)) is None:
        raise UsageError(f"another process is writing to {folder}")
    return lock


def _records(path: Path, kind: type[Any]) -> Iterator[Any]:
    for _offset, place, data in read_lines(path):
        try:
            yield kind.model_validate(data)
        except ValueError as error:
            raise UsageError(f"{place} is damaged: {str(error).splitlines()[0]}") from None
