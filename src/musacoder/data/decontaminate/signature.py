"""What a task computes, as a graph of operators read from its source: nothing of it is run.

Names of variables, the order of independent lines, constants and sizes are gone; `nn.ReLU`, `F.relu`, `torch.relu` and
`x.relu()` are one operator. What cannot be followed (loops, branches) counts by the operators in it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from mooreeval.hashing import content_hash
from mooreeval.source_text import SyntaxProblem, parse_python

_SIGNS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.MatMult: "matmul", ast.Pow: "pow",
    ast.USub: "neg", ast.Mod: "remainder", ast.FloorDiv: "floordiv",
}  # fmt: skip
_SAME = {
    "mm": "matmul", "bmm": "matmul", "multiply": "mul", "subtract": "sub", "divide": "div", "clip": "clamp",
    "amax": "max", "amin": "min", "negative": "neg", "concat": "cat", "permute": "transpose", "t": "transpose",
    "swapaxes": "transpose", "flatten": "view", "reshape": "view", "absolute": "abs", "norm": "norm",
}  # fmt: skip
# They move nothing and compute nothing: a paraphrase may add or leave them out.
_PLUMBING = frozenset("contiguous to float clone detach size shape dim identity dropout view unsqueeze squeeze".split())
_COMMUTE = frozenset(("add", "mul"))


@dataclass(frozen=True)
class Signature:
    """`key`: SHA-256 (hex) of the graph; `operators`: how many there are; `sizes`: numbers that the file defines."""

    key: str
    operators: int
    sizes: frozenset[int]


def signature_of(code: str) -> Signature | None:
    """The signature of a task's `Model`; None where there is none to read, or it computes nothing."""
    tree = parse_python(code)
    if isinstance(tree, SyntaxProblem):
        return None
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    if "Model" not in classes:
        return None
    graph = _Graph(classes)
    key = graph.of_class("Model", None)
    return Signature(key, graph.operators, _sizes(tree)) if graph.operators else None


def _sizes(tree: ast.Module) -> frozenset[int]:
    numbers = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
    return frozenset(n for n in numbers if type(n) is int and n > 8)


@dataclass
class _Graph:
    """Keys of values: equal where the same is computed from the same."""

    classes: Mapping[str, ast.ClassDef]
    operators: int = 0
    depth: int = 0
    seen: dict[str, str] = field(default_factory=dict)

    def of_class(self, name: str, given: list[str] | None) -> str:
        """The key of what `forward` of a class returns."""
        forward = _method(self.classes[name], "forward")
        if forward is None or self.depth > 8:
            return content_hash(["class", name])
        self.depth += 1
        arguments = [a.arg for a in forward.args.args[1:]]
        known = {a: (given[i] if given and i < len(given) else f"input{i}") for i, a in enumerate(arguments)}
        result = self._body(forward.body, known, _modules(self.classes[name]))
        self.depth -= 1
        return result

    def _body(self, statements: list[ast.stmt], known: dict[str, str], modules: Mapping[str, ast.expr]) -> str:
        loose: list[str] = []
        for statement in statements:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    key = self._value(value, known, modules)
                    for i, target in enumerate(_names(targets)):
                        known[target] = key if len(_names(targets)) == 1 else content_hash([key, i])
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    keys = [known.get(name, name), self._value(value, known, modules)]
                    known[name] = self._made(_SIGNS.get(type(op), type(op).__name__), keys)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    known[name] = self._value(value, known, modules)
                case ast.Return(value=ast.expr() as value):
                    result = self._value(value, known, modules)
                    return content_hash([result, *sorted(loose)]) if loose else result
                case ast.Expr(value=ast.Constant()):
                    pass
                case ast.Expr(value=value):
                    self._value(value, known, modules)
                case ast.For() | ast.While() | ast.If() | ast.With():
                    loose.append(self._body([*statement.body, *getattr(statement, "orelse", [])], known, modules))
        return content_hash(["falls through", *sorted(loose)])

    def _value(self, node: ast.expr, known: dict[str, str], modules: Mapping[str, ast.expr]) -> str:
        match node:
            case ast.Name(id=name):
                return known.get(name, "constant")
            case ast.BinOp(left=left, op=op, right=right):
                keys = [self._value(left, known, modules), self._value(right, known, modules)]
                return self._made(_SIGNS.get(type(op), type(op).__name__), keys)
            case ast.UnaryOp(op=op, operand=operand):
                key = self._value(operand, known, modules)
                return key if key == "constant" else self._made(_SIGNS.get(type(op), type(op).__name__), [key])
            case ast.Call():
                return self._call(node, known, modules)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return content_hash([self._value(part, known, modules) for part in parts])
            case ast.Subscript(value=value):
                return self._value(value, known, modules)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return f"weight:{self._kind(modules.get(name))}"
            case ast.Attribute(value=value):
                return self._value(value, known, modules)
            case ast.Compare(left=left, comparators=others):
                return self._made("compare", [self._value(n, known, modules) for n in (left, *others)])
        return "constant"

    def _call(self, node: ast.Call, known: dict[str, str], modules: Mapping[str, ast.expr]) -> str:
        given = [self._value(a, known, modules) for a in [*node.args, *(k.value for k in node.keywords)]]
        given = [g for g in given if g != "constant"]
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in modules:
                return self._module(modules[name], given)
            case ast.Attribute(value=value, attr=name):
                of = [] if _is_library(value) else [self._value(value, known, modules)]
                return self._made(name, [*of, *given])
            case ast.Name(id=name):
                return self._made(name, given)
            case ast.Call():
                return self._module(node.func, given)
        return self._made("call", given)

    def _module(self, made: ast.expr, given: list[str]) -> str:
        """A module that is called: `nn.X(...)`, one of the file's own, or `nn.Sequential` of several."""
        name = self._kind(made)
        if name == "Sequential" and isinstance(made, ast.Call):
            for part in made.args:
                given = [self._module(part, given)]
            return given[0] if given else "constant"
        return self.of_class(name, given) if name in self.classes else self._made(name, given)

    @staticmethod
    def _kind(made: ast.expr | None) -> str:
        match made:
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
                return name
        return "value"

    def _made(self, operator: str, keys: list[str]) -> str:
        """The key of an operator's result; what only moves passes its operand on."""
        name = operator.lower().replace("_", "")
        name = _SAME.get(name, name)
        tensors = [key for key in keys if key != "constant"]
        if name in _PLUMBING and tensors:
            return tensors[0]
        if not tensors:
            return "constant"
        key = content_hash([name, sorted(keys) if name in _COMMUTE else tensors])
        if key not in self.seen:
            self.seen[key] = name
            self.operators += 1
        return key


def _modules(model: ast.ClassDef) -> dict[str, ast.expr]:
    """What `__init__` puts into the attributes of self."""
    init = _method(model, "__init__")
    found: dict[str, ast.expr] = {}
    for node in ast.walk(init) if init else ():
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                found[name] = value
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self")), args=[ast.Constant(value=str(name)), value, *_]
            ):
                found[name] = value  # register_buffer, register_parameter
    return found


def _method(of: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((n for n in of.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _names(targets: list[ast.expr]) -> list[str]:
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _is_library(node: ast.expr) -> bool:
    """`torch`, `F`, `nn.functional` and what is below them."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "nn", "math", "functional")
