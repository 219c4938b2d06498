"""What a smaller size should have in common with the original, given the integers of a candidate.

    4096, integers 8, 16, 128 (a tile), 1024:   multiple of 1024 and > 1024, ..., multiple of 128 and > 128, of 128

A kernel without guards needs a multiple of its tile where the original is one. A kernel that forgets what lies beyond
its first tile, or beyond any other number, is found only where something lies there. Both cost: wishes are dropped, the
largest number first, until the rest can be paid for. The last one, the residue modulo the tiles, is no mere wish.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mooreeval.execute.reduce_literals import Literals

_LARGEST_MODULUS = 1 << 13
_LARGEST_BLOCK = 1024


@dataclass(frozen=True)
class Wish:
    """The size keeps its residue modulo `modulus` and stays above `above`."""

    modulus: int = 1
    above: int = 0

    def grants(self, original: int, value: int) -> bool:
        """Whether the value is as wished."""
        return value > self.above and (original - value) % self.modulus == 0

    def least(self, original: int) -> int:
        """The smallest value that is as wished, and no dimension of 1."""
        above = max(self.above, 1)
        return above + 1 + (original - above - 1) % self.modulus


def wishes(original: int, literals: Literals, others: frozenset[int], *, careful: bool = False) -> list[Wish]:
    """From all that may be wished down to what an honest kernel may rest on.

    Args:
        original: the size.
        literals: the candidate's integers.
        others: dimensions of the task; an integer equal to another one says nothing of this size.
        careful: products of any two integers may be tiles, too.
    """
    numbers = {n for n in literals.all if 2 <= n < original and (n not in others or _could_be_a_block(n))}
    needed = tile(original, literals, others)
    moduli = [needed]
    more = {n for n in literals.products if n <= original // 2} if careful else set()
    for number in _divisors(original, numbers | more):
        if (joined := math.lcm(moduli[-1], number)) <= _limit(original) and joined != moduli[-1]:
            moduli.append(joined)
    twice = {2 * n for n in literals.tiles & numbers if n <= _LARGEST_BLOCK and original % n == 0}
    bounds = [0, *sorted(n for n in numbers | twice if n < original)]
    return _descending(moduli, bounds)


def _descending(moduli: list[int], bounds: list[int]) -> list[Wish]:
    """The larger of both numbers is dropped first; bounds close to each other go together."""
    found = []
    while True:
        found.append(Wish(moduli[-1], bounds[-1]))
        if len(moduli) > 1 and moduli[-1] >= bounds[-1]:
            moduli.pop()
        elif len(bounds) > 1:
            dropped = bounds.pop()
            while len(bounds) > 1 and 4 * bounds[-1] > 3 * dropped:
                bounds.pop()
        else:
            return found


def tile(original: int, literals: Literals, others: frozenset[int]) -> int:
    """The modulus that an honest kernel may rest on: of all tiles that divide the size, and of the largest power.

    A kernel for whole tiles is honest where the task's size is a multiple of the tile; so is one that knows how many
    elements remain.
    """
    modulus = 1
    for number in _own_tiles(original, literals, others):
        modulus = joined if (joined := math.lcm(modulus, number)) <= _limit(original) else modulus
    power = max((n for n in literals.tiles if n <= min(original, _LARGEST_BLOCK) and n & (n - 1) == 0), default=1)
    return joined if (joined := math.lcm(modulus, power)) <= _limit(original) else modulus


def rests_on_all(original: int, literals: Literals, others: frozenset[int]) -> bool:
    """Whether there are more tiles than any smaller size can be a multiple of."""
    needed = tile(original, literals, others)
    return any(needed % n for n in _own_tiles(original, literals, others))


def _own_tiles(original: int, literals: Literals, others: frozenset[int]) -> list[int]:
    """Tiles of this size, and of products that it is a factor of: of all elements, say."""
    spans = {original, *(other for other in others if other % original == 0)}
    tiles = (n for n in literals.tiles if 2 <= n < original and (n not in others or _could_be_a_block(n)))
    return sorted(n for n in tiles if any(span % n == 0 for span in spans))


def _divisors(original: int, numbers: Iterable[int]) -> list[int]:
    return sorted(n for n in numbers if 2 <= n < original and original % n == 0)


def _limit(original: int) -> int:
    return min(original // 2, _LARGEST_MODULUS)


def _could_be_a_block(value: int) -> bool:
    return value <= _LARGEST_BLOCK and value & (value - 1) == 0
