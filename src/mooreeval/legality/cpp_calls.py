"""What a candidate's host code computes with, followed from the functions that its forward path calls.

Whether an expression is a tensor is told from declared types, from what functions return, and from how it was made;
where that does not tell, nobody is accused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mooreeval.legality import cpp_names as names
from mooreeval.legality.cpp_grammar import MOST_DEPTH, CppFunction, Tree, called, descend, words_of
from mooreeval.legality.operators import ALLOWED
from mooreeval.legality.rules import Accusation, shown
from mooreeval.legality.tensor_methods import FUNCTIONS, TENSOR_METHODS

TENSOR, TENSORS, OTHER, UNKNOWN = "tensor", "tensors", "other", "unknown"
_TENSOR_TYPE = re.compile(r"(?:(?:at|torch|const|static)\s*(?:::)?\s*)*Tensor\s*(?:const)?\s*&{0,2}")
_HOLDS_TENSORS = re.compile(
    r"(?:vector|array|tuple|pair|optional|TensorList|initializer_list|ArrayRef)\b.*\bTensor\b|\bTensorList\b"
)
_PLAIN_TYPE = re.compile(
    r"(?:const |static |inline |unsigned |std::|c10::)*"
    r"(?:void|bool|int|long|long long|float|double|size_t|u?int\d+_t|string)"
)
_ON_DEVICE = re.compile(r"\(+(?P<not>!?)\(?\w+(?:\.device\(\))?\.is_cuda\(\)\)+")
_ARITHMETIC = frozenset(
    ("+", "-", "*", "/", "%", "==", "!=", "&", "|", "^", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=")
)
_PLAIN_RESULTS = (ALLOWED & frozenset(
    "stride size dim numel item equal allclose is_nonzero data_ptr const_data_ptr mutable_data_ptr is_contiguous "
    "is_cuda is_cpu get_device element_size ndimension nelement storage_offset is_floating_point is_complex nbytes "
    "itemsize shape dtype device layout requires_grad _version".split()
)) | frozenset(
    "sizes strides options scalar_type defined accessor packed_accessor packed_accessor32 packed_accessor64 data "
    "storage has_storage is_same use_count ndim".split()
)  # fmt: skip
_LISTS = frozenset(
    "split chunk unbind tensor_split split_with_sizes unsafe_chunk unsafe_split broadcast_tensors".split()
)


class Program:
    """All sources of a candidate together."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.trees = list(trees)
        self.functions: dict[str, list[tuple[Tree, CppFunction]]] = {}
        for tree in self.trees:
            for function in tree.functions:
                for name in {function.name, *_class_names(function)}:
                    self.functions.setdefault(name, []).append((tree, function))

    def returns(self) -> dict[str, str]:
        """What the functions that Python may call give: "tensor" or "data", where that is plain."""
        found: dict[str, str] = {}
        bound = {
            name: sorted(each.words & self.functions.keys()) for t in self.trees for name, each in t.bindings if name
        }
        for name in {*self.functions, *bound}:
            targets = bound.get(name, [name])
            types = {f.returns for target in targets[:1] for _t, f in self.functions.get(target, ()) if not f.is_device}
            kinds = {_kind_of_type(each) for each in types}
            if len(targets) == 1 and len(kinds) == 1 and (kind := kinds.pop()) is not None:
                found[name] = kind
        return found

    def host_names(self) -> frozenset[str]:
        return frozenset(self.functions)

    def overloads(self) -> frozenset[str]:
        return frozenset(name for name, found in self.functions.items() if len(found) > 1)

    def reached(self, kernels: frozenset[str]) -> list[tuple[Tree, CppFunction]]:
        """Host functions that the forward path may run, when it calls these by their names in Python."""
        todo: list[tuple[Tree, CppFunction]] = []
        bound = {name for tree in self.trees for name, _f in tree.bindings if name}
        for tree in self.trees:
            todo += [(tree, f) for name, f in tree.bindings if name and (name in kernels or "*" in (name, *kernels))]
            made = [words_of(node) for node in tree.outside]
            words = {w for text in made if "=" in text and "(" in text for w in re.findall(r"\w+", text)}
            todo += [found for w in words for found in self.functions.get(w, ())]
        wanted = set(self.functions) if "*" in kernels and not bound else kernels - bound
        todo += [found for name in wanted for found in self.functions.get(name, ())]
        seen: list[tuple[Tree, CppFunction]] = []
        known: set[int] = set()
        while todo:
            tree, function = todo.pop()
            if id(function) in known or function.is_device:
                continue
            known.add(id(function))
            seen.append((tree, function))
            todo += [found for word in function.words for found in self.functions.get(word, ())]
        return seen


