"""`kernel<T><<<grid, block, shared, stream>>>(arguments)` becomes an ordinary call.

    ([=](auto&... moore_args) { kernel<T>(moore_args...); } % ::moore_sim::Launch("kernel<T>", grid, block))(arguments)

Where the text defines the kernel, `::moore_sim::Kernel("kernel<T>", "x,n")` stands for its name: with its parameters'.
Only text is inserted, in the order in which it stood, so that lines, comments, continuations inside macros and
launches nested in a configuration need no care.
"""

from __future__ import annotations

import re

from mooreeval.simulator.rewrite.parameters import KernelParameters, macro_parameters
from mooreeval.simulator.rewrite.tokens import Edits, Tokens

# Words that may stand before an expression but never name a callee.
_KEYWORDS = frozenset(
    "return if else while for do switch case default throw new delete co_return co_await co_yield and or not".split()
)
_CONTROL = frozenset(("if", "while", "for", "switch", "catch", "constexpr"))
_OPENERS = {")": "(", "]": "[", "}": "{"}


def rewrite_launches(tokens: Tokens, edits: Edits) -> int:
    """Insert the call form of every launch into `edits`; returns how many there were."""
    count, i, parameters = 0, 0, KernelParameters(tokens)
    while i < len(tokens):
        if tokens.adjacent(i, 3, "<"):
            count += _rewrite_launch(tokens, edits, i, parameters)
            i += 3
        else:
            i += 1
    return count


def _rewrite_launch(tokens: Tokens, edits: Edits, opening: int, parameters: KernelParameters) -> bool:
    closing = _configuration_end(tokens, opening)
    callee = _callee_start(tokens, opening - 1)
    if closing is None or callee is None or closing == opening + 3:
        return False  # left as it is: the compiler names the line
    name = _kernel_name(tokens, callee, opening)
    if names := parameters.of(_bare_name(tokens, opening)):
        name = f'::moore_sim::Kernel({name}, "{names}")'
    edits.insert(tokens.starts[callee], "([=](auto&... moore_args) { ")
    edits.replace(
        tokens.starts[opening], tokens.ends[opening + 2], f"(moore_args...); }} % ::moore_sim::Launch({name}, "
    )
    edits.replace(tokens.starts[closing], tokens.ends[closing + 2], "))")
    _null_arguments(tokens, edits, closing + 3)
    return True


def _configuration_end(tokens: Tokens, opening: int) -> int | None:
    """The `>>>` that ends the configuration: outside all brackets, and followed by the arguments."""
    i = opening + 3
    while i < len(tokens) and tokens.same_line_of_code(i, opening):
        token = tokens[i]
        if token in ("(", "[", "{"):
            i = tokens.match[i]
            if i < 0:
                return None
        elif token in (")", "]", "}", ";") or tokens.adjacent(i, 3, "<"):
            return None
        elif tokens.adjacent(i, 3, ">") and tokens[i + 3] == "(":
            return i
        i += 1
    return None


def _callee_start(tokens: Tokens, last: int) -> int | None:
    """First token of the expression before `<<<`: a name with its qualifiers and template arguments, a call, an
    index, a parenthesised expression, or a chain of them."""
    i, start, line = last, None, last
    while i >= 0 and tokens.same_line_of_code(i, line):
        token = tokens[i]
        if token in (")", "]"):
            group = tokens.match[i]
            if group < 0:
                return start
            start = group
            before = tokens[group - 1]
            if _is_control(tokens, group - 1) or not (_is_name(tokens, group - 1) or before in (">", ")", "]")):
                return start
            if before == ")" and _is_control(tokens, tokens.match[group - 1] - 1):
                return start
            i = group - 1
        elif token == ">":
            angle = _template_start(tokens, i)
            if angle is None or not _is_name(tokens, angle - 1):
                return start
            i = angle - 1
        elif _is_name(tokens, i):
            start = i
            if tokens[i - 1] == "template":
                i -= 1
            before = tokens[i - 1]
            if before == "::":
                start = i - 1
                i -= 2
                if not (_is_name(tokens, i) or tokens[i] == ">"):
                    return start
            elif before in (".", "->", "##"):
                i -= 2
            else:
                return start
        else:
            return start
    return start


def _template_start(tokens: Tokens, closing: int) -> int | None:
    """The `<` that opens the template arguments ended by the `>` at `closing`."""
    depth, i = 0, closing
    while i >= 0 and tokens.same_line_of_code(i, closing):
        token = tokens[i]
        if token == ">":
            depth += 1
        elif token == "<":
            if tokens.adjacent(i - 2, 3, "<"):
                return None
            if tokens.adjacent(i - 1, 2, "<"):
                i -= 1  # a shift: `kernel<1 << 4>`
            else:
                depth -= 1
                if depth == 0:
                    return i
        elif token in _OPENERS:
            i = tokens.match[i]
        elif token in ("(", "[", "{", ";"):
            return None
        i -= 1
    return None


def _is_name(tokens: Tokens, i: int) -> bool:
    return tokens.is_ident(i) and tokens[i] not in _KEYWORDS


def _is_control(tokens: Tokens, i: int) -> bool:
    return tokens[i] in _CONTROL


def _bare_name(tokens: Tokens, end: int) -> str:
    """The identifier of the callee, without its qualifiers and template arguments; empty where it is an expression."""
    last: int | None = end - 1
    if tokens[end - 1] == ">":
        angle = _template_start(tokens, end - 1)
        last = None if angle is None else angle - 1
    return tokens[last] if last is not None and _is_name(tokens, last) else ""


def _kernel_name(tokens: Tokens, start: int, end: int) -> str:
    """The callee as a string literal; a macro's parameters in it are spelled by the preprocessor."""
    parameters = macro_parameters(tokens, start)
    parts, text = [], ""
    for i in range(start, end):
        token = tokens[i]
        if token in parameters and "##" not in (tokens[i - 1], tokens[i + 1]):
            parts += [f'"{text}"', f"#{token}"] if text else [f"#{token}"]
            text = ""
        else:
            separate = i > start and re.match(r"\w", token) and re.search(r"\w$", tokens[i - 1])
            text += (" " if separate else "") + _printable(token)
            text += " " if token == "," else ""
    if text or not parts:
        parts.append(f'"{text}"')
    return " ".join(parts)


def _printable(token: str) -> str:
    return re.sub(r'[^ -~]|["\\]', "?", token)[:200]


def _null_arguments(tokens: Tokens, edits: Edits, opening: int) -> None:
    """NULL as an argument: a launch keeps its type, which for NULL is an integer's that no longer converts."""
    i = opening + 1
    while 0 <= i < tokens.match[opening]:
        if tokens[i] == "NULL" and tokens[i - 1] in ("(", ",") and tokens[i + 1] in (")", ","):
            edits.replace(tokens.starts[i], tokens.ends[i], "nullptr")
        if tokens[i] in ("(", "[", "{") and tokens.match[i] > i:
            i = tokens.match[i]
        i += 1
