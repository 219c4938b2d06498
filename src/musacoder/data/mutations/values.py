"""Mutations of values, of host code and of what a compiler refuses, and changes that do no harm.

None is `shown`: whether a changed constant matters, or a dropped tail is empty at a task's sizes, a GPU's verdict says.
"""

from __future__ import annotations

from collections.abc import Iterator

from musacoder.data.mutations.places import (
    NOTHING,
    Place,
    Rules,
    cut,
    guards,
    launches,
    longer_grids,
    one_line,
    replaced,
    rounded_up,
    shared_names,
    thread_indices,
)
from musacoder.data.mutations.text import CudaText

rule = Rules()

_ZEROS = ("0", "0.", "0.0", "0.f", "0.0f")
_PLAIN = (*_ZEROS, "1", "1.", "1.0", "1.f", "1.0f", "2.0f", "2.f", "2.0")


@rule("wrong_values", "value")
def accumulator_starts_at_one(text: CudaText) -> Iterator[Place]:
    """`float sum = 0` starts at 1, where sum is added to later."""
    for kernel in text.kernels:
        for at in text.find("ID = NUM ;", kernel.opening, kernel.closing):
            added = any(text.find(f"{text.text(at)} +=", at, kernel.closing))
            if text.text(at + 2) in _ZEROS and added:
                yield (replaced(text, at + 2, "1"),)


@rule("wrong_values", "value")
def maximum_starts_at_zero(text: CudaText) -> Iterator[Place]:
    """A running maximum starts at 0 instead of the lowest number."""
    for kernel in text.kernels:
        for at in text.find("= -", kernel.opening, kernel.closing):
            end = text.until(";", at)
            low = {text.text(i) for i in range(at, end)} & {
                "INFINITY", "FLT_MAX", "CUDART_INF_F", "infinity", "1e20f", "1e30f", "1e38f", "3.402823466e+38F",
            }  # fmt: skip
            if low and one_line(text, at, end):
                yield (cut(text, at + 1, end - 1), (text.tokens[end].start, text.tokens[end].start, "0"))


@rule("wrong_values", "value")
def sign_of_sum(text: CudaText) -> Iterator[Place]:
    """`+=` becomes `-=` at a local variable."""
    for kernel in text.kernels:
        for at in text.find("ID +=", kernel.opening, kernel.closing):
            floating = any(any(text.find(f"{kind} {text.text(at)} =", kernel.opening, at)) for kind in _FLOATING)
            if floating:
                yield (replaced(text, at + 1, "-="),)


_FLOATING = ("float", "scalar_t", "T", "double")


@rule("wrong_values", "value")
def sign_of_term(text: CudaText) -> Iterator[Place]:
    """`x[i] + y` becomes `x[i] - y`, or the other way round, after an element of an array."""
    for kernel in text.kernels:
        for sign, other in (("+", "-"), ("-", "+")):
            for at in text.find(f"] {sign}", kernel.opening, kernel.closing):
                enclosing = _enclosing(text, at)
                if enclosing != "[":
                    yield (replaced(text, at + 1, other),)


@rule("wrong_values", "value")
def greatest_for_least(text: CudaText) -> Iterator[Place]:
    """`fmaxf` becomes `fminf`, `max` `min`, or the other way round."""
    swap = {"fmaxf": "fminf", "fminf": "fmaxf", "max": "min", "min": "max"}
    for kernel in text.kernels:
        for at in range(kernel.opening, kernel.closing):
            if text.text(at) in swap and text.text(at + 1) == "(":
                yield (replaced(text, at, swap[text.text(at)]),)


@rule("wrong_values", "value")
def comparison_turned(text: CudaText) -> Iterator[Place]:
    """`v > 0 ? a : b` becomes `v < 0 ? a : b`."""
    for kernel in text.kernels:
        for sign, other in ((">", "<"), ("<", ">")):
            for at in text.find(sign, kernel.opening, kernel.closing):
                if "?" in (text.text(at + 2), text.text(at + 5)) and text.text(at + 1) != "(":
                    yield (replaced(text, at, other),)


@rule("wrong_values", "guard")
def loop_one_short(text: CudaText) -> Iterator[Place]:
    """`for (...; k < n; ...)` ends one step earlier; not a loop over a thread's own numbers."""
    for kernel in text.kernels:
        own = thread_indices(text, kernel)
        for at in text.find("; ID < ID ;", kernel.opening, kernel.closing):
            if text.text(at + 1) not in own:
                yield (replaced(text, at + 3, f"{text.text(at + 3)} - 1"),)


