"""Ways to build an extension, from cheap to whole. Each takes what it can build with the same meaning.

    mini   a small tensor header over functions that are compiled already (cuda_mini.py)
    slim   PyTorch's own declarations, of the operators that the sources name (cuda_slim.py)
    full   what torch.utils.cpp_extension.load_inline does

A tier that is not the last one never accuses a candidate by itself, see `CudaToolchain`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from mooreeval.cache import FileCache
from mooreeval.errors import NotJudged
from mooreeval.hashing import content_hash
from mooreeval.toolchains.build_pool import BuildClock, BuildPool
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_units import (
    Unit,
    pybind_bindings,
    units_of,
    write_headers,
)
from mooreeval.toolchains.cuda_workshop import CompileFailed, Job, Phase, Workshop, texts_of, write_unit
from mooreeval.toolchains.simulator_messages import Message

_PREPARE_SECONDS = 900.0
_CLAIMS = 2  # all of PyTorch's headers take nvcc 3 GiB
# Resolved when Python loads the module: the interpreter itself, and what PyTorch loads for everybody to see.
_RESOLVED_LATER = re.compile(
    r"_?Py[A-Z_]\w*|cu(?:blas|blasLt|dnn|fft|rand|sparse|solver\w*)?[A-Z]\w*|nccl[A-Z]\w*|nvrtc[A-Z]\w*"
)


class Tier(Protocol):
    """One way to build. `name` is told with what it made."""

    name: str

    def prepare(self) -> dict[str, float]:
        """Make what is shared; CPU seconds spent on each part (0.0: it was in the cache)."""
        ...

    def is_prepared(self) -> bool:
        """Is all of that in the cache?"""
        ...

    def takes(self, job: Job) -> bool:
        """Would a module that this tier makes mean the same as the one that PyTorch makes?"""
        ...

    def build(self, job: Job, workshop: Workshop, suspect: Phase | None) -> None:
        """Make `workshop.library`. Raises CompileFailed, DeadlineReached, NotJudged.

        `suspect`: where a cheaper tier failed, to be looked at first.
        """
        ...


def nvcc_command(
    toolkit: Toolkit, job: Job, includes: Sequence[Path], source: str, output: str, mode: str
) -> list[str]:
    """nvcc as PyTorch calls it; `mode` is -c or -cubin."""
    device = job.flags.device
    standard = [] if any(flag.startswith("-std=") for flag in device) else [f"-std={toolkit.standard}"]
    return [
        toolkit.nvcc, *_shared_flags(toolkit, job, includes), *toolkit.nvcc_flags,
        toolkit.target_flag(job.flags.specific), "--compiler-options", "-fPIC", *device, *standard,
        mode, source, "-o", output,
    ]  # fmt: skip


def gxx_command(toolkit: Toolkit, job: Job, includes: Sequence[Path], arguments: Sequence[str]) -> list[str]:
    """g++ as PyTorch calls it."""
    flags = [*_shared_flags(toolkit, job, includes), "-fPIC", f"-std={toolkit.standard}", *job.flags.host]
    return [toolkit.compiler, *flags, "-fno-diagnostics-show-caret", *arguments]


def _shared_flags(toolkit: Toolkit, job: Job, includes: Sequence[Path]) -> list[str]:
    cuda = toolkit.cuda_includes if job.extension.with_cuda else []
    own = ["."] if job.extension.headers else []
    system = [word for folder in (*includes, *cuda, toolkit.python_include, *own) for word in ("-isystem", str(folder))]
    return [f"-DTORCH_EXTENSION_NAME={job.module}", *toolkit.common_flags, *system]


def link(job: Job, workshop: Workshop, objects: Sequence[str], fast: bool = False, drop_unused: bool = False) -> None:
    """Link the module, and fail on what nobody will define: PyTorch could build such a module but not import it.

    `drop_unused` leaves out what nobody calls of the shared parts, so that a module's undefined symbols are those that
    it uses. Gold keeps them, whatever it is told.
    """
    toolkit = workshop.toolkit
    checks = ["-Wl,-z,defs", "-Wl,--warn-unresolved-symbols"]
    linker = ["-fuse-ld=gold"] if fast and shutil.which("ld.gold") else []
    if drop_unused:
        linker = ["-Wl,--gc-sections"]
    libraries = [*job.flags.link, *toolkit.link_flags, *job.link_flags]
    missing = workshop.link(
        [toolkit.compiler, *objects, "-shared", *libraries, *linker, *checks, "-o", workshop.library.name]
    )
    missing = [name for name in missing if not _RESOLVED_LATER.fullmatch(name)]
    if missing:
        text = f"undefined symbol: {missing[0][:300]} is declared and used, but defined nowhere"
        raise CompileFailed("link", [Message("error", text, "", 0, None)], "\n".join(missing))


class SharedParts:
    """What the builds of one tier share, each part a folder in the cache. `code`: files that the parts are made by."""

    def __init__(self, toolkit: Toolkit, cache: FileCache, pool: BuildPool, code: Sequence[Path]) -> None:
        self.toolkit, self._cache, self._pool = toolkit, cache, pool
        self._code = sorted(code)
        self.paths: dict[str, Path] = {}
        self.cpu_seconds: dict[str, float] = {}

    def has(self, *names: str) -> bool:
        """Are they in the cache? They count as used."""
        return all(self._cache.get(self._key(name)) for name in names)

    def part(self, name: str, make: Callable[[Path], float]) -> Path:
        """The folder of a part; `make` fills it where the cache lacks it, and returns the CPU seconds that it took."""
        self.cpu_seconds[name] = 0.0

        def write(folder: Path) -> None:
            self.cpu_seconds[name] = make(folder)

        self.paths[name] = self._cache.get_or_make(self._key(name), write)
        return self.paths[name]

    def _key(self, name: str) -> str:
        texts = [path.read_text(encoding="utf-8") for path in self._code]
        return f"cuda-{name}-{content_hash([name, self.toolkit.versions, self.toolkit.common_flags, texts])[:40]}"

    def compile(self, folder: Path, includes: Sequence[Path], arguments: Sequence[str], output: str) -> float:
        """Compile a part with PyTorch's flags; CPU seconds. NotJudged where that fails."""
        toolkit = self.toolkit
        system = [f"-isystem{p}" for p in (*includes, *toolkit.cuda_includes, toolkit.python_include)]
        mode = [] if output.endswith(".gch") else ["-c", "-O1", "-fvisibility=hidden", "-ffunction-sections"]
        flags = [*toolkit.common_flags, *system, "-fPIC", f"-std={toolkit.standard}"]
        command = [toolkit.compiler, *flags, *mode, *arguments, "-o", output]
        ran = self._pool.run(command, folder, BuildClock(_PREPARE_SECONDS))
        if ran.returncode != 0:
            first = next((row for row in ran.log.splitlines() if "error" in row), "no message")
            raise NotJudged(f"a shared part of the cuda toolchain ({output}) did not build: {first[:300]}")
        return ran.cpu_seconds


