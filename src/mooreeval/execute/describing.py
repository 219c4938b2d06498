"""Asks a process of the task's own what its tensors look like. No torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mooreeval.cache import FileCache
from mooreeval.config import VerifyConfig
from mooreeval.errors import TaskError
from mooreeval.execute.asking import how_the_task_ended
from mooreeval.execute.children import ChildEnded, Launcher
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.processes import Processes
from mooreeval.hashing import content_hash
from mooreeval.task import Task

MOST_CHARACTERS = 1 << 20  # a task that returns more than that is not described
_VERSION = 1  # of what is kept
_FILE = "metadata.json"


def described(task: Task, config: VerifyConfig, launcher: Launcher, toolchain: Any, torch: str) -> dict[str, Any]:
    """Shapes, strides and dtypes as `metadata.task_metadata` has them, once for a task and version of PyTorch.

    Raises TaskError where the task does not run, or its process ends.
    """
    cache: FileCache = toolchain.cache
    key = f"metadata-{content_hash([_VERSION, torch, task.task_hash])[:40]}"
    if (folder := cache.get(key)) is not None:
        return json.loads((folder / _FILE).read_text(encoding="utf-8"))
    found = _asked(task, Processes(config, launcher, toolchain, Evidence()), config.deadlines.reference_seconds)
    text = json.dumps(found)
    if len(text) > MOST_CHARACTERS:
        raise TaskError(f"task {task.task_id}: its inputs and outputs are too many to describe")
    cache.put(key, lambda folder: _write(folder / _FILE, text))
    return found


def _asked(task: Task, processes: Processes, seconds: float) -> dict[str, Any]:
    with processes.spawn("describe") as child:
        try:
            message = child.ask("describe", {"name": task.task_id, "code": task.code}, {}, seconds)
        except ChildEnded as end:
            raise TaskError(how_the_task_ended(task.task_id, end, seconds, child.log_tail())) from None
    if message.op == "task_error":
        raise TaskError(message.fields["message"])
    return {name: value for name, value in message.fields.items() if name != "values"}


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
