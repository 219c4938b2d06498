"""A simulated `cuda:0` for the PyTorch of this process, the run child.

libmoore_device.so makes tensors on cuda:0 work. This module loads it and answers what `torch.cuda` asks of a driver:
the private functions in `torch._C` are replaced, so that the public ones keep working, whoever imported them under
whatever name.
It works the same on a CPU build of PyTorch, which lacks those functions, and on a CUDA build without a GPU.
Importing this module does not import torch; `install` does, and there is no way back.
"""

from __future__ import annotations

import ctypes
import json
import time
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPUTE_CAPABILITY = (8, 0)
DEVICE_NAME = "Simulated CUDA device"
CUDA_VERSION = "12.8"


@dataclass(frozen=True)
class DeviceProperties:
    """What `torch.cuda.get_device_properties` returns: the numbers of an sm_80 device."""

    name: str = DEVICE_NAME
    major: int = COMPUTE_CAPABILITY[0]
    minor: int = COMPUTE_CAPABILITY[1]
    total_memory: int = 16 * 2**30  # bytes
    multi_processor_count: int = 108
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 48 * 1024  # bytes
    shared_memory_per_block_optin: int = 163 * 1024
    shared_memory_per_multiprocessor: int = 164 * 1024
    L2_cache_size: int = 40 * 2**20
    memory_bus_width: int = 5120  # bits
    memory_clock_rate: int = 1_215_000  # kHz
    clock_rate: int = 1_410_000
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = ""  # noqa: N815 (PyTorch's name)
    uuid: str = "00000000-0000-0000-0000-000000000000"


class SimulatedDevice:
    """The installed device. There is one a process."""

    def __init__(self, runtime: ctypes.CDLL, device: ctypes.CDLL, python_kernels: Any) -> None:
        self._runtime, self._device, self._python_kernels = runtime, device, python_kernels
        device.moore_device_log_read.restype = ctypes.c_char_p
        runtime.moore_sim_note_taken.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]
        runtime.moore_sim_note_given.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        runtime.moore_sim_mark_weights.argtypes = [ctypes.c_void_p]

    def cover_operators(self) -> None:
        """Give operators that were registered since installation (an import of torchvision) to the device, too."""
        self._device.moore_device_cover_operators()

    def start_log(self) -> None:
        """Count from zero which operators run on tensors of cuda:0. Views and allocations are not counted."""
        self._device.moore_device_log_start()

    def stop_log(self) -> None:
        """Stop counting; the counts stay readable."""
        self._device.moore_device_log_stop()

    def resume_log(self) -> None:
        """Count on where `stop_log` ended."""
        self._device.moore_device_log_resume()

    def read_log(self) -> dict[str, int]:
        """Calls by operator, for example {"aten::addmm": 2, "aten::mul.Tensor": 1}."""
        return json.loads(self._device.moore_device_log_read())

    def note_taken(self, device: int, host: int | None, nbytes: int) -> None:
        """An operator brought bytes of the device to the host: addresses, None for a number."""
        self._runtime.moore_sim_note_taken(device, host, nbytes)

    def note_given(self, host: int | None, nbytes: int) -> None:
        """An operator brought bytes of the host to the device."""
        self._runtime.moore_sim_note_given(host, nbytes)

    def mark_weights(self, device: int) -> None:
        """The allocation at this address holds weights that the judge gave the model."""
        self._runtime.moore_sim_mark_weights(device)

    @contextmanager
    def logging(self) -> Generator[dict[str, int], None, None]:
        """Log what runs in the block; the dict that it yields is filled when the block ends."""
        calls: dict[str, int] = {}
        self.start_log()
        try:
            yield calls
        finally:
            self.stop_log()
            calls.update(self.read_log())


_installed: SimulatedDevice | None = None


def install(runtime_lib: Path, device_lib: Path, properties: Mapping[str, Any] | None = None) -> SimulatedDevice:
    """Make `cuda:0` exist. `runtime_lib` is libmoore_sim.so, `device_lib` libmoore_device.so.

    `properties` are fields of `DeviceProperties` to be told instead of those of the simulator: a target's.

    Call it before anything touches `torch.cuda`. A second call returns the device that is there. Raises OSError when a
    library does not load.
    """
    global _installed
    if _installed is not None:
        return _installed
    import torch

    runtime = ctypes.CDLL(str(runtime_lib), mode=ctypes.RTLD_GLOBAL)
    device = ctypes.CDLL(str(device_lib), mode=ctypes.RTLD_GLOBAL)
    if device.moore_device_install() != 0:
        raise OSError(f"{device_lib}: the simulated device could not be installed in torch {torch.__version__}")
    _answer_for_driver(torch)
    _answer_for_memory(torch, device)
    _answer_for_libraries(torch)
    _replace_streams(torch)
    _make_storages(torch)
    _mark_initialized(torch, DeviceProperties(**(properties or {})))
    _installed = SimulatedDevice(runtime, device, _register_recurrent_cells())
    return _installed


