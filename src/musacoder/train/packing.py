"""Which rows share a sequence of a fixed length. No torch.

A run's plan is made at once, for all epochs, from lengths and weights alone: so the number of steps is known before
the first one, and a run that goes on finds its place by counting.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from musacoder.train.mixture import draws

_OPEN = 64  # sequences that are filled at the same time: more waste less and mix rows of a longer stretch


@dataclass(frozen=True)
class Plan:
    """Sequences in the order of training: sequence i holds `rows[starts[i] : starts[i + 1]]`."""

    rows: np.ndarray  # (draws,) int64
    starts: np.ndarray  # (sequences + 1,) int64
    tokens: int  # in all, padding not counted
    epochs: int  # begun

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.rows[self.starts[index] : self.starts[index + 1]]

    def first(self, count: int, lengths: np.ndarray) -> Plan:
        """The first sequences of it."""
        starts = self.starts[: count + 1]
        rows = self.rows[: starts[-1]]
        return Plan(rows, starts, int(lengths[rows].sum()), self.epochs)


def plan_of(
    lengths: np.ndarray, weights: np.ndarray, epochs: float, seed: int, sequence_tokens: int, *, packing: bool = True
) -> Plan:
    """The plan for so many epochs, the last perhaps a part of one. `lengths` (rows,) in tokens, none over the bound."""
    packed: list[list[int]] = []
    whole = int(np.ceil(epochs))
    for epoch in range(whole):
        order = draws(weights, epoch, seed)
        share = min(1.0, epochs - epoch)
        packed += _packed(order[: int(np.ceil(share * len(order)))], lengths, sequence_tokens, _OPEN if packing else 0)
    starts = np.cumsum([0, *(len(rows) for rows in packed)])
    rows = np.array([row for sequence in packed for row in sequence], dtype=np.int64)
    return Plan(rows, starts, int(lengths[rows].sum()), whole)


def _packed(order: np.ndarray, lengths: np.ndarray, most: int, open_at_once: int) -> Iterator[list[int]]:
    """Each row goes to the open sequence that it fills best; the fullest is closed where too many are open."""
    room: list[tuple[int, int]] = []  # tokens left and number of each open sequence, sorted
    held: dict[int, list[int]] = {}
    for number, row in enumerate(order.tolist()):
        length = int(lengths[row])
        at = bisect.bisect_left(room, (length, -1))
        if at < len(room):
            left, sequence = room.pop(at)
        else:
            left, sequence = most, number
            held[sequence] = []
        held[sequence].append(row)
        bisect.insort(room, (left - length, sequence))
        if len(room) > open_at_once:
            yield held.pop(room.pop(0)[1])
    yield from (held[sequence] for sequence in sorted(held))
