"""Functions of the host that device code calls. nvcc refuses them; to g++ all functions are alike.

It is looked at by words: a function is the host's where its head says neither that it is the device's nor that it may
be, `constexpr` and unknown macros included. Where that can't be told, nobody is accused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooreeval.simulator.rewrite.conditions import dead_tokens
from mooreeval.simulator.rewrite.tokens import Kind, Tokens

_DEVICE = frozenset(("__device__", "__global__"))
_MAY_BE_DEVICE = _DEVICE | {"constexpr", "consteval", "operator"}
_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_NO_NAME = frozenset("if for while switch catch return do else sizeof alignas decltype noexcept __attribute__".split())
_BEHIND_PARAMETERS = frozenset(("const", "noexcept", "override", "final", "mutable"))
_NO_TYPE = frozenset("return case throw else do not and or co_return".split())
# Of the standard library, not constexpr in C++20, which PyTorch builds with: nvcc takes what is, by its flags.
_OF_THE_HOST = frozenset(
    """
    stable_sort inplace_merge stable_partition shuffle deque list forward_list map set unordered_map unordered_set
    multimap multiset function any shared_ptr make_shared valarray mt19937 mt19937_64 cout cerr
    """.split()
)
_C_LIBRARY = frozenset(("qsort", "qsort_r", "bsearch"))
_MOST_HEAD_WORDS = 120
_MOST_NEAR = 1000  # tokens, or characters of a declaration, that are looked through for one thing
_MOST_DEPTH = 32  # of namespaces


@dataclass(frozen=True)
class HostCall:
    """A function of the host where device code calls it, or a launch hands it to a kernel."""

    name: str
    caller: str  # the device function; empty for a launch
    source: int  # which of the texts
    line: int  # 1-based

    @property
    def message(self) -> str:
        """As nvcc tells it."""
        if not self.caller:
            return f'"{self.name}" of the host is handed to a kernel: only what is `__device__` can run there'
        return f'calling a __host__ function ("{self.name}") from device code ("{self.caller}") is not allowed'


@dataclass(frozen=True)
class _Function:
    name: str
    words: frozenset[str]  # of its head
    begin: int  # of its body
    end: int


def host_calls(texts: Sequence[Tokens]) -> list[HostCall]:
    """What the device code of these sources, which are compiled together, calls of the host's; in order."""
    functions = [list(_functions(tokens)) for tokens in texts]
    host = _host_only(functions, texts)
    macros = {name: words for tokens in texts for name, words in _macros(tokens)}
    found: list[HostCall] = []
    for number, tokens in enumerate(texts):
        dead = dead_tokens(tokens)
        names = _Names(tokens, host, macros)
        for function in functions[number]:
            if function.words & _DEVICE:
                inside = (i for i in range(function.begin, function.end) if not dead[i])
                first = next(((i, name) for i in inside if (name := names.called(i, function))), None)
                found += [HostCall(first[1], function.name, number, tokens.line(first[0]))] if first else []
        handed = [(i, name) for i, name in names.handed_over() if not dead[i]]
        found += [HostCall(name, "", number, tokens.line(i)) for i, name in handed]
    return found


