"""Kernels of matrix products, with what is applied to each output on its way out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from musacoder.data.author import chain
from musacoder.data.author.source import Index, Kernel, blocks, flat_index
from musacoder.data.author.writing import Writing
from musacoder.data.operators import CATALOGUE, Product

_NAMES = ("matmul_kernel", "gemm_kernel", "linear_kernel")


@dataclass
class Matmul(Writing):
    """A product that is being written, with the point-wise operators before (of the first matrix) and after it."""

    def __post_init__(self) -> None:
        operator = CATALOGUE[self.node.operator]
        assert isinstance(operator, Product)
        self.operator = operator
        self.shape = self.node.output.shape
        self.w = self.tensors[self.node.inputs[1]]
        self.bias = self.tensors[self.node.inputs[2]] if len(self.node.inputs) > 2 else None
        self.length, self.columns = self.x.shape[-1], self.shape[-1]
        self.batch = self.x.shape[0] if operator.is_batched else 1
        self.rows = self.x.shape[-2] if operator.is_batched else _product(self.x.shape[:-1])
        if self.before:
            self.pre = chain.Function(self.source, "pre", self.before, self.tensors)

    def sizes(self, kernel: Kernel) -> tuple[str, str, str]:
        """Names of rows, columns and the common length."""
        x = self.x.name
        host = f"{x}.size(-2)" if self.operator.is_batched or len(self.x.shape) == 2 else f"{x}.numel() / {x}.size(-1)"
        m = kernel.size("M", self.x.shape[-2:-1] if self.operator.is_batched else self.x.shape[:-1], host)
        axis = -2 if self.operator.is_transposed else -1
        return (
            m,
            kernel.size("N", self.columns, f"{self.w.name}.size({axis})"),
            kernel.size("K", self.length, f"{x}.size(-1)"),
        )

    def first(self, kernel: Kernel, row: str, k: str) -> str:
        """The first matrix's value; `row` counts over all batches where the kernel has `b`."""
        m, _n, length = self.sizes(kernel)
        at = f"(b * {m} + {row}) * {length} + {k}" if self.operator.is_batched else f"{_grouped(row)} * {length} + {k}"
        value = f"{kernel.read(self.x)}[{at}]"
        return self.pre.call(kernel, value, flat_index(kernel, self.x.name, self.x.shape, at)) if self.pre else value

    def second(self, kernel: Kernel, k: str, col: str) -> str:
        """The second matrix's value."""
        _m, n, length = self.sizes(kernel)
        if self.operator.is_batched:
            at = (
                f"(b * {n} + {col}) * {length} + {k}"
                if self.operator.is_transposed
                else f"(b * {length} + {k}) * {n} + {col}"
            )
        else:
            k, col = _grouped(k), _grouped(col)
            at = f"{col} * {length} + {k}" if self.operator.is_transposed else f"{k} * {n} + {col}"
        return f"{kernel.read(self.w)}[{at}]"

    def start(self, kernel: Kernel, col: str = "col") -> str:
        """What a sum begins with."""
        return f"{kernel.read(self.bias)}[{col}]" if self.bias else "0.0f"

    def stored(self, kernel: Kernel, row: str = "row", col: str = "col") -> list[str]:
        """The operators after the product, and the store."""
        _m, n, _length = self.sizes(kernel)
        whole = f"(b * {self.sizes(kernel)[0]} + {row})" if self.operator.is_batched else _grouped(row)
        place = f"{whole} * {n} + {col}"
        known = {"same": place, "row": col, "column": whole if self.operator.is_batched else row}
        if self.operator.is_batched:
            known["channel"] = row
        index: Index = flat_index(kernel, self.out, self.shape, place, known)
        lines = chain.lines(self.after, self.tensors, kernel, index)
        return chain.stored(self.source, lines, f"{kernel.write(self.out)}[{place}]")

    @property
    def batch_line(self) -> list[str]:
        """The line that says which batch a block is of, of launches whose z counts batches."""
        return ["int b = blockIdx.z;"] if self.operator.is_batched else []

    @property
    def batch_axis(self) -> tuple[str, ...]:
        """The launch's z axis."""
        if not self.operator.is_batched:
            return ()
        return (self.source.size("B", self.batch, f"{self.x.name}.size(0)"),)


def _grouped(expression: str) -> str:
    return expression if expression.isidentifier() else f"({expression})"


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def write(stage: Matmul, rng: random.Random, kind: str | None = None) -> str:
    """Adds the kernel and its launch; gives the kind that was written."""
    kinds = [name for name, (_write, fits) in _KINDS.items() if fits(stage)]
    chosen = kind if kind in kinds else rng.choice(kinds)
    kernel = stage.source.kernel(rng.choice(_NAMES))
    kernel.read(stage.x)
    _KINDS[chosen][0](stage, kernel, rng)
    stage.source.finish(kernel)
    return chosen


