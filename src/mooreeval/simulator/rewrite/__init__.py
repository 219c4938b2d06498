"""CUDA C++ in, C++ for g++ out: same lines, other words. See launches.py and shared.py for what changes."""

from __future__ import annotations

import re

from mooreeval.simulator.rewrite.features import tampering, unsupported_features
from mooreeval.simulator.rewrite.host_calls import HostCall, host_calls
from mooreeval.simulator.rewrite.launches import rewrite_launches
from mooreeval.simulator.rewrite.shared import SharedRewriter
from mooreeval.simulator.rewrite.tokens import Edits, Tokens, join_lines

__all__ = [
    "Edits", "HostCall", "Tokens", "host_calls", "join_lines", "rewrite", "rewrite_tokens", "tampering",
    "unsupported_features",
]  # fmt: skip

_TOUCHED = re.compile(r"<<<|__shared__|__noinline__|#[ \t]*(?:line\b|\d)")


def rewrite(text: str, *, prefix: str = "moore_shared_") -> str:
    """The text with launches, shared memory and `__noinline__` in the simulator's terms.

    Any text is accepted; what is not understood stays as it is, for the compiler to judge. The number of lines never
    changes, nor which line anything is on. `prefix` begins the names of generated types.
    """
    if not _TOUCHED.search(text):
        return text
    return rewrite_tokens(Tokens(text), prefix=prefix)


def rewrite_tokens(tokens: Tokens, *, prefix: str = "moore_shared_") -> str:
    """`rewrite` for a text that is already cut into tokens."""
    edits = Edits(tokens.text)
    SharedRewriter(tokens, edits, prefix).rewrite()
    rewrite_launches(tokens, edits)
    _rewrite_words(tokens, edits)
    return edits.apply()


def _rewrite_words(tokens: Tokens, edits: Edits) -> None:
    for i in range(len(tokens)):
        # nvcc's word; a macro of this name would break libstdc++'s own `__attribute__((__noinline__))`.
        if tokens[i] == "__noinline__" and tokens[i - 1] not in ("(", "::", "define", "ifdef", "ifndef", "undef", ","):
            edits.replace(tokens.starts[i], tokens.ends[i], "__attribute__((noinline))")
        elif tokens.directive[i] and tokens.directive_first[tokens.directive[i]] == i:
            _drop_line_directive(tokens, edits, i)


def _drop_line_directive(tokens: Tokens, edits: Edits, first: int) -> None:
    """`#line` would move the places of findings; it means nothing to the program."""
    if tokens[first + 1] != "line" and not re.fullmatch(r"\d+", tokens[first + 1]):
        return
    last = first
    while last + 1 < len(tokens) and tokens.same_line_of_code(last + 1, first):
        last += 1
    edits.replace(tokens.starts[first], tokens.ends[last], "")
