"""From recorded sources to what g++ reads: rewritten text behind a prelude, bindings, one unit or several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from mooreeval.simulator.rewrite import Tokens, rewrite_tokens
from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.record import IMPLICIT_CPP, IMPLICIT_CUDA
from mooreeval.toolchains.simulator_flags import sort_flags
from mooreeval.toolchains.simulator_merge import can_merge, macros

BINDINGS = "bindings"
# Uses of what the precompiled header leaves out because it would multiply the cost of every build.
_NEEDS_PYTHON = re.compile(
    r"\bpy(?:bind11)?::(?!(?:arg|none|call_guard|gil_scoped_release|module_?|literals)\b)|\bPYBIND11_(?!MODULE\b)"
    r"|\bPy[A-Z_]\w+|wrap_pybind_function|[<\"](?:pybind11|torch/csrc)/"
)
_NEEDS_ALL_OF_TORCH = re.compile(
    r"\btorch::(?:nn|optim|data|jit|serialize|save|load|python|fft|linalg|special|autograd)\b|\brequires_grad\(\s*true"
)
_NEEDS_LIBRARY = re.compile(r"\bTORCH_(?:LIBRARY|SELECTIVE)\w*|\btorch::(?:Library|CppFunction|dispatch|schema)\b")


class Headers(IntEnum):
    """What a unit reads on top of the precompiled header; each includes the ones before it."""

    LIGHT = 0  # tensors and CUDA
    PYTHON = 1  # pybind11, and bindings by it
    ALL_OF_TORCH = 2  # all of <torch/extension.h>


@dataclass(frozen=True)
class Unit:
    """One translation unit."""

    text: str


def module_name(extension: Extension) -> str:
    """The extension's own name where it can be one; PyTorch would fail to import any other."""
    name = re.sub(r"\W", "_", extension.name, flags=re.ASCII) or "extension"
    return f"_{name}" if name[0].isdigit() else name


def headers_of(extension: Extension) -> Headers:
    """The least that the sources seem to need."""
    if _names(extension, _NEEDS_ALL_OF_TORCH):
        return Headers.ALL_OF_TORCH
    return Headers.PYTHON if _names(extension, _NEEDS_PYTHON) else Headers.LIGHT


def _names(extension: Extension, words: re.Pattern[str]) -> bool:
    return any(words.search(source.text) for source in (*extension.sources, *extension.headers))


def compose(extension: Extension, *, merged: bool, headers: Headers) -> list[Unit]:
    """The units of an extension. Merged, one unit costs half of two; apart is what PyTorch itself does.

    Bindings see the C++ sources only, as with PyTorch: they come before the CUDA sources.
    """
    groups = _groups(extension)
    parts = [_rewritten_group(extension, group, k) for k, group in enumerate(groups)]
    library = ['#include "with_library.h"'] if _names(extension, _NEEDS_LIBRARY) else []
    flags = ['#line 1 "flags"', f"#define TORCH_EXTENSION_NAME {module_name(extension)}"]
    head = "\n".join([*_HEADER_LINES[headers], *library, *flags]) + "\n"
    if extension.functions is not None:
        parts[0] += bindings(extension, headers)
    if merged and len(parts) > 1:
        return [Unit(head + "".join(map(_taken_back, [_names_set(extension, group) for group in groups], parts)))]
    return [Unit(head + "".join(parts))] if merged else [Unit(head + part) for part in parts]


def is_mergeable(extension: Extension) -> bool:
    """Whether `compose` may put all sources into one unit without a change of meaning."""
    return can_merge(extension, _groups(extension))


_HEADER_LINES: dict[Headers, list[str]] = {
    Headers.LIGHT: [],
    Headers.PYTHON: ['#include "with_python.h"'],
    Headers.ALL_OF_TORCH: ['#include "with_python.h"', '#include "with_whole_torch.h"'],
}


def _groups(extension: Extension) -> list[list[Source]]:
    """Sources that PyTorch joins into one file: all C++ strings, all CUDA strings; files stay apart."""
    cpp = [s for s in extension.sources if s.name.startswith("cpp_sources[")]
    cuda = [s for s in extension.sources if s.name.startswith("cuda_sources[")]
    files = [[s] for s in extension.sources if s not in cpp and s not in cuda]
    groups = [cpp] if cpp or extension.functions is not None or not extension.sources else []
    return groups + ([cuda] if cuda else []) + files


