"""Kernels of operators whose output values are each gathered from a few places: pooling, convolution, layout."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from musacoder.data.author import chain
from musacoder.data.author.source import Kernel, blocks, flat_index, numel
from musacoder.data.author.writing import Writing
from musacoder.data.operators import CATALOGUE, Gathered

_READ = re.compile(r"@(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\)|(\w+))\[([^\[\]]+)\]")
_OTHER = re.compile(r"\$(\w+)\[([^\[\]]+)\]")
_SIZE = re.compile(r"#(\w+)")
_MOST_SHARED = 4096  # floats of a plane or of weights that a block holds
_NAMES = {
    "pooling": ("pool_kernel", "pooling_kernel"),
    "convolution": ("conv_kernel", "convolution_kernel"),
    "indexing": ("gather_kernel", "layout_kernel", "copy_kernel", "index_kernel"),
}
_HOST_SIZES = {
    "D": "{x}.size(-1)", "J": "{out}.size(-1)", "H": "{x}.size(-2)", "W": "{x}.size(-1)", "OH": "{out}.size(-2)",
    "OW": "{out}.size(-1)", "C": "{x}.size(1)", "OC": "{out}.size(1)", "L": "{x}.size(2)", "OL": "{out}.size(2)",
}  # fmt: skip


@dataclass
class Gather(Writing):
    """An operator that gathers and is being written, with the point-wise ones before and after it."""

    def __post_init__(self) -> None:
        operator = CATALOGUE[self.node.operator]
        assert isinstance(operator, Gathered)
        self.operator = operator
        self.shape = self.node.output.shape
        self.values = dict(operator.sizes(self.x.shape, self.shape, self.node.parameters))
        if self.before:
            self.pre = chain.Function(self.source, "pre", self.before, self.tensors)
        roles = zip(operator.operands, self.node.inputs[1:], strict=True)
        self.roles = {o.role: self.tensors[name] for o, name in roles}
        self.ends = [_end_of(name) for name in operator.coordinates[1:]]

    @property
    def plane(self) -> int:
        """Outputs that share the first coordinate."""
        total = 1
        for end in self.ends:
            total *= self.values[end]
        return total

    @property
    def planes(self) -> int:
        """How many values the first coordinate has."""
        total = 1
        for size in self.shape:
            total *= size
        return total // self.plane

    @property
    def source_plane(self) -> int:
        """Elements of a plane of the input."""
        total = 1
        for size in self.x.shape[-self.operator.plane_axes :]:
            total *= size
        return total


def _end_of(coordinate: str) -> str:
    return {"j": "J", "o": "OL"}.get(coordinate, coordinate.upper())


def write(stage: Gather, rng: random.Random, kind: str | None = None) -> str:
    """Adds the kernel and its launch; gives the kind that was written."""
    kinds = [name for name, (_write, fits) in _KINDS.items() if fits(stage)]
    chosen = kind if kind in kinds else rng.choice(kinds)
    kernel = stage.source.kernel(rng.choice(_NAMES[stage.operator.family]))
    kernel.read(stage.x)
    _KINDS[chosen][0](stage, kernel, rng)
    stage.source.finish(kernel)
    return chosen


# ----------------------------------------------------------------------------------------------------------- the common
def _size(stage: Gather, kernel: Kernel, name: str) -> str:
    if name == "OH" and stage.operator.key == "channels_last":
        host = f"{stage.x.name}.size(2) * {stage.x.name}.size(3)"
    elif stage.operator.key == "channels_last" and name in "HW":
        host = f"{stage.x.name}.size({2 if name == 'H' else 3})"
    else:
        host = _HOST_SIZES[name].format(x=stage.x.name, out=stage.out)
    return kernel.size(name, stage.values[name], host)


def _body(stage: Gather, kernel: Kernel, cached: str = "", weights: str = "") -> list[str]:
    """The operator's lines that compute `v`, then those of the operators after it, and the store."""
    lines = [_rendered(stage, kernel, line, cached, weights) for line in stage.operator.body(stage.node.parameters)]
    if not any(re.search(r"\boc\b", line) for line in lines[1:]) and lines[0].startswith("int oc"):
        lines = lines[1:]
    return lines


