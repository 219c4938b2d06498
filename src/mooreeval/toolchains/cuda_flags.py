"""What a candidate's flags come to for nvcc, for g++ and for the linker."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.compiler_flags import Flag, compiler_flags, linker_flags
from mooreeval.toolchains.cuda_toolkit import Toolkit

# They only say more, keep files, or take more processors than a build is given.
_DROPPED = re.compile(
    r"--?(?:threads|t|split-compile)(?:[= ].*)?|-t\d+|-v|--?(?:keep|verbose|resource-usage)|-diagnostics-color.*"
)
# Code for the machine that compiles need not run on the one that has the GPU.
_OF_THIS_MACHINE = re.compile(r"-m(?:arch|tune|cpu)=native")
_LINKED_ANYWAY = re.compile(r"c10(?:_cuda)?|torch(?:_cpu|_cuda|_python)?|cudart")
_OF_THE_SYSTEM = re.compile(r"m|pthread|dl|rt|stdc\+\+|gomp")


@dataclass
class CudaFlags:
    """A candidate's flags, sorted. `missing`: libraries of NVIDIA's that it asks for and this machine lacks."""

    host: list[str] = field(default_factory=list)  # for g++
    device: list[str] = field(default_factory=list)  # for nvcc
    link: list[str] = field(default_factory=list)
    illegal: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    specific: bool = False  # it asks for the target's architecture with all that only this one has: sm_90a
    defined: set[str] = field(default_factory=set)  # names that are defined or undefined

    @property
    def everything(self) -> list[list[str]]:
        return [self.host, self.device, self.link]


def cuda_flags(extension: Extension, toolkit: Toolkit) -> CudaFlags:
    """What is passed on, what is illegal, and what is replaced or ignored with a word about it."""
    flags = CudaFlags()
    for given, kept in ((extension.cflags, flags.host), (extension.cuda_cflags, flags.device)):
        for flag in compiler_flags(given):
            _sort(flag, kept, flags, toolkit)
    for flag in linker_flags(extension.ldflags):
        if flag.kind == "illegal":
            flags.illegal.append(flag.text)
        elif flag.kind == "library":
            _link(flag, flags, toolkit)
        elif flag.kind == "harmless":
            flags.link.extend(flag.words)
    return flags


def _sort(flag: Flag, kept: list[str], flags: CudaFlags, toolkit: Toolkit) -> None:
    if flag.kind == "illegal":
        flags.illegal.append(flag.text)
    elif flag.kind in ("define", "undefine"):
        flags.defined.add(flag.name)
        value = f"{flag.parameters}={flag.value}" if flag.kind == "define" else ""
        kept.append(f"-{'D' if flag.kind == 'define' else 'U'}{flag.name}{value}")
    elif flag.kind == "architecture":
        number = toolkit.arch.replace(".", "")
        flags.specific = flags.specific or f"{number}a" in flag.text
        if not flags.specific and f"sm_{number}" not in flag.text:
            flags.warnings.append(f"{flag.text[:200]} is replaced: the target is compute capability {toolkit.arch}")
    elif flag.kind == "include":
        flags.warnings.append(f"include folder {flag.name[:200]} is ignored")
    elif flag.kind == "library":
        flags.warnings.append(f"{flag.text} is no flag of a compiler and is ignored: it belongs into extra_ldflags")
    elif _OF_THIS_MACHINE.fullmatch(flag.text):
        flags.warnings.append(f"{flag.text} is ignored: the code may run on another machine")
    elif flag.kind == "harmless" and not _DROPPED.fullmatch(flag.text):
        kept.extend(flag.words)


def _link(flag: Flag, flags: CudaFlags, toolkit: Toolkit) -> None:
    if _LINKED_ANYWAY.fullmatch(flag.name):
        return
    if _OF_THE_SYSTEM.fullmatch(flag.name):
        flags.link.append(flag.text)
    elif found := toolkit.library(flag.name):
        flags.link.extend(found)
    else:
        flags.missing.append(flag.text)
