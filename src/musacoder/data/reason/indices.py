"""Where elements lie: offsets as formulas of the output's indices, in row-major memory without gaps."""

from __future__ import annotations

import math

from mooreeval.task_metadata import contiguous_stride
from musacoder.data.operators.types import Shape


def offset(shape: Shape, of: Shape | None = None) -> str:
    """The offset of the element that goes with [i0, i1, ...] of a tensor of shape `of`; by default the tensor's own.

    A tensor with fewer axes is aligned at the last one, and an axis of size one is the same everywhere (broadcasting).
    """
    of = of or shape
    first = len(of) - len(shape)
    terms = [
        f"i{first + axis} * {step}" if step > 1 else f"i{first + axis}"
        for axis, (size, step) in enumerate(zip(shape, contiguous_stride(shape), strict=True))
        if size > 1
    ]
    return " + ".join(terms) or "0"


def slice_offset(outer: int, length: int, inner: int) -> str:
    """The offset of value j of slice r, of `outer * inner` slices of that length, `inner` elements between values."""
    if inner == 1:
        return f"r * {length} + j"
    if outer == 1:
        return f"j * {inner} + r"
    return f"(r / {inner} * {length} + j) * {inner} + r % {inner}"


def filled(count: int, by: int) -> str:
    """How so many elements fill groups of a size: `300 = 9 * 32 + 12`, or `20, fewer than 32`."""
    if count < by:
        return f"{count}, fewer than {by}"
    rest = count % by
    return f"{count} = {count // by} * {by}" + (f" + {rest}" if rest else "")


def elements(shape: Shape) -> int:
    """How many there are."""
    return math.prod(shape)
