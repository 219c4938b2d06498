"""Builds the kernels that test the headers, and calls one of their functions in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mooreeval.simulator

INCLUDE = Path(mooreeval.simulator.__file__).parent / "include"
KERNELS = Path(__file__).parents[1] / "mooreeval" / "simulator" / "header_kernels"
INSTRUMENTED = ["-fPIC", "-O1", "-g1", "-fsanitize=thread,alignment", "--param=tsan-distinguish-volatile=1"]
WRAP = "-Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove"

# Arguments cross as an .npz file; arrays are changed in place and come back the same way.
CHILD = """
import ctypes, os, sys
import numpy as np
library, kernels, function, check, exchange, report = sys.argv[1:]
simulator = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
simulator.moore_sim_report.restype = ctypes.c_char_p
fd = os.open(report, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
simulator.moore_sim_install(fd)
simulator.moore_sim_configure(0, ctypes.c_uint64(1), 2, int(check), ctypes.c_uint64(0))
with np.load(exchange) as stored:
    arguments = [stored[name] for name in stored.files]
passed = [int(a) if a.ndim == 0 else a.ctypes.data_as(ctypes.c_void_p) for a in arguments]
value = getattr(ctypes.CDLL(kernels), "run_" + function)(*passed)
np.savez(exchange, *arguments)
with open(report, "wb") as out:
    out.write(simulator.moore_sim_report())
print(value)
"""


@dataclass(frozen=True)
class Outcome:
    """The returned number (None if the child left early), the arrays after the call, and the run time's report."""

    exit_code: int
    value: int | None
    arrays: list[np.ndarray]
    report: dict[str, Any]

    @property
    def kinds(self) -> set[str]:
        return {f["kind"] for f in self.report["findings"]}

    @property
    def messages(self) -> str:
        return "\n".join(f["message"] for f in self.report["findings"])


@dataclass(frozen=True)
class Kernels:
    """One built file of kernels."""

    runtime: Path
    library: Path

    def call(self, function: str, *arguments: np.ndarray | int, check: bool = True) -> Outcome:
        """Calls `run_<function>`; arrays are passed as pointers, numbers as ints."""
        exchange, report = self.library.with_suffix(".npz"), self.library.with_suffix(".json")
        np.savez(exchange, *[np.asarray(a) for a in arguments])
        inputs = [self.runtime, self.library, function, int(check), exchange, report]
        command = [sys.executable, "-c", CHILD, *map(str, inputs)]
        child = subprocess.run(command, capture_output=True, text=True, timeout=120)
        text = report.read_text()
        assert text, f"no report; exit code {child.returncode}: {child.stderr}"
        value = int(child.stdout.strip().split("\n")[-1]) if child.returncode == 0 else None
        with np.load(exchange) as stored:
            arrays = [stored[name] for name in stored.files if stored[name].ndim]
        return Outcome(child.returncode, value, arrays, json.loads(text))

    def arrays(self, function: str, *arguments: np.ndarray | int, check: bool = False) -> list[np.ndarray]:
        """The arrays after a call that must succeed and find nothing."""
        outcome = self.call(function, *arguments, check=check)
        assert outcome.exit_code == 0, outcome.report
        assert not outcome.report["findings"], outcome.report["findings"]
        return outcome.arrays


def compile_object(source: Path, target: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = ["g++", "-std=c++20", *flags, "-I", str(INCLUDE), "-c", str(source), "-o", str(target)]
    return subprocess.run(command, capture_output=True, text=True)


def build_kernels(name: str, runtime: Path, folder: Path) -> Kernels:
    built = compile_object(KERNELS / f"{name}.cpp", folder / f"{name}.o", *INSTRUMENTED)
    assert built.returncode == 0, built.stderr
    library = folder / f"{name}.so"
    link = ["g++", "-shared", f"{folder / name}.o", WRAP, "-Wl,-z,defs", str(runtime), "-o", str(library)]
    subprocess.run(link, check=True)
    return Kernels(runtime, library)
