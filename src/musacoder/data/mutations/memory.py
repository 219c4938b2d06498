"""Mutations that plant races, accesses out of bounds and reads of what nobody wrote.

Each of them may leave the values right on a GPU. They count by what they plant, so each docstring argues that the
defect is real wherever the rule applies.
"""

from __future__ import annotations

from collections.abc import Iterator

from musacoder.data.mutations.places import (
    Place,
    Rules,
    cut,
    guards,
    launches,
    longer_grids,
    one_line,
    replaced,
    shared_names,
)
from musacoder.data.mutations.text import CudaText, Kernel

rule = Rules()


@rule("out_of_bounds", "guard", shown=True)
def guard_inclusive(text: CudaText) -> Iterator[Place]:
    """`i < n` becomes `i <= n`. The grid gets a block more, so thread n exists whatever n is, and it alone accesses
    one element (or row) past the end. A loop that strides over all numbers reaches n in any grid."""
    grids = longer_grids(text)
    for guard in guards(text):
        if guard.kernel.is_global and (guard.of_loop or grids):
            loose = "<=" if text.text(guard.comparison) == "<" else ">"
            yield (replaced(text, guard.comparison, loose), *([] if guard.of_loop else grids))


@rule("out_of_bounds", "guard", shown=True)
def guard_removed(text: CudaText) -> Iterator[Place]:
    """The guard's condition becomes constant. The grid gets a block more, so threads past n exist, and nothing else
    in the kernel compares their number."""
    grids = longer_grids(text)
    for guard in guards(text):
        if guard.kernel.is_global and not guard.of_loop and grids:
            tokens = text.tokens
            always = "true" if text.text(guard.comparison) == "<" else "false"
            yield ((tokens[guard.comparison - 1].start, tokens[guard.last].end, always), *grids)


@rule("out_of_bounds", "index", shown=True)
def read_one_on(text: CudaText) -> Iterator[Place]:
    """`x[i]` is read as `x[i + 1]`, where i is the number that is guarded by `i < n` (or strides up to n) and the same
    index is written: the thread of the last element reads past the end."""
    for guard in guards(text):
        kernel = guard.kernel
        written = {text.text(at) for at in text.find(f"ID [ {guard.variable} ] =", kernel.opening, kernel.closing)}
        for at in text.find(f"ID [ {guard.variable} ]", kernel.opening, kernel.closing):
            is_read = text.text(at + 4) not in ("=", "+=", "-=", "*=", "/=", "[", ".")
            if written and is_read and text.text(at) not in shared_names(text, kernel):
                yield (replaced(text, at + 2, f"{guard.variable} + 1"),)


@rule("race", "barrier", shown=True)
def barrier_removed(text: CudaText) -> Iterator[Place]:
    """A barrier of a block of several warps goes, one that orders a write of a shared array before a read of it by
    other threads, or a read before the next write of the same array."""
    for kernel in text.kernels:
        names = shared_names(text, kernel)
        for at in text.find("__syncthreads ( ) ;", kernel.opening, kernel.closing):
            if _orders_something(text, kernel, at, names):
                yield (cut(text, at, at + 3),)
        for at in text.find("ID . sync ( ) ;", kernel.opening, kernel.closing):
            if "block" in text.text(at) and _orders_something(text, kernel, at, names):
                yield (cut(text, at, at + 5),)


@rule("race", "barrier", shown=True)
def atomic_made_plain(text: CudaText) -> Iterator[Place]:
    """`atomicAdd(&a[i], v)` becomes `a[i] += v`: where an atomic is used several threads add to one element, and
    nothing else orders them."""
    for kernel in text.kernels:
        for at in text.find("atomicAdd (", kernel.opening, kernel.closing):
            close, comma = text.partner(at + 1), text.until(",", at + 2)
            if comma > 0 and text.text(close + 1) == ";" and text.text(at - 1) in (";", "{", "}", ")"):
                target = text.file[text.tokens[at + 2].start : text.tokens[comma].start]
                plain = target[1:] if target.startswith("&") else f"*({target})"
                begin = (text.tokens[at].start, text.tokens[comma].end, f"{plain} +=")
                yield (begin, replaced(text, close, ""))


@rule("shared_out_of_bounds", "memory", shown=True)
def shared_one_short(text: CudaText) -> Iterator[Place]:
    """A launch asks for one element less of dynamic shared memory than the kernel uses: `n * sizeof(T)` bytes become
    `(n - 1) * sizeof(T)`, where n is the number of elements or, for several arrays, of one of them."""
    for opening, closing, _, _ in launches(text):
        for at in text.find("* sizeof (", opening, closing):
            if text.tokens[at - 1].kind in ("name", "number") and text.text(at - 2) in (",", "*"):
                yield (replaced(text, at - 1, f"({text.text(at - 1)} - 1)"),)


@rule("shared_out_of_bounds", "memory", shown=True)
def shared_array_one_short(text: CudaText) -> Iterator[Place]:
    """`__shared__ float s[256]` becomes one element shorter, where a block has exactly 256 threads by a literal and
    the thread's number is the index of a write."""
    host = {text.text(i) for i in text.host}
    for kernel in text.kernels:
        for at in text.find("[ NUM ] ;", kernel.opening, kernel.closing):
            size, name = text.text(at + 1), text.text(at - 1)
            head = {text.text(i) for i in range(at - 4, at - 1)}
            if "__shared__" in head and size in host and size.isdigit() and _stores_by_thread(text, kernel, name):
                yield (replaced(text, at + 1, str(int(size) - 1)),)


