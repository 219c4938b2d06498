"""Expressions and statements of a candidate's Python, followed in the order in which they would run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from mooreeval.legality.python_calls import Calls
from mooreeval.legality.python_names import ENVIRONMENT
from mooreeval.legality.python_state import MOST_FRAMES, Frame
from mooreeval.legality.python_values import (
    ANYTHING,
    NOTHING,
    SOME_DATA,
    TEMP,
    TENSOR,
    Builtin,
    Class,
    Const,
    Function,
    Group,
    Path,
    Scope,
    Value,
    constant,
    data,
    is_data,
    join,
    one,
    truth,
)  # fmt: skip

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip
_BUILTINS = frozenset(dir(builtins))
_MOST_KEYS = 16


class Flow(Calls):
    """Follows every branch that is not certainly dead."""

    # ------------------------------------------------------------------------------------------------------ expressions
    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """What an expression may be."""
        self.step()
        found: Callable[[Any, Scope], Value] | None = getattr(self, f"_eval_{type(node).__name__.lower()}", None)
        if found is not None:
            return found(node, scope)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, scope)
        return ANYTHING

    def _eval_constant(self, node: ast.Constant, _scope: Scope) -> Value:
        return data(node.value)

    def _eval_name(self, node: ast.Name, scope: Scope) -> Value:
        at: Scope | None = scope
        while at is not None:
            if node.id in at.names and (at is scope or not at.is_class):
                return at.names[node.id]
            at = at.outer
        if node.id == "__name__":
            return data("candidate")
        if node.id == "__file__":
            return SOME_DATA
        if node.id in _BUILTINS:
            return one(Builtin(node.id))
        stars = self.module.names.get("*", NOTHING)  # of `from torch import *`
        return self.attribute(stars, node.id, node) if stars else ANYTHING

    def _eval_attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        return self.attribute(self.evaluate(node.value, scope), node.attr, node)

    def _eval_subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        value, index = self.evaluate(node.value, scope), self.evaluate(node.slice, scope)
        return self.element(value, index, node)

    def _eval_slice(self, node: ast.Slice, scope: Scope) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.evaluate(part, scope)
        return SOME_DATA

    def _eval_call(self, node: ast.Call, scope: Scope) -> Value:
        function = self.evaluate(node.func, scope)
        arguments: list[Value] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                arguments += self._spread(self.evaluate(each.value, scope))
            else:
                arguments.append(self.evaluate(each, scope))
        named = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            named[keyword.arg or f"*{len(named)}"] = value if keyword.arg else self.elements(value)
        return self.call(function, arguments, named, node)

    def _spread(self, value: Value) -> list[Value]:
        keyed = [atom.elements for atom in value if isinstance(atom, Group)]
        if len(value) == 1 and keyed and len(keyed[0]) > 1:
            return [keyed[0][str(k)] for k in range(len(keyed[0]) - 1) if str(k) in keyed[0]]
        return [self.elements(value)] * 2

    def _eval_binop(self, node: ast.BinOp, scope: Scope) -> Value:
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.evaluate(chain[-1].left, scope)
        for each in reversed(chain):
            value = self.arithmetic(_OPERATORS[type(each.op)], value, self.evaluate(each.right, scope), each)
        return value

    def _eval_unaryop(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.evaluate(node.operand, scope)
        if isinstance(node.op, ast.Not):
            known = truth(value)
            return SOME_DATA if known is None else data(not known)
        found = constant(value)
        if isinstance(found, int | float) and isinstance(node.op, ast.USub):
            return data(-found)
        return SOME_DATA if is_data(value) else self.arithmetic(_OPERATORS[type(node.op)], value, value, node)

    def _eval_compare(self, node: ast.Compare, scope: Scope) -> Value:
        left, result = self.evaluate(node.left, scope), NOTHING
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node, scope)
            word = _OPERATORS[type(operator)]
            about_none = Const(None) in (left, right) or one(Const(None)) in (left, right)
            if word in ("in", "not in") or about_none:
                word = word if word in ("is", "is not", "in", "not in") else "is" if word == "==" else "is not"
            result = SOME_DATA if word in ("in", "not in") else self.arithmetic(word, left, right, node)
            left = right
        return result if len(node.ops) == 1 else SOME_DATA

    def _eval_boolop(self, node: ast.BoolOp, scope: Scope) -> Value:
        values: list[Value] = []
        for each in node.values:
            value = self.evaluate(each, scope)
            known = truth(value)
            values.append(value)
            if known is not None and known == isinstance(node.op, ast.Or):
                return join(values) if any(truth(v) is None for v in values[:-1]) else value
        return join(v for v in values if truth(v) is None) or values[-1]

    def _eval_ifexp(self, node: ast.IfExp, scope: Scope) -> Value:
        known = truth(self.evaluate(node.test, scope))
        if known is None:
            return join((self.evaluate(node.body, scope), self.evaluate(node.orelse, scope)))
        return self.evaluate(node.body if known else node.orelse, scope)

    def _eval_namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def _eval_tuple(self, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
        values: list[Value] = []
        for each in node.elts:
            inner = each.value if isinstance(each, ast.Starred) else each
            value = self.evaluate(inner, scope)
            values += self._spread(value) if isinstance(each, ast.Starred) else [value]
        keyed = {str(k): v for k, v in enumerate(values)} if len(values) <= _MOST_KEYS else {}
        return one(Group({**keyed, "": join(values)}))

    _eval_list = _eval_tuple
    _eval_set = _eval_tuple

    def _eval_dict(self, node: ast.Dict, scope: Scope) -> Value:
        elements: dict[str, Value] = {}
        every: list[Value] = []
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item, scope)
            name = constant(self.evaluate(key, scope)) if key is not None else ...
            value = self.elements(value) if key is None else value
            every.append(value)
            if name is not ... and len(elements) < _MOST_KEYS:
                elements[str(name)] = value
        return one(Group({**elements, "": join(every)}))

    def _eval_joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        values = [self.evaluate(p.value if isinstance(p, ast.FormattedValue) else p, scope) for p in node.values]
        known = [constant(value) for value in values]
        plain = not any(isinstance(p, ast.FormattedValue) and (p.format_spec or p.conversion > 0) for p in node.values)
        if plain and all(isinstance(k, str | int) and len(str(k)) < 200 for k in known):
            return data("".join(map(str, known)))
        return one(TEMP) if any(TEMP in value for value in values) and self.is_own_file(values) else SOME_DATA

    def _eval_lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        return one(self._function(node, scope))

    def _eval_listcomp(self, node: Any, scope: Scope) -> Value:
        inner = Scope({}, scope)
        for part in node.generators:
            self.assign(part.target, self.elements(self.evaluate(part.iter, inner)), inner)
            for condition in part.ifs:
                self.evaluate(condition, inner)
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key, inner)
            return one(Group({"": self.evaluate(node.value, inner)}))
        return one(Group({"": self.evaluate(node.elt, inner)}))

    _eval_setcomp = _eval_listcomp
    _eval_generatorexp = _eval_listcomp
    _eval_dictcomp = _eval_listcomp

    def _eval_yield(self, node: ast.Yield, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope) if node.value else SOME_DATA
        if self.frames:
            self.frames[-1].yields |= value
        return ANYTHING

    def _eval_yieldfrom(self, node: ast.YieldFrom, scope: Scope) -> Value:
        if self.frames:
            self.frames[-1].yields |= self.elements(self.evaluate(node.value, scope))
        return ANYTHING

    # -------------------------------------------------------------------------------------------------------- functions
    def _function(self, node: Any, scope: Scope, owner: Class | None = None, **kind: bool) -> Function:
        key = ("function", id(node), id(scope))
        if key not in self.memo:
            spec = node.args
            plain = [*spec.posonlyargs, *spec.args]
            defaults = dict(zip([a.arg for a in plain[len(plain) - len(spec.defaults) :]], spec.defaults, strict=True))
            defaults |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
            values = tuple((name, self.evaluate(default, scope)) for name, default in defaults.items())
            self.memo[key] = one(Function(node, scope, values, owner, **kind))
        (made,) = self.memo[key]
        return made

    def run(
        self, function: Function, receiver: Any, arguments: list[Value], named: dict[str, Value], node: ast.AST
    ) -> Value:
        """Follow a function's body for these arguments, once for each kind of them."""
        key = (function, receiver, tuple(arguments), tuple(sorted(named.items(), key=lambda i: i[0])), self.forward,
               self.fallback > 0)  # fmt: skip
        if key in self.memo:
            return self.memo[key]
        if len(self.frames) > MOST_FRAMES:
            return ANYTHING
        self.memo[key] = NOTHING
        self.followed.add(function.node)
        if function.is_cached and self.forward and any(_is_tensor(v) for v in (*arguments, *named.values())):
            self.accuse("cached_result", node, "cache", "results are kept by their tensor arguments")
        scope = Scope(self._bindings(function, receiver, arguments, named), _enclosing(function.scope))
        frame = Frame(function, receiver)
        self.frames.append(frame)
        try:
            if isinstance(function.node, ast.Lambda):
                result = self.evaluate(function.node.body, scope)
            else:
                self.execute(function.node.body, scope)
                result = one(Group({"": frozenset(frame.yields)})) if frame.yields else frozenset(frame.returns)
        finally:
            self.frames.pop()
        self.memo[key] = result or data(None)
        return self.memo[key]

    def _bindings(
        self, function: Function, receiver: Any, arguments: list[Value], named: dict[str, Value]
    ) -> dict[str, Value]:
        spec = function.node.args
        given = list(arguments)
        if receiver is not None and not function.is_static:
            given.insert(0, one(receiver))
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        bound: dict[str, Value] = dict(function.defaults)
        bound |= dict(zip(names, given, strict=False))
        extra = {k: v for k, v in named.items() if k not in names and k not in {a.arg for a in spec.kwonlyargs}}
        bound |= {k: v for k, v in named.items() if k not in extra}
        if spec.vararg:
            rest = given[len(names) :]
            keyed = {str(k): v for k, v in enumerate(rest)} if len(rest) <= _MOST_KEYS else {}
            bound[spec.vararg.arg] = one(Group({**keyed, "": join(rest)}))
        if spec.kwarg:
            bound[spec.kwarg.arg] = one(Group({**extra, "": join(extra.values())}))
        for name in (*names, *(a.arg for a in spec.kwonlyargs)):
            bound.setdefault(name, ANYTHING)
        return bound

    # ------------------------------------------------------------------------------------------------------- assignment
    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """`target = value`."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value, scope)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.evaluate(target.value, scope), target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            held, index = self.evaluate(target.value, scope), self.evaluate(target.slice, scope)
            self._set_element(held, index, value, target)
        elif isinstance(target, ast.Tuple | ast.List):
            for number, each in enumerate(target.elts):
                if isinstance(each, ast.Starred):
                    self.assign(each.value, one(Group({"": self.elements(value)})), scope)
                else:
                    self.assign(each, self._unpacked(value, number), scope)

    def _unpacked(self, value: Value, number: int) -> Value:
        found = []
        for atom in value:
            keyed = atom.elements.get(str(number)) if isinstance(atom, Group) else None
            found.append(keyed if keyed is not None else self.elements(one(atom)))
        return join(found) or ANYTHING

    def _set_element(self, held: Value, index: Value, value: Value, node: ast.AST) -> None:
        for atom in held:
            if isinstance(atom, Group):
                if self.dead:
                    continue
                key = constant(index)
                if key is not ...:
                    atom.elements[str(key)] = join((atom.elements.get(str(key), NOTHING), value))
                atom.elements[""] = join((atom.elements.get("", NOTHING), value))
            elif isinstance(atom, Path):
                self._set_item_of_path(atom.name, index, node)
            else:
                self.element(one(atom), index, node)  # of a tensor: filling by an index that is a tensor computes

    def _set_item_of_path(self, path: str, index: Value, node: ast.AST) -> None:
        if path == "os.environ":
            if constant(index) not in ENVIRONMENT:
                self.accuse("process", node, f"os.environ[{constant(index)!r}]", "a variable of the environment is set")
        else:
            self.accuse("patching", node, path, f"an element of `{path}` is replaced")

    def bind(self, name: str, value: Value, scope: Scope) -> None:
        """A name of this scope, or of the one that it is declared to belong to."""
        if self.dead and name in scope.declared_global | scope.declared_nonlocal:
            return
        if name in scope.declared_global:
            self.module.names[name] = join((self.module.names.get(name, NOTHING), value))
        elif name in scope.declared_nonlocal:
            at = scope.outer
            while at is not None and name not in at.names:
                at = at.outer
            if at is not None:
                at.names[name] = join((at.names[name], value))
        else:
            scope.names[name] = value


def _enclosing(scope: Scope) -> Scope | None:
    """Where a function looks for names: a class body is not part of that."""
    at: Scope | None = scope
    while at is not None and at.is_class:
        at = at.outer
    return at


def _is_tensor(value: Value) -> bool:
    return TENSOR in value
