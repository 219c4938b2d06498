"""What one forward pass does: its operators, whether values decide over it, whether its outputs can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mooreeval.execute.fake_run import tensors_in
from musacoder.data.expand.records import Reason

_READS_VALUES = ("_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "unique", "_unique2", "equal")
_INPUT_SCALE = 0.75  # other inputs are the same ones scaled and shifted, which leaves whole numbers alone


@dataclass
class Watch(TorchDispatchMode):
    """Notes every operator that torch is asked for."""

    operators: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)  # operators by which Python sees values

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._overloadpacket.__name__
        self.operators.append(name)
        if name in _READS_VALUES:
            self.reads.append(name)
        return func(*args, **(kwargs or {}))


class Unfit(Exception):
    """A module that runs and is no task."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Seen:
    """What a fit module did."""

    operators: tuple[str, ...]  # in order, with repeats
    shapes: tuple[tuple[int, ...], ...]  # of its outputs


def watched(module: torch.nn.Module, inputs: Sequence[Any]) -> Seen:
    """Runs a module four times. Raises Unfit, or whatever the module raises."""
    first, watch = _run(module, inputs, seed=1)
    outputs = _checked(first)
    again, other_watch = _run(module, inputs, seed=2)
    if watch.reads:
        raise Unfit(Reason.UNSTABLE_CONTROL_FLOW, f"Python reads values of tensors (aten::{watch.reads[0]})")
    if watch.operators != other_watch.operators:
        raise Unfit(Reason.UNSTABLE_CONTROL_FLOW, "a second call computes something else than the first")
    _require_same(outputs, list(tensors_in(again)), module, inputs)
    others, moved = _run(module, [_moved(value) for value in inputs], seed=1)
    if moved.operators != watch.operators or [t.shape for t in tensors_in(others)] != [t.shape for t in outputs]:
        raise Unfit(Reason.UNSTABLE_CONTROL_FLOW, "other values of its inputs lead to other operators or shapes")
    if all(torch.equal(a, b) for a, b in zip(outputs, tensors_in(others), strict=True)):
        raise Unfit(Reason.UNVERIFIABLE, "its output does not follow its inputs")
    _require_computation(outputs, inputs)
    return Seen(tuple(watch.operators), tuple(tuple(t.shape) for t in outputs))


def _run(module: torch.nn.Module, inputs: Sequence[Any], seed: int) -> tuple[Any, Watch]:
    watch = Watch()
    given = [_copied(value) for value in inputs]
    torch.manual_seed(seed)
    with torch.no_grad(), watch:
        return module(*given), watch


def _require_same(first: list[torch.Tensor], second: list[torch.Tensor], module: Any, inputs: Sequence[Any]) -> None:
    """The seeds differ: what differs with them is random; what differs under one seed, too, remembers calls."""
    if _equal(first, second):
        return
    third, _ = _run(module, inputs, seed=2)
    if _equal(second, list(tensors_in(third))):
        raise Unfit(Reason.RANDOMNESS, "its output follows torch's random generator in evaluation mode")
    raise Unfit(Reason.UNSTABLE_CONTROL_FLOW, "two calls on the same inputs give different outputs")


def _equal(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return len(first) == len(second) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )


def _checked(value: Any) -> list[torch.Tensor]:
    """The tensors of an output that can be judged."""
    if not isinstance(value, (torch.Tensor, tuple, list, dict)):
        raise Unfit(Reason.UNVERIFIABLE, f"it returns {type(value).__name__}")
    outputs = list(tensors_in(value))
    if not outputs or len(outputs) > 8:
        raise Unfit(Reason.UNVERIFIABLE, f"it returns {len(outputs) or 'no'} tensors")
    for tensor in outputs:
        if tensor.dtype is not torch.float32 or tensor.layout is not torch.strided:
            raise Unfit(Reason.UNVERIFIABLE, f"it returns {tensor.dtype}".replace("torch.", ""))
        if not bool(torch.isfinite(tensor).all()):
            raise Unfit(Reason.UNVERIFIABLE, "its output is not finite on normally distributed inputs")
    return outputs


def _require_computation(outputs: list[torch.Tensor], inputs: Sequence[Any]) -> None:
    if not any(tensor.numel() > 0 for tensor in outputs):
        raise Unfit(Reason.UNVERIFIABLE, "its output is empty")
    long = [tensor for tensor in outputs if tensor.numel() > 1]
    if long and all(float(tensor.max()) == float(tensor.min()) for tensor in long):
        raise Unfit(Reason.UNVERIFIABLE, "all elements of its output are equal")
    given = [t for value in inputs for t in tensors_in(value)]
    for tensor in outputs:
        if not any(t.shape == tensor.shape and torch.equal(t, tensor) for t in given):
            return
    raise Unfit(Reason.UNVERIFIABLE, "it returns its inputs as they are")


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _moved(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.flip(0) * _INPUT_SCALE + 0.1
    return [_moved(item) for item in value] if isinstance(value, list) else value
