"""Typed mutations of CUDA candidates: one small change each, and what it plants.

    for mutant in mutants(code): mutant.rule.name, mutant.rule.planted, mutant.code, mutant.line

A rule is a function from the tokens of one CUDA string to places where it applies. `planted` names what the change
does to a right candidate. `shown` says whether that follows from the text alone, whatever the sizes: then the rule's
docstring is the argument, and the places it takes are only those for which the argument holds. Where it does not
follow (a changed constant may not matter), a GPU has to say. The rules are in `mutations_of_memory`, for what runs and
may well give right values, and `mutations_of_values`, for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import mutations_of_memory  # importing them registers their rules, in this order
import mutations_of_values
from cuda_text import cuda_texts, edited
from mutation_places import NOTHING, RULES, SILENT, Rule

from mooreeval.hashing import content_hash

__all__ = ["NOTHING", "RULES", "SILENT", "Mutant", "Rule", "mutants"]
_MODULES = (mutations_of_memory, mutations_of_values)


@dataclass(frozen=True)
class Mutant:
    rule: Rule
    code: str
    line: int  # 1-based, of the first change
    was: str  # that line before
    now: str  # and after

    @property
    def code_hash(self) -> str:
        return content_hash(self.code)


def mutants(code: str) -> list[Mutant]:
    """Every mutant of a candidate's Python file, rules in their order, places from top to bottom, each code once."""
    found: dict[str, Mutant] = {}
    for text in cuda_texts(code):
        for each in RULES.values():
            for place in each.places(text):
                new = edited(code, place)
                if new != code and new not in found:
                    found[new] = _mutant(each, code, new)
    return sorted(found.values(), key=lambda m: list(RULES).index(m.rule.name))


def _mutant(each: Rule, old: str, new: str) -> Mutant:
    """Named by the first line that differs; an edit never adds or removes a line."""
    pairs = list(zip(old.splitlines(), new.splitlines(), strict=True))
    line = next(number for number, (was, now) in enumerate(pairs, 1) if was != now)
    return Mutant(each, new, line, pairs[line - 1][0].strip(), pairs[line - 1][1].strip())
