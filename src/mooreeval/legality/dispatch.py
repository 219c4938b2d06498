"""Which of the operators that a forward pass ran are the candidate's to use. Judges what `watch` noted; no torch.

Operators on the list (see `operators`) pass wherever they run. So do arithmetic on sizes and constants that stays on
the CPU and sees nothing of the task's data, and operators that the candidate itself defines: what they run is watched
too. Everything else is computation that PyTorch does in the kernels' place, however small.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mooreeval.legality.operators import TORCH_NAMESPACES, is_allowed
from mooreeval.toolchains.base import Recording
from mooreeval.toolchains.simulator_units import module_name
from mooreeval.verdict import OperatorUse, Place, RuleHit

Origin = Literal["python", "cpp", "hidden"]


@dataclass(frozen=True)
class SeenOperator:
    """Equal calls of one operator in one forward pass."""

    name: str  # "aten::add.Tensor"
    origin: Origin  # who called it: Python, C++, or somebody out of sight
    function: str  # what Python called, "" where that is not known
    line: int | None  # the candidate's line that led to it
    count: int
    moved_bytes: int
    reordered_bytes: int = 0  # that a copy has put into another order, of what is no input as it was given


def operator_uses(seen: Sequence[SeenOperator], code: str, recording: Recording) -> list[OperatorUse]:
    """What a verdict tells of them: those outside the list first, the busiest of each kind first."""
    own = own_namespaces(code, recording)
    uses = [
        OperatorUse(
            name=each.name,
            count=each.count,
            origin=each.origin,
            allowed=_is_allowed(each.name, own),
            place=_place(code, each.line),
            moved_bytes=each.moved_bytes,
        )
        for each in seen
    ]
    return sorted(uses, key=lambda use: (use.allowed, -use.moved_bytes, -use.count, use.name))


def operator_hits(seen: Sequence[SeenOperator], code: str, recording: Recording, policy: str) -> list[RuleHit]:
    """The rules that they break."""
    if policy != "native":
        return []
    own = own_namespaces(code, recording)
    return [_hit(each, code) for each in seen if not _is_allowed(each.name, own)]


def moving_hits(seen: Sequence[SeenOperator], code: str, output_bytes: int, policy: str) -> list[RuleHit]:
    """In a task that only moves elements: copies of PyTorch's that put at least half of an output where it belongs.

    An input may be made contiguous, and a finished output copied as it lies; another order is the kernel's to make.
    """
    movers = [each for each in seen if each.reordered_bytes]
    if policy != "native" or 2 * sum(each.reordered_bytes for each in movers) < max(output_bytes, 1):
        return []
    return [_moving_hit(each, code) for each in movers]


def _moving_hit(each: SeenOperator, code: str) -> RuleHit:
    what = f"{each.function} ({each.name})" if each.function and each.function not in each.name else each.name
    message = f"the task only moves elements, and PyTorch puts them in their places: {what}"
    rule = "torch_compute" if each.origin == "python" else "cpp_torch_compute"
    return RuleHit(rule=rule, message=message, place=_place(code, each.line), evidence=f"operator {each.name}")


def own_namespaces(code: str, recording: Recording) -> frozenset[str]:
    """Of operators that the candidate's own sources define, in C++ or Python."""
    found: set[str] = set()
    for extension in recording.extensions:
        texts = [source.text for source in (*extension.sources, *extension.headers)]
        names = {name for text in texts for name in re.findall(r"\bTORCH_LIBRARY\w*\s*\(\s*(\w+)", text)}
        if "TORCH_EXTENSION_NAME" in names:
            names |= {extension.name, module_name(extension)}
        found |= names
    found |= set(re.findall(r"\b(?:Library|custom_op|define|triton_op)\(\s*[\"'](\w+)(?:::|[\"'])", code))
    return frozenset(found - TORCH_NAMESPACES)


def _is_allowed(name: str, own: frozenset[str]) -> bool:
    namespace = name.partition("::")[0]
    return namespace in own if namespace not in TORCH_NAMESPACES else is_allowed(name)


def _hit(each: SeenOperator, code: str) -> RuleHit:
    times = f", {each.count} times" if each.count > 1 else ""
    place = _place(code, each.line)
    if each.origin == "python":
        called = f"{each.function} ({each.name})" if each.function else each.name
        message = f"the forward pass lets PyTorch compute: {called}{times}"
        return RuleHit(rule="torch_compute", message=message, place=place, evidence=f"operator {each.name}")
    if each.origin == "cpp":
        message = f"C++ of the candidate lets PyTorch compute: {each.name}{times}"
    else:
        message = f"{each.name} runs out of sight, in a thread or an operator of the candidate's own{times}"
    return RuleHit(rule="cpp_torch_compute", message=message, place=place, evidence=f"operator {each.name}")


def _place(code: str, line: int | None) -> Place | None:
    rows = code.splitlines()
    if line is None or not 0 < line <= len(rows):
        return None
    return Place(file="candidate", line=line, text=rows[line - 1].strip()[:200])
