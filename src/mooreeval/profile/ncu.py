"""NVIDIA Nsight Compute: where it is, what it is asked for, and why it gave nothing. Imports no torch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from mooreeval.profile.table import printable

MAX_LAUNCHES = 50  # of one forward pass; each is replayed once for every group of counters
SECTIONS = (
    "SpeedOfLight", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables", "ComputeWorkloadAnalysis",
    "SchedulerStats", "WarpStateStats", "LaunchStats", "Occupancy",
)  # fmt: skip
NOT_ALLOWED = "ERR_NVGPUCTRPERM"
_HOW_TO_ALLOW = (
    f"the driver lets only administrators read performance counters ({NOT_ALLOWED}): judge as root, or load the "
    "kernel module nvidia with NVreg_RestrictProfilingToAdminUsers=0"
)
_NO_KERNELS = "No kernels were profiled"
_ERROR, _WARNING = "==ERROR==", "==WARNING=="


def find_ncu() -> str | None:
    """$CUDA_HOME, PATH, /usr/local/cuda: as nvcc is looked for."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    candidates = (f"{home}/bin/ncu" if home else None, shutil.which("ncu"), "/usr/local/cuda/bin/ncu")
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


def command(ncu: str, program: Sequence[str]) -> list[str]:
    """What profiles the launches that `program` makes between its calls of cudaProfilerStart and Stop.

    Sections rather than single metrics, because a device of another generation has others; base units and every
    number in full, because the reader is a program. Clocks are left as they are: a lock would outlive a profiler that
    is killed, and the figures should be those of the device as it was timed. Caches are emptied before each replay,
    so that every kernel starts cold.
    """
    return [
        ncu, "--csv", "--page", "raw", "--print-units", "base",
        *(word for section in SECTIONS for word in ("--section", section)),
        "--profile-from-start", "off", "--target-processes", "application-only",
        "--launch-count", str(MAX_LAUNCHES), "--clock-control", "none", "--cache-control", "all",
        *program,
    ]  # fmt: skip


def why_nothing(output: str, log: str) -> str:
    """One line that says why `output` holds no kernel; `log` is what the profiled program printed."""
    return _HOW_TO_ALLOW if NOT_ALLOWED in output + log else printable(_what_was_said(output, log))


def _what_was_said(output: str, log: str) -> str:
    printed = [line.strip() for line in log.splitlines() if line.strip()]
    last = f" ({printed[-1][:300]})" if printed else ""
    for line in output.splitlines():
        if line.startswith(_ERROR):
            return f"ncu: {line.removeprefix(_ERROR).strip()[:300]}{last}"
    if _NO_KERNELS in output:
        return f"ncu saw no kernel of the candidate's forward pass{last}"
    said = [line for line in output.splitlines() if line.strip() and not line.startswith(("==PROF==", _WARNING))]
    return f"what ncu printed can't be read ({said[0].strip()[:200]})" if said else f"ncu printed nothing{last}"
