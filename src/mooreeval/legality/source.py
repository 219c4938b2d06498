"""Legality by source: which rules a candidate's text breaks, before anything of it is built.

    Python ── python_source ──> which functions of its extensions the forward path calls
    C++    ── cpp_source ─────> what these, and all other code, may do

Runs in a child of the judge's: text is hostile to whoever parses it. Everything is bounded, nothing of it is executed.
"""

from __future__ import annotations

from collections.abc import Iterable

from mooreeval.legality.cpp_source import read_cpp
from mooreeval.legality.python_source import read_python
from mooreeval.legality.python_state import Setting
from mooreeval.legality.python_values import A_TENSOR, ANYTHING, SOME_DATA, Value
from mooreeval.legality.rules import NATIVE_ONLY, Accusation, ordered
from mooreeval.toolchains.base import Extension, Recording
from mooreeval.toolchains.locate import SourceMap
from mooreeval.verdict import Place, RuleHit

_KINDS: dict[str, Value] = {"tensor": A_TENSOR, "data": SOME_DATA}


def broken_rules(
    code: str,
    extensions: tuple[Extension, ...],
    *,
    native: bool = True,
    single: bool = False,
    inputs: Iterable[str] | None = None,
    init_inputs: Iterable[str] | None = None,
) -> tuple[RuleHit, ...]:
    """The rules that a candidate breaks by its source, the gravest first.

    Args:
        code: its Python.
        extensions: what it asked to have compiled.
        native: policy `native`; else `mixed`, under which PyTorch and libraries may compute beside its kernels.
        single: floating inputs and weights of the task are of single precision.
        inputs: kinds of forward's arguments, "tensor", "data" or "other"; None where they are not known.
        init_inputs: the same of the constructor's.
    """
    cpp = read_cpp(extensions, single)
    setting = Setting(native, single, _values(inputs), _values(init_inputs), cpp.program.returns())
    python = read_python(code, setting)
    found = [*python.accusations, *cpp.accusations, *cpp.computing(python.kernels)]
    places = SourceMap(code, Recording(extensions))
    return ordered(_hit(a, places, code) for a in found if native or a.rule not in NATIVE_ONLY)


def _values(kinds: Iterable[str] | None) -> tuple[Value, ...] | None:
    return None if kinds is None else tuple(_KINDS.get(kind, ANYTHING) for kind in kinds)


def _hit(accusation: Accusation, places: SourceMap, code: str) -> RuleHit:
    if accusation.source != "candidate":
        place = places.place(accusation.source, accusation.line, accusation.column)
        if place.file == "candidate":
            place = place.model_copy(update={"column": None})
    else:
        rows = code.split("\n")
        text = rows[accusation.line - 1].strip()[:200] if 0 < accusation.line <= len(rows) else ""
        place = Place(file="candidate", line=accusation.line, column=accusation.column, text=text or None)
    return RuleHit(rule=accusation.rule, message=accusation.message, place=place, evidence=accusation.evidence or None)
