"""The tier `mini`: a small tensor header of our own (cuda_include/moore_mini) over functions that are compiled already.

No header of PyTorch's is read for a candidate. What the header declares means what PyTorch's own means: it is defined
by calls of PyTorch's operators, once for each installation, and linked into each module. It takes fewer sources than
slim headers do: those whose names of PyTorch's it all knows, see `reason_against`. Standard headers that PyTorch's
bring along are included where a source names something of them.
"""

from __future__ import annotations

import re
from pathlib import Path

from mooreeval.cache import FileCache
from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.build_pool import BuildPool
from mooreeval.toolchains.cuda_slim import Index
from mooreeval.toolchains.cuda_slim_rules import INCLUDE, PYTORCHS, SCOPED, plain
from mooreeval.toolchains.cuda_slim_tier import BINDING, PRELUDE, SlimTier
from mooreeval.toolchains.cuda_tiers import SharedParts, gxx_command, link, nvcc_command, write_all
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_units import Unit, light_bindings, sources_by_name, units_of, write_headers
from mooreeval.toolchains.cuda_workshop import Job, Phase, Workshop, texts_of, write_unit

INCLUDES = Path(__file__).parent / "cuda_include"
_BINDABLE = f'#include "{BINDING / "bindable.h"}"\n'
# PyTorch's headers, and what stands for them.
_HEADERS = {
    **dict.fromkeys(
        ("torch/extension.h", "torch/types.h", "torch/all.h", "torch/torch.h", "ATen/ATen.h", "ATen/core/Tensor.h"),
        ("names",),
    ),
    "ATen/Dispatch.h": ("names",),
    "c10/util/Exception.h": ("names",),
    "c10/cuda/CUDAException.h": ("names", "check"),
    "c10/cuda/CUDAFunctions.h": ("names", "check"),
    "c10/cuda/CUDAStream.h": ("names", "stream"),
    "c10/cuda/CUDAGuard.h": ("names", "guard"),
    "ATen/cuda/CUDAContext.h": ("names", "context"),
}
_NAMES = frozenset(
    """
    Tensor TensorOptions Device DeviceType DeviceIndex ScalarType Dtype MemoryFormat IntArrayRef ArrayRef Scalar
    optional nullopt dtype device cuda device_of empty zeros ones full empty_like zeros_like ones_like matmul mm bmm
    sum mean Half BFloat16 kByte kChar kShort kInt kLong kHalf kFloat kDouble kBool kBFloat16 kCPU kCUDA kUInt8
    kInt8 kInt16 kInt32 kInt64 kFloat16 kFloat32 kFloat64 kU8 kI8 kI16 kI32 kI64 kF16 kF32 kF64
    """.split()
)
_CUDA_NAMES = frozenset(
    """
    CUDAStream CUDAGuard OptionalCUDAGuard getCurrentCUDAStream current_device device_count getCurrentDeviceProperties
    """.split()
)
_MACROS = frozenset(
    """
    TORCH_CHECK TORCH_INTERNAL_ASSERT AT_ASSERTM AT_ERROR AT_DISPATCH_FLOATING_TYPES AT_DISPATCH_INTEGRAL_TYPES
    AT_DISPATCH_ALL_TYPES AT_DISPATCH_FLOATING_TYPES_AND_HALF C10_CUDA_CHECK C10_CUDA_KERNEL_LAUNCH_CHECK AT_CUDA_CHECK
    TORCH_EXTENSION_NAME
    """.split()
)
_MACRO = re.compile(r"\b(?:TORCH|AT|C10|CAFFE2)_[A-Z0-9_]+\b")
_TAKES_TENSORS = re.compile(r"\b(\w+)\s*\([^()]*\bTensor\b")
_HALVES = re.compile(r"\b(?:Half|BFloat16)\b|_AND_HALF\b")
# What PyTorch's headers bring along, by words that need it.
_STANDARD = {
    "algorithm": r"\b(?:min|max|sort|swap|fill|copy|clamp|reverse|transform|all_of|any_of|find|count)\b",
    "array": r"\barray\b",
    "climits": r"\b(?:U?(?:CHAR|SHRT|INT|LONG|LLONG)_(?:MAX|MIN))\b",
    "cmath": r"\b(?:INFINITY|NAN|HUGE_VAL|M_[A-Z0-9_]+|std)\b",
    "cstdlib": r"\b(?:malloc|free|abort|exit|rand|atoi|getenv|abs)\b",
    "cstring": r"\b(?:memcpy|memset|memcmp|strcmp|strlen)\b",
    "functional": r"\bfunction\b",
    "iostream": r"\b(?:cout|cerr|endl)\b",
    "limits": r"\bnumeric_limits\b",
    "map": r"\bmap\b",
    "memory": r"\b(?:unique_ptr|shared_ptr|make_unique|make_shared)\b",
    "mutex": r"\b(?:mutex|lock_guard|unique_lock)\b",
    "numeric": r"\b(?:accumulate|iota|gcd|lcm)\b",
    "sstream": r"\b[io]?stringstream\b",
    "string": r"\b(?:string|to_string|sto[ifdlu]\w*)\b|\bstr\s*\(",
    "stdexcept": r"\b(?:runtime_error|invalid_argument|logic_error|out_of_range)\b",
    "unordered_map": r"\bunordered_map\b",
    "unordered_set": r"\bunordered_set\b",
}


