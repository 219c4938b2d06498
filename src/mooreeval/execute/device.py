"""The one interface that stands before every device call.

Only this file and the simulated device may speak to `torch.cuda`; a lint rule keeps it out of all other files, so that
another kind of device is one more class here and nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch

from mooreeval.execute.keeper import REPORT_FD
from mooreeval.toolchains.launch_log import LaunchLog

if TYPE_CHECKING:
    from mooreeval.execute.device_memory import Exchange

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

    def hold_launches(self, held: bool) -> None:
        """From now on the candidate's launches are counted and succeed, and no kernel of its own runs; or they do."""
        ...

    def synchronize(self) -> None:
        """Wait for the device; raises RuntimeError for an error that a kernel left behind."""
        ...

    def keep_busy(self, seconds: float) -> None:
        """Queue that much of nothing; what is launched next waits behind it."""
        ...

    def begin_trace(self) -> None:
        """Forget launches that were counted, and touch nothing else."""
        ...

    def note_outputs(self, outputs: Iterable[torch.Tensor]) -> None:
        """Remember for the report whose work these are, before anybody reads them."""
        ...

    def report(self) -> dict[str, Any]:
        """Launches and findings since `begin_trial`, in the run time's own form."""
        ...

    @property
    def operator_log(self) -> Any:
        """What counts the operators that run on this device, whoever calls them; None where nothing does."""
        ...

    @property
    def exchange(self) -> Exchange | None:
        """How tensors cross to other processes without leaving the device; None where they cross as bytes."""
        ...


class SimulatorDevice:
    """CUDA on the CPU. Tensors say `cuda:0`; their memory and their kernels are the simulator's."""

    def __init__(
        self, runtime_lib: Path, device_lib: Path, memory_bytes: int, threads: int, properties: dict[str, Any]
    ) -> None:
        from mooreeval.simulator import torch_device

        self._lib = ctypes.CDLL(str(runtime_lib), mode=ctypes.RTLD_GLOBAL)
        self._lib.moore_sim_report.restype = ctypes.c_char_p
        self._lib.moore_sim_configure.argtypes = [
            ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, ctypes.c_uint64,
        ]  # fmt: skip
        self._lib.moore_sim_limit_memory.argtypes = [ctypes.c_uint64]
        self._lib.moore_sim_install(REPORT_FD)
        self._lib.moore_sim_limit_memory(memory_bytes)
        self._lib.moore_sim_holds_own_work.argtypes = [ctypes.c_void_p]
        self.operator_log = torch_device.install(runtime_lib, device_lib, properties)
        self._outputs: dict[str, Any] | None = None
        self._threads = threads
        self.name = "CUDA simulator (sm_80 limits)"
        self.tensor_device = "cuda:0"
        self.exchange = None

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        placed = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=self.tensor_device)
        return placed.copy_(tensor)

    def begin_trial(self, schedule: dict[str, Any]) -> None:
        self._outputs = None
        self._lib.moore_sim_reset()
        self._lib.moore_sim_configure(
            ORDERS[schedule["order"]], schedule["seed"], self._threads, schedule["check"], schedule["check_budget"]
        )

    def hold_launches(self, held: bool) -> None:
        self._lib.moore_sim_hold_launches(held)

    def begin_trace(self) -> None:
        """Its own run time tells what runs here."""

    def synchronize(self) -> None:
        """Launches are synchronous here, and a failed one is a finding of its own."""

    def keep_busy(self, seconds: float) -> None:
        """Nothing is timed here."""

    def note_outputs(self, outputs: Iterable[torch.Tensor]) -> None:
        addresses = [t.untyped_storage().data_ptr() for t in outputs if t.device.type == "cuda" and t.numel()]
        self._outputs = {
            "outputs": len(addresses),
            "own": sum(bool(self._lib.moore_sim_holds_own_work(address)) for address in addresses),
            "host_saw_own_work": bool(self._lib.moore_sim_host_saw_own_work()),
        }

    def report(self) -> dict[str, Any]:
        report = json.loads(self._lib.moore_sim_report().decode("utf-8", "replace"))
        return {**report, "outputs": self._outputs}


