"""The tier `slim`: PyTorch's own declarations of what the sources name, and bindings that are compiled already."""

from __future__ import annotations

import re
from pathlib import Path

from mooreeval.cache import FileCache
from mooreeval.toolchains.build_pool import BuildPool
from mooreeval.toolchains.cuda_slim import COMMON, Index, make_index, render, words_of
from mooreeval.toolchains.cuda_slim_rules import reason_for_full
from mooreeval.toolchains.cuda_tiers import SharedParts, gxx_command, link, nvcc_command, write_all
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_units import Unit, light_bindings, sources_by_name, units_of, write_headers
from mooreeval.toolchains.cuda_workshop import Job, Phase, Workshop, texts_of, write_unit
from mooreeval.toolchains.simulator_parts import SIMULATOR

BINDING = SIMULATOR / "binding"
PRELUDE = "prelude.h"
_NAMES_PYTHON = re.compile(r"\bPYBIND11_MODULE\b|\bpy::|\bpybind11\b")


class SlimTier:
    """See `Tier`."""

    name = "slim"

    def __init__(self, toolkit: Toolkit, cache: FileCache, pool: BuildPool) -> None:
        here = Path(__file__).parent
        code = [here / "cuda_slim.py", here / "cuda_slim_tier.py", here / "cuda_tiers.py", *BINDING.glob("b*")]
        self._toolkit, self._parts = toolkit, SharedParts(toolkit, cache, pool, code)
        self._index: Index | None = None

    def prepare(self) -> dict[str, float]:
        """The index of PyTorch's headers, slim headers for common sources, precompiled, and the bindings."""
        if self._index is None or not self.is_prepared():  # what others keep may have pushed them out of the cache
            folder = self._parts.part("slim-index", self._make_index)
            self._parts.part("slim-binding", self._make_binding)
            self._parts.part("slim-prelude", self._make_prelude)
            self._index = Index.from_json((folder / "index.json").read_text(encoding="utf-8"))
            return dict(self._parts.cpu_seconds)
        return dict.fromkeys(self._parts.paths, 0.0)

    def is_prepared(self) -> bool:
        return self._parts.has("slim-index", "slim-binding", "slim-prelude")

    @property
    def index(self) -> Index:
        self.prepare()
        assert self._index is not None
        return self._index

    def takes(self, job: Job) -> bool:
        # Without CUDA the full build is without CUDA's headers.
        return job.extension.with_cuda and reason_for_full(job.extension, job.flags.defined, self.index) is None

    def build(self, job: Job, workshop: Workshop, suspect: Phase | None) -> None:
        bindings = light_bindings(job.extension, job.module)
        units, texts = units_of(job.extension, bindings), texts_of(job, bindings)
        write_headers(job.extension, workshop.folder)
        ready = COMMON | set(self.index.needed)
        words = words_of([*sources_by_name(job.extension).values(), *job.flags.device, *job.flags.host])
        common = self._parts.paths["slim-index"] / "include"
        headers = common if words & self.index.names <= ready else self._headers_for(words, workshop.folder)
        for unit in units:  # C++ first: it costs a second
            write_unit(unit, workshop.folder)
            if unit.cuda:
                workshop.compile("cuda", self._nvcc(job, unit, headers), texts)
            else:
                is_common = words_of([unit.text, *job.flags.host]) & self.index.names <= ready
                workshop.compile("c++", self._gxx(job, unit, common if is_common else headers, is_common), texts)
        binding = self._parts.paths["slim-binding"] / "binding.o"
        link(job, workshop, [*(unit.object_name for unit in units), str(binding)], fast=True)

    def _headers_for(self, words: set[str], scratch: Path) -> Path:
        folder = scratch / "slim"
        write_all(folder, render(self.index, words))
        return folder

    def _nvcc(self, job: Job, unit: Unit, headers: Path) -> list[str]:
        includes = [headers, *self._toolkit.torch_includes]
        command = nvcc_command(self._toolkit, job, includes, unit.name, unit.object_name, "-c")
        if _NAMES_PYTHON.search(unit.text):
            command[1:1] = ["-I", str(BINDING), "-include", "bindable.h"]
        return command

    def _gxx(self, job: Job, unit: Unit, headers: Path, is_common: bool) -> list[str]:
        prelude = ["-include", str(self._parts.paths["slim-prelude"] / PRELUDE)]
        first = prelude if is_common else ["-I", str(BINDING), "-include", "bindable.h"]
        arguments = [*first, "-c", unit.name, "-o", unit.object_name]
        return gxx_command(self._toolkit, job, [headers, *self._toolkit.torch_includes], arguments)

    def _make_index(self, folder: Path) -> float:
        index = make_index(self._toolkit.torch / "include")
        (folder / "index.json").write_text(index.to_json(), encoding="utf-8")
        write_all(folder / "include", render(index, set()))
        return 0.0

    def _make_binding(self, folder: Path) -> float:
        return self._parts.compile(folder, self._toolkit.torch_includes, [str(BINDING / "binding.cpp")], "binding.o")

    def _make_prelude(self, folder: Path) -> float:
        (folder / PRELUDE).write_text(f'#include "{BINDING / "bindable.h"}"\n', encoding="utf-8")
        includes = [self._parts.paths["slim-index"] / "include", *self._toolkit.torch_includes]
        return self._parts.compile(folder, includes, ["-x", "c++-header", PRELUDE], f"{PRELUDE}.gch")
