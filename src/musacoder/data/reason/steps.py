"""The six steps of a program's reasoning, each a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from musacoder.data.author.sample import slice_axes
from musacoder.data.graph import Graph, Node
from musacoder.data.operators import CATALOGUE, Gathered, Operand, Pointwise, Product, Sliced
from musacoder.data.operators.types import Shape
from musacoder.data.reason.formulas import call, formula
from musacoder.data.reason.indices import elements, filled, offset, slice_offset
from musacoder.data.records import Program

NAMES = (
    "Semantic decomposition", "Scalar mathematics", "Shape computation", "Index mapping", "Boundary handling",
    "Error pre-analysis",
)  # fmt: skip
_BLOCK, _WARP = 256, 32
# How the author's kernels share the work, by the words of a program's style.
_SHARED_OUT = {
    "flat": "one thread for each output element",
    "grid stride": "threads take elements a whole grid apart",
    "block a row": "a block for each row",
    "block a plane": "a block for each plane",
    "two dimensions": "one thread for each output element, columns along x and rows along y",
    "naive": "one thread for each output element, columns along x and rows along y",
    "warp": "a warp for each slice",
    "warp, registers": "a warp for each slice, whose values stay in registers",
    "thread": "a thread for each slice",
    "block, tree": "a block for each slice, combined in shared memory by halves",
    "block, shuffles": "a block for each slice, combined by shuffles",
    "block, cached": "a block for each slice, which is kept in shared memory",
    "warp an output": "a warp for each output element",
    "tiled": "tiles in shared memory",
    "cached plane": "a block for each plane, which is kept in shared memory",
    "shared filter": "the filter in shared memory",
    "row in shared memory": "a row of the first matrix in shared memory",
    "vector": "several neighbouring values at a time",
    "two kernels": "one kernel for what a slice comes to, one for its values",
}


def reason(program: Program) -> str | None:
    """The six steps, numbered; None where the program has no graph, or one that the catalogue does not know."""
    graph = program.graph
    if graph is None or any(key not in CATALOGUE for key in graph.operators):
        return None
    steps = _Steps(program, graph)
    told = (steps.semantics, steps.mathematics, steps.shapes, steps.indices, steps.boundaries, steps.errors)
    return "\n".join(f"{i}. {name}: {step()}" for i, (name, step) in enumerate(zip(NAMES, told, strict=True), 1))


@dataclass(frozen=True)
class _Steps:
    """The steps of one program."""

    program: Program
    graph: Graph

    @cached_property
    def known(self) -> dict[str, Shape]:
        """Shapes of all tensors by name."""
        specs = (*self.graph.inputs, *self.graph.weights, *(n.output for n in self.graph.nodes))
        return {spec.name: spec.shape for spec in specs}

    @property
    def kinds(self) -> tuple[str, ...]:
        """How each of the program's kernels shares its work."""
        return tuple(str(self.program.style.get("kernels", "")).split(" + "))

    def semantics(self) -> str:
        fused = "in one kernel" if len(self.kinds) == 1 else f"in {len(self.kinds)} kernels"
        return f"{'; '.join(map(call, self.graph.nodes))}. All of it {fused}."

    def mathematics(self) -> str:
        return "; ".join(formula(node, self.known) for node in self.graph.nodes) + "."

    def shapes(self) -> str:
        return "; ".join(f"{name} {shape}" for name, shape in self.known.items()) + "."

    def indices(self) -> str:
        output = self.graph.nodes[-1].output
        told = [f"{output.name} has element {_indices(output.shape)} at {offset(output.shape)}"]
        for node in self.graph.nodes:
            told += list(self._of_operands(node))
            told += list(self._of_slices(node))
        shared = [words for kind in self.kinds if (words := _SHARED_OUT.get(kind))]
        return "; ".join(dict.fromkeys([*told, *shared])) + "."

    def _of_operands(self, node: Node) -> Iterator[str]:
        x = self.known[node.inputs[0]]
        for operand, name in zip(CATALOGUE[node.operator].operands, node.inputs[1:], strict=True):
            if (where := _operand_offset(operand, self.known[name], x)) is not None:
                yield f"{name} beside {node.inputs[0]}{_indices(x)} at {where}"

    def _of_slices(self, node: Node) -> Iterator[str]:
        operator = CATALOGUE[node.operator]
        if isinstance(operator, Sliced):
            axes = slice_axes(operator, self.known[node.inputs[0]], node.parameters)
            yield f"value j of slice r of {node.inputs[0]} at {slice_offset(*axes)}"

    def boundaries(self) -> str:
        output = self.graph.nodes[-1].output
        told = [f"elements of the output: {filled(elements(output.shape), _BLOCK)}"]
        for node in self.graph.nodes:
            told += list(self._edges(node))
        return "; ".join(dict.fromkeys(told)) + "; threads past the end do nothing."

    def _edges(self, node: Node) -> Iterator[str]:
        operator, x = CATALOGUE[node.operator], self.known[node.inputs[0]]
        if isinstance(operator, Sliced):
            yield f"values of a slice: {filled(slice_axes(operator, x, node.parameters)[1], _WARP)}"
        if isinstance(operator, Product):
            yield f"k runs over {filled(x[-1], _WARP)}"
        if isinstance(operator, Gathered) and node.parameters.get("P"):
            yield f"{node.operator} leaves out places outside {node.inputs[0]}"

    def errors(self) -> str:
        code = self.program.candidate_code
        told = [words for mark, words in _MARKS if mark in code]
        if not any(mark in code for mark in ("__shared__", "__shfl", "atomicAdd")):
            told.append("no thread of a kernel reads what another one writes")
        if len(self.kinds) > 1:
            told.append("a kernel begins when the one before it has ended")
        for node in self.graph.nodes:
            told += list(_risks(node))
        largest = max(map(elements, self.known.values()))
        told.append(f"the largest offset, {largest - 1}, fits an int")
        return "; ".join(dict.fromkeys(told)) + "."