class CudaDevice:
    """The first visible NVIDIA GPU. Opening it makes the process's one context.

    Raises RuntimeError where the driver refuses.
    """

    def __init__(self, visible: str, launch_log: Path) -> None:
        from mooreeval.execute.device_memory import Exchange

        os.environ["CUDA_VISIBLE_DEVICES"] = visible
        torch.cuda.init()
        torch.cuda.synchronize()
        _compute_in_true_precision()
        properties = torch.cuda.get_device_properties(0)
        self.name = f"{properties.name} (sm_{properties.major}{properties.minor})"
        self.tensor_device = "cuda:0"
        self.exchange = Exchange()
        self._cycles_per_second = getattr(properties, "clock_rate", 1_500_000) * 1e3  # near enough for waiting
        self._runtime = _loaded_library("libcudart.so")
        self._launches = LaunchLog(launch_log)
        self.operator_log = None

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.exchange.place(tensor)

    def begin_trial(self, schedule: dict[str, Any]) -> None:
        self.poison(schedule["poison_bytes"])
        self._launches.reset()

    def hold_launches(self, held: bool) -> None:
        self._launches.hold(held)

    def poison(self, nbytes: int) -> None:
        """Fill what PyTorch will hand out next with 0xFF, which is NaN in every float and -1 in every integer."""
        torch.cuda.empty_cache()
        sizes = [nbytes, *(1 << k for k in range(9, 20) for _ in range(16))]
        filled = [torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda") for size in sizes if size]
        torch.cuda.synchronize()
        del filled

    def synchronize(self) -> None:
        """Wait; then read the error that a refused launch leaves behind, which no wait returns."""
        torch.cuda.synchronize()
        if self._runtime is not None and (code := self._runtime.cudaGetLastError()):
            self._runtime.cudaGetErrorString.restype = ctypes.c_char_p
            text = self._runtime.cudaGetErrorString(code).decode()
            raise RuntimeError(f"CUDA error: {text} (left behind by a launch whose error nobody read)")

    def keep_busy(self, seconds: float) -> None:
        torch.cuda._sleep(int(seconds * self._cycles_per_second))

    def note_outputs(self, outputs: Iterable[torch.Tensor]) -> None:
        """A device does not tell; see `legality.device_trace` for what it does."""

    def report(self) -> dict[str, Any]:
        return self._launches.report()

    def begin_trace(self) -> None:
        self._launches.reset()


def _compute_in_true_precision() -> None:
    """PyTorch computes what it says, for references and candidates alike: no TF32, no reductions in half precision.

    Its own default is TF32 for convolutions, which fails an honest candidate that calls one beside its kernel.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_bf16_reduced_precision_reduction = False


def _loaded_library(name: str) -> Any:
    """A library that this process has loaded, by the beginning of its file's name."""
    with Path("/proc/self/maps").open(encoding="utf-8") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if name in line}
    return ctypes.CDLL(min(paths)) if paths else None


@contextlib.contextmanager
def watched_by_profiler(device: Device) -> Generator[None]:
    """What runs within is seen by a profiler that waits for cudaProfilerStart; on the simulator there is none."""
    if not isinstance(device, CudaDevice):
        yield
        return
    torch.cuda.profiler.start()
    try:
        yield
    finally:
        torch.cuda.profiler.stop()


def open_device(backend: str, options: dict[str, Any]) -> Device:
    """The device of a backend, opened in this process."""
    if backend == "cuda":
        return CudaDevice(options["visible"], Path(options["launch_log"]))
    if backend == "simulator":
        return SimulatorDevice(
            Path(options["runtime_lib"]), Path(options["device_lib"]), options["memory_bytes"], options["threads"],
            options.get("properties", {}),
        )  # fmt: skip
    raise ValueError(f"no device for backend {backend}")
