"""Typed mutations of CUDA candidates: one small change each, and what it plants.

    for mutant in mutants(code): mutant.rule.name, mutant.rule.planted, mutant.code, mutant.line

A rule is a function from the tokens of one CUDA string to places where it applies. `planted` names what the change
does to a right candidate. `shown` says whether that follows from the text alone, whatever the sizes: then the rule's
docstring is the argument, and the places it takes are only those for which the argument holds. Where it does not
follow (a changed constant may not matter), a judge has to say.

    memory      what runs and may well give right values: races, accesses out of bounds, barriers
    values      values, host code and what a compiler refuses; changes that do no harm
    operators   lost operators and changed types
    fallbacks   PyTorch computes: these need the task, and come from `mutants_of_task` only

Simulator and GPU are compared on `MEASURED`, the first two (`benchmarks/agreement.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mooreeval.hashing import content_hash
from musacoder.data.mutations import fallbacks as _fallbacks
from musacoder.data.mutations import memory, operators, values
from musacoder.data.mutations.places import NOTHING, SILENT, Kind, Rule
from musacoder.data.mutations.text import cuda_texts, edited

__all__ = ["MEASURED", "NOTHING", "RULES", "SILENT", "Kind", "Mutant", "Rule", "mutants", "mutants_of_task"]
MEASURED: Mapping[str, Rule] = {**memory.rule, **values.rule}
RULES: Mapping[str, Rule] = {**MEASURED, **operators.rule, **_fallbacks.RULES}


@dataclass(frozen=True)
class Mutant:
    """A changed candidate."""

    rule: Rule
    code: str
    line: int  # 1-based, of the first change
    was: str  # that line before
    now: str  # and after

    @property
    def code_hash(self) -> str:
        """SHA-256 (hex) of the changed file."""
        return content_hash(self.code)


def mutants(code: str, rules: Mapping[str, Rule] = MEASURED) -> list[Mutant]:
    """Every mutant of a candidate's Python file, rules in their order, places from top to bottom, each code once."""
    found: dict[str, Mutant] = {}
    for text in cuda_texts(code):
        for each in rules.values():
            for place in each.places(text):
                new = edited(code, place)
                if new != code and new not in found:
                    found[new] = _mutant(each, code, new)
    return sorted(found.values(), key=lambda m: list(rules).index(m.rule.name))


def mutants_of_task(task_code: str, code: str) -> list[Mutant]:
    """Every mutant of a right answer that plants something, fallbacks among them."""
    found = {m.code: m for m in mutants(code, RULES) if m.rule.planted != NOTHING}
    for rule, new in _fallbacks.fallbacks(task_code, code):
        if new not in found:
            found[new] = _mutant(rule, code, new)
    return list(found.values())


def _mutant(each: Rule, old: str, new: str) -> Mutant:
    """Named by the first line that differs."""
    before, after = old.splitlines(), new.splitlines()
    pairs = zip(before, after, strict=False)
    line = next((number for number, (was, now) in enumerate(pairs, 1) if was != now), min(len(before), len(after)))
    return Mutant(each, new, line, before[line - 1].strip(), after[line - 1].strip())