def _register_recurrent_cells() -> Any:
    from mooreeval.simulator import recurrent_cells

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a CUDA build has kernels for them, and says that they are replaced
        return recurrent_cells.register()


def _check_index(index: int) -> None:
    if index > 0:
        raise RuntimeError("CUDA error: invalid device ordinal (the simulated device is cuda:0)")


def _answer_for_driver(torch: Any) -> None:
    """Stand in for the functions of `torch._C` that ask the CUDA driver or its allocator."""
    zero = lambda *_: 0  # noqa: E731
    nothing = lambda *_, **__: None  # noqa: E731
    answers: dict[str, Any] = {
        "init": nothing,
        "isInBadFork": lambda: False,
        "getDeviceCount": lambda: 1,
        "getDevice": zero,
        "setDevice": _check_index,
        "exchangeDevice": lambda index: _check_index(index) or 0,
        "maybeExchangeDevice": zero,
        "getArchFlags": lambda: "sm_80",
        "canDeviceAccessPeer": lambda *_: False,
        "synchronize": nothing,
        "sleep": nothing,
        "ipc_collect": nothing,
        "emptyCache": nothing,
        "setMemoryFraction": nothing,
        "getMemoryFraction": lambda *_: 1.0,
        "getAllocatorBackend": lambda: "native",
        "get_sync_debug_mode": zero,
        "set_sync_debug_mode": nothing,
        "isCurrentStreamCapturing": lambda: False,
        "hasPrimaryContext": lambda *_: True,
        "getCurrentRawStream": lambda *_: torch.cuda.current_stream().cuda_stream,
        "is_initialized": lambda: True,
    }
    for name, answer in answers.items():
        setattr(torch._C, f"_cuda_{name}", answer)


