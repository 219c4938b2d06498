"""Ways to build an extension, from cheap to whole. Each takes what it can build with the same meaning.

    slim   PyTorch's own declarations, of the operators that the sources name (cuda_slim.py)
    full   what torch.utils.cpp_extension.load_inline does

A tier that is not the last one never accuses a candidate by itself, see `CudaToolchain`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from mooreeval.cache import FileCache
from mooreeval.errors import NotJudged
from mooreeval.hashing import content_hash
from mooreeval.toolchains.cuda_slim import COMMON, Index, make_index, render, words_of
from mooreeval.toolchains.cuda_slim_rules import reason_for_full
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_units import (
    Unit,
    light_bindings,
    pybind_bindings,
    sources_by_name,
    units_of,
    write_headers,
)
from mooreeval.toolchains.cuda_workshop import CompileFailed, Job, Phase, Workshop, texts_of, write_unit
from mooreeval.toolchains.simulator_messages import Message
from mooreeval.toolchains.simulator_parts import SIMULATOR
from mooreeval.toolchains.simulator_process import run_compiler

_PREPARE_SECONDS = 900.0
_PRELUDE = "prelude.h"
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
    folders = [*includes, *toolkit.cuda_includes, toolkit.python_include]
    system = [word for folder in folders for word in ("-isystem", str(folder))]
    return [f"-DTORCH_EXTENSION_NAME={job.module}", *toolkit.common_flags, *system]


def link(job: Job, workshop: Workshop, objects: Sequence[str], fast: bool) -> None:
    """Link the module, and fail on what nobody will define: PyTorch could build such a module but not import it."""
    toolkit = workshop.toolkit
    checks = ["-Wl,-z,defs", "-Wl,--warn-unresolved-symbols"]
    linker = ["-fuse-ld=gold"] if fast and shutil.which("ld.gold") else []
    libraries = [*job.flags.link, *toolkit.link_flags, *job.link_flags]
    missing = workshop.link(
        [toolkit.compiler, *objects, "-shared", *libraries, *linker, *checks, "-o", workshop.library.name]
    )
    missing = [name for name in missing if not _RESOLVED_LATER.fullmatch(name)]
    if missing:
        text = f"undefined symbol: {missing[0][:300]} is declared and used, but defined nowhere"
        raise CompileFailed("link", [Message("error", text, "", 0, None)], "\n".join(missing))


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


class SlimTier:
    """PyTorch's own declarations of what the sources name, and bindings that are compiled already."""

    name = "slim"

    def __init__(self, toolkit: Toolkit, cache: FileCache) -> None:
        self._toolkit, self._cache = toolkit, cache
        self._parts: dict[str, Path] = {}
        self._index: Index | None = None

    def prepare(self) -> dict[str, float]:
        """The index of PyTorch's headers, slim headers for common sources, precompiled, and the bindings."""
        spent: dict[str, float] = {}
        if not self._parts:
            self._part("index", spent)
            self._index = Index.from_json((self._parts["index"] / "index.json").read_text(encoding="utf-8"))
            for name in ("binding", "prelude"):
                self._part(name, spent)
        return spent

    @property
    def index(self) -> Index:
        self.prepare()
        assert self._index is not None
        return self._index

    def takes(self, job: Job) -> bool:
        return reason_for_full(job.extension, job.flags, self.index) is None

    def build(self, job: Job, workshop: Workshop, suspect: Phase | None) -> None:
        self.prepare()
        bindings = light_bindings(job.extension, job.module)
        units, texts = units_of(job.extension, bindings), texts_of(job, bindings)
        write_headers(job.extension, workshop.folder)
        words = words_of([*sources_by_name(job.extension).values(), " ".join(job.flags.device + job.flags.host)])
        extra = bool((words & self.index.names) - COMMON - set(self.index.needed))
        folder = self._headers_for(words, workshop.folder) if extra else self._parts["index"]
        for unit in units:  # C++ first: it costs a second
            own = words_of([unit.text]) & self.index.names
            write_unit(unit, workshop.folder)
            if unit.cuda:
                workshop.compile("cuda", self._nvcc(job, unit, folder), texts)
            else:
                ready = own <= COMMON | set(self.index.needed)
                workshop.compile("c++", self._gxx(job, unit, self._parts["index"] if ready else folder, ready), texts)
        link(job, workshop, [*(u.object_name for u in units), str(self._parts["binding"] / "binding.o")], fast=True)

    def _headers_for(self, words: set[str], scratch: Path) -> Path:
        folder = scratch / "slim"
        _write_all(folder, render(self.index, words))
        return folder

    def _includes(self, folder: Path) -> list[Path]:
        return [folder / "include" if (folder / "include").is_dir() else folder, *self._toolkit.torch_includes]

    def _nvcc(self, job: Job, unit: Unit, folder: Path) -> list[str]:
        command = nvcc_command(self._toolkit, job, self._includes(folder), unit.name, unit.object_name, "-c")
        if re.search(r"\bPYBIND11_MODULE\b|\bpy::|\bpybind11\b", unit.text):
            command[1:1] = ["-I", str(SIMULATOR / "binding"), "-include", "bindable.h"]
        return command

    def _gxx(self, job: Job, unit: Unit, folder: Path, ready: bool) -> list[str]:
        prelude = self._parts["prelude"] / _PRELUDE
        first = ["-include", str(prelude)] if ready else ["-I", str(SIMULATOR / "binding"), "-include", "bindable.h"]
        arguments = [*first, "-c", unit.name, "-o", unit.object_name]
        return gxx_command(self._toolkit, job, self._includes(folder), arguments)

    def is_prepared(self) -> bool:
        return all(self._cache.get(self._key(name)) for name in ("index", "binding", "prelude"))

    def _key(self, name: str) -> str:
        key = content_hash([name, self._toolkit.versions, _own_code(), self._toolkit.common_flags])[:40]
        return f"cuda-{name}-{key}"

    def _part(self, name: str, spent: dict[str, float]) -> None:
        spent[name] = 0.0

        def write(folder: Path) -> None:
            spent[name] = getattr(self, f"_make_{name}")(folder)

        self._parts[name] = self._cache.get_or_make(self._key(name), write)

    def _make_index(self, folder: Path) -> float:
        index = make_index(self._toolkit.torch / "include")
        (folder / "index.json").write_text(index.to_json(), encoding="utf-8")
        _write_all(folder / "include", render(index, set()))
        return 0.0

    def _make_binding(self, folder: Path) -> float:
        return self._make(
            folder, self._toolkit.torch_includes, ["-O1", str(SIMULATOR / "binding" / "binding.cpp")], "binding.o"
        )

    def _make_prelude(self, folder: Path) -> float:
        (folder / _PRELUDE).write_text(f'#include "{SIMULATOR / "binding" / "bindable.h"}"\n', encoding="utf-8")
        return self._make(
            folder, self._includes(self._parts["index"]), ["-x", "c++-header", _PRELUDE], f"{_PRELUDE}.gch"
        )

    def _make(self, folder: Path, includes: Sequence[Path], arguments: list[str], output: str) -> float:
        toolkit = self._toolkit
        system = [f"-isystem{p}" for p in (*includes, *toolkit.cuda_includes, toolkit.python_include)]
        mode = [] if output.endswith(".gch") else ["-c", "-fvisibility=hidden"]
        flags = [*toolkit.common_flags, *system, "-fPIC", f"-std={toolkit.standard}"]
        command = [toolkit.compiler, *flags, *mode, *arguments, "-o", output]
        ran = run_compiler(command, folder, _PREPARE_SECONDS)
        if ran.returncode != 0:
            first = next((row for row in ran.log.splitlines() if "error" in row), "no message")
            raise NotJudged(f"a shared part of the cuda toolchain ({output}) did not build: {first[:300]}")
        return ran.cpu_seconds


def _write_all(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _own_code() -> str:
    """Hash of what the shared parts are made by."""
    here = Path(__file__).parent
    files = [here / "cuda_slim.py", here / "cuda_tiers.py", *sorted((SIMULATOR / "binding").glob("b*"))]
    return content_hash([path.read_text(encoding="utf-8") for path in files])
