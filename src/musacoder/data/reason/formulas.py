"""What each operator computes, as formulas of single values with the graph's own names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from musacoder.data.author.sample import slice_axes
from musacoder.data.author.shapes import number_text
from musacoder.data.graph import Node
from musacoder.data.operators import CATALOGUE, Gathered, Pointwise, Product, Sliced
from musacoder.data.operators.types import Shape

Shapes = Mapping[str, Shape]

_V = re.compile(r"\bv\b")
_COMBINED = {"sum": "sum of", "max": "maximum of", "min": "minimum of"}
_PLACE = re.compile(r"@(\w+|\([^()]*(?:\([^()]*\)[^()]*)*\))")


def formula(node: Node, shapes: Shapes) -> str:
    """One line for one operator; `shapes` are those of all tensors of the graph."""
    operator, names = CATALOGUE[node.operator], _roles(node)
    x, out = node.inputs[0], node.output.name
    if isinstance(operator, Pointwise):
        return f"{out} = {_V.sub(x, operator.device).format(**names)}"
    if isinstance(operator, Product):
        return _product(operator, node)
    if isinstance(operator, Sliced):
        return _sliced(operator, node, names, shapes)
    assert isinstance(operator, Gathered)
    return _gathered(operator, node, names, shapes)


def call(node: Node) -> str:
    """The operator as a call: `t2 = softmax(t1, dim=-1)`."""
    given = [*node.inputs, *(f"{name}={value}" for name, value in node.parameters.items())]
    return f"{node.output.name} = {node.operator}({', '.join(given)})"


def _roles(node: Node) -> dict[str, str]:
    """Operands by their roles and constants by their names, as formulas write them."""
    operator = CATALOGUE[node.operator]
    constants = {name: number_text(node.parameters[name]) for name in operator.constants}
    return {**constants, **{o.role: name for o, name in zip(operator.operands, node.inputs[1:], strict=True)}}


def _product(operator: Product, node: Node) -> str:
    x, w, *bias = node.inputs
    batch = "b, " if operator.is_batched else ""
    second = f"{w}[{batch}{'c, k' if operator.is_transposed else 'k, c'}]"
    first = f"{x}[..., r, k]" if not operator.is_batched else f"{x}[b, r, k]"
    start = f"{bias[0]}[c] + " if bias else ""
    place = "b, r, c" if operator.is_batched else "..., r, c"
    return f"{node.output.name}[{place}] = {start}sum over k of {first} * {second}"


def _sliced(operator: Sliced, node: Node, names: Mapping[str, str], shapes: Shapes) -> str:
    """Passes over the values v of a slice, then what becomes of them."""
    length = slice_axes(operator, shapes[node.inputs[0]], node.parameters)[1]
    parts = []
    for each in operator.passes:
        whole = f"{_COMBINED[each.combine]} {each.term.format(**names)}"
        final = each.final.format(f"({whole})", **names) if each.final else whole
        parts.append(f"{each.name} = {final}")
    last = (operator.result or operator.each).format(**{"picked": f"v[{names.get('t', 't')}]", **names})
    what = "of a slice" if operator.result else "for each v"
    head = f"slices of d = {length} values v of {node.inputs[0]}"
    return f"{head}: {', '.join(parts)}; {node.output.name} = {last} {what}"


def _gathered(operator: Gathered, node: Node, names: Mapping[str, str], shapes: Shapes) -> str:
    """The lines that compute a value, sizes and settings put in; `x[p][k]` is element k of plane p."""
    x = node.inputs[0]
    sizes = operator.sizes(shapes[x], node.output.shape, node.parameters)
    lines = " ".join(line.strip() for line in operator.body(node.parameters)).removesuffix(";")
    for name, value in sizes.items():
        lines = re.sub(rf"#{name}\b", str(value), lines)
    for name, value in node.parameters.items():
        lines = lines.replace(f"<{name}>", str(value))
    for role, name in names.items():
        lines = lines.replace(f"${role}[", f"{name}[")
    lines = _PLACE.sub(lambda m: f"{x}[{m[1].removeprefix('(').removesuffix(')') if m[1][0] == '(' else m[1]}]", lines)
    return f"{node.output.name} at ({', '.join(operator.coordinates)}): {lines}"
