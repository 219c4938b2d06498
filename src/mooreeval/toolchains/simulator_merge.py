"""May sources that PyTorch compiles apart be read as one unit, which costs half?

What leaks from one source into the next without a compile error would change what the next one means: a name declared
before (another overload is chosen), `using namespace`, a pragma, a macro. So all but the last group of sources may hold
nothing but includes, macros (taken back behind the group), functions, and the blocks that register them; and of these
functions a later group may mention those only that it declares itself with the same types. Whatever else stands there
is compiled apart, whether or not it would do harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mooreeval.simulator.rewrite import Tokens, join_lines
from mooreeval.toolchains.base import Extension, Source

# These headers of PyTorch bring pybind11 and its alias `py`, which others do without.
_BRINGS_PYTHON = re.compile(r"#\s*include\s*[<\"](?:torch/(?:extension|python|torch)\.h|pybind11/|torch/csrc/)")
_OF_PYTHON = re.compile(r"\bpy\s*::|\bpybind11\b|\bPYBIND11_MODULE\b")
_BLOCKS = frozenset({"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL", "TORCH_LIBRARY_FRAGMENT"})
# A declaration with one of these is more than a plain function.
_NO_FUNCTION = frozenset(
    "using namespace template typedef struct class union enum extern operator friend concept asm static_assert "
    "constinit thread_local requires decltype __attribute__ alignas".split()
)
_HARMLESS_PRAGMAS = frozenset({"once", "unroll", "region", "endregion", "nv_diag_suppress", "nv_diag_default"})
_BRACKETS = frozenset("()[]{}")
_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "else", "elif", "elifdef", "elifndef", "endif"})


@dataclass
class _Functions:
    """The functions that a group of sources names at file scope, and its macros."""

    types: dict[str, set[str]] = field(default_factory=dict)  # name -> parameters of its declarations
    defaults: set[str] = field(default_factory=set)  # names of those with default arguments
    own: set[str] = field(default_factory=set)  # names of those that no other source can mean
    plain: bool = True  # there is nothing else


def macros(text: str) -> list[str]:
    """Names that a source defines or takes back, whatever conditions stand around it; each once."""
    found = re.findall(r"^[ \t]*(?:#|%:)\s*(?:define|undef)\s+([A-Za-z_]\w*)", _without_comments(text), re.MULTILINE)
    return list(dict.fromkeys(name for name in found if name != "defined"))


def can_merge(extension: Extension, groups: Sequence[Sequence[Source]]) -> bool:
    """Whether one unit of all groups, in this order, means what each means alone."""
    if len(groups) < 2:
        return True
    if extension.headers:  # one that is read once only would be read under the first source's macros
        return False
    tokens = [[Tokens(join_lines(source.text)) for source in group] for group in groups]
    with_python = False
    for k, group in enumerate(groups[:-1]):
        declared = _Functions()
        for stream in tokens[k]:
            _read(stream, declared, _macros_of(group))
        if not declared.plain or not all(map(_agrees, [declared] * len(groups), groups[k + 1 :], tokens[k + 1 :])):
            return False
        with_python = with_python or _has_python(extension, group)
    return not with_python or all(_has_python(extension, g) or not _names_python(g) for g in groups[1:])


def _macros_of(group: Sequence[Source]) -> frozenset[str]:
    return frozenset(name for source in group for name in macros(source.text))


def _has_python(extension: Extension, group: Sequence[Source]) -> bool:
    implicit = extension.implicit_headers and all(source.name.startswith("cpp_sources[") for source in group)
    return implicit or any(_BRINGS_PYTHON.search(source.text) for source in group)


def _names_python(group: Sequence[Source]) -> bool:
    return any(_OF_PYTHON.search(_without_comments(source.text)) for source in group)


def _without_comments(text: str) -> str:
    """Code alone, for words and directives; strings stay."""
    pattern = r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    return re.sub(pattern, lambda m: m[0] if m[0][0] in "\"'" else " ", join_lines(text), flags=re.DOTALL)


def _agrees(declared: _Functions, group: Sequence[Source], streams: Sequence[Tokens]) -> bool:
    """Whether a later group means the same with the declarations as without them."""
    words = [tokens[i] for tokens in streams for i in range(len(tokens)) if tokens.is_ident(i)]
    if declared.types and any(tokens[i] == "##" for tokens in streams for i in range(len(tokens))):
        return False  # names are made that nobody can see
    here = _Functions()
    for tokens in streams:
        _read(tokens, here, _macros_of(group))
    for name in declared.types.keys() & set(words):
        if name in declared.own or not declared.types[name] <= here.types.get(name, set()):
            return False
        if name in declared.defaults and words.count(name) > 1:
            return False
    return True


def _read(tokens: Tokens, into: _Functions, own_macros: frozenset[str]) -> None:
    """Add what one source declares at file scope."""
    for number in range(1, len(tokens.directive_first)):
        into.plain &= _is_harmless(tokens, tokens.directive_first[number])
    into.plain &= not any(tokens[i] == "_Pragma" for i in range(len(tokens)) if tokens.is_ident(i))
    into.plain &= _is_closed(tokens)
    for first, last in _items(tokens):
        into.plain &= _read_item(tokens, first, last, into, own_macros)


def _is_closed(tokens: Tokens) -> bool:
    """Does nothing that a source opens (bracket, condition, comment, string) reach beyond its end?"""
    code = [i for i in range(len(tokens)) if not tokens.directive[i]]
    if any(tokens[i] in _BRACKETS and tokens.match[i] < 0 for i in code):
        return False
    names = [tokens[first + 1] for first in tokens.directive_first[1:]]
    if sum(name in ("if", "ifdef", "ifndef") for name in names) != names.count("endif"):
        return False
    last = tokens[len(tokens) - 1]
    rest = tokens.text[tokens.ends[-1] :] if len(tokens) else tokens.text
    unclosed = re.sub(r"//[^\n]*|/\*.*?\*/", "", rest, flags=re.DOTALL).strip()
    return not unclosed and (re.match(r"\w*R\"", last) is None or last.endswith('"'))


def _is_harmless(tokens: Tokens, first: int) -> bool:
    name = tokens[first + 1]
    if name == "pragma":
        return tokens[first + 2] in _HARMLESS_PRAGMAS
    return name in _CONDITIONS or name in ("include", "define", "undef", "error", "warning")


def _items(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """First and last token of each declaration at file scope, in order."""
    first = -1
    i = 0
    while i < len(tokens):
        if tokens.directive[i]:
            i += 1
            continue
        first = i if first < 0 else first
        if tokens[i] in ("(", "[", "{") and tokens.match[i] > i:
            closing = tokens.match[i]
            ends = tokens[i] == "{"
            i = closing
        else:
            ends = tokens[i] == ";"
        if ends:
            yield first, i
            first = -1
        i += 1
    if first >= 0:
        yield first, len(tokens) - 1


def _read_item(tokens: Tokens, first: int, last: int, into: _Functions, own_macros: frozenset[str]) -> bool:
    """Whether a declaration is a plain function, a block that registers, or a stray semicolon; functions are noted."""
    if first == last:
        return tokens[first] == ";"
    opening = next((i for i in range(first, last) if tokens[i] == "("), -1)
    if opening <= first or tokens.match[opening] < 0:
        return False
    closing = tokens.match[opening]
    head = [tokens[i] for i in range(first, opening)]
    if len(head) == 1:
        return head[0] in _BLOCKS and tokens[closing + 1] == "{"
    parameters = {tokens[i] for i in range(opening, closing)}
    if not _is_function_head(head, own_macros) or own_macros & parameters:
        return False
    if tokens[closing + 1] not in (";", "{", "noexcept"):
        return False
    name = head[-1]
    into.types.setdefault(name, set()).add(_types(tokens, opening, closing))
    if "=" in parameters:
        into.defaults.add(name)
    if {"static", "inline", "constexpr", "consteval", "__global__", "__device__"}.intersection(head):
        into.own.add(name)
    return True


def _is_function_head(head: list[str], own_macros: frozenset[str]) -> bool:
    """Is this `qualifiers type name`, all words the language's or a library's?"""
    words = [word for word in head if re.fullmatch(r"[^\W\d]\w*", word)]
    if _NO_FUNCTION.intersection(words) or own_macros.intersection(words):
        return False
    plain = all(re.fullmatch(r"[\w:<>,*&]+", word) for word in head)
    return plain and head[-1] in words and head[-2] != "::" and len(words) > 1


def _types(tokens: Tokens, opening: int, closing: int) -> str:
    """A parameter list without names and default arguments, fit to be compared."""
    parameters, current, depth, skipping = [], [], 0, False
    for i in range(opening + 1, closing):
        word = tokens[i]
        depth += {"<": 1, "(": 1, "[": 1, "{": 1, ">": -1, ")": -1, "]": -1, "}": -1}.get(word, 0)
        if word == "," and depth == 0:
            parameters.append(current)
            current, skipping = [], False
            continue
        skipping = skipping or (word == "=" and depth == 0)
        if not skipping:
            current.append(word)
    return ", ".join(" ".join(_type(words)) for words in [*parameters, current])


def _type(words: list[str]) -> list[str]:
    """`const float* x` -> `const float *`: the last word is a name where another type stands before it."""
    named = len(words) > 1 and re.fullmatch(r"[^\W\d]\w*", words[-1]) and words[-2] not in ("::", "const", "unsigned")
    return words[:-1] if named and words[-1] not in ("int", "long", "char", "short", "double", "const") else words
