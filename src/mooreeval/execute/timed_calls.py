"""Queued calls under the judge's clock: what the reference child and the run child do alike while they are timed.

The inputs of a block are `count` sets, each of new content, laid out one after the other in one arena for each tensor.
Sets begin at multiples of 512 bytes, as PyTorch's own allocations do. A block runs `calls` calls that cycle through the
sets, waits for the device, and keeps its last outputs until the judge has said which one it wants to see.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Generator
from typing import Any

import torch

from mooreeval.execute.device import Device
from mooreeval.execute.tensors import crossing_tensors, dtype_name, dtype_of, is_dense, map_tensors
from mooreeval.execute.timed_sets import set_of_call

ALIGNMENT = 512
_ALL_CORES: set[int] = set()  # of this process before it stayed on one


def stay_on(core: int | None) -> None:
    """Launch from this core of the host from now on, or again from any, where the system lets us."""
    if not hasattr(os, "sched_setaffinity"):
        return
    _ALL_CORES.update(os.sched_getaffinity(0) if not _ALL_CORES else ())
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, _ALL_CORES if core is None else {core})


@contextlib.contextmanager
def _no_garbage_collection() -> Generator[None]:
    """Python's own pauses are neither side's."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class NotAlike(Exception):
    """A task whose inputs have another form under another seed."""


class TimedCalls:
    """Sets of inputs on this device, and the outputs of the last block."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.sets: list[list[Any]] = []
        self._kept: list[Any] = []
        self._last = (0, 0)
        self._cycle = 1

    def use(self, arenas: list[Any], leaves: list[dict[str, Any]], count: int, cycle: int = 1) -> None:
        """Take the sets in `arenas`: the structure of the inputs with a byte arena in each tensor's place.

        Blocks that begin in the first `cycle` sets stay there; others go on through the rest.
        """
        self._kept, self._cycle = [], cycle
        self.sets = [_set_of(arenas, leaves, index) for index in range(count)]

    def block(self, call: Callable[..., Any], calls: int, first: int, keep: int, held: float = 0.0) -> None:
        """`calls` calls that begin at set `first`, then a wait for the device; the last `keep` outputs stay.

        `held`: seconds that the device is kept busy with nothing first, so that the calls queue up behind.
        """
        sets, cycle = self.sets, self._cycle
        kept: list[Any] = [None] * keep
        self._kept = []
        self._last = first, first + calls
        if held:
            self._device.keep_busy(held)
        with torch.no_grad(), _no_garbage_collection():
            for k in range(first, first + calls):
                kept[k % keep] = call(*sets[set_of_call(first, k, cycle)])
        self._device.synchronize()
        self._kept = kept

    def output(self, back: int) -> tuple[int, Any]:
        """The set and the output of the call `back` calls before the last one."""
        first, end = self._last
        k = end - 1 - back
        return set_of_call(first, k, self._cycle), self._kept[k % len(self._kept)]


def make_arenas(
    make_inputs: Callable[[int], list[Any]], seeds: list[int], place: Callable[[int], torch.Tensor]
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Arenas with one set for each seed, and the form of each tensor in them.

    `place` makes an arena of so many bytes. Raises NotAlike where the seeds give tensors of different forms.
    """
    arenas: list[torch.Tensor] = []
    leaves: list[dict[str, Any]] = []
    structure: list[Any] = []
    for index, seed in enumerate(seeds):
        structure = make_inputs(seed)
        tensors = list(crossing_tensors(structure))
        if not arenas:
            leaves = [_form(t) for t in tensors]
            arenas = [place(len(seeds) * leaf["bytes"]).view(len(seeds), leaf["bytes"]) for leaf in leaves]
        elif [_form(t) for t in tensors] != leaves:
            raise NotAlike
        for tensor, arena, leaf in zip(tensors, arenas, leaves, strict=True):
            _view(arena[index], leaf).copy_(tensor)
    following = iter(arenas)
    return map_tensors(structure, lambda _: next(following)), leaves


def _form(tensor: torch.Tensor) -> dict[str, Any]:
    nbytes = -(-max(tensor.nbytes, 1) // ALIGNMENT) * ALIGNMENT
    dense = is_dense(tuple(tensor.shape), tuple(tensor.stride()))
    stride = list(tensor.stride()) if dense else list(torch.empty(tensor.shape, device="meta").stride())
    return {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "stride": stride, "bytes": nbytes}


def _set_of(arenas: list[Any], leaves: list[dict[str, Any]], index: int) -> list[Any]:
    following = iter(leaves)
    return map_tensors(arenas, lambda arena: _view(arena[index], next(following)))


def _view(row: torch.Tensor, leaf: dict[str, Any]) -> torch.Tensor:
    """The tensor whose bytes begin a row of an arena."""
    dtype, shape = dtype_of(leaf["dtype"]), leaf["shape"]
    flat = row[: torch.Size(shape).numel() * dtype.itemsize].view(dtype)
    return flat.as_strided(shape, leaf["stride"])
