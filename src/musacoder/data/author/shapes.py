"""Sizes of a task's first input: modest, so that a simulator's run costs little, and of all kinds of alignment."""

from __future__ import annotations

import random

from musacoder.data.graph import Parameter
from musacoder.data.operators import Gathered, Operator, Pointwise, Product, Sliced
from musacoder.data.operators.types import Shape

# Smallest and largest size of each axis, by rank; the product stays below.
_BOUNDS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((4000, 60000),),
    2: ((16, 256), (24, 768)),
    3: ((2, 12), (8, 64), (16, 256)),
    4: ((2, 8), (3, 16), (8, 40), (8, 40)),
}
_MOST_ELEMENTS = 100_000
_LEAST_ELEMENTS = 4_000
_MOST_WORK = 1_500_000  # multiplications of a product or a convolution


def draw_shape(rng: random.Random, rank: int, slim: bool = False, divides: int = 1) -> Shape:
    """A shape of this rank; `slim` has short last axes, at which a mean of a row still shows single values."""
    while True:
        shape = [_size(rng, low, high) for low, high in _BOUNDS[rank]]
        if slim and rank < 4:
            shape[-1] = _size(rng, 8, 64)
            shape[0] = shape[0] * 2 if rank == 3 else _size(rng, 100, 1500)
        shape[-1] = max(shape[-1] // divides, 2) * divides
        elements = 1
        for size in shape:
            elements *= size
        if _LEAST_ELEMENTS <= elements <= _MOST_ELEMENTS:
            return tuple(shape)


def _size(rng: random.Random, low: int, high: int) -> int:
    kind = rng.random()
    if kind < 0.45:
        powers = [2**k for k in range(1, 17) if low <= 2**k <= high]
        if powers:
            return rng.choice(powers)
    size = rng.randint(low, high)
    return max(size // 4 * 4, low) if kind < 0.8 and high > 16 else size


def ranks_of(operator: Operator) -> tuple[int, ...]:
    """Ranks of the main tensor that the operator takes; the commoner ones several times."""
    if isinstance(operator, Gathered | Product):
        return operator.rank
    if isinstance(operator, Sliced):
        return {"any": (2, 2, 2, 3, 3, 4), "last": (2, 2, 3), "group": (4,), "plane": (4,)}[operator.slices]
    assert isinstance(operator, Pointwise)
    places = {o.place for o in operator.operands}
    if "channel" in places:
        return (4, 4, 3)
    if places & {"row", "column"}:
        return (2, 2, 3)
    return (1, 2, 2, 3, 4)


def is_affordable(work: int) -> bool:
    """Whether a simulator computes so many multiplications quickly."""
    return work <= _MOST_WORK


def number_text(value: Parameter) -> str:
    """A number as C++ writes it in single precision."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return f"{float(value)}f"
