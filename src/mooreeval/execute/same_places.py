"""Every second trial gets its inputs in the tensors of the trial before, with other contents.

A candidate that keeps results by the address of an input, or by the object, gives stale ones then. The other trials
have fresh memory, where an address that was kept is a fault. Imports torch: for children only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mooreeval.execute.tensors import from_wire

Place = Callable[[torch.Tensor], torch.Tensor]


class SamePlaces:
    """Remembers where a trial's inputs were placed, for one more trial."""

    def __init__(self) -> None:
        self._earlier: list[tuple[torch.Tensor, int]] = []  # tensors, with the addresses that they were placed at

    def placed(self, values: Any, place: Place) -> Any:
        """Inputs that came as bytes, on the device; `place` makes a fresh copy of a CPU tensor there."""
        spots, self._earlier = self._earlier, []  # what is not taken again is given back before anything is made
        again = bool(spots)
        taken: list[tuple[torch.Tensor, int]] = []

        def convert(tensor: torch.Tensor) -> torch.Tensor:
            spot = spots.pop(0) if spots else None
            if spot and _fits(*spot, tensor):
                with torch.no_grad():
                    return spot[0].copy_(tensor)
            made = place(tensor)
            taken.append((made, made.data_ptr()))
            return made

        inputs = from_wire(values, convert)
        self._earlier = [] if again else taken
        return inputs


def _fits(earlier: torch.Tensor, address: int, tensor: torch.Tensor) -> bool:
    """Whether a tensor is still what was placed there, and of the same form as another one."""
    alike = earlier.shape == tensor.shape and earlier.stride() == tensor.stride() and earlier.dtype == tensor.dtype
    return type(earlier) is torch.Tensor and alike and earlier.data_ptr() == address