def _rendered(stage: Gather, kernel: Kernel, line: str, cached: str, weights: str) -> str:
    p = stage.node.parameters
    line = re.sub(r"<(\w+)>", lambda m: str(p[m[1]]), line) if "<" in line else line
    line = _SIZE.sub(lambda m: _size(stage, kernel, m[1]), line)

    def read(match: re.Match) -> str:
        plane, offset = match[1] or match[2], match[3]
        if cached:
            return f"{cached}[{offset}]"
        return _value(stage, kernel, plane, offset)

    def other(match: re.Match) -> str:
        role, index = match[1], match[2]
        if weights and role == "w":
            return f"{weights}[{index}]"
        return f"{kernel.read(stage.roles[role])}[{index}]"

    return _OTHER.sub(other, _READ.sub(read, line))


def _value(stage: Gather, kernel: Kernel, plane: str, offset: str) -> str:
    """The input's value at a place, after the operators before."""
    place = f"{_grouped(plane)} * {_plane_size(stage, kernel)} + {offset}"
    value = f"{kernel.read(stage.x)}[{place}]"
    return stage.pre.call(kernel, value, flat_index(kernel, stage.x.name, stage.x.shape, place)) if stage.pre else value


def _plane_size(stage: Gather, kernel: Kernel) -> str:
    """The size of a plane of the input, in the sizes that the operator has."""
    axes = stage.operator.plane_axes
    if axes == 1:
        name = "L" if "L" in stage.values else "D" if "D" in stage.values else "W"
        return _size(stage, kernel, name)
    both = f"{_size(stage, kernel, 'H')} * {_size(stage, kernel, 'W')}"
    return f"({_size(stage, kernel, 'C')} * {both})" if axes == 3 else f"({both})"


def _grouped(expression: str) -> str:
    return expression if expression.isidentifier() else f"({expression})"


def _output(stage: Gather, kernel: Kernel, i: str, body: list[str]) -> list[str]:
    """The operator's lines, those of the operators after it, and the store to element `i` of the output."""
    last = stage.operator.coordinates[-1]
    known = {"row": last} if stage.values[stage.ends[-1]] == stage.shape[-1] else {}
    index = flat_index(kernel, stage.out, stage.shape, "i", known)
    after = chain.lines(stage.after, stage.tensors, kernel, index)
    first = [f"int i = {i};"] if i != "i" and any("[i" in line or "(i" in line for line in after) else []
    out = f"{kernel.write(stage.out)}[{'i' if first else i}]"
    return [*first, *chain.stored(stage.source, [*body, *after], out)]


def _place(stage: Gather, kernel: Kernel) -> str:
    """Where an output lies, in its coordinates."""
    place = "p"
    for coordinate, end in zip(stage.operator.coordinates[1:], stage.ends, strict=True):
        place = f"{place if place == 'p' else f'({place})'} * {_size(stage, kernel, end)} + {coordinate}"
    return place


def _coordinates(stage: Gather, kernel: Kernel) -> list[str]:
    """Coordinates of the output `i`."""
    names = stage.operator.coordinates
    ends = [_size(stage, kernel, end) for end in stage.ends]
    if len(names) == 2:
        return [f"int {names[1]} = i % {ends[0]}, p = i / {ends[0]};"]
    return [f"int {names[2]} = i % {ends[1]};", f"int {names[1]} = i / {ends[1]} % {ends[0]};",
            f"int p = i / ({ends[1]} * {ends[0]});"]  # fmt: skip


def _trimmed(lines: list[str]) -> list[str]:
    """Without a coordinate that is not read."""
    text = "\n".join(lines)
    unread = [w for w in ("p", "oh", "ow", "j", "o") if len(re.findall(rf"\b{w}\b", text)) == 1]
    return [line for line in lines if not any(line.startswith(f"int {w} = ") and line.count("=") == 1 for w in unread)]


