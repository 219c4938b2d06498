"""A candidate's Python, read: what it may do before and in its forward path, and which rules that breaks.

The text is followed as it would run: the module, the constructor of `ModelNew`, then its forward; what nobody reaches
is followed for itself, so that nothing is hidden in it. `python_values` says what a name may stand for.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from mooreeval.legality.python_scan import scan
from mooreeval.legality.python_state import Setting, TooMuch
from mooreeval.legality.python_statements import Statements
from mooreeval.legality.python_values import (
    ANYTHING,
    NOTHING,
    TENSOR,
    UNKNOWN,
    Bound,
    Class,
    Function,
    Instance,
    Kernel,
    Scope,
    Value,
    one,
)  # fmt: skip
from mooreeval.legality.rules import Accusation
from mooreeval.source_text import SyntaxProblem, parse_python

MODEL = "ModelNew"
RECURSION = 12_000  # deeper than any text that Python itself compiles
_CALLED_BY_PYTHON = ("__getattr__", "__getattribute__", "__setattr__", "__del__", "_call_impl", "_wrapped_call_impl")
_AN_INPUT: Value = frozenset((TENSOR, UNKNOWN))


@dataclass(frozen=True)
class PythonReading:
    """What was found, and which functions of its extensions the forward path calls."""

    accusations: tuple[Accusation, ...]
    kernels: frozenset[str]  # "*": any


def read_python(code: str, setting: Setting) -> PythonReading:
    """Read one candidate. Text that is no Python is nobody's offence: it will not run."""
    tree = parse_python(code)
    if isinstance(tree, SyntaxProblem):
        return PythonReading((), frozenset("*"))
    reader = Reader(setting)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        scan(reader, tree)
        reader.read(tree)
    except (TooMuch, RecursionError, MemoryError):
        reader.accuse("unreadable_source", tree, "", "the candidate's Python is too large or too deep to be followed")
        reader.kernels.add("*")
    finally:
        sys.setrecursionlimit(limit)
    return PythonReading(tuple(reader.accusations.values()), frozenset(reader.kernels))


class Reader(Statements):
    """Follows one file."""

    def read(self, tree: ast.Module) -> None:
        self.execute(tree.body, self.module)
        models = self.module.names.get(MODEL, NOTHING)
        if models and not any(isinstance(atom, Class) for atom in models):
            self.accuse("hidden_model", tree, MODEL, f"`{MODEL}` is no class that can be read")
        made = [self._made(atom) for atom in models if isinstance(atom, Class)]
        for value in made:
            for _ in range(2):  # what the first pass leaves on the module is there in the second
                self._forward(value, tree)
        self._rest(tree)

    def _made(self, model: Class) -> Value:
        """What the judge's call of the class gives."""
        given = self.setting.init_inputs
        return self._instance(model, list(given) if given is not None else [ANYTHING] * 16, {}, model.node)

    def _forward(self, value: Value, tree: ast.Module) -> None:
        self.forward = True
        self.memo = {key: made for key, made in self.memo.items() if key[0] == "function"}
        for atom in value:
            if isinstance(atom, Instance):
                self._forward_of(atom)
            else:
                self.call(one(atom), list(self.setting.inputs or ()), {}, tree)
        for hook in self.hooks:
            self.call(hook, [ANYTHING, _AN_INPUT, _AN_INPUT], {}, tree)
        self.forward = False

    def _forward_of(self, instance: Instance) -> None:
        """Whatever a call of the model may run."""
        model = instance.of
        called = self.attribute(one(instance), "forward", model.node)
        own = self.lookup(model, "__call__")
        if not any(isinstance(a, Function | Bound | Kernel) or a not in (UNKNOWN,) for a in called | own):
            self.accuse("hidden_model", model.node, "forward", "what `forward` is can't be told")
        for value in (called, own):
            for atom in value:
                bound = Bound(atom, instance) if isinstance(atom, Function) and atom.owner else atom
                inputs = self._inputs(atom)
                self.forward = _takes(bound, len(inputs))  # else Python refuses the call, and nothing of it runs
                self.call(one(bound), inputs, {}, model.node)
                self.forward = True
        for name in _CALLED_BY_PYTHON:
            for atom in self.lookup(model, name):
                if isinstance(atom, Function):
                    self.run(atom, instance, [ANYTHING, ANYTHING], {}, model.node)

    def _inputs(self, atom: object) -> list[Value]:
        """The task's inputs, or what the parameters say of themselves."""
        if self.setting.inputs is not None:
            return list(self.setting.inputs)
        function = atom.function if isinstance(atom, Bound) else atom
        if not isinstance(function, Function):
            return [_AN_INPUT] * 4
        spec = function.node.args
        names = [*spec.posonlyargs, *spec.args]
        takes_self = isinstance(atom, Bound) or (function.owner and not function.is_static)
        return [_annotated(a) for a in (names[1:] if takes_self else names)]

    def _rest(self, tree: ast.Module) -> None:
        """Functions that nothing reached: they may be reached in a way that text does not show."""
        self.forward = False
        for function in _functions(tree):
            if function not in self.followed:
                spec = function.args
                count = len(spec.posonlyargs) + len(spec.args)
                self.run(Function(function, Scope({}, self.module)), None, [ANYTHING] * count, {}, function)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node


def _takes(called: object, count: int) -> bool:
    """Whether a function of the candidate's own can be called with so many arguments."""
    function = called.function if isinstance(called, Bound) else called
    if not isinstance(function, Function):
        return True
    spec = function.node.args
    names = len(spec.posonlyargs) + len(spec.args) - isinstance(called, Bound)
    required = names - len(spec.defaults)
    missing = any(default is None for default in spec.kw_defaults)
    return not missing and required <= count and (count <= names or spec.vararg is not None)


def _annotated(parameter: ast.arg) -> Value:
    annotation = parameter.annotation
    name = annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "")
    if name == "Tensor":
        return one(TENSOR)
    return ANYTHING if name else _AN_INPUT
