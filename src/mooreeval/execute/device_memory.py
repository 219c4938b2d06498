"""Device memory that crosses processes: allocations of their own, handed on as raw IPC handles of the driver.

    exporter: MemoryBlock(nbytes) ── handle (64 bytes, over the wire) ──> importer: OpenedBlock(handle)

A handle opens a whole allocation of the driver's, and the driver packs small ones together. So every block takes
whole pages of 2 MiB: it never shares a page with anything else of the process, and never lies in a segment of
PyTorch's caching allocator. Speaks to the driver by its C interface (CUDA driver API, `cuIpc*`), because a runtime
library is one of several in a process.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from typing import Any

import torch

from mooreeval.execute.tensors import dtype_name, dtype_of, is_dense, restrided
from mooreeval.execute.wire import HANDLE_BYTES, DeviceTensor

PAGE = 2 << 20
WARM_SHARE = 8  # PyTorch keeps this part of the device's memory at most from one timed block to the next


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * HANDLE_BYTES),)


class DeviceMemoryError(RuntimeError):
    """The driver refused; the message is its own name for the error."""

    @property
    def is_shortage(self) -> bool:
        """Whether the device is full, which is nobody's fault."""
        return "OUT_OF_MEMORY" in str(self)


class _Driver:
    """The calls of libcuda.so that are needed, in the context that PyTorch made current."""

    def __init__(self) -> None:
        self._lib = ctypes.CDLL("libcuda.so.1")
        pointer, size = ctypes.c_uint64, ctypes.c_size_t
        signatures: dict[str, list[Any]] = {
            "cuMemAlloc_v2": [ctypes.POINTER(pointer), size],
            "cuMemFree_v2": [pointer],
            "cuIpcGetMemHandle": [ctypes.POINTER(_Handle), pointer],
            "cuIpcOpenMemHandle_v2": [ctypes.POINTER(pointer), _Handle, ctypes.c_uint],
            "cuIpcCloseMemHandle": [pointer],
            "cuMemGetAddressRange_v2": [ctypes.POINTER(pointer), ctypes.POINTER(size), pointer],
            "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
        }
        for name, arguments in signatures.items():
            getattr(self._lib, name).argtypes = arguments

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._lib, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._lib.cuGetErrorName(code, ctypes.byref(text))
            raise DeviceMemoryError(f"{name}: {(text.value or b'unknown error').decode()}")


@functools.cache
def _driver() -> _Driver:
    return _Driver()


class _Block:
    """Bytes on the device; PyTorch keeps the block as long as a tensor made by `bytes` lives."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.address, self.nbytes = address, nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.nbytes,), "typestr": "|u1", "data": (self.address, False), "version": 3, "strides": None,
        }  # fmt: skip

    def tensor(self, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
        """The block's first elements, row-major, without a copy."""
        count = torch.Size(shape).numel()
        if not count:
            return torch.empty(shape, dtype=dtype, device="cuda")
        raw = torch.as_tensor(self, device="cuda")
        return raw[: count * dtype.itemsize].view(dtype).reshape(shape)


class MemoryBlock(_Block):
    """An allocation of this process that others may open. Freed with its last tensor.

    Raises DeviceMemoryError where the device has no room.
    """

    def __init__(self, nbytes: int) -> None:
        address = ctypes.c_uint64()
        pages = -(-max(nbytes, 1) // PAGE) * PAGE
        try:
            _driver().call("cuMemAlloc_v2", ctypes.byref(address), pages)
        except DeviceMemoryError:
            torch.cuda.empty_cache()  # what PyTorch keeps for later is free, too
            _driver().call("cuMemAlloc_v2", ctypes.byref(address), pages)
        super().__init__(address.value, nbytes)

    def handle(self) -> bytes:
        """What opens this block in another process."""
        handle = _Handle()
        _driver().call("cuIpcGetMemHandle", ctypes.byref(handle), self.address)
        return ctypes.string_at(ctypes.byref(handle), HANDLE_BYTES)

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            _driver().call("cuMemFree_v2", self.address)


class OpenedBlock(_Block):
    """An allocation of another process, mapped here. A context manager: leaving it unmaps.

    Raises DeviceMemoryError for what is no handle, a handle of a process that is gone, or a block shorter than
    `nbytes`.
    """

    def __init__(self, handle: bytes, nbytes: int) -> None:
        address, base, length = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_size_t()
        lazy_peer_access = 1  # the only flag there is
        _driver().call(
            "cuIpcOpenMemHandle_v2", ctypes.byref(address), _Handle.from_buffer_copy(handle), lazy_peer_access
        )
        super().__init__(address.value, nbytes)
        _driver().call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(length), address)
        if address.value + nbytes > base.value + length.value:
            self.close()
            raise DeviceMemoryError(f"the block holds {length.value} bytes, not {nbytes}")

    def close(self) -> None:
        address, self.address = self.address, 0
        if address:
            torch.cuda.synchronize()
            _driver().call("cuIpcCloseMemHandle", address)

    def __enter__(self) -> OpenedBlock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _copy(there: torch.Tensor, here: torch.Tensor) -> torch.Tensor:
    """`there`, byte for byte: a copy of bools as such makes 1 of whatever is not 0."""
    if here.dtype is torch.bool:
        there.view(torch.uint8).copy_(here.view(torch.uint8))
        return there
    return there.copy_(here)


