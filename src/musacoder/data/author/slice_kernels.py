"""The kinds of kernels of operators over slices: which threads share one, and where they meet."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from musacoder.data.author import chain
from musacoder.data.author.slice_functions import joined, shuffle_function, tree_function, warp_function
from musacoder.data.author.slices import (
    INITIAL,
    Slices,
    Team,
    assemble,
    expression_of,
    finished,
    index_of,
    inner_of,
    length_of,
    loaded,
    mapped,
    passes,
    rows_of,
    waves,
)
from musacoder.data.author.source import Kernel, blocks, numel
from musacoder.data.graph import TensorSpec
from musacoder.data.operators import Pass


def write(stage: Slices, rng: random.Random, kind: str | None = None) -> str:
    """Adds the kernel or the two to the source; gives the kind that was written."""
    kinds = [name for name, (_make, fits) in _KINDS.items() if fits(stage)]
    weights = [_WEIGHTS.get(name, 2) for name in kinds]
    chosen = kind if kind in kinds else rng.choices(kinds, weights)[0]
    kernel = stage.source.kernel(rng.choice(_NAMES.get(stage.operator.family, ("row_kernel",))))
    kernel.read(stage.x)
    last = _KINDS[chosen][0](stage, kernel, rng)
    stage.source.finish(last or kernel)
    return chosen


_NAMES = {
    "reduction": ("reduce_kernel", "row_reduce_kernel", "reduction_kernel"),
    "normalisation": ("norm_kernel", "normalize_kernel", "row_norm_kernel"),
    "softmax": ("softmax_kernel", "row_softmax_kernel"),
    "loss": ("loss_kernel", "row_loss_kernel"),
    "pooling": ("global_pool_kernel", "pool_kernel"),
}


def _block_size(stage: Slices, rng: random.Random) -> int:
    fitting = [b for b in (64, 128, 256) if b <= max(64, 2 * stage.length)]
    return rng.choice(fitting)


def _tree(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A block for each slice; partial results meet in shared memory, halved at each step."""
    block = _block_size(stage, rng)
    single = len(stage.operator.passes) == 1
    if single and rng.random() < 0.7:
        combine = _inline_tree(block, stage.operator.reduces)
        head = ["int row = blockIdx.x, tid = threadIdx.x;", f"__shared__ float buf[{block}];"]
    else:
        combine = lambda wave: [f"{p.name} = {tree_function(stage, block, p)};" for p in wave]  # noqa: E731
        head = ["int row = blockIdx.x, tid = threadIdx.x;"]
    assemble(stage, kernel, Team(head, "tid", str(block), combine, "tid == 0"))
    kernel.grid, kernel.block = (rows_of(stage, None),), (str(block),)


def _inline_tree(block: int, is_last: bool) -> Callable[[list[Pass]], list[str]]:
    def combine(wave: list[Pass]) -> list[str]:
        lines = []
        for one in wave:
            lines += [
                f"buf[tid] = {one.name};",
                "__syncthreads();",
                f"for (int k = {block // 2}; k > 0; k >>= 1) {{",
                f"    if (tid < k) {joined(one, 'buf[tid]', 'buf[tid + k]')}",
                "    __syncthreads();",
                "}",
                f"{one.name} = buf[0];",
            ]
        return lines

    return combine


