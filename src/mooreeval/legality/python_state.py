"""What the reading of a candidate's Python knows while it goes on, and how it accuses."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from mooreeval.legality.python_values import ANYTHING, NOTHING, Function, Path, Scope, Value, constant
from mooreeval.legality.rules import MAX_EVIDENCE, Accusation, shown

MOST_STEPS = 400_000  # an honest answer takes a few thousand
MOST_FRAMES = 80


class TooMuch(Exception):
    """The text would take longer to follow than anyone waits."""


@dataclass(frozen=True)
class Setting:
    """What the judge knows beside the text."""

    native: bool = True  # policy: PyTorch may not compute in the forward path
    single: bool = False  # the task's inputs are of single precision
    inputs: tuple[Value, ...] | None = None  # of forward; None: not known
    init_inputs: tuple[Value, ...] | None = None
    returns: dict[str, str] = field(default_factory=dict)  # extension function -> "tensor", "data"; else unknown


@dataclass
class Frame:
    """A function that is being followed."""

    function: Function | None
    receiver: Any
    returns: set[Any] = field(default_factory=set)
    yields: set[Any] = field(default_factory=set)


class State:
    """Common to all that follows expressions, calls and statements."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.forward = False  # in the forward path; else in what prepares for it
        self.dead = 0  # depth of what is certainly not reached
        self.fallback = 0  # depth of handlers of exceptions
        self.steps = 0
        self.accusations: dict[tuple[str, int], Accusation] = {}
        self.kernels: set[str] = set()  # functions of extensions called in the forward path; "*": any
        self.hooks: list[Value] = []
        self.frames: list[Frame] = []
        self.memo: dict[Any, Value] = {}
        self.followed: set[ast.AST] = set()  # functions that were
        self.module = Scope({})

    # ------------------------------------------------------------------------------------------------------- accusing
    def accuse(self, rule: str, node: ast.AST, evidence: str, message: str) -> None:
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0) + 1
        self.accusations.setdefault(
            (rule, line), Accusation(rule, line, shown(evidence, MAX_EVIDENCE), message, column)
        )

    def computes(self, node: ast.AST, evidence: str, *, rule: str = "torch_compute", who: str = "PyTorch") -> None:
        """Something computes that is not the candidate's kernel: an offence in the forward path alone."""
        if not (self.forward and self.setting.native):
            return
        words = shown(evidence, 60)
        if self.fallback and rule == "torch_compute":
            self.accuse("fallback_branch", node, evidence, f"`{words}`: PyTorch computes where the own kernel fails")
        else:
            self.accuse(rule, node, evidence, f"`{words}` is computation by {who} in the forward path")

    def low_precision(self, node: ast.AST, evidence: str) -> None:
        if self.setting.single and not self.dead:
            words = shown(evidence, 60)
            self.accuse("low_precision", node, evidence, f"`{words}`: the task asks for single precision")

    # ------------------------------------------------------------------------------------------------------------ steps
    def step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.give_up()

    def give_up(self) -> NoReturn:
        raise TooMuch

    # ------------------------------------------------------------------------------------ what the parts ask of another
    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        raise NotImplementedError

    def execute(self, body: Sequence[ast.stmt], scope: Scope) -> bool:
        raise NotImplementedError

    def call(self, value: Value, arguments: list[Value], named: dict[str, Value], node: ast.AST) -> Value:
        raise NotImplementedError

    def attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        raise NotImplementedError

    def set_attribute(self, value: Value, name: str, new: Value, node: ast.AST) -> None:
        raise NotImplementedError

    def element(self, value: Value, index: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def elements(self, value: Value) -> Value:
        raise NotImplementedError

    def arithmetic(self, operator: str, left: Value, right: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def run(
        self, function: Function, receiver: Any, arguments: list[Value], named: dict[str, Value], node: ast.AST
    ) -> Value:
        raise NotImplementedError


def words_of(node: ast.AST) -> str:
    """A piece of code as words: short, whatever it is."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 8:
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):
        return f"{words_of(node.func)}(...)" + "".join(f".{p}" for p in reversed(parts))
    head = node.id if isinstance(node, ast.Name) else "super()" if isinstance(node, ast.Call) else "..."
    return ".".join([head, *reversed(parts)])


def path_of(value: Value) -> str | None:
    """The full name of what is imported, where a value is one such thing."""
    names = [atom.name for atom in value if isinstance(atom, Path)]
    return names[0] if len(names) == 1 and len(value) == 1 else None


def text_of(value: Value) -> str | None:
    found = constant(value)
    return found if isinstance(found, str) else None


__all__ = ["ANYTHING", "NOTHING", "Frame", "Setting", "State", "TooMuch", "path_of", "text_of", "words_of"]
