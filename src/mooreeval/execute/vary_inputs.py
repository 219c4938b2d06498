"""Other inputs for a task: other signs and scales, one of them replaced, the last of its slices left out.

What stands for something else than a magnitude is left alone: whole numbers, masks, labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mooreeval.execute.tensors import map_tensors

FEW = 2  # different values that make a mask
SAMPLE = 4096  # elements that are looked at to tell what a tensor stands for
FLOOD = 1e3  # times the size of a tensor's values: nothing that is read stays unseen


def varied(inputs: list[Any], variation: str, seed: int) -> tuple[list[Any], int]:
    """The inputs under a variation of `VARIATIONS` or "plain", and how many tensors it changed."""
    change = VARIATIONS.get(variation)
    if change is None:
        return inputs, 0
    generator = torch.Generator().manual_seed(seed)
    count = 0

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal count
        other = change(tensor, generator) if is_magnitude(tensor) else None
        count += other is not None
        return tensor if other is None else other

    return map_tensors(inputs, changed), count


def is_magnitude(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds real numbers, and not whole ones or a mask."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize == 1 or tensor.numel() < 2:
        return False
    flat = tensor.reshape(-1)
    some = flat[:: max(1, flat.numel() // SAMPLE)].double()
    return bool((some != some.round()).any()) and some.unique().numel() > min(FEW, flat.numel() - 1)


def _other_signs(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Independent signs where all are alike; where they are not there is nothing to gain."""
    if bool((tensor > 0).any()) and bool((tensor < 0).any()):
        return None
    bits = torch.randint(0, 2, tensor.shape, generator=generator, dtype=torch.int8)
    return torch.where(bits.to(tensor.device).bool(), tensor, -tensor)


VARIATIONS: dict[str, Callable[[torch.Tensor, torch.Generator], torch.Tensor | None]] = {
    "signs": _other_signs,
    "tenth": lambda tensor, _generator: tensor * 0.1,
    "tenfold": lambda tensor, _generator: tensor * 10,
}


def perturbed(tensor: torch.Tensor, fresh: torch.Tensor | None, seed: int) -> torch.Tensor | None:
    """Other values for one input: those of another seed, else of its own in another order or with other signs."""
    is_alike = fresh is not None and fresh.shape == tensor.shape and fresh.dtype == tensor.dtype
    if is_alike and not torch.equal(fresh, tensor):
        return fresh
    if tensor.dtype is torch.bool:
        return ~tensor
    if not tensor.numel():
        return None
    if is_magnitude(tensor):
        return -tensor * 1.5
    order = torch.randperm(tensor.numel(), generator=torch.Generator().manual_seed(seed)).to(tensor.device)
    mixed = tensor.reshape(-1)[order].reshape(tensor.shape)
    if torch.equal(mixed, tensor) and tensor.is_floating_point():  # all alike
        return tensor * 2 + 1
    return mixed


def without_last(tensor: torch.Tensor, dim: int) -> torch.Tensor | None:
    """The last slice as if a kernel had not read it: zeros, of other types than floats what the first slice holds."""
    size = tensor.shape[dim]
    if size < 2:
        return None
    made = tensor.clone()
    last = made.narrow(dim, size - 1, 1)
    if tensor.is_floating_point() or tensor.is_complex():
        last.zero_()
    else:
        last.copy_(tensor.narrow(dim, 0, 1))
    return made


def flooded(tensor: torch.Tensor, dim: int, seed: int) -> torch.Tensor | None:
    """The last slice with values that nothing overlooks; of other types than floats those of the first slice."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize == 1:
        return without_last(tensor, dim)
    made = tensor.clone()
    last = made.narrow(dim, tensor.shape[dim] - 1, 1)
    size = float(tensor.double().pow(2).mean().sqrt()) or 1.0
    noise = torch.randn(last.shape, generator=torch.Generator().manual_seed(seed)).to(tensor.device, tensor.dtype)
    last.copy_(noise * FLOOD * size)
    return made
