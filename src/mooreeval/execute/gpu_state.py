"""What the driver's management library says of a device while it is timed: clock, temperature, throttling."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from mooreeval.execute.nvml import ManagedDevice

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
        self._device = ManagedDevice(visible)

    def read(self) -> GpuState | None:
        """The state now."""
        lib, handle = self._device.lib, self._device.handle
        if lib is None:
            return None
        clock, heat, reasons = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_ulonglong()
        codes = (
            lib.nvmlDeviceGetClockInfo(handle, _SM_CLOCK, ctypes.byref(clock)),
            lib.nvmlDeviceGetTemperature(handle, _CORE_TEMPERATURE, ctypes.byref(heat)),
            lib.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons)),
        )
        if any(codes):
            return None
        why = sorted({text for bit, text in _THROTTLING.items() if reasons.value & bit})
        return GpuState(clock.value, heat.value, ", ".join(why) or None)
