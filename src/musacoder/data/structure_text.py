"""The C++ that a candidate's Python hands to the compiler, put together from its string constants. Nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_MOST_DEPTH = 32  # of one expression
_UNKNOWN = "unknown_part"  # stands where a string is filled with what only a run would know


def cuda_sources(tree: ast.Module) -> list[str]:
    """Sources given to `load_inline`, in its order: CUDA's first; where none can be told, whatever looks like C++."""
    strings = _Strings(tree)
    found = [text for call in _load_inline_calls(tree) for text in strings.of_call(call)]
    return found or [text for text in strings.constants() if _looks_like_cpp(text)]


def _load_inline_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name == "load_inline":
                yield node


def _looks_like_cpp(text: str) -> bool:
    return "__global__" in text or ("{" in text and ";" in text and "(" in text)


class _Strings:
    """What the names of a module stand for, as far as they are strings put together from constants."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._values: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._name(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._name(node.target, node.value)

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
        if name is not None:
            self._values.setdefault(name, value)

    def of_call(self, call: ast.Call) -> list[str]:
        """The sources of one `load_inline`."""
        by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        given = [by_name.get("cuda_sources"), by_name.get("cpp_sources")]
        if given[0] is None and len(call.args) > 2:
            given[0] = call.args[2]
        if given[1] is None and len(call.args) > 1:
            given[1] = call.args[1]
        return [text for node in given if node is not None for text in self._texts(node)]

    def constants(self) -> list[str]:
        """Every string constant."""
        return [n.value for n in ast.walk(self._tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]

    def _texts(self, node: ast.expr, depth: int = 0) -> list[str]:
        """The strings of a string or of a list of them."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return [text for each in node.elts for text in self._texts(each, depth + 1)]
        if isinstance(node, (ast.Name, ast.Attribute)) and depth < _MOST_DEPTH:
            value = self._values.get(node.attr if isinstance(node, ast.Attribute) else node.id)
            return self._texts(value, depth + 1) if value is not None else []
        text = self._text(node, depth)
        return [] if text is None else [text]

    def _text(self, node: ast.expr, depth: int) -> str | None:
        """The string or number that an expression comes to; None where only a run would know it."""
        if depth > _MOST_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return str(node.value) if isinstance(node.value, (str, int, float)) else None
        if isinstance(node, (ast.Name, ast.Attribute)):
            value = self._values.get(node.attr if isinstance(node, ast.Attribute) else node.id)
            return self._text(value, depth + 1) if value is not None else None
        if isinstance(node, ast.JoinedStr):
            return "".join(self._text(part, depth + 1) or _UNKNOWN for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self._text(node.value, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = self._text(node.left, depth + 1), self._text(node.right, depth + 1)
            return None if None in sides else "".join(side or "" for side in sides)
        return self._of_method(node, depth) if isinstance(node, ast.Call) else None

    def _of_method(self, call: ast.Call, depth: int) -> str | None:
        """`text.replace(a, b)` and `"".join([...])` are carried out; of other calls the text itself or its argument."""
        if isinstance(call.func, ast.Attribute):
            text = self._text(call.func.value, depth + 1)
            if text is not None and call.func.attr == "join" and call.args:
                return text.join(self._texts(call.args[0], depth + 1))
            arguments = [self._text(argument, depth + 1) for argument in call.args]
            if text is not None and call.func.attr == "replace" and len(arguments) > 1:
                return text.replace(arguments[0] or _UNKNOWN, arguments[1] or _UNKNOWN)
            if text is not None:
                return text
        return self._text(call.args[0], depth + 1) if call.args else None
