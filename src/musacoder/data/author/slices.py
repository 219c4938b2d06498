"""Kernels of operators over slices: reductions, normalisations, softmaxes, losses.

Every kernel walks a slice once for each pass, combines what its threads have, and then walks it again for its result.
How the threads share a slice is a `Team`; the rest is the same for all.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from musacoder.data.author import chain
from musacoder.data.author.sample import slice_axes
from musacoder.data.author.source import Index, Kernel, Source, blocks, flat_index, numel
from musacoder.data.graph import Node, TensorSpec
from musacoder.data.operators import CATALOGUE, Pass, Sliced
from musacoder.data.operators.types import whole

_INITIAL = {"sum": "0.0f", "max": "-INFINITY", "min": "INFINITY"}
_JOINED = {"sum": "{a} + {b}", "max": "fmaxf({a}, {b})", "min": "fminf({a}, {b})"}


@dataclass
class Slices:
    """An operator over slices that is being written, with the point-wise operators before and after it."""

    source: Source
    before: Sequence[Node]
    node: Node
    after: Sequence[Node]
    tensors: chain.Tensors
    x: TensorSpec
    out: str
    pre: chain.Function | None = None

    def __post_init__(self) -> None:
        operator = CATALOGUE[self.node.operator]
        assert isinstance(operator, Sliced)
        self.operator = operator
        self.outer, self.length, self.inner = slice_axes(operator, self.x.shape, self.node.parameters)
        if self.before:
            self.pre = chain.Function(self.source, "pre", self.before, self.tensors)
        roles = zip(operator.operands, self.node.inputs[1:], strict=True)
        self.roles = {o.role: (o.place, self.tensors[name]) for o, name in roles}

    @property
    def rows(self) -> int:
        """The number of slices."""
        return self.outer * self.inner


@dataclass
class Team:
    """How threads share a slice: the lines that say which is whose, where each begins, its step, how they combine."""

    head: list[str]
    start: str
    step: str
    combine: Callable[[list[Pass]], list[str]]  # lines that leave each pass's whole in its variable, in all threads
    leader: str = ""  # condition of the thread that writes a slice's number; "": all threads have one of their own
    cached: str = ""  # where element {j} lies that was read before


def write(stage: Slices, rng: random.Random, kind: str | None = None) -> str:
    """Adds the kernel or the two to the source; gives the kind that was written."""
    kinds = [name for name, (_make, fits) in _KINDS.items() if fits(stage)]
    chosen = kind if kind in kinds else rng.choice(kinds)
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


# ---------------------------------------------------------------------------------------------------------- the common
def _length(stage: Slices, kernel: Kernel) -> str:
    x, axis = stage.x.name, whole(stage.node.parameters, "dim", -1)
    if stage.operator.slices == "plane":
        return kernel.size("d", stage.length, f"{x}.size(2) * {x}.size(3)")
    if stage.operator.slices == "group":
        return kernel.size("d", stage.length, f"{x}.numel() / ({x}.size(0) * {stage.node.parameters['groups']})")
    return kernel.size("d", stage.length, f"{x}.size({axis})")


def _rows(stage: Slices, kernel: Kernel | None) -> str:
    x, host = stage.x.name, ""
    if stage.operator.slices == "plane":
        host = f"{x}.size(0) * {x}.size(1)"
    elif stage.operator.slices == "group":
        host = f"{x}.size(0) * {stage.node.parameters['groups']}"
    else:
        host = f"{x}.numel() / {x}.size({stage.node.parameters.get('dim', -1)})"
    sized = kernel.size if kernel else stage.source.size
    return sized("rows", stage.rows, host)


def _place(stage: Slices, kernel: Kernel, j: str) -> str:
    """The element `j` of the slice `row` in the tensor."""
    d = _length(stage, kernel)
    if stage.inner == 1:
        return f"row * {d} + {j}"
    inner = _inner(stage, kernel)
    if stage.outer == 1:
        return f"{j} * {inner} + row"
    return f"(row / {inner} * {d} + {j}) * {inner} + row % {inner}"


def _inner(stage: Slices, kernel: Kernel) -> str:
    shape, axis = stage.x.shape, whole(stage.node.parameters, "dim", -1) % len(stage.x.shape)
    x = stage.x.name
    host = " * ".join(f"{x}.size({k})" for k in range(axis + 1, len(shape)))
    return kernel.size("inner", stage.inner, host)


def _index(stage: Slices, kernel: Kernel, j: str, i: str) -> Index:
    """Where operands stand beside the element `j` of a slice, whose place in the tensor is `i`."""
    known = {"slice": "row"}
    is_last = stage.inner == 1 and stage.operator.slices in ("any", "last")
    if is_last:
        known |= {"row": j, "column": "row"}
    flat = flat_index(kernel, stage.x.name, stage.x.shape, i, known)

    def index(place: str) -> str:
        if place != "feature":
            return flat(place)
        channels = stage.x.shape[1]
        if stage.operator.slices == "plane":
            return f"row % {kernel.size('channels', channels, f'{stage.x.name}.size(1)')}"
        groups = whole(stage.node.parameters, "groups")
        pixels = kernel.size(
            "pixels", stage.x.shape[2] * stage.x.shape[3], f"{stage.x.name}.size(2) * {stage.x.name}.size(3)"
        )
        return f"row % {groups} * {channels // groups} + {j} / {pixels}"

    return index


def _load(stage: Slices, kernel: Kernel, j: str, team: Team) -> str:
    """The value of element `j` after the operators before."""
    if team.cached:
        return team.cached.format(j=j)
    return _loaded(stage, kernel, j)


def _loaded(stage: Slices, kernel: Kernel, j: str) -> str:
    place = _place(stage, kernel, j)
    value = f"{kernel.read(stage.x)}[{place}]"
    return stage.pre.call(kernel, value, _index(stage, kernel, j, place)) if stage.pre else value


def _roles(stage: Slices, kernel: Kernel, j: str) -> dict[str, str]:
    index = _index(stage, kernel, j, _place(stage, kernel, j))
    return {
        role: f"{kernel.read(spec)}[{index(place)}]" for role, (place, spec) in stage.roles.items() if place != "slice"
    }


def _expression(stage: Slices, kernel: Kernel, text: str, roles: dict[str, str]) -> str:
    """A template of the catalogue with constants, operands and the slice's length."""
    text = re.sub(r"\bd\b", _length(stage, kernel), text) if re.search(r"\bd\b", text) else text
    picked = ""
    if "{picked}" in text:
        spec = stage.roles["t"][1]
        place = _place(stage, kernel, f"{kernel.read(spec)}[row]")
        picked = f"{kernel.read(stage.x)}[{place}]"
        if stage.pre:
            picked = stage.pre.call(kernel, picked, _index(stage, kernel, f"{kernel.read(spec)}[row]", place))
    return text.format(picked=picked, **chain.constants_text(stage.operator, stage.node), **roles)


