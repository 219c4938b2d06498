"""Between torch values and wire values. Runs on both sides; imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mooreeval.execute.wire import DTYPES, Opaque, TensorData

_TORCH_DTYPES = {name: getattr(torch, name) for name in DTYPES}
_NAMES = {dtype: name for name, dtype in _TORCH_DTYPES.items()}


def tensor_to_wire(tensor: torch.Tensor) -> TensorData | Opaque:
    """Elements of a tensor in row-major order; a dtype or layout that does not cross becomes `Opaque`."""
    if tensor.layout is not torch.strided or tensor.dtype not in _NAMES:
        return Opaque(f"tensor of {tensor.dtype}, {tensor.layout}")
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    raw = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.empty(0, dtype=torch.uint8)
    return TensorData(_NAMES[tensor.dtype], tuple(tensor.shape), tuple(tensor.stride()), memoryview(raw.numpy()))


def tensor_from_wire(data: TensorData, *, restride: bool = True) -> torch.Tensor:
    """A CPU tensor of those elements, with the strides they had where these address each element once."""
    dtype = _TORCH_DTYPES[data.dtype]
    if not data.data.nbytes:
        return torch.empty(data.shape, dtype=dtype)
    flat = torch.frombuffer(data.data, dtype=torch.uint8).view(dtype).reshape(data.shape)
    if not restride or flat.stride() == data.stride or not _is_dense(data):
        return flat
    out = torch.empty_strided(data.shape, data.stride, dtype=dtype)
    return out.copy_(flat)


def _is_dense(data: TensorData) -> bool:
    """Whether the strides are a permutation of contiguous ones, so that an own copy can have them."""
    expected = 1
    for stride, size in sorted(zip(data.stride, data.shape, strict=True), key=lambda p: (p[0], p[1])):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def to_wire(value: Any) -> Any:
    """A torch structure as a wire value. Subclasses of Tensor do not cross: they can redefine what equality means."""
    return _map(value, _leaf_to_wire)


def _leaf_to_wire(leaf: Any) -> Any:
    if type(leaf) in (torch.Tensor, torch.nn.Parameter):
        return tensor_to_wire(leaf)
    if leaf is None or type(leaf) in (bool, int, float, str):
        return leaf
    return leaf if isinstance(leaf, TensorData | Opaque) else Opaque(type(leaf).__qualname__)


def from_wire(value: Any, convert: Callable[[torch.Tensor], torch.Tensor] = lambda t: t) -> Any:
    """A wire value as a torch structure of fresh CPU tensors, each passed through `convert`."""
    return _map(value, lambda leaf: convert(tensor_from_wire(leaf)) if isinstance(leaf, TensorData) else leaf)


def map_tensors(value: Any, convert: Callable[[torch.Tensor], Any]) -> Any:
    """The same structure with every tensor converted."""
    return _map(value, lambda leaf: convert(leaf) if isinstance(leaf, torch.Tensor) else leaf)


def _map(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_map(v, convert) for v in value)
    if isinstance(value, list):
        return [_map(v, convert) for v in value]
    if isinstance(value, dict):
        return {k: _map(v, convert) for k, v in value.items()}
    return convert(value)