_MARKS = (
    ("__syncthreads", "__syncthreads() stands between writes to shared memory and reads of them by others"),
    ("__shfl", "all 32 lanes of a warp take part in each shuffle"),
    ("atomicAdd", "several threads add to one place, so they add by atomics, in any order"),
)


def _risks(node: Node) -> Iterator[str]:
    operator = CATALOGUE[node.operator]
    text = _device_text(node)
    is_shifted = isinstance(operator, Sliced) and any(p.combine == "max" and p.name == "m" for p in operator.passes)
    if is_shifted and "expf" in text:
        yield f"{node.operator} subtracts the slice's maximum, so no expf overflows"
    if "1e-5f" in text or "1e-12f" in text:
        yield f"{node.operator} keeps its divisor away from zero"
    if "-INFINITY" in text or (isinstance(operator, Sliced) and any(p.combine == "max" for p in operator.passes)):
        yield "a maximum starts at -INFINITY, not at 0"


def _device_text(node: Node) -> str:
    """All that the catalogue says of the operator's arithmetic."""
    operator = CATALOGUE[node.operator]
    if isinstance(operator, Pointwise):
        return operator.device
    if isinstance(operator, Sliced):
        return " ".join([operator.result, operator.each, *(f"{p.term} {p.final}" for p in operator.passes)])
    return " ".join(operator.body(node.parameters)) if isinstance(operator, Gathered) else ""


def _operand_offset(operand: Operand, shape: Shape, x: Shape) -> str | None:
    """Where an operand is read beside an element of the main tensor; None where the operator's own rule says."""
    if operand.place == "own" or operand.place == "slice":
        return None
    return "i1" if operand.place == "feature" else offset(shape, x)


def _indices(shape: Shape) -> str:
    return f"[{', '.join(f'i{axis}' for axis in range(len(shape)))}]"
