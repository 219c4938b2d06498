"""Mutations that lose an operator or change a type: what a model forgets when it fuses.

None is `shown`: whether values change at a task's inputs, a judge says.
"""

from __future__ import annotations

from collections.abc import Iterator

from musacoder.data.mutations.places import Place, Rules, cut, one_line, replaced
from musacoder.data.mutations.text import CudaText

rule = Rules()

# Functions of one number that a kernel applies to an element.
_OF_ONE = frozenset(
    "expf exp logf log log1pf expm1f tanhf tanh erff sqrtf sqrt rsqrtf rsqrt sinf cosf fabsf __expf".split()
)
_OF_TWO = frozenset("fmaxf fminf max min powf".split())


@rule("wrong_values", "operator")
def statement_dropped(text: CudaText) -> Iterator[Place]:
    """`v = f(v);` goes: a variable that is computed from its own value keeps the old one."""
    for kernel in text.kernels:
        for at in text.find("ID =", kernel.opening, kernel.closing):
            end = text.until(";", at)
            again = end > 0 and any(text.text(i) == text.text(at) for i in range(at + 2, end))
            if again and text.text(at - 1) in (";", "{", "}") and one_line(text, at, end):
                yield (cut(text, at, end),)


@rule("wrong_values", "operator")
def function_dropped(text: CudaText) -> Iterator[Place]:
    """`tanhf(v)` becomes `(v)`."""
    for kernel in text.kernels:
        for at in range(kernel.opening, kernel.closing):
            if text.text(at) in _OF_ONE and text.text(at + 1) == "(":
                yield ((text.tokens[at].start, text.tokens[at].end, ""),)


@rule("wrong_values", "operator")
def bound_dropped(text: CudaText) -> Iterator[Place]:
    """`fmaxf(v, c)` becomes `(v)`."""
    for kernel in text.kernels:
        for at in range(kernel.opening, kernel.closing):
            comma = text.until(",", at + 2) if text.text(at) in _OF_TWO and text.text(at + 1) == "(" else -1
            close = text.partner(at + 1) if comma > 0 else -1
            if close > 0 and one_line(text, at, close):
                gone = (text.tokens[comma].start, text.tokens[close].start, "")
                yield ((text.tokens[at].start, text.tokens[at].end, ""), gone)


@rule("wrong_values", "operator")
def operand_dropped(text: CudaText) -> Iterator[Place]:
    """`... + bias[c];` loses its last operand, an element of an array."""
    for kernel in text.kernels:
        for sign in ("+", "-", "*"):
            for at in text.find(f"{sign} ID [", kernel.opening, kernel.closing):
                close = text.partner(at + 2)
                if text.text(close + 1) == ";" and one_line(text, at, close) and _ends_a_value(text, at - 1):
                    yield (cut(text, at, close),)


@rule("wrong_values", "dtype")
def number_made_whole(text: CudaText) -> Iterator[Place]:
    """`float v = ...` becomes `int v = ...`."""
    for kernel in text.kernels:
        for at in text.find("float ID =", kernel.opening, kernel.closing):
            if text.text(at - 1) in (";", "{", "}", ")"):
                yield (replaced(text, at, "int"),)


@rule("wrong_values", "dtype")
def pointer_made_double(text: CudaText) -> Iterator[Place]:
    """A kernel casts an array of `float` to one of `double` before it reads an element."""
    for kernel in text.kernels:
        for at in text.find("const float * ID", kernel.head, kernel.opening):
            name = text.text(at + 3)
            for use in text.find(f"{name} [", kernel.opening, kernel.closing):
                if text.text(use - 1) not in (".", "->", "&"):
                    yield (replaced(text, use, f"((const double*){name})"),)
                    break


@rule("runtime_error", "dtype")
def output_of_other_type(text: CudaText) -> Iterator[Place]:
    """The output is allocated as doubles, while its pointer is asked for as float."""
    host = set(text.host)
    for at in text.find("options ( )"):
        if at in host and text.text(at - 1) == ".":
            yield ((text.tokens[at + 2].end, text.tokens[at + 2].end, ".dtype(torch::kFloat64)"),)
    for at in text.find("empty_like ( ID )"):
        if at in host:
            name = text.text(at + 2)
            yield (replaced(text, at + 2, f"{name}, {name}.options().dtype(torch::kFloat64)"),)


def _ends_a_value(text: CudaText, at: int) -> bool:
    return text.text(at) in (")", "]") or text.tokens[at].kind in ("name", "number")
