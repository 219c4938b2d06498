"""The CUDA source that is being written: kernels, the sizes they know, and the host function that launches them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from musacoder.data.graph import TensorSpec
from musacoder.data.operators.types import Shape

_C_TYPES = {"float32": "float", "int64": "int64_t"}


@dataclass
class Kernel:
    """One kernel: `body` reads tensors and sizes by the names that `read`, `write` and `size` gave."""

    source: Source
    name: str
    body: list[str] = field(default_factory=list)
    reads: dict[str, str] = field(default_factory=dict)  # name -> type in C
    writes: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    grid: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    shared: str = ""  # bytes of dynamic shared memory
    comment: str = ""  # a line above it

    def read(self, spec: TensorSpec) -> str:
        """The name under which a tensor is read."""
        self.reads.setdefault(spec.name, _C_TYPES[spec.dtype])
        return spec.name

    def write(self, name: str) -> str:
        """The name under which a tensor is written."""
        if name not in self.writes:
            self.writes.append(name)
        return name

    def size(self, name: str, value: int | Shape, host: str) -> str:
        """How the kernel, and its launch, call a size, or the product of several; `host` is the host's expression."""
        named = self.source.size(name, value, host)
        if not self.source.has_constants and named not in self.sizes:
            self.sizes.append(named)
        return named

    def text(self) -> str:
        """The kernel's definition."""
        restrict = " __restrict__" if self.source.restricts else ""
        reads = [f"const {c}*{restrict} {name}" for name, c in self.reads.items() if name not in self.writes]
        parameters = [*reads, *(f"float*{restrict} {name}" for name in self.writes)]
        parameters += [f"int {name}" for name in self.sizes]
        head = f"__global__ void {self.name}({', '.join(parameters)}) {{"
        above = [f"// {self.comment}"] if self.comment else []
        return "\n".join([*above, head, *(f"    {line}" for line in self.body), "}"])

    def launch(self) -> list[str]:
        """The host's lines that launch it; sizes that nothing else needs are computed in the call."""
        reads = [f"{name}.data_ptr<{c}>()" for name, c in self.reads.items() if name not in self.writes]
        sizes = [name if name in self.source.declared else self.source.host_sizes[name] for name in self.sizes]
        arguments = ", ".join([*reads, *(f"{name}.data_ptr<float>()" for name in self.writes), *sizes])
        lines, grid, block = self.source.launch_sizes(self.grid, self.block)
        rest = self.source.stream_arguments(self.shared)
        return [*lines, f"{self.name}<<<{grid}, {block}{rest}>>>({arguments});"]


