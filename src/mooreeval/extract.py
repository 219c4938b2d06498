"""A model's raw answer -> the candidate in it.

    answer -> what follows the thinking -> special tokens off -> fences -> the last one that holds `class ModelNew`

Everything is linear in the answer's length, except for a bounded number of parses around the class.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from mooreeval.candidate import CANDIDATE_CLASS, Candidate, NoCandidate, candidate_from_code, defines_candidate
from mooreeval.source_text import MAX_CODE_BYTES, SyntaxProblem, normalise, parse_python

CUT_OFF = "cut off by the token limit"

_THINK_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# An opening tag counts at the start of a line only: code may print the word.
_THINK_START = re.compile(r"^[ \t]*<think(?:ing)?>", re.IGNORECASE | re.MULTILINE)
# `<|...|>` and its full-width relative are no C++ and no Python, so they go wherever they stand. Names that could be
# template arguments go only at the two ends of the text.
_SPECIAL = re.compile(r"<\|[A-Za-z0-9_ ]{1,40}\|>|<\uff5c[^\uff5c\n]{1,40}\uff5c>|</s>|<end_of_turn>|<start_of_turn>")
_SPECIAL_FIRST = re.compile(r"(?:\s*(?:<s>|<bos>))+")
_SPECIAL_LAST_REVERSED = re.compile(r"(?:\s*(?:>soe<|>dap<|>s<))+")
_FENCE = re.compile(r"^(?P<indent>[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)$", re.M)
_CLASS_LINE = re.compile(rf"^[ \t]*class[ \t]+{CANDIDATE_CLASS}\b", re.MULTILINE)
_FIRST_CODE_LINE = re.compile(r"^(?:import|from)[ \t]+\w", re.MULTILINE)
_MOST_FENCES = 10_000
_FENCES_TRIED = 6  # how many fence lines to either side of the class may belong to strings in the code


@dataclass(frozen=True)
class _Fence:
    """A line of three or more backticks or tildes."""

    start: int  # offset of the line
    end: int  # offset after the line
    marks: str
    info: str
    indent: int  # columns

    def closes(self, opening: _Fence) -> bool:
        return self.marks[0] == opening.marks[0] and len(self.marks) >= len(opening.marks) and not self.info


@dataclass(frozen=True)
class _Block:
    opening: _Fence
    code: str
    closed: bool


def extract(answer: str, *, finish_reason: str | None = None) -> Candidate | NoCandidate:
    """The candidate in a model's answer, or why there is none.

    Args:
        answer: the raw text, thinking and special tokens included.
        finish_reason: why sampling stopped; `"length"` means that the token limit cut the answer off. Code in a fence
            that was closed before that is complete, and is taken with `truncated=True`.
    """
    whole = normalise(answer)
    cut = finish_reason == "length"
    text = _after_thinking(whole)
    if text is None:
        return NoCandidate(f"the answer ends inside its thinking ({CUT_OFF})", whole, "answer")
    text = _without_special_tokens(text)
    found = _find(text, cut)
    if isinstance(found, Candidate):
        return found
    if text is not whole and _CLASS_LINE.search(whole) and not _CLASS_LINE.search(text) and not cut:
        found = f"`class {CANDIDATE_CLASS}` stands only in the thinking"
    return NoCandidate(found, whole, "answer")


def split_thinking(text: str) -> tuple[str, str | None]:
    """What a model thought, and the answer after the last closing tag: None where thinking was opened and never closed.

    The first opening tag is left out, and so are the tags that divide the two.
    """
    begin = end = 0
    for match in _THINK_END.finditer(text):
        begin, end = match.span()
    if opened := _THINK_START.search(text, end):
        return _THINK_START.sub("", text[:begin], count=1) + text[opened.end() :], None
    return _THINK_START.sub("", text[:begin], count=1), text[end:]


def _after_thinking(text: str) -> str | None:
    return split_thinking(text)[1]


def _without_special_tokens(text: str) -> str:
    text = _SPECIAL.sub("", text)
    start = _SPECIAL_FIRST.match(text)
    text = text[start.end() if start else 0 :]
    end = _SPECIAL_LAST_REVERSED.match(text[::-1])  # backwards, because a search for a run at the end is quadratic
    return text[: len(text) - (end.end() if end else 0)]


def _find(text: str, cut: bool) -> Candidate | str:
    """The candidate, or the reason why there is none."""
    if not text.strip():
        return CUT_OFF if cut else "the answer is empty"
    fences = list(islice(_fences(text), _MOST_FENCES + 1))
    if len(fences) > _MOST_FENCES:
        return f"the answer has more than {_MOST_FENCES} code fences"
    if not fences or _is_candidate_file(text):
        return _from_plain(text, cut)
    blocks = list(_blocks(text, fences))
    for block in reversed(blocks):
        if not _CLASS_LINE.search(block.code):
            continue
        if not block.closed and (cut or not _parses(block.code)):
            return _around_class(text, fences, cut) or f"{CUT_OFF}: the last code fence never closes"
        if _is_candidate_file(block.code):
            return Candidate(block.code, "answer", truncated=cut)
        around = _around_class(text, fences, cut)
        if around is not None:
            return around
        if defines_candidate(block.code):  # not valid Python, and the author's fault
            return Candidate(block.code, "answer", truncated=cut)
    return _around_class(text, fences, cut) or _why_none(text, blocks, cut)


def _from_plain(text: str, cut: bool) -> Candidate | str:
    """An answer without fences: all of it is code, perhaps after a line or two of prose."""
    if cut:
        return CUT_OFF
    start = _FIRST_CODE_LINE.search(text)
    if start and not _parses(text) and _is_candidate_file(text[start.start() :]):
        text = text[start.start() :]
    found = candidate_from_code(text, origin="answer")
    return found if isinstance(found, Candidate) else found.reason.replace("the code", "the answer", 1)


def _why_none(text: str, blocks: list[_Block], cut: bool) -> str:
    if cut or not blocks[-1].closed:
        return f"{CUT_OFF}: no `class {CANDIDATE_CLASS}` before its end"
    if any(len(block.code) > MAX_CODE_BYTES for block in blocks):
        return f"the code is longer than {MAX_CODE_BYTES >> 20} MiB"
    if _CLASS_LINE.search(text):
        return f"`class {CANDIDATE_CLASS}` stands only outside the code fences, or in a comment or string"
    return f"no code fence defines `class {CANDIDATE_CLASS}`"


def _fences(text: str) -> Iterator[_Fence]:
    for match in _FENCE.finditer(text):
        info = match["info"].strip()
        if match["marks"][0] == "`" and "`" in info:
            continue  # inline code on one line
        yield _Fence(match.start(), min(match.end() + 1, len(text)), match["marks"], info, len(match["indent"]))


def _blocks(text: str, fences: list[_Fence]) -> Iterator[_Block]:
    """Fenced blocks as Markdown pairs them; the last may be open."""
    opening: _Fence | None = None
    for fence in fences:
        if opening is None:
            opening = fence
        elif fence.closes(opening):
            yield _Block(opening, _content(text, opening, fence.start), closed=True)
            opening = None
    if opening is not None:
        yield _Block(opening, _content(text, opening, len(text)), closed=False)


def _content(text: str, opening: _Fence, end: int) -> str:
    code = text[opening.end : end]
    if opening.indent and len(code) <= MAX_CODE_BYTES:
        return textwrap.dedent(code)
    return code


def _around_class(text: str, fences: list[_Fence], cut: bool) -> Candidate | None:
    """The code around the last class line between any two near fence lines that is valid Python.

    Fence lines inside strings of the code make Markdown's own pairing wrong; so do fences that were never closed.
    """
    at = max((match.start() for match in _CLASS_LINE.finditer(text)), default=None)
    if at is None:
        return None
    before = [fence for fence in fences if fence.end <= at][: -_FENCES_TRIED - 1 : -1]
    after = [fence.start for fence in fences if fence.start > at and not fence.info][:_FENCES_TRIED]
    allowance = 4 * MAX_CODE_BYTES  # characters given to the parser in all
    for opening in before:
        for end in after:
            allowance -= end - opening.end
            if allowance < 0:
                return None
            code = _content(text, opening, end)
            if _is_candidate_file(code):
                return Candidate(code, "answer", truncated=cut)
    return None


def _is_candidate_file(text: str) -> bool:
    return defines_candidate(text) and _parses(text)


def _parses(code: str) -> bool:
    return len(code) <= MAX_CODE_BYTES and not isinstance(parse_python(code), SyntaxProblem)
