"""The wire between judge and children: fixed binary headers and plain buffers, never pickle.

A message is one frame:

    header   magic "MOOR", version, number of buffers, bytes of control text     fixed, little-endian
    sizes    one unsigned 64-bit length for each buffer
    text     JSON: {"op": ..., ...}; small control data only
    buffers  raw bytes; a tensor's buffer begins with a fixed descriptor (`TENSOR`, shape, strides), then its elements,
             or the handle of the device memory that holds them. The descriptor is a multiple of 16 bytes, which is
             what torch's vector code asks of the address of a complex128 element

The receiver states how much it is willing to read, so a hostile peer can't exhaust its memory. Nothing read from the
wire is evaluated, imported or unpickled.
"""

from __future__ import annotations

import json
import math
import select
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from mooreeval.errors import WireError

MAGIC = b"MOOR"
VERSION = 2
HEADER = struct.Struct("<4sHHQ")  # magic, version, buffers, bytes of text
TENSOR = struct.Struct("<BBH12x")  # dtype code, dimensions, flags; then shape and strides as int64 each
ON_DEVICE = 1  # flag: a handle stands in the elements' place
ON_HOST = 2  # flag: see `TensorData.on_host`
HANDLE_BYTES = 64
MAX_TEXT = 8 << 20
MAX_BUFFERS = 4096
MAX_DIMENSIONS = 64
MAX_DEPTH = 32  # containers in containers
MAX_INT_BITS = 4096

# Codes are part of the format: append, never renumber.
DTYPES = (
    "float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool",
    "complex64", "complex128", "uint16", "uint32", "uint64",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
)  # fmt: skip
ITEMSIZE = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "uint8": 1, "int8": 1, "int16": 2, "int32": 4,
    "int64": 8, "bool": 1, "complex64": 8, "complex128": 16, "uint16": 2, "uint32": 4, "uint64": 8,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
}  # fmt: skip


class PeerClosed(WireError):
    """The other side closed the channel: it exited, was killed, or crashed."""


class DeadlineExceeded(WireError):
    """No complete message arrived in time."""


@dataclass(frozen=True)
class TensorData:
    """A tensor as bytes. `data` holds the elements in row-major order; `stride` tells how they lay (elements).

    `on_host` of an expected output: the task keeps it on the CPU, whatever device it runs on.
    """

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    data: memoryview
    on_host: bool = False

    def nbytes(self) -> int:
        return math.prod(self.shape) * ITEMSIZE[self.dtype]


@dataclass(frozen=True)
class DeviceTensor:
    """A tensor whose elements lie, in row-major order, in device memory of the sender, which `handle` opens."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    handle: bytes

    def nbytes(self) -> int:
        return math.prod(self.shape) * ITEMSIZE[self.dtype]


AnyTensor = TensorData | DeviceTensor


@dataclass(frozen=True)
class Message:
    """One frame. `buffers` are raw; use `tensors` helpers below for values."""

    op: str
    fields: dict[str, Any] = field(default_factory=dict)
    buffers: tuple[memoryview, ...] = ()


def pack_tensor(tensor: AnyTensor) -> list[memoryview]:
    """Descriptor and elements, to be sent one after the other as one buffer."""
    dims = len(tensor.shape)
    flags = ON_DEVICE if isinstance(tensor, DeviceTensor) else ON_HOST if tensor.on_host else 0
    head = TENSOR.pack(DTYPES.index(tensor.dtype), dims, flags)
    head += struct.pack(f"<{2 * dims}q", *tensor.shape, *tensor.stride)
    return [memoryview(head), memoryview(tensor.handle) if isinstance(tensor, DeviceTensor) else tensor.data]


def unpack_tensor(buffer: memoryview) -> AnyTensor:
    """The tensor in a buffer; WireError where descriptor and length disagree."""
    if len(buffer) < TENSOR.size:
        raise WireError("tensor buffer is shorter than its descriptor")
    code, dims, flags = TENSOR.unpack_from(buffer)
    start = TENSOR.size + 16 * dims
    if code >= len(DTYPES) or dims > MAX_DIMENSIONS or len(buffer) < start:
        raise WireError("invalid tensor descriptor")
    numbers = struct.unpack_from(f"<{2 * dims}q", buffer, TENSOR.size)
    shape, stride, rest = numbers[:dims], numbers[dims:], buffer[start:]
    expected = HANDLE_BYTES if flags == ON_DEVICE else math.prod(shape) * ITEMSIZE[DTYPES[code]]
    if any(n < 0 for n in shape) or flags not in (0, ON_DEVICE, ON_HOST) or expected != len(rest):
        raise WireError("tensor buffer does not fit its shape")
    if flags == ON_DEVICE:
        return DeviceTensor(DTYPES[code], shape, stride, bytes(rest))
    return TensorData(DTYPES[code], shape, stride, rest, flags == ON_HOST)


# --------------------------------------------------------------------------------------------------- structured values
# A value is None, bool, int, float, complex, str, TensorData, DeviceTensor, or list/tuple/dict of values, whose keys
# are strings, whole numbers or tuples of those. `Opaque` stands for anything else.


@dataclass(frozen=True)
class Opaque:
    """A value of a type that does not cross the wire; only its type's name does."""

    type_name: str


