"""Launches of a candidate's host code: which kernels, in what order, with what form of grid and block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mooreeval.legality.cpp_grammar import CppFunction, called, descend, words_of
from musacoder.data.structure_constants import constants_of, inner, is_cast, number_of
from musacoder.data.structure_kernels import Kernels, template_numbers
from musacoder.data.structure_syntax import declared_name

_MOST_DEPTH = 8
_LOOPS = frozenset("for_statement while_statement do_statement for_range_loop".split())
_CLASSES = ((32, "a warp"), (128, "to 128"), (256, "to 256"), (1024, "to 1024"))  # threads of a block


@dataclass(frozen=True)
class Launch:
    """The form of one launch; sizes are named by how they come about, whether or not a text fixes them."""

    kernel: str  # its skeleton
    grid: tuple[str, ...]  # a form for each dimension, such as "ceil", "size", "product", "min(ceil)", "constant"
    block_dimensions: int  # 1 to 3
    block: str  # a class of its number of threads, or "varies"
    dynamic_shared: bool
    repeated: bool  # it stands in a loop of the host


@dataclass(frozen=True)
class FoundLaunch:
    """A launch with the kernel's name and the numbers that its template parameters get."""

    launch: Launch
    name: str
    constants: Mapping[str, int]


class Host:
    """Host functions of a candidate, and what they launch."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels

    def launches_of(self, name: str, depth: int = 0, *, repeated: bool = False) -> Iterator[FoundLaunch]:
        """Launches of a host function and of those that it calls, in the order of the text."""
        function = self._kernels.functions.get(name)
        if function is None or function.is_device or depth > _MOST_DEPTH:
            return
        scope = _Scope(function, self._kernels)
        todo: list[tuple[Any, bool]] = [(function.node.child_by_field_name("body"), repeated)]
        while todo:
            node, looped = todo.pop()
            if node is None:
                continue
            looped = looped or node.type in _LOOPS
            if node.type == "call_expression":
                configuration = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
                if configuration is not None:
                    yield self._launch(node, configuration, scope, looped)
                else:
                    callee = called(node.child_by_field_name("function")).split("::")[-1]
                    yield from self.launches_of(callee, depth + 1, repeated=looped)
            todo.extend((child, looped) for child in reversed(node.named_children))

    def _launch(self, call: Any, configuration: Any, scope: _Scope, repeated: bool) -> FoundLaunch:
        name = called(call.child_by_field_name("function")).split("::")[-1]
        kernel = self._kernels.functions.get(name)
        given = template_numbers(kernel, call, scope.constants) if kernel else {}
        constants = {**self._kernels.constants, **given}
        grid, block, shared, *_ = (*(c for c in configuration.children if c.is_named), None, None, None)
        sizes = [number_of(size, scope.constants) for size in scope.dimensions(block)]
        launch = Launch(
            kernel=self._kernels.skeleton(name, constants),
            grid=scope.forms(grid),
            block_dimensions=_dimensions(sizes),
            block=_block_class(sizes),
            dynamic_shared=shared is not None and number_of(shared, scope.constants) != 0,
            repeated=repeated,
        )
        return FoundLaunch(launch, name, constants)


def _dimensions(sizes: list[int | None]) -> int:
    """How many dimensions are more than one thread deep, at least 1."""
    used = len(sizes)
    while used > 1 and sizes[used - 1] == 1:
        used -= 1
    return max(used, 1)


def _block_class(sizes: list[int | None]) -> str:
    threads = 1
    for size in sizes:
        if size is None:
            return "varies"
        threads *= size
    return next((name for most, name in _CLASSES if threads <= most), "too many")


class _Scope:
    """The local names of a host function, and what they were set to."""

    def __init__(self, function: CppFunction, kernels: Kernels) -> None:
        self._kernels = kernels
        self.constants = constants_of(function.node, kernels.constants)
        self._values: dict[str, list[Any]] = {}
        for node in descend(function.node.child_by_field_name("body")):
            if node.type == "init_declarator":
                self._set(node.child_by_field_name("declarator"), node.child_by_field_name("value"))
            elif node.type == "function_declarator":  # `dim3 grid(n, m)`, which reads like a prototype
                self._set(node.child_by_field_name("declarator"), node.child_by_field_name("parameters"))
            elif node.type == "assignment_expression":
                self._set(node.child_by_field_name("left"), node.child_by_field_name("right"))

    def _set(self, target: Any, value: Any) -> None:
        name = declared_name(target)
        if name and value is not None and name not in self._values:
            self._values[name] = _parts(value)

    def dimensions(self, node: Any, depth: int = 0) -> list[Any]:
        """Expressions of the dimensions of a grid or block."""
        if node is None or depth > _MOST_DEPTH:
            return []
        values = self._values.get(words_of(node)) if node.type in ("identifier", "type_identifier") else None
        if values is not None:
            return self.dimensions(values[0], depth + 1) if len(values) == 1 else values
        parts = _parts(node)
        return [node] if parts == [node] else parts

    def forms(self, node: Any) -> tuple[str, ...]:
        """The form of each dimension of a grid; dimensions of 1 at the end are none."""
        forms = ["1" if words_of(each) == "1" else self.form(each, 0) for each in self.dimensions(node)]
        while len(forms) > 1 and forms[-1] == "1":
            forms.pop()
        return tuple(forms)

    def form(self, node: Any, depth: int) -> str:
        """How a size comes about: the same whether a text names the task's sizes as constants or reads them."""
        if node is None or depth > _MOST_DEPTH:
            return "size"
        if node.type == "number_literal":
            return "constant"
        if node.type in ("identifier", "type_identifier"):
            values = self._values.get(words_of(node), [])
            return self.form(values[0], depth + 1) if len(values) == 1 else "size"
        if node.type in ("parenthesized_expression", "cast_expression", "parameter_declaration"):
            return self.form(inner(node), depth + 1)
        if node.type == "binary_expression":
            return self._operation(node, depth)
        if node.type == "conditional_expression":
            return "min"  # `blocks > most ? most : blocks`
        return self._call(node, depth) if node.type == "call_expression" else "size"

    def _operation(self, node: Any, depth: int) -> str:
        operator = words_of(node.child_by_field_name("operator"))
        left = node.child_by_field_name("left")
        while left.type in ("parenthesized_expression", "cast_expression") and inner(left) is not None:
            left = inner(left)
        if operator in ("/", ">>"):
            added = left.type == "binary_expression" and words_of(left.child_by_field_name("operator")) in "+-"
            return "ceil" if added else "quotient"
        if operator == "*":
            return "product"
        both = {self.form(node.child_by_field_name(side), depth + 1) for side in ("left", "right")} - {"constant"}
        return both.pop() if len(both) == 1 else "sum"

    def _call(self, node: Any, depth: int) -> str:
        name = called(node.child_by_field_name("function")).split("::")[-1].split(".")[-1]
        if is_cast(node):
            return self.form(inner(node), depth + 1)
        arguments = node.child_by_field_name("arguments")
        forms = [self.form(argument, depth + 1) for argument in arguments.children if argument.is_named]
        if name in ("min", "max"):
            rest = [form for form in forms if form != "constant"]
            inside = rest[0] if rest else "constant"
            return f"min({inside})" if name == "min" else inside
        own = self._kernels.functions.get(name)
        returned = next((n for n in descend(own.node) if n.type == "return_statement"), None) if own else None
        if own is None or returned is None or not returned.named_children:
            return "size"
        return _Scope(own, self._kernels).form(returned.named_children[0], depth + 1)


def _parts(value: Any) -> list[Any]:
    """Expressions of `(a, b)`, `{a, b}` and `dim3(a, b)`; of anything else itself."""
    if value.type == "call_expression" and called(value.child_by_field_name("function")) == "dim3":
        value = value.child_by_field_name("arguments")
    elif value.type == "compound_literal_expression" and value.child_by_field_name("value") is not None:
        value = value.child_by_field_name("value")
    if value.type in ("argument_list", "initializer_list", "parameter_list"):
        return [child for child in value.children if child.is_named and child.type != "comment"]
    return [value]
