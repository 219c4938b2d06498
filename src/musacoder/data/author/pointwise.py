"""Kernels of point-wise chains: one value out of each value in."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from musacoder.data.author import chain
from musacoder.data.author.source import Kernel, Source, blocks, flat_index, numel
from musacoder.data.graph import Node, TensorSpec
from musacoder.data.operators.types import Shape

_NAMES = ("elementwise_kernel", "pointwise_kernel", "fused_kernel", "activation_kernel", "apply_kernel")


@dataclass
class Pointwise:
    """A chain that is being written: it reads `x` and writes the tensor called `out`, maybe the same."""

    source: Source
    nodes: Sequence[Node]
    tensors: chain.Tensors
    x: TensorSpec
    out: str
    block: int

    @property
    def shape(self) -> Shape:
        """Of the input and the output."""
        return self.x.shape


def write(stage: Pointwise, rng: random.Random, kind: str | None = None) -> str:
    """Adds a kernel to the source and its launch to the host; gives the kind of kernel that was written."""
    kinds = [name for name, (_write, fits) in _KINDS.items() if fits(stage)]
    chosen = kind if kind in kinds else rng.choice(kinds)
    kernel = stage.source.kernel(rng.choice(_NAMES))
    kernel.read(stage.x)
    _KINDS[chosen][0](stage, kernel, rng)
    stage.source.finish(kernel)
    return chosen


def _element(stage: Pointwise, kernel: Kernel, i: str, known: dict[str, str] | None = None) -> list[str]:
    """The lines that compute element `i`."""
    x, out = kernel.read(stage.x), kernel.write(stage.out)
    index = flat_index(kernel, stage.x.name, stage.shape, i, known)
    lines = [f"float v = {x}[{i}];", *chain.lines(stage.nodes, stage.tensors, kernel, index)]
    return chain.stored(stage.source, lines, f"{out}[{i}]")


def _indented(lines: Sequence[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


def _flat(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    n = numel(kernel, "n", stage.shape, stage.x.name)
    first = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    if rng.random() < 0.5:
        kernel.body = [first, f"if (i >= {n}) return;", *_element(stage, kernel, "i")]
    else:
        kernel.body = [first, f"if (i < {n}) {{", *_indented(_element(stage, kernel, "i")), "}"]
    kernel.grid, kernel.block = (blocks(n, stage.block),), (str(stage.block),)


def _grid_stride(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    n = numel(kernel, "n", stage.shape, stage.x.name)
    step = "blockDim.x * gridDim.x"
    loop = f"for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < {n}; i += {step}) {{"
    kernel.body = [loop, *_indented(_element(stage, kernel, "i")), "}"]
    kernel.grid, kernel.block = (str(rng.choice((16, 32, 48, 64))),), (str(stage.block),)


def _items(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    """Several elements of each thread, a block's width apart."""
    n, count = numel(kernel, "n", stage.shape, stage.x.name), rng.choice((2, 4, 8))
    kernel.body = [
        f"int start = blockIdx.x * {stage.block * count} + threadIdx.x;",
        *(["#pragma unroll"] if rng.random() < 0.6 else []),
        f"for (int k = 0; k < {count}; k++) {{",
        f"    int i = start + k * {stage.block};",
        f"    if (i < {n}) {{",
        *_indented(_element(stage, kernel, "i"), 2),
        "    }",
        "}",
    ]
    kernel.grid, kernel.block = (blocks(n, stage.block * count),), (str(stage.block),)


