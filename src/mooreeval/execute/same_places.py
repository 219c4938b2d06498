"""Every second trial gets its inputs in the tensors of the trial before, with other contents.

A candidate that keeps results by the address of an input, or by the object, gives stale ones then. The other trials
have fresh memory, where an address that was kept is a fault. Imports torch: for children only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from mooreeval.execute.tensors import dtype_of, from_wire
from mooreeval.execute.wire import DeviceTensor

if TYPE_CHECKING:
    from mooreeval.execute.device_memory import Exchange

Place = Callable[[torch.Tensor], torch.Tensor]


class SamePlaces:
    """Remembers where a trial's inputs were placed, for one more trial."""

    def __init__(self) -> None:
        self._earlier: list[tuple[torch.Tensor, int]] = []  # tensors, with the addresses that they were placed at

    def forget(self) -> None:
        """Give back what is kept for one more trial."""
        self._earlier = []

    def placed(self, values: Any, place: Place, exchange: Exchange | None = None) -> Any:
        """Inputs that came as bytes or as handles, on the device; `place` makes a fresh copy of a CPU tensor there.

        `exchange` opens handles.
        """
        spots, self._earlier = self._earlier, []  # what is not taken again is given back before anything is made
        again = bool(spots)
        taken: list[tuple[torch.Tensor, int]] = []

        def convert(tensor: torch.Tensor) -> torch.Tensor:
            spot = spots.pop(0) if spots else None
            if spot and _fits(*spot, tensor.shape, tensor.stride(), tensor.dtype):
                with torch.no_grad():
                    return spot[0].copy_(tensor)
            return keep(place(tensor))

        def opened(data: DeviceTensor) -> torch.Tensor:
            assert exchange is not None
            spot = spots.pop(0) if spots else None
            if spot and _fits(*spot, data.shape, data.stride, dtype_of(data.dtype)):
                return exchange.refill(spot[0], data)
            return keep(exchange.receive(data))

        def keep(made: torch.Tensor) -> torch.Tensor:
            taken.append((made, made.data_ptr()))
            return made

        inputs = from_wire(values, convert, opened if exchange else None)
        self._earlier = [] if again else taken
        return inputs


def _fits(
    earlier: torch.Tensor, address: int, shape: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype
) -> bool:
    """Whether a tensor is still what was placed there, and of this form."""
    alike = earlier.shape == shape and earlier.stride() == stride and earlier.dtype == dtype
    return type(earlier) is torch.Tensor and alike and earlier.data_ptr() == address
