"""A task: one PyTorch reference in the KernelBench format.

The code defines `Model` (a `torch.nn.Module`), `get_inputs()` and, where `Model` takes arguments,
`get_init_inputs()`. This module reads that text and never runs it: the judge's process imports no task. Whether it
works is found out in the reference child (`execute.task_module`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mooreeval.errors import TaskError
from mooreeval.hashing import content_hash
from mooreeval.source_text import MAX_CODE_BYTES, SyntaxProblem, decode, normalise, parse_python, read_regular_file

MODEL_NAME = "Model"
INPUTS_NAME = "get_inputs"
INIT_INPUTS_NAME = "get_init_inputs"

_FORMAT = f"a task defines `class {MODEL_NAME}`, `{INPUTS_NAME}()` and, if need be, `{INIT_INPUTS_NAME}()`"
_LEVEL_FOLDER = re.compile(r"level_?(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Task:
    """A reference to compare with; make one with `make_task`, which checks it."""

    task_id: str
    code: str  # LF line ends
    level: int | None = None  # KernelBench's difficulty, where known
    source: str | None = None  # where it came from: a path, or data set and row
    has_init_inputs: bool = True  # without `get_init_inputs`, Model takes no arguments

    @cached_property
    def task_hash(self) -> str:
        """SHA-256 (hex) over the code: the same code under two names is one task."""
        return content_hash(self.code)


def make_task(task_id: str, code: str, *, level: int | None = None, source: str | None = None) -> Task:
    """A checked task.

    Raises:
        TaskError: the code is not Python or lacks a part of the format; names the task and its source.
    """
    code = normalise(code)
    told = source is None or source.removesuffix(".py").endswith(task_id)  # a path often ends in the id
    where = f"task {task_id}" if told else f"task {task_id} ({source})"
    names = _checked_names(code, where)
    return Task(task_id, code, level=level, source=source, has_init_inputs=INIT_INPUTS_NAME in names)


def load_task(path: str | Path) -> Task:
    """The task in one Python file; `.../level1/19_ReLU.py` is task `level1/19_ReLU` of level 1.

    Raises:
        UsageError: there is no such file.
        TaskError: the file holds no task.
    """
    path = Path(path)
    data = read_regular_file(path, MAX_CODE_BYTES)
    if len(data) > MAX_CODE_BYTES:
        raise TaskError(f"task {path}: the file is larger than {MAX_CODE_BYTES >> 20} MiB; is it a task?")
    text = decode(data)
    if text is None:
        raise TaskError(f"task {path}: the file is not text; {_FORMAT}")
    task_id, level = id_and_level(path.resolve().parts[-2:])
    return make_task(task_id, text, level=level, source=str(path))


def id_and_level(parts: Iterable[str]) -> tuple[str, int | None]:
    """Task id and level from a path's components, beginning at the folder named after a level if there is one."""
    *folders, name = parts
    stem = name.removesuffix(".py")
    for position, folder in enumerate(folders):
        match = _LEVEL_FOLDER.fullmatch(folder)
        if match:
            return "/".join([*folders[position:], stem]), int(match[1])
    return stem, None


def _checked_names(code: str, where: str) -> set[str]:
    if len(code) > MAX_CODE_BYTES:
        raise TaskError(f"{where}: the code is longer than {MAX_CODE_BYTES >> 20} MiB")
    if not code.strip():
        raise TaskError(f"{where}: it is empty; {_FORMAT}")
    tree = parse_python(code)
    if isinstance(tree, SyntaxProblem):
        raise TaskError(f"{where}: not valid Python, {tree}; {_FORMAT}")
    names = set(_names_bound(tree.body))
    missing = [name for name in (MODEL_NAME, INPUTS_NAME) if name not in names]
    if missing:
        hint = " (this looks like a candidate: the task comes first)" if "ModelNew" in names else ""
        raise TaskError(f"{where}: defines no {' and no '.join(missing)}; {_FORMAT}{hint}")
    return names


def _names_bound(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that a module binds at its top level, also inside `if`, `try` and `with`."""
    for statement in statements:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name for alias in aliases)
            case ast.If() | ast.Try() | ast.With():
                for field in ("body", "orelse", "finalbody"):
                    yield from _names_bound(getattr(statement, field, ()))
                for handler in getattr(statement, "handlers", ()):
                    yield from _names_bound(handler.body)
