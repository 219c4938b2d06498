"""Syntax without identifiers: of C++ by its grammar, of Python by its tree, as sequences of words.

Names that a text declares itself become what they stand for (`p0` the first parameter of the function around, `v` a
variable, `f` a function, `t` a type, `m` a member); names of CUDA, PyTorch and Python stay. Values of literals,
comments, layout, `#include`s, prototypes and qualifiers that change no computation are gone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mooreeval.legality.cpp_grammar import descend, words_of

_DROPPED = frozenset("const __restrict__ inline static __forceinline__ { } :: torch at std c10 ; ,".split())
_NAMES = frozenset("identifier type_identifier field_identifier namespace_identifier statement_identifier".split())
_ENDED = frozenset(
    "if_statement for_statement for_range_loop while_statement do_statement switch_statement lambda_expression "
    "function_definition else_clause".split()
)
_LITERALS = {"number_literal": "0", "string_literal": "s", "raw_string_literal": "s", "char_literal": "0"}
_DECLARING = frozenset("declaration parameter_declaration optional_parameter_declaration field_declaration".split())
_TYPES = frozenset("type_parameter_declaration alias_declaration struct_specifier class_specifier".split())
_KEPT_FUNCTIONS = frozenset(("forward", "__init__"))
_KEPT_NAMES = frozenset(dir(builtins)) | {"self"}


# --------------------------------------------------------------------------------------------------------------- C++
def cpp_syntax(root: Any) -> list[str]:
    """Words of an expanded source's tree."""
    names = _declared(root)
    words: list[str] = []
    todo: list[tuple[Any, Mapping[str, str]]] = [(root, {})]
    while todo:
        node, parameters = todo.pop()
        if node is None:
            words.append("end")
        elif node.type in _LITERALS:
            words.append(_LITERALS[node.type])
        elif not node.children:
            words += _word(node, parameters, names)
        elif not _is_prototype(node):
            if node.type == "function_definition":
                parameters = {name: f"p{i}" for i, name in enumerate(parameters_of(node))}
            if node.type in _ENDED:
                todo.append((None, parameters))
            todo.extend((child, parameters) for child in reversed(node.children) if child.type != "comment")
    return words


def parameters_of(function: Any) -> list[str]:
    """Names of a function definition's parameters, in order; of one without a name the empty string."""
    for node in descend(function.child_by_field_name("declarator")):
        if node.type == "function_declarator":
            given = node.child_by_field_name("parameters")
            return [declared_name(p.child_by_field_name("declarator")) for p in given.children if p.is_named]
    return []


def declared_name(declarator: Any) -> str:
    """The name that a declarator introduces: behind `*`, `&`, `[]`, an initial value."""
    for node in descend(declarator) if declarator is not None else ():
        if node.type in _NAMES:
            return words_of(node)
    return ""


def _word(node: Any, parameters: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    text = words_of(node)
    if text in _DROPPED:
        return []
    if node.type in _NAMES:
        return [parameters.get(text) or names.get(text) or text]
    return [text] if text else []


def _is_prototype(node: Any) -> bool:
    """A declaration of a function at file scope: it computes nothing, and many write none."""
    if node.type != "declaration" or node.parent is None or node.parent.type != "translation_unit":
        return False
    return any(child.type == "function_declarator" for child in descend(node, lambda n: n.type != "argument_list"))


def _declared(root: Any) -> dict[str, str]:
    """What each name that a source declares stands for."""
    names: dict[str, str] = {}
    for node in descend(root):
        for name, kind in _introduced(node):
            if name:
                names.setdefault(name, kind)
    return names


def _introduced(node: Any) -> Iterator[tuple[str, str]]:
    kind = node.type
    if kind == "function_definition":
        yield declared_name(node.child_by_field_name("declarator")).split("::")[-1], "f"
    elif kind in _DECLARING:
        member = "m" if kind == "field_declaration" else "v"
        is_function = _is_prototype(node)
        for declarator in node.children_by_field_name("declarator"):
            yield declared_name(declarator), "f" if is_function else member
    elif kind in _TYPES or kind == "enum_specifier":
        yield declared_name(node.child_by_field_name("name") or node), "t"
    elif kind in ("enumerator", "for_range_loop", "structured_binding_declarator"):
        yield declared_name(node.child_by_field_name("declarator") or node), "v"


# ------------------------------------------------------------------------------------------------------------ Python
def python_syntax(tree: ast.Module, functions: Iterable[str] = ()) -> list[str]:
    """Words of a candidate's Python, in the order of the text; `functions` are names that its C++ declares."""
    return _Python(tree, frozenset(functions)).words


class _Python(ast.NodeVisitor):
    """Writes a word for each node; what is imported goes by its full name, whatever it was called here."""

    def __init__(self, tree: ast.Module, functions: frozenset[str]) -> None:
        self.words: list[str] = []
        self._functions = functions
        self._imported: dict[str, str] = {}
        self._members = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and _is_stored(n)}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
                self._imported.update({alias.asname or alias.name: module + alias.name for alias in node.names})
        self.visit(tree)

    def generic_visit(self, node: ast.AST) -> None:
        self.words.append(type(node).__name__)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.expr_context, ast.Import, ast.ImportFrom)):
                self.visit(child)

    def visit_Module(self, node: ast.Module) -> None:
        for statement in node.body:
            self._statement(statement)

    def visit_Name(self, node: ast.Name) -> None:
        self.words.append(self._imported.get(node.id) or (node.id if node.id in _KEPT_NAMES else "v"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.visit(node.value)
        own = "f" if node.attr in self._functions else "m" if node.attr in self._members else None
        self.words.append(own or f".{node.attr}")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.words.append("Assign")
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        self.words.append(type(node.value).__name__)

    def visit_arg(self, node: ast.arg) -> None:
        self.words.append(node.arg if node.arg in _KEPT_NAMES else "v")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.words.append(f"class {node.name if node.name == 'ModelNew' else 't'}")
        self._body(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.words.append(f"def {node.name if node.name in _KEPT_FUNCTIONS else 'f'}")
        self.visit(node.args)
        self._body(node.body)

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)
        self.words.append("end")

    def _statement(self, statement: ast.stmt) -> None:
        """A docstring is a comment."""
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            self.visit(statement)


def _is_stored(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)