def _class_names(function: CppFunction) -> set[str]:
    """Names under which a member runs without being called: construction, destruction, operators."""
    special = function.name in (function.owner, "operator") or function.name.startswith("~")
    return {function.owner} if function.owner and special else set()


def _kind_of_type(text: str) -> str | None:
    if _TENSOR_TYPE.fullmatch(text) or _HOLDS_TENSORS.search(text):
        return "tensor"
    return "data" if _PLAIN_TYPE.fullmatch(text) else None


class HostCode:
    """One host function: the types of its names, and what it computes with."""

    def __init__(self, program: Program, tree: Tree, function: CppFunction) -> None:
        self.program, self.tree, self.function = program, tree, function
        self.kinds: dict[str, str] = {}  # of names
        self.known: dict[int, str] = {}  # of nodes
        self.found: list[Accusation] = []

    def read(self) -> list[Accusation]:
        """Accuse what computes and is not the candidate's kernel."""
        for node in descend(self.function.node, _is_live):
            kind = node.type
            if kind in ("parameter_declaration", "declaration", "optional_parameter_declaration", "for_range_loop"):
                self._declare(node)
            elif kind == "call_expression":
                self._call(node)
            elif kind in ("binary_expression", "assignment_expression"):
                self._operator(node)
            elif kind == "unary_expression" and words_of(node)[:1] in "-~" and self._is(node, "argument"):
                self._computes(node, words_of(node))
        return self.found

    def _accuse(self, rule: str, node: Any, evidence: str, message: str) -> None:
        line, column = node.start_point[0] + 1, node.start_point[1] + 1
        self.found.append(Accusation(rule, line, shown(evidence, 80), message, column, self.tree.source))

    def _computes(self, node: Any, evidence: str) -> None:
        words = shown(evidence, 60)
        self._accuse("cpp_torch_compute", node, evidence, f"`{words}` is computation by PyTorch in the host code")

    # ------------------------------------------------------------------------------------------------------------ types
    def _declare(self, node: Any) -> None:
        typed = node.child_by_field_name("type")
        text = words_of(typed) if typed else ""
        for child in node.children:
            if child.type == "init_declarator":
                value = child.child_by_field_name("value")
                self._name(child.child_by_field_name("declarator"), text, value)
            elif (
                child.is_named
                and child is not typed
                and (child.type.endswith("declarator") or child.type == "identifier")
            ):
                self._name(child, text, node.child_by_field_name("right") if node.type == "for_range_loop" else None)

    def _name(self, declarator: Any, text: str, value: Any) -> None:
        name = (
            next((words_of(n) for n in descend(declarator) if n.type in ("identifier", "field_identifier")), "")
            if declarator
            else ""
        )
        if not name or (declarator.type == "function_declarator"):
            return
        if "auto" in text.split():
            kind = self.kind(value) if value is not None else UNKNOWN
            kind = TENSOR if kind == TENSORS and value is not None and value.parent.type == "for_range_loop" else kind
        elif _TENSOR_TYPE.fullmatch(text) or text.removeprefix("const ").rstrip("& ") in self.tree.tensor_types:
            kind = TENSOR
        elif _HOLDS_TENSORS.search(text):
            kind = TENSORS
        else:
            kind = OTHER
        self.kinds[name] = kind if self.kinds.get(name, kind) == kind else UNKNOWN

    def _is(self, node: Any, field: str) -> bool:
        part = node.child_by_field_name(field)
        return part is not None and self.kind(part) == TENSOR

    def kind(self, node: Any, depth: int = 0) -> str:
        """What an expression is."""
        if depth > MOST_DEPTH:
            return UNKNOWN
        if (known := self.known.get(node.id)) is not None:
            return known
        if node.type == "identifier":
            return self.kinds.get(words_of(node), UNKNOWN)
        found = getattr(self, f"_kind_{node.type}", None)
        if found is not None:
            self.known[node.id] = found(node, depth + 1)
            return self.known[node.id]
        return OTHER if node.type.endswith("literal") or node.type in ("true", "false", "null") else UNKNOWN

    def _kind_parenthesized_expression(self, node: Any, depth: int) -> str:
        inner = next((c for c in node.children if c.is_named), None)
        return self.kind(inner, depth) if inner is not None else UNKNOWN

    def _kind_subscript_expression(self, node: Any, depth: int) -> str:
        held = self.kind(node.child_by_field_name("argument") or node.children[0], depth)
        return TENSOR if held in (TENSOR, TENSORS) else UNKNOWN

    def _kind_binary_expression(self, node: Any, depth: int) -> str:
        sides = [
            self.kind(s, depth) for s in (node.child_by_field_name("left"), node.child_by_field_name("right")) if s
        ]
        return (
            TENSOR
            if TENSOR in sides and _operator_of(node) in _ARITHMETIC
            else OTHER
            if sides == [OTHER] * 2
            else UNKNOWN
        )

    def _kind_assignment_expression(self, node: Any, depth: int) -> str:
        left = node.child_by_field_name("left")
        return self.kind(left, depth) if left is not None else UNKNOWN

    def _kind_unary_expression(self, node: Any, depth: int) -> str:
        inner = node.child_by_field_name("argument")
        return self.kind(inner, depth) if inner is not None else UNKNOWN

    def _kind_pointer_expression(self, node: Any, depth: int) -> str:
        inner = node.child_by_field_name("argument")
        is_value = words_of(node).startswith("*") and inner is not None and self.kind(inner, depth) == TENSORS
        return TENSOR if is_value else UNKNOWN

    def _kind_conditional_expression(self, node: Any, depth: int) -> str:
        parts = [node.child_by_field_name(f) for f in ("consequence", "alternative")]
        kinds = {self.kind(p, depth) for p in parts if p is not None}
        return kinds.pop() if len(kinds) == 1 else UNKNOWN

    def _kind_cast_expression(self, node: Any, _depth: int) -> str:
        return TENSOR if _TENSOR_TYPE.fullmatch(words_of(node.child_by_field_name("type"))) else OTHER

    def _kind_call_expression(self, node: Any, depth: int) -> str:
        function = node.child_by_field_name("function")
        if function is None:
            return UNKNOWN
        if function.type == "field_expression":
            return self._kind_of_method(function, depth)
        name = self._resolved(called(function))
        area, _, last = name.rpartition("::")
        if area in ("at", "torch"):
            if last == "Tensor":
                return TENSOR
            return UNKNOWN if last in names.NON_TENSORS or last in _PLAIN_RESULTS or not last[:1].islower() else TENSOR
        if name == "std::move" or name == "std::forward":
            arguments = node.child_by_field_name("arguments")
            inner = next((c for c in arguments.children if c.is_named), None) if arguments else None
            return self.kind(inner, depth) if inner is not None else UNKNOWN
        types = {f.returns for _t, f in self.program.functions.get(last, ()) if not f.owner}
        kinds = {
            TENSOR if _TENSOR_TYPE.fullmatch(t) else TENSORS if _HOLDS_TENSORS.search(t) else UNKNOWN for t in types
        }
        return kinds.pop() if len(kinds) == 1 else UNKNOWN

    def _kind_of_method(self, function: Any, depth: int) -> str:
        receiver, method = _method(function)
        held = self.kind(receiver, depth) if receiver is not None else UNKNOWN
        if held == TENSORS:
            return TENSOR if method in ("value", "front", "back", "at", "value_or", "get") else OTHER
        if held != TENSOR:
            return UNKNOWN
        return OTHER if method in _PLAIN_RESULTS else TENSORS if method in _LISTS else TENSOR

    # ------------------------------------------------------------------------------------------------------------ calls
    def _resolved(self, name: str) -> str:
        first, _, rest = name.removeprefix("::").partition("::")
        first = self.tree.aliases.get(first, first)
        return f"{first}::{rest}" if rest else first

    def _call(self, node: Any) -> None:
        function = node.child_by_field_name("function")
        if function is None:
            return
        if function.type == "field_expression":
            self._method_call(node, function)
            return
        name = self._resolved(called(function))
        if "::" in name:
            self._named_call(node, name)
        elif names.LIBRARIES.fullmatch(name) and name not in self.program.functions:
            self._accuse("library_call", node, name, f"`{name}` is a library's kernel")
        elif name not in self.program.functions and name not in self.kinds:
            self._bare_call(node, name)

    def _named_call(self, node: Any, name: str) -> None:
        area, _, last = name.rpartition("::")
        root = name.split("::")[0]
        if names.DEVICE_WIDE.match(name) or (names.LIBRARIES.fullmatch(last) and last not in self.program.functions):
            self._accuse("library_call", node, name, f"`{name}` is a library's kernel")
        elif root in ("at", "torch"):
            rule = area_rule(name)
            if rule == "library_call":
                self._accuse("library_call", node, name, f"`{name}` is a library's kernel")
            elif (rule == "compute" and not is_plumbing(name.split("::")[-2 if last == "call" else -1])) or (
                area in ("at", "torch") and last[:1].islower() and not is_plumbing(last)
            ):
                self._computes(node, name)

    def _bare_call(self, node: Any, name: str) -> None:
        """A name without a namespace: found by `using`, or because an argument is a tensor."""
        if name not in FUNCTIONS or is_plumbing(name):
            return
        arguments = node.child_by_field_name("arguments")
        given = [c for c in arguments.children if c.is_named] if arguments else []
        opened = any(each in ("at", "torch") for each in self.tree.using) and name not in names.COLLIDING_METHODS
        plain = len(name) < 5 or any(self.kind(each) == OTHER for each in given[:1])  # `abs(x)` of the standard library
        if any(self.kind(each) == TENSOR for each in given) or (opened and not plain):
            self._computes(node, f"{name}(")

    def _method_call(self, node: Any, function: Any) -> None:
        receiver, method = _method(function)
        held = self.kind(receiver) if receiver is not None else UNKNOWN
        if is_plumbing(method):
            return
        if held == TENSOR or (held == UNKNOWN and self._is_plainly_of_tensors(method)):
            self._computes(node, f"{shown(words_of(receiver), 30)}.{method}(")

    def _is_plainly_of_tensors(self, name: str) -> bool:
        """Whether nothing but a tensor has a method of that name, no type of the sources' own either."""
        if name not in TENSOR_METHODS or name in names.COLLIDING_METHODS or name in self.program.functions:
            return False
        return not any(
            re.search(rf"\b(?:auto|float|int|void|T|double|bool)\s*&?\s*{name}\b", tree.text)
            for tree in self.program.trees
        )

    def _operator(self, node: Any) -> None:
        operator = _operator_of(node)
        if operator not in _ARITHMETIC:
            return
        if operator in ("==", "!=") and "nullptr" in words_of(node):
            return
        if self._is(node, "left") or self._is(node, "right"):
            self._computes(node, words_of(node))


