"""The qualified name in a mangled C++ symbol (Itanium ABI), as far as namespaces, classes and functions go.

No demangler: template arguments and parameters are not looked at. `_ZN2at4_ops6matmul4callERKNS_6TensorES4_` is
("at", "_ops", "matmul", "call"). What is mangled in a way that begins with no plain name is ().
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"_Z(?:T[VTISWHF]|GV|GR|Tc?[hv]n?\d+_(?:n?\d+_)?)?")
_STANDARD = {"t": (), "a": ("allocator",), "b": ("basic_string",), "s": ("string",), "i": ("istream",),
             "o": ("ostream",), "d": ("iostream",)}  # fmt: skip
_OPERATORS = {
    "nw": "new", "na": "new[]", "dl": "delete", "da": "delete[]", "ls": "<<", "rs": ">>", "pl": "+", "mi": "-",
    "ml": "*", "dv": "/", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "aS": "=", "cl": "()",
    "ix": "[]", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "nt": "!", "ng": "-", "pp": "++", "mm": "--", "de": "*",
    "ad": "&", "pt": "->", "li": '""',
}  # fmt: skip


def qualified_name(symbol: str) -> tuple[str, ...]:
    """Namespaces, classes and function, outermost first; a C symbol as itself alone."""
    symbol = symbol.partition("@")[0]
    if not symbol.startswith("_Z"):
        return (symbol,)
    begin = _SPECIAL.match(symbol)
    assert begin is not None
    rest = symbol[begin.end() :].lstrip("Z")  # what is local to a function is named after it
    return tuple(_nested(rest[1:]) if rest.startswith("N") else _parts(rest, most=1))


def _nested(rest: str) -> list[str]:
    return _parts(re.sub(r"^[rVK]*[RO]?", "", rest))


def _parts(rest: str, most: int | None = None) -> list[str]:
    """Plain names from the front, until something else comes."""
    parts: list[str] = []
    while rest and (most is None or len(parts) < most):
        if rest.startswith("S") and rest[1:2] in _STANDARD and not parts:
            parts += ["std", *_STANDARD[rest[1]]]
            rest = rest[2:]
            most = most + 1 if most is not None else None
        elif number := re.match(r"L?(\d+)", rest):
            end = number.end() + int(number[1])
            parts.append(rest[number.end() : end])
            rest = rest[end:]
        elif tag := re.match(r"B(\d+)", rest):  # [abi:cxx11]
            rest = rest[tag.end() + int(tag[1]) :]
        elif rest[:2] in _OPERATORS:
            parts.append(f"operator{_OPERATORS[rest[:2]]}")
            rest = rest[2:]
        elif parts and rest[0] in "CD" and rest[1:2].isdigit():
            parts.append(("~" if rest[0] == "D" else "") + parts[-1])
            break
        else:
            break
    return parts
