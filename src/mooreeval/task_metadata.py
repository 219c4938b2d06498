"""What a task's tensors look like, for prompts and reports: shapes, strides and dtypes, and never a value of an output.

Made by a child (`execute.metadata`), read here as what it is: the word of a process that ran somebody's code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, ValidationError

from mooreeval.errors import TaskError
from mooreeval.verdict import Record

SCHEMA_VERSION = 1  # as that of `execute.metadata`
MAX_DEPTH = 32
_TENSOR = {"shape", "stride", "dtype"}

Size = Annotated[int, Field(ge=0, le=2**63)]
Name = Annotated[str, Field(max_length=64, pattern=r"^\w+$")]


class TensorMetadata(Record):
    """One tensor. `stride` counts elements; None where it has none (a sparse tensor)."""

    shape: tuple[Size, ...]
    stride: tuple[Annotated[int, Field(ge=-(2**63), le=2**63)], ...] | None
    dtype: Name

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie in row-major order without gaps."""
        return self.stride == contiguous_stride(self.shape)


class Leaf(Record):
    """One part of a structure: where it is (`[0]['mask']`), and a tensor, a plain value, or only a value's type."""

    path: str
    tensor: TensorMetadata | None = None
    plain: str | None = None  # of inputs: the value; of outputs: its type


class TaskMetadata(Record):
    """All that a task takes, holds and returns, each structure as its leaves in order."""

    init_inputs: tuple[Leaf, ...]
    inputs: tuple[Leaf, ...]
    parameters: tuple[Leaf, ...]
    buffers: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...] | None  # None where only a run could tell
    elements: Size
    flops: Size
    bytes: Size
    assumptions: tuple[str, ...] = ()


def read_metadata(fields: Any, task_id: str) -> TaskMetadata:
    """What a child told. Raises TaskError where it is not what a child of ours tells."""
    try:
        outputs = fields["outputs"]
        return TaskMetadata(
            init_inputs=tuple(_leaves(fields["init_inputs"])),
            inputs=tuple(_leaves(fields["inputs"])),
            parameters=tuple(_named(fields["parameters"])),
            buffers=tuple(_named(fields["buffers"])),
            outputs=None if outputs is None else tuple(_leaves(outputs, values=False)),
            **{name: fields[name] for name in ("elements", "flops", "bytes")},
            assumptions=tuple(fields["assumptions"]),
        )
    except (ValidationError, KeyError, TypeError, AttributeError, ValueError):
        raise TaskError(f"task {task_id}: its process did not tell what its tensors are") from None


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The stride of a row-major tensor, as PyTorch writes it."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _named(tensors: dict[str, Any]) -> Iterator[Leaf]:
    for name, value in tensors.items():
        yield Leaf(path=str(name), tensor=TensorMetadata.model_validate(value))


def _leaves(value: Any, path: str = "", depth: int = 0, *, values: bool = True) -> Iterator[Leaf]:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict) and set(value) == _TENSOR:
        yield Leaf(path=path, tensor=TensorMetadata.model_validate(value))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}[{key!r}]", depth + 1, values=values)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]", depth + 1, values=values)
    else:
        yield Leaf(path=path, plain=repr(value) if values else type(value).__name__)
