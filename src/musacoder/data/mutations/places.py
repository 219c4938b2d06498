"""Rules of mutation, how they are registered, and what several of them look for in a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from musacoder.data.mutations.text import CudaText, Kernel

Edit = tuple[int, int, str]  # offsets in the file, and what stands there instead
Place = tuple[Edit, ...]


class Finder(Protocol):
    """Where in a text a rule applies; its name is the rule's."""

    __name__: str

    def __call__(self, text: CudaText, /) -> Iterator[Place]: ...


# What a kernel may do and still return right values on a GPU, so that a GPU's verdict cannot be the measure.
SILENT = ("race", "out_of_bounds", "shared_out_of_bounds", "uninitialized", "divergent_barrier", "misaligned")
NOTHING = "nothing"  # planted by a change that keeps a right candidate right


# What a model gets wrong, by the part of a kernel that it is about. A harmless change is none of it.
Kind = Literal[
    "index", "guard", "barrier", "memory", "dtype", "operator", "value", "launch", "syntax", "fallback", "harmless"
]


@dataclass(frozen=True)
class Rule:
    """One typed change. `shown`: what it plants follows from the text alone; `argument` says why."""

    name: str
    planted: str
    kind: Kind
    shown: bool
    argument: str
    places: Finder


class Rules(dict[str, Rule]):
    """Rules by their names, in the order in which they were registered."""

    def __call__(self, planted: str, kind: Kind, *, shown: bool = False) -> Callable[[Finder], Finder]:
        """Register a finder under its own name; its docstring is the argument for what it plants."""

        def register(finder: Finder) -> Finder:
            name, argument = finder.__name__, " ".join((finder.__doc__ or "").split())
            self[name] = Rule(name, planted, kind, shown, argument, finder)
            return finder

        return register


def replaced(text: CudaText, index: int, new: str) -> Edit:
    return (text.tokens[index].start, text.tokens[index].end, new)


def cut(text: CudaText, first: int, last: int) -> Edit:
    """Tokens first to last become one blank; only for tokens of one line."""
    return (text.tokens[first].start, text.tokens[last].end, " ")


def one_line(text: CudaText, first: int, last: int) -> bool:
    return "\n" not in text.file[text.tokens[first].start : text.tokens[last].end]


def thread_indices(text: CudaText, kernel: Kernel) -> dict[str, int]:
    """Names set from both block and thread number, and where: `int i = blockIdx.x * blockDim.x + threadIdx.x`."""
    names = {}
    for start in text.find("ID =", kernel.opening, kernel.closing):
        end = text.until(";", start)
        within = {text.text(i) for i in range(start, end)} if end > 0 else set()
        if {"blockIdx", "threadIdx"} <= within and text.text(start - 1) not in (".", "->"):
            names[text.text(start)] = start
    return names


@dataclass(frozen=True)
class Guard:
    """`i < n` in an `if` or as the condition of a loop, or `i >= n` in an `if` that leaves."""

    kernel: Kernel
    variable: str
    comparison: int  # token index of `<` or `>=`
    last: int  # of the bound
    of_loop: bool


def guards(text: CudaText) -> Iterator[Guard]:
    """Comparisons of a thread's own number that stand alone in their kernel, with a name or member as their bound."""
    for kernel in text.kernels:
        names = thread_indices(text, kernel)
        for name in names:
            found = [g for sign in ("<", ">=") for g in _guards_of(text, kernel, name, sign)]
            bounds = [
                i for s in ("<", ">=", "<=", ">") for i in text.find(f"{name} {s}", kernel.opening, kernel.closing)
            ]
            if len(found) == 1 and len(bounds) == 1:
                yield found[0]


def _guards_of(text: CudaText, kernel: Kernel, name: str, sign: str) -> Iterator[Guard]:
    for start in text.find(f"{name} {sign} ID", kernel.opening, kernel.closing):
        last = start + 2
        while text.text(last + 1) == "." and text.text(last - 1) != ".":
            last += 2
        of_loop = text.text(start - 1) == ";" and text.text(last + 1) == ";"
        in_condition = text.text(start - 1) in ("(", "&&", "||") and text.text(last + 1) in (")", "&&", "||")
        if (of_loop and sign == "<") or in_condition:
            yield Guard(kernel, name, start + 1, last, of_loop)


def rounded_up(text: CudaText) -> list[tuple[int, int, int]]:
    """Host code's `(n + t - 1) / t` or `(n + 255) / 256`: indices of the bracket's end, of what is added to n, and of
    the divisor's last token."""
    found = []
    host = set(text.host)
    for slash in text.find(") /"):
        if slash not in host:
            continue
        end = slash + 2
        while text.text(end + 1) == "." and text.tokens[end + 2].kind == "name":
            end += 2
        divisor = [text.text(i) for i in range(slash + 2, end + 1)]
        long = ["+", *divisor, "-", "1"]
        before = [text.text(i) for i in range(slash - len(long), slash)]
        if before == long:
            found.append((slash, slash - len(long), end))
        elif text.text(slash - 2) == "+" and _one_less(text.text(slash - 1), divisor):
            found.append((slash, slash - 2, end))
    return [(close, plus, end) for close, plus, end in found if text.text(end + 1) not in ("*", "/")]


def longer_grids(text: CudaText) -> list[Edit]:
    """One block more in every dimension whose number of blocks is rounded up."""
    return [(text.tokens[end].end, text.tokens[end].end, " + 1") for _, _, end in rounded_up(text)]


def _one_less(number: str, divisor: list[str]) -> bool:
    return number.isdigit() and len(divisor) == 1 and divisor[0].isdigit() and int(number) + 1 == int(divisor[0])


def shared_names(text: CudaText, kernel: Kernel) -> set[str]:
    """Names declared `__shared__` in a kernel, also as `extern`."""
    names = set()
    for start in text.find("__shared__", kernel.opening, kernel.closing):
        end = text.until(";", start)
        brackets = [i for i in range(start, end) if text.text(i) == "["]
        if brackets:
            names.add(text.text(brackets[0] - 1))
    return names


def launches(text: CudaText) -> Iterator[tuple[int, int, int, int]]:
    """Indices of `<<<`, `>>>`, and the brackets around the arguments."""
    for start in text.find("<<<"):
        end = next((i for i in range(start, len(text.tokens)) if text.text(i) == ">>>"), -1)
        if end > 0 and text.text(end + 1) == "(":
            yield start, end, end + 1, text.partner(end + 1)