class Exchange:
    """Tensors to and from other processes by handles. What was exported stays until `clear`.

    The peer must have read what it was sent when `clear` is called; for what it read, it need not be trusted.
    """

    def __init__(self) -> None:
        self._exported: list[MemoryBlock] = []
        self._opened: list[OpenedBlock] = []
        self._placed: weakref.WeakValueDictionary[int, MemoryBlock] = weakref.WeakValueDictionary()

    def clear(self, *, keep_warm: bool = False) -> None:
        """Give back everything that was exported or viewed, and what PyTorch keeps for later.

        `keep_warm` while calls are timed: an allocator that must ask the driver again costs more than a small kernel.
        What it keeps is given back all the same where it is so much that another process may need it.
        """
        self._exported.clear()
        for block in self._opened:
            block.close()
        self._opened.clear()
        self.release(keep_warm=keep_warm)

    def release(self, *, keep_warm: bool = False) -> None:
        """Give back to the device what PyTorch keeps for later: another process may need it."""
        if keep_warm:
            total = torch.cuda.get_device_properties(0).total_memory
            if torch.cuda.memory_reserved() <= total // WARM_SHARE:
                return
        torch.cuda.empty_cache()

    def export(self, tensor: torch.Tensor) -> DeviceTensor:
        """A tensor of this device for another process: as it lies where `place` put it, or as a copy."""
        shape, stride = tuple(tensor.shape), tuple(tensor.stride())
        block = self._placed.get(tensor.data_ptr())
        if block is None or not tensor.is_contiguous() or block.nbytes < tensor.nbytes:
            block = MemoryBlock(tensor.nbytes)
            _copy(block.tensor(tensor.dtype, shape), tensor)
        self._exported.append(block)
        return DeviceTensor(dtype_name(tensor.dtype), shape, stride, block.handle())

    def empty(self, nbytes: int) -> torch.Tensor:
        """Bytes in a block of their own, which `export` hands on without a copy."""
        block = MemoryBlock(nbytes)
        raw = block.tensor(torch.uint8, (nbytes,))
        self._placed[raw.data_ptr()] = block
        return raw

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy with the same strides in a block of its own: memory that nothing has held before in this process."""
        return self._put(tensor, tuple(tensor.stride()))

    def receive(self, data: DeviceTensor) -> torch.Tensor:
        """`place` for a tensor of another process."""
        with OpenedBlock(data.handle, data.nbytes()) as block:
            return self._put(block.tensor(dtype_of(data.dtype), data.shape), data.stride)

    def refill(self, there: torch.Tensor, data: DeviceTensor) -> torch.Tensor:
        """A tensor of this process, with the elements of one of another process from now on."""
        with torch.no_grad(), OpenedBlock(data.handle, data.nbytes()) as block:
            return _copy(there, block.tensor(dtype_of(data.dtype), data.shape))

    def _put(self, source: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
        if not source.numel():
            return torch.empty_strided(source.shape, stride, dtype=source.dtype, device="cuda")
        block = MemoryBlock(source.nbytes)
        placed = block.tensor(source.dtype, tuple(source.shape))
        self._placed[placed.data_ptr()] = block
        if stride != placed.stride() and is_dense(tuple(source.shape), stride):
            placed = placed.as_strided(source.shape, stride)
        return _copy(placed, source)

    def copy(self, data: DeviceTensor) -> torch.Tensor:
        """A private copy of a tensor of another process, which may be hostile."""
        with OpenedBlock(data.handle, data.nbytes()) as block:
            return restrided(block.tensor(dtype_of(data.dtype), data.shape).clone(), data.stride)

    def view(self, data: DeviceTensor) -> torch.Tensor:
        """A tensor of another process of the judge's own, without a copy, until `clear`."""
        block = OpenedBlock(data.handle, data.nbytes())
        self._opened.append(block)
        return block.tensor(dtype_of(data.dtype), data.shape)