def _is_live(node: Any) -> bool:
    """Whether to look into a statement: not into one that only a tensor on the CPU would reach."""
    above = node.parent
    if above is None or node.type == "else_clause" or above.type not in ("if_statement", "else_clause"):
        return True
    is_else = above.type == "else_clause"
    statement = above.parent if is_else else above
    condition = statement.child_by_field_name("condition") if statement is not None else None
    if condition is None or node == condition:
        return True
    on_device = _ON_DEVICE.fullmatch(words_of(condition).replace(" ", ""))
    return not on_device or bool(on_device["not"]) == is_else


def _operator_of(node: Any) -> str:
    part = node.child_by_field_name("operator")
    return words_of(part) if part is not None else next((words_of(c) for c in node.children if not c.is_named), "")


def _method(function: Any) -> tuple[Any, str]:
    receiver, field = function.child_by_field_name("argument"), function.child_by_field_name("field")
    return receiver, called(field).removeprefix("template").strip() if field is not None else ""


def is_plumbing(name: str) -> bool:
    return name in ALLOWED or name in names.CPP_PLUMBING


def area_rule(name: str) -> str | None:
    parts = name.split("::")
    for length in range(len(parts), 1, -1):
        if (rule := names.TORCH_AREAS.get("::".join(parts[:length]))) is not None:
            return rule
    return None
