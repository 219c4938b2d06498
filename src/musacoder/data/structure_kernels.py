"""What kernels do, coarsely: the order of loops, barriers and exchanges between threads, and the memory they use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mooreeval.legality.cpp_grammar import CppFunction, descend, words_of
from musacoder.data.structure_constants import constants_of, number_of
from musacoder.data.structure_syntax import declared_name

_MOST_DEPTH = 8  # of device functions that call each other
_SMALL = 8  # a loop of so many times is a thread's own tile or vector; what is longer may be a size of the task
_LOOPS = frozenset("for_statement while_statement do_statement for_range_loop".split())
_BARRIERS = {"__syncthreads": "barrier", "sync": "barrier", "__syncwarp": "warp-barrier"}
_VECTOR_NAMES = frozenset(
    "float2 float3 float4 int2 int4 uint2 uint4 double2 double4 half2 __half2 __nv_bfloat162 uchar4 char4 short2 "
    "short4 ushort4 longlong2".split()
)
_MEMORY_WORDS = {"__ldg": "read-only", "cooperative_groups": "groups", "tiled_partition": "groups"}
_MEMORY_PREFIXES = (
    ("__shfl", "shuffle"),
    ("__reduce_", "shuffle"),
    ("__ballot", "vote"),
    ("__any_sync", "vote"),
    ("__all_sync", "vote"),
    ("atomic", "atomic"),
    ("wmma", "tensor cores"),
    ("__pipeline_memcpy", "asynchronous copy"),
    ("memcpy_async", "asynchronous copy"),
)


@dataclass
class Kernels:
    """Functions of a candidate's sources by name, and the numbers fixed at file scope."""

    functions: dict[str, CppFunction] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)

    def skeleton(self, name: str, constants: Mapping[str, int]) -> str:
        """Loops, barriers and exchanges of a kernel in their order, those of device functions where they are called."""
        return " ".join(self._events(name, constants, 0)) or "straight"

    def memory(self, name: str, constants: Mapping[str, int]) -> set[str]:
        """Kinds of memory that a kernel and the device functions below it use."""
        kinds: set[str] = set()
        for each in self._reached(name):
            node = self.functions[each].node
            local = constants_of(node, constants)
            for inside in descend(node):
                kinds |= set(_memory_of(inside, local))
        return kinds

    def _reached(self, name: str) -> set[str]:
        found: set[str] = set()
        todo = [name]
        while todo:
            each = todo.pop()
            if each in self.functions and each not in found:
                found.add(each)
                todo += [w for w in self.functions[each].words if w in self.functions and self.functions[w].is_device]
        return found

    def _events(self, name: str, constants: Mapping[str, int], depth: int) -> Iterator[str]:
        function = self.functions.get(name)
        if function is None or depth > _MOST_DEPTH:
            return
        body = function.node.child_by_field_name("body")
        local, written = constants_of(function.node, constants), initial_texts(function.node)
        todo: list[Any] = [body]
        while todo:
            node = todo.pop()
            if isinstance(node, str):
                yield node
                continue
            if node is None:
                continue
            if node.type in _LOOPS:
                yield f"{_loop(node, local, written)}("
                todo.append(")")
            elif node.type == "if_statement" and node.child_by_field_name("alternative") is not None:
                yield "either("
                todo.append(")")
            elif node.type == "call_expression":
                yield from self._call(node, local, depth)
            todo.extend(reversed(node.named_children))

    def _call(self, node: Any, constants: Mapping[str, int], depth: int) -> Iterator[str]:
        name = re.split(r"\.|->|::", words_of(node.child_by_field_name("function")).split("<")[0].replace(" ", ""))[-1]
        if name in _BARRIERS:
            yield _BARRIERS[name]
        elif name.startswith(("__shfl", "__reduce_", "__ballot")):
            yield name.removesuffix("_sync").lstrip("_")
        elif name.startswith("atomic"):
            yield name
        elif name in self.functions and self.functions[name].is_device:
            yield from self._events(name, constants, depth + 1)