@dataclass
class Source:
    """A whole CUDA source. What it draws once holds for all of its kernels."""

    rng: random.Random
    has_constants: bool = False  # sizes are constants of the file, else arguments of kernels
    restricts: bool = False
    names_launch: bool = False  # the launch's sizes are variables
    has_stream: bool = False
    nests: bool = False  # several operators in one expression
    stores_at_once: bool = False  # the last one is not kept in `v`
    inlines: bool = False  # sizes that a launch alone needs have no variable
    includes: bool = True  # PyTorch's header, which load_inline includes anyway
    constants: dict[str, str] = field(default_factory=dict)
    host_sizes: dict[str, str] = field(default_factory=dict)
    by_host: dict[str, str] = field(default_factory=dict)  # names by what they stand for
    functions: list[str] = field(default_factory=list)  # of the device
    kernels: list[Kernel] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)  # names of the host function

    def kernel(self, name: str) -> Kernel:
        """A new kernel; a name that is taken gets a number."""
        taken = {k.name for k in self.kernels}
        made = Kernel(self, name if name not in taken else f"{name}{len(taken) + 1}")
        self.kernels.append(made)
        return made

    def size(self, name: str, value: int | Shape, host: str) -> str:
        """A size's name in this source: one name never stands for two things."""
        if host not in self.by_host:
            text = str(value) if isinstance(value, int) else " * ".join(map(str, value))
            known = (self.constants, name.upper(), text) if self.has_constants else (self.host_sizes, name, host)
            self.by_host[host] = self._named(*known)
        return self.by_host[host]

    def _named(self, known: dict[str, str], name: str, value: str) -> str:
        for number in ("", "2", "3", "4", "5", "6", "7"):
            if known.setdefault(name + number, value) == value:
                return name + number
        raise ValueError(f"too many sizes are called {name}")

    def function(self, text: str) -> None:
        """Adds a device function unless it is there."""
        if text not in self.functions:
            self.functions.append(text)

    def finish(self, kernel: Kernel) -> None:
        """The host computes the sizes that the kernel needs and launches it."""
        of_launch = " ".join([*kernel.grid, *kernel.block, kernel.shared])
        for name in self.host_sizes:
            is_needed = not self.inlines or re.search(rf"\b{name}\b", of_launch)
            if is_needed and name not in self.declared:
                self.declared.add(name)
                self.host.append(f"int {name} = {self.host_sizes[name]};")
        self.host += kernel.launch()

    def launch_sizes(self, grid: tuple[str, ...], block: tuple[str, ...]) -> tuple[list[str], str, str]:
        """Lines before a launch, and what stands in its brackets."""
        if not self.names_launch and len(grid) == 1 and len(block) == 1:
            return [], grid[0], block[0]
        if not self.names_launch:
            bracketed = [g[0] if len(g) == 1 else f"dim3({', '.join(g)})" for g in (grid, block)]
            return [], bracketed[0], bracketed[1]
        lines, named = [], []
        for name, sizes in (("threads", block), ("blocks", grid)):
            unique = next(n for n in (name, *(f"{name}{k}" for k in range(2, 9))) if n not in self.declared)
            self.declared.add(unique)
            is_number = len(sizes) == 1
            lines.append(f"int {unique} = {sizes[0]};" if is_number else f"dim3 {unique}({', '.join(sizes)});")
            named.append(unique)
        return lines, named[1], named[0]

    def stream_arguments(self, shared: str) -> str:
        """What a launch has behind its sizes."""
        if self.has_stream:
            return f", {shared or '0'}, at::cuda::getCurrentCUDAStream()"
        return f", {shared}" if shared else ""

    def text(self) -> str:
        """Includes, constants, device functions and kernels."""
        includes = ["#include <torch/extension.h>"] if self.includes else []
        if self.has_stream:
            includes.append("#include <ATen/cuda/CUDAContext.h>")
        constants = [f"constexpr int {name} = {value};" for name, value in self.constants.items()]
        parts = ["\n".join(includes), "\n".join(constants), *self.functions, *(k.text() for k in self.kernels)]
        return "\n\n".join(part for part in parts if part)


def blocks(total: str, each: int | str) -> str:
    """How many blocks cover a total."""
    if isinstance(each, int):
        return f"({total} + {each - 1}) / {each}"
    return f"({total} + {each} - 1) / {each}"


Index = Callable[[str], str]  # of an operand's place, such as "row"


def flat_index(kernel: Kernel, x: str, shape: Shape, i: str, known: dict[str, str] | None = None) -> Index:
    """Where operands of each place stand beside the element `i` of a tensor, which the host calls x."""

    def index(place: str) -> str:
        if known and place in known:
            return known[place]
        if place == "same":
            return i
        inner = _grouped(i)
        if place == "row":
            return f"{inner} % {kernel.size('d', shape[-1], f'{x}.size(-1)')}"
        if place == "column":
            return f"{inner} / {kernel.size('d', shape[-1], f'{x}.size(-1)')}"
        channels = kernel.size("channels", shape[1], f"{x}.size(1)")
        if len(shape) == 3:
            return f"{inner} / {kernel.size('d', shape[-1], f'{x}.size(-1)')} % {channels}"
        pixels = kernel.size("pixels", shape[2:], f"{x}.size(2) * {x}.size(3)")
        return f"{inner} / {pixels} % {channels}"

    return index


def _grouped(expression: str) -> str:
    return expression if expression.isidentifier() else f"({expression})"


def numel(kernel: Kernel, name: str, shape: Shape, x: str) -> str:
    """The number of elements of a tensor, which the host calls x."""
    return kernel.size(name, shape, f"{x}.numel()")