def _vector(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    """Loads of two or four values at once; the operators are a device function."""
    width = 4 if stage.shape[-1] % 4 == 0 and rng.random() < 0.75 else 2
    function = chain.Function(stage.source, rng.choice(("op", "apply", "transform", "f")), stage.nodes, stage.tensors)
    n = numel(kernel, "n", stage.shape, stage.x.name)
    x, out = kernel.read(stage.x), kernel.write(stage.out)
    loaded = {x: "a"}
    lines = [f"float{width} a = reinterpret_cast<const float{width}*>({x})[i];"]
    same = [t for t in _operands(stage, "same") if t != x]
    for name, letter in zip(same, "bce", strict=False):
        loaded[name] = letter
        lines.append(
            f"float{width} {letter} = reinterpret_cast<const float{width}*>({kernel.read(stage.tensors[name])})[i];"
        )
    for place, part in enumerate("xyzw"[:width]):
        index = flat_index(kernel, stage.x.name, stage.shape, f"i * {width} + {place}" if place else f"i * {width}")
        call = function.call(kernel, f"a.{part}", index)
        for name, letter in loaded.items():
            call = call.replace(f"{name}[{index('same')}]", f"{letter}.{part}")
        lines.append(f"a.{part} = {call};")
    lines.append(f"reinterpret_cast<float{width}*>({out})[i] = a;")
    kernel.body = [
        "int i = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if (i < {n} / {width}) {{",
        *_indented(lines),
        "}",
    ]
    kernel.grid, kernel.block = (blocks(f"{n} / {width}", stage.block),), (str(stage.block),)


def _operands(stage: Pointwise, place: str) -> list[str]:
    """Names of the operands of one place."""
    from musacoder.data.operators import CATALOGUE

    found: list[str] = []
    for node in stage.nodes:
        for operand, name in zip(CATALOGUE[node.operator].operands, node.inputs[1:], strict=True):
            if operand.place == place and name not in found:
                found.append(name)
    return found


def _rows(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    """A block for each row."""
    d = kernel.size("d", stage.shape[-1], f"{stage.x.name}.size(-1)")
    rows = stage.source.size("rows", stage.shape[:-1], f"{stage.x.name}.numel() / {stage.x.name}.size(-1)")
    known = {"row": "j", "column": "row"}
    kernel.body = [
        "int row = blockIdx.x;",
        f"for (int j = threadIdx.x; j < {d}; j += blockDim.x) {{",
        f"    int i = row * {d} + j;",
        *_indented(_element(stage, kernel, "i", known)),
        "}",
    ]
    block = rng.choice([b for b in (32, 64, 128, 256) if b <= max(stage.shape[-1], 32)])
    kernel.grid, kernel.block = (rows,), (str(block),)


def _two_dimensional(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    """Threads in two dimensions over rows and columns."""
    x = stage.x.name
    d = kernel.size("d", stage.shape[-1], f"{x}.size(-1)")
    rows = kernel.size("rows", stage.shape[:-1], f"{x}.numel() / {x}.size(-1)")
    wide, high = rng.choice(((32, 8), (16, 16), (64, 4), (32, 4)))
    kernel.body = [
        "int col = blockIdx.x * blockDim.x + threadIdx.x;",
        "int row = blockIdx.y * blockDim.y + threadIdx.y;",
        f"if (row < {rows} && col < {d}) {{",
        f"    int i = row * {d} + col;",
        *_indented(_element(stage, kernel, "i", {"row": "col", "column": "row"})),
        "}",
    ]
    kernel.grid, kernel.block = (blocks(d, wide), blocks(rows, high)), (str(wide), str(high))


def _planes(stage: Pointwise, kernel: Kernel, rng: random.Random) -> None:
    """A row of blocks for each channel of each image."""
    x = stage.x.name
    inner = kernel.size("pixels", stage.shape[2:], f"{x}.numel() / ({x}.size(0) * {x}.size(1))")
    planes = stage.source.size("planes", stage.shape[:2], f"{x}.size(0) * {x}.size(1)")
    known = {}
    lines = []
    if "channel" in chain.places(stage.nodes):
        lines = [f"int c = blockIdx.y % {kernel.size('channels', stage.shape[1], f'{x}.size(1)')};"]
        known = {"channel": "c"}
    block = rng.choice((64, 128, 256))
    kernel.body = [
        "int k = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if (k >= {inner}) return;",
        *lines,
        f"int i = blockIdx.y * {inner} + k;",
        *_element(stage, kernel, "i", known),
    ]
    kernel.grid, kernel.block = (blocks(inner, block), planes), (str(block),)


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


Writer = Callable[[Pointwise, Kernel, random.Random], None]
_KINDS: dict[str, tuple[Writer, Callable[[Pointwise], bool]]] = {
    "flat": (_flat, lambda _s: True),
    "grid stride": (_grid_stride, lambda _s: True),
    "items": (_items, lambda _s: True),
    "vector": (_vector, lambda s: s.shape[-1] % 2 == 0 and len(_operands(s, "same")) <= 3),
    "block a row": (_rows, lambda s: len(s.shape) in (2, 3)),
    "two dimensions": (_two_dimensional, lambda s: len(s.shape) in (2, 3)),
    "planes": (_planes, lambda s: len(s.shape) in (3, 4) and _product(s.shape[2:]) >= 32),
}
