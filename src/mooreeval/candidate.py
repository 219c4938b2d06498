"""A candidate: the Python source, written by a model or a person, that defines `ModelNew` with its kernels.

Nothing here runs it. Any bytes whatsoever give a `Candidate` (something to judge) or a `NoCandidate` (with the
reason): a bad candidate is a verdict, never an exception.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from mooreeval.hashing import content_hash
from mooreeval.source_text import MAX_CODE_BYTES, SyntaxProblem, decode, parse_python, read_regular_file

CANDIDATE_CLASS = "ModelNew"
MAX_ANSWER_BYTES = 16 << 20  # thinking may be long; what is left after it may not

Origin = Literal["file", "answer"]

_CLASS_LINE = re.compile(rf"^[ \t]*class[ \t]+{CANDIDATE_CLASS}\b", re.MULTILINE)
# Each alternative also ends at the end of the text, so that an unclosed string costs one scan and no backtracking.
_STRING_OR_COMMENT = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*(?:"""|\Z)|' + r"'''(?:[^\\']|\\.|'(?!''))*(?:'''|\Z)"
    r'|"(?:[^\\"\n]|\\.)*|' + r"'(?:[^\\'\n]|\\.)*|#[^\n]*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Candidate:
    """Source to judge. It may still be no valid Python: that is a compile error, found later."""

    code: str  # LF line ends
    origin: Origin = "file"
    truncated: bool = False  # the answer hit the token limit, after the code was complete

    @cached_property
    def candidate_hash(self) -> str:
        """SHA-256 (hex) over the code alone: the same code found in two ways is one candidate."""
        return content_hash(self.code)


@dataclass(frozen=True)
class NoCandidate:
    """There is nothing to judge, and why."""

    reason: str  # one line
    text: str  # what was looked at, for the hash
    origin: Origin = "file"

    @cached_property
    def candidate_hash(self) -> str:
        """SHA-256 (hex) over the whole text, so that a verdict about it can be cached and found again."""
        return content_hash(self.text)


def load_candidate(path: str | Path) -> Candidate | NoCandidate:
    """The candidate in a file: Python source, or a model's raw answer (Markdown, or text with fences).

    Raises:
        UsageError: there is no such file, or it cannot be read. Whatever it holds is no error.
    """
    from mooreeval.extract import extract  # extract builds on this module

    path = Path(path)
    data = read_regular_file(path, MAX_ANSWER_BYTES)
    text = decode(data[:MAX_ANSWER_BYTES])
    if text is None:
        return NoCandidate("the file is not text", data.decode("utf-8", "surrogateescape"))
    if len(data) > MAX_ANSWER_BYTES:
        return NoCandidate(f"the file is larger than {MAX_ANSWER_BYTES >> 20} MiB", text)
    if not text.strip():
        return NoCandidate("the file is empty", text)
    if path.suffix.lower() in (".md", ".markdown", ".txt") or looks_like_answer(text):
        return extract(text)
    return candidate_from_code(text)


def looks_like_answer(text: str) -> bool:
    """Whether a text that should be Python source is rather a model's answer around it."""
    marked = re.search(r"^[ \t]*(?:```|~~~)|</think>|<\|", text, re.MULTILINE)
    return bool(marked) and (len(text) > MAX_CODE_BYTES or isinstance(parse_python(text), SyntaxProblem))


def candidate_from_code(code: str, *, origin: Origin = "file", truncated: bool = False) -> Candidate | NoCandidate:
    """A candidate where the code says `class ModelNew`, outside strings and comments."""
    if len(code) > MAX_CODE_BYTES:
        return NoCandidate(f"the code is longer than {MAX_CODE_BYTES >> 20} MiB", code, origin)
    if defines_candidate(code):
        return Candidate(code, origin, truncated)
    if _CLASS_LINE.search(code):
        return NoCandidate(f"`class {CANDIDATE_CLASS}` stands only in a comment or string", code, origin)
    return NoCandidate(f"the code defines no `class {CANDIDATE_CLASS}`", code, origin)


def defines_candidate(code: str) -> bool:
    """Whether the code defines the class; where it is not valid Python, whether it means to."""
    if not _CLASS_LINE.search(code) or len(code) > MAX_CODE_BYTES:
        return False
    tree = parse_python(code)
    if isinstance(tree, SyntaxProblem):
        return bool(_CLASS_LINE.search(_STRING_OR_COMMENT.sub(_same_lines, code)))
    return any(isinstance(node, ast.ClassDef) and node.name == CANDIDATE_CLASS for node in ast.walk(tree))


def _same_lines(match: re.Match[str]) -> str:
    return '""' + "\n" * match[0].count("\n")
