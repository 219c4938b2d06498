"""What the driver's management library says of a device while it is timed: clock, temperature, throttling."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

# nvmlClocksEventReasons that slow a device for reasons of its own or of its neighbours; idle and applied clocks do not.
_THROTTLING = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}
_SM_CLOCK, _CORE_TEMPERATURE = 1, 0


@dataclass(frozen=True)
class GpuState:
    """One reading. Clock in MHz, temperature in degrees Celsius."""

    sm_clock: int
    temperature: int
    throttled: str | None  # why, where it is


class GpuWatch:
    """Reads the state of one device; every reading is None where the library or the device gives none."""

    def __init__(self, visible: str) -> None:
        self._device = ctypes.c_void_p()
        self._lib = self._open(visible)

    def _open(self, visible: str) -> ctypes.CDLL | None:
        try:
            lib = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None
        if lib.nvmlInit_v2():
            return None
        first = visible.split(",")[0].strip()
        by_number = first.isdigit()
        found = (
            lib.nvmlDeviceGetHandleByIndex_v2(int(first), ctypes.byref(self._device))
            if by_number
            else lib.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(self._device))
        )
        return lib if found == 0 else None

    def read(self) -> GpuState | None:
        """The state now."""
        if self._lib is None:
            return None
        clock, heat, reasons = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_ulonglong()
        codes = (
            self._lib.nvmlDeviceGetClockInfo(self._device, _SM_CLOCK, ctypes.byref(clock)),
            self._lib.nvmlDeviceGetTemperature(self._device, _CORE_TEMPERATURE, ctypes.byref(heat)),
            self._lib.nvmlDeviceGetCurrentClocksThrottleReasons(self._device, ctypes.byref(reasons)),
        )
        if any(codes):
            return None
        why = sorted({text for bit, text in _THROTTLING.items() if reasons.value & bit})
        return GpuState(clock.value, heat.value, ", ".join(why) or None)
