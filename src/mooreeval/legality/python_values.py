"""What a name in a candidate's Python may stand for: sets of a few kinds of things, as far as text can tell.

A value is a frozenset of atoms. `TENSOR in value` says that it may be one; `only(value, TENSOR)` that it is nothing
else. What can't be told is `UNKNOWN`, and nobody is accused for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_ATOMS = 24


@dataclass(frozen=True)
class Kind:
    """An atom without parts."""

    name: str


TENSOR = Kind("tensor")  # of PyTorch; NumPy arrays made of one count as ARRAY
ARRAY = Kind("array")
DATA = Kind("data")  # numbers, sizes, strings, options: nothing that computes
UNKNOWN = Kind("unknown")
TEMP = Kind("own file")  # a path that lies in a folder made by the candidate
FILE = Kind("other file")  # a path that may lie anywhere
INPUT_DTYPE = Kind("dtype of a tensor")
INPUT_DEVICE = Kind("device of a tensor")


@dataclass(frozen=True)
class Const:
    """A constant that is known: text, number, bool, None."""

    value: Any


@dataclass(frozen=True)
class Path:
    """Something imported, by its full name."""

    name: str


@dataclass(frozen=True)
class Builtin:
    name: str


@dataclass(frozen=True)
class Extension:
    """What `load_inline` or `load` returned."""


@dataclass(frozen=True)
class Kernel:
    """A function of an extension; "*" for any of them."""

    name: str


@dataclass(frozen=True, eq=False)
class Scope:
    """Names of a function, class or module; `outer` is where the others are looked for."""

    names: dict[str, frozenset]
    outer: Scope | None = None
    is_class: bool = False
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)


@dataclass(frozen=True, eq=False)
class Function:
    """A function or lambda of the candidate's own; equal where text and scope are the same."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    defaults: tuple[tuple[str, frozenset], ...] = ()
    owner: Class | None = None
    is_static: bool = False
    is_class_method: bool = False
    is_property: bool = False
    is_cached: bool = False  # by functools.lru_cache or cache


@dataclass(frozen=True)
class Bound:
    """A method with what it is called on."""

    function: Function
    receiver: Any


@dataclass(frozen=True, eq=False)
class Class:
    """A class of the candidate's own. `attributes` holds those of all its instances too."""

    node: ast.ClassDef
    scope: Scope
    bases: tuple[Any, ...]
    attributes: dict[str, frozenset]


@dataclass(frozen=True)
class Instance:
    of: Class


@dataclass(frozen=True)
class Super:
    of: Class
    receiver: Any


@dataclass(frozen=True, eq=False)
class Group:
    """A list, tuple, set, dict, iterator or container of modules: the join of what is in it."""

    elements: dict[str, frozenset]  # "" holds all; constant keys hold their own too
    layer: str = ""  # "Sequential" and the like, where calling it calls what is in it


@dataclass(frozen=True)
class Layer:
    """A module of PyTorch, e.g. "Conv2d": holding it is fine, calling it computes."""

    name: str


@dataclass(frozen=True)
class Method:
    """A method of something that is not the candidate's own."""

    receiver: Any
    name: str


@dataclass(frozen=True)
class Partial:
    function: frozenset
    arguments: tuple[frozenset, ...]


Value = frozenset
NOTHING: Value = frozenset()
ANYTHING: Value = frozenset((UNKNOWN,))
SOME_DATA: Value = frozenset((DATA,))
A_TENSOR: Value = frozenset((TENSOR,))


def one(atom: Any) -> Value:
    return frozenset((atom,))


def join(values: Iterable[Value]) -> Value:
    """Any of these; many different constants are data, many different things are anything."""
    every: set[Any] = set()
    for value in values:
        every |= value
    if len(every) > MAX_ATOMS:
        every = {atom for atom in every if not isinstance(atom, Const)} | {DATA}
    if len(every) > 4 * MAX_ATOMS:  # what may not be lost sight of stays
        return frozenset({UNKNOWN, *(atom for atom in every if isinstance(atom, Path | Builtin))})
    return frozenset(every)


def only(value: Value, *atoms: Any) -> bool:
    """Whether a value is certainly one of these; None may stand beside them, as it would fail anyway."""
    rest = value - {Const(None)}
    return bool(rest) and rest <= frozenset(atoms)


def constant(value: Value) -> Any:
    """The one constant that a value is; `...` where it is not."""
    if len(value) == 1:
        (atom,) = value
        if isinstance(atom, Const):
            return atom.value
    return ...


def is_data(value: Value) -> bool:
    """Whether a value is certainly plain data."""
    return bool(value) and all(isinstance(a, Const) or a in (DATA, INPUT_DTYPE, INPUT_DEVICE) for a in value)


def data(value: Any) -> Value:
    """A constant, where it is short enough to be worth knowing."""
    known = value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) < 500)
    return one(Const(value)) if known else SOME_DATA


def truth(value: Value) -> bool | None:
    """What a condition comes to, where that is certain."""
    found: set[bool] = set()
    for atom in value:
        if not isinstance(atom, Const):
            return None
        found.add(bool(atom.value))
    return found.pop() if len(found) == 1 else None
