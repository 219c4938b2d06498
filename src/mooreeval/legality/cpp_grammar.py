"""The functions of a C++ source by a real grammar (tree-sitter's, of CUDA C++), with what each says by name.

A source that the grammar does not take whole is still read as far as it goes; `is_whole` says so, and whoever needs
certainty then looks at words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tree_sitter
import tree_sitter_cuda

MOST_DEPTH = 200  # of one expression
MOST_WORDS = 4000  # bytes of what is looked at as text
_WORD = re.compile(r"[A-Za-z_]\w*")
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")


@functools.cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


@dataclass(frozen=True, eq=False)
class CppFunction:
    """One function of the host or the device; of a binding, what is bound."""

    name: str
    node: Any  # its definition
    is_device: bool  # runs on the device alone
    returns: str  # its type, as written
    is_constexpr: bool = False
    owner: str = ""  # the class that it belongs to
    words: frozenset[str] = frozenset()  # every name in it


@dataclass
class Tree:
    """One source: its functions, what stands outside of them, and its bindings."""

    source: str
    text: str  # expanded
    root: Any
    is_whole: bool
    functions: list[CppFunction] = field(default_factory=list)
    bindings: list[tuple[str, CppFunction]] = field(default_factory=list)  # by the name in Python
    outside: list[Any] = field(default_factory=list)  # declarations at file scope
    using: list[str] = field(default_factory=list)  # namespaces whose names need no prefix
    aliases: dict[str, str] = field(default_factory=dict)
    tensor_types: set[str] = field(default_factory=set)  # other names of at::Tensor


def parse(source: str, text: str) -> Tree:
    """Parse an expanded source."""
    data = text.encode("utf-8", "replace")
    root = _parser().parse(data).root_node
    tree = Tree(source, text, root, not root.has_error)
    _collect(tree)
    _names_in_short(tree)
    return tree


def words_of(node: Any) -> str:
    """The text of a node on one line; of a very long one only that it is."""
    if node.end_byte - node.start_byte > MOST_WORDS:
        return "..."
    return " ".join((node.text or b"").decode("utf-8", "replace").split())


def called(node: Any) -> str:
    """The name that a call expression calls, without template arguments and blanks: `at::relu`, `x.mean`."""
    text = words_of(node)
    while (shorter := _TEMPLATE_ARGUMENTS.sub("", text)) != text:
        text = shorter
    return text.replace(" ", "")


def descend(node: Any, into: Any = lambda _node: True) -> Iterator[Any]:
    """All nodes below, in the order of the text, without recursion."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        if into(each):
            todo.extend(reversed(each.children))


def _collect(tree: Tree) -> None:
    todo: list[tuple[Any, str, bool]] = [(tree.root, "", True)]
    while todo:
        node, owner, is_sure = todo.pop()
        kind = node.type
        is_sure = is_sure and kind != "ERROR"
        if kind == "function_definition":
            _add_function(tree, node, owner)
            continue
        if kind in ("class_specifier", "struct_specifier"):
            name = node.child_by_field_name("name")
            owner = words_of(name).split("::")[-1].split(" ")[0] if name else owner
        elif kind == "declaration" and not owner and is_sure:
            tree.outside.append(node)
        todo.extend((child, owner, is_sure) for child in reversed(node.children))


def _names_in_short(tree: Tree) -> None:
    """`using namespace at;`, `using at::relu;`, `namespace N = at;`: in whatever scope, for the whole source."""
    text = re.sub(r"[ \t]*::[ \t]*", "::", tree.text)
    tree.using = [name.removeprefix("::") for name in re.findall(r"\busing\s+namespace\s+([\w:]+)", text)]
    for short, name in re.findall(r"\bnamespace\s+(\w+)\s*=\s*([\w:]+)", text):
        tree.aliases[short] = name.removeprefix("::")
    for name in re.findall(r"\busing\s+((?:::)?\w+(?:::\w+)+)\s*;", text):
        tree.aliases[name.split("::")[-1]] = name.removeprefix("::")
    of_tensors = (
        r"\busing\s+(\w+)\s*=\s*(?:::)?(?:at|torch)::Tensor\s*;|\btypedef\s+(?:::)?(?:at|torch)::Tensor\s+(\w+)\s*;"
    )
    tree.tensor_types = {one or other for one, other in re.findall(of_tensors, text)}


def _add_function(tree: Tree, node: Any, owner: str) -> None:
    declarator = node.child_by_field_name("declarator")
    body = node.child_by_field_name("body")
    head = (node.text or b"")[: body.start_byte - node.start_byte if body else None].decode("utf-8", "replace")
    name = _function_name(declarator) if declarator else ""
    returns = node.child_by_field_name("type")
    qualifiers = set(_WORD.findall(head))
    is_device = "__global__" in qualifiers or ("__device__" in qualifiers and "__host__" not in qualifiers)
    words = frozenset(_WORD.findall((node.text or b"").decode("utf-8", "replace")))
    found = CppFunction(
        name, node, is_device, words_of(returns) if returns else "", "constexpr" in qualifiers, owner, words
    )
    if name == "PYBIND11_MODULE" or name.startswith("TORCH_LIBRARY"):
        _add_bindings(tree, found, node)
    else:
        tree.functions.append(found)


def _function_name(declarator: Any) -> str:
    """The plain name in a declarator; operators and destructors by that word."""
    node = declarator
    for _ in range(MOST_DEPTH):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            named = [c for c in node.children if c.is_named and "declarator" in c.type]
            if node.type in ("reference_declarator", "pointer_declarator", "parenthesized_declarator") and named:
                inner = named[0]
        if inner is None:
            break
        node = inner
    text = called(node)
    if "operator" in text:
        return "operator"
    return text.split("::")[-1]


def _add_bindings(tree: Tree, module: CppFunction, node: Any) -> None:
    """Each `m.def("name", what)` for itself."""
    tree.bindings.append(("", module))
    for each in descend(node):
        if each.type != "call_expression":
            continue
        function, arguments = each.child_by_field_name("function"), each.child_by_field_name("arguments")
        if function is None or arguments is None or not called(function).endswith((".def", ".impl", "m.def")):
            continue
        first = next((c for c in arguments.children if c.is_named), None)
        name = words_of(first).strip('"') if first is not None and first.type == "string_literal" else "*"
        words = frozenset(_WORD.findall(words_of(arguments)))
        tree.bindings.append((name, CppFunction(name, arguments, False, "", False, "", words)))
