"""A task with one of its limits left out: what a kernel computes that forgets one end of a clamp.

A limit that the inputs hardly reach is missed by nobody, until inputs of another scale reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mooreeval.execute.fake_run import compiler_left_out

ENDS = ("lower", "upper")
_LIMITING = {"clamp": (1, 2), "clamp_min": (1, None), "clamp_max": (None, 1), "hardtanh": (1, 2)}  # places of the ends
_DEFAULTS = {"clamp": (None, None), "hardtanh": (-1.0, 1.0)}


def without_limit(model: Any, inputs: list[Any], forward: Callable[..., Any], number: int, end: str) -> Any:
    """The outputs without one end of the `number`th limit of a forward pass; None where it has no such end."""
    mode = _LimitLeftOut(number, end)

    def run(*arguments: Any) -> Any:
        with compiler_left_out(), mode:
            return model(*arguments)

    outputs = forward(run, inputs)
    return outputs if mode.has_left_out else None


class _LimitLeftOut(TorchDispatchMode):
    def __init__(self, number: int, end: str) -> None:
        super().__init__()
        self._left, self._end = number, ENDS.index(end)
        self.has_left_out = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func._overloadpacket.__name__.rstrip("_")
        if name not in _LIMITING:
            return func(*args, **kwargs)
        self._left -= 1
        ends = _ends(name, args, kwargs)
        if self._left != -1 or ends[self._end] is None:
            return func(*args, **kwargs)
        self.has_left_out = True
        kept = ends[1 - self._end]
        limited = args[0] if kept is None else _limited(args[0], kept, upper=self._end == 0)
        return _as_called(func, args[0], limited)


def _ends(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The lower and the upper limit of a call, None where it has none."""
    found = []
    for place, keywords, default in zip(
        _LIMITING[name], (("min", "min_val"), ("max", "max_val")), _DEFAULTS.get(name, (None, None)), strict=True
    ):
        given = [kwargs[word] for word in keywords if word in kwargs]
        if given:
            found.append(given[0])
        else:
            found.append(args[place] if place is not None and len(args) > place else default)
    return found[0], found[1]


def _limited(tensor: torch.Tensor, limit: Any, *, upper: bool) -> torch.Tensor:
    return torch.clamp(tensor, max=limit) if upper else torch.clamp(tensor, min=limit)


def _as_called(func: Any, tensor: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """In place where the call was in place, else a tensor of its own."""
    if func._schema.is_mutable:
        return tensor.copy_(result)
    return result.clone() if result is tensor else result
