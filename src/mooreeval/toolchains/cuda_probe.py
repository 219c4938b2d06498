"""What the driver says of a device, asked in a process of its own: `python -m mooreeval.toolchains.cuda_probe`.

A process that has initialised CUDA keeps the devices that it saw then, so neither the judge nor whoever embeds it may
be the one that asks. Prints one JSON object; no context is made.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass, fields
from typing import Any

from mooreeval.errors import NotJudged

# CUdevice_attribute of the driver API, by the names that torch.cuda.get_device_properties uses.
_ATTRIBUTES = {
    "major": 75, "minor": 76, "multi_processor_count": 16, "warp_size": 10, "L2_cache_size": 38,
    "shared_memory_per_block": 8, "shared_memory_per_block_optin": 97, "shared_memory_per_multiprocessor": 81,
    "regs_per_multiprocessor": 82, "max_threads_per_multi_processor": 39, "max_threads_per_block": 1,
    "memory_bus_width": 37, "memory_clock_rate": 36, "clock_rate": 13,
}  # fmt: skip


@dataclass(frozen=True)
class DeviceFacts:
    """One device. Sizes in bytes, clock rates in kHz, the bus in bits."""

    name: str
    driver: str  # the CUDA version that the driver supports, such as 13.0
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int
    warp_size: int
    L2_cache_size: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    regs_per_multiprocessor: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    memory_bus_width: int
    memory_clock_rate: int
    clock_rate: int

    @property
    def arch(self) -> str:
        """Compute capability, such as 9.0."""
        return f"{self.major}.{self.minor}"

    @property
    def peak_bytes_per_second(self) -> float:
        """Of the device's memory: two transfers a clock."""
        return 2 * self.memory_clock_rate * 1e3 * self.memory_bus_width / 8

    def properties(self) -> dict[str, Any]:
        """Fields of `simulator.torch_device.DeviceProperties`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "driver"}


@functools.cache
def probe(visible: str) -> DeviceFacts:
    """The device that CUDA_VISIBLE_DEVICES=`visible` shows first; NotJudged with one line where there is none."""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": visible}
    command = [sys.executable, "-P", "-m", "mooreeval.toolchains.cuda_probe"]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        raise NotJudged("the NVIDIA driver did not answer within 60 s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        raise NotJudged(f"no NVIDIA device {visible!r} can be used here: {last}")
    return DeviceFacts(**json.loads(done.stdout))


def _ask() -> dict[str, Any]:
    lib = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: Any) -> None:
        if code := getattr(lib, name)(*arguments):
            raise OSError(f"{name} returned error {code}")

    call("cuInit", 0)
    device, value, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    call("cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(256)
    call("cuDeviceGetName", name, 256, device)
    call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
    call("cuDriverGetVersion", ctypes.byref(value))
    driver = f"{value.value // 1000}.{value.value % 1000 // 10}"
    facts: dict[str, Any] = {"name": name.value.decode(), "driver": driver, "total_memory": total.value}
    for field, number in _ATTRIBUTES.items():
        call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        facts[field] = value.value
    return facts


if __name__ == "__main__":
    try:
        print(json.dumps(_ask()))
    except OSError as problem:
        sys.exit(str(problem))
