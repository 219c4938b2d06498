"""Runs of words that two texts share: as they stand, and with a text's own names gone."""

from __future__ import annotations

import re
from collections.abc import Sequence

LENGTH = 10  # words of a run
LEAST = 12  # runs that a text must have to be looked for: a shorter one is found by its signature

_WORD = re.compile(r"[A-Za-z_]\w*|\d+\.?\d*(?:[eE][-+]?\d+)?|[^\s\w]")
_COMMENT = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)
_FROM_MODEL = re.compile(r"^class\s+Model\b.*?(?=^\S(?!lass\s+Model)|\Z)", re.MULTILINE | re.DOTALL)
# Heads of classes and methods, and the call of the base class: a head may go over several lines.
_ALIKE = re.compile(
    r"^[ \t]*(?:class \w+\(.*?\):|def \w+\(.*?\)(?: *->[^:\n]*)?:|super\(.*?\)\.__init__\(\))", re.M | re.S
)
_LIBRARY = frozenset(
    "torch nn F self super class def return if else for in range None True False import from as".split()
)


def model_text(code: str) -> str:
    """The text of `class Model` alone: what stands around it is alike in all tasks."""
    found = _FROM_MODEL.search(code)
    return found[0] if found else ""


def words(text: str) -> list[str]:
    """Names, numbers and signs of statements; no comments, docstrings or layout, and no lines that all modules have."""
    return _WORD.findall(_ALIKE.sub("", _COMMENT.sub(" ", text)))


def without_names(found: Sequence[str]) -> list[str]:
    """All numbers are one, and all names but the library's: `self.conv(x, 3)` is `self.v(v, 0)`."""
    kept = []
    for i, word in enumerate(found):
        if word[0].isdigit():
            kept.append("0")
        elif word[0].isalpha() or word[0] == "_":
            after_library = i > 1 and found[i - 1] == "." and found[i - 2] in ("torch", "nn", "F", "functional")
            kept.append(word if word in _LIBRARY or after_library else "v")
        else:
            kept.append(word)
    return kept


def runs(found: Sequence[str], length: int = LENGTH) -> set[int]:
    """Hashes of every so many words in a row. Equal within one process only."""
    return {hash(tuple(found[i : i + length])) for i in range(len(found) - length + 1)}
