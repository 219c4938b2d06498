"""The CUDA text inside a candidate's Python file, as tokens that know their offsets in that file.

Comments, preprocessor lines and everything that is Python are no tokens, so an edit of tokens never touches them. It
is a lexer of its own: a mistake in the simulator's would otherwise hide in what the simulator is measured with.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_LEXEME = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\\?\n|[^\n])*)"
    r'|(?P<text>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)[a-zA-Z]*)"
    r"|(?P<sign><<<|>>>|<<=|>>=|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|<<|>>|\+\+|--|->|::|.)",
    re.DOTALL | re.MULTILINE,
)
_FUNCTION_MARKS = ("__global__", "__device__")


@dataclass(frozen=True)
class Token:
    kind: str  # "text", "name", "number" or "sign"
    text: str
    start: int  # offset in the file
    end: int


@dataclass(frozen=True)
class Kernel:
    """A function for the device: token indices of its head and body."""

    name: str
    is_global: bool
    head: int
    opening: int  # the brace
    closing: int


@dataclass(frozen=True)
class CudaText:
    """One string of a candidate that holds kernels."""

    file: str  # the whole Python file
    tokens: tuple[Token, ...]

    @cached_property
    def kernels(self) -> list[Kernel]:
        found, index = [], 0
        while index < len(self.tokens):
            kernel = self._kernel(index) if self.tokens[index].text in _FUNCTION_MARKS else None
            if kernel:
                found.append(kernel)
            index = kernel.closing if kernel else index + 1
        return found

    @cached_property
    def host(self) -> list[int]:
        """Indices of tokens outside every device function."""
        inside = {i for kernel in self.kernels for i in range(kernel.head, kernel.closing + 1)}
        return [i for i in range(len(self.tokens)) if i not in inside]

    def text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def find(self, pattern: str, low: int = 0, high: int | None = None) -> Iterator[int]:
        """First indices of runs of tokens like `ID [ ID ] =`; ID is any name, NUM any number."""
        words = pattern.split()
        for start in range(low, (len(self.tokens) if high is None else high) - len(words) + 1):
            if all(_fits(word, self.tokens[start + k]) for k, word in enumerate(words)):
                yield start

    def partner(self, index: int) -> int:
        """The index of the bracket that closes (or opens) this one; -1 where there is none."""
        pairs = {"(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{"}
        own, other = self.text(index), pairs[self.text(index)]
        step, depth = (1 if own in "([{" else -1), 0
        while 0 <= index < len(self.tokens):
            depth += (self.text(index) == own) - (self.text(index) == other)
            if depth == 0:
                return index
            index += step
        return -1

    def until(self, sign: str, index: int) -> int:
        """The index of the next such sign outside nested brackets; -1 where the enclosing bracket ends first."""
        while 0 <= index < len(self.tokens):
            if self.text(index) == sign:
                return index
            if self.text(index) in ("(", "[", "{"):
                index = self.partner(index)
            elif self.text(index) in (")", "]", "}"):
                return -1
            if index < 0:
                break
            index += 1
        return -1

    def _kernel(self, head: int) -> Kernel | None:
        opening = head
        while opening < len(self.tokens) and self.text(opening) not in ("{", ";"):
            opening += 1
        if self.text(opening) != "{" or self.text(opening - 1) != ")":
            return None
        name = self.text(self.partner(opening - 1) - 1)
        closing = self.partner(opening)
        is_global = any(self.text(i) == "__global__" for i in range(head, opening))
        return None if closing < 0 else Kernel(name, is_global, head, opening, closing)


def cuda_texts(file: str) -> list[CudaText]:
    """The strings of a Python file that hold kernels or launches. Formatted strings are left alone."""
    starts = [0, *(match.end() for match in re.finditer("\n", file))]
    texts = []
    for token in tokenize.generate_tokens(io.StringIO(file).readline):
        body = re.match(r"([rRuU]?)(\"\"\"|'''|\"|')", token.string)
        if token.type == tokenize.STRING and body and ("__global__" in token.string or "<<<" in token.string):
            low = starts[token.start[0] - 1] + token.start[1] + body.end()
            high = starts[token.end[0] - 1] + token.end[1] - len(body[2])
            texts.append(CudaText(file, tuple(_lexed(file, low, high))))
    return texts


def edited(file: str, edits: tuple[tuple[int, int, str], ...]) -> str:
    """The file with the text between each pair of offsets replaced."""
    for start, end, new in sorted(edits, reverse=True):
        file = file[:start] + new + file[end:]
    return file


def _lexed(file: str, low: int, high: int) -> Iterator[Token]:
    while low < high and (match := _LEXEME.match(file, low, high)):
        if match.lastgroup and match.lastgroup != "skip":
            yield Token(match.lastgroup, match[0], match.start(), match.end())
        low = match.end()


def _fits(word: str, token: Token) -> bool:
    if word in ("ID", "NUM"):
        return token.kind == ("name" if word == "ID" else "number")
    return token.text == word
