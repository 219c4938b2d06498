"""From addresses and recorded sources back to lines of the candidate's own file."""

from __future__ import annotations

import ast
import bisect
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.source_text import python_tree
from mooreeval.toolchains.addresses import resolve
from mooreeval.toolchains.barriers import Barriers
from mooreeval.toolchains.base import Artefact, BuildFailure, Recording
from mooreeval.verdict import Diagnostic, Finding, FindingKind, Place

CANDIDATE = "candidate"
BINDINGS = "bindings"  # the source that a build makes of `functions`
_BOUND = re.compile(r'(?:describe|m\.def)\("(?P<name>\w+)"')
_UNDEFINED = re.compile(r"undefined symbol: (?P<symbol>.+) is declared and used, but defined nowhere")


class SourceMap:
    """Maps a line of a recorded source to the line of the candidate's file that it was written on.

    A source is looked for as one of the file's string constants, then as a run of the file's own lines, then line by
    line where a line occurs once in the file. What cannot be found stays at the recorded source.
    """

    def __init__(self, candidate_text: str, recording: Recording | Iterable[Any] = ()):
        self._lines = candidate_text.replace("\r\n", "\n").split("\n")
        self._tree = _parsed(candidate_text)
        self._constants = _string_constants(self._tree)
        self._unique = _unique_lines(self._lines)
        extensions = recording.extensions if isinstance(recording, Recording) else tuple(recording)
        self._texts: dict[str, str] = {}
        self.functions = {name for extension in extensions for name, _doc in extension.functions or ()}
        for extension in extensions:
            for source in (*extension.sources, *extension.headers):
                self._texts.setdefault(source.name, source.text.replace("\r\n", "\n"))
        self._maps: dict[str, list[int | None]] = {}
        self._barriers: dict[str, Barriers] = {}

    def place(self, source: str, line: int | None, column: int | None = None, text: str | None = None) -> Place:
        """The place to tell for a recorded source's line: in the file "candidate" where it was found there."""
        if text is None and line is not None:
            rows = self._texts.get(source, "").split("\n")
            text = rows[line - 1].strip()[:200] or None if 0 < line <= len(rows) else None
        if source == BINDINGS and (bound := self._bound_line(text)):
            return self._own_place(bound)
        own = self._own_line(source, line)
        if own is None:
            return Place(file=source, line=line, column=column, text=text)
        return Place(file=CANDIDATE, line=own, column=column, text=self._lines[own - 1].strip()[:200] or text)

    def move(self, place: Place | None) -> Place | None:
        """A place in a recorded source as a place in the candidate's file."""
        return place and self.place(place.file, place.line, place.column, place.text)

    def function(self, name: str) -> Place | None:
        """Where a build call asks for a function; None where that can't be told."""
        own = self._asked_line(name)
        return None if own is None else self._own_place(own)

    def _own_place(self, line: int) -> Place:
        return Place(file=CANDIDATE, line=line, text=self._lines[line - 1].strip()[:200] or None)

    def first_use(self, name: str) -> Place | None:
        """The first line of the recorded sources that calls or declares a function."""
        for source, text in self._texts.items():
            if found := re.search(rf"\b{re.escape(name)}\s*[(<]", text):
                return self.place(source, text.count("\n", 0, found.start()) + 1)
        return None

    def barriers(self, source: str) -> Barriers:
        if source not in self._barriers:
            self._barriers[source] = Barriers(self._texts.get(source, ""))
        return self._barriers[source]

    def defines(self, name: str) -> bool:
        return any(defines(text, name) for text in self._texts.values())

    def knows(self, source: str) -> bool:
        return source in self._texts

    def _bound_line(self, text: str | None) -> int | None:
        name = bound_name(text)
        return self._asked_line(name) if name else None

    def _asked_line(self, name: str) -> int | None:
        """The line of the name in a call of load_inline; that of the call, where there is one only."""
        for call in self._calls:
            for node in ast.walk(call):
                if isinstance(node, ast.Constant) and node.value == name:
                    return node.lineno
        return self._calls[0].lineno if len(self._calls) == 1 else None

    @cached_property
    def _calls(self) -> list[ast.Call]:
        nodes = list(ast.walk(self._tree)) if self._tree else []
        known = {"load_inline"} | {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name == "load_inline"
        }
        return [n for n in nodes if isinstance(n, ast.Call) and _called(n) in known]

    def _own_line(self, source: str, line: int | None) -> int | None:
        if source not in self._texts or line is None:
            return None
        if source not in self._maps:
            self._maps[source] = self._align(self._texts[source].split("\n"))
        rows = self._maps[source]
        return rows[line - 1] if 0 < line <= len(rows) else None

    def _align(self, rows: list[str]) -> list[int | None]:
        for first, text in self._constants:
            offset = text.find("\n".join(rows))
            if offset >= 0 and any(row.strip() for row in rows):
                begin = first + text.count("\n", 0, offset)
                found = [begin + k for k in range(len(rows))]
                if self._agree(rows, found):
                    return list(found)
        return self._by_lines(rows)

    def _agree(self, rows: list[str], numbers: list[int]) -> bool:
        """Are the rows really on these lines? An escape or a concatenation may have moved them."""
        for row, number in zip(rows, numbers, strict=True):
            if len(row.strip()) > 3 and not (
                0 < number <= len(self._lines) and row.strip() in _unescaped(self._lines[number - 1])
            ):
                return False
        return True

    def _by_lines(self, rows: list[str]) -> list[int | None]:
        """Anchors are lines that occur once on both sides; the others follow an anchor at the same distance if their
        text is alike (a placeholder may have been filled in), or if they lie between two anchors that agree."""
        counts = Counter(row.strip() for row in rows)
        found: list[int | None] = [
            self._unique.get(row.strip()) if counts[row.strip()] == 1 and len(row.strip()) > 3 else None for row in rows
        ]
        anchors = [k for k, number in enumerate(found) if number is not None]
        for k, row in enumerate(rows):
            if found[k] is None and row.strip() and anchors:
                found[k] = self._near(row, found, anchors, k)
        return found

    def _near(self, row: str, found: list[int | None], anchors: list[int], k: int) -> int | None:
        """Line of row k by its distance to the anchors before and behind it."""
        at = bisect.bisect(anchors, k)
        around = [anchors[i] for i in (at - 1, at) if 0 <= i < len(anchors)]
        guesses = [(found[anchor] or 0) + k - anchor for anchor in around]
        if len(guesses) == 2 and guesses[0] == guesses[1]:
            return guesses[0]
        for own in guesses:
            if 0 < own <= len(self._lines) and _alike(row.strip(), self._lines[own - 1]):
                return own
        return None


