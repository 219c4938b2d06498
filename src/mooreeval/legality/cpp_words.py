"""Words of a candidate's C++ that break a rule wherever they stand in live code: in host or device code, called or not.

It looks at tokens alone, so that no text is too broken to be read. `cpp_calls` follows what the host code calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mooreeval.legality import cpp_names as names
from mooreeval.legality.rules import EVERYWHERE, Accusation, shown
from mooreeval.simulator.rewrite.tokens import Kind, Tokens
from mooreeval.toolchains.cuda_names import exists as is_cuda_name

_KEYWORDS = frozenset(
    "return else case throw new delete goto co_return co_await co_yield and or not sizeof typedef using operator "
    "do in if while for switch".split()
)
_LOADERS = frozenset(
    ("constructor", "destructor", "__constructor__", "__destructor__", "ifunc", "init_priority", "alias")
)
_OF_FUNCTIONS = ("__device__", "__global__")
_MOST_CLIMBS = 40


class Words:
    """One expanded source, word by word."""

    def __init__(
        self,
        source: str,
        text: str,
        single: bool,
        own_functions: frozenset[str],
        overloads: frozenset[str] = frozenset(),
    ) -> None:
        self.source, self.single, self.overloads = source, single, overloads
        self.tokens = Tokens(text)
        self.own = own_functions | frozenset(_variables(self.tokens))
        self.aliases = {"py": "pybind11", **dict(_aliases(self.tokens))}
        self.found: list[Accusation] = []

    def accuse(self, rule: str, at: int, evidence: str, message: str = "") -> None:
        words = shown(evidence, 80)
        self.found.append(
            Accusation(
                rule, self.tokens.line(at), words, message or f"`{words}`: {EVERYWHERE[rule]}", None, self.source
            )
        )

    def read(self) -> list[Accusation]:
        """Every offence, in order."""
        tokens = self.tokens
        for at in range(len(tokens)):
            kind = tokens.kinds[at]
            if kind == Kind.STRING:
                self._string(at)
            elif kind == Kind.IDENT and tokens[at - 1] != "::":
                self._word(at)
            elif kind == Kind.IDENT and not (tokens.is_ident(at - 2) or tokens[at - 2] == ">"):
                self._global_name(at)
        self._addresses()
        return self.found

    # ------------------------------------------------------------------------------------------------------------ words
    def _word(self, at: int) -> None:
        tokens = self.tokens
        word = tokens[at]
        if tokens[at - 1] in (".", "->"):
            self._member(at, word)
            return
        name, end = qualified(tokens, at)
        if "::" in name:
            first, rest = name.split("::", 1)
            name = f"{self.aliases.get(first, first)}::{rest}"
            self._qualified_name(at, name, end)
        elif word in ("asm", "__asm__", "__asm"):
            self._assembler(at)
        else:
            self._plain(at, word, end)

    def _plain(self, at: int, word: str, end: int) -> None:
        tokens = self.tokens
        called = tokens[end] == "("
        if rule := names.LIBC.get(word):
            declared = tokens.is_ident(at - 1) and tokens[at - 1] not in _KEYWORDS
            if word in names.UNMISTAKABLE or (called and word not in self.own and not declared):
                self.accuse(rule, at, f"{word}(" if called else word)
        elif word.startswith("cuda") and word[4:5].isupper():
            self._runtime(at, word)
        elif names.DRIVER.fullmatch(word) and called and word not in self.own:
            self.accuse("cuda_call", at, f"{word}(", f"`{word}`: the driver is not for candidates")
        elif names.RUNTIME_COMPILERS.fullmatch(word):
            self.accuse("runtime_compiler", at, word)
        elif names.PYTHON_API.fullmatch(word) and called and word not in self.own:
            self.accuse("python_from_cpp", at, f"{word}(")
        elif names.TORCH_WORDS.get(word):
            self._torch_word(at, word)
        elif word in _LOADERS and self._in_attribute(at):
            self.accuse("static_initialiser", at, f"__attribute__(({word}))")
        elif word == "STD_TORCH_LIBRARY_IMPL":
            self._torch_word(at, "TORCH_LIBRARY_IMPL")
        if self.single:
            self._precision(at, word)

    def _global_name(self, at: int) -> None:
        """`::name`."""
        word = self.tokens[at]
        if rule := names.LIBC.get(word):
            self.accuse(rule, at, f"::{word}")

    def _qualified_name(self, at: int, name: str, end: int) -> None:
        parts = name.split("::")
        last = parts[-1]
        if parts[0] == "std" and (rule := names.STD.get(parts[1])) and not (parts[1] == "launch" and len(parts) == 2):
            self.accuse(rule, at, name)
        elif parts[0] == "std" and last in names.UNMISTAKABLE:
            self.accuse(names.LIBC[last], at, name)
        elif parts[0] in ("gnu", "__gnu__") and last in _LOADERS:
            self.accuse("static_initialiser", at, name)
        elif names.PYBIND_CLOSED.match(name):
            self.accuse("python_from_cpp", at, name)
        elif parts[0] in names.TORCH_ROOTS:
            self._torch_name(at, name, parts)
        if self.single:
            for number, part in enumerate(parts):
                self._precision(at + 2 * number, part)

    def _torch_name(self, at: int, name: str, parts: list[str]) -> None:
        for length in range(len(parts), 1, -1):
            rule = names.TORCH_AREAS.get("::".join(parts[:length]))
            if rule in EVERYWHERE:
                self.accuse(str(rule), at, name)
                return
            if rule is not None:
                break
        for part in parts[1:]:
            if names.TORCH_WORDS.get(part):
                self._torch_word(at, part)
                return

    def _torch_word(self, at: int, word: str) -> None:
        rule = names.TORCH_WORDS[word]
        if rule == "patching" and word.endswith("LIBRARY_IMPL") and self.tokens[at + 2] not in ("aten", "_", "prim"):
            return
        if rule != "low_precision" or self.single:
            self.accuse(rule, at, word)

    def _member(self, at: int, word: str) -> None:
        if word == "attr" and self.tokens[at + 1] == "(":
            close = self.tokens.match[at + 1]
            if close > 0 and self.tokens[close + 1] != "=":
                self.accuse("python_from_cpp", at, ".attr(", "`.attr(`: Python is reached from C++")
        elif names.TORCH_WORDS.get(word) in ("backend_flags", "low_precision", "torch_internals"):
            self._torch_word(at, word)

    def _runtime(self, at: int, word: str) -> None:
        if word in names.L2_WORDS:
            self.accuse("l2_persistence", at, word)
            return
        for pattern, rule in names.CUDA_RUNTIME:
            if re.fullmatch(pattern, word):
                if word.startswith("cudaGraph") and not is_cuda_name(word):
                    return
                if word.startswith("cudaGetDriverEntryPoint") and self._asks_for(at, "cuTensorMapEncode"):
                    return
                self.accuse(rule, at, word)
                return

    def _asks_for(self, at: int, beginning: str) -> bool:
        """Whether the first argument of a call is a text that begins so."""
        return self.tokens[at + 1] == "(" and self.tokens[at + 2].startswith(f'"{beginning}')

    # -------------------------------------------------------------------------------------------------------- precision
    def _precision(self, at: int, word: str) -> None:
        tokens = self.tokens
        if names.LOW_WORDS.fullmatch(word):
            if tokens[at + 1] == "(" and not self._is_overload(at):
                self._low(at, word)
        elif word in names.LOW_KINDS:
            if (
                tokens[at - 1] not in ("==", "!=", "case")
                and tokens[at + 1] not in ("==", "!=", ":")
                and self._converts(at)
            ):
                self._low(at, word)
        elif word == "precision" and tokens[at + 2] == "tf32":
            self._low(at, "precision::tf32")
        elif word in ("static_cast", "reinterpret_cast") and word == "static_cast" and tokens[at + 1] == "<":
            if tokens[at + 2] in names.LOW_TYPES and tokens[at + 3] == ">" and not self._is_overload(at):
                self._low(at, f"static_cast<{tokens[at + 2]}>")
        elif word == "fragment" and any(tokens[i] in names.LOW_TYPES for i in range(at + 1, at + 16)):
            self._low(at, "fragment<... half ...>")

    def _low(self, at: int, word: str) -> None:
        self.accuse("low_precision", at, word, f"`{shown(word, 60)}`: the task asks for single precision")

    def _converts(self, at: int) -> bool:
        """Whether a dtype stands among the arguments of `.to(`, `.toType(` or of something that allocates."""
        scope = self.tokens.scope[at]
        for _ in range(4):
            if scope < 1:
                return False
            if self.tokens[scope] == "(" and re.fullmatch(
                r"to|toType|to_type|dtype|empty\w*|zeros\w*|full\w*|ones\w*", self.tokens[scope - 1]
            ):
                return True
            scope = self.tokens.scope[scope]
        return False

    def _is_overload(self, at: int) -> bool:
        """Whether a word stands in a specialisation for half precision: other types do not come by it."""
        header = self._header(at)
        if re.search(r"\btemplate <\s*>", header):
            return True
        named = [row for row in header.split("\n") if "__device__" in row and "__global__" not in row]
        return any(
            (found := re.search(r"(\w+) \(", row)) and found[1] in self.overloads and set(row.split()) & names.LOW_TYPES
            for row in named
        )

    # ---------------------------------------------------------------------------------------------------------- context
    def _header(self, at: int) -> str:
        """The words before the bodies that a word stands in."""
        tokens, parts = self.tokens, []
        scope = tokens.scope[at]
        for _ in range(_MOST_CLIMBS):
            if scope < 0:
                break
            if tokens[scope] == "{":
                first = scope - 1
                while first >= 0 and tokens[first] not in (";", "}", "{") and scope - first < 200:
                    first -= 1
                parts.append(" ".join(tokens[i] for i in range(first + 1, scope)))
            scope = tokens.scope[scope]
        return "\n".join(parts)

    def in_device_code(self, at: int) -> bool:
        return any(word in self._header(at) for word in _OF_FUNCTIONS)

    def _assembler(self, at: int) -> None:
        opened = at + 1
        while self.tokens[opened] in ("volatile", "__volatile__", "goto", "inline"):
            opened += 1
        is_empty = self.tokens[opened] == "(" and self.tokens[opened + 1] == '""'
        if not is_empty and not self.in_device_code(at):
            self.accuse("host_assembler", at, "asm(")

    def _in_attribute(self, at: int) -> bool:
        before = [self.tokens[i] for i in range(max(0, at - 8), at)]
        return "__attribute__" in before or "gnu" in before or "__attribute" in before

    def _string(self, at: int) -> None:
        text = self.tokens[at]
        if re.search(r"\.(?:init_array|fini_array|ctors|dtors|preinit_array)", text):
            self.accuse("static_initialiser", at, text)
        if self.single and (found := names.LOW_PTX.search(text)) and self.in_device_code(at):
            self._low(at, found[0])

    def _addresses(self) -> None:
        number = r"(0[xX][0-9a-fA-F']{4,}|[1-9][0-9']{5,})"
        patterns = (
            rf"reinterpret_cast < [^<>;]*\* > \( (?:\( \w+ \) )?{number}",
            rf"\( (?:const )?[\w:]+ (?:\* )+\) (?:\( )?{number}",
        )
        for pattern in patterns:
            for found in re.finditer(pattern, self.tokens.text):
                line = self.tokens.text.count("\n", 0, found.start()) + 1
                message = f"`{found[1]}` is made an address"
                self.found.append(
                    Accusation("address_from_integer", line, shown(found[0], 80), message, None, self.source)
                )


def qualified(tokens: Tokens, at: int) -> tuple[str, int]:
    """The name that begins here, `a::b::c` without what stands in angle brackets, and the index behind it."""
    name, end = tokens[at], at + 1
    while tokens[end] == "::" and tokens.is_ident(end + 1):
        name += f"::{tokens[end + 1]}"
        end += 2
    return name, end


def _aliases(tokens: Tokens) -> Iterator[tuple[str, str]]:
    """`namespace short = long::name`."""
    for at in range(len(tokens)):
        if tokens[at] == "namespace" and tokens[at + 2] == "=":
            start = at + 4 if tokens[at + 3] == "::" else at + 3
            yield tokens[at + 1], qualified(tokens, start)[0]


def _variables(tokens: Tokens) -> Iterator[str]:
    """Names that the source declares as variables, parameters or lambdas."""
    for at in range(1, len(tokens)):
        if tokens.is_ident(at) and tokens[at + 1] in ("=", ";", ",", ")", "[", "{", ":"):
            before = tokens[at - 1]
            if (tokens.is_ident(at - 1) and before not in _KEYWORDS) or before in ("*", "&", ">"):
                yield tokens[at]
