"""`musacoder doctor`: what this machine can judge with, what is missing, and how to get it. Imports no torch."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mooreeval.backends import BackendInfo, available_backends
from mooreeval.cache import default_cache_dir
from mooreeval.errors import MooreError
from mooreeval.profile.ncu import find_ncu
from mooreeval.render import strict_json
from mooreeval.sandbox.modes import sandbox_here

GIB = 1 << 30
NEEDED_RAM_GIB, NEEDED_DISK_GIB = 4, 2
_NO_BACKEND = 3


@dataclass(frozen=True)
class Check:
    """One thing looked at: is it there, what was seen, and how to get it (empty where nothing is missing)."""

    name: str
    ok: bool
    required: bool  # by the simulator, the backend that every machine can have
    detail: str
    how_to_get: str = ""


def run_doctor(*, as_json: bool) -> int:
    """Print what was found; 0 where some backend is available, else 3."""
    backends, checks = available_backends(), list(all_checks())
    if as_json:
        print(strict_json(_document(backends, checks), indent=2))
    else:
        _print(backends, checks)
    return 0 if any(b.available for b in backends) else _NO_BACKEND


def all_checks() -> Iterator[Check]:
    """Every check, one after the other; none of them raises."""
    yield _python()
    yield _torch()
    yield _tool("g++", True, "the simulator compiles candidates with it", "apt-get install g++")
    yield _tool("addr2line", True, "finds the source lines of faults", "apt-get install binutils")
    yield _tool("nvcc", False, "backend cuda compiles with it", "install the CUDA toolkit; the simulator needs none")
    yield _ncu()
    yield _gpu()
    yield _sandbox()
    yield _cache()
    yield _memory()
    yield Check("cores", True, False, str(len(_usable_cores())))


def _usable_cores() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _python() -> Check:
    good = sys.version_info >= (3, 11)
    seen = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("python", good, True, seen, "" if good else "use Python 3.11 or newer")


def _torch() -> Check:
    how = "pip install 'torch>=2.11,<2.15'"
    try:
        found = version("torch")
    except PackageNotFoundError:
        return Check("torch", False, True, "not installed", how)
    try:
        major, minor = (int(part) for part in found.split(".")[:2])
    except ValueError:
        return Check("torch", True, True, f"{found}, not one of the versions we know (2.11 to 2.14)")
    good = (2, 11) <= (major, minor) < (2, 15)
    return Check("torch", good, True, found if good else f"{found}; 2.11 to 2.14 are supported", "" if good else how)


def _tool(name: str, required: bool, purpose: str, how: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(name, False, required, f"not on PATH ({purpose})", how)
    lines = _output([path, "--version"]).splitlines()
    told = next((line.strip() for line in lines if "release" in line), lines[0].strip() if lines else path)
    return Check(name, True, required, told[:100])


def _ncu() -> Check:
    """As `--profile` looks for it, which is not on PATH alone."""
    if (path := find_ncu()) is None:
        how = "install Nsight Compute, a part of CUDA's toolkit"
        return Check("ncu", False, False, "not found (verify --profile asks it)", how)
    lines = [line.strip() for line in _output([path, "--version"]).splitlines() if line.strip()]
    return Check("ncu", True, False, (lines[-1] if lines else path)[:100])


def _output(command: list[str]) -> str:
    """What a command prints; empty where it fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=10, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _gpu() -> Check:
    names = _output(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip().splitlines()
    if names:
        return Check("gpu", True, False, "; ".join(names)[:200])
    if Path("/dev/mtgpu.0").exists():
        return Check("gpu", True, False, "Moore Threads")
    return Check("gpu", False, False, "none is visible", "nothing to do: the simulator needs none")


def _sandbox() -> Check:
    """What stands between a candidate and this machine."""
    how = "see docs/security.md"
    try:
        found = sandbox_here()
    except MooreError as error:
        return Check("sandbox", False, True, str(error), how)
    if not found.lacks:
        return Check("sandbox", True, False, f"{found.mode}: {', '.join(found.covers)}")
    return Check("sandbox", False, False, f"{found.mode}; it does not hold here that {', '.join(found.lacks)}", how)


def _cache() -> Check:
    """Whether the cache can be written, without making it: who only looks leaves nothing behind."""
    how = "set MOOREEVAL_CACHE to a writable folder with 2 GiB free"
    try:
        folder = default_cache_dir().absolute()
        there = next(f for f in (folder, *folder.parents) if f.exists())
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
        used = sum(_size(file) for file in folder.rglob("*"))
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
        return Check("cache", False, True, f"not writable: {error}", how)
    state = f"{used / GIB:.1f} GiB used" if there == folder else "not there yet"
    good = free >= NEEDED_DISK_GIB * GIB or used >= NEEDED_DISK_GIB * GIB
    return Check("cache", good, True, f"{folder}: {state}, {free / GIB:.0f} GiB free", "" if good else how)


def _size(file: Path) -> int:
    """Bytes of a regular file; 0 of anything else and of what another process has just removed."""
    try:
        return file.stat().st_size if file.is_file() and not file.is_symlink() else 0
    except OSError:
        return 0


def _memory() -> Check:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    except (ValueError, OSError):
        return Check("memory", True, False, "unknown")
    good = total >= NEEDED_RAM_GIB - 0.5  # firmware keeps some
    return Check("memory", good, False, f"{total:.0f} GiB", "" if good else f"{NEEDED_RAM_GIB} GiB are advised")


def _document(backends: list[BackendInfo], checks: list[Check]) -> dict[str, object]:
    return {
        "auto": next((b.name for b in backends if b.available), None),
        "backends": [asdict(b) for b in backends],
        "checks": [asdict(c) for c in checks],
    }


def _print(backends: list[BackendInfo], checks: list[Check]) -> None:
    console = Console(highlight=False)
    _print_table(console, "backend", [(b.name, _mark(b.available, True), b.detail, b.how_to_get) for b in backends])
    console.print()
    _print_table(console, "part", [(c.name, _mark(c.ok, c.required), c.detail, c.how_to_get) for c in checks])
    first = next((b.name for b in backends if b.available), None)
    console.print()
    if first:
        console.print(f"--backend auto takes {first}.", style="green")
    else:
        console.print("No backend is available; see the lines marked no.", style="red")


def _mark(ok: bool, required: bool) -> Text:
    return Text("yes", "green") if ok else Text("no", "red" if required else "yellow")


def _print_table(console: Console, first: str, rows: list[tuple[str, Text, str, str]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True, min_width=15)  # as wide as in the other table
    table.add_column("here", no_wrap=True)
    table.add_column("what was seen, and how to get what is missing", overflow="fold")
    for name, mark, detail, how in rows:
        table.add_row(Text(name), mark, Text(detail).append(f"\n{how}" if how else "", "dim"))
    console.print(table)