# What nvcc defines and the host's compiler, which reads the C++ sources, does not.
_OF_NVCC = (
    "__CUDACC__", "__NVCC__", "__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "__CUDACC_VER_BUILD__",
    "__CUDACC_EXTENDED_LAMBDA__", "__CUDACC_RELAXED_CONSTEXPR__", "__CUDA_ARCH__", "__CUDA_ARCH_LIST__",
    "__NVCC_DIAG_PRAGMA_SUPPORT__",
)  # fmt: skip


def _is_cuda(group: list[Source]) -> bool:
    return any(source.language == "cuda" for source in group)


def _directives(extension: Extension, group: list[Source]) -> list[str]:
    """What stands before the sources of one group: each compiler has its own flags and its own names."""
    if _is_cuda(group):
        return sort_flags((), extension.cuda_cflags, ()).defines
    return [*(f"#undef {name}" for name in _OF_NVCC), *sort_flags(extension.cflags, (), ()).defines]


def _names_set(extension: Extension, group: list[Source]) -> list[str]:
    """The macros that a group defines or takes back."""
    texts = ["\n".join(_directives(extension, group)), *(source.text for source in group)]
    return list(dict.fromkeys(name for text in texts for name in macros(text)))


def _taken_back(names: list[str], part: str) -> str:
    """A part of a unit behind which the macros are what they were before it."""
    before = "".join(f'#pragma push_macro("{name}")\n' for name in names)
    return before + part + "".join(f'#pragma pop_macro("{name}")\n' for name in names)


def _rewritten_group(extension: Extension, group: list[Source], number: int) -> str:
    lines = _directives(extension, group)
    if extension.implicit_headers and (not group or group[0].name.startswith(("cpp_sources[", "cuda_sources["))):
        lines.append(IMPLICIT_CUDA if _is_cuda(group) else IMPLICIT_CPP)
    # g++ compiles C++ sources in PyTorch too, and takes no launches: they stay as they are.
    texts = [
        rewritten(source, f"moore_shared_{number}_{k}_", cuda=source.language == "cuda")
        for k, source in enumerate(group)
    ]
    return "".join([*(f"{line}\n" for line in lines), *texts])


def rewritten(source: Source, prefix: str, *, cuda: bool = True) -> str:
    """One source as g++ reads it, under its own name; `prefix` begins the names that rewriting adds."""
    text = source.text.replace("\0", " ").replace("\r\n", "\n")
    if cuda:
        text = rewrite_tokens(Tokens(text), prefix=prefix)
    return f"#line 1 {_quoted(source.name)}\n{text}\n"


def bindings(extension: Extension, headers: Headers) -> str:
    """The module that `load_inline` makes of `functions`; without pybind11 where the headers are light."""
    functions, name = extension.functions or (), module_name(extension)
    if headers is not Headers.LIGHT:
        lines = [f"m.def({_quoted(f)}, torch::wrap_pybind_function({f}), {_quoted(doc)});" for f, doc in functions]
        lines = ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"]
    else:
        lines = [f"::moore_sim::binding::describe({_quoted(f)}, &{f}, {_quoted(doc)})," for f, doc in functions]
        lines = [
            f'extern "C" __attribute__((visibility("default"))) void* PyInit_{name}() {{',
            "static const ::moore_sim::binding::Function moore_functions[] = {", *lines, "{} };",
            f"return ::moore_sim::binding::moore_binding_module({_quoted(name)}, moore_functions, {len(functions)});",
            "}",
        ]  # fmt: skip
    return "\n".join([f'#line 1 "{BINDINGS}"', *lines, ""])


def _quoted(text: str) -> str:
    """A C++ string literal."""
    escaped = re.sub(r'[^ -~]|["\\]', lambda m: "".join(f"\\{b:03o}" for b in m[0].encode("utf-8", "replace")), text)
    return f'"{escaped}"'