def _sum(stage: Matmul, kernel: Kernel, unroll: bool = False) -> list[str]:
    length = stage.sizes(kernel)[2]
    return [
        f"float v = {stage.start(kernel)};",
        *(["#pragma unroll 4"] if unroll else []),
        f"for (int k = 0; k < {length}; k++)",
        f"    v += {stage.first(kernel, 'row', 'k')} * {stage.second(kernel, 'k', 'col')};",
    ]


def _naive(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """A thread for each output, in two dimensions."""
    m, n, _k = stage.sizes(kernel)
    wide, high = rng.choice(((16, 16), (32, 8), (32, 4), (8, 8)))
    body = [*_sum(stage, kernel, rng.random() < 0.3), *stage.stored(kernel)]
    first = ["int col = blockIdx.x * blockDim.x + threadIdx.x;", "int row = blockIdx.y * blockDim.y + threadIdx.y;"]
    if rng.random() < 0.5:
        kernel.body = [*first, *stage.batch_line, f"if (row >= {m} || col >= {n}) return;", *body]
    else:
        kernel.body = [*first, *stage.batch_line, f"if (row < {m} && col < {n}) {{", *(f"    {x}" for x in body), "}"]
    kernel.grid = (blocks(n, wide), blocks(m, high), *stage.batch_axis)
    kernel.block = (str(wide), str(high))


def _flat(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """A thread for each output, counted through."""
    m, n, _k = stage.sizes(kernel)
    block = rng.choice((64, 128, 256))
    total = f"{m} * {n}"
    where = ["int row = i / " + n + ", col = i % " + n + ";"]
    if stage.operator.is_batched:
        where = [f"int b = i / ({m} * {n}), row = i / {n} % {m}, col = i % {n};"]
        total = f"{kernel.size('B', stage.batch, f'{stage.x.name}.size(0)')} * {total}"
    first = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    kernel.body = [first, f"if (i >= {total}) return;", *where, *_sum(stage, kernel), *stage.stored(kernel)]
    kernel.grid, kernel.block = (blocks(total, block),), (str(block),)


def _tiled(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """Tiles of both matrices pass through shared memory."""
    m, n, length = stage.sizes(kernel)
    side = rng.choice((8, 16, 16, 32))
    constant = "TILE"
    if rng.random() < 0.5 or stage.source.has_constants:
        constant = str(side)
    else:
        stage.source.function(f"#define TILE {side}")
    ty, tx = "threadIdx.y", "threadIdx.x"
    a, b = stage.first(kernel, "row", f"t + {tx}"), stage.second(kernel, f"t + {ty}", "col")
    kernel.body = [
        f"__shared__ float as[{constant}][{constant}], bs[{constant}][{constant}];",
        f"int row = blockIdx.y * {constant} + {ty}, col = blockIdx.x * {constant} + {tx};",
        *stage.batch_line,
        "float v = 0.0f;",
        f"for (int t = 0; t < {length}; t += {constant}) {{",
        f"    as[{ty}][{tx}] = row < {m} && t + {tx} < {length} ? {a} : 0.0f;",
        f"    bs[{ty}][{tx}] = col < {n} && t + {ty} < {length} ? {b} : 0.0f;",
        "    __syncthreads();",
        f"    for (int k = 0; k < {constant}; k++) v += as[{ty}][k] * bs[k][{tx}];",
        "    __syncthreads();",
        "}",
        f"if (row < {m} && col < {n}) {{",
        *([f"    v += {stage.start(kernel)};"] if stage.bias else []),
        *(f"    {line}" for line in stage.stored(kernel)),
        "}",
    ]
    kernel.grid = (blocks(n, side), blocks(m, side), *stage.batch_axis)
    kernel.block = (constant, constant) if constant != "TILE" else ("TILE", "TILE")


def _shared_row(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """A block for each row, which is copied to shared memory first."""
    m, n, length = stage.sizes(kernel)
    block = rng.choice((32, 64, 128))
    if stage.operator.is_batched:
        first = ["int row = blockIdx.x, b = blockIdx.y;"]
        kernel.grid = (m, *stage.batch_axis)
    else:
        first, kernel.grid = ["int row = blockIdx.x;"], (m,)
    kernel.body = [
        "extern __shared__ float line[];",
        *first,
        f"for (int k = threadIdx.x; k < {length}; k += blockDim.x) line[k] = {stage.first(kernel, 'row', 'k')};",
        "__syncthreads();",
        f"for (int col = threadIdx.x; col < {n}; col += blockDim.x) {{",
        f"    float v = {stage.start(kernel)};",
        f"    for (int k = 0; k < {length}; k++) v += line[k] * {stage.second(kernel, 'k', 'col')};",
        *(f"    {x}" for x in stage.stored(kernel)),
        "}",
    ]
    kernel.block, kernel.shared = (str(block),), f"{length} * sizeof(float)"


def _warp(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """A warp for each output, its lanes along the common length."""
    m, n, length = stage.sizes(kernel)
    warps = rng.choice((4, 8))
    first = [f"int col = blockIdx.x * {warps} + threadIdx.y, row = blockIdx.y, lane = threadIdx.x;", *stage.batch_line]
    product = f"{stage.first(kernel, 'row', 'k')} * {stage.second(kernel, 'k', 'col')}"
    kernel.body = [
        *first,
        f"if (col >= {n}) return;",
        "float v = 0.0f;",
        f"for (int k = lane; k < {length}; k += 32) v += {product};",
        "for (int s = 16; s > 0; s /= 2) v += __shfl_down_sync(0xffffffff, v, s);",
        "if (lane == 0) {",
        *([f"    v += {stage.start(kernel)};"] if stage.bias else []),
        *(f"    {x}" for x in stage.stored(kernel)),
        "}",
    ]
    kernel.grid, kernel.block = (blocks(n, warps), m, *stage.batch_axis), ("32", str(warps))


def _several_rows(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """Each thread computes a few rows of one column, for which it reads the second matrix once."""
    m, n, length = stage.sizes(kernel)
    count, block = rng.choice((2, 4)), rng.choice((32, 64, 128))
    kernel.body = [
        f"int col = blockIdx.x * {block} + threadIdx.x, top = blockIdx.y * {count};",
        *stage.batch_line,
        f"if (col >= {n}) return;",
        f"float acc[{count}] = {{0.0f}};",
        f"for (int k = 0; k < {length}; k++) {{",
        f"    float w_k = {stage.second(kernel, 'k', 'col')};",
        f"    for (int r = 0; r < {count}; r++)",
        f"        if (top + r < {m}) acc[r] += {stage.first(kernel, 'top + r', 'k')} * w_k;",
        "}",
        f"for (int row = top; row < min(top + {count}, {m}); row++) {{",
        f"    float v = acc[row - top]{f' + {stage.start(kernel)}' if stage.bias else ''};",
        *(f"    {x}" for x in stage.stored(kernel)),
        "}",
    ]
    kernel.grid, kernel.block = (blocks(n, block), blocks(m, count), *stage.batch_axis), (str(block),)


def _vector(stage: Matmul, kernel: Kernel, rng: random.Random) -> None:
    """A thread for each output reads four values of both matrices at once."""
    m, n, length = stage.sizes(kernel)
    wide, high = rng.choice(((16, 16), (8, 8), (32, 4)))
    row = f"(b * {m} + row) * {length}" if stage.operator.is_batched else f"row * {length}"
    col = f"(b * {n} + col) * {length}" if stage.operator.is_batched else f"col * {length}"
    parts = [f"{stage.pre.call(kernel, f'a.{c}', _never) if stage.pre else f'a.{c}'} * w4.{c}" for c in "xyzw"]
    kernel.body = [
        f"int col = blockIdx.x * {wide} + threadIdx.x;",
        f"int row = blockIdx.y * {high} + threadIdx.y;",
        *stage.batch_line,
        f"if (row >= {m} || col >= {n}) return;",
        f"const float4* xr = reinterpret_cast<const float4*>({kernel.read(stage.x)} + {row});",
        f"const float4* wr = reinterpret_cast<const float4*>({kernel.read(stage.w)} + {col});",
        f"float v = {stage.start(kernel)};",
        f"for (int k = 0; k < {length} / 4; k++) {{",
        "    float4 a = xr[k], w4 = wr[k];",
        f"    v += {' + '.join(parts)};",
        "}",
        *stage.stored(kernel),
    ]
    kernel.grid = (blocks(n, wide), blocks(m, high), *stage.batch_axis)
    kernel.block = (str(wide), str(high))


def _never(place: str) -> str:
    raise ValueError(f"an operand at {place} stands where none is read")


def _fits_vector(stage: Matmul) -> bool:
    return stage.operator.is_transposed and stage.length % 4 == 0 and not chain.has_operands(stage.before)


Writer = Callable[[Matmul, Kernel, random.Random], None]
_KINDS: dict[str, tuple[Writer, Callable[[Matmul], bool]]] = {
    "naive": (_naive, lambda _s: True),
    "flat": (_flat, lambda _s: True),
    "tiled": (_tiled, lambda _s: True),
    "row in shared memory": (_shared_row, lambda s: s.length <= 4096),
    "warp an output": (_warp, lambda s: s.length >= 32 and s.batch * s.rows * s.columns <= 6000),
    "several rows": (_several_rows, lambda s: s.rows >= 4),
    "vector": (_vector, _fits_vector),
}
