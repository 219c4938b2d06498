"""What a candidate may ask of the compiler: flags by allow-list, includes that stay inside.

Flags that only tune nvcc or the host compiler mean nothing to the simulator and are dropped; definitions are kept.
Everything else could reach the machine that compiles (plug-ins, response files, other inputs) and is illegal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from mooreeval.simulator.rewrite import Tokens
from mooreeval.toolchains.compiler_flags import Flag, compiler_flags, linker_flags

_MEANINGLESS = re.compile(r"TORCH_USE_CUDA_DSA|_GLIBCXX_USE_CXX11_ABI|_GNU_SOURCE|__STDC_\w+")
# What every extension is linked to in any case.
_LINKED_ANYWAY = re.compile(r"c10\w*|torch\w*|cuda|cudart")


@dataclass
class Flags:
    """A candidate's flags, sorted."""

    defines: list[str] = field(default_factory=list)  # preprocessor lines
    illegal: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def sort_flags(cflags: Iterable[str], cuda_cflags: Iterable[str], ldflags: Iterable[str]) -> Flags:
    """What is to be defined, what is illegal, and what is ignored with a word about it."""
    flags = Flags()
    for flag in (*compiler_flags(cflags), *compiler_flags(cuda_cflags)):
        _sort_flag(flag, flags)
    for flag in linker_flags(ldflags):
        if flag.kind == "illegal":
            flags.illegal.append(flag.text)
        elif flag.kind == "library" and not _LINKED_ANYWAY.fullmatch(flag.name):
            flags.warnings.append(_ignored_library(flag))
    return flags


def _sort_flag(flag: Flag, flags: Flags) -> None:
    if flag.kind == "illegal":
        flags.illegal.append(flag.text)
    elif flag.kind == "include":
        flags.warnings.append(f"include folder {flag.name[:200]} is ignored")
    elif flag.kind == "library":
        flags.warnings.append(_ignored_library(flag))
    elif flag.kind in ("define", "undefine") and not _MEANINGLESS.fullmatch(flag.name):
        value = f"{flag.parameters} {flag.value}" if flag.kind == "define" else ""
        flags.defines.append(f"#{flag.kind.replace('undefine', 'undef')} {flag.name}{value}")


def _ignored_library(flag: Flag) -> str:
    return f"{flag.text} is ignored: the simulator links no such library"


def foreign_includes(tokens: Tokens) -> list[tuple[str, int]]:
    """(path, line) of each include that names a place outside: an absolute path, `..`, or a computed name."""
    found = []
    for first in tokens.directive_first[1:]:
        if tokens[first + 1] not in ("include", "include_next", "import", "embed"):
            continue
        last = first + 1
        while last + 1 < len(tokens) and tokens.same_line_of_code(last + 1, first):
            last += 1
        path = tokens.text[tokens.ends[first + 1] : tokens.ends[last]].strip()
        plain = re.match(r"<([^>]*)>|\"([^\"]*)\"", path)
        name = (plain[1] or plain[2] or "") if plain else path
        if not plain or name.startswith(("/", "~")) or ".." in name.split("/") or "\\" in name:
            found.append((name, tokens.line(first)))
    return found
