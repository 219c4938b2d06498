"""Which backends this machine has, and what is missing for the others."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mooreeval.errors import NotJudged, UsageError

AUTO_ORDER = ("musa", "cuda", "simulator")
NO_WAY_YET = "not to be had: this version judges on the simulator only"


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
    present = Path("/dev/nvidiactl").exists()
    seen = "an NVIDIA GPU is here, and not used" if present else "no NVIDIA GPU is visible"
    return BackendInfo("cuda", False, seen, NO_WAY_YET)


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
