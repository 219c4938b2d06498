"""The integers that C++ text carries, with what is computed from constants, and what each seems to be for.

    constexpr int TM = 8, BX = 16, BM = TM * BX;   k<<<n / BM, 4'096>>>   i & 0xfff   i >> 12
    -> 8, 16, 128 (a tile: something is divided by it), 4096, 4095 (a mask), 12 (a shift)

Constants are known by name: `#define`, `NAME = value`, template arguments, and those of the Python around. A name that
has several values has all of them. Not a C++ parser: a number too many does little harm. Time is linear in the text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

Names = dict[str, frozenset[int]]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<number>(?:0[xX][0-9a-fA-F]+(?:'[0-9a-fA-F]+)*|0[bB][01]+(?:'[01]+)*|\d+(?:'\d+)*)[uUlLzZ]{0,3}(?![\w.]))"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<other>\.?\d[\w.]*)"
    r"|(?P<sign><<<|>>>|<<=|>>=|\+=|-=|\*=|/=|%=|<<|>>|&&|\|\||==|!=|<=|>=|->|::|\+\+|--|[^\s\w])"
)
_MEMBER = (".", "->", "::")
_LEVELS = {"<<": 1, ">>": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "<<": operator.lshift,
    ">>": operator.rshift,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
}
_OPERATORS = 8  # of one expression that are followed
_DEPTH = 6  # of parentheses
_VALUES = 4  # of one name or expression
_BITS = 62
_TOKENS = 1 << 14  # of one text; honest ones are far below
_ROUNDS = 4  # constants of constants of constants
_TEMPLATE = re.compile(r"\btemplate\s*<([^<>]{1,300})>")
_CALLED = re.compile(r"\b(\w+)\s*\(")
_NOT_IT = ("__launch_bounds__", "__attribute__", "__declspec")
_USE = re.compile(r"\b(\w+)\s*<([^<>;{}]{1,100})>")


@dataclass(frozen=True)
class Number:
    """A value, and where it stands."""

    value: int
    line: str
    computed: bool = False  # from other numbers or names
    divides: bool = False  # n / value, n % value, i += value, blockIdx.x * value
    masks: bool = False  # i & value
    shifts: bool = False  # i >> value


def without_comments(text: str) -> str:
    """The text with a space in place of each comment."""
    return _COMMENT.sub(" ", text)


def all_numbers(texts: Iterable[str], known: Names) -> tuple[list[Number], list[int]]:
    """Of texts that may use each other's names, and names that are known: their numbers, and threads of launches.

    Numbers are every literal and every constant expression; of `a * b * c` also `a * b`. Threads are told where grid
    and block are both constants.
    """
    names = dict(known)
    parts = [_Tokens(text, names) for text in texts]
    for _round in range(_ROUNDS):
        before = dict(names)
        for part in parts:
            for name, values in (*part.definitions(), *part.template_arguments()):
                names[name] = _few({*names.get(name, ()), *values})
        if names == before:
            break
    numbers = [number for part in parts for number in part.numbers()]
    return numbers, [threads for part in parts for threads in part.launches()]


class _Tokens:
    """One text, without comments, and the names that it may use."""

    def __init__(self, text: str, names: Names) -> None:
        self.source, self.names = text, names
        self.tokens: list[tuple[str, str, int]] = []  # kind, text, line
        self.lines = text.split("\n")
        for number, line in enumerate(self.lines):
            here = islice(_TOKEN.finditer(line), _TOKENS - len(self.tokens))
            self.tokens += [(str(m.lastgroup), m[0], number) for m in here]

    def text(self, at: int) -> str:
        return self.tokens[at][1] if 0 <= at < len(self.tokens) else ""

    # ------------------------------------------------------------------------------------------------------ expressions
    def whole(self) -> frozenset[int]:
        """The value of the whole text, if it is one expression."""
        values, end = self.expression(0, 1)
        return values if end == len(self.tokens) else frozenset()

    def operand(self, at: int, depth: int = 0) -> tuple[frozenset[int], int]:
        kind, text, _line = self.tokens[at] if at < len(self.tokens) else ("", "", 0)
        if kind == "number":
            return _literal(text), at + 1
        if kind == "name" and self.text(at - 1) not in _MEMBER and self.text(at + 1) not in ("(", *_MEMBER):
            return self.names.get(text, frozenset()), at + 1
        if text == "(" and depth < _DEPTH:
            values, end = self.expression(at + 1, 1, depth + 1)
            if self.text(end) == ")":
                return values, end + 1
        return frozenset(), at

    def expression(self, at: int, level: int, depth: int = 0) -> tuple[frozenset[int], int]:
        values, end = frozenset[int](), at
        for values, end in self.beginnings(at, level, depth):  # noqa: B007  the last one
            pass
        return values, end

    def beginnings(
        self, at: int, level: int, depth: int = 0, only: str | None = None
    ) -> Iterator[tuple[frozenset[int], int]]:
        """The operand, then the operand with one operation after another; ends where something is not known."""
        values, at = self.operand(at, depth)
        for _count in range(_OPERATORS):
            if not values:
                return
            yield values, at
            sign = self.text(at)
            if _LEVELS.get(sign, 0) < level or (only and sign != only):
                return
            right, after = self.expression(at + 1, _LEVELS[sign] + 1, depth)
            values, at = _few(_results(sign, values, right)), after

    # ---------------------------------------------------------------------------------------------------------- what is
    def numbers(self) -> Iterator[Number]:
        for at, (kind, text, _line) in enumerate(self.tokens):
            if kind == "number" or text == "(" or (kind == "name" and text in self.names):
                for values, end in self._from(at):
                    computed = end - at > 1 or kind != "number"
                    yield from (self._number(value, at, end, computed) for value in sorted(values))

    def _from(self, at: int) -> Iterator[tuple[frozenset[int], int]]:
        """What begins here, as far as the sign before binds no tighter."""
        before = self.text(at - 1)
        if before in ("/", "%"):
            values, end = self.operand(at)
            yield from [(values, end)] if values else []
        elif before == "*":
            yield from self.beginnings(at, 3, only="*")
        else:
            yield from self.beginnings(at, _LEVELS.get(before, 0) + 1)

    def _number(self, value: int, at: int, end: int, computed: bool) -> Number:
        before, after = self.text(at - 1), self.text(end)
        of_block = (before == "*" and "blockIdx" in (self.text(at - 4), self.text(at - 2))) or (
            after == "*" and self.text(end + 1) == "blockIdx"
        )
        return Number(
            value,
            self.lines[self.tokens[at][2]],
            computed,
            divides=before in ("/", "%", "/=", "%=", "+=") or of_block,
            masks="&" in (before, after),
            shifts=before in (">>", "<<", ">>=", "<<="),
        )

    def definitions(self) -> Iterator[tuple[str, frozenset[int]]]:
        for at, (kind, _text, _line) in enumerate(self.tokens):
            if kind != "name":
                continue
            value, end, ends = frozenset[int](), at, ("",)
            if self.text(at - 1) == "define" and self.text(at - 2) == "#":
                value, end = self.expression(at + 1, 1)
                ends = (self.text(end),) if end >= len(self.tokens) or self.tokens[end][2] > self.tokens[at][2] else ()
            elif self.text(at + 1) in ("=", "{"):
                value, end = self.expression(at + 2, 1)
                ends = (";", ",", "}", ")", ">", "") if self.text(at + 1) == "=" else ("}",)
            if value and self.text(end) in ends and max(value) > 1:
                flag = self.text(at - 1) == "-" and at == 1  # -DTILE=64
                yield self.text(at).removeprefix("D" if flag else ""), value

    def template_arguments(self) -> Iterator[tuple[str, frozenset[int]]]:
        """`template <int N> void k(...)` with `k<4096>` somewhere: N is 4096."""
        parameters = {}
        for found in _TEMPLATE.finditer(self.source):
            name = next(
                (n for n in _CALLED.findall(self.source, found.end(), found.end() + 300) if n not in _NOT_IT), ""
            )
            parameters[name] = [re.findall(r"\w+", part.split("=")[0])[-1:] for part in found[1].split(",")]
        for use in _USE.finditer(self.source) if parameters else ():
            for parameter, argument in zip(parameters.get(use[1], ()), use[2].split(","), strict=False):
                if parameter and (values := _Tokens(argument, self.names).whole()):
                    yield parameter[0], values

    def launches(self) -> Iterator[int]:
        for at, (_kind, text, _line) in enumerate(self.tokens):
            if text == "<<<":
                grid, comma = self.expression(at + 1, 1)
                block, _end = self.expression(comma + 1, 1) if self.text(comma) == "," else (frozenset(), 0)
                yield from (first * second for first, second in product(grid, block))


def _literal(text: str) -> frozenset[int]:
    digits = text.rstrip("uUlLzZ").replace("'", "")
    value = 0 if re.match(r"0\d", digits) else int(digits, 0) if len(digits) < 80 else 1 << _BITS
    return frozenset([value]) if value.bit_length() <= _BITS else frozenset()


def _results(sign: str, left: frozenset[int], right: frozenset[int]) -> Iterator[int]:
    for first, second in product(left, right):
        if sign in ("<<", ">>") and not 0 <= second < _BITS:
            continue
        if sign in ("/", "%") and second == 0:
            continue
        value = _COMPUTED[sign](first, second)
        if value >= 0 and value.bit_length() <= _BITS:
            yield value


def _few(values: Iterator[int] | set[int]) -> frozenset[int]:
    return frozenset(sorted(set(values))[-_VALUES:])