def _alike(row: str, line: str) -> bool:
    shown = _unescaped(line).strip()
    return row in shown or SequenceMatcher(None, row[:200], shown[:200]).ratio() > 0.6


_ESCAPES = (("\\\\", "\\"), ('\\"', '"'), ("\\'", "'"), ("{{", "{"), ("}}", "}"))
_OPENING = re.compile(r"^.*?[rRbBfFuU]{0,2}(?:\"\"\"|\'\'\')|^\s*[rRbBfFuU]{0,2}[\"\']")
_CLOSING = re.compile(r"(?:\\n)?[\"\']+\s*[,+)\\]*\s*$")


def _unescaped(line: str) -> str:
    for written, meant in _ESCAPES:
        line = line.replace(written, meant)
    return line


def _keys(line: str) -> set[str]:
    """What a line of the file may stand for in a source: itself, or what it quotes."""
    keys = {line, _unescaped(line)}
    if _OPENING.match(line):
        inner = _OPENING.sub("", line, count=1)
        keys |= {inner, _unescaped(inner), _unescaped(_CLOSING.sub("", inner))}
    return {key.strip() for key in keys}


def _unique_lines(lines: list[str]) -> dict[str, int]:
    """Text -> 1-based number of each line that alone may stand for it."""
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        for key in _keys(line):
            seen[key] = 0 if key in seen else number
    return {key: number for key, number in seen.items() if number}