class FullTier:
    """PyTorch's own headers, flags and files."""

    name = "full"

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit

    def prepare(self) -> dict[str, float]:
        return {}

    def is_prepared(self) -> bool:
        return True

    def takes(self, job: Job) -> bool:
        return True

    def build(self, job: Job, workshop: Workshop, suspect: Phase | None) -> None:
        workshop.claims = _CLAIMS
        bindings = pybind_bindings(job.extension)
        units, texts = units_of(job.extension, bindings), texts_of(job, bindings)
        write_headers(job.extension, workshop.folder)
        for unit in units:
            write_unit(unit, workshop.folder)
        self._look_first(job, workshop, units, texts, suspect)
        # nvcc's front end is the cheapest of what is left to fail.
        for unit in sorted(units, key=lambda u: not u.cuda):
            phase: Phase = "cuda" if unit.cuda else "c++"
            workshop.compile(phase, self._command(job, unit, "-c", unit.object_name), texts)
        link(job, workshop, [unit.object_name for unit in units], fast=False)

    def _look_first(
        self, job: Job, workshop: Workshop, units: list[Unit], texts: dict[str, str], suspect: Phase | None
    ) -> None:
        """What failed before, by the cheapest command that would fail again."""
        if suspect == "c++":
            for unit in units:
                if not unit.cuda:
                    arguments = ["-fsyntax-only", unit.name]
                    command = gxx_command(self._toolkit, job, self._toolkit.torch_includes, arguments)
                    workshop.compile("c++", command, texts)
        elif suspect == "device":
            for unit in units:
                if unit.cuda:
                    workshop.compile("device", self._command(job, unit, "-cubin", f"{unit.name}.cubin"), texts)

    def _command(self, job: Job, unit: Unit, mode: str, output: str) -> list[str]:
        includes = self._toolkit.torch_includes
        if unit.cuda:
            return nvcc_command(self._toolkit, job, includes, unit.name, output, mode)
        return gxx_command(self._toolkit, job, includes, ["-c", unit.name, "-o", output])


def write_all(folder: Path, files: dict[str, str]) -> None:
    """Files by their paths below `folder`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