def _answer_for_memory(torch: Any, device: ctypes.CDLL) -> None:
    """`torch.cuda.memory_allocated` and its kin: bytes of live tensors. Nothing is cached, so reserved is the same."""
    device.moore_device_memory_bytes.restype = ctypes.c_int64

    def stats(*_: Any) -> dict[str, Any]:
        now, peak = device.moore_device_memory_bytes(0), device.moore_device_memory_bytes(1)
        one = {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
        pools = {"all": one, "large_pool": one, "small_pool": dict.fromkeys(one, 0)}
        none = {pool: dict.fromkeys(one, 0) for pool in pools}
        names = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
        counted = dict.fromkeys(names, pools)
        uncounted = ("allocation", "segment", "active", "inactive_split", "inactive_split_bytes")
        extra = {"oversize_allocations": none["all"], "oversize_segments": none["all"]}
        return {**counted, **dict.fromkeys(uncounted, none), **extra, "num_alloc_retries": 0, "num_ooms": 0}

    torch._C._cuda_memoryStats = stats
    torch._C._cuda_resetPeakMemoryStats = lambda *_: device.moore_device_memory_reset_peak()
    torch._C._cuda_resetAccumulatedMemoryStats = lambda *_: None


def _answer_for_libraries(torch: Any) -> None:
    """CUDA is there, cuDNN and MAGMA are not; their switches can be set and change nothing."""
    torch._C._has_cuda = True
    torch._C._has_cudnn = False
    torch._C._has_magma = False
    if torch.version.cuda is None:
        torch.version.cuda = CUDA_VERSION
    torch.backends.cudnn.is_acceptable = lambda tensor: False  # the original warns whenever an nn.LSTM is made
    torch._C._set_cudnn_enabled(False)
    torch._C._get_cudnn_enabled = _remember(torch._C, "_set_cudnn_enabled", initially=True)


def _remember(module: Any, setter: str, initially: bool) -> Any:
    """Replace a setter by one that only remembers its value; returns the getter."""
    value = [initially]

    def remember(new: bool) -> None:
        value[0] = new

    setattr(module, setter, remember)
    return lambda: value[0]


def _replace_streams(torch: Any) -> None:
    """`torch.cuda.Stream` and `Event` on top of PyTorch's device-independent ones, which ask the device's own guard."""

    class Stream(torch.Stream):
        """A stream of the simulated device: work is done in the order in which it is asked for."""

        def __new__(cls, device: Any = None, priority: int = 0, **known: Any) -> Any:
            if known:
                known.setdefault("device_type", torch._C._autograd.DeviceType.CUDA.value)
                return super().__new__(cls, **known)
            return super().__new__(cls, device="cuda", priority=priority)

        @property
        def cuda_stream(self) -> int:
            return self.stream_id

        @property
        def priority(self) -> int:
            return 0

        @staticmethod
        def priority_range() -> tuple[int, int]:
            return (0, -1)

        def record_event(self, event: Any = None) -> Any:
            event = event or Event()
            event.record(self)
            return event

        def __repr__(self) -> str:
            return f"<torch.cuda.Stream device=cuda:0 cuda_stream={self.cuda_stream:#x}>"

    class Event(torch.Event):
        """An event of the simulated device; times between events are this machine's and say nothing about a GPU."""

        def __new__(
            cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_: Any
        ) -> Any:
            return super().__new__(cls, device="cuda", enable_timing=enable_timing, blocking=blocking)

        @property
        def cuda_event(self) -> int:
            return self.event_id

        def record(self, stream: Any = None) -> None:
            super().record(stream or torch.cuda.current_stream())
            self._recorded = time.perf_counter()

        def elapsed_time(self, end_event: Any) -> float:
            """Milliseconds; never zero, because people divide by it."""
            return max(1e-3, (end_event._recorded - self._recorded) * 1e3)

        def wait(self, stream: Any = None) -> None:
            super().wait(stream or torch.cuda.current_stream())

    class ExternalStream(Stream):
        """A stream known by its handle; handles of this device are its stream ids."""

        def __new__(cls, stream_ptr: int, device: Any = None, **_: Any) -> Any:
            return super().__new__(cls, stream_id=stream_ptr, device_index=0)

    for where in (torch.cuda, torch.cuda.streams):
        where.Stream, where.Event, where.ExternalStream = Stream, Event, ExternalStream
    _answer_for_streams(torch)


def _answer_for_streams(torch: Any) -> None:
    cuda_type = torch._C._autograd.DeviceType.CUDA.value if hasattr(torch._C._autograd, "DeviceType") else 1
    torch._C._cuda_getDefaultStream = lambda *_: (0, 0, cuda_type)

    def current(*_: Any) -> tuple[int, int, int]:
        return (torch.accelerator.current_stream().stream_id, 0, cuda_type)

    def make_current(stream_id: int, device_index: int, device_type: int) -> None:
        stream = torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
        torch.accelerator.set_stream(stream)

    torch._C._cuda_getCurrentStream = current
    torch._C._cuda_setStream = make_current
    torch._C._cuda_getStreamFromExternal = lambda handle, index: (handle, index, cuda_type)


def _make_storages(torch: Any) -> None:
    """`torch.UntypedStorage(bytes, device="cuda")`, which `torch.load` uses, has its own path to CUDA's allocator."""
    original = torch.UntypedStorage.__new__

    def new(cls: Any, *args: Any, device: Any = None, **options: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            return original(cls, *args, **({} if device is None else {"device": device}), **options)
        values = torch.empty(*args, dtype=torch.uint8) if not args or isinstance(args[0], int) else torch.tensor(*args)
        return values.to(device, torch.uint8).untyped_storage()

    torch.UntypedStorage.__new__ = staticmethod(new)


def _mark_initialized(torch: Any, properties: DeviceProperties) -> None:
    """Initialization is over: nothing of `torch.cuda` may look for libcudart, NVML or a second device."""
    cuda = torch.cuda
    cuda._initialized = True
    # A parent that only counted its devices marks its forks as spoilt for the real CUDA; this one is not it.
    cuda._is_in_bad_fork = torch._C._cuda_isInBadFork = lambda: False
    cuda._cached_device_count = 1
    cuda._get_device_properties = lambda index: properties
    cuda.get_device_properties = lambda device=None: properties
    cuda.default_generators = (torch.default_generator,)
    cuda.mem_get_info = cuda.memory.mem_get_info = lambda device=None: (
        properties.total_memory,
        properties.total_memory,
    )
    cuda.is_bf16_supported = lambda including_emulation=True: True
    cuda._exchange_device = torch._C._cuda_exchangeDevice
    cuda._maybe_exchange_device = torch._C._cuda_maybeExchangeDevice
    cuda._queued_calls.clear()
