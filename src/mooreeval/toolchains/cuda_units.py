"""From recorded sources to the files that nvcc and g++ read: what PyTorch's load_inline writes, with #line in between.

load_inline joins all C++ strings into main.cpp, with the bindings at the end, and all CUDA strings into cuda.cu; `load`
compiles each file by itself. The names in #line are what diagnostics call the sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mooreeval.errors import NotJudged
from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.record import IMPLICIT_CPP, IMPLICIT_CUDA

BINDINGS = "bindings"


@dataclass(frozen=True)
class Unit:
    """One translation unit: `name` of its file, which compiler reads it, and its text."""

    name: str
    cuda: bool
    text: str

    @property
    def object_name(self) -> str:
        return f"{self.name}.o"


def units_of(extension: Extension, bindings: Sequence[str]) -> list[Unit]:
    """The translation units, C++ first. `bindings`: lines that make a module of the listed functions."""
    sources = extension.sources
    cpp = [s for s in sources if s.name.startswith("cpp_sources[")]
    cuda = [s for s in sources if s.name.startswith("cuda_sources[")]
    files = [s for s in sources if s not in cpp and s not in cuda]
    units = []
    if not files:
        tail = [f'#line 1 "{BINDINGS}"', *bindings] if extension.functions is not None else []
        units.append(Unit("main.cpp", False, _joined(_implicit(extension, IMPLICIT_CPP), cpp, tail)))
    if cuda:
        units.append(Unit("cuda.cu", True, _joined(_implicit(extension, IMPLICIT_CUDA), cuda, [])))
    for number, file in enumerate(files):
        name = f"{number}-{re.sub(r'[^A-Za-z0-9_.-]', '_', file.name)}"
        units.append(Unit(name, file.language == "cuda", _joined([], [file], [])))
    return units


def _implicit(extension: Extension, lines: str) -> list[str]:
    return [lines] if extension.implicit_headers else []


def _joined(head: list[str], sources: Sequence[Source], tail: list[str]) -> str:
    parts = [*head]
    for source in sources:
        parts += [f"#line 1 {quoted(source.name)}", text_of(source)]
    return "\n".join([*parts, *tail, ""])


def text_of(source: Source) -> str:
    return source.text.replace("\0", " ").replace("\r\n", "\n")


def write_headers(extension: Extension, folder: Path) -> None:
    """The candidate's own headers, where a quoted include finds them."""
    for header in extension.headers:
        path = folder / header.name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise NotJudged(f"header {header.name[:100]} lies outside of the candidate's folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#line 1 {quoted(header.name)}\n{text_of(header)}\n", encoding="utf-8", errors="replace")


def pybind_bindings(extension: Extension) -> list[str]:
    """The module as load_inline writes it."""
    functions = extension.functions or ()
    lines = [f"m.def({quoted(f)}, torch::wrap_pybind_function({f}), {quoted(doc)});" for f, doc in functions]
    return ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"]


def light_bindings(extension: Extension, module: str) -> list[str]:
    """The same module without pybind11's templates: see simulator/binding/bindable.h."""
    functions = extension.functions or ()
    rows = [f"::moore_sim::binding::describe({quoted(f)}, &{f}, {quoted(doc)})," for f, doc in functions]
    return [
        f'extern "C" __attribute__((visibility("default"))) void* PyInit_{module}() {{',
        "static const ::moore_sim::binding::Function moore_functions[] = {", *rows, "{} };",
        f"return ::moore_sim::binding::moore_binding_module({quoted(module)}, moore_functions, {len(functions)});",
        "}",
    ]  # fmt: skip


def quoted(text: str) -> str:
    """A C++ string literal."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1] if text.isprintable() and text.isascii() else None
    if plain is None:
        plain = re.sub(r'[^ -~]|["\\]', lambda m: "".join(f"\\{b:03o}" for b in m[0].encode("utf-8", "replace")), text)
    return f'"{plain}"'


def sources_by_name(extension: Extension) -> dict[str, str]:
    return {s.name: text_of(s) for s in (*extension.sources, *extension.headers)}
