"""A graph cut into stages, each written as a kernel or two, and what the host allocates between them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from musacoder.data.author import gathers, pointwise, products, slice_kernels, slices
from musacoder.data.author.chain import Tensors
from musacoder.data.author.source import Source
from musacoder.data.graph import Graph, Node, TensorSpec
from musacoder.data.operators import CATALOGUE, Gathered, Pointwise, Product, Sliced
from musacoder.data.operators.types import Parameters, Shape, whole

# Names that kernels give to what is theirs; a tensor of the graph with such a name gets another one in C++.
_TAKEN = frozenset(
    "a b c d e f g h i j k l m n o p q r s t u v w t_j y_j oc ic kh kw oh ow low mu inv rstd half row col lane out tmp "
    "mid hidden stats buf part cache tile line filter total start top acc blocks threads as bs xr wr w4".split()
)


_COMMENTED = 0.15  # share of kernels
_COMMENTS = {
    "flat": "one thread for each output",
    "grid stride": "threads stride over all outputs",
    "items": "several elements for each thread",
    "vector": "vector loads",
    "block a row": "one block for each row",
    "two dimensions": "threads over rows and columns",
    "planes": "a row of blocks for each channel",
    "block, tree": "one block for each slice, reduced in shared memory",
    "block, shuffles": "one block for each slice, reduced by warp shuffles",
    "warp": "one warp for each slice",
    "thread": "one thread for each slice",
    "block, cached": "the slice is cached in shared memory",
    "warp, registers": "the slice stays in registers",
    "two kernels": "every element from the statistics of its slice",
    "tile": "threads of a column share a slice",
    "grid of planes": "blocks over each plane",
    "block a plane": "one block for each plane",
    "cached plane": "the plane is cached in shared memory",
    "shared filter": "the filter is cached in shared memory",
    "tiled": "tiles in shared memory",
    "naive": "one thread for each output",
    "row in shared memory": "one block for each row, which is cached in shared memory",
    "warp an output": "one warp for each output",
    "several rows": "several rows for each thread",
}


@dataclass(frozen=True)
class Stage:
    """Point-wise operators around at most one that is not."""

    before: tuple[Node, ...]
    anchor: Node | None
    after: tuple[Node, ...]


def stages_of(graph: Graph, rng: random.Random) -> list[Stage]:
    """The graph's stages, all fused, or with one of its point-wise chains in a kernel of its own."""
    found: list[Stage] = []
    waiting: list[Node] = []
    for node in graph.nodes:
        if isinstance(CATALOGUE[node.operator], Pointwise):
            waiting.append(node)
        elif found and found[-1].anchor is not None:
            found[-1] = Stage(found[-1].before, found[-1].anchor, tuple(waiting))
            found.append(Stage((), node, ()))
            waiting = []
        else:
            found.append(Stage(tuple(waiting), node, ()))
            waiting = []
    if found and waiting:
        found[-1] = Stage(found[-1].before, found[-1].anchor, tuple(waiting))
    elif waiting:
        return _cut_chain(tuple(waiting), rng)
    return _cut(found, rng)


def _cut_chain(nodes: tuple[Node, ...], rng: random.Random) -> list[Stage]:
    if len(nodes) < 3 or rng.random() > 0.08:
        return [Stage((), None, nodes)]
    place = rng.randint(1, len(nodes) - 1)
    return [Stage((), None, nodes[:place]), Stage((), None, nodes[place:])]


def _cut(stages: list[Stage], rng: random.Random) -> list[Stage]:
    """Sometimes what is before or after an anchor stands in a kernel of its own."""
    if len(stages) > 1 or rng.random() > 0.14:
        return stages
    stage = stages[0]
    if stage.before and rng.random() < 0.5:
        return [Stage((), None, stage.before), Stage((), stage.anchor, stage.after)]
    if stage.after:
        return [Stage(stage.before, stage.anchor, ()), Stage((), None, stage.after)]
    return stages


def c_names(graph: Graph) -> dict[str, TensorSpec]:
    """Tensors of the graph by name, each with the name that it has in C++."""
    named = {}
    for spec in (*graph.inputs, *graph.weights):
        name = f"{spec.name}_in" if spec.name in _TAKEN else spec.name
        named[spec.name] = spec.model_copy(update={"name": name})
    return named


def write_stages(source: Source, graph: Graph, rng: random.Random) -> list[str]:
    """Writes all stages into the source; gives the kind of kernel of each."""
    tensors = c_names(graph)
    x, kinds, stages = tensors[graph.inputs[0].name], [], stages_of(graph, rng)
    for place, stage in enumerate(stages):
        is_last = place + 1 == len(stages)
        shape = (stage.after[-1] if stage.after else stage.anchor or stage.before[-1]).output.shape
        in_place = place > 0 and stage.anchor is None and rng.random() < 0.6
        out = x.name if in_place else "out" if is_last else ("tmp", "mid", "hidden")[place % 3]
        if not in_place:
            source.host.append(f"auto {out} = {_allocated(stage, x, shape, tensors)};")
        kinds.append(_written(source, stage, tensors, x, out, rng))
        if rng.random() < _COMMENTED:
            source.kernels[-1].comment = _COMMENTS[kinds[-1]]
        x = TensorSpec(name=out, shape=shape)
    source.host.append(f"return {x.name};")
    return kinds


