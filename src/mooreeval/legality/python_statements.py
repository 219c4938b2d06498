"""Statements of a candidate's Python: branches are followed and joined, loops twice."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from mooreeval.legality.python_flow import Flow
from mooreeval.legality.python_imports import imported
from mooreeval.legality.python_names import TENSOR_HOOKS
from mooreeval.legality.python_scan import is_main_test
from mooreeval.legality.python_values import (
    ANYTHING,
    NOTHING,
    Bound,
    Class,
    Function,
    Path,
    Scope,
    Value,
    data,
    join,
    one,
    truth,
)  # fmt: skip


class Statements(Flow):
    """`execute` says whether what follows is still reached."""

    def execute(self, body: Sequence[ast.stmt], scope: Scope) -> bool:
        """Follow statements in order."""
        for number, node in enumerate(body):
            self.step()
            found: Callable[[Any, Scope], bool | None] | None = getattr(
                self, f"_do_{type(node).__name__.lower()}", None
            )
            if found is not None and found(node, scope) is False:
                self._follow_dead(body[number + 1 :], scope)
                return False
        return True

    def _follow_dead(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """What seems not to be reached computes and changes nothing; it may seem so to us alone: tampering counts."""
        if not body:
            return
        names, forward = dict(scope.names), self.forward
        returns = set(self.frames[-1].returns) if self.frames else set()
        self.forward, self.dead = False, self.dead + 1
        self.execute(body, scope)
        self.forward, self.dead = forward, self.dead - 1
        scope.names.clear()
        scope.names.update(names)
        if self.frames:
            self.frames[-1].returns = returns

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        self.evaluate(node.value, scope)

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.evaluate(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, scope), scope)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        load: Any = node.target
        as_binary = ast.copy_location(ast.BinOp(_loaded(load), node.op, node.value), node)
        self.assign(node.target, self.evaluate(as_binary, scope), scope)

    def _do_delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                held = self.evaluate(target.value, scope)
                self.set_attribute(frozenset(a for a in held if isinstance(a, Path)), target.attr, NOTHING, target)

    def _do_return(self, node: ast.Return, scope: Scope) -> bool:
        value = self.evaluate(node.value, scope) if node.value else data(None)
        if self.frames:
            self.frames[-1].returns |= value
        return False

    def _do_raise(self, node: ast.Raise, scope: Scope) -> bool:
        for part in (node.exc, node.cause):
            if part is not None:
                self.evaluate(part, scope)
        return False

    def _do_assert(self, node: ast.Assert, scope: Scope) -> None:
        self.evaluate(node.test, scope)
        if node.msg is not None:
            self.evaluate(node.msg, scope)

    def _do_break(self, _node: ast.Break, _scope: Scope) -> bool:
        return False

    _do_continue = _do_break

    def _do_global(self, node: ast.Global, scope: Scope) -> None:
        scope.declared_global.update(node.names)

    def _do_nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.declared_nonlocal.update(node.names)

    # --------------------------------------------------------------------------------------------------------- branches
    def _do_if(self, node: ast.If, scope: Scope) -> bool:
        known = truth(self.evaluate(node.test, scope))
        if known is not None:
            if not is_main_test(node.test):
                self._follow_dead(node.orelse if known else node.body, scope)
            return self.execute(node.body if known else node.orelse, scope)
        return self._branches([node.body, node.orelse], scope)

    def _branches(self, bodies: Sequence[Sequence[ast.stmt]], scope: Scope) -> bool:
        """Each from the same beginning; afterwards a name is what any branch that goes on made of it."""
        before = dict(scope.names)
        ends: list[dict[str, Value]] = []
        for body in bodies:
            scope.names.clear()
            scope.names.update(before)
            if self.execute(body, scope):
                ends.append(dict(scope.names))
        scope.names.clear()
        for name in {name for end in ends for name in end} if ends else before:
            scope.names[name] = join([end.get(name, NOTHING) for end in ends]) if ends else before[name]
        return bool(ends)

    def _do_while(self, node: ast.While, scope: Scope) -> bool | None:
        for _ in range(2):
            if truth(self.evaluate(node.test, scope)) is False:
                break
            self._branches([node.body, []], scope)
        return self.execute(node.orelse, scope)

    def _do_for(self, node: ast.For, scope: Scope) -> bool:
        for _ in range(2):
            inside = self.elements(self.evaluate(node.iter, scope))
            self.assign(node.target, inside, scope)
            self._branches([node.body, []], scope)
        return self.execute(node.orelse, scope)

    _do_asyncfor = _do_for

    def _do_with(self, node: ast.With, scope: Scope) -> bool:
        for item in node.items:
            value = self.evaluate(item.context_expr, scope)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, scope)
        return self.execute(node.body, scope)

    _do_asyncwith = _do_with

    def _do_try(self, node: ast.Try, scope: Scope) -> bool:
        before = dict(scope.names)
        goes_on = self.execute([*node.body, *node.orelse], scope)
        ends = [dict(scope.names)] if goes_on else []
        middle = {n: join((before.get(n, NOTHING), v)) for n, v in scope.names.items()}
        self.fallback += 1
        for handler in node.handlers:
            scope.names.clear()
            scope.names.update(middle)
            if handler.name:
                scope.names[handler.name] = ANYTHING
            if self.execute(handler.body, scope):
                ends.append(dict(scope.names))
        self.fallback -= 1
        scope.names.clear()
        for name in {n for end in (ends or [middle]) for n in end}:
            scope.names[name] = join([end.get(name, NOTHING) for end in (ends or [middle])])
        return self.execute(node.finalbody, scope) and bool(ends)

    _do_trystar = _do_try

    def _do_match(self, node: ast.Match, scope: Scope) -> bool:
        subject = self.evaluate(node.subject, scope)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.bind(name, join((subject, self.elements(subject))), scope)
            if case.guard is not None:
                self.evaluate(case.guard, scope)
        return self._branches([*(case.body for case in node.cases), []], scope)

    # ------------------------------------------------------------------------------------------------------ definitions
    def _do_functiondef(self, node: ast.FunctionDef, scope: Scope) -> None:
        owner = self._owner(scope)
        words = [_word(d) for d in node.decorator_list]
        kind = {
            "is_static": "staticmethod" in words,
            "is_class_method": "classmethod" in words,
            "is_property": any(w in ("property", "cached_property") for w in words),
            "is_cached": any(w in ("lru_cache", "cache") for w in words),
        }
        value = one(self._function(node, scope, owner, **kind))
        for decorator, word in reversed(list(zip(node.decorator_list, words, strict=True))):
            by = self.evaluate(decorator, scope)
            if any(isinstance(a, Function | Bound) for a in by):
                value = join((self.call(by, [value], {}, decorator), value))
            elif word in ("setter", "getter", "deleter"):
                value = join((scope.names.get(node.name, NOTHING), value))
        self.bind(node.name, value, scope)

    _do_asyncfunctiondef = _do_functiondef

    def _owner(self, scope: Scope) -> Class | None:
        found = scope.names.get("*class", NOTHING) if scope.is_class else NOTHING
        return next((a for a in found if isinstance(a, Class)), None)

    def _do_classdef(self, node: ast.ClassDef, scope: Scope) -> None:
        bases = join([self.evaluate(b.value if isinstance(b, ast.Starred) else b, scope) for b in node.bases])
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg == "metaclass" and value != one(Path("abc.ABCMeta")):
                self.accuse("hidden_model", node, f"class {node.name}", "a metaclass decides what the class is")
        for base in bases:
            if isinstance(base, Path) and base.name in ("torch.Tensor", "torch.nn.Parameter", "torch.nn.Buffer"):
                words = f"class {node.name}({base.name})"
                self.accuse("tensor_subclass", node, words, f"`{words}`: a tensor decides what its operators do")
        inner = Scope({}, scope, is_class=True)
        made = Class(node, inner, tuple(bases), inner.names)
        inner.names["*class"] = one(made)
        self.execute(node.body, inner)
        for name in TENSOR_HOOKS & set(inner.names):
            self.accuse("tensor_subclass", node, name, f"`{name}` decides what PyTorch's operators do")
        value = one(made)
        for decorator in reversed(node.decorator_list):
            by = self.evaluate(decorator, scope)
            if any(isinstance(a, Function | Bound) for a in by):
                value = join((self.call(by, [value], {}, decorator), value))
        self.bind(node.name, value, scope)

    # ------------------------------------------------------------------------------------------ modules
    def _do_import(self, node: ast.Import, scope: Scope) -> None:
        for name, value in imported(self, node).items():
            self.bind(name, value, scope)

    _do_importfrom = _do_import


def _loaded(node: ast.expr) -> ast.expr:
    """The same expression, read."""
    if isinstance(node, ast.Name):
        return ast.copy_location(ast.Name(node.id, ast.Load()), node)
    if isinstance(node, ast.Attribute):
        return ast.copy_location(ast.Attribute(node.value, node.attr, ast.Load()), node)
    if isinstance(node, ast.Subscript):
        return ast.copy_location(ast.Subscript(node.value, node.slice, ast.Load()), node)
    return node


def _word(decorator: ast.expr) -> str:
    """The last name of a decorator."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
