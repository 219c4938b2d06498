"""What g++ said, as messages at places in the candidate's sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mooreeval.toolchains.locate import BINDINGS, bound_name, defines
from mooreeval.verdict import Diagnostic, Place

MAX_DIAGNOSTICS = 20
_MESSAGE = re.compile(
    r"(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<kind>fatal error|internal compiler error|error|warning|note): (?P<text>.*)"
)
_REQUIRED = re.compile(
    r"(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)?\s+(?:recursively )?required (?:from|by)\b.*"
)
_UNDECLARED = re.compile(r"'(?P<name>[^']+)' was not declared in this scope(?P<hint>; did you mean '[^']+'\?)?")
_UNPLACED = re.compile(
    r"(?:cc1plus|g\+\+|collect2|as|ld)[\w.-]*: "
    r"(?P<kind>fatal error|error|warning|internal compiler error): (?P<text>.*)"
)


@dataclass(frozen=True)
class Message:
    """One message; `file` is where the compiler saw it, `place` where in the candidate's sources it comes from."""

    severity: Literal["error", "warning", "note"]
    text: str
    file: str
    line: int
    place: Place | None
    told: str = ""  # the text in words for people, where g++'s speak of code that nobody wrote

    @property
    def is_own(self) -> bool:
        """Did the compiler stumble in the candidate's own line, not in a header that the line led to?"""
        return self.place is not None and self.place.file == self.file and self.place.line == self.line


def parse(log: str, sources: Mapping[str, str]) -> list[Message]:
    """Messages in the order in which g++ wrote them. `sources` are the texts by the names given in #line."""
    lines = {name: text.split("\n") for name, text in sources.items()}
    messages: list[Message] = []
    required: Place | None = None
    for row in log.splitlines():
        if found := _REQUIRED.fullmatch(row):
            required = _place(found, lines) or required
        elif found := _MESSAGE.fullmatch(row):
            own = _place(found, lines)
            kind: Any = found["kind"].split()[-1]
            told = _told_of_binding(own, found["text"], sources)
            messages.append(Message(kind, found["text"], found["file"], int(found["line"]), own or required, told))
            if kind in ("error", "warning"):
                required = None
        elif (found := _UNPLACED.fullmatch(row)) and found["kind"] != "warning":
            messages.append(Message("error", found["text"], "", 0, None))
    return messages


def _place(found: re.Match[str], lines: Mapping[str, list[str]]) -> Place | None:
    name, number = found["file"], int(found["line"])
    if name not in lines:
        return None
    text = lines[name][number - 1].strip()[:200] if 0 < number <= len(lines[name]) else None
    column = int(found["column"]) if found["column"] else None
    return Place(file=name, line=number, column=column, text=text or None)


def _told_of_binding(place: Place | None, text: str, sources: Mapping[str, str]) -> str:
    """What a message in the bindings means for `functions=[...]`; empty for any other."""
    name = bound_name(place.text) if place and place.file == BINDINGS else None
    if name is None:
        return ""
    undeclared = _UNDECLARED.fullmatch(text)
    if not undeclared or undeclared["name"] != name:
        return f"function '{name}' can't be bound: {readable(text)}"
    in_cuda = any(defines(body, name) for file, body in sources.items() if file.startswith("cuda_sources"))
    if in_cuda:
        return f"function '{name}' is defined in the cuda sources, but not declared in cpp_sources"
    return f"function '{name}' is not declared in cpp_sources{undeclared['hint'] or ''}"


def readable(text: str) -> str:
    """A message without the simulator's own words: the names of generated types, its marks, the option's name."""
    text = re.sub(r"MOORE_SIM_\w+: ", "", text)
    text = re.sub(r"\s*\[-f?(?:W|permissive)[\w=-]*\]$", "", text)
    text = re.sub(r"static assertion failed: ", "", text)
    return re.sub(r"std::__cxx11::basic_string<char>", "std::string", text)[:600]


def diagnostics(messages: list[Message]) -> tuple[Diagnostic, ...]:
    """The errors that have a place in the candidate's sources, first ones first, each once, and then warnings."""
    chosen: dict[tuple, Diagnostic] = {}
    for severity in ("error", "warning"):
        for message in messages:
            if message.severity == severity and message.place:
                key = (message.place.file, message.place.line, message.text)
                chosen.setdefault(
                    key,
                    Diagnostic(severity=severity, message=message.told or readable(message.text), place=message.place),
                )
    return tuple(chosen.values())[:MAX_DIAGNOSTICS]
