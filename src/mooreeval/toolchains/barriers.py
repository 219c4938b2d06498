"""Where a barrier stands between two lines of a source, as text: for races from one pass of a loop to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mooreeval.simulator.rewrite import Tokens, join_lines

_BLOCK_BARRIERS = frozenset(("__syncthreads", "__syncthreads_and", "__syncthreads_or", "__syncthreads_count"))
_WARP_BARRIERS = frozenset(("__syncwarp",))
_BLOCK_GROUP = re.compile(r"\b(?:thread_block\s+(\w+)\s*[=;{(]|(\w+)\s*=\s*[\w:]*\bthis_thread_block\s*\()")


@dataclass(frozen=True)
class Between:
    """A barrier that every pass from one line to a later one goes through."""

    line: int
    loop: int | None  # line of the innermost loop around all three, where they are a kernel's own


class Barriers:
    """The barriers of one recorded source."""

    def __init__(self, text: str) -> None:
        joined = join_lines(text)
        self._tokens = Tokens(joined)
        self._groups = {name for found in _BLOCK_GROUP.finditer(joined) for name in found.groups() if name}
        self._first: dict[int, int] = {}  # line -> its first token outside preprocessor lines
        for i in range(len(self._tokens)):
            if not self._tokens.directive[i]:
                self._first.setdefault(self._tokens.line(i), i)

    def between(self, low: int, high: int, *, warp: bool = False) -> Between | None:
        """A barrier behind line `low` and before line `high`, on every way from the one to the other.

        `warp`: one of a warp will do.
        """
        if low not in self._first or high not in self._first:
            return None
        start, end = self._last_of(low), self._first[high]
        around = self._braces_at(low) & self._braces_at(high)
        for i in range(self._first[low], end):
            inside = self._tokens.scope[i]
            if self._is_barrier(i, warp) and i + 4 > start and inside in around and self._is_statement(i):
                return Between(self._tokens.line(i), self._loop(inside))
        return None

    def _last_of(self, line: int) -> int:
        i = self._first[line]
        while i + 1 < len(self._tokens) and self._tokens.line(i + 1) == line:
            i += 1
        return i

    def _is_barrier(self, i: int, warp: bool) -> bool:
        tokens = self._tokens
        if tokens[i + 1] != "(":
            return False
        if tokens[i] in _BLOCK_BARRIERS or (warp and tokens[i] in _WARP_BARRIERS):
            return True
        of_a_group = tokens[i - 1] in (".", "->") and tokens[i - 2] in self._groups
        return tokens[i] == "sync" and (of_a_group or tokens[i + 2] in self._groups)

    def _is_statement(self, i: int) -> bool:
        """Whether the call is a statement of its own, which no condition stands before."""
        tokens = self._tokens
        while tokens[i - 1] in (".", "->", "::") or (tokens.is_ident(i - 1) and tokens[i] in (".", "->", "::")):
            i -= 1
        return tokens[i - 1] in (";", "{", "}")

    def _braces_at(self, line: int) -> set[int]:
        return {brace for i in (self._first[line], self._last_of(line)) for brace in self._braces(i)}

    def _braces(self, i: int) -> Iterator[int]:
        """The braces that are open at a token, innermost first."""
        scope = self._tokens.scope[i]
        while scope >= 0:
            if self._tokens[scope] == "{":
                yield scope
            scope = self._tokens.scope[scope]

    def _loop(self, brace: int) -> int | None:
        """Line of the innermost loop that a brace is in or opens; only in a kernel, which a thread runs once."""
        tokens, loop = self._tokens, None
        for opening in (brace, *self._braces(brace)):
            head = tokens.match[opening - 1] - 1 if tokens[opening - 1] == ")" else opening - 1
            if loop is None and tokens[head] in ("for", "while", "do"):
                loop = head
            elif self._opens_kernel(head):
                return None if loop is None else tokens.line(loop)
        return None

    def _opens_kernel(self, name: int) -> bool:
        i = name
        while i >= 0 and self._tokens[i] not in (";", "{", "}"):
            if self._tokens[i] == "__global__":
                return True
            i -= 1
        return False
