"""Builds the run time and the test kernels once, and runs one host function of theirs in a child process."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import mooreeval.simulator

SIMULATOR = Path(mooreeval.simulator.__file__).parent
KERNELS = Path(__file__).parent / "runtime_kernels"
ORDERS = {"forward": 0, "reverse": 1, "random": 2}

CHILD = """
import ctypes, json, os, sys
library, kernels, function, order, seed, threads, check, budget, report = sys.argv[1:]
simulator = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
simulator.moore_sim_report.restype = ctypes.c_char_p
fd = os.open(report, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
simulator.moore_sim_install(fd)
simulator.moore_sim_configure(
    int(order), ctypes.c_uint64(int(seed)), int(threads), int(check), ctypes.c_uint64(int(budget))
)
value = getattr(ctypes.CDLL(kernels), "run_" + function)()
with open(report, "wb") as out:
    out.write(simulator.moore_sim_report())
print(value)
"""


@dataclass(frozen=True)
class Place:
    """A source line: the kernel file and the 1-based line."""

    file: str
    line: int


@dataclass(frozen=True)
class Run:
    """What a child left: its exit code, the value its function returned (None if it did not return), the report."""

    exit_code: int
    value: int | None
    report: dict[str, Any]
    kernels: Path = field(repr=False)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Findings, without divergent barriers whose two places are the same line (a call that g++ duplicated)."""
        return [f for f in self.report["findings"] if not self._is_one_barrier(f)]

    def kinds(self, severity: str = "error") -> set[str]:
        return {f["kind"] for f in self.findings if f["severity"] == severity}

    def only(self, kind: str) -> dict[str, Any]:
        """The one finding of this kind."""
        (found,) = [f for f in self.findings if f["kind"] == kind]
        return found

    def lines(self, finding: dict[str, Any], key: str = "offset") -> set[int]:
        """Lines of the kernel file in the (inlined) frames of a finding's place."""
        if finding[key] is None:
            return set()
        module = finding["other_module" if key == "other_offset" else "module"]
        command = ["addr2line", "-i", "-e", module, hex(finding[key] - 1)]
        frames = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
        name = f"{self.kernels.stem}.cpp:"
        return {int(f.split(name)[1].split()[0]) for f in frames if name in f}

    def mark(self, name: str) -> int:
        """The line that a comment `MARK name` stands on."""
        text = (KERNELS / f"{self.kernels.stem}.cpp").read_text().split("\n")
        (line,) = [i for i, t in enumerate(text, 1) if t.endswith(f"// MARK {name}")]
        return line

    def _is_one_barrier(self, finding: dict[str, Any]) -> bool:
        if finding["kind"] != "divergent_barrier" or finding["other_offset"] is None:
            return False
        return self.lines(finding) == self.lines(finding, "other_offset")


def _compile(arguments: list[str | Path]) -> None:
    done = subprocess.run(
        ["g++", "-std=c++20", "-fPIC", "-shared", *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def _once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """A folder that `build` filled, shared by the workers of a parallel test run."""
    common = factory.getbasetemp()
    common = common.parent if "PYTEST_XDIST_WORKER" in os.environ else common
    folder = common / name
    with (common / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            folder.mkdir(exist_ok=True)
            build(folder)
            (folder / "done").touch()
    return folder


def _build_library(folder: Path, *flags: str) -> None:
    sources = sorted((SIMULATOR / "runtime").glob("*.cpp"))
    options = ["-fvisibility=hidden", "-pthread", "-Wl,-Bsymbolic-functions", "-I", SIMULATOR / "include"]
    _compile([*flags, *options, *sources, "-o", folder / "libmoore_sim.so", "-ldl"])


def _build_kernels(folder: Path, library: Path) -> None:
    instrumented = ["-O2", "-g1", "-fsanitize=thread,alignment", "--param=tsan-distinguish-volatile=1"]
    for source in sorted(KERNELS.glob("*.cpp")):
        unit = folder / f"{source.stem}.o"
        _compile([*instrumented, "-I", SIMULATOR / "include", "-c", source, "-o", unit])
        wrap = "-Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove"
        _compile([unit, wrap, library, "-o", folder / f"{source.stem}.so"])


@pytest.fixture(scope="session")
def runtime_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _once(tmp_path_factory, "runtime", lambda f: _build_library(f, "-O2")) / "libmoore_sim.so"


@pytest.fixture(scope="session")
def portable_runtime_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run time with the context switch of machines other than x86-64."""
    folder = _once(tmp_path_factory, "portable", lambda f: _build_library(f, "-O0", "-DMOORE_SIM_UCONTEXT"))
    return folder / "libmoore_sim.so"


@pytest.fixture(scope="session")
def kernel_libraries(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = _once(tmp_path_factory, "kernels", lambda f: _build_kernels(f, runtime_library))
    return {source.stem: folder / f"{source.stem}.so" for source in KERNELS.glob("*.cpp")}


@pytest.fixture
def run_kernel(runtime_library: Path, kernel_libraries: dict[str, Path], tmp_path: Path) -> Callable[..., Run]:
    """`run(function, check=..., order=..., ...)` calls `run_<function>` of the file that defines it in a child."""
    owner = {
        line.split("RUN(")[1].split(")")[0]: stem
        for stem in kernel_libraries
        for line in (KERNELS / f"{stem}.cpp").read_text().split("\n")
        if line.startswith("RUN(")
    }

    def run(
        function: str,
        check: bool = True,
        order: str = "forward",
        seed: int = 7,
        threads: int = 2,
        budget: int = 0,
        library: Path = runtime_library,
    ) -> Run:
        kernels = kernel_libraries[owner[function]]
        report = tmp_path / "report.json"
        settings = [str(v) for v in (ORDERS[order], seed, threads, int(check), budget)]
        command = [sys.executable, "-S", "-c", CHILD, str(library), str(kernels), function, *settings, str(report)]
        environment = {"LD_LIBRARY_PATH": str(library.parent)}
        child = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        text = report.read_text()
        assert text, f"no report; exit code {child.returncode}: {child.stderr}"
        value = int(child.stdout.strip().split("\n")[-1]) if child.returncode == 0 else None
        return Run(child.returncode, value, json.loads(text), kernels)

    return run
