"""What is built once and shared: the run time, the device, the precompiled header. All by content, in the cache."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mooreeval.cache import FileCache
from mooreeval.errors import NotJudged
from mooreeval.hashing import content_hash
from mooreeval.toolchains.build_pool import BuildClock, BuildPool
from mooreeval.toolchains.simulator_process import Ran

SIMULATOR = Path(__file__).parent.parent / "simulator"
RUNTIME_NAME, DEVICE_NAME, BINDING_NAME = "libmoore_sim.so", "libmoore_device.so", "libmoore_binding.so"
PRELUDE_NAME = "prelude.h"
_PREPARE_SECONDS = 900.0

_OWN_HEADERS = ("torch_front", "binding", "include")  # in this order before PyTorch's

# Instrumented once for both kinds of run: the hooks return at once while nothing is checked. Integer overflow and
# type punning mean on a GPU what they say; memory that no one wrote must not happen to be zero.
CANDIDATE_FLAGS = (
    "-std=c++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-pthread",
    "-fsanitize=thread,alignment", "--param=tsan-distinguish-volatile=1", "--param=tsan-instrument-func-entry-exit=0",
    "-fno-optimize-sibling-calls",  # a barrier that is the last thing a thread does must still know its line
    "-fno-partial-inlining",  # what is split off takes the line of the test that led to it
    "-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks", "-ftrivial-auto-var-init=pattern",
    "-Wno-narrowing", "-Wno-attributes", "-Wno-deprecated-declarations", "-Wno-unknown-pragmas", "-Winvalid-pch",
    "-fno-diagnostics-show-caret", "-fdiagnostics-color=never", "-fmessage-length=0", "-fmax-errors=40",
    "-D_GLIBCXX_USE_CXX11_ABI=1", "-DTORCH_API_INCLUDE_EXTENSION_H",
)  # fmt: skip

# What PyTorch passes to nvcc: without them a candidate would compile here that `load_inline` refuses.
NO_HALF_FLAGS = tuple(
    f"-D__CUDA_NO_{what}__"
    for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
)


def candidate_flags(half_operators: bool) -> list[str]:
    """Flags of every unit; `half_operators` where the candidate undefines what PyTorch defines against them."""
    return [*CANDIDATE_FLAGS, *(() if half_operators else NO_HALF_FLAGS)]


@dataclass(frozen=True)
class Prepared:
    """Paths of the shared parts, and the CPU seconds that this call spent on each (0.0: it was in the cache)."""

    runtime_lib: Path
    device_lib: Path | None
    binding_lib: Path
    prelude: Path
    cpu_seconds: dict[str, float] = field(default_factory=dict)


class Parts:
    """Finds the compiler and PyTorch, and builds what every candidate shares."""

    def __init__(self, cache: FileCache, pool: BuildPool, torch_dir: Path | None):
        self.cache, self._pool = cache, pool
        self._made: dict[Path, str] = {}  # keys in the cache by what is there
        self.torch = torch_dir or find_torch()
        self.compiler = find_compiler()
        pool.show(Path(self.compiler).resolve().parent, self.torch, Path(sysconfig.get_paths()["include"]))

    @functools.cached_property
    def versions(self) -> dict[str, str]:
        """What every key depends on beside sources and flags."""
        return {
            "compiler": compiler_version(self.compiler),
            "torch": _torch_version(self.torch),
            "torch_dir": str(self.torch),
            "python": sys.version.split()[0],
        }

    @functools.cached_property
    def include_flags(self) -> list[str]:
        headers = self.torch / "include"
        python = Path(sysconfig.get_paths()["include"])
        if not (python / "Python.h").is_file():
            raise NotJudged(f"no Python.h in {python}: install Python's development files (python3-dev)")
        ours = [SIMULATOR / folder for folder in _OWN_HEADERS]
        return [f"-isystem{p}" for p in (*ours, headers, headers / "torch/csrc/api/include", python)]

    @functools.cached_property
    def torch_flags(self) -> list[str]:
        """For code of ours that is compiled against PyTorch."""
        return [*self.include_flags[len(_OWN_HEADERS) :], "-D_GLIBCXX_USE_CXX11_ABI=1"]

    @functools.cached_property
    def linker_flags(self) -> list[str]:
        """gold where it is: it reads PyTorch's libraries in a third of the time."""
        return ["-fuse-ld=gold"] if shutil.which("ld.gold") else []

    @functools.cached_property
    def library_flags(self) -> list[str]:
        return [f"-L{self.torch / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]

    def prelude_key(self, half_operators: bool) -> str:
        """Key of the precompiled header, which fits one set of flags alone."""
        return self._key("prelude", candidate_flags(half_operators), *_OWN_HEADERS)

    def prelude(self, half_operators: bool, with_python: bool = False, spent: dict[str, float] | None = None) -> Path:
        """The precompiled header for these flags. Those with half operators or with pybind11 are made when somebody
        asks for them: few candidates do."""
        key = self.prelude_key(half_operators) + ("-python" if with_python else "")
        return self._part("prelude", PRELUDE_NAME, key, {} if spent is None else spent, half_operators, with_python)

    def prepare(self) -> Prepared:
        """All parts, made now where the cache lacks them."""
        spent: dict[str, float] = {}
        with ThreadPoolExecutor(1, thread_name_prefix="prelude") as beside:  # the longest of them, on a core of its own
            prelude = beside.submit(self.prelude, False, False, spent)
            runtime = self._part("runtime", RUNTIME_NAME, self._key("runtime", [], "runtime", "include"), spent)
            device = None
            if any((SIMULATOR / "device").glob("*.cpp")):
                device = self._part("device", DEVICE_NAME, self._key("device", [], "device", "include"), spent, runtime)
            binding = self._part("binding", BINDING_NAME, self._key("binding", [], "binding"), spent)
        return Prepared(runtime, device, binding, prelude.result(), spent)

    def prepare_device(self) -> tuple[Path, Path]:
        """Run time and device library alone: what a recorder needs for another backend."""
        runtime = self._part("runtime", RUNTIME_NAME, self._key("runtime", [], "runtime", "include"), {})
        return runtime, self._part("device", DEVICE_NAME, self._key("device", [], "device", "include"), {}, runtime)

    def _part(self, kind: str, name: str, key: str, spent: dict[str, float], *needs: Any) -> Path:
        spent[kind] = 0.0

        def write(folder: Path) -> None:
            ran = getattr(self, f"_{kind}")(folder, *needs)
            if ran.returncode != 0:
                raise NotJudged(f"the simulator's {kind} did not build: {first_error(ran.log)}")
            spent[kind] = ran.cpu_seconds

        path = self.cache.get_or_make(f"{kind}-{key}", write) / name
        self._made[path] = f"{kind}-{key}"
        return path

    def are_there(self, prepared: Prepared) -> bool:
        """Are all parts still in the cache? They count as used."""
        paths = (prepared.runtime_lib, prepared.device_lib, prepared.binding_lib, prepared.prelude)
        return all(self.cache.get(self._made[path]) for path in paths if path)

    def _run(self, command: list[str], folder: Path) -> Ran:
        return self._pool.run(command, folder, BuildClock(_PREPARE_SECONDS))

    def _runtime(self, folder: Path) -> Ran:
        sources = [str(p) for p in sorted((SIMULATOR / "runtime").glob("*.cpp"))]
        return self._run(
            [
                self.compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread",
                "-Wl,-Bsymbolic-functions", f"-Wl,-soname,{RUNTIME_NAME}", f"-I{SIMULATOR / 'include'}",
                *sources, "-o", RUNTIME_NAME, "-ldl",
            ],
            folder,
        )  # fmt: skip

    def _device(self, folder: Path, runtime: Path) -> Ran:
        # One unit: reading torch's headers is most of the work.
        unit = folder / "all.cpp"
        unit.write_text("".join(f'#include "{p.name}"\n' for p in sorted((SIMULATOR / "device").glob("*.cpp"))))
        ran = self._run(
            [
                self.compiler, "-std=c++20", "-O1", "-g0", "-fPIC", "-fvisibility=hidden", "-shared", "-w", "all.cpp",
                f"-I{SIMULATOR / 'device'}", f"-I{SIMULATOR / 'include'}", *self.torch_flags,
                *self.library_flags[:3], f"-L{runtime.parent}", "-lmoore_sim",
                f"-Wl,-soname,{DEVICE_NAME}", "-o", DEVICE_NAME,
            ],
            folder,
        )  # fmt: skip
        unit.unlink()
        return ran

    def _binding(self, folder: Path) -> Ran:
        return self._run(
            [
                self.compiler, "-std=c++20", "-O1", "-g0", "-fPIC", "-fvisibility=hidden", "-shared", "-w",
                str(SIMULATOR / "binding" / "binding.cpp"), *self.torch_flags, *self.library_flags,
                f"-Wl,-soname,{BINDING_NAME}", "-o", BINDING_NAME,
            ],
            folder,
        )  # fmt: skip

    def _prelude(self, folder: Path, half_operators: bool, with_python: bool) -> Ran:
        text = (SIMULATOR / "binding" / PRELUDE_NAME).read_text(encoding="utf-8")
        if with_python:
            text = f'#define MOORE_SIM_WITH_PYBIND11\n{text}#include "with_python.h"\n'
        (folder / PRELUDE_NAME).write_text(text, encoding="utf-8")
        command = [
            self.compiler,
            *candidate_flags(half_operators),
            *self.include_flags,
            "-x",
            "c++-header",
            PRELUDE_NAME,
        ]
        return self._run([*command, "-o", f"{PRELUDE_NAME}.gch"], folder)

    def frontend_knows(self, name: str) -> bool:
        """Does the part of PyTorch's C++ headers that the prelude leaves out hold this word?"""
        word = re.compile(rf"\b{re.escape(name)}\b".encode())
        csrc = self.torch / "include/torch/csrc"
        headers = (*(csrc / "api/include").rglob("*.h"), *(csrc / "autograd").rglob("*.h"))
        return any(word.search(path.read_bytes()) for path in headers)

    def _key(self, kind: str, flags: list[str], *folders: str) -> str:
        files = {f"{folder}": folder_hash(SIMULATOR / folder) for folder in folders}
        return content_hash([kind, flags, files, self.versions])[:40]


def find_torch() -> Path:
    """PyTorch's folder, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise NotJudged("PyTorch is not installed here: pip install torch")
    return Path(next(iter(spec.submodule_search_locations)))


def find_compiler() -> str:
    found = shutil.which("g++")
    if not found:
        raise NotJudged("no g++ on PATH: the simulator needs it to compile (Debian and Ubuntu: apt install g++)")
    return found


def folder_hash(folder: Path) -> str:
    """Hash over names and contents of all files in a folder tree."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def compiler_version(compiler: str) -> str:
    """Version and target of g++; "unknown" where it tells none."""
    command = [compiler, "-dumpfullversion", "-dumpmachine"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotJudged(f"the compiler {compiler} cannot be started") from error
    return " ".join(done.stdout.split()) or "unknown"


def torch_version_file(torch: Path) -> str:
    """The text in which PyTorch tells its version; NotJudged where there is none."""
    try:
        return (torch / "version.py").read_text(encoding="utf-8")
    except OSError as error:
        raise NotJudged(f"no PyTorch in {torch}") from error


def _torch_version(torch: Path) -> str:
    text = torch_version_file(torch)
    found = re.search(r"^__version__ = '([^']+)'", text, re.MULTILINE)
    return found[1] if found else hashlib.sha256(text.encode()).hexdigest()


def first_error(log: str) -> str:
    """The first line of a compiler's log that speaks of an error."""
    rows = [row for row in log.splitlines() if "error" in row]
    return (rows or log.splitlines() or ["no message"])[0][:300]
