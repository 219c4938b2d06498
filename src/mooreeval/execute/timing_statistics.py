"""From pairs of blocks to a speed-up and its interval. Pure functions.

The estimator is the median of the ratios of neighbouring blocks: what slows both alike (a clock that moves, a neighbour
on the bus) cancels in a ratio, and an outlier moves a median little. Its interval is the distribution-free one between
two order statistics, 95 % by the binomial distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

CONFIDENCE = 0.95
FEWEST = 6  # with fewer values the extremes cover less than 95 %


@dataclass(frozen=True)
class Estimate:
    """A positive quantity; `low` and `high` are the ends of its interval, 0 and infinity while nothing is known."""

    value: float
    low: float = 0.0
    high: float = math.inf

    @property
    def width(self) -> float:
        """The interval's width as a share of the value."""
        return (self.high - self.low) / self.value


def estimate(values: Sequence[float]) -> Estimate:
    """Median and interval of positive values; ValueError where there are none."""
    ordered = sorted(values)
    n = len(ordered)
    if n < FEWEST:
        return Estimate(median(ordered))
    skip = _skipped(n)
    return Estimate(median(ordered), ordered[skip], ordered[n - 1 - skip])


def _skipped(n: int) -> int:
    """How many values on each side lie outside: the most k with P(Binomial(n, 1/2) <= k) <= (1 - CONFIDENCE) / 2."""
    tail = 1 / 2**n
    k = 0
    while tail + math.comb(n, k + 1) / 2**n <= (1 - CONFIDENCE) / 2:
        k += 1
        tail += math.comb(n, k) / 2**n
    return k
