"""Between torch values and wire values. Runs on both sides; imports torch.

On a device the elements stay there: `to_wire` is given an `export` that makes a `DeviceTensor` of a tensor, `from_wire`
an `open_tensor` that reads one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from mooreeval.execute.wire import DTYPES, MAX_DEPTH, AnyTensor, DeviceTensor, Opaque, TensorData, opaque_name

Export = Callable[[torch.Tensor], DeviceTensor]
OpenTensor = Callable[[DeviceTensor], torch.Tensor]

_TORCH_DTYPES = {name: getattr(torch, name) for name in DTYPES}
_NAMES = {dtype: name for name, dtype in _TORCH_DTYPES.items()}


ALIGNMENT = 16  # bytes: of a complex128 element, the strictest that torch has


def tensor_to_wire(tensor: torch.Tensor, export: Export | None = None) -> TensorData | DeviceTensor | Opaque:
    """Elements of a tensor in row-major order; a tensor that does not cross becomes `Opaque`."""
    if (name := foreign_name(tensor)) is not None:
        return Opaque(name)
    if export is not None and tensor.is_cuda and tensor.numel():
        return export(tensor.detach().resolve_conj().resolve_neg())
    plain = _as_bytes(tensor.detach().resolve_conj().resolve_neg()).cpu().contiguous()
    raw = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.empty(0, dtype=torch.uint8)
    return TensorData(_NAMES[tensor.dtype], tuple(tensor.shape), tuple(tensor.stride()), memoryview(raw.numpy()))


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A bool tensor as the bytes that it holds: a copy of bools turns every byte but 0 into 1."""
    return tensor.view(torch.uint8) if tensor.dtype is torch.bool else tensor


def foreign_name(leaf: Any) -> str | None:
    """What a leaf is called that does not cross; None for one that does.

    Subclasses do not cross: they can redefine what equality means.
    """
    if not isinstance(leaf, torch.Tensor):
        plain = leaf is None or type(leaf) in (bool, int, float, complex, str, TensorData)
        return opaque_name(leaf) if plain or isinstance(leaf, Opaque) else type(leaf).__qualname__
    if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
        return type(leaf).__qualname__
    if leaf.layout is not torch.strided or leaf.dtype not in _NAMES:
        return f"tensor of {leaf.dtype}, {leaf.layout}"
    if leaf.is_nested or leaf.is_meta:
        return "nested tensor" if leaf.is_nested else "tensor on the meta device"
    return None


def tensor_from_wire(data: TensorData, *, restride: bool = True) -> torch.Tensor:
    """A CPU tensor of those elements, with the strides they had where these address each element once."""
    dtype = _TORCH_DTYPES[data.dtype]
    if not data.data.nbytes:
        return torch.empty(data.shape, dtype=dtype)
    raw = torch.frombuffer(data.data, dtype=torch.uint8)
    if raw.data_ptr() % ALIGNMENT:
        raw = raw.clone()
    flat = raw.view(dtype).reshape(data.shape)
    return restrided(flat, data.stride) if restride else flat


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
    out = torch.empty_strided(flat.shape, stride, dtype=flat.dtype, device=flat.device)
    _as_bytes(out).copy_(_as_bytes(flat))
    return out


def to_wire(value: Any, export: Export | None = None, depth: int = 0) -> Any:
    """A torch structure as a wire value; what does not cross is `Opaque` there, see `first_foreign`."""
    if not isinstance(value, list | tuple | dict):
        return tensor_to_wire(value, export) if isinstance(value, torch.Tensor) else _plain_to_wire(value)
    if (name := opaque_name(value, depth)) is not None:
        return Opaque(name)
    if isinstance(value, dict):
        return {k: to_wire(v, export, depth + 1) for k, v in value.items()}
    items = [to_wire(v, export, depth + 1) for v in value]
    return tuple(items) if isinstance(value, tuple) else items


def _plain_to_wire(leaf: Any) -> Any:
    name = foreign_name(leaf)
    return leaf if name is None or isinstance(leaf, Opaque) else Opaque(name)


def first_foreign(value: Any, path: str, depth: int = 0) -> tuple[str, str] | None:
    """The place and the name of the first thing in a torch structure that does not cross; None where all of it does."""
    if not isinstance(value, list | tuple | dict):
        name = foreign_name(value)
        return None if name is None else (path, name)
    if (name := opaque_name(value, depth)) is not None:
        return path, name
    items = value.items() if isinstance(value, dict) else enumerate(value)
    below = (first_foreign(v, f"{path}[{k!r}]", depth + 1) for k, v in items)
    return next((found for found in below if found is not None), None)


def crossing_tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors of a structure that cross, in the order in which they do."""
    if isinstance(value, list | tuple | dict):
        if opaque_name(value, depth) is None:
            for item in value.values() if isinstance(value, dict) else value:
                yield from crossing_tensors(item, depth + 1)
    elif isinstance(value, torch.Tensor) and foreign_name(value) is None:
        yield value


def tensor_paths(path: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a structure with their places, in order: ("input[0]", tensor), ..."""
    if isinstance(value, list | tuple | dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tensor_paths(f"{path}[{key!r}]", item)
    elif isinstance(value, torch.Tensor):
        yield path, value


def kept_on_host(wire: Any, kept: Iterator[bool]) -> Any:
    """An expected output with `on_host` where `kept` says so, one after the other of its tensors."""

    def marked(leaf: Any) -> Any:
        if not isinstance(leaf, AnyTensor):
            return leaf
        on_host = next(kept)
        return dataclasses.replace(leaf, on_host=True) if on_host and isinstance(leaf, TensorData) else leaf

    return _map(wire, marked)


def devices_of(wire: Any, device: str) -> list[str]:
    """Where each tensor of an expected output belongs, in its order: on the host, or on this device."""
    devices: list[str] = []

    def note(leaf: Any) -> None:
        if isinstance(leaf, AnyTensor):
            devices.append("cpu" if isinstance(leaf, TensorData) and leaf.on_host else device)

    _map(wire, note)
    return devices


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


def _map(value: Any, convert: Callable[[Any], Any], depth: int = 0) -> Any:
    """What is nested too deep to cross is a leaf."""
    if depth >= MAX_DEPTH or not isinstance(value, list | tuple | dict):
        return convert(value)
    if isinstance(value, dict):
        return {k: _map(v, convert, depth + 1) for k, v in value.items()}
    items = [_map(v, convert, depth + 1) for v in value]
    return tuple(items) if isinstance(value, tuple) else items
