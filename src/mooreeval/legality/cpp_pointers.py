"""Pointers to functions that are made of anything but a function's name, and functions' addresses that are data.

A call through such a pointer has no name that the source or the built module would show: from the address of any
function of a library all others can be counted out. A function's name as a pointer is honest, and so is its address as
`void*`, which CUDA's own calls take.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from mooreeval.legality.cpp_calls import is_plumbing
from mooreeval.legality.cpp_names import TORCH_ROOTS
from mooreeval.legality.operators import is_allowed_in_cpp
from mooreeval.legality.rules import Accusation, shown
from mooreeval.simulator.rewrite.tokens import Tokens

_RULE = "computed_call"
_CASTS = frozenset("reinterpret_cast bit_cast static_cast".split())
_POINTER = re.compile(r"\( (?:\w+ :: )*\* (?:const )?\) ?\(")
_VOID = re.compile(r"(?:const |volatile |struct )*void (?:const )?\*(?: const)?")
_TYPEDEF = re.compile(
    r"\btypedef\b[^;{}]{0,400}?\(\s*(?:\w+\s*::\s*)*\*\s*(\w+)\s*\)\s*\(|\busing\s+(\w+)\s*=[^;{}]{0,400}?\(\s*\*\s*\)\s*\("
)
_TYPE_OF_FUNCTION = re.compile(
    r"\btypedef\s+[\w\s:*&<>]{0,400}?[\s*&](\w+)\s*\(|\busing\s+(\w+)\s*=\s*[\w\s:<>*&]{1,400}?\(\s*(?!\*)"
)
_NAME = re.compile(r"&? ?(?:\w+ :: )*\w+(?: <.*>)?")
_UNARY = frozenset(("(", ",", "=", "{", "return", ":", "?", "<"))
_MOST_WORDS = 200


class Pointers:
    """One expanded source. `functions`: names of the candidate's own."""

    def __init__(self, source: str, tokens: Tokens, functions: frozenset[str]) -> None:
        self.source, self.tokens, self.functions = source, tokens, functions
        self.types = frozenset(a or b for a, b in _TYPEDEF.findall(tokens.text))
        self.plain_types = frozenset(a or b for a, b in _TYPE_OF_FUNCTION.findall(tokens.text)) - self.types
        self.variables = frozenset(self._variables())

    def read(self) -> Iterator[Accusation]:
        """Every offence, in order."""
        tokens = self.tokens
        for at in range(len(tokens)):
            word = tokens[at]
            if word in _CASTS and tokens[at + 1] == "<":
                yield from self._cast(at)
            elif word == "(" and tokens.match[at] > at:
                yield from self._c_cast(at)
            elif word == "union":
                yield from self._union(at)
            elif word == "&" and tokens[at - 1] in _UNARY:
                yield from self._address(at)
            elif word in ("section", "__section__") and tokens[at + 1] == "(" and self._is_code(at):
                yield self._told(at, f"section({tokens[at + 2]})", "data are put where code stands")

    def _told(self, at: int, evidence: str, why: str) -> Accusation:
        words = shown(evidence, 80)
        return Accusation(_RULE, self.tokens.line(at), words, f"`{words}`: {why}", None, self.source)

    def _variables(self) -> Iterator[str]:
        """Names that are declared as pointers to functions."""
        tokens = self.tokens
        for at in range(len(tokens)):
            if (
                tokens[at] in self.types
                and tokens.is_ident(at + 1)
                and tokens[at + 2] in ("=", ";", ",", ")", "{", "[")
            ):
                yield tokens[at + 1]
            is_plain = tokens[at] in self.plain_types and tokens[at + 1] == "*" and tokens.is_ident(at + 2)
            if is_plain or (tokens[at] == "(" and tokens[at + 1] == "*" and self._words(at + 3, at + 5) == ") ("):
                yield tokens[at + 2]

    def _words(self, first: int, last: int) -> str:
        return " ".join(self.tokens[i] for i in range(first, min(last, first + _MOST_WORDS)))

    def _is_pointer(self, kind: str) -> bool:
        """Whether a type is that of a pointer to a function."""
        plain = kind.replace("const ", "").removesuffix(" const").removesuffix(" &")
        if plain in self.types or (plain.removesuffix(" *") in self.plain_types and plain.endswith(" *")):
            return True
        return bool(_POINTER.search(kind)) or kind.startswith("decltype ( &")

    def _is_function(self, operand: str) -> bool:
        """Whether an operand is a function of the candidate's own by its name."""
        return _parts(operand)[-1] in self.functions

    def _cast(self, at: int) -> Iterator[Accusation]:
        """`reinterpret_cast<TYPE>(operand)`."""
        tokens, depth, end = self.tokens, 0, at + 1
        while end < at + _MOST_WORDS and tokens[end]:
            depth += (tokens[end] == "<") - (tokens[end] == ">")
            if depth == 0:
                break
            end += 1
        if tokens[end + 1] == "(" and tokens.match[end + 1] > 0:
            kind = self._words(at + 2, end)
            yield from self._converted(at, kind, self._words(end + 2, tokens.match[end + 1]))

    def _c_cast(self, at: int) -> Iterator[Accusation]:
        """`(TYPE)operand`, where the type is one that matters here."""
        tokens, close = self.tokens, self.tokens.match[at]
        kind = self._words(at + 1, close)
        first = close + 1
        begins = tokens.is_ident(first) or tokens[first] in ("(", "&", "*")
        is_cast = tokens[at - 1] in _UNARY | {"(", ")", ";", "*", "+", "-"} and begins
        if not is_cast:
            return
        end = tokens.match[first] + 1 if tokens[first] == "(" and tokens.match[first] > 0 else first + 1
        if tokens[first] in ("&", "*"):
            end = first + 2
        while tokens[end] == "::":
            end += 2
        yield from self._converted(at, kind, self._words(first, end).removeprefix("( ").removesuffix(" )"))

    def _converted(self, at: int, kind: str, operand: str) -> Iterator[Accusation]:
        if self._is_pointer(kind):
            is_name = self._is_function(operand) or _parts(operand)[0] in TORCH_ROOTS  # accused by its address
            is_honest = is_name or operand in ("nullptr", "NULL", "0") or operand.startswith("[")
            if not is_honest:
                yield self._told(at, f"({kind}) {operand}", "a pointer to a function is made of something else")
        elif not _VOID.fullmatch(kind) and self._is_data(kind):
            name = operand.removeprefix("& ")
            if self._is_function(operand) and "(" not in operand and name not in self._shadowed:
                yield self._told(at, f"({kind}) {operand}", "the address of a function is taken for data")
            elif name in self.variables:
                yield self._told(at, f"({kind}) {operand}", "a pointer to a function is taken for data")

    def _is_data(self, kind: str) -> bool:
        return kind.endswith(("*", "&")) or bool(
            re.fullmatch(r"(?:std :: )?(?:u?intptr_t|u?int64_t|size_t|(?:unsigned )?long(?: long)?)", kind)
        )

    @functools.cached_property
    def _shadowed(self) -> frozenset[str]:
        """Functions whose name is that of a variable, too."""
        found = re.findall(r"[\w>][*&\s]+(\w+)\s*(?:=|;|,|\)|\[)", self.tokens.text)
        return frozenset(found) & self.functions

    def _union(self, at: int) -> Iterator[Accusation]:
        tokens, opened = self.tokens, at + 1
        while tokens[opened] not in ("{", ";", "") and opened < at + 4:
            opened += 1
        if tokens[opened] != "{" or tokens.match[opened] < 0:
            return
        inside = range(opened, min(tokens.match[opened], opened + _MOST_WORDS))
        if any(tokens[i] in self.types or tokens[i] in self.variables for i in inside):
            yield self._told(at, "union", "a pointer to a function shares its memory with something else")

    def _address(self, at: int) -> Iterator[Accusation]:
        """`&pointer`, through which it could be written; `&at::name`, from where others can be counted out."""
        tokens = self.tokens
        name = at + 1 + (tokens[at + 1] == "::")
        if tokens[name] in TORCH_ROOTS and tokens[name + 1] == "::":
            end = name
            while tokens[end + 1] == "::" and tokens.is_ident(end + 2):
                end += 2
            if tokens[end + 1] in (";", ",", ")", "}"):
                yield self._told_of_torch(at, end)
        elif tokens[name] in self.variables and tokens[name + 1] in (",", ")", ";"):
            yield self._told(at, f"&{tokens[name]}", "a pointer to a function is taken for data")

    def _told_of_torch(self, at: int, end: int) -> Accusation:
        words = self._words(at, end + 1).replace(" ", "")
        names = [part for part in words.split("::") if part != "call"]
        if is_plumbing(names[-1]) or is_allowed_in_cpp(names[-1]):
            return self._told(at, words, "the address of a function of PyTorch's is taken")
        message = f"`{shown(words, 60)}` is computation by PyTorch in the host code"
        return Accusation("cpp_torch_compute", self.tokens.line(at), shown(words, 80), message, None, self.source)

    def _is_code(self, at: int) -> bool:
        """Whether an attribute puts what follows into a section that may hold code; others tell of what runs early."""
        if re.search(r"(?:init|fini)_array|[cd]tors", self.tokens[at + 2]):
            return False
        before = {self.tokens[i] for i in range(max(0, at - 8), at)}
        return bool(before & {"__attribute__", "__attribute", "gnu", "__gnu__", "__declspec"})


def _parts(operand: str) -> list[str]:
    """The parts of a qualified name, `&` and template arguments left out; of anything else one empty part."""
    if not _NAME.fullmatch(operand):
        return [""]
    return re.sub(r" <.*", "", operand).removeprefix("&").replace(" ", "").removeprefix("::").split("::")
