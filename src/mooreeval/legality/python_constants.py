"""Operators between what is known: constants, facts of the task, nothing."""

from __future__ import annotations

from typing import Any

from mooreeval.legality import python_names as names
from mooreeval.legality.python_values import (
    INPUT_DTYPE,
    SOME_DATA,
    UNKNOWN,
    Const,
    Method,
    Path,
    Value,
    constant,
    data,
    one,
)  # fmt: skip


def folded(operator: str, left: Value, right: Value) -> Value | None:
    """Constants and facts of the task, where the result is certain."""
    if operator in ("is", "is not"):
        return _identity(operator, left, right)
    if operator in ("==", "!=", "in", "not in") and (INPUT_DTYPE in left or INPUT_DTYPE in right):
        return None if operator in ("in", "not in") else _of_dtypes(operator, left | right)
    one_side, other = constant(left), constant(right)
    if one_side is ... or other is ...:
        return None
    try:
        return _computed(operator, one_side, other)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError, KeyError):
        return SOME_DATA


def _computed(operator: str, left: Any, right: Any) -> Value | None:
    if operator == "+" and isinstance(left, str) and isinstance(right, str) and len(left) + len(right) < 2000:
        return data(left + right)
    if operator == "%" and isinstance(left, str) and left.count("%") == left.count("%s") and len(left) < 500:
        return data(left % right)
    if operator in ("==", "!="):
        return data((left == right) is (operator == "=="))
    if operator in ("<", ">", "<=", ">=") and all(isinstance(v, int | float) for v in (left, right)):
        return data({"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator])
    return SOME_DATA


def _identity(operator: str, left: Value, right: Value) -> Value:
    if right == one(Const(None)) and left:
        if left == right:
            return data(operator == "is")
        if Const(None) not in left and UNKNOWN not in left and not any(isinstance(a, Method) for a in left):
            return data(operator != "is")
    return SOME_DATA


def _of_dtypes(operator: str, atoms: Value) -> Value:
    """A comparison of an input's dtype with one that no input of a task in single precision has."""
    others = [a.name.removeprefix("torch.") for a in atoms if isinstance(a, Path)]
    if len(others) == 1 and len(atoms) == 2 and others[0] in names.LOW_DTYPES | {"float64", "double"}:
        return data(operator == "!=")
    return SOME_DATA
