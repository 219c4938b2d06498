"""Names of parameters, for messages: of the kernels that a text defines, and of the macro that a token is in."""

from __future__ import annotations

import functools
import re

from mooreeval.simulator.rewrite.tokens import Tokens

_ATTRIBUTES = frozenset(("__launch_bounds__", "__attribute__", "alignas", "__align__", "__cluster_dims__"))
_NO_NAMES = frozenset(
    "const volatile unsigned signed int long short char float double bool void __restrict__ restrict __restrict".split()
)


class KernelParameters:
    """The parameters of each `__global__` function that is defined in a text."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def of(self, kernel: str) -> str:
        """Their names in order, separated by commas, none for one without; empty where the kernel is not known, or
        where overloads disagree."""
        return self._known.get(kernel, "")

    @functools.cached_property
    def _known(self) -> dict[str, str]:
        tokens, known = self._tokens, dict[str, str]()
        for i in range(len(tokens)):
            if tokens[i] != "__global__" or tokens.directive[i]:
                continue
            opening = _parameter_list(tokens, i)
            if opening is None or tokens[tokens.match[opening] + 1] != "{":
                continue
            name, names = tokens[opening - 1], ",".join(_names(tokens, opening))
            known[name] = names if known.get(name, names) == names else ""
        return known


def _parameter_list(tokens: Tokens, start: int) -> int | None:
    """The `(` of the function that is declared from `start` on."""
    i = start + 1
    while i < len(tokens) and tokens[i] not in (";", "{", "}", ")"):
        if tokens[i] == "(":
            if tokens.match[i] < 0:
                return None
            if tokens[i - 1] not in _ATTRIBUTES and tokens.is_ident(i - 1):
                return i
            i = tokens.match[i]
        i += 1
    return None


def _names(tokens: Tokens, opening: int) -> list[str]:
    """The name of each parameter up to a pack, which may be any number of them."""
    names, first, angles, i = [], opening + 1, 0, opening + 1
    end = tokens.match[opening]
    while i <= end:
        if i == end or (tokens[i] == "," and not angles):
            if any(tokens[k] == "..." for k in range(first, i)):
                break
            names.append(_name(tokens, first, i))
            first = i + 1
        elif tokens[i] in ("(", "[", "{") and tokens.match[i] > i:
            i = tokens.match[i]
        elif tokens[i] in ("<", ">"):
            angles = max(0, angles + (1 if tokens[i] == "<" else -1))
        i += 1
    return names


def _name(tokens: Tokens, first: int, end: int) -> str:
    """The last word before an initialiser or a dimension, unless it belongs to the type."""
    stop = next((k for k in range(first, end) if tokens[k] in ("=", "[")), end)
    word, before = tokens[stop - 1], [tokens[k] for k in range(first, stop - 1)]
    is_type = word in _NO_NAMES or not set(before) - {"const", "volatile"} or before[-1] == "::"
    return word if re.fullmatch(r"[A-Za-z_]\w*", word) and not is_type else ""


def macro_parameters(tokens: Tokens, i: int) -> frozenset[str]:
    """Parameters of the `#define NAME(...)` that holds token i."""
    if tokens.directive_name(i) != "define":
        return frozenset()
    first = tokens.directive_first[tokens.directive[i]]
    opening = first + 3
    if tokens[opening] != "(" or tokens.starts[opening] != tokens.ends[opening - 1] or tokens.match[opening] < 0:
        return frozenset()
    return frozenset(tokens[k] for k in range(opening + 1, tokens.match[opening]) if tokens.is_ident(k))
