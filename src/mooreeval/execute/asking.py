"""Questions to children, and what their answers hold: bounded and checked before it is used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from mooreeval.errors import WireError
from mooreeval.execute.answers import Malformed, Report, read_answer, read_report
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.wire import AnyTensor, Message, read_values


def ask(
    child: Child, op: str, model: Any, fields: dict[str, Any], values: dict[str, Any], seconds: float
) -> tuple[Any, Message]:
    """A candidate's child's answer, with its control part checked."""
    message = child.ask(op, fields, values, seconds)
    return or_end(child, lambda: read_answer(message, model, op)), message


def or_end(child: Child, read: Callable[[], Any]) -> Any:
    """What `read` makes of an answer; a malformed one ends the child that gave it."""
    try:
        return read()
    except Malformed:
        child.end()
        raise ChildEnded(None, broke_protocol=True) from None


def outputs_of(message: Message) -> dict[str, Any]:
    """The values of a trial as they came: `outputs` and `inputs_after`."""
    try:
        values = read_values(message)
    except WireError as error:
        raise Malformed("its tensors can't be read") from error
    if set(values) != {"outputs", "inputs_after"}:
        raise Malformed("it sent other values than asked for")
    return values


def shapes_of(name: str, value: Any) -> list[dict[str, Any]]:
    """Name, shape and dtype of every tensor in a value."""
    if isinstance(value, AnyTensor):
        return [{"name": name, "shape": list(value.shape), "dtype": value.dtype}]
    if isinstance(value, dict):
        return [s for k, v in value.items() for s in shapes_of(f"{name}[{k!r}]", v)]
    if isinstance(value, list | tuple):
        return [s for i, v in enumerate(value) for s in shapes_of(f"{name}[{i}]", v)]
    return []


def has_elements(value: Any) -> bool:
    """Whether there is anything for a kernel to compute: an empty output needs no launch."""
    return any(math.prod(shape["shape"]) for shape in shapes_of("output", value))


def bytes_of(value: Any) -> int:
    """Bytes of all tensors in a value."""
    if isinstance(value, AnyTensor):
        return value.nbytes()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return sum(map(bytes_of, inner))


def last_line(log: str) -> str:
    """The last thing that a process printed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"


def report_left_behind(child: Child) -> Report | None:
    """The report that the run time wrote when it had to leave the process."""
    try:
        return read_report(json.loads(child.last_report()))
    except (ValueError, RecursionError, Malformed):
        return None


def how_the_task_ended(task_id: str, end: ChildEnded, seconds: float, log: str) -> str:
    """Why a task's process is gone, in one line."""
    if end.timed_out:
        return (
            f"task {task_id}: it did not finish within {seconds:g} s; "
            "make it smaller or raise deadlines.reference_seconds"
        )
    code = end.exit_code
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with code {code}"
    return f"task {task_id}: its process {how}: {last_line(log)}"