class _Pieces:
    def __init__(self) -> None:
        self.tensors: list[AnyTensor] = []


def flatten_value(value: Any) -> tuple[Any, list[AnyTensor]]:
    """JSON tree and tensors of a value."""
    pieces = _Pieces()
    return _flatten(value, pieces, 0), pieces.tensors


def _flatten(value: Any, pieces: _Pieces, depth: int) -> Any:
    if isinstance(value, TensorData | DeviceTensor):
        pieces.tensors.append(value)
        return {"tensor": len(pieces.tensors) - 1}
    if (name := opaque_name(value, depth)) is not None:
        return {"opaque": name[:200]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_flatten(v, pieces, depth + 1) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_flat_key(k), _flatten(v, pieces, depth + 1)] for k, v in value.items()]}
    return _flat_number(value)


def _flat_number(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return {"plain": value}
    if isinstance(value, int):
        return {"int": str(int(value))}
    if isinstance(value, float):
        return {"float": value.hex()}
    return {"complex": [value.real.hex(), value.imag.hex()]}


def opaque_name(value: Any, depth: int = 0) -> str | None:
    """What a value is called that does not cross at this depth; None for one that does, whatever it holds."""
    if isinstance(value, Opaque):
        return value.type_name
    if isinstance(value, list | tuple | dict) and depth >= MAX_DEPTH:
        return f"{type(value).__qualname__} nested over {MAX_DEPTH} levels"
    if isinstance(value, dict):
        strange = next((k for k in value if not _is_key(k, depth)), None)
        return None if strange is None else f"dict with a key of type {type(strange).__qualname__}"
    if isinstance(value, int):
        return None if value.bit_length() <= MAX_INT_BITS else f"int of {value.bit_length()} bits"
    crosses = value is None or isinstance(value, str | float | complex | list | tuple | TensorData | DeviceTensor)
    return None if crosses else type(value).__qualname__


def _is_key(key: Any, depth: int) -> bool:
    if isinstance(key, tuple):
        return depth < MAX_DEPTH and all(_is_key(k, depth + 1) for k in key)
    return isinstance(key, str | int) and opaque_name(key) is None


def _flat_key(key: Any) -> Any:
    """Strings and numbers of usual size as JSON has them."""
    if isinstance(key, tuple):
        return {"tuple": [_flat_key(k) for k in key]}
    return key if isinstance(key, bool | str) else int(key)


def _restored_key(tree: Any) -> Any:
    if isinstance(tree, dict):
        return tuple(_restored_key(k) for k in tree["tuple"])
    if not isinstance(tree, str | int):
        raise TypeError("no key")
    return tree


def restore_value(tree: Any, tensors: list[AnyTensor], depth: int = 0) -> Any:
    """Inverse of `flatten_value`; WireError on a tree that it can't have made."""
    try:
        ((kind, body),) = tree.items()
        if kind == "tensor":
            return tensors[body]
        if kind == "plain" and (body is None or isinstance(body, bool | str)):
            return body
        if kind == "int":
            return int(body)
        if kind == "float":
            return float.fromhex(body)
        if kind == "complex":
            real, imag = body
            return complex(float.fromhex(real), float.fromhex(imag))
        if kind == "opaque":
            return Opaque(str(body))
        if depth >= MAX_DEPTH:
            raise WireError("a value on the wire is nested too deep")
        if kind in ("list", "tuple"):
            items = [restore_value(v, tensors, depth + 1) for v in body]
            return tuple(items) if kind == "tuple" else items
        if kind == "dict":
            return {_restored_key(k): restore_value(v, tensors, depth + 1) for k, v in body}
    except (AttributeError, KeyError, ValueError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise WireError(f"invalid value on the wire: {type(error).__name__}") from error
    raise WireError(f"unknown kind of value on the wire: {str(kind)[:40]}")


def values_message(op: str, fields: dict[str, Any], **values: Any) -> tuple[Message, list[list[memoryview]]]:
    """A message whose named values are trees in the text and tensors in the buffers."""
    trees, buffers = {}, []
    for name, value in values.items():
        tree, tensors = flatten_value(value)
        trees[name] = {"tree": tree, "first": len(buffers), "count": len(tensors)}
        buffers.extend(pack_tensor(t) for t in tensors)
    return Message(op, {**fields, "values": trees}), buffers


def read_values(message: Message) -> dict[str, Any]:
    """The named values of a message made by `values_message`."""
    out = {}
    try:
        for name, entry in message.fields.get("values", {}).items():
            buffers = message.buffers[entry["first"] : entry["first"] + entry["count"]]
            out[name] = restore_value(entry["tree"], [unpack_tensor(b) for b in buffers])
    except (AttributeError, KeyError, TypeError) as error:
        raise WireError("invalid value table on the wire") from error
    return out


# ------------------------------------------------------------------------------------------------------------- channel
class Channel:
    """Messages over one connected stream socket. Not safe for several threads at once."""

    def __init__(self, sock: socket.socket, max_bytes: int = 8 << 30) -> None:
        self.sock = sock
        self.max_bytes = max_bytes  # willing to read, for one message

    def close(self) -> None:
        self.sock.close()

    def send(self, op: str, deadline: float | None = None, **fields: Any) -> None:
        """Send control data only; `deadline` is a `time.monotonic()` value."""
        self._send(Message(op, fields), [], deadline)

    def send_values(
        self, op: str, fields: dict[str, Any], values: dict[str, Any], deadline: float | None = None
    ) -> None:
        """Send control data and named values."""
        message, buffers = values_message(op, fields, **values)
        self._send(message, buffers, deadline)

    def _send(self, message: Message, buffers: list[list[memoryview]], deadline: float | None) -> None:
        text = json.dumps({"op": message.op, **message.fields}).encode()
        sizes = [sum(piece.nbytes for piece in pieces) for pieces in buffers]
        if len(text) > MAX_TEXT or len(buffers) > MAX_BUFFERS:
            raise WireError(f"message too large for the wire: {len(text)} bytes of text, {len(buffers)} buffers")
        head = HEADER.pack(MAGIC, VERSION, len(buffers), len(text)) + struct.pack(f"<{len(sizes)}Q", *sizes) + text
        for piece in (memoryview(head), *(p for pieces in buffers for p in pieces)):
            self._write(piece.cast("B") if piece.nbytes else piece, deadline)

    def _write(self, data: memoryview, deadline: float | None) -> None:
        sent = 0
        while sent < data.nbytes:
            self._wait(select.POLLOUT, deadline)
            try:
                sent += self.sock.send(data[sent : sent + (4 << 20)])
            except (BrokenPipeError, ConnectionResetError) as error:
                raise PeerClosed("the peer closed the channel") from error

    def receive(self, deadline: float | None = None) -> Message:
        """The next message; PeerClosed, DeadlineExceeded or WireError."""
        magic, version, count, text_size = HEADER.unpack(self._read(HEADER.size, deadline))
        if magic != MAGIC or version != VERSION or count > MAX_BUFFERS or text_size > MAX_TEXT:
            raise WireError("invalid frame header")
        sizes = struct.unpack(f"<{count}Q", self._read(8 * count, deadline))
        if sum(sizes) > self.max_bytes:
            raise WireError(f"message of {sum(sizes)} bytes is over the limit of {self.max_bytes}")
        fields = _parse_text(self._read(text_size, deadline))
        buffers = tuple(self._read(size, deadline) for size in sizes)
        return Message(fields.pop("op"), fields, buffers)

    def _read(self, size: int, deadline: float | None) -> memoryview:
        data = memoryview(bytearray(size))
        got = 0
        while got < size:
            self._wait(select.POLLIN, deadline)
            try:
                n = self.sock.recv_into(data[got : got + (4 << 20)])
            except ConnectionResetError:
                n = 0
            if n == 0:
                raise PeerClosed("the peer closed the channel")
            got += n
        return data

    def _wait(self, event: int, deadline: float | None) -> None:
        if deadline is None:
            return
        poll = select.poll()
        poll.register(self.sock, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(math.ceil(left * 1000)):
            raise DeadlineExceeded("no message in time")


def _parse_text(text: memoryview) -> dict[str, Any]:
    try:
        fields = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise WireError("control text is not JSON") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("op"), str):
        raise WireError("control text has no operation")
    return fields
