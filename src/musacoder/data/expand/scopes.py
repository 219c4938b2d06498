"""Which names of a statement are those of its module: read there, and when. Pure functions of syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def module_names(node: ast.AST, bound: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Every `Name` below a node that its module, or Python itself, has to know. Annotations are left out."""
    if isinstance(node, ast.Name):
        if node.id not in bound:
            yield node
    elif isinstance(node, _SCOPES):
        yield from _of_function(node, bound)
    elif isinstance(node, _COMPREHENSIONS):
        inside = bound | {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        for child in ast.iter_child_nodes(node):
            yield from module_names(child, inside)
    elif isinstance(node, ast.ClassDef):
        yield from _of_class(node, bound)
    elif isinstance(node, ast.AnnAssign):
        for part in (node.target, node.value):
            if part is not None:
                yield from module_names(part, bound)
    else:
        for child in ast.iter_child_nodes(node):
            yield from module_names(child, bound)


def _of_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, bound: frozenset[str]
) -> Iterator[ast.Name]:
    for expression in definition_time(node):
        yield from module_names(expression, bound)
    inside = bound | _locals(node)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for statement in body:
        yield from module_names(statement, inside)


def _of_class(node: ast.ClassDef, bound: frozenset[str]) -> Iterator[ast.Name]:
    """Names bound in a class's body are seen there, and not by its methods."""
    for expression in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
        yield from module_names(expression, bound)
    own = frozenset(_bound_by(node.body))
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for expression in definition_time(statement):
                yield from module_names(expression, bound | own)
            bare = _without_definition_time(statement)
            yield from module_names(bare, bound)
        else:
            yield from module_names(statement, bound | own)


def definition_time(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.expr]:
    """What of a function is computed when it is defined: decorators and defaults."""
    defaults = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
    return [*getattr(node, "decorator_list", ()), *defaults]


def _without_definition_time(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Lambda | ast.AST:
    arguments = ast.arguments(
        posonlyargs=node.args.posonlyargs,
        args=node.args.args,
        vararg=node.args.vararg,
        kwonlyargs=node.args.kwonlyargs,
        kw_defaults=[None] * len(node.args.kwonlyargs),
        kwarg=node.args.kwarg,
        defaults=[],
    )
    return ast.FunctionDef(name=node.name, args=arguments, body=node.body, decorator_list=[], returns=None)


def _locals(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
    names = {argument.arg for argument in every if argument is not None}
    if isinstance(node, ast.Lambda):
        return frozenset(names)
    return frozenset(names | set(_bound_by(node.body)) - _declared_global(node))


def _declared_global(node: ast.AST) -> set[str]:
    return {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}


def _bound_by(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements bind in their own scope."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in aliases)
        stack.extend(ast.iter_child_nodes(node))


def needed_at_definition(statement: ast.stmt) -> Iterator[ast.Name]:
    """Names of the module that must exist before a statement is executed."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for expression in definition_time(statement):
            yield from module_names(expression)
    elif isinstance(statement, ast.ClassDef):
        for expression in (*statement.decorator_list, *statement.bases):
            yield from module_names(expression)
        for inner in statement.body:
            yield from needed_at_definition(inner)
    else:
        yield from module_names(statement)