def _waves(passes: Sequence[Pass]) -> list[list[Pass]]:
    """Passes that need nothing of one another go over the slice together."""
    waves: list[list[Pass]] = []
    for one in passes:
        needs = waves and any(re.search(rf"\b{other.name}\b", one.term) for other in waves[-1])
        if waves and not needs:
            waves[-1].append(one)
        else:
            waves.append([one])
    return waves


def _walk(stage: Slices, kernel: Kernel, team: Team, wave: list[Pass], j: str = "j") -> list[str]:
    """One loop over the slice that combines a thread's own share."""
    d = _length(stage, kernel)
    roles = _roles(stage, kernel, j)
    lines, update = [], []
    for one in wave:
        lines.append(f"float {one.name} = {_INITIAL[one.combine]};")
    used = {role: sum(one.term.count(f"{{{role}}}") for one in wave) for role in roles}
    reads = [f"float {role}_j = {read};" for role, read in roles.items() if used[role] > 1]
    named = {role: f"{role}_j" if used[role] > 1 else read for role, read in roles.items()}
    for one in wave:
        term = _expression(stage, kernel, one.term, named)
        joined = (
            f"{one.name} += {term};"
            if one.combine == "sum"
            else f"{one.name} = {_JOINED[one.combine].format(a=one.name, b=term)};"
        )
        update.append(joined)
    load = _load(stage, kernel, j, team)
    loop = f"for (int {j} = {team.start}; {j} < {d}; {j}{'++' if team.step == '1' else f' += {team.step}'})"
    uses = len(re.findall(r"\bv\b", " ".join(update)))
    if len(update) == 1 and uses == 1 and not reads:
        return [*lines, loop, "    " + re.sub(r"\bv\b", lambda _m: load, update[0])]
    body = [*([f"float v = {load};"] if uses else []), *reads, *update]
    return [*lines, loop + " {", *(f"    {line}" for line in body), "}"]


