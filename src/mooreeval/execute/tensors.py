"""Between torch values and wire values. Runs on both sides; imports torch.

On a device the elements stay there: `to_wire` is given an `export` that makes a `DeviceTensor` of a tensor, `from_wire`
an `open_tensor` that reads one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mooreeval.execute.wire import DTYPES, DeviceTensor, Opaque, TensorData

Export = Callable[[torch.Tensor], DeviceTensor]
OpenTensor = Callable[[DeviceTensor], torch.Tensor]

_TORCH_DTYPES = {name: getattr(torch, name) for name in DTYPES}
_NAMES = {dtype: name for name, dtype in _TORCH_DTYPES.items()}


def tensor_to_wire(tensor: torch.Tensor, export: Export | None = None) -> TensorData | DeviceTensor | Opaque:
    """Elements of a tensor in row-major order; a dtype or layout that does not cross becomes `Opaque`."""
    if tensor.layout is not torch.strided or tensor.dtype not in _NAMES:
        return Opaque(f"tensor of {tensor.dtype}, {tensor.layout}")
    if export is not None and tensor.is_cuda and tensor.numel():
        return export(tensor.detach().resolve_conj().resolve_neg())
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    raw = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.empty(0, dtype=torch.uint8)
    return TensorData(_NAMES[tensor.dtype], tuple(tensor.shape), tuple(tensor.stride()), memoryview(raw.numpy()))


def tensor_from_wire(data: TensorData, *, restride: bool = True) -> torch.Tensor:
    """A CPU tensor of those elements, with the strides they had where these address each element once."""
    dtype = _TORCH_DTYPES[data.dtype]
    if not data.data.nbytes:
        return torch.empty(data.shape, dtype=dtype)
    flat = torch.frombuffer(data.data, dtype=torch.uint8).view(dtype).reshape(data.shape)
    if not restride or flat.stride() == data.stride or not is_dense(data.shape, data.stride):
        return flat
    out = torch.empty_strided(data.shape, data.stride, dtype=dtype)
    return out.copy_(flat)


def is_dense(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether the strides are a permutation of contiguous ones, so that an own copy can have them."""
    expected = 1
    for step, size in sorted(zip(stride, shape, strict=True), key=lambda p: (p[0], p[1])):
        if size == 1:
            continue
        if step != expected:
            return False
        expected *= size
    return True


def dtype_name(dtype: torch.dtype) -> str:
    """The wire's name of a dtype that crosses."""
    return _NAMES[dtype]


def dtype_of(name: str) -> torch.dtype:
    """The dtype of a wire's name."""
    return _TORCH_DTYPES[name]


def restrided(flat: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    """A tensor of the same elements with these strides where they address each element once; else itself."""
    if flat.stride() == stride or not is_dense(tuple(flat.shape), stride):
        return flat
    return torch.empty_strided(flat.shape, stride, dtype=flat.dtype, device=flat.device).copy_(flat)


def to_wire(value: Any, export: Export | None = None) -> Any:
    """A torch structure as a wire value. Subclasses of Tensor do not cross: they can redefine what equality means."""
    return _map(value, lambda leaf: _leaf_to_wire(leaf, export))


def _leaf_to_wire(leaf: Any, export: Export | None) -> Any:
    if type(leaf) in (torch.Tensor, torch.nn.Parameter):
        return tensor_to_wire(leaf, export)
    if leaf is None or type(leaf) in (bool, int, float, str):
        return leaf
    return leaf if isinstance(leaf, TensorData | Opaque) else Opaque(type(leaf).__qualname__)


def from_wire(
    value: Any,
    convert: Callable[[torch.Tensor], torch.Tensor] = lambda t: t,
    open_tensor: OpenTensor | None = None,
) -> Any:
    """A wire value as a torch structure of fresh tensors, each passed through `convert`.

    Those that came as bytes are on the CPU, those that came as handles where `open_tensor` puts them.
    """

    def leaf(value: Any) -> Any:
        if isinstance(value, TensorData):
            return convert(tensor_from_wire(value))
        if isinstance(value, DeviceTensor):
            if open_tensor is None:
                raise ValueError("device memory was sent to a process that has no device")
            return convert(open_tensor(value))
        return value

    return _map(value, leaf)


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
