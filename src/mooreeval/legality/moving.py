"""Tasks that only move their elements, read from their text: there PyTorch's copies, elsewhere legal, are the work.

A task moves where `forward` does nothing but call methods and functions that are on the list of what a candidate may
use (`operators`): `x.transpose(1, 2).contiguous()`. What text does not show is no such task. Imports no torch.
"""

from __future__ import annotations

import ast

from mooreeval.legality.operators import is_allowed
from mooreeval.source_text import python_tree
from mooreeval.task import MODEL_NAME

_PLAIN = (
    ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.Expr, ast.Name, ast.Load, ast.Store,
    ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.keyword, ast.UnaryOp, ast.USub,
)  # fmt: skip


def only_moves(code: str) -> bool:
    """Whether a task's output holds elements of its inputs and nothing that was computed from them."""
    try:
        tree = python_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    forward = _forward(tree)
    if forward is None or forward.decorator_list:
        return False
    parts = [part for statement in forward.body for part in ast.walk(statement)]
    calls = [part for part in parts if isinstance(part, ast.Call)]
    return bool(calls) and all(map(_moves, calls)) and all(isinstance(p, (*_PLAIN, ast.Call)) for p in parts)


def _forward(tree: ast.Module) -> ast.FunctionDef | None:
    for model in tree.body:
        if isinstance(model, ast.ClassDef) and model.name == MODEL_NAME:
            return next((d for d in model.body if isinstance(d, ast.FunctionDef) and d.name == "forward"), None)
    return None


def _moves(call: ast.Call) -> bool:
    """A call on a value or on torch itself of an operator that is on the list; a module of the task's is none."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not is_allowed(func.attr):
        return False
    return not (isinstance(func.value, ast.Name) and func.value.id == "self")