def _parsed(text: str) -> ast.Module | None:
    try:
        return python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _string_constants(tree: ast.Module | None) -> list[tuple[int, str]]:
    """(line of the first character, value) of each string constant with more than one line, longest first."""
    found = [
        (node.lineno, node.value.replace("\r\n", "\n"))
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip()
    ]
    return sorted(found, key=lambda item: -len(item[1]))


def bound_name(row: str | None) -> str | None:
    """The function that a line of the bindings binds."""
    found = _BOUND.search(row or "")
    return found["name"] if found else None


def defines(text: str, name: str) -> bool:
    """Whether C++ text seems to define a function of that name."""
    return bool(re.search(rf"\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{", text))


def in_own_lines(failure: BuildFailure, source_map: SourceMap) -> BuildFailure:
    """The same failure with its diagnostics, and the place in its reason, at lines of the candidate's own file."""
    if found := _UNDEFINED.fullmatch(failure.reason):
        return _undefined(failure, found["symbol"], source_map)
    reason, diagnostics = failure.reason, tuple(in_own_line(d, source_map) for d in failure.diagnostics)
    for before, after in zip(failure.diagnostics, diagnostics, strict=True):
        if reason.startswith(f"{before.place}: "):
            reason = f"{after.place}: {reason.removeprefix(f'{before.place}: ')}"
            break
    return replace(failure, reason=reason, diagnostics=diagnostics)


def in_own_line(diagnostic: Diagnostic, source_map: SourceMap) -> Diagnostic:
    return diagnostic.model_copy(update={"place": source_map.move(diagnostic.place)})


def _undefined(failure: BuildFailure, symbol: str, source_map: SourceMap) -> BuildFailure:
    """A symbol that no source defines: told at the build call that asks for it, else where it is used first."""
    name = re.split(r"[(<]", symbol, maxsplit=1)[0].split("::")[-1].split(" ")[-1]
    message, place = failure.reason, source_map.first_use(name)
    if name in source_map.functions:
        message = f"function '{name}' is declared in cpp_sources, but not defined in the cuda sources: {symbol}"
        message += "; what they define has other parameters" if source_map.defines(name) else ""
        place = source_map.function(name) or place
    if place is None:
        return failure
    told = Diagnostic(severity="error", message=message, place=place)
    return replace(failure, reason=f"{place}: {message}", diagnostics=(told,))


@dataclass(frozen=True)
class _Spot:
    """A line of a recorded source, and where that is for the reader."""

    source: str
    line: int
    place: Place


_Spots = Mapping[tuple[str, int], _Spot]


def findings_from_report(
    report: Mapping[str, Any],
    artefacts: Sequence[Artefact],
    source_map: SourceMap,
    walls: ProgramWalls | None = None,
) -> list[Finding]:
    """The run time's findings as the verdict tells them; equal ones are merged, and threads of one block that met at
    one line are not accused of having met at two.

    `walls`: of the program that reads the modules; None where the caller is within walls himself.
    """
    raw: list[Mapping[str, Any]] = list(report.get("findings") or ())
    spots = _spots(raw, {str(a.path) for a in artefacts}, source_map, walls)
    merged: dict[tuple, Finding] = {}
    for one in raw:
        finding = _finding(one, spots, source_map)
        if finding is None:
            continue
        key = (finding.kind, finding.severity, finding.kernel, str(finding.place), str(finding.other))
        if key in merged:
            finding = merged[key].model_copy(update={"count": merged[key].count + finding.count})
        merged[key] = finding
    return _without_echoes(list(merged.values()))


