"""The one interface that stands before every device call.

Only this file and the simulated device may speak to `torch.cuda`; a lint rule keeps it out of all other files, so that
another kind of device is one more class here and nothing else.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any, Protocol

import torch

from mooreeval.execute.launcher import REPORT_FD

ORDERS = {"forward": 0, "reverse": 1, "random": 2}


class Device(Protocol):
    """Where a candidate's tensors live and its kernels run."""

    name: str  # for the verdict
    tensor_device: str  # what its tensors' `.device` prints

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        """A fresh copy of a CPU tensor on this device, with its strides."""
        ...

    def begin_trial(self, schedule: dict[str, Any]) -> None:
        """Forget what was observed; `schedule` says how to run (simulator: order, seed, check, check_budget)."""
        ...

    def synchronize(self) -> None:
        """Wait for the device; raises RuntimeError for an error that a kernel left behind."""
        ...

    def report(self) -> dict[str, Any]:
        """Launches and findings since `begin_trial`, in the run time's own form."""
        ...


class SimulatorDevice:
    """CUDA on the CPU. Tensors say `cuda:0`; their memory and their kernels are the simulator's."""

    def __init__(self, runtime_lib: Path, device_lib: Path, memory_bytes: int, threads: int) -> None:
        from mooreeval.simulator import torch_device

        self._lib = ctypes.CDLL(str(runtime_lib), mode=ctypes.RTLD_GLOBAL)
        self._lib.moore_sim_report.restype = ctypes.c_char_p
        self._lib.moore_sim_configure.argtypes = [
            ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, ctypes.c_uint64,
        ]  # fmt: skip
        self._lib.moore_sim_limit_memory.argtypes = [ctypes.c_uint64]
        self._lib.moore_sim_install(REPORT_FD)
        self._lib.moore_sim_limit_memory(memory_bytes)
        torch_device.install(runtime_lib, device_lib)
        self._threads = threads
        self.name = "CUDA simulator (sm_80 limits)"
        self.tensor_device = "cuda:0"

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        placed = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=self.tensor_device)
        return placed.copy_(tensor)

    def begin_trial(self, schedule: dict[str, Any]) -> None:
        self._lib.moore_sim_reset()
        self._lib.moore_sim_configure(
            ORDERS[schedule["order"]], schedule["seed"], self._threads, schedule["check"], schedule["check_budget"]
        )

    def synchronize(self) -> None:
        """Launches are synchronous here, and a failed one is a finding of its own."""

    def report(self) -> dict[str, Any]:
        return json.loads(self._lib.moore_sim_report().decode("utf-8", "replace"))


def open_device(backend: str, options: dict[str, Any]) -> Device:
    """The device of a backend, opened in this process."""
    if backend == "simulator":
        return SimulatorDevice(
            Path(options["runtime_lib"]), Path(options["device_lib"]), options["memory_bytes"], options["threads"]
        )
    raise ValueError(f"no device for backend {backend}")