@rule("wrong_values", "operator")
def factor_dropped(text: CudaText) -> Iterator[Place]:
    """`... * scale;` or `... / n;` loses its last factor."""
    for kernel in text.kernels:
        for sign in ("*", "/"):
            for at in text.find(f"{sign} ID ;", kernel.opening, kernel.closing):
                if text.text(at - 1) in (")", "]") or text.tokens[at - 1].kind == "name":
                    yield (cut(text, at, at + 1),)


@rule("wrong_values", "index")
def indices_swapped(text: CudaText) -> Iterator[Place]:
    """`a[row * n + col]` becomes `a[col * n + row]`."""
    for kernel in text.kernels:
        for at in text.find("ID [ ID * ID + ID ]", kernel.opening, kernel.closing):
            row, col = text.text(at + 2), text.text(at + 6)
            yield (replaced(text, at + 2, col), replaced(text, at + 6, row))


@rule("wrong_values", "index")
def index_of_first_block(text: CudaText) -> Iterator[Place]:
    """`blockIdx.x * blockDim.x + threadIdx.x` forgets the block's number."""
    for kernel in text.kernels:
        for axis in "xy":
            for at in text.find(f"blockIdx . {axis} * blockDim . {axis} +", kernel.opening, kernel.closing):
                yield (cut(text, at, at + 7),)


@rule("wrong_values", "index")
def index_stride_wrong(text: CudaText) -> Iterator[Place]:
    """`blockIdx.x * blockDim.x` becomes `blockIdx.x * 1`, so that blocks overlap."""
    for kernel in text.kernels:
        for axis in "xy":
            for at in text.find(f"blockIdx . {axis} * blockDim . {axis}", kernel.opening, kernel.closing):
                yield (replaced(text, at + 4, "1"), cut(text, at + 5, at + 6))


@rule("wrong_values", "guard")
def tail_dropped(text: CudaText) -> Iterator[Place]:
    """The number of blocks is rounded down."""
    for close, plus, _ in rounded_up(text):
        if one_line(text, plus, close):
            yield ((text.tokens[plus].start, text.tokens[close].start, ""),)


@rule("wrong_values", "value")
def shuffle_starts_at_eight(text: CudaText) -> Iterator[Place]:
    """A reduction over a warp leaves out its first step."""
    for kernel in text.kernels:
        for at in text.find("= 16 ;", kernel.opening, kernel.closing):
            yield (replaced(text, at + 1, "8"),)


@rule("wrong_values", "value")
def tree_starts_at_quarter(text: CudaText) -> Iterator[Place]:
    """A reduction over a block leaves out its first step: `blockDim.x / 2` becomes `blockDim.x / 4`."""
    for kernel in text.kernels:
        for at in text.find("= blockDim . x / 2 ;", kernel.opening, kernel.closing):
            yield (replaced(text, at + 5, "4"),)
        for at in text.find("= blockDim . x >> 1 ;", kernel.opening, kernel.closing):
            yield (replaced(text, at + 5, "2"),)


@rule("wrong_values", "index")
def shuffle_turned(text: CudaText) -> Iterator[Place]:
    """A shuffle down or across becomes one up."""
    for kernel in text.kernels:
        for at in range(kernel.opening, kernel.closing):
            if text.text(at) in ("__shfl_down_sync", "__shfl_xor_sync"):
                yield (replaced(text, at, "__shfl_up_sync"),)


@rule("wrong_values", "value")
def constant_changed(text: CudaText) -> Iterator[Place]:
    """A constant with a fraction in a kernel is ten per cent larger."""
    for kernel in text.kernels:
        for at in range(kernel.opening, kernel.closing):
            number = text.text(at)
            fraction = text.tokens[at].kind == "number" and ("." in number or "e-" in number)
            if fraction and number not in _PLAIN and not number.startswith("0x"):
                suffix = "f" if number[-1] in "fF" else ""
                larger = f"{float(number.rstrip('fF')) * 1.1:.6g}"
                dot = "" if "." in larger or "e" in larger else ".0"  # 22f is no number of C++
                yield (replaced(text, at, f"{larger}{dot}{suffix}"),)


@rule("wrong_values", "index")
def stride_doubled(text: CudaText) -> Iterator[Place]:
    """A loop that strides by the block, `k += blockDim.x`, strides by twice as much."""
    for kernel in text.kernels:
        for at in text.find("+= blockDim . x )", kernel.opening, kernel.closing):
            yield (replaced(text, at + 1, "2 * blockDim"),)


@rule("runtime_error", "dtype")
def pointer_of_other_type(text: CudaText) -> Iterator[Place]:
    """`x.data_ptr<float>()` asks for doubles and casts their address."""
    for at in text.find("ID . data_ptr < float > ( )"):
        yield ((text.tokens[at].start, text.tokens[at].start, "(float*)"), replaced(text, at + 4, "double"))


