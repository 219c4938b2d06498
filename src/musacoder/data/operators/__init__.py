"""The catalogue of operators that the author writes tasks and kernels of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from musacoder.data.operators.layouts import layouts
from musacoder.data.operators.pointwise import pointwise
from musacoder.data.operators.products import products
from musacoder.data.operators.slices import sliced
from musacoder.data.operators.types import FAMILIES, Gathered, Operand, Operator, Pass, Pointwise, Product, Sliced
from musacoder.data.operators.windows import windows

__all__ = ["CATALOGUE", "FAMILIES", "Gathered", "Operand", "Operator", "Pass", "Pointwise", "Product", "Sliced"]


def _catalogue() -> Mapping[str, Operator]:
    every = [*pointwise(), *sliced(), *windows(), *layouts(), *products()]
    if twice := [key for key, count in Counter(o.key for o in every).items() if count > 1]:
        raise ValueError(f"two operators are called {twice[0]}")
    return MappingProxyType({operator.key: operator for operator in every})


CATALOGUE: Mapping[str, Operator] = _catalogue()
"""Operators by key."""
