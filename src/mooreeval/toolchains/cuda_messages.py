"""What nvcc's programs and the linker said, as messages at places in the candidate's sources.

EDG (cudafe++, cicc)  k.cu(12): error: identifier "x" is undefined      and its "detected during ... at line 30"
g++                   k.cu:12:5: error: 'x' was not declared in this scope
ptxas                 ptxas error   : Entry function '_Z1kv' uses too much shared data
ld, nvlink            undefined reference to `f(int)'
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from mooreeval.toolchains import simulator_messages
from mooreeval.toolchains.simulator_messages import Message, diagnostics
from mooreeval.verdict import Place

__all__ = ["Message", "diagnostics", "errors_of", "parse", "undefined_names"]

_EDG = re.compile(
    r"(?P<file>[^\n()]+)\((?P<line>\d+)\): (?P<kind>error|warning|catastrophic error|internal error|remark)"
    r"(?: #(?P<number>[\w-]+))?: (?P<text>.*)"
)
_DURING = re.compile(r".*\bat line (?P<line>\d+)(?: of (?P<file>\S.*?))?\s*$")
_PTXAS = re.compile(r"ptxas (?:\S+, line \d+; )?(?P<kind>error|warning|fatal)\s*: (?P<text>.*)")
_NVLINK = re.compile(r"nvlink (?P<kind>error|warning|fatal)\s*: (?P<text>.*)")
_NVCC = re.compile(r"nvcc (?P<kind>fatal|error)\s*: (?P<text>.*)")
_UNDEFINED = re.compile(r"(?:(?P<place>\S+):\d+: )?.*undefined reference to [`'](?P<name>.+)'$")
_TWICE = re.compile(r".*(?P<text>multiple definition of [`'][^'\n]+').*")
_NOT_FOUND = re.compile(r".*ld(?:\.\w+)?: (?:error: )?(?P<text>cannot find -l[^\s:]+).*")
_MANGLED = re.compile(r"\b_Z\w+")


def parse(log: str, sources: Mapping[str, str]) -> list[Message]:
    """All messages in the order in which they were written. `sources`: texts by the names given in #line."""
    lines = {name: text.split("\n") for name, text in sources.items()}
    messages = list(simulator_messages.parse(log, sources))
    rows = log.splitlines()
    for number, row in enumerate(rows):
        if found := _EDG.fullmatch(row):
            messages.append(_edg_message(found, rows[number + 1 :], lines))
        elif found := _PTXAS.fullmatch(row) or _NVLINK.fullmatch(row) or _NVCC.fullmatch(row):
            if message := _unplaced(found):
                messages.append(message)
        elif found := _TWICE.fullmatch(row) or _NOT_FOUND.fullmatch(row):
            messages.append(Message("error", found["text"], "", 0, None))
    return messages


def errors_of(messages: list[Message]) -> list[Message]:
    """The errors; those that only follow from others are behind the others."""
    errors = [m for m in messages if m.severity == "error"]
    return sorted(errors, key=lambda m: m.text.startswith(("Ptx assembly aborted", "ld returned")))


def undefined_names(log: str) -> list[str]:
    """What the linker did not find, demangled, each once."""
    found = (_UNDEFINED.fullmatch(row) for row in log.splitlines())
    return list(dict.fromkeys(match["name"] for match in found if match))


def _edg_message(found: re.Match[str], following: list[str], lines: Mapping[str, list[str]]) -> Message:
    kind: Any = {"remark": "note", "warning": "warning"}.get(found["kind"], "error")
    place = _place(found["file"], int(found["line"]), lines)
    return Message(
        kind, found["text"], found["file"], int(found["line"]), place or _caller(found["file"], following, lines)
    )


def _caller(file: str, following: list[str], lines: Mapping[str, list[str]]) -> Place | None:
    """The candidate's own line that led to a message about a header: the first in its notes."""
    for row in following:
        if not row.strip() or not row.startswith((" ", "\t")):
            return None
        if found := _DURING.fullmatch(row):
            file = found["file"] or file  # a line of the same file is told without its name
            if place := _place(file, int(found["line"]), lines):
                return place
    return None


def _place(file: str, number: int, lines: Mapping[str, list[str]]) -> Place | None:
    if file not in lines:
        return None
    text = lines[file][number - 1].strip()[:200] if 0 < number <= len(lines[file]) else None
    return Place(file=file, line=number, text=text or None)


def _unplaced(found: re.Match[str]) -> Message | None:
    severity: Any = "warning" if found["kind"] == "warning" else "error"
    return Message(severity, demangled(found["text"]).strip(), "", 0, None)


def demangled(text: str) -> str:
    """Names of functions as they were written, where binutils is installed."""
    tool = shutil.which("c++filt")
    names = set(_MANGLED.findall(text))
    if not tool or not names:
        return text
    for name in names:
        done = subprocess.run([tool, name], capture_output=True, text=True, check=False, timeout=10)
        text = text.replace(name, done.stdout.strip() or name)
    return text
