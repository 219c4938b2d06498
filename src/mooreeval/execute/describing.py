"""Has a task's tensors described by a child of its own, once a task and version. No torch."""

from __future__ import annotations

from pathlib import Path

from mooreeval.cache import FileCache
from mooreeval.errors import TaskError
from mooreeval.execute.asking import how_the_task_ended
from mooreeval.execute.children import ChildEnded
from mooreeval.execute.processes import Processes
from mooreeval.hashing import content_hash
from mooreeval.task import Task
from mooreeval.task_metadata import SCHEMA_VERSION, TaskMetadata, read_metadata

_RECORD = "metadata.json"


def describe_task(
    task: Task, processes: Processes, cache: FileCache, versions: dict[str, str], seconds: float
) -> TaskMetadata:
    """What its tensors look like; known ones are not asked for again.

    Raises TaskError where the task does not run.
    """
    key = content_hash([task.task_hash, versions, SCHEMA_VERSION])

    def write(folder: Path) -> None:
        found = _told(task, processes, seconds)
        (folder / _RECORD).write_text(found.model_dump_json(), encoding="utf-8")

    record = cache.get_or_make(f"metadata-{key[:40]}", write) / _RECORD
    return TaskMetadata.model_validate_json(record.read_text(encoding="utf-8"))


def _told(task: Task, processes: Processes, seconds: float) -> TaskMetadata:
    with processes.spawn("metadata") as child:
        try:
            message = child.ask("describe", {"name": task.task_id, "code": task.code}, {}, seconds)
        except ChildEnded as end:
            raise TaskError(how_the_task_ended(task.task_id, end, seconds, child.log_tail())) from None
    if message.op == "task_error":
        raise TaskError(message.fields["message"])
    return read_metadata(message.fields.get("metadata"), task.task_id)
