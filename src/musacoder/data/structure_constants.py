"""Whole numbers that a C++ text fixes: what a constant, an array's size or a launch's block comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooreeval.legality.cpp_grammar import descend, words_of
from musacoder.data.structure_syntax import declared_name

_MOST_DEPTH = 24
_OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else None,
    "%": lambda a, b: a % b if b else None,
    "<<": lambda a, b: a << b if 0 <= b < 64 else None,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else None,
}
_WRAPPERS = frozenset("parenthesized_expression cast_expression".split())


def number_of(node: Any, known: Mapping[str, int], depth: int = 0) -> int | None:
    """The whole number that an expression comes to; None where the text does not fix it."""
    if node is None or depth > _MOST_DEPTH:
        return None
    kind = node.type
    if kind == "number_literal":
        return _literal(words_of(node))
    if kind in ("identifier", "type_identifier"):
        return known.get(words_of(node))
    if kind in _WRAPPERS or (kind == "call_expression" and is_cast(node)):
        return number_of(inner(node), known, depth + 1)
    if kind in ("type_descriptor", "parameter_declaration") and len(node.named_children) == 1:
        return number_of(node.named_children[0], known, depth + 1)
    if kind == "sizeof_expression":
        return 4 if "float" in words_of(node) or "int" in words_of(node) else None
    if kind == "binary_expression" and (operate := _OPERATORS.get(words_of(node.child_by_field_name("operator")))):
        left = number_of(node.child_by_field_name("left"), known, depth + 1)
        right = number_of(node.child_by_field_name("right"), known, depth + 1)
        return None if left is None or right is None else operate(left, right)
    return None


def constants_of(root: Any, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """Names below a node that are declared with a number, and those known before; functions below are not entered."""
    found = dict(known or {})
    for node in descend(root, lambda n: n is root or n.type != "function_definition"):
        if node.type == "init_declarator":
            name = declared_name(node.child_by_field_name("declarator"))
            value = number_of(node.child_by_field_name("value"), found)
        elif node.type == "enumerator":
            name = declared_name(node.child_by_field_name("name"))
            value = number_of(node.child_by_field_name("value"), found)
        else:
            continue
        if name and value is not None and name not in found and not _in_a_head(node):
            found[name] = value
    return found


def is_cast(call: Any) -> bool:
    """`static_cast<int>(x)`, `int(x)`, `unsigned(x)`, `(int64_t)(x)`: a call that leaves a number as it is."""
    function = call.child_by_field_name("function")
    text = words_of(function).split("<")[0].strip()
    return function.type == "primitive_type" or text in ("static_cast", "unsigned", "int64_t", "size_t", "int", "long")


def inner(node: Any) -> Any:
    """What a bracket, a cast or a call of one argument holds."""
    arguments = node.child_by_field_name("arguments")
    value = node.child_by_field_name("value")
    within = value if value is not None else arguments if arguments is not None else node
    if value is not None:
        return value
    return within.named_children[0] if within.named_children else None


def _in_a_head(node: Any) -> bool:
    """Whether it is a loop's counter, which changes."""
    around = node.parent.parent if node.parent is not None else None
    return around is not None and around.type == "for_statement"


def _literal(text: str) -> int | None:
    try:
        return int(text.lower().rstrip("ul").replace("'", ""), 0)
    except ValueError:
        return None