def _passes(stage: Slices, kernel: Kernel, team: Team) -> list[str]:
    lines: list[str] = []
    for wave in _waves(stage.operator.passes):
        lines += _walk(stage, kernel, team, wave)
        lines += team.combine(wave)
        for one in wave:
            if one.final:
                final = _expression(stage, kernel, one.final.replace("{0}", one.name), {})
                short = f"{one.name} / "
                is_short = final.startswith(short) and " " not in final[len(short) :]
                lines.append(f"{one.name} /= {final[len(short) :]};" if is_short else f"{one.name} = {final};")
    return lines


def _finished(stage: Slices, kernel: Kernel, team: Team) -> list[str]:
    """The lines that write the slice's number, or its new values."""
    out = kernel.write(stage.out)
    if stage.operator.reduces:
        shape = next(iter(stage.after)).output.shape if stage.after else stage.node.output.shape
        index = flat_index(kernel, stage.out, shape, "row")
        lines = [f"float v = {_expression(stage, kernel, stage.operator.result, {})};",
                 *chain.lines(stage.after, stage.tensors, kernel, index), f"{out}[row] = v;"]  # fmt: skip
        if len(lines) == 2:
            lines = [lines[0].replace("float v", f"{out}[row]")]
        if not team.leader:
            return lines
        if len(lines) == 1:
            return [f"if ({team.leader}) {lines[0]}"]
        return [f"if ({team.leader}) {{", *(f"    {line}" for line in lines), "}"]
    place = _place(stage, kernel, "j")
    step = "j++" if team.step == "1" else f"j += {team.step}"
    loop = f"for (int j = {team.start}; j < {_length(stage, kernel)}; {step}) {{"
    return [loop, *(f"    {line}" for line in _mapped(stage, kernel, _load(stage, kernel, "j", team), place)), "}"]


def _mapped(stage: Slices, kernel: Kernel, load: str, place: str) -> list[str]:
    out = kernel.write(stage.out)
    each = _expression(stage, kernel, stage.operator.each, _roles(stage, kernel, "j"))
    uses = len(re.findall(r"\bv\b", each))
    lines = []
    if uses > 1:
        lines.append(f"float v = {load};")
        lines.append(f"v = {each};")
    else:
        lines.append("float v = " + re.sub(r"\bv\b", lambda _m: load, each) + ";")
    lines += chain.lines(stage.after, stage.tensors, kernel, _index(stage, kernel, "j", place))
    return [*lines, f"{out}[{place}] = v;"]


def _assemble(stage: Slices, kernel: Kernel, team: Team) -> None:
    kernel.body = [*team.head, *_passes(stage, kernel, team), *_finished(stage, kernel, team)]


# ----------------------------------------------------------------------------------------------------- kinds of kernels
def _block_size(stage: Slices, rng: random.Random) -> int:
    fitting = [b for b in (64, 128, 256) if b <= max(64, 2 * stage.length)]
    return rng.choice(fitting)


def _joined(one: Pass, a: str, b: str) -> str:
    return f"{a} += {b};" if one.combine == "sum" else f"{a} = {_JOINED[one.combine].format(a=a, b=b)};"