@rule("compile_error", "syntax")
def name_misspelt(text: CudaText) -> Iterator[Place]:
    """A letter of a name is doubled where a thread's number is used."""
    for kernel in text.kernels:
        for name, start in thread_indices(text, kernel).items():
            uses = [at for at in text.find(name, start + 1, kernel.closing) if text.text(at - 1) not in (".", "->")]
            if uses:
                yield (replaced(text, uses[-1], name + name[-1]),)


@rule("compile_error", "syntax")
def argument_missing(text: CudaText) -> Iterator[Place]:
    """A launch passes one argument less."""
    for _, _, opening, closing in launches(text):
        commas = [i for i in range(opening + 1, closing) if text.text(i) == "," and _depth(text, opening, i) == 1]
        if commas:
            yield ((text.tokens[commas[-1]].start, text.tokens[closing].start, _breaks(text, commas[-1], closing)),)


@rule("compile_error", "syntax")
def semicolon_missing(text: CudaText) -> Iterator[Place]:
    """The first statement of a kernel that stores something ends without its semicolon."""
    for kernel in text.kernels:
        for at in text.find("] =", kernel.opening, kernel.closing):
            end = text.until(";", at + 1)
            if end > 0:
                yield (replaced(text, end, " "),)
                break


@rule("launch_error", "launch")
def block_too_large(text: CudaText) -> Iterator[Place]:
    """A block of 2048 threads, twice as many as a device takes."""
    for at in text.host:
        if text.text(at) in ("128", "256", "512", "1024") and text.text(at - 1) in ("=", "(", ","):
            before = text.text(at - 2)
            if "thread" in before.lower() or "block" in before.lower():
                yield (replaced(text, at, "2048"),)
    for opening, closing, _, _ in launches(text):
        for at in text.find(", NUM", opening, closing):
            if text.text(at + 1) in ("128", "256", "512", "1024") and _depth(text, opening, at) == 0:
                yield (replaced(text, at + 1, "2048"),)


@rule("no_launch", "launch")
def launch_missing(text: CudaText) -> Iterator[Place]:
    """A launch stands behind a condition that never holds."""
    for opening, _, _, _ in launches(text):
        if text.tokens[opening - 1].kind == "name" and text.text(opening - 2) in (";", "{", "}"):
            yield ((text.tokens[opening - 1].start, text.tokens[opening - 1].start, "if (false) "),)


@rule(NOTHING, "harmless")
def grid_longer(text: CudaText) -> Iterator[Place]:
    """One block more than is needed, where every kernel guards the thread's number."""
    guarded = {guard.kernel for guard in guards(text)}
    edits = longer_grids(text)
    if edits and all(kernel in guarded for kernel in text.kernels if kernel.is_global):
        yield tuple(edits)


@rule(NOTHING, "harmless")
def barrier_doubled(text: CudaText) -> Iterator[Place]:
    """A barrier stands twice."""
    for kernel in text.kernels:
        for at in text.find("; __syncthreads ( ) ;", kernel.opening, kernel.closing):
            yield (replaced(text, at + 4, "; __syncthreads();"),)


@rule(NOTHING, "harmless")
def block_halved(text: CudaText) -> Iterator[Place]:
    """Half as many threads in a block, where nothing but the launch knows the number."""
    numbers = [token.text for token in text.tokens if token.kind == "number"]
    shared = any(shared_names(text, kernel) for kernel in text.kernels)
    for at in text.host if not shared else ():
        size = text.text(at)
        if size in ("256", "512", "1024") and numbers.count(size) == 1 and text.text(at - 1) == "=":
            yield (replaced(text, at, str(int(size) // 2)),)


def _enclosing(text: CudaText, at: int) -> str:
    """The innermost bracket that is open after the token at `at`, which itself closes one."""
    index = text.partner(at) - 1
    while index >= 0 and text.text(index) not in ("(", "[", "{"):
        index = text.partner(index) - 1 if text.text(index) in (")", "]", "}") else index - 1
    return text.text(index)


def _depth(text: CudaText, opening: int, index: int) -> int:
    """Round brackets open between two tokens."""
    signs = [text.text(i) for i in range(opening, index)]
    return (
        signs.count("(") + signs.count("[") + signs.count("{") - signs.count(")") - signs.count("]") - signs.count("}")
    )


def _breaks(text: CudaText, first: int, last: int) -> str:
    """The line ends between two tokens: an edit keeps the number of lines."""
    return "\n" * text.file[text.tokens[first].start : text.tokens[last].start].count("\n")
