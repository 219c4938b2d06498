"""Point-wise operators as lines of a kernel that change `v`, or as a device function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from musacoder.data.author.shapes import number_text
from musacoder.data.author.source import Index, Kernel, Source
from musacoder.data.graph import Node, TensorSpec
from musacoder.data.operators import CATALOGUE, Operator, Pointwise

Tensors = Mapping[str, TensorSpec]
_V = re.compile(r"\bv\b")
_ASSIGNED = re.compile(r"(float )?v = (.*);")
_ATOM = re.compile(r"\w+\([^()]*\)|[\w.]+(\[[^\[\]]*\])?")  # needs no brackets
_MOST_WIDE = 90


def constants_text(operator: Operator, node: Node) -> dict[str, str]:
    """A node's constants as C++ writes them."""
    return {name: number_text(node.parameters[name]) for name in operator.constants}


def expression(node: Node, operands: Mapping[str, str]) -> str:
    """The operator's expression of `v`, with operands by role."""
    operator = CATALOGUE[node.operator]
    assert isinstance(operator, Pointwise)
    return operator.device.format(**constants_text(operator, node), **operands)


def lines(nodes: Sequence[Node], tensors: Tensors, kernel: Kernel, index: Index) -> list[str]:
    """Statements that apply the operators to `v`, one each; operands are read where `index` says."""
    made: list[str] = []
    for node in nodes:
        operator, operands = CATALOGUE[node.operator], {}
        assert isinstance(operator, Pointwise)
        for operand, name in zip(operator.operands, node.inputs[1:], strict=True):
            read = f"{kernel.read(tensors[name])}[{index(operand.place)}]"
            if operator.device.count(f"{{{operand.role}}}") > 1:
                made.append(f"float {name}_i = {read};")
                read = f"{name}_i"
            operands[operand.role] = read
        made.append(f"v = {expression(node, operands)};")
    return made


def stored(source: Source, statements: list[str], target: str) -> list[str]:
    """Statements that compute `v`, and the store of it; as the source has it with fewer and longer statements."""
    made = _nested(statements) if source.nests else statements
    if made and source.stores_at_once and (last := _ASSIGNED.fullmatch(made[-1])):
        return [*made[:-1], f"{target} = {last[2]};"]
    return [*made, f"{target} = v;"]


def _nested(statements: list[str]) -> list[str]:
    """The same with a statement put into the next one where that reads `v` once."""
    made: list[str] = []
    for line in statements:
        before, this = _ASSIGNED.fullmatch(made[-1]) if made else None, _ASSIGNED.fullmatch(line)
        is_once = this is not None and not this[1] and len(_V.findall(this[2])) == 1
        if before is None or this is None or not is_once or len(before[2]) + len(line) > _MOST_WIDE:
            made.append(line)
            continue
        inner = before[2] if _ATOM.fullmatch(before[2]) else f"({before[2]})"
        made[-1] = f"{before[1] or ''}v = " + _V.sub(lambda _m, inner=inner: inner, this[2]) + ";"
    return made


class Function:
    """A device function of the operators; `call` gives an expression of a value and of where operands stand."""

    def __init__(self, source: Source, name: str, nodes: Sequence[Node], tensors: Tensors) -> None:
        self.name, self._nodes, self._tensors = name, nodes, tensors
        body, parameters = [], ["float v"]
        for node in nodes:
            operator = CATALOGUE[node.operator]
            roles = {o.role: name for o, name in zip(operator.operands, node.inputs[1:], strict=True)}
            parameters += [f"float {name}" for name in roles.values()]
            body.append(f"v = {expression(node, roles)};")
        if source.nests:
            body = _nested(body)
        last = f"return {body.pop()[4:]}"
        head = f"__device__ float {name}({', '.join(parameters)}) {{"
        source.function("\n".join([head, *(f"    {line}" for line in body), f"    {last}", "}"]))

    def call(self, kernel: Kernel, value: str, index: Index) -> str:
        """The function's result for a value."""
        operands = [
            f"{kernel.read(self._tensors[name])}[{index(operand.place)}]"
            for node in self._nodes
            for operand, name in zip(CATALOGUE[node.operator].operands, node.inputs[1:], strict=True)
        ]
        return f"{self.name}({', '.join([value, *operands])})"


def has_operands(nodes: Sequence[Node]) -> bool:
    """Whether any of them reads another tensor."""
    return any(len(node.inputs) > 1 for node in nodes)


def places(nodes: Sequence[Node]) -> set[str]:
    """Places of all operands."""
    return {o.place for node in nodes for o in CATALOGUE[node.operator].operands}
