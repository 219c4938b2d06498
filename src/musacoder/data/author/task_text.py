"""The PyTorch reference of a graph: a KernelBench file, in one of many spellings that a seed decides."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from musacoder.data.author.sample import reach, slice_axes
from musacoder.data.graph import Graph, Node, TensorSpec
from musacoder.data.operators import CATALOGUE, Operand, Operator, Product, Sliced
from musacoder.data.operators.types import Shape

_DIMENSIONS: dict[int, tuple[tuple[str, ...], ...]] = {
    1: (("n",), ("size",), ("length",)),
    2: (("batch_size", "dim"), ("rows", "cols"), ("batch", "features"), ("batch_size", "in_features")),
    3: (("batch_size", "seq_len", "dim"), ("batch", "length", "features"), ("batch_size", "rows", "cols")),
    4: (("batch_size", "channels", "height", "width"), ("batch", "channels", "height", "width"), ("n", "c", "h", "w")),
}
_SPREADS = ((0, 8, "0.3"), (8, 40, "0.2"), (40, 140, "0.1"), (140, 10**9, "0.05"))


@dataclass(frozen=True)
class TaskText:
    """A task's code, and what a candidate for it has to agree with."""

    code: str
    init_arguments: tuple[str, ...]
    init_lines: tuple[str, ...]  # of the constructor, those that hold weights
    held_at: dict[str, str]  # weight -> expression in forward, such as self.fc.weight
    forward_arguments: tuple[str, ...]


def task_text(graph: Graph, seed: int) -> TaskText:
    """The task of a graph; the seed chooses spellings, names of sizes, modules or functions."""
    return _Writer(graph, random.Random(f"task/{seed}")).written()


