"""A task in lower precision than it asks for, in the ways that a fast kernel would take.

half, bfloat16   the whole module, outputs rounded too
half_inputs      inputs and weights rounded to float16, everything else in the task's own precision
tf32             operands of products and convolutions rounded to 10 bits of mantissa, as tensor cores do
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from mooreeval.execute.fake_run import compiler_left_out
from mooreeval.execute.tensors import map_tensors

Forward = Callable[[Any, list[Any]], Any]
_FULL = (torch.float32, torch.float64)
_PRODUCTS = {
    "mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot", "addbmm", "convolution", "_convolution", "linear",
    "mkldnn_rnn_layer", "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
}  # fmt: skip
_ADDENDS = {"addmm": 0, "baddbmm": 0, "addmv": 0, "addbmm": 0, "convolution": 2, "_convolution": 2, "linear": 2}
_TF32_DROPPED_BITS = 13


def is_full_precision(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether a task computes on float32 or float64, and on nothing shorter."""
    floats = [t.dtype for t in tensors if t.is_floating_point()]
    return bool(floats) and all(dtype in _FULL for dtype in floats)


def _whole(dtype: torch.dtype) -> Callable[[Any, list[Any], Forward], Any]:
    def run(model: Any, inputs: list[Any], forward: Forward) -> Any:
        model = model.to(dtype) if isinstance(model, torch.nn.Module) else model
        return forward(model, map_tensors(inputs, lambda t: t.to(dtype) if t.is_floating_point() else t))

    return run


def _rounded_inputs(model: Any, inputs: list[Any], forward: Forward) -> Any:
    if isinstance(model, torch.nn.Module):
        with torch.no_grad():
            for weight in (*model.parameters(), *model.buffers()):
                if weight.is_floating_point():
                    weight.copy_(weight.half())
    return forward(model, map_tensors(inputs, lambda t: t.half().to(t.dtype) if t.is_floating_point() else t))


def _tensor_cores(model: Any, inputs: list[Any], forward: Forward) -> Any:
    """None where the task has no product or convolution."""
    mode = _RoundedOperands()

    def run(*arguments: Any) -> Any:
        with compiler_left_out(), mode:
            return model(*arguments)

    outputs = forward(run, inputs)
    return outputs if mode.met else None


LOWERED: dict[str, Callable[[Any, list[Any], Forward], Any]] = {
    "half": _whole(torch.float16),
    "bfloat16": _whole(torch.bfloat16),
    "half_inputs": _rounded_inputs,
    "tf32": _tensor_cores,
}


class _RoundedOperands(TorchDispatchMode):
    """Rounds what products and convolutions read; `met`: whether there was one."""

    def __init__(self) -> None:
        super().__init__()
        self.met = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._overloadpacket.__name__
        if name in _PRODUCTS:
            self.met = True
            addend = _ADDENDS.get(name)  # is added in full precision
            args = tuple(a if k == addend else _rounded(a) for k, a in enumerate(args))
        return func(*args, **(kwargs or {}))


def _rounded(argument: Any) -> Any:
    return tree_map_only(torch.Tensor, rounded_to_tf32, argument)


def rounded_to_tf32(tensor: torch.Tensor) -> torch.Tensor:
    """A float32 tensor with 10 bits of mantissa, ties away from zero; others as they are, float64 by way of float32."""
    if tensor.dtype not in _FULL:
        return tensor
    bits = tensor.float().contiguous().view(torch.int32)
    half = 1 << (_TF32_DROPPED_BITS - 1)
    kept = (bits + half) & ~((1 << _TF32_DROPPED_BITS) - 1)
    return kept.view(torch.float32).to(tensor.dtype)
