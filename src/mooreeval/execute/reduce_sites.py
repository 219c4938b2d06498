"""The integers of a task's text that set its sizes, and the same text with other values in their places.

    code -> find_sites -> Site(name, value, place) ... -> with_values -> code with the same lines

A site is a whole constant expression (`16 * 1024` is one) on one line, at module level or in `get_inputs` and
`get_init_inputs`. `Model` itself is never edited: the candidate was written against it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mooreeval.source_text import python_tree
from mooreeval.task import INIT_INPUTS_NAME, INPUTS_NAME

SMALLEST_SITE = 4  # nothing below is ever made smaller

_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
# Methods and keywords whose integers name dimensions or seeds.
_NOT_SIZES = re.compile(
    r"transpose|permute|(un)?squeeze|flatten|unflatten|softmax|sum|mean|manual_seed|seed|dim|dims|axis|movedim|swapaxes"
    r"|normalize|sort|cumsum|argsort|start_dim|end_dim|diagonal|offset|low|high"
)


@dataclass(frozen=True)
class Site:
    """One integer in the text. Columns are byte offsets, as `ast` counts them."""

    name: str
    value: int
    line: int  # 1-based
    start: int
    end: int


def find_sites(code: str) -> list[Site]:
    """All sites in order of the text; none where the code does not parse."""
    try:
        tree = python_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(_in_body(tree.body), key=lambda site: (site.line, site.start))


def with_values(code: str, values: Mapping[Site, int]) -> str:
    """The code with the values written in place of the sites; every line stays where it is."""
    lines = code.split("\n")
    for site in sorted(values, key=lambda s: s.start, reverse=True):
        raw = lines[site.line - 1].encode("utf-8", "surrogatepass")
        changed = raw[: site.start] + str(values[site]).encode() + raw[site.end :]
        lines[site.line - 1] = changed.decode("utf-8", "surrogatepass")
    return "\n".join(lines)


def folded(node: ast.AST) -> int | None:
    """The value of a constant integer expression, None for anything else (or absurd results)."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value if node.value.bit_length() < 63 else None
    if isinstance(node, ast.BinOp) and type(node.op) in _FOLDED:
        left, right = folded(node.left), folded(node.right)
        if left is None or right is None or (isinstance(node.op, (ast.Pow, ast.LShift)) and not 0 <= right < 63):
            return None
        try:
            value = _FOLDED[type(node.op)](left, right)
        except (ArithmeticError, ValueError):
            return None
        return value if value.bit_length() < 63 else None
    return None


def _in_body(statements: list[ast.stmt]) -> Iterator[Site]:
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name, body=body) if name in (INPUTS_NAME, INIT_INPUTS_NAME):
                yield from _in_body(body)
            case ast.Assign(targets=targets, value=value):
                yield from _assigned(targets[0], value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                yield from _assigned(target, value)
            case ast.Return(value=value) if value is not None:
                yield from _in_expression(value, "literal")
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                yield from _in_expression(value, "literal")
            case ast.If() | ast.With() | ast.For():
                yield from _in_body(statement.body)
                yield from _in_body(getattr(statement, "orelse", []))


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[Site]:
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for name, item in zip(target.elts, value.elts, strict=False):
            yield from _assigned(name, item)
    else:
        yield from _in_expression(value, target.id if isinstance(target, ast.Name) else "literal")


def _in_expression(node: ast.AST, name: str) -> Iterator[Site]:
    value = folded(node)
    if value is not None and isinstance(node, ast.expr):
        if value >= SMALLEST_SITE and node.lineno == node.end_lineno and node.end_col_offset is not None:
            yield Site(name, value, node.lineno, node.col_offset, node.end_col_offset)
        return
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords):
            yield from _in_call(function, arguments, keywords, name)
        case ast.Subscript(value=inner):
            yield from _in_expression(inner, name)
        case ast.BinOp(left=left, right=right):  # a factor beside a name is a ratio, not a size
            for side in (left, right):
                if folded(side) is None:
                    yield from _in_expression(side, name)
        case ast.Dict(keys=keys, values=items):
            for key, item in zip(keys, items, strict=True):
                label = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else name
                yield from _in_expression(item, label)
        case ast.Tuple() | ast.List() | ast.Starred() | ast.ListComp() | ast.GeneratorExp():
            for child in ast.iter_child_nodes(node):
                yield from _in_expression(child, name)


def _in_call(function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword], name: str) -> Iterator[Site]:
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    yield from _in_expression(function.value, name) if isinstance(function, ast.Attribute) else ()
    if _NOT_SIZES.fullmatch(called):
        return
    for argument in arguments:
        yield from _in_expression(argument, name)
    for keyword in keywords:
        if not _NOT_SIZES.fullmatch(keyword.arg or ""):
            yield from _in_expression(keyword.value, keyword.arg or name)