def _without_echoes(findings: list[Finding]) -> list[Finding]:
    """Lanes of one warp that collide where whole warps race are the same fault, told once."""
    raced = {_lines(f) for f in findings if f.kind is FindingKind.RACE and f.severity == "error"}
    return [f for f in findings if f.kind is not FindingKind.WARP_SYNC or _lines(f) not in raced]


def _lines(finding: Finding) -> frozenset[str]:
    return frozenset((str(finding.place), str(finding.other)))


def _spots(
    raw: list[Mapping[str, Any]], modules: set[str], source_map: SourceMap, walls: ProgramWalls | None
) -> _Spots:
    """The line of every address in a report, asked for one module at a time."""
    wanted: dict[str, set[int]] = {}
    for one in raw:
        for module, offset in (
            (one.get("module"), one.get("offset")),
            (one.get("other_module"), one.get("other_offset")),
        ):
            if module in modules and isinstance(offset, int):
                wanted.setdefault(str(module), set()).add(offset)
    spots = {}
    for module, offsets in wanted.items():
        ordered = sorted(offsets)
        for offset, found in zip(ordered, resolve(Path(module), ordered, source_map.knows, walls), strict=True):
            if found:
                spots[module, offset] = _Spot(*found, source_map.place(*found))
    return spots


def _finding(one: Mapping[str, Any], spots: _Spots, source_map: SourceMap) -> Finding | None:
    spot = spots.get((str(one.get("module")), int(one.get("offset") or 0)))
    other_spot = spots.get((str(one.get("other_module")), int(one.get("other_offset") or 0)))
    place, other = (s.place if s else None for s in (spot, other_spot))
    kind = FindingKind(one["kind"])
    if kind is FindingKind.HANG:  # the other one is the caller, for where the time went in a header of ours
        place, other = place or other, None
    if (
        kind is FindingKind.DIVERGENT_BARRIER
        and place
        and other
        and (place.file, place.line) == (other.file, other.line)
    ):
        return None  # g++ had copied the call
    return Finding(
        kind=kind,
        severity=one.get("severity", "error"),
        message=str(one["message"])[:2000]
        + _barrier_of_one_pass(kind, str(one["message"]), spot, other_spot, source_map),
        kernel=one.get("kernel"),
        block=_triple(one.get("block")),
        thread=_triple(one.get("thread")),
        place=place,
        other=other,
        other_thread=_triple(one.get("other_thread")),
        count=int(one.get("count") or 1),
    )


_UNORDERED = re.compile(r"; (?:no barrier lies between|only running in lockstep would order them: .*)$")


def _barrier_of_one_pass(
    kind: FindingKind, message: str, spot: _Spot | None, other: _Spot | None, source_map: SourceMap
) -> str:
    """For a race across a barrier that stands between its two lines: that one access is of the next pass over them.

    The run time saw no barrier between the two accesses, and every way from the first line to the second has one: so
    what the second line did came first.
    """
    if spot is None or other is None or spot.source != other.source or not _UNORDERED.search(message):
        return ""
    low, high = sorted((spot, other), key=lambda s: s.line)
    warp = kind is FindingKind.WARP_SYNC
    found = source_map.barriers(low.source).between(low.line, high.line, warp=warp) if low.line < high.line else None
    if found is None:
        return ""
    barrier, first, second = (_told_line(source_map, low.source, n) for n in (found.line, low.line, high.line))
    loop = f" of the loop at {_told_line(source_map, low.source, found.loop)}" if found.loop else ""
    return (
        f"; the barrier at {barrier} orders the two lines in one pass{loop}, "
        f"but nothing orders {second} of one pass and {first} of the next"
    )


def _told_line(source_map: SourceMap, source: str, line: int) -> str:
    place = source_map.place(source, line)
    return f"line {place.line}" if place.file == CANDIDATE else str(place)


def _triple(value: Any) -> tuple[int, int, int] | None:
    return (int(value[0]), int(value[1]), int(value[2])) if value else None
