"""Built-in functions of Python that say something about what they are given."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from typing import Any

from mooreeval.legality import python_names as names
from mooreeval.legality.python_methods import Methods
from mooreeval.legality.python_state import text_of
from mooreeval.legality.python_values import (
    ANYTHING,
    DATA,
    SOME_DATA,
    TENSOR,
    Bound,
    Class,
    Const,
    Extension,
    Function,
    Group,
    Instance,
    Kernel,
    Path,
    Value,
    join,
    one,
    only,
)  # fmt: skip

_SEES_ALL = frozenset(
    "isinstance issubclass hasattr type print str repr id callable len hash format bool super int float dict list "
    "tuple set property staticmethod classmethod".split()
)
_ANSWER_WITH_DATA = frozenset(
    "len int float bool str repr hash id isinstance issubclass hasattr callable chr ord hex bin any all print "
    "format".split()
)
_SAME_ELEMENTS = frozenset(
    "list tuple set frozenset iter reversed sorted next min max enumerate zip filter dict".split()
)


class Builtins(Methods):
    """Calls of built-in names."""

    def _call_builtin(self, name: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        if name in ("getattr", "setattr", "delattr"):
            return self._call_getattr(name, arguments, node)
        if name == "open":
            return self._open(arguments, named, node)
        if name == "identity":
            return arguments[0] if arguments else ANYTHING
        if name == "super":
            return self.super_value(arguments)
        if name == "type":
            return self._type_of(arguments, node)
        if name == "map" and len(arguments) > 1:
            return one(Group({"": self.call(arguments[0], [self.elements(v) for v in arguments[1:]], {}, node)}))
        if name in ("sum", "abs", "pow", "divmod", "round"):
            values = [self.elements(v) if name == "sum" else v for v in arguments[:2]]
            return self.arithmetic(
                name, join(values[:1]), SOME_DATA if name == "sum" else join(values[1:]) or SOME_DATA, node
            )
        if name in ("min", "max") and any(only(v, TENSOR) for v in arguments):
            return self.arithmetic(name, join(arguments), SOME_DATA, node)
        if name in _SAME_ELEMENTS:
            return self._same_elements(name, arguments, named, node)
        if name not in _SEES_ALL:
            self._handed_on(arguments, named, node)
        if name == "range":
            return one(Group({"": SOME_DATA}))
        if name in ("property", "staticmethod", "classmethod"):
            return frozenset(_of_kind(atom, name) for atom in join(arguments[:1])) or ANYTHING
        plain = name in _ANSWER_WITH_DATA
        is_error = isinstance(getattr(builtins, name, None), type) and issubclass(
            getattr(builtins, name), BaseException
        )
        return SOME_DATA if plain or is_error else ANYTHING

    def _same_elements(self, name: str, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        self._handed_on([], {"key": named.get("key", frozenset())}, node)
        functions = [v for v in (*arguments, *named.values()) if any(isinstance(a, Function | Bound) for a in v)]
        for function in functions:
            self.call(function, [join([self.elements(v) for v in arguments if v is not function])], {}, node)
        inside = [self.elements(v) for v in (*arguments, *named.values()) if v not in functions]
        if name in ("next", "min", "max"):
            return join(inside or [ANYTHING]) if len(arguments) == 1 or name == "next" else join(arguments)
        if name == "enumerate":
            pair = one(Group({"0": SOME_DATA, "1": join(inside), "": join((SOME_DATA, *inside))}))
            return one(Group({"": pair}))
        if name == "zip":
            pair = one(Group({**{str(k): v for k, v in enumerate(inside)}, "": join(inside)}))
            return one(Group({"": pair}))
        keyed = next((a.elements for v in arguments[:1] for a in v if isinstance(a, Group)), {})
        return one(
            Group({**(keyed if name in ("list", "tuple", "dict") else {}), "": join((*inside, *named.values()))})
        )

    def _type_of(self, arguments: list[Value], node: ast.AST) -> Value:
        if len(arguments) == 3:
            self._class_from_parts(node)
            return ANYTHING
        found: set[Any] = set()
        for atom in join(arguments):
            if isinstance(atom, Instance):
                found.add(atom.of)
            elif atom is TENSOR:
                found.add(Path("torch.Tensor"))
            elif isinstance(atom, Const) or atom is DATA:
                found.add(DATA)
            else:
                found.add(Path("type()"))
        return frozenset(found)

    def _class_from_parts(self, node: ast.AST) -> None:
        """`type(name, bases, attributes)`: what the attributes are called must be readable."""
        attributes = node.args[2] if isinstance(node, ast.Call) and len(node.args) == 3 else None
        keys = attributes.keys if isinstance(attributes, ast.Dict) else [None]
        texts = [key.value if isinstance(key, ast.Constant) else None for key in keys]
        if any(isinstance(text, str) and names.is_closed_attribute(text) for text in texts):
            self.accuse("introspection", node, "type(...)", "a class is made with what is not for candidates")
        elif None in texts:
            self.accuse("hidden_name", node, "type(...)", "a class is made whose attributes can't be told")

    def _call_getattr(self, builtin: str, arguments: list[Value], node: ast.AST) -> Value:
        if len(arguments) < 2:
            return ANYTHING
        target, name = arguments[0], text_of(arguments[1])
        if name is None:
            return self._unknown_attribute(builtin, target, arguments, node)
        if names.is_closed_attribute(name):
            self.accuse("introspection", node, name, f"`{name}` is not for candidates")
        if builtin == "getattr":
            found = self.attribute(target, name, node)
            return join((found, *arguments[2:3])) if len(arguments) > 2 else found
        self.set_attribute(target, name, join(arguments[2:3]), node)
        return SOME_DATA

    def _unknown_attribute(self, builtin: str, target: Value, arguments: list[Value], node: ast.AST) -> Value:
        found: list[Value] = []
        for atom in target:
            if isinstance(atom, Path) or atom is TENSOR or (isinstance(atom, Class) and builtin == "setattr"):
                self.accuse("hidden_name", node, builtin, f"`{builtin}` with a name that can't be told")
            elif isinstance(atom, Instance) and builtin == "getattr":
                found += list(atom.of.attributes.values())
            elif isinstance(atom, Instance):
                self.set_attribute(one(atom), "*", join(arguments[2:3]), node)
            elif isinstance(atom, Extension):
                found.append(one(Kernel("*")))
        return join((*found, *arguments[2:3])) or ANYTHING


def _of_kind(atom: Any, kind: str) -> Any:
    """What `property(f)`, `staticmethod(f)` and `classmethod(f)` make of a function."""
    if not isinstance(atom, Function):
        return atom
    return replace(
        atom, is_property=kind == "property", is_static=kind == "staticmethod", is_class_method=kind == "classmethod"
    )