class _Names:
    """What names in one source mean."""

    def __init__(self, tokens: Tokens, host: frozenset[str], macros: dict[str, frozenset[str]]) -> None:
        self._tokens, self._host, self._macros = tokens, host, macros
        self._behind: dict[str, str] = {}  # macros -> a function of the host that they call
        self._local: dict[tuple[str, int], bool] = {}
        self._in_std = re.search(r"\busing\s+namespace\s+std\b", tokens.text) is not None

    def called(self, i: int, function: _Function) -> str:
        """The function of the host that token i calls, or nothing."""
        tokens = self._tokens
        if not tokens.is_ident(i) or tokens[i - 1] in (".", "->"):
            return ""
        word = tokens[i]
        if word == "std" and tokens[i + 1] == "::":
            return f"std::{tokens[i + 2]}" if tokens[i + 2] in _OF_THE_HOST else ""
        if tokens[i - 1] == "::" and tokens.is_ident(i - 2):
            return ""
        if word in self._macros and (hidden := self._behind_macro(word)):
            return hidden
        if tokens[i + 1] != "(" or self._declares(i) or word == function.name:
            return ""
        known = word in self._host or word in _C_LIBRARY or (self._in_std and word in _OF_THE_HOST)
        return word if known and not self._is_local(word, function) else ""

    def _behind_macro(self, name: str) -> str:
        if name not in self._behind:
            self._behind[name] = self._found_behind(name)
        return self._behind[name]

    def _found_behind(self, name: str) -> str:
        seen: set[str] = set()
        todo = [name]
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo += self._macros.get(each, ())
        if "std" in seen and (found := sorted(seen & _OF_THE_HOST)):
            return f"std::{found[0]}"
        return next(iter(sorted((seen - self._macros.keys()) & self._host)), "")

    def _declares(self, i: int) -> bool:
        """`T name(...)`: a variable."""
        before = self._tokens[i - 1]
        return before in ("*", "&", ">") or (self._tokens.is_ident(i - 1) and before not in _NO_TYPE)

    def _is_local(self, word: str, function: _Function) -> bool:
        key = word, function.begin
        if key not in self._local:
            starts = self._tokens.starts
            first, last = starts[max(function.begin - _MOST_HEAD_WORDS, 0)], starts[function.end]
            self._local[key] = self._declarations(word, first, last) > 0
        return self._local[key]

    def _declarations(self, word: str, first: int, last: int) -> int:
        """How often a name seems to be declared as a variable between two places of the text."""
        pattern = re.compile(rf"\b(?!return\b|case\b)\w+(?:\s*[*&]+\s*|\s+){word}\s*[=,){{;\[]")
        return sum(1 for _ in pattern.finditer(self._tokens.text, first, last))

    def handed_over(self) -> Iterator[tuple[int, str]]:
        """Functions and lambdas of the host among the arguments of launches."""
        tokens = self._tokens
        length = len(tokens.text)
        held = {name for name in self._host if not self._declarations(name, 0, length)}
        held |= {name for name in self._holders() if self._declarations(name, 0, length) == 1}
        for i in range(3, len(tokens)):
            if tokens[i] != "(" or not tokens.adjacent(i - 3, 3, ">") or tokens.match[i] < 0 or tokens.directive[i]:
                continue
            for k in range(i + 1, min(tokens.match[i], i + _MOST_NEAR)):
                if tokens.scope[k] != i or tokens[k - 1] not in ("(", ",", "&"):
                    continue
                word = tokens[k]
                if word == "[" and self._is_host_lambda(k):
                    yield k, "a lambda"
                elif tokens[k + 1] in (",", ")") and word in held:
                    yield k, word

    def _holders(self) -> Iterator[str]:
        """Variables that are made of a lambda or a function of the host: `auto f = [...`, `F f = &name;`."""
        tokens = self._tokens
        for i in range(2, len(tokens)):
            if tokens[i - 1] != "=" or not tokens.is_ident(i - 2):
                continue
            name = i + (tokens[i] == "&")
            is_function = tokens[name] in self._host and tokens[name + 1] in (";", ",")
            if is_function or (tokens[i] == "[" and self._is_host_lambda(i)):
                yield tokens[i - 2]

    def _is_host_lambda(self, opening: int) -> bool:
        """Does a lambda begin at this bracket whose head does not say `__device__`?"""
        tokens = self._tokens
        i = tokens.match[opening] + 1
        end = min(len(tokens), i + _MOST_NEAR)
        while 0 < i < end and tokens[i] not in ("{", ";", ""):
            if tokens[i] in _DEVICE or _MACRO.fullmatch(tokens[i]) or tokens[i] in (",", "="):
                return False
            i = tokens.match[i] + 1 if tokens[i] == "(" and tokens.match[i] > i else i + 1
        return i > 0 and tokens[i] == "{" and tokens[tokens.match[opening] + 1] in ("(", "{", "mutable")


def _host_only(functions: Sequence[Sequence[_Function]], texts: Sequence[Tokens]) -> frozenset[str]:
    """Names all of whose definitions are certainly the host's."""
    every = [function for found in functions for function in found]
    names = {f.name for f in every} - {f.name for f in every if not _is_of_the_host(f)}
    declared = "|".join(sorted(map(re.escape, names)))
    for tokens in texts if names else ():
        pattern = rf"(?:__device__|constexpr|\b[A-Z][A-Z0-9_]{{2,}}\b)[^;{{}}()]{{0,{_MOST_NEAR}}}?\b({declared})\s*\("
        names -= {found[1] for found in re.finditer(pattern, tokens.text)}
    return frozenset(names)


def _is_of_the_host(function: _Function) -> bool:
    unsure = any(_MACRO.fullmatch(word) for word in function.words)
    return not unsure and not function.words & _MAY_BE_DEVICE


def _functions(tokens: Tokens) -> Iterator[_Function]:
    """Functions with a body that are no members of a class."""
    for i in range(len(tokens)):
        if tokens[i] != "{" or tokens.match[i] < i or tokens.directive[i]:
            continue
        close = i - 1
        while tokens[close] in _BEHIND_PARAMETERS:
            close -= 1
        opening = tokens.match[close] if tokens[close] == ")" else -1
        name = tokens[opening - 1] if opening > 0 and tokens.is_ident(opening - 1) else ""
        if name and name not in _NO_NAME and _is_in_a_namespace(tokens, tokens.scope[i]):
            yield _Function(name, frozenset(_head(tokens, opening - 1)), i, tokens.match[i])


def _is_in_a_namespace(tokens: Tokens, scope: int) -> bool:
    for _ in range(_MOST_DEPTH):
        if scope < 0:
            return True
        before = {tokens[k] for k in range(max(scope - 4, 0), scope)}
        is_extern = tokens.kinds[scope - 1] == Kind.STRING and tokens[scope - 2] == "extern"
        if tokens[scope] != "{" or not ("namespace" in before or is_extern):
            return False
        scope = tokens.scope[scope]
    return False


def _head(tokens: Tokens, name: int) -> Iterator[str]:
    for i in range(name - 1, max(name - _MOST_HEAD_WORDS, -1), -1):
        if tokens[i] in (";", "{", "}") or tokens.directive[i]:
            return
        if tokens.is_ident(i):
            yield tokens[i]


def _macros(tokens: Tokens) -> Iterator[tuple[str, frozenset[str]]]:
    """Macros of the source's own, with the names in what they stand for."""
    for number, first in enumerate(tokens.directive_first):
        if not number or tokens[first + 1] != "define":
            continue
        words, i = set(), first + 3
        while i < len(tokens) and tokens.directive[i] == number:
            if tokens.is_ident(i):
                words.add(tokens[i])
            i += 1
        yield tokens[first + 2], frozenset(words)
