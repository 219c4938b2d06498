"""Weights that begin as ones or zeros, given other values as they are made: a kernel that leaves them out is told.

While `made_otherwise` holds, whatever makes a parameter all ones or all zeros makes it something else, so that what a
constructor derives from its weights is derived from these. The values follow from the seed, the beginning (one or
zero) and the number of elements alone: two models that make the same weights in another order, in another shape or
under other names make the same values. No random numbers of the model's own are drawn for it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mooreeval.execute.tensors import crossing_tensors

MOST_ELEMENTS = (
    1 << 22
)  # of a weight that is varied: fresh memory is often zero, and not worth the time where it is large
Kinds = frozenset[tuple[float, int]]  # of neutral weights: one or zero, and the number of elements

LEAST, MOST = 0.25, 0.5  # how far the values are from where they begin
ILL_CONDITIONED = 0.01  # of the values' size: where float32 is as far from float64, nothing is told


def neutral_names(model: Any) -> list[str]:
    """The parameters that are all ones or all zeros: leaving them out changes nothing."""
    if not isinstance(model, torch.nn.Module):
        return []
    return [name for name, weight in model.named_parameters() if beginning(weight) is not None]


def beginning(weight: Any) -> float | None:
    """One or zero where all elements are that; None of any other tensor."""
    if not isinstance(weight, torch.Tensor) or not weight.is_floating_point() or weight.is_meta:
        return None
    if not 0 < weight.numel() <= MOST_ELEMENTS:
        return None
    flat = weight.detach().reshape(-1)
    first = float(flat[0])
    return first if first in (0.0, 1.0) and bool((flat == first).all()) else None


def other_values(weight: torch.Tensor, begins_as: float, seed: int) -> torch.Tensor:
    """What a weight is given in place of ones or zeros: `LEAST` to `MOST` above or below, of its form and place."""
    count = weight.numel()
    generator = torch.Generator().manual_seed((seed + 2 * count + int(begins_as)) % 2**63)
    distance = LEAST + (MOST - LEAST) * torch.rand(count, generator=generator)
    signs = 2 * torch.randint(0, 2, (count,), generator=generator) - 1
    return (begins_as + signs * distance).reshape(weight.shape).to(weight.device, weight.dtype)


@contextlib.contextmanager
def made_otherwise(seed: int, only: Kinds | None = None) -> Generator[None]:
    """Within, parameters that are made as ones or zeros have `other_values`; `only`: those of these kinds."""
    parameter: Any = torch.nn.Parameter
    kept = parameter.__dict__["__new__"]

    def made(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        with torch.no_grad():
            begins_as = beginning(data)
            if begins_as is not None and _is_one_of(only, begins_as, data):
                data = other_values(data, begins_as, seed)
        return kept.__func__(cls, data, requires_grad)

    parameter.__new__ = staticmethod(made)
    try:
        with _FilledOtherwise(seed, only):
            yield
    finally:
        parameter.__new__ = kept


class _FilledOtherwise(TorchFunctionMode):
    """Filling a parameter with ones or zeros gives it other values, as `torch.nn.init` fills it or any other code."""

    def __init__(self, seed: int, only: Kinds | None) -> None:
        super().__init__()
        self._seed, self._only = seed, only

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        target = args[0] if args else (kwargs or {}).get("tensor")  # by name from `torch.nn.init`
        if isinstance(target, torch.nn.Parameter) and _writes(getattr(func, "__name__", "")):
            vary(target, self._seed, self._only)
        return result


def _writes(name: str) -> bool:
    return name in ("__setitem__", "__set__") or (name.endswith("_") and not name.endswith("__"))


def vary(weight: torch.nn.Parameter, seed: int, only: Kinds | None = None) -> None:
    """Give one parameter its `other_values` in place, if it is neutral."""
    with torch.no_grad():
        begins_as = beginning(weight)
        if begins_as is not None and _is_one_of(only, begins_as, weight):
            weight.copy_(other_values(weight, begins_as, seed))


def kinds_of(model: torch.nn.Module) -> Kinds:
    """The kinds of a model's neutral weights."""
    found = ((beginning(weight), weight.numel()) for weight in model.parameters())
    return frozenset((begins_as, count) for begins_as, count in found if begins_as is not None)


def _is_one_of(only: Kinds | None, begins_as: float, weight: torch.Tensor) -> bool:
    return only is None or (begins_as, weight.numel()) in only


def surplus(model: torch.nn.Module, wanted: dict[str, torch.Tensor]) -> list[str]:
    """Parameters with a varied value of which the candidate has more than the reference, e.g. a mean that is none of
    the reference's weights and begins as zeros too: which of them are to be varied can't be told.
    """
    left = Counter(_key(value) for value in wanted.values())
    found = []
    for name, weight in sorted(model.named_parameters(), key=lambda named: named[0] not in wanted):
        key = _key(weight)
        if key in left:
            left[key] -= 1
            if left[key] < 0:
                found.append(name)
    return found


def _key(weight: torch.Tensor) -> tuple[float, ...]:
    """What tells the values of one kind from those of another."""
    return float(weight.numel()), *weight.detach().reshape(-1)[:4].cpu().double().tolist()


def without_counterpart(model: torch.nn.Module, wanted: dict[str, torch.Tensor]) -> list[str]:
    """Those of the reference's varied weights that a candidate's model has no place for.

    One is a tensor of the same name and shape, which will be given the value; or one that has the value, in whatever
    shape and under whatever name, as it has where the candidate makes the weight by itself.
    """
    own = {name: tensor for name, tensor in model.state_dict().items() if isinstance(tensor, torch.Tensor)}
    return [name for name, value in wanted.items() if not _has_place(own, name, value)]


def _has_place(own: dict[str, torch.Tensor], name: str, value: torch.Tensor) -> bool:
    if name in own and own[name].shape == value.shape:
        return True
    flat = value.detach().cpu().reshape(-1)
    alike = (t for t in own.values() if t.numel() == flat.numel() and t.dtype == flat.dtype)
    return any(torch.equal(tensor.detach().cpu().reshape(-1), flat) for tensor in alike)


def says_nothing(expected32: Any, expected64: Any) -> str:
    """Why a candidate can't be held against a reference's outputs, "" where it can."""
    outputs = [t for t in crossing_tensors(expected32) if t.is_floating_point()]
    if not all(bool(torch.isfinite(t).all()) for t in outputs):
        return "the reference is not finite with them"
    wide = [t for t in crossing_tensors(expected64) if t.is_floating_point()] if expected64 is not None else []
    return "the reference is ill-conditioned with them" if _are_far_apart(outputs, wide) else ""


def _are_far_apart(outputs: Iterable[torch.Tensor], wide: Iterable[torch.Tensor]) -> bool:
    for a, b in zip(outputs, wide, strict=False):
        if a.shape == b.shape and a.numel():
            size = float(b.double().pow(2).mean().sqrt())
            if float((a.double() - b.double()).abs().max()) > ILL_CONDITIONED * size:
                return True
    return False
