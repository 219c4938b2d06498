"""The launches of a candidate's own kernels, as its process counts them. See `native/launch_log.cpp`.

A candidate shares its process with the counter and can forge it: the count can show that no kernel ran, and whoever
wants proof of the opposite must look from outside.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "native" / "launch_log.cpp"
COMPILE_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-Wl,--allow-shlib-undefined")
WRAPPED = (
    "__cudaRegisterFunction",
    "__cudaGetKernel",
    "__cudaLaunchKernel",
    "cudaLaunchKernel",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchKernelExC",
)


def link_flags(library: Path) -> list[str]:
    """What g++ needs to link a module whose launches are counted by the library built from `SOURCE`."""
    return [*(f"-Wl,--wrap={name}" for name in WRAPPED), str(library), f"-Wl,-rpath,{library.parent}"]


class LaunchLog:
    """The counter of this process; `library` is what `SOURCE` was built into."""

    def __init__(self, library: Path) -> None:
        self._lib = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._lib.moore_launches_report.restype = ctypes.c_char_p
        self._resets = 0

    def hold(self, held: bool) -> None:
        """From now on launches are counted and succeed, and no kernel runs."""
        self._lib.moore_launches_hold(held)

    def reset(self) -> None:
        self._lib.moore_launches_reset()
        self._resets += 1

    def report(self) -> dict[str, Any]:
        """The report of a trial, see `answers.Report`."""
        launches = json.loads(self._lib.moore_launches_report().decode("utf-8", "replace"))
        return {"launches": launches, "findings": [], "resets": self._resets}