@dataclass
class _Writer:
    graph: Graph
    rng: random.Random
    names: dict[str, int] = field(default_factory=dict)  # of sizes, as the file defines them
    init_arguments: list[str] = field(default_factory=list)
    init_lines: list[str] = field(default_factory=list)
    weight_lines: list[str] = field(default_factory=list)
    forward_lines: list[str] = field(default_factory=list)
    held_at: dict[str, str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)

    def written(self) -> TaskText:
        self._name_sizes()
        specs = {spec.name: spec for spec in (*self.graph.inputs, *self.graph.weights)}
        variable = self.graph.inputs[0].name
        shape, expression = self.graph.inputs[0].shape, variable
        is_nesting = self.rng.random() < 0.3
        for place, node in enumerate(self.graph.nodes):
            operator = CATALOGUE[node.operator]
            self._hold_weights(node, operator, specs, shape)
            expression, uses = self._applied(node, operator, specs, shape, expression)
            shape = node.output.shape
            following = self.graph.nodes[place + 1] if place + 1 < len(self.graph.nodes) else None
            if following is not None and not (is_nesting and uses == 1 and len(expression) < 40):
                self.forward_lines.append(f"{variable} = {expression}")
                expression = variable
        self._return(variable, expression)
        return TaskText(self._code(), tuple(self.init_arguments), tuple(self.weight_lines), self.held_at,
                        tuple(spec.name for spec in self.graph.inputs))  # fmt: skip

    # --------------------------------------------------------------------------------------------------------- sizes
    def _name_sizes(self) -> None:
        shape = self.graph.inputs[0].shape
        if self.rng.random() < 0.75:
            self.names = dict(zip(self.rng.choice(_DIMENSIONS[len(shape)]), shape, strict=True))
            taken = {spec.name for spec in (*self.graph.inputs, *self.graph.weights)}
            if taken & set(self.names):
                self.names = {}
        self.is_init_named = self.rng.random() < 0.8

    def _size(self, value: int, in_init: bool = False) -> str:
        """The name of a size where exactly one axis has it, else the number. In the constructor it is an argument."""
        named = [name for name, size in self.names.items() if size == value]
        if len(named) != 1 or value == 1 or (in_init and not self.is_init_named):
            return str(value)
        if in_init and named[0] not in self.init_arguments:
            self.init_arguments.append(named[0])
        return named[0]

    def _shape(self, shape: Shape, in_init: bool = False) -> str:
        if shape == self.graph.inputs[0].shape and self.names and not in_init:
            return ", ".join(self.names)
        return ", ".join(self._size(size, in_init) for size in shape)

    # ------------------------------------------------------------------------------------------------------- weights
    def _hold_weights(self, node: Node, operator: Operator, specs: dict[str, TensorSpec], shape: Shape) -> None:
        weights = {name for name in (spec.name for spec in self.graph.weights) if name in node.inputs}
        if not weights:
            return
        if operator.module and self.rng.random() < 0.6:
            attribute = self._attribute(operator.attribute)
            self._init(f"self.{attribute} = {operator.module.format(**self._sizes(node, operator, shape))}", True)
            for operand, name in zip(operator.operands, node.inputs[1:], strict=True):
                self.held_at[name] = f"self.{attribute}.{operator.held[operand.role]}"
            return
        for operand, name in zip(operator.operands, node.inputs[1:], strict=True):
            if name in weights:
                self._hold(operand, specs[name], reach(operator, shape, node.parameters))

    def _hold(self, operand: Operand, spec: TensorSpec, length: int) -> None:
        spread = next(text for low, high, text in _SPREADS if low <= length < high)
        made = operand.make.format(shape=self._shape(spec.shape, in_init=True), spread=spread)
        attribute = self._attribute(spec.name)
        self.held_at[spec.name] = f"self.{attribute}"
        if operand.role in ("mean", "var"):
            self._init(f'self.register_buffer("{attribute}", {made})', True)
        else:
            self._init(f"self.{attribute} = nn.Parameter({made})", True)

    def _attribute(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.attributes:
            count += 1
            name = f"{wanted}{count}"
        self.attributes.add(name)
        return name

    def _init(self, line: str, is_weight: bool) -> None:
        self.init_lines.append(line)
        if is_weight:
            self.weight_lines.append(line)

    def _sizes(self, node: Node, operator: Operator, shape: Shape) -> dict[str, object]:
        """What a module is made with: parameters, and sizes as the constructor knows them."""
        sizes: dict[str, object] = {**node.parameters}
        needed = [(n, v) for n, v in _module_sizes(node, operator, shape).items() if f"{{{n}}}" in operator.module]
        for name, value in needed:
            sizes[name] = self._size(value, in_init=True)
        return sizes

    # ------------------------------------------------------------------------------------------------------- forward
    def _applied(
        self, node: Node, operator: Operator, specs: dict[str, TensorSpec], shape: Shape, x: str
    ) -> tuple[str, int]:
        """The operator applied to an expression, and how often it stands in what is applied next."""
        held = [self.held_at.get(name, name) for name in node.inputs[1:]]
        attribute = held[0].rsplit(".", 1)[0] if held and held[0].count(".") == 2 else ""
        if attribute and operator.module:
            return f"{attribute}({x})", 1
        if operator.module and not operator.operands and self.rng.random() < 0.3:
            attribute = self._attribute(operator.attribute)
            self._init(f"self.{attribute} = {operator.module.format(**self._sizes(node, operator, shape))}", False)
            return f"self.{attribute}({x})", 1
        spelling = self.rng.choice(operator.spellings)
        return self._spelled(spelling, node, operator, shape, x, held), 1

    def _spelled(self, spelling: str, node: Node, operator: Operator, shape: Shape, x: str, held: list[str]) -> str:
        values: dict[str, object] = {**node.parameters}
        values |= zip((o.role for o in operator.operands), held, strict=True)
        values |= {
            "keep": ", keepdim=True" if node.parameters.get("keepdim") else "",
            "C": shape[1] if len(shape) > 2 else 0,
        }
        if isinstance(operator, Sliced):
            values["count"] = slice_axes(operator, shape, node.parameters)[1]
        if spelling.count("{x}") > 1 and not x.isidentifier():
            variable = self.graph.inputs[0].name
            self.forward_lines.append(f"{variable} = {x}")
            x = variable
        return spelling.format(x=_grouped(x) if _is_operand(spelling) else x, **values)

    def _return(self, variable: str, expression: str) -> None:
        if expression != variable and self.rng.random() < 0.35:
            self.forward_lines.append(f"{variable} = {expression}")
            expression = variable
        self.forward_lines.append(f"return {expression}")

    # ---------------------------------------------------------------------------------------------------------- text
    def _code(self) -> str:
        lines = ["import torch", "import torch.nn as nn"]
        body = [*self.init_lines, *self.forward_lines]
        if any("F." in line for line in body):
            lines.append("import torch.nn.functional as F")
        lines += ["", "", "class Model(nn.Module):", *constructor(self.init_arguments, self.init_lines, self.rng)]
        arguments = ", ".join(["self", *(spec.name for spec in self.graph.inputs)])
        lines += [f"    def forward({arguments}):", *(f"        {line}" for line in self.forward_lines), "", ""]
        if self.names:
            lines += [*(f"{name} = {value}" for name, value in self.names.items()), "", ""]
        made = ", ".join(self._input(spec) for spec in self.graph.inputs)
        lines += ["def get_inputs():", f"    return [{made}]"]
        if self.init_arguments or self.rng.random() < 0.7:
            lines += ["", "", "def get_init_inputs():", f"    return [{', '.join(self.init_arguments)}]"]
        return "\n".join(lines) + "\n"

    def _input(self, spec: TensorSpec) -> str:
        shape = self._shape(spec.shape)
        if len(spec.shape) == 1 and spec.dtype == "int64":
            shape = f"({shape},)"
        elif spec.dtype == "int64":
            shape = f"({shape})"
        node = next(n for n in self.graph.nodes if spec.name in n.inputs)
        operator = CATALOGUE[node.operator]
        if spec.name == node.inputs[0]:
            return f"torch.randn({shape})"
        before = next(s.shape for s in self._tensors() if s.name == node.inputs[0])
        operand = operator.operands[node.inputs.index(spec.name) - 1]
        length = reach(operator, before, node.parameters)
        spread = next(text for low, high, text in _SPREADS if low <= length < high)
        return operand.make.format(
            shape=shape, last=before[-1], first=before[0], count=length if isinstance(operator, Sliced) else 0,
            spread=spread,
        )  # fmt: skip

    def _tensors(self) -> list[TensorSpec]:
        return [*self.graph.inputs, *(node.output for node in self.graph.nodes)]


def _module_sizes(node: Node, operator: Operator, shape: Shape) -> dict[str, int]:
    """Sizes by the names that templates of modules know."""
    sizes = {"d": shape[-1]}
    if len(shape) > 2:
        sizes |= {"channels": shape[1], "C": shape[1]}
    if isinstance(operator, Product):
        sizes |= {"K": shape[-1], "N": node.output.shape[-1]}
    return sizes


def constructor(
    arguments: list[str] | tuple[str, ...], lines: list[str] | tuple[str, ...], rng: random.Random
) -> list[str]:
    """The lines of `__init__`; none where it would hold nothing and the draw says so."""
    if not lines and not arguments and rng.random() < 0.85:
        return []
    head = f"    def __init__({', '.join(['self', *arguments])}):"
    return [head, "        super().__init__()", *(f"        {line}" for line in lines), ""]


def _is_operand(spelling: str) -> bool:
    """Whether the input stands in a template where an operator could take it apart."""
    return any(part in spelling for part in ("{x} ", " {x}", "{x}.", "-{x}", "{x}["))


def _grouped(expression: str) -> str:
    """In brackets where an operator stands outside all brackets."""
    depth = 0
    for letter in expression:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if depth == 0 and letter in " -":
            return f"({expression})"
    return expression