class MiniTier:
    """See `Tier`."""

    name = "mini"

    def __init__(self, toolkit: Toolkit, cache: FileCache, pool: BuildPool, slim: SlimTier) -> None:
        here = Path(__file__).parent
        own = [*(INCLUDES / "moore_mini").iterdir(), *BINDING.glob("b*")]
        code = [here / "cuda_mini.py", here / "cuda_tiers.py", *own]
        self._toolkit, self._slim, self._parts = toolkit, slim, SharedParts(toolkit, cache, pool, code)

    def prepare(self) -> dict[str, float]:
        """Headers by PyTorch's names, the functions behind them, the bindings, and a precompiled header."""
        spent = self._slim.prepare()
        if not self._parts.paths or not self._has_parts():
            self._parts.part("mini-headers", _make_headers)
            self._parts.part("mini-shim", self._make_shim)
            self._parts.part("mini-binding", self._make_binding)
            self._parts.part("mini-prelude", self._make_prelude)
            return {**spent, **self._parts.cpu_seconds}
        return {**spent, **dict.fromkeys(self._parts.paths, 0.0)}

    def is_prepared(self) -> bool:
        return self._slim.is_prepared() and self._has_parts()

    def _has_parts(self) -> bool:
        return self._parts.has("mini-headers", "mini-shim", "mini-binding", "mini-prelude")

    def takes(self, job: Job) -> bool:
        if not self._slim.takes(job):
            return False
        return reason_against(job.extension, self._slim.index) is None

    def build(self, job: Job, workshop: Workshop, suspect: Phase | None) -> None:
        self.prepare()
        bindings = light_bindings(job.extension, job.module)
        units, texts = units_of(job.extension, bindings), texts_of(job, bindings)
        write_headers(job.extension, workshop.folder)
        halves = any(_HALVES.search(text) for text in texts.values())
        for unit in units:
            write_unit(unit, workshop.folder)
            phase: Phase = "cuda" if unit.cuda else "c++"
            workshop.compile(phase, self._command(job, unit, workshop.folder, halves), texts)
        paths = self._parts.paths
        shared = [str(paths["mini-shim"] / "shim.o"), str(paths["mini-binding"] / "binding.o")]
        link(job, workshop, [*(unit.object_name for unit in units), *shared], drop_unused=True)

    def _command(self, job: Job, unit: Unit, folder: Path, halves: bool) -> list[str]:
        headers = self._parts.paths["mini-headers"] / "include"
        # PyTorch's own folders come last, for its number formats alone.
        includes = [headers, INCLUDES, *(self._toolkit.torch_includes if halves else ())]
        define = ["-DMOORE_MINI_HALVES"] if halves else []
        if unit.cuda or halves:
            first = folder / f"{unit.name}.h"
            first.write_text(_standard_headers(unit.text) + ("" if unit.cuda else _BINDABLE), encoding="utf-8")
            if unit.cuda and re.search(r"\bPYBIND11_MODULE\b|\bpy::|\bpybind11\b", unit.text):
                first.write_text(_standard_headers(unit.text) + _BINDABLE, encoding="utf-8")
            before = [*define, "-include", first.name]
        else:
            before = ["-include", str(self._parts.paths["mini-prelude"] / PRELUDE)]
        if unit.cuda:
            command = nvcc_command(self._toolkit, job, includes, unit.name, unit.object_name, "-c")
            return [command[0], *before, *command[1:]]
        return gxx_command(self._toolkit, job, includes, [*before, "-c", unit.name, "-o", unit.object_name])

    def _make_shim(self, folder: Path) -> float:
        source = str(INCLUDES / "moore_mini" / "shim.cpp")
        return self._parts.compile(folder, self._toolkit.torch_includes, [source], "shim.o")

    def _make_binding(self, folder: Path) -> float:
        casters = ["-DMOORE_BINDING_TENSORS=moore_mini", "-include", str(INCLUDES / "moore_mini" / "casters.h")]
        arguments = [*casters, str(BINDING / "binding.cpp")]
        return self._parts.compile(folder, self._toolkit.torch_includes, arguments, "binding.o")

    def _make_prelude(self, folder: Path) -> float:
        text = "".join(f"#include <{header}>\n" for header in _STANDARD) + _BINDABLE
        (folder / PRELUDE).write_text(text, encoding="utf-8")
        includes = [self._parts.paths["mini-headers"] / "include", INCLUDES]
        return self._parts.compile(folder, includes, ["-x", "c++-header", PRELUDE], f"{PRELUDE}.gch")


