"""Leaves out of a definition what computes nothing: logging, registration, scripting, long docstrings, the environment.

What is left computes the same where no variable of the environment is set, which is how a task runs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from musacoder.data.expand.scopes import module_names

_TELLS = ("_logger", "logger", "logging", "warnings", "_log_api_usage_once", "print")
_KEPT_DECORATORS = (
    "staticmethod", "classmethod", "property", "torch.no_grad", "dataclass", "dataclasses.dataclass",
    "functools.wraps", "wraps", "abstractmethod",
)  # fmt: skip
_FALSE_CALLS = (
    "torch.jit.is_scripting()", "torch.jit.is_tracing()", "torch.onnx.is_in_onnx_export()", "is_exportable()",
    "is_scriptable()", "is_no_jit()",
)  # fmt: skip


def simplified(statement: ast.stmt, flags: Mapping[str, bool]) -> list[ast.stmt]:
    """A changed copy, without comments, as the tree has none. Flags of the module are their values; of an `if` that
    is decided by them its branch is left.
    """
    copied = ast.parse(ast.unparse(statement)).body[0]
    free = {id(node) for node in module_names(copied)} if flags else set()
    changed = _Simplify(flags, free).visit(copied)
    return [
        ast.fix_missing_locations(s) for s in (changed if isinstance(changed, list) else [changed] if changed else [])
    ]


class _Simplify(ast.NodeTransformer):
    def __init__(self, flags: Mapping[str, bool], free: set[int]) -> None:
        self.flags, self.free = flags, free

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if id(node) in self.free and isinstance(node.ctx, ast.Load) and node.id in self.flags:
            return ast.Constant(self.flags[node.id])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [d for d in node.decorator_list if _is_kept(d)]
        return self._with_short_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [d for d in node.decorator_list if _is_kept(d)]
        return self._with_short_docstring(node)

    def _with_short_docstring(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str(text))), *rest]:
                line = next((line.strip() for line in text.splitlines() if line.strip()), "")
                node.body = [ast.Expr(ast.Constant(line)), *rest] if line and isinstance(node, ast.ClassDef) else rest
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        if isinstance(node.value, ast.Call) and _root(node.value.func) in _TELLS:
            return None
        self.generic_visit(node)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        self.generic_visit(node)
        node.msg = None
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return (node.body if node.test.value else node.orelse) or None
        if not node.body and not node.orelse:
            return None
        node.body = node.body or [ast.Pass()]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`x and True` is `x` as a test; constants decide where they can."""
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        kept: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                if value.value is decides:
                    return ast.Constant(decides) if not kept else node
                continue
            kept.append(value)
        node.values = kept
        return ast.Constant(not decides) if not kept else kept[0] if len(kept) == 1 else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(ops=[ast.In()], comparators=[where]) if ast.unparse(where) in ("os.environ", "environ"):
                return ast.Constant(False)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        text = ast.unparse(node)
        if text in _FALSE_CALLS:
            return ast.Constant(False)
        if ast.unparse(node.func) in ("os.environ.get", "os.getenv", "environ.get", "getenv"):
            return node.args[1] if len(node.args) > 1 else ast.Constant(None)
        return node


def _is_kept(decorator: ast.expr) -> bool:
    """Registration, scripting, tracing and compilation change nothing of what a module computes."""
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name in _KEPT_DECORATORS or name.endswith((".setter", ".getter")) or not _only_registers(name)


def _only_registers(name: str) -> bool:
    parts = name.split(".")
    return parts[-1].startswith("register") or "jit" in parts or "fx" in parts or "compile" in parts or parts[-1] in (
        "wrap", "disable", "ignore", "deprecated", "disallow_in_graph",
    )  # fmt: skip


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""
