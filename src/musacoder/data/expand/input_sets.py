"""Unit tests that travel with a task: further sets of inputs, of other shapes, strides, dtypes and with edge values.

    sets = input_sets(task, children)     # in the sandbox: which of them the reference supports
    tasks/ID.inputs.json                  # the record, beside the task

A set describes each tensor that `get_inputs` returns, in the order in which they appear; what is no tensor stays as the
task has it. How one is made from its description is in `inside/support.py`, and is the same for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from mooreeval.errors import TaskError
from mooreeval.task import Task
from mooreeval.verdict import Record
from musacoder.data.expand.sandboxed import ChildFailed, Sandboxed

SCHEMA_VERSION = 1
SUPPORT_SECONDS = 60.0
MOST_TENSORS = 16
MOST_ELEMENTS = 1 << 24  # of one tensor of a set
FLOATING = ("float16", "bfloat16", "float32", "float64")

Layout = Literal["contiguous", "transposed", "strided", "offset", "channels_last"]
Fill = Literal["task", "zeros", "ones", "negative", "large", "tiny", "spike", "special"]
About = Literal["shape", "stride", "dtype", "edge"]


class TensorInput(Record):
    """One tensor. Fill "task" is drawn as the task's own are: normally, or whole numbers up to the task's largest."""

    shape: tuple[int, ...]
    dtype: str
    layout: Layout = "contiguous"
    fill: Fill = "task"


class InputSet(Record):
    """One unit test: inputs, and what the reference made of them."""

    name: str  # "odd_batch", "transposed", "large"
    about: About
    tensors: tuple[TensorInput, ...]
    supported: bool | None = None  # None: it was not tried
    finite: bool | None = None  # whether all of its output is
    outputs: tuple[tuple[int, ...], ...] = ()  # shapes
    why: str = ""  # why it is not supported, in one line


class InputSets(Record):
    """What travels with a task."""

    schema_version: Literal[1] = SCHEMA_VERSION
    task_id: str
    task_hash: str
    sets: tuple[InputSet, ...]


class _Result(Record):
    """What a child says of one set."""

    runs: bool
    finite: bool | None = None
    outputs: tuple[tuple[int, ...], ...] = ()
    why: str = ""


_RESULTS = TypeAdapter(tuple[_Result, ...])


def input_sets(task: Task, children: Sandboxed, seconds: float = SUPPORT_SECONDS) -> InputSets:
    """The sets of a task, tried. Raises TaskError where the task itself does not run or its child lies."""
    fields = {"code": task.code, "name": task.task_id}
    try:
        base = base_inputs(children.ask("describe", fields, seconds).get("inputs"))
        sets = list(derived(base))
        asked = [[tensor.model_dump(mode="json") for tensor in each.tensors] for each in sets]
        results = _RESULTS.validate_python(children.ask("support", {**fields, "sets": asked}, seconds).get("results"))
        if len(results) != len(sets):
            raise ValueError("other sets than were asked for")
    except ChildFailed as failed:
        raise TaskError(f"task {task.task_id}: no sets of inputs: {failed}") from None
    except (ValidationError, ValueError):
        raise TaskError(f"task {task.task_id}: its process did not tell of its inputs") from None
    tried = (_tried(each, result) for each, result in zip(sets, results, strict=True))
    return InputSets(task_id=task.task_id, task_hash=task.task_hash, sets=tuple(tried))


def _tried(each: InputSet, result: _Result) -> InputSet:
    found = {"supported": result.runs, "finite": result.finite, "outputs": result.outputs, "why": result.why[:300]}
    return each.model_copy(update=found)


def base_inputs(described: Any) -> tuple[TensorInput, ...]:
    """The tensors of `get_inputs`, in order, as `mooreeval.execute.metadata.describe` tells them."""
    found = tuple(TensorInput(shape=leaf["shape"], dtype=leaf["dtype"]) for leaf in _leaves(described))
    if not found or len(found) > MOST_TENSORS:
        raise ValueError(f"{len(found)} tensors")
    return found


def _leaves(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and set(value) == {"shape", "stride", "dtype"}:
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)


def derived(base: Sequence[TensorInput]) -> Iterator[InputSet]:
    """All sets that are worth trying for these inputs."""
    yield from _shapes(base)
    yield from _strides(base)
    if any(tensor.dtype in FLOATING for tensor in base):
        for dtype in ("float16", "bfloat16", "float64"):
            yield InputSet(name=dtype, about="dtype", tensors=tuple(_with_dtype(t, dtype) for t in base))
        for fill in ("zeros", "ones", "negative", "large", "tiny", "spike", "special"):
            tensors = tuple(t.model_copy(update={"fill": fill}) if t.dtype in FLOATING else t for t in base)
            yield InputSet(name=fill, about="edge", tensors=tensors)


def _with_dtype(tensor: TensorInput, dtype: str) -> TensorInput:
    return tensor.model_copy(update={"dtype": dtype}) if tensor.dtype in FLOATING else tensor


def _shapes(base: Sequence[TensorInput]) -> Iterator[InputSet]:
    """One dimension changed at a time, in all inputs that have it at the same place with the same size."""
    widest = max((t.shape for t in base), key=len)
    for place, size in enumerate(widest):
        batch = place == 0
        for name, other in (
            ("batch_of_one" if batch else f"dimension_{place}_of_one", 1),
            ("odd_batch" if batch else f"dimension_{place}_plus_one", size + 3 if batch else size + 1),
            (f"dimension_{place}_doubled", 2 * size),
        ):
            tensors = tuple(_resized(t, place, size, other) for t in base)
            if other != size and all(_elements(t) <= MOST_ELEMENTS for t in tensors):
                yield InputSet(name=name, about="shape", tensors=tensors)


def _resized(tensor: TensorInput, place: int, size: int, other: int) -> TensorInput:
    if len(tensor.shape) <= place or tensor.shape[place] != size:
        return tensor
    shape = (*tensor.shape[:place], other, *tensor.shape[place + 1 :])
    return tensor.model_copy(update={"shape": shape})


def _elements(tensor: TensorInput) -> int:
    count = 1
    for size in tensor.shape:
        count *= size
    return count


def _strides(base: Sequence[TensorInput]) -> Iterator[InputSet]:
    """The same shapes with other layouts in memory, where a tensor can have one."""
    needs = {"transposed": 2, "strided": 1, "offset": 1, "channels_last": 4}
    for layout, dimensions in needs.items():
        tensors = tuple(
            t.model_copy(update={"layout": layout})
            if len(t.shape) >= dimensions and (layout != "channels_last" or len(t.shape) == 4)
            else t
            for t in base
        )
        if tensors != tuple(base):
            yield InputSet(name=layout, about="stride", tensors=tensors)
