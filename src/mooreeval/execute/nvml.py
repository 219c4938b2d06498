"""NVIDIA's management library, which tells of a device without a context on it. Every reading may be had by no one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

_NOT_TOLD = (1 << 64) - 1
_ROOM = 64  # processes that are asked for beyond those that were just counted


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class ManagedDevice:
    """One device; `lib` is None where the library or the device is not to be had."""

    def __init__(self, visible: str) -> None:
        """`visible`: its number or its UUID, as in CUDA_VISIBLE_DEVICES."""
        self.handle = ctypes.c_void_p()
        self.lib = self._open(visible)

    def _open(self, visible: str) -> ctypes.CDLL | None:
        try:
            lib = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None
        if lib.nvmlInit_v2():
            return None
        first = visible.split(",")[0].strip()
        found = (
            lib.nvmlDeviceGetHandleByIndex_v2(int(first), ctypes.byref(self.handle))
            if first.isdigit()
            else lib.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(self.handle))
        )
        return lib if found == 0 else None

    def held_by(self, pids: Iterable[int]) -> int | None:
        """Bytes of the device's memory that these processes hold together; None where the driver does not tell."""
        found = self._processes()
        if found is None:
            return None
        wanted = set(pids)
        used = [each.used for each in found if each.pid in wanted]
        return None if _NOT_TOLD in used else sum(used)

    def _processes(self) -> list[_Process] | None:
        ask = getattr(self.lib, "nvmlDeviceGetComputeRunningProcesses_v3", None) if self.lib else None
        if ask is None:
            return None
        count = ctypes.c_uint(0)
        ask(self.handle, ctypes.byref(count), None)
        room = ctypes.c_uint(count.value + _ROOM)
        rows = (_Process * room.value)()
        return list(rows[: room.value]) if ask(self.handle, ctypes.byref(room), rows) == 0 else None