def _written(source: Source, stage: Stage, tensors: Tensors, x: TensorSpec, out: str, rng: random.Random) -> str:
    if stage.anchor is None:
        block = rng.choice((128, 256, 256, 512))
        return pointwise.write(pointwise.Pointwise(source, stage.after, tensors, x, out, block), rng)
    operator = CATALOGUE[stage.anchor.operator]
    parts = (source, stage.before, stage.anchor, stage.after, tensors, x, out)
    if isinstance(operator, Sliced):
        return slice_kernels.write(slices.Slices(*parts), rng)
    if isinstance(operator, Gathered):
        return gathers.write(gathers.Gather(*parts), rng)
    return products.write(products.Matmul(*parts), rng)


# ---------------------------------------------------------------------------------------------------------- allocation
def _allocated(stage: Stage, x: TensorSpec, shape: Shape, tensors: Tensors) -> str:
    """The host's expression of a new tensor for a stage's output."""
    if shape == x.shape and not (stage.anchor and isinstance(CATALOGUE[stage.anchor.operator], Product)):
        return f"torch::empty_like({x.name})"
    assert stage.anchor is not None
    return f"torch::empty({{{', '.join(_axes(stage.anchor, x, tensors))}}}, {x.name}.options())"


def _axes(node: Node, x: TensorSpec, tensors: Tensors) -> list[str]:
    """The output's axes as the host computes them from its tensors."""
    operator, shape, name = CATALOGUE[node.operator], node.output.shape, x.name
    if isinstance(operator, Product):
        w = tensors[node.inputs[1]].name
        return [f"{name}.size({k})" for k in range(len(shape) - 1)] + [
            f"{w}.size({-2 if operator.is_transposed else -1})"
        ]
    if isinstance(operator, Sliced):
        if operator.slices == "plane":
            return [f"{name}.size(0)", f"{name}.size(1)"]
        axis = whole(node.parameters, "dim", -1) % len(x.shape)
        kept = ["1"] if node.parameters.get("keepdim") else []
        sizes = [f"{name}.size({k})" for k in range(len(x.shape))]
        return [*sizes[:axis], *kept, *sizes[axis + 1 :]]
    assert isinstance(operator, Gathered)
    return _gathered_axes(operator, node, x, tensors)


_ORDERS = {"transpose": (1, 0), "transpose_last": (0, 2, 1), "channels_last": (0, 2, 3, 1), "swap_first": (1, 0, 2)}


def _gathered_axes(operator: Gathered, node: Node, x: TensorSpec, tensors: Tensors) -> list[str]:
    shape = node.output.shape
    if operator.key in _ORDERS:
        return [f"{x.name}.size({k})" for k in _ORDERS[operator.key]]
    if operator.key == "rotate90":
        order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        return [f"{x.name}.size({k})" for k in order]
    return [_axis(k, operator, node, x, tensors) for k in range(len(shape))]


def _axis(k: int, operator: Gathered, node: Node, x: TensorSpec, tensors: Tensors) -> str:
    """One axis: a window's arithmetic, a size of another tensor, or the input's own, scaled or shifted."""
    wanted, own, p = node.output.shape[k], f"{x.name}.size({k})", node.parameters
    if "K" in p and k >= 2 and operator.key != "conv_transpose2d":
        return _window_axis(own, p)
    if "w" in {o.role for o in operator.operands} and k == 1:
        w = tensors[node.inputs[1]].name
        return f"{w}.size({1 if operator.key == 'conv_transpose2d' else 0})"
    if operator.operands and operator.operands[0].dtype == "int64" and k in (0, len(node.output.shape) - 1):
        t = tensors[node.inputs[1]]
        if t.shape[-1] == wanted and (k > 0 or len(t.shape) == 1):
            return f"{t.name}.size(-1)" if k else f"{t.name}.size(0)"
    if wanted == x.shape[k]:
        return own
    return _scaled_axis(wanted, x.shape[k], own, {name: int(v) for name, v in p.items() if isinstance(v, int)})


def _window_axis(own: str, p: Parameters) -> str:
    reach = whole(p, "D", 1) * (whole(p, "K") - 1) + 1
    change, stride = 2 * whole(p, "P", 0) - reach, whole(p, "S", 1)
    if stride == 1:
        return own if change == -1 else f"{own} {'+' if change + 1 > 0 else '-'} {abs(change + 1)}"
    return f"({own} {'+' if change > 0 else '-'} {abs(change)}) / {stride} + 1" if change else f"{own} / {stride} + 1"


def _scaled_axis(wanted: int, size: int, own: str, p: dict[str, int]) -> str:
    n, m = p.get("n", p.get("K", 2)), p.get("m", p.get("n", 0))
    ways: Sequence[tuple[int, str]] = (
        (size * n, f"{own} * {n}"),
        (size * n * n, f"{own} * {n * n}"),
        (size // n, f"{own} / {n}"),
        (size // (n * n), f"{own} / {n * n}"),
        (size + n + m, f"{own} + {n + m}"),
        (-(-size // n), f"({own} + {n - 1}) / {n}"),
        (size - n, f"{own} - {n}"),
        (size - 1, f"{own} - 1"),
        (size * 2, f"{own} * 2"),
        (size // 2, f"{own} / 2"),
    )
    return next((text for value, text in ways if value == wanted), str(wanted))
