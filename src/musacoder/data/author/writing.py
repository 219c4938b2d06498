"""What every operator that decides a kernel's form is written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from musacoder.data.author import chain
from musacoder.data.author.source import Source
from musacoder.data.graph import Node, TensorSpec


@dataclass
class Writing:
    """An operator that is being written, with the point-wise ones before and after it."""

    source: Source
    before: Sequence[Node]
    node: Node
    after: Sequence[Node]
    tensors: chain.Tensors
    x: TensorSpec
    out: str
    pre: chain.Function | None = None