def _make_headers(folder: Path) -> float:
    files = {}
    for header, parts in _HEADERS.items():
        files[header] = "#pragma once\n" + "".join(f"#include <moore_mini/{part}.h>\n" for part in parts)
    write_all(folder / "include", files)
    return 0.0


def _standard_headers(text: str) -> str:
    return "".join(f"#include <{header}>\n" for header, words in _STANDARD.items() if re.search(words, text))


def reason_against(extension: Extension, index: Index) -> str | None:
    """What in the sources the small header does not know, in a few words; None where it seems to know all.

    What it lacks without being asked here does not compile. Asked are names whose absence could go unnoticed: macros
    that a source may test for, and functions of a candidate's own that PyTorch has too: calls may be ambiguous there.
    """
    own = {header.name for header in extension.headers}
    for text in sources_by_name(extension).values():
        for path in INCLUDE.findall(text):
            if path not in own and PYTORCHS.match(path) and path not in _HEADERS:
                return f"header {path}"
        code = plain(text)
        for _scope, cuda, name in SCOPED.findall(code):
            if name not in (_CUDA_NAMES if cuda else _NAMES):
                return f"torch's {name}"
        if unknown := next((word for word in _MACRO.findall(code) if word not in _MACROS), None):
            return unknown
        if same := next(
            (n for n in _TAKES_TENSORS.findall(code) if n in index.functions and _is_called(n, code)), None
        ):
            return f"a function {same} beside PyTorch's"
    return None


def _is_called(name: str, code: str) -> bool:
    """Is a function called by its bare name? What stands behind a type is its declaration."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*\(", code):
        before = code[: found.start()].rstrip()
        if before.endswith((".", "->", "::")):
            continue
        type_or_word = re.search(r"(?:\b(\w+)|<[^;(){}]*>)$", before)
        in_macro = code[code.rfind("\n", 0, found.start()) + 1 :].lstrip().startswith("#")
        if in_macro or not type_or_word or type_or_word[1] in ("return", "else", "do", "case"):
            return True
    return False
