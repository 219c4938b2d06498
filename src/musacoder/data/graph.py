"""A graph of operators: what a generated task computes, without a spelling in PyTorch or CUDA. No torch.

The author of programs writes both spellings from it; reasoning and metadata are derived from it exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mooreeval.hashing import content_hash
from mooreeval.verdict import Record

Parameter = bool | int | float | str | tuple[int, ...]
Size = Annotated[int, Field(ge=1)]


class TensorSpec(Record):
    """A tensor that a graph reads or makes: its name is a Python and C++ identifier, its layout contiguous."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    shape: tuple[Size, ...]  # (): a single number
    dtype: Literal["float32", "float16", "bfloat16", "int64", "int32", "bool"] = "float32"


class Node(Record):
    """One operator applied once. `operator` is a key of the author's catalogue, such as `relu` or `row_softmax`."""

    operator: str
    inputs: tuple[str, ...]  # names of tensors, in the operator's own order
    output: TensorSpec
    parameters: Mapping[str, Parameter] = {}


class Graph(Record):
    """Inputs that `forward` takes, weights that the module holds, and nodes in the order in which they are computed."""

    inputs: tuple[TensorSpec, ...]
    weights: tuple[TensorSpec, ...] = ()
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """Keys of the operators, in the order in which they are computed."""
        return tuple(node.operator for node in self.nodes)

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Adjacent operators: (producer, consumer) wherever one reads what another made."""
        made_by = {node.output.name: node.operator for node in self.nodes}
        return frozenset((made_by[name], n.operator) for n in self.nodes for name in n.inputs if name in made_by)

    @property
    def signature(self) -> str:
        """SHA-256 (hex) of operators and how they are wired, whatever shapes, constants and names are."""
        place = {t.name: i for i, t in enumerate((*self.inputs, *self.weights, *(n.output for n in self.nodes)))}
        wiring = [[n.operator, [place[name] for name in n.inputs]] for n in self.nodes]
        return content_hash([wiring, [place[name] for name in self.outputs]])

    @model_validator(mode="after")
    def _is_wired(self) -> Self:
        """Each tensor is made once and before it is read."""
        known: set[str] = set()
        for spec in (*self.inputs, *self.weights):
            _add(known, spec.name)
        for node in self.nodes:
            _require(known, node.inputs, f"operator {node.operator}")
            _add(known, node.output.name)
        _require(known, self.outputs, "the graph's output")
        return self


def _add(known: set[str], name: str) -> None:
    if name in known:
        raise ValueError(f"two tensors are named {name}")
    known.add(name)


def _require(known: set[str], names: tuple[str, ...], who: str) -> None:
    if missing := [name for name in names if name not in known]:
        raise ValueError(f"{who} reads {missing[0]}, which nothing made before")