def _indented(lines: Sequence[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


# ----------------------------------------------------------------------------------------------------- kinds of kernels
def _flat(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    n = numel(kernel, "n", stage.shape, stage.out)
    block = rng.choice((128, 256, 512))
    inner = _trimmed([*_coordinates(stage, kernel), *_output(stage, kernel, "i", _body(stage, kernel))])
    first = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    if rng.random() < 0.6:
        kernel.body = [first, f"if (i >= {n}) return;", *inner]
    else:
        kernel.body = [first, f"if (i < {n}) {{", *_indented(inner), "}"]
    kernel.grid, kernel.block = (blocks(n, block),), (str(block),)


def _grid_stride(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    n = numel(kernel, "n", stage.shape, stage.out)
    inner = _trimmed([*_coordinates(stage, kernel), *_output(stage, kernel, "i", _body(stage, kernel))])
    loop = f"for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < {n}; i += blockDim.x * gridDim.x) {{"
    kernel.body = [loop, *_indented(inner), "}"]
    kernel.grid, kernel.block = (str(rng.choice((16, 32, 64))),), (str(rng.choice((128, 256))),)


def _grid_of_planes(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    """Blocks of two dimensions over a plane, planes along z."""
    names, (high_end, wide_end) = stage.operator.coordinates, (_size(stage, kernel, end) for end in stage.ends)
    wide, high = rng.choice(((16, 16), (32, 8), (8, 8), (32, 4)))
    kernel.body = [
        f"int {names[2]} = blockIdx.x * {wide} + threadIdx.x;",
        f"int {names[1]} = blockIdx.y * {high} + threadIdx.y;",
        "int p = blockIdx.z;",
        f"if ({names[1]} >= {high_end} || {names[2]} >= {wide_end}) return;",
        *_output(stage, kernel, _place(stage, kernel), _body(stage, kernel)),
    ]
    planes = _planes_on_host(stage)
    kernel.grid, kernel.block = (blocks(wide_end, wide), blocks(high_end, high), planes), (str(wide), str(high))


def _planes_on_host(stage: Gather) -> str:
    if stage.operator.key == "channels_last":
        return stage.source.size("planes", stage.shape[0], f"{stage.x.name}.size(0)")
    ends = " * ".join(_HOST_SIZES[end].format(x=stage.x.name, out=stage.out) for end in stage.ends)
    host = f"({ends})" if len(stage.ends) > 1 else ends
    return stage.source.size(
        "planes", stage.shape[: len(stage.shape) - len(stage.ends)] or 1, f"{stage.out}.numel() / {host}"
    )


def _block_a_row(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    """A block for each row of the output."""
    last, end = stage.operator.coordinates[-1], _size(stage, kernel, stage.ends[-1])
    if len(stage.ends) == 1:
        first, rows = ["int p = blockIdx.x;"], _planes_on_host(stage)
        kernel.grid = (rows,)
    else:
        first = ["int oh = blockIdx.x, p = blockIdx.y;"]
        kernel.grid = (_size_on_host(stage, stage.ends[0]), _planes_on_host(stage))
    body = _output(stage, kernel, _place(stage, kernel), _body(stage, kernel))
    kernel.body = [
        *first,
        f"for (int {last} = threadIdx.x; {last} < {end}; {last} += blockDim.x) {{",
        *_indented(body),
        "}",
    ]
    kernel.block = (str(rng.choice([b for b in (32, 64, 128) if b <= max(32, stage.values[stage.ends[-1]])])),)


def _size_on_host(stage: Gather, name: str) -> str:
    if name == "OH" and stage.operator.key == "channels_last":
        return stage.source.size(name, stage.values[name], f"{stage.x.name}.size(2) * {stage.x.name}.size(3)")
    return stage.source.size(name, stage.values[name], _HOST_SIZES[name].format(x=stage.x.name, out=stage.out))


def _over_plane(stage: Gather, kernel: Kernel, body: list[str], block: int) -> list[str]:
    """A loop of a block's threads over the outputs of its plane."""
    names, ends = stage.operator.coordinates, [_size(stage, kernel, end) for end in stage.ends]
    if len(ends) == 1:
        head, split = f"for (int {names[1]} = threadIdx.x; {names[1]} < {ends[0]}; {names[1]} += {block}) {{", []
    else:
        head = f"for (int t = threadIdx.x; t < {ends[0]} * {ends[1]}; t += {block}) {{"
        split = [f"int {names[1]} = t / {ends[1]}, {names[2]} = t % {ends[1]};"]
    return [head, *_indented([*split, *body]), "}"]


def _block_a_plane(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    block = rng.choice((64, 128, 256))
    body = _output(stage, kernel, _place(stage, kernel), _body(stage, kernel))
    kernel.body = ["int p = blockIdx.x;", *_over_plane(stage, kernel, body, block)]
    kernel.grid, kernel.block = (_planes_on_host(stage),), (str(block),)


def _cached_plane(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    """A block for each plane of the input, which is copied to shared memory first, the operators before it applied."""
    block = rng.choice((64, 128, 256))
    size = _plane_size(stage, kernel).strip("()")
    body = _output(stage, kernel, _place(stage, kernel), _body(stage, kernel, cached="tile"))
    kernel.body = [
        "extern __shared__ float tile[];",
        "int p = blockIdx.x;",
        f"for (int k = threadIdx.x; k < {size}; k += {block}) tile[k] = {_value(stage, kernel, 'p', 'k')};",
        "__syncthreads();",
        *_over_plane(stage, kernel, body, block),
    ]
    kernel.grid, kernel.block = (_planes_on_host(stage),), (str(block),)
    kernel.shared = f"{size} * sizeof(float)"


def _shared_weights(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    """A block for each output plane, whose filter is copied to shared memory first."""
    block = rng.choice((64, 128, 256))
    weight = stage.roles["w"]
    body = [line.replace("filter[(oc * ", "filter[(0 * ").replace("filter[oc * ", "filter[0 * ")
            for line in _body(stage, kernel, weights="filter")]  # fmt: skip
    body = [_without_zero(line) for line in body]
    named = kernel.size("taps", weight.shape[1:], f"{weight.name}.numel() / {weight.name}.size(0)")
    oc = f"p % {_size(stage, kernel, 'OC')}"
    inner = [line for line in body if not line.startswith("int oc = ")]
    head = [f"int p = blockIdx.x, oc = {oc};"]
    kernel.body = [
        f"__shared__ float filter[{math.prod(weight.shape[1:])}];",
        *head,
        f"for (int k = threadIdx.x; k < {named}; k += {block}) filter[k] = {kernel.read(weight)}[oc * {named} + k];",
        "__syncthreads();",
        *_over_plane(stage, kernel, _output(stage, kernel, _place(stage, kernel), inner), block),
    ]
    kernel.grid, kernel.block = (_planes_on_host(stage),), (str(block),)


def _without_zero(line: str) -> str:
    line = re.sub(r"filter\[\(0 \* \w+ \+ ic\)", "filter[ic", line)
    return re.sub(r"filter\[0 \* \w+ \+ ", "filter[", line)


def _tiled_transpose(stage: Gather, kernel: Kernel, rng: random.Random) -> None:
    """Tiles that are read along rows and written along columns."""
    side = rng.choice((8, 16, 32))
    rows, cols = _size(stage, kernel, "OW"), _size(stage, kernel, "OH")
    place, place_out = f"(p * {rows} + r) * {cols} + c", f"(p * {cols} + oh) * {rows} + ow"
    value = f"{kernel.read(stage.x)}[{place}]"
    if stage.pre:
        value = stage.pre.call(kernel, value, flat_index(kernel, stage.x.name, stage.x.shape, place))
    kernel.body = [
        f"__shared__ float tile[{side}][{side + 1}];",
        f"int p = blockIdx.z, c = blockIdx.x * {side} + threadIdx.x, r = blockIdx.y * {side} + threadIdx.y;",
        f"if (r < {rows} && c < {cols}) tile[threadIdx.y][threadIdx.x] = {value};",
        "__syncthreads();",
        f"int oh = blockIdx.x * {side} + threadIdx.y, ow = blockIdx.y * {side} + threadIdx.x;",
        f"if (oh < {cols} && ow < {rows}) {{",
        *_indented(_output(stage, kernel, place_out, ["float v = tile[threadIdx.x][threadIdx.y];"])),
        "}",
    ]
    kernel.grid = (blocks(cols, side), blocks(rows, side), _planes_on_host(stage))
    kernel.block = (str(side), str(side))


_TURNED = ("transpose", "transpose_last", "channels_last")
Writer = Callable[[Gather, Kernel, random.Random], None]
_KINDS: dict[str, tuple[Writer, Callable[[Gather], bool]]] = {
    "flat": (_flat, lambda _s: True),
    "grid stride": (_grid_stride, lambda _s: True),
    "grid of planes": (_grid_of_planes, lambda s: len(s.ends) == 2),
    "block a row": (_block_a_row, lambda s: s.values[s.ends[-1]] >= 8),
    "block a plane": (_block_a_plane, lambda s: s.plane >= 32 and s.planes >= 4),
    "cached plane": (_cached_plane, lambda s: s.operator.is_local and s.planes >= 2
                     and s.source_plane <= _MOST_SHARED and s.operator.plane_axes < 3),
    "shared filter": (_shared_weights, lambda s: s.operator.family == "convolution" and s.operator.key !=
                      "conv_transpose2d" and s.plane >= 16),
    "tiled": (_tiled_transpose, lambda s: s.operator.key in _TURNED),
}  # fmt: skip