def _shuffle(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A block for each slice; warps combine by shuffles, their results in shared memory."""
    block = _block_size(stage, rng)
    combine = lambda wave: [f"{p.name} = {shuffle_function(stage, block, p)};" for p in wave]  # noqa: E731
    assemble(stage, kernel, Team(["int row = blockIdx.x, tid = threadIdx.x;"], "tid", str(block), combine, "tid == 0"))
    kernel.grid, kernel.block = (rows_of(stage, None),), (str(block),)


def _warp_team(stage: Slices, kernel: Kernel, rng: random.Random) -> Team:
    """A warp for each slice, several in a block; the launch is set, too."""
    warps, rows = rng.choice((2, 4, 8)), rows_of(stage, kernel)
    if rng.random() < 0.5:
        head = [f"int row = blockIdx.x * {warps} + threadIdx.x / 32;", "int lane = threadIdx.x % 32;"]
        kernel.block = (str(32 * warps),)
    else:
        head = [f"int row = blockIdx.x * {warps} + threadIdx.y;", "int lane = threadIdx.x;"]
        kernel.block = ("32", str(warps))
    kernel.grid = (blocks(rows, warps),)

    def combine(wave: list[Pass]) -> list[str]:
        if len(wave) == 1 and len(stage.operator.passes) == 1:
            one = wave[0]
            return ["for (int k = 16; k > 0; k /= 2)",
                    f"    {joined(one, one.name, f'__shfl_xor_sync(0xffffffff, {one.name}, k)')}"]  # fmt: skip
        return [f"{p.name} = {warp_function(stage, p)};" for p in wave]

    return Team([*head, f"if (row >= {rows}) return;"], "lane", "32", combine, "lane == 0")


def _warp(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    assemble(stage, kernel, _warp_team(stage, kernel, rng))


def _thread_team(stage: Slices, kernel: Kernel, rng: random.Random) -> Team:
    rows, block = rows_of(stage, kernel), rng.choice((64, 128, 256))
    kernel.grid, kernel.block = (blocks(rows, block),), (str(block),)
    head = ["int row = blockIdx.x * blockDim.x + threadIdx.x;", f"if (row >= {rows}) return;"]
    return Team(head, "0", "1", lambda _wave: [])


def _thread(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A thread for each slice."""
    assemble(stage, kernel, _thread_team(stage, kernel, rng))


def _cached(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A block for each slice, which is copied to shared memory first, the operators before it applied."""
    block = _block_size(stage, rng)
    d = length_of(stage, kernel)
    shuffles = rng.random() < 0.5
    function = shuffle_function if shuffles else tree_function
    combine = lambda wave: [f"{p.name} = {function(stage, block, p)};" for p in wave]  # noqa: E731
    head = [
        "extern __shared__ float cache[];",
        "int row = blockIdx.x, tid = threadIdx.x;",
        f"for (int j = tid; j < {d}; j += {block}) cache[j] = {loaded(stage, kernel, 'j')};",
        "__syncthreads();",
    ]
    assemble(stage, kernel, Team(head, "tid", str(block), combine, "tid == 0", cached="cache[{j}]"))
    kernel.grid, kernel.block = (rows_of(stage, None),), (str(block),)
    kernel.shared = f"{d} * sizeof(float)"


def _registers(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A warp for each slice, whose values stay in registers."""
    count = -(-stage.length // 32)
    team = _warp_team(stage, kernel, rng)
    d = length_of(stage, kernel)
    lines = [*team.head, f"float r[{count}];", f"for (int k = 0; k < {count}; k++) {{", "    int j = lane + k * 32;",
             f"    r[k] = j < {d} ? {loaded(stage, kernel, 'j')} : 0.0f;", "}"]  # fmt: skip
    held = Team([], team.start, team.step, team.combine, team.leader, cached="r[{j} / 32]")
    kernel.body = [*lines, *passes(stage, kernel, held), *finished(stage, kernel, held)]


def _vector(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A warp for each row, which reads four values at once in its passes."""
    team = _warp_team(stage, kernel, rng)
    d = length_of(stage, kernel)
    x = kernel.read(stage.x)
    lines = [*team.head, f"const float4* r = reinterpret_cast<const float4*>({x} + row * {d});"]
    for wave in waves(stage.operator.passes):
        lines += [f"float {one.name} = {INITIAL[one.combine]};" for one in wave]
        lines += [f"for (int k = lane; k < {d} / 4; k += 32) {{", "    float4 q = r[k];"]
        for part in "xyzw":
            value = stage.pre.call(kernel, f"q.{part}", _never) if stage.pre else f"q.{part}"
            for one in wave:
                term = re.sub(r"\bv\b", lambda _m, value=value: value, expression_of(stage, kernel, one.term, {}))
                lines.append(f"    {joined(one, one.name, term)}")
        lines.append("}")
        lines += team.combine(wave)
        for one in wave:
            if one.final:
                lines.append(f"{one.name} = {expression_of(stage, kernel, one.final.replace('{0}', one.name), {})};")
    kernel.body = [*lines, *finished(stage, kernel, team)]


def _never(place: str) -> str:
    raise ValueError(f"an operand at {place} stands where none is read")


def _fits_vector(stage: Slices) -> bool:
    is_plain = not chain.has_operands(stage.before) and not stage.roles and stage.inner == 1
    short = all(len(re.findall(r"\bv\b", one.term)) == 1 or len(one.term) < 24 for one in stage.operator.passes)
    return is_plain and short and stage.length % 4 == 0 and stage.length >= 32


def _two_kernels(stage: Slices, kernel: Kernel, rng: random.Random) -> Kernel:
    """The first kernel writes what the passes found, the second every new value."""
    names = [p.name for p in stage.operator.passes]
    host = stage.source.host
    statistics = "stats"
    host.append(
        f"auto {statistics} = torch::empty({{{rows_of(stage, None)}, {len(names)}}}, {stage.x.name}.options());"
    )
    team = (_thread_team if stage.length <= 64 or rng.random() < 0.4 else _warp_team)(stage, kernel, rng)
    writes = [f"{kernel.write(statistics)}[row * {len(names)} + {k}] = {name};" for k, name in enumerate(names)]
    if len(names) == 1:
        writes = [f"{kernel.write(statistics)}[row] = {names[0]};"]
    if team.leader:
        writes = [f"if ({team.leader}) {{", *(f"    {w}" for w in writes), "}"]
    kernel.body = [*team.head, *passes(stage, kernel, team), *writes]
    kernel.name = kernel.name.replace("_kernel", "_stats_kernel")
    _declare(stage, kernel)
    stage.source.finish(kernel)
    return _second(stage, kernel, statistics, names, rng)


def _declare(stage: Slices, kernel: Kernel) -> None:
    """The host needs the number of slices before it allocates for them."""
    host = stage.source.host
    rows = rows_of(stage, None)
    if not stage.source.has_constants and rows not in stage.source.declared:
        stage.source.declared.add(rows)
        host.insert(len(host) - 1, f"int {rows} = {stage.source.host_sizes[rows]};")


def _second(stage: Slices, first: Kernel, statistics: str, names: list[str], rng: random.Random) -> Kernel:
    kernel = first.source.kernel(first.name.replace("_stats_kernel", "_apply_kernel"))
    n, d = numel(kernel, "n", stage.x.shape, stage.x.name), length_of(stage, kernel)
    read = kernel.read(TensorSpec(name=statistics, shape=(stage.rows, len(names))))
    if stage.inner == 1:
        where = [f"int row = i / {d}, j = i % {d};"]
    else:
        inner = inner_of(stage, kernel)
        where = [f"int row = i / ({d} * {inner}) * {inner} + i % {inner}, j = i / {inner} % {d};"]
    used = [name for name in names if re.search(rf"\b{name}\b", stage.operator.each)]
    values = [
        f"{name} = {read}[row{f' * {len(names)} + {names.index(name)}' if len(names) > 1 else ''}]" for name in used
    ]
    load = f"{kernel.read(stage.x)}[i]"
    if stage.pre:
        load = stage.pre.call(kernel, load, index_of(stage, kernel, "j", "i"))
    body = [*where, f"float {', '.join(values)};", *mapped(stage, kernel, load, "i")]
    text = "\n".join(body)
    if not re.search(r"\bj\b", text.replace(where[0], "")):
        body[0] = re.sub(r", j = .*;", ";", where[0])
    block = rng.choice((128, 256))
    kernel.body = ["int i = blockIdx.x * blockDim.x + threadIdx.x;", f"if (i >= {n}) return;", *body]
    kernel.grid, kernel.block = (blocks(n, block),), (str(block),)
    return kernel


def _tile(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """Neighbouring slices side by side: threads of a column of the block share a slice."""
    high, rows = rng.choice((4, 8)), rows_of(stage, kernel)

    def combine(wave: list[Pass]) -> list[str]:
        lines = []
        for one in wave:
            lines += [
                f"part[threadIdx.y][threadIdx.x] = {one.name};",
                "__syncthreads();",
                f"{one.name} = part[0][threadIdx.x];",
                f"for (int k = 1; k < {high}; k++) {joined(one, one.name, 'part[k][threadIdx.x]')}",
            ]
            if one is not stage.operator.passes[-1]:
                lines.append("__syncthreads();")
        return lines

    head = [f"__shared__ float part[{high}][32];", "int col = blockIdx.x * 32 + threadIdx.x;",
            f"int row = min(col, {rows} - 1);"]  # fmt: skip
    writes = f"threadIdx.y == 0 && col < {rows}"
    team = Team(head, "threadIdx.y", str(high), combine, writes)
    assemble(stage, kernel, team)
    kernel.grid, kernel.block = (blocks(rows, 32),), ("32", str(high))


Writer = Callable[[Slices, Kernel, random.Random], Kernel | None]  # gives the kernel to launch last where it made one
# The longer ones are written more rarely.
_WEIGHTS = {"block, shuffles": 1, "block, cached": 1, "two kernels": 1, "warp": 3, "thread": 3}
_KINDS: dict[str, tuple[Writer, Callable[[Slices], bool]]] = {
    "block, tree": (_tree, lambda s: s.rows <= 4096),
    "block, shuffles": (_shuffle, lambda s: s.rows <= 4096 and s.length >= 32),
    "warp": (_warp, lambda s: s.length >= 16),
    "thread": (_thread, lambda _s: True),
    "block, cached": (_cached, lambda s: s.rows <= 2048 and s.length >= 32 and len(s.operator.passes) > 1),
    "warp, registers": (_registers, lambda s: 32 <= s.length <= 512 and len(s.operator.passes) > 1),
    "vector": (_vector, _fits_vector),
    "two kernels": (_two_kernels, lambda s: not s.operator.reduces),
    "tile": (_tile, lambda s: s.inner >= 16 and s.operator.reduces and s.length >= 8),
}