def _tree(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A block for each slice; partial results meet in shared memory, halved at each step."""
    block = _block_size(stage, rng)
    single = len(stage.operator.passes) == 1
    if single and rng.random() < 0.7:
        combine = _inline_tree(block, stage.operator.reduces)
        head = ["int row = blockIdx.x, tid = threadIdx.x;", f"__shared__ float buf[{block}];"]
    else:
        combine = lambda wave: [f"{p.name} = {_tree_function(stage, block, p)};" for p in wave]  # noqa: E731
        head = ["int row = blockIdx.x, tid = threadIdx.x;"]
    _assemble(stage, kernel, Team(head, "tid", str(block), combine, "tid == 0"))
    kernel.grid, kernel.block = (_rows(stage, None),), (str(block),)


def _inline_tree(block: int, is_last: bool) -> Callable[[list[Pass]], list[str]]:
    def combine(wave: list[Pass]) -> list[str]:
        lines = []
        for one in wave:
            lines += [
                f"buf[tid] = {one.name};",
                "__syncthreads();",
                f"for (int k = {block // 2}; k > 0; k >>= 1) {{",
                f"    if (tid < k) {_joined(one, 'buf[tid]', 'buf[tid + k]')}",
                "    __syncthreads();",
                "}",
                f"{one.name} = buf[0];",
            ]
        return lines

    return combine


def _is_mixed(stage: Slices) -> bool:
    return len({p.combine for p in stage.operator.passes}) > 1


def _join_function(stage: Slices, one: Pass) -> tuple[str, str, str]:
    """(parameter, argument, expression of a and b) of functions that combine; one function serves two ways."""
    if not _is_mixed(stage):
        return "", "", _JOINED[one.combine]
    other = next(p.combine for p in stage.operator.passes if p.combine != "sum")
    if not any(p.combine == "sum" for p in stage.operator.passes):
        return ", bool top", f", {str(one.combine == 'max').lower()}", "top ? fmaxf({a}, {b}) : fminf({a}, {b})"
    flag = str(one.combine == "sum").lower()
    return ", bool add", f", {flag}", f"add ? {{a}} + {{b}} : {_JOINED[other]}"


def _function_name(stage: Slices, scope: str) -> str:
    combine = stage.operator.passes[0].combine
    return f"{scope}_reduce" if _is_mixed(stage) else f"{scope}_{combine}"


def _tree_function(stage: Slices, block: int, one: Pass) -> str:
    parameter, argument, join = _join_function(stage, one)
    name = _function_name(stage, "block")
    stage.source.function("\n".join([
        f"__device__ float {name}(float v{parameter}) {{",
        f"    __shared__ float buf[{block}];",
        "    int tid = threadIdx.x;",
        "    buf[tid] = v;",
        "    __syncthreads();",
        f"    for (int k = {block // 2}; k > 0; k /= 2) {{",
        f"        if (tid < k) buf[tid] = {join.format(a='buf[tid]', b='buf[tid + k]')};",
        "        __syncthreads();",
        "    }",
        "    v = buf[0];",
        "    __syncthreads();",
        "    return v;",
        "}",
    ]))  # fmt: skip
    return f"{name}({one.name}{argument})"


def _warp_function(stage: Slices, one: Pass) -> str:
    parameter, argument, join = _join_function(stage, one)
    name = _function_name(stage, "warp")
    other = "__shfl_xor_sync(0xffffffff, v, k)"
    body = [f"v = {join.format(a='v', b=other)};"]
    if "top" in parameter or "add" in parameter:
        body = [f"float u = {other};", f"v = {join.format(a='v', b='u')};"]
    loop = "for (int k = 16; k > 0; k /= 2)"
    lines = (
        [f"    {loop} {body[0]}"] if len(body) == 1 else [f"    {loop} {{", *(f"        {b}" for b in body), "    }"]
    )
    text = [f"__device__ float {name}(float v{parameter}) {{", *lines, "    return v;", "}"]
    stage.source.function("\n".join(text))
    return f"{name}({one.name}{argument})"


def _shuffle_function(stage: Slices, block: int, one: Pass) -> str:
    _warp_function(stage, one)
    parameter, argument, join = _join_function(stage, one)
    name, warp = _function_name(stage, "block"), _function_name(stage, "warp")
    passed = parameter.replace(", bool", ",")
    first = "part[0]"
    stage.source.function("\n".join([
        f"__device__ float {name}(float v{parameter}) {{",
        f"    __shared__ float part[{block // 32}];",
        f"    v = {warp}(v{passed});",
        "    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;",
        "    __syncthreads();",
        f"    v = {first};",
        f"    for (int k = 1; k < {block // 32}; k++) v = {join.format(a='v', b='part[k]')};",
        "    __syncthreads();",
        "    return v;",
        "}",
    ]))  # fmt: skip
    return f"{name}({one.name}{argument})"


def _shuffle(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A block for each slice; warps combine by shuffles, their results in shared memory."""
    block = _block_size(stage, rng)
    combine = lambda wave: [f"{p.name} = {_shuffle_function(stage, block, p)};" for p in wave]  # noqa: E731
    _assemble(stage, kernel, Team(["int row = blockIdx.x, tid = threadIdx.x;"], "tid", str(block), combine, "tid == 0"))
    kernel.grid, kernel.block = (_rows(stage, None),), (str(block),)


def _warp_team(stage: Slices, kernel: Kernel, rng: random.Random) -> Team:
    """A warp for each slice, several in a block; the launch is set, too."""
    warps, rows = rng.choice((2, 4, 8)), _rows(stage, kernel)
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
                    f"    {_joined(one, one.name, f'__shfl_xor_sync(0xffffffff, {one.name}, k)')}"]  # fmt: skip
        return [f"{p.name} = {_warp_function(stage, p)};" for p in wave]

    return Team([*head, f"if (row >= {rows}) return;"], "lane", "32", combine, "lane == 0")


