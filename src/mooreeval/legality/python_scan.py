"""Words of a candidate's Python that no flow can excuse: they are looked for in all of its code, reached or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mooreeval.legality import python_names as names
from mooreeval.legality.python_attributes import Attributes
from mooreeval.legality.python_imports import imported
from mooreeval.legality.python_text import BECOMES_CODE

_MESSAGES = {
    "code_from_text": "text is run as code",
    "import": "a module is imported by a name that is made up while it runs",
    "introspection": "what the interpreter keeps about itself is not for candidates",
    "file_access": "the candidate reads what it was not given",
}


def scan(state: Attributes, tree: ast.Module) -> None:
    """Accuse built-in names, attributes and imports outside the lists."""
    called: set[int] = set()
    for node, local in _live_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(id(node.func))
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported(state, node)
        elif isinstance(node, ast.Attribute):
            _attribute(state, node)
        elif isinstance(node, ast.Name) and node.id not in local:
            _name(state, node, id(node) in called)
        elif isinstance(node, ast.Constant) and node.value in BECOMES_CODE:
            _becomes_code(state, node, str(node.value))


def _attribute(state: Attributes, node: ast.Attribute) -> None:
    name = node.attr
    if names.is_closed_attribute(name):
        state.accuse("introspection", node, f".{name}", f"`.{name}`: {_MESSAGES['introspection']}")
    elif name == "__class__" and not isinstance(node.ctx, ast.Load):
        state.accuse("patching", node, f".{name} =", "the class of an object is replaced")
    elif name in names.CLOSED_PARTS:
        state.accuse(names.CLOSED_PARTS[name], node, f".{name}", f"`.{name}` is not on the list of what may be used")


def _becomes_code(state: Attributes, node: ast.AST, name: str) -> None:
    state.accuse("code_from_text", node, name, f"`{name}`: what Python makes code of is written by hand")


def _name(state: Attributes, node: ast.Name, is_called: bool) -> None:
    rule = names.BUILTINS.get(node.id)
    if node.id in BECOMES_CODE:
        _becomes_code(state, node, node.id)
    elif rule and isinstance(node.ctx, ast.Load):
        state.accuse(rule, node, node.id, f"`{node.id}`: {_MESSAGES[rule]}")
    elif node.id in names.CALLED_ONLY and isinstance(node.ctx, ast.Load) and not is_called:
        state.accuse("hidden_name", node, node.id, f"`{node.id}` is handed about, so that its use can't be told")


def _live_nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node that a judge's run may reach, calls before what they call, with the names local to its function."""
    renamed = any(
        isinstance(n, ast.Name) and n.id == "__name__" and not isinstance(n.ctx, ast.Load) for n in ast.walk(tree)
    )
    todo: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while todo:
        node, local = todo.pop()
        if isinstance(node, ast.If) and not renamed and is_main_test(node.test):
            todo.extend((each, local) for each in node.orelse)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            outside = [*node.args.defaults, *[d for d in node.args.kw_defaults if d]]
            outside += [] if isinstance(node, ast.Lambda) else node.decorator_list
            todo.extend((each, local) for each in outside)
            own = local | _locals(node)
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            todo.extend((each, own) for each in body)
            yield node, local
            continue
        yield node, local
        todo.extend((child, local) for child in ast.iter_child_nodes(node))


def _locals(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """Names that are certainly the function's own: parameters, and what it assigns without declaring it global."""
    spec = function.args
    found = {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if a}
    outer: set[str] = set()
    todo: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            outer |= set(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            todo.extend(ast.iter_child_nodes(node))
    return frozenset(found - outer)


def is_main_test(test: ast.expr) -> bool:
    """`__name__ == "__main__"`: the judge runs the file under another name."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides) and any(
        isinstance(s, ast.Constant) and s.value == "__main__" for s in sides
    )
