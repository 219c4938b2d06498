"""Imports of a candidate's Python, by allow-list."""

from __future__ import annotations

import ast

from mooreeval.legality import python_names as names
from mooreeval.legality.python_attributes import Attributes
from mooreeval.legality.python_values import ANYTHING, NOTHING, Path, Value, join, one


def imported(state: Attributes, node: ast.Import | ast.ImportFrom) -> dict[str, Value]:
    """The names that an import binds, with what they stand for; modules outside the list are accused."""
    found: dict[str, Value] = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            is_known = _check_module(state, alias.name, node)
            bound = alias.name if alias.asname else alias.name.split(".")[0]
            found[alias.asname or bound] = one(Path(names.torch_path(bound))) if is_known else ANYTHING
        return found
    module = node.module or ""
    is_known = not node.level and _check_module(state, module, node)
    if node.level:
        state.accuse("import", node, "." * node.level + module, "a module beside the candidate is imported")
    for alias in node.names:
        if alias.name == "*":
            stars = state.module.names.get("*", NOTHING)
            found |= {"*": join((stars, one(Path(names.torch_path(module)))))} if is_known else {}
            continue
        value = ANYTHING
        if is_known:
            value = state.attribute(one(Path(module)), alias.name, node)
        found[alias.asname or alias.name] = value
    return found


def _check_module(state: Attributes, module: str, node: ast.AST) -> bool:
    root = module.split(".")[0]
    if root == "torch":
        state.part_of_torch(module, f"import {module}", node)
        return True
    if root == "numpy" and names.numpy_name(module):
        return True
    if module in names.MODULES and root != "numpy":
        return True
    rule = names.rule_of_module(module)
    if rule == "other_language":
        message = f"`import {module}`: kernels are to be written in CUDA C++"
    else:
        message = f"`import {module}` is not on the list of what may be imported"
    state.accuse(rule, node, f"import {module}", message)
    return False