def _warp(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    _assemble(stage, kernel, _warp_team(stage, kernel, rng))


def _thread_team(stage: Slices, kernel: Kernel, rng: random.Random) -> Team:
    rows, block = _rows(stage, kernel), rng.choice((64, 128, 256))
    kernel.grid, kernel.block = (blocks(rows, block),), (str(block),)
    head = ["int row = blockIdx.x * blockDim.x + threadIdx.x;", f"if (row >= {rows}) return;"]
    return Team(head, "0", "1", lambda _wave: [])


def _thread(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A thread for each slice."""
    _assemble(stage, kernel, _thread_team(stage, kernel, rng))


def _cached(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A block for each slice, which is copied to shared memory first, the operators before it applied."""
    block = _block_size(stage, rng)
    d = _length(stage, kernel)
    shuffles = rng.random() < 0.5
    function = _shuffle_function if shuffles else _tree_function
    combine = lambda wave: [f"{p.name} = {function(stage, block, p)};" for p in wave]  # noqa: E731
    head = [
        "extern __shared__ float cache[];",
        "int row = blockIdx.x, tid = threadIdx.x;",
        f"for (int j = tid; j < {d}; j += {block}) cache[j] = {_loaded(stage, kernel, 'j')};",
        "__syncthreads();",
    ]
    _assemble(stage, kernel, Team(head, "tid", str(block), combine, "tid == 0", cached="cache[{j}]"))
    kernel.grid, kernel.block = (_rows(stage, None),), (str(block),)
    kernel.shared = f"{d} * sizeof(float)"


def _registers(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A warp for each slice, whose values stay in registers."""
    count = -(-stage.length // 32)
    team = _warp_team(stage, kernel, rng)
    d = _length(stage, kernel)
    lines = [*team.head, f"float r[{count}];", f"for (int k = 0; k < {count}; k++) {{", "    int j = lane + k * 32;",
             f"    r[k] = j < {d} ? {_loaded(stage, kernel, 'j')} : 0.0f;", "}"]  # fmt: skip
    held = Team([], team.start, team.step, team.combine, team.leader, cached="r[{j} / 32]")
    kernel.body = [*lines, *_passes(stage, kernel, held), *_finished(stage, kernel, held)]


def _vector(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """A warp for each row, which reads four values at once in its passes."""
    team = _warp_team(stage, kernel, rng)
    d = _length(stage, kernel)
    x = kernel.read(stage.x)
    lines = [*team.head, f"const float4* r = reinterpret_cast<const float4*>({x} + row * {d});"]
    for wave in _waves(stage.operator.passes):
        lines += [f"float {one.name} = {_INITIAL[one.combine]};" for one in wave]
        lines += [f"for (int k = lane; k < {d} / 4; k += 32) {{", "    float4 a = r[k];"]
        for part in "xyzw":
            value = stage.pre.call(kernel, f"a.{part}", _never) if stage.pre else f"a.{part}"
            for one in wave:
                term = re.sub(r"\bv\b", lambda _m, value=value: value, _expression(stage, kernel, one.term, {}))
                lines.append(f"    {_joined(one, one.name, term)}")
        lines.append("}")
        lines += team.combine(wave)
        for one in wave:
            if one.final:
                lines.append(f"{one.name} = {_expression(stage, kernel, one.final.replace('{0}', one.name), {})};")
    kernel.body = [*lines, *_finished(stage, kernel, team)]


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
    host.append(f"auto {statistics} = torch::empty({{{_rows(stage, None)}, {len(names)}}}, {stage.x.name}.options());")
    team = (_thread_team if stage.length <= 64 or rng.random() < 0.4 else _warp_team)(stage, kernel, rng)
    writes = [f"{kernel.write(statistics)}[row * {len(names)} + {k}] = {name};" for k, name in enumerate(names)]
    if len(names) == 1:
        writes = [f"{kernel.write(statistics)}[row] = {names[0]};"]
    if team.leader:
        writes = [f"if ({team.leader}) {{", *(f"    {w}" for w in writes), "}"]
    kernel.body = [*team.head, *_passes(stage, kernel, team), *writes]
    kernel.name = kernel.name.replace("_kernel", "_stats_kernel")
    _declare(stage, kernel)
    stage.source.finish(kernel)
    return _second(stage, kernel, statistics, names, rng)


def _declare(stage: Slices, kernel: Kernel) -> None:
    """The host needs the number of slices before it allocates for them."""
    host = stage.source.host
    rows = _rows(stage, None)
    if not stage.source.has_constants and rows not in stage.source.declared:
        stage.source.declared.add(rows)
        host.insert(len(host) - 1, f"int {rows} = {stage.source.host_sizes[rows]};")


def _second(stage: Slices, first: Kernel, statistics: str, names: list[str], rng: random.Random) -> Kernel:
    kernel = first.source.kernel(first.name.replace("_stats_kernel", "_apply_kernel"))
    n, d = numel(kernel, "n", stage.x.shape, stage.x.name), _length(stage, kernel)
    read = kernel.read(TensorSpec(name=statistics, shape=(stage.rows, len(names))))
    if stage.inner == 1:
        where = [f"int row = i / {d}, j = i % {d};"]
    else:
        inner = _inner(stage, kernel)
        where = [f"int row = i / ({d} * {inner}) * {inner} + i % {inner}, j = i / {inner} % {d};"]
    used = [name for name in names if re.search(rf"\b{name}\b", stage.operator.each)]
    values = [
        f"{name} = {read}[row{f' * {len(names)} + {names.index(name)}' if len(names) > 1 else ''}]" for name in used
    ]
    load = f"{kernel.read(stage.x)}[i]"
    if stage.pre:
        load = stage.pre.call(kernel, load, _index(stage, kernel, "j", "i"))
    body = [*where, f"float {', '.join(values)};", *_mapped(stage, kernel, load, "i")]
    text = "\n".join(body)
    if not re.search(r"\bj\b", text.replace(where[0], "")):
        body[0] = re.sub(r", j = .*;", ";", where[0])
    block = rng.choice((128, 256))
    kernel.body = ["int i = blockIdx.x * blockDim.x + threadIdx.x;", f"if (i >= {n}) return;", *body]
    kernel.grid, kernel.block = (blocks(n, block),), (str(block),)
    return kernel


def _tile(stage: Slices, kernel: Kernel, rng: random.Random) -> None:
    """Neighbouring slices side by side: threads of a column of the block share a slice."""
    high, rows = rng.choice((4, 8)), _rows(stage, kernel)

    def combine(wave: list[Pass]) -> list[str]:
        lines = []
        for one in wave:
            lines += [
                f"part[threadIdx.y][threadIdx.x] = {one.name};",
                "__syncthreads();",
                f"{one.name} = part[0][threadIdx.x];",
                f"for (int k = 1; k < {high}; k++) {_joined(one, one.name, 'part[k][threadIdx.x]')}",
            ]
            if one is not stage.operator.passes[-1]:
                lines.append("__syncthreads();")
        return lines

    head = [f"__shared__ float part[{high}][32];", "int col = blockIdx.x * 32 + threadIdx.x;",
            f"int row = min(col, {rows} - 1);"]  # fmt: skip
    writes = f"threadIdx.y == 0 && col < {rows}"
    team = Team(head, "threadIdx.y", str(high), combine, writes)
    _assemble(stage, kernel, team)
    kernel.grid, kernel.block = (blocks(rows, 32),), ("32", str(high))


Writer = Callable[[Slices, Kernel, random.Random], Kernel | None]  # gives the kernel to launch last where it made one
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
