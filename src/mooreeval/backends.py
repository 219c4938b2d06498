"""Which backends this machine has, and what is missing for the others."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mooreeval.errors import NotJudged, UsageError

AUTO_ORDER = ("musa", "cuda", "simulator")
NO_WAY_YET = "not to be had: this version does not judge on it"


@dataclass(frozen=True)
class BackendInfo:
    """One backend as this machine sees it. `how_to_get` is one line, empty where nothing is missing."""

    name: str
    available: bool
    detail: str
    how_to_get: str = ""


def available_backends() -> list[BackendInfo]:
    """Every backend, in the order in which `auto` tries them, the shim last."""
    return [probe() for probe in _PROBES.values()]


def choose_backend(name: str) -> str:
    """`name`, or for `auto` the first available one.

    Raises UsageError for a backend that is unknown or not here, NotJudged where the simulator, which every machine can
    have, lacks a part; both say what is missing and how to get it.
    """
    if name == "auto":
        name = next((b for b in AUTO_ORDER if _PROBES[b]().available), "simulator")
    if name not in _PROBES:
        raise UsageError(f"there is no backend {name!r}; choose one of auto, {', '.join(_PROBES)}")
    info = _PROBES[name]()
    if not info.available:
        kind = NotJudged if name == "simulator" else UsageError
        raise kind(f"backend {name} is not available here: {info.detail}; {info.how_to_get}")
    return name


def _simulator() -> BackendInfo:
    if importlib.util.find_spec("torch") is None:
        return BackendInfo("simulator", False, "PyTorch is not installed", "pip install 'torch>=2.11,<2.15'")
    for tool, package in (("g++", "g++"), ("addr2line", "binutils")):
        if shutil.which(tool) is None:
            fedora = "gcc-c++" if tool == "g++" else package
            how = f"install it, e.g. `apt-get install {package}` or `dnf install {fedora}`"
            return BackendInfo("simulator", False, f"{tool} is not on PATH", how)
    if platform.system() != "Linux":
        return BackendInfo(
            "simulator", False, f"needs Linux, this is {platform.system()}", "use a Linux machine or a container"
        )
    return BackendInfo("simulator", True, f"CUDA on the CPU, built by g++ ({platform.machine()})")


def _cuda() -> BackendInfo:
    """What can be seen without starting anything; a device that then refuses is told by the verifier."""
    if not Path("/dev/nvidiactl").exists():
        return BackendInfo("cuda", False, "no NVIDIA GPU is visible", "use a machine with one, or --backend simulator")
    if not _torch_has_cuda():
        return BackendInfo(
            "cuda", False, "PyTorch here is a build without CUDA", "pip install torch, from PyPI's index"
        )
    if find_nvcc() is None:
        return BackendInfo("cuda", False, "nvcc is not on PATH", "install CUDA's toolkit, and put nvcc on PATH")
    if shutil.which("g++") is None:
        return BackendInfo("cuda", False, "g++ is not on PATH", "install it, e.g. `apt-get install g++`")
    return BackendInfo("cuda", True, "an NVIDIA GPU, with nvcc and a CUDA build of PyTorch")


def find_nvcc() -> str | None:
    """As PyTorch looks: $CUDA_HOME, PATH, /usr/local/cuda."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    candidates = (f"{home}/bin/nvcc" if home else None, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc")
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


def is_build_with_cuda(version_file: str) -> bool:
    """Whether the text of torch/version.py names a version of CUDA."""
    return re.search(r"^cuda\b[^=]*= '\d", version_file, re.MULTILINE) is not None


def _torch_has_cuda() -> bool:
    """Read from its version file: importing it takes seconds."""
    spec = importlib.util.find_spec("torch")
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    if folder is None:
        return False
    return is_build_with_cuda(Path(folder, "version.py").read_text(encoding="utf-8"))


def _musa() -> BackendInfo:
    present = Path("/dev/mtgpu.0").exists()
    seen = "a Moore Threads GPU is here, and not used" if present else "no Moore Threads GPU is visible"
    return BackendInfo("musa", False, seen, NO_WAY_YET)


def _musa_shim() -> BackendInfo:
    return BackendInfo("musa-shim", False, "the check of a port to MUSA is not written yet", NO_WAY_YET)


_PROBES: dict[str, Callable[[], BackendInfo]] = {
    "musa": _musa,
    "cuda": _cuda,
    "simulator": _simulator,
    "musa-shim": _musa_shim,
}