def initial_texts(function: Any) -> dict[str, str]:
    """What each local variable of a function is first set to, as written."""
    found: dict[str, str] = {}
    for node in descend(function):
        if node.type == "init_declarator" and node.child_by_field_name("value") is not None:
            name = declared_name(node.child_by_field_name("declarator"))
            found.setdefault(name, words_of(node.child_by_field_name("value")))
    return found


def _loop(node: Any, constants: Mapping[str, int], written: Mapping[str, str]) -> str:
    """How a loop runs: so many times, by halves or doubles, over the grid or the block, or otherwise."""
    step = node.child_by_field_name("update")
    text = words_of(step) if step is not None else ""
    if (by := re.search(r"\+ ?= ?([A-Za-z_]\w*)$", text)) and by[1] not in constants:
        text = f"+= {written.get(by[1], by[1])}"
    if "gridDim" in text:
        return "grid-stride"
    if "blockDim" in text:
        return "block-stride"
    if re.search(r">> ?=|/ ?=|= ?\w+ ?(?:>>|/)", text):
        return "halving"
    if re.search(r"<< ?=|\* ?=|= ?\w+ ?(?:<<|\*)", text):
        return "doubling"
    condition = node.child_by_field_name("condition")
    bound = None
    for part in descend(condition) if condition is not None else ():
        if part.type == "binary_expression" and bound is None:
            bound = number_of(part.child_by_field_name("right"), constants)
    stride = re.search(r"\+ ?= ?(\w+)", text)
    by = constants.get(stride[1], _number(stride[1])) if stride else 1
    count = "" if bound is None or bound > _SMALL else f"-{bound}"
    return f"loop{count}{'' if by == 1 else f'-by-{by}' if 0 < by <= _SMALL else '-strided'}"


def _number(text: str) -> int:
    """The number, or 0 where a run knows it alone."""
    return int(text) if text.isdecimal() else 0


def _memory_of(node: Any, constants: Mapping[str, int]) -> Iterator[str]:
    """Kinds of memory that one node of a device function speaks of."""
    if node.type == "declaration":
        words = {words_of(child) for child in node.children if "declarator" not in child.type}
        for declarator in node.children_by_field_name("declarator"):
            shape = _shape(declarator, constants)
            if "__shared__" in words:
                yield "dynamic shared" if "extern" in words else f"shared {shape or 'scalar'}"
            elif shape:
                yield f"registers {shape}"
    elif not node.children and node.type in ("identifier", "type_identifier", "namespace_identifier"):
        text = words_of(node)
        if text in _VECTOR_NAMES:
            yield f"vector {text}"
        elif text in _MEMORY_WORDS:
            yield _MEMORY_WORDS[text]
        yield from (kind for prefix, kind in _MEMORY_PREFIXES if text.startswith(prefix))


def _shape(declarator: Any, constants: Mapping[str, int]) -> str:
    """`16x17` of an array, `?` for a size that the text does not fix; empty where it is none."""
    sizes = []
    for node in descend(declarator, lambda n: n.type != "initializer_list"):
        if node.type == "array_declarator":
            size = number_of(node.child_by_field_name("size"), constants)
            sizes.append("?" if size is None else str(size))
    return "x".join(reversed(sizes))


def constant_memory(root: Any) -> bool:
    """Whether a source keeps something in constant memory."""
    return any(n.type == "type_qualifier" and words_of(n) == "__constant__" for n in descend(root))


def template_numbers(function: CppFunction, call: Any, known: Mapping[str, int]) -> dict[str, int]:
    """Numbers that a launch gives to a kernel's template parameters, by their names."""
    template = function.node.parent
    name = call.child_by_field_name("function")
    given = name.child_by_field_name("arguments") if name is not None and name.type == "template_function" else None
    if template is None or template.type != "template_declaration":
        return {}
    parameters = [c for c in template.child_by_field_name("parameters").children if c.is_named]
    values = [c for c in given.children if c.is_named] if given is not None else []
    found = {}
    for i, parameter in enumerate(parameters):
        written = values[i] if i < len(values) else parameter.child_by_field_name("default_value")
        value = number_of(written, known)
        if value is not None:
            found[declared_name(parameter.child_by_field_name("declarator") or parameter)] = value
    return found