@rule("shared_out_of_bounds", "memory", shown=True)
def shared_rows_one_short(text: CudaText) -> Iterator[Place]:
    """`__shared__ float s[T][T]` loses its last row, where a row for each `threadIdx.y` of the block is written, or
    for each number of a loop that starts there."""
    host = {text.text(i) for i in text.host}
    for kernel in text.kernels:
        for at in text.find("__shared__ ID ID [", kernel.opening, kernel.closing):
            name, size = text.text(at + 2), text.text(at + 4)
            two = text.text(at + 5) == "]" and text.text(at + 6) == "["
            rows = {"threadIdx.y", *_names_of(text, kernel, "y")}
            if two and size in host and _stores_to_row(text, kernel, name, rows):
                yield (replaced(text, at + 4, f"{size} - 1"),)


@rule("shared_out_of_bounds", "index", shown=True)
def shared_store_one_on(text: CudaText) -> Iterator[Place]:
    """`s[t] = v` writes `s[t + 1]`, where t is the thread's number and s a shared array with an element for each
    thread of the block: the last thread writes past its end."""
    for kernel in text.kernels:
        names = shared_names(text, kernel)
        for at in text.find("ID [ ID ] =", kernel.opening, kernel.closing):
            if text.text(at) in names and _is_thread(text, kernel, text.text(at + 2)) and not _guarded(text, at):
                yield (replaced(text, at + 2, f"{text.text(at + 2)} + 1"),)


@rule("uninitialized", "memory", shown=True)
def output_not_zeroed(text: CudaText) -> Iterator[Place]:
    """`torch::zeros` becomes `torch::empty` where a kernel adds to its output by atomics: it adds to what was there
    before."""
    adds = any(text.text(i) == "atomicAdd" for k in text.kernels for i in range(k.opening, k.closing))
    for at in text.find("torch : : zeros (") if adds else ():
        yield (replaced(text, at + 3, "empty"),)
    for at in text.find("torch :: zeros (") if adds else ():
        yield (replaced(text, at + 2, "empty"),)


@rule("divergent_barrier", "barrier", shown=True)
def barrier_in_branch(text: CudaText) -> Iterator[Place]:
    """A barrier is reached by the even threads of a block only."""
    for kernel in text.kernels:
        for at in text.find("__syncthreads ( ) ;", kernel.opening, kernel.closing):
            if kernel.is_global and text.text(at - 1) in (";", "}"):
                yield ((text.tokens[at].start, text.tokens[at].start, "if (threadIdx.x % 2 == 0) "),)
                return


def _orders_something(text: CudaText, kernel: Kernel, at: int, names: set[str]) -> bool:
    """Whether a shared array is accessed before and after, also around a loop again, and written on either side."""
    loop = _loop_around(text, at)
    before, after = _accesses(text, kernel.opening, at, names), _accesses(text, at, kernel.closing, names)
    if loop >= 0:
        after |= _accesses(text, loop, at, names)
    touched = {name for name, _ in before} & {name for name, _ in after}
    return any((name, True) in before | after for name in touched) and one_line(text, at, at + 3)


def _loop_around(text: CudaText, at: int) -> int:
    """The brace that opens the innermost loop around a token, or -1."""
    index = at - 1
    while index >= 0:
        if text.text(index) in (")", "]", "}"):
            index = text.partner(index)
        elif text.text(index) == "{" and _heads_loop(text, index - 1):
            return index
        index -= 1
    return -1


def _heads_loop(text: CudaText, closing: int) -> bool:
    return text.text(closing) == ")" and text.text(text.partner(closing) - 1) in ("for", "while")


def _accesses(text: CudaText, low: int, high: int, names: set[str]) -> set[tuple[str, bool]]:
    """Name and whether it is written, of each access of a shared array; declarations are none."""
    found = set()
    for at in text.find("ID [", low, high):
        if text.text(at) in names and not _declares(text, at):
            end = text.partner(at + 1)
            while text.text(end + 1) == "[":
                end = text.partner(end + 1)
            found.add((text.text(at), text.text(end + 1) in ("=", "+=", "-=", "*=")))
    return found


def _declares(text: CudaText, at: int) -> bool:
    return any(text.text(i) == "__shared__" for i in range(at - 4, at))


def _names_of(text: CudaText, kernel: Kernel, axis: str) -> set[str]:
    """Names that hold the thread's number along an axis."""
    return {text.text(at) for at in text.find(f"ID = threadIdx . {axis}", kernel.opening, kernel.closing)}


def _stores_to_row(text: CudaText, kernel: Kernel, array: str, rows: set[str]) -> bool:
    for at in text.find(f"{array} [", kernel.opening, kernel.closing):
        end = text.partner(at + 1)
        row = "".join(text.text(i) for i in range(at + 2, end))
        if row in rows and text.text(end + 1) == "[" and text.text(text.partner(end + 1) + 1) == "=":
            return True
    return False


def _is_thread(text: CudaText, kernel: Kernel, name: str) -> bool:
    return any(text.find(f"{name} = threadIdx . x ;", kernel.opening, kernel.closing))


def _stores_by_thread(text: CudaText, kernel: Kernel, array: str) -> bool:
    plain = any(text.find(f"{array} [ threadIdx . x ] =", kernel.opening, kernel.closing))
    named = text.find(f"{array} [ ID ] =", kernel.opening, kernel.closing)
    return plain or any(_is_thread(text, kernel, text.text(at + 2)) for at in named)


def _guarded(text: CudaText, at: int) -> bool:
    """Whether the statement stands behind an `if (...)` of its own."""
    return text.text(at - 1) == ")" or text.text(at - 1) not in (";", "{", "}")
