"""What needs no compiler to be refused, alike for every toolchain: flags, size, calls that PyTorch cannot build."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mooreeval.toolchains.base import BuildFailure, Extension, Source
from mooreeval.verdict import Diagnostic, Place

MAX_SOURCE_CHARS = 1 << 20
MAX_NESTING = 2000  # brackets within brackets; parsers recurse, and g++ crashes some ten thousand deep


def refused_unread(extension: Extension, illegal_flags: Sequence[str]) -> BuildFailure | None:
    """A flag that is not allowed, more source than anyone reads, or CUDA that PyTorch gives to no compiler of CUDA."""
    if illegal_flags:
        return BuildFailure("illegal", f"compiler flag not allowed: {illegal_flags[0][:200]}", rule="compiler_flag")
    if failure := beyond_reading(extension):
        return failure
    if not extension.with_cuda and any(source.language == "cuda" for source in extension.sources):
        # torch.utils.cpp_extension calls g++ for it, which takes a .cu for an object file and skips it; the linker
        # then misses what was to be made of it.
        reason = "with_cuda=False leaves CUDA sources to the C++ compiler, which does not read them: leave it out"
        return BuildFailure("compile_error", reason)
    return None


def beyond_reading(extension: Extension) -> BuildFailure | None:
    """More source, or deeper in brackets, than is read or built by anyone here."""
    texts = [source.text for source in (*extension.sources, *extension.headers)]
    if sum(map(len, texts)) > MAX_SOURCE_CHARS:
        return BuildFailure("unsupported", "more than a million characters of source", feature="source too large")
    if any(_nesting(text) > MAX_NESTING for text in texts):
        return BuildFailure("unsupported", f"brackets are nested more than {MAX_NESTING} deep", feature="nesting")
    return None


def _nesting(text: str) -> int:
    """How deep brackets stand within brackets, those of comments and strings included."""
    depth = deepest = 0
    for bracket in re.findall(r"[(\[{}\])]", text):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def illegal(rule: str, message: str, places: Sequence[Place]) -> BuildFailure:
    """A broken rule, with the places that show it."""
    marks = tuple(Diagnostic(severity="error", message=message, place=place) for place in places[:20])
    return BuildFailure("illegal", f"{places[0]}: {message}", rule=rule, diagnostics=marks)


def illegal_include(source: Source, path: str, line: int) -> BuildFailure:
    """An include that reaches beyond the toolkit, PyTorch and the candidate's own files."""
    return illegal("include_path", f"#include of {path[:200]} leaves the toolkit", [place_in(source, line)])


def place_in(source: Source, line: int) -> Place:
    """A line of a source, with its text as a terminal may show it."""
    rows = source.text.split("\n")
    row = rows[line - 1].strip()[:200] if 0 < line <= len(rows) else ""
    return Place(file=source.name, line=line, text=re.sub(r"[^\x20-\x7e]", "?", row) or None)
