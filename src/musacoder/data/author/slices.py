"""Kernels of operators over slices: reductions, normalisations, softmaxes, losses.

Every kernel walks a slice once for each pass, combines what its threads have, and then walks it again for its result.
How the threads share a slice is a `Team`; the rest is the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from musacoder.data.author import chain
from musacoder.data.author.sample import slice_axes
from musacoder.data.author.source import Index, Kernel, flat_index
from musacoder.data.author.writing import Writing
from musacoder.data.operators import CATALOGUE, Pass, Sliced
from musacoder.data.operators.types import whole

INITIAL = {"sum": "0.0f", "max": "-INFINITY", "min": "INFINITY"}
JOINED = {"sum": "{a} + {b}", "max": "fmaxf({a}, {b})", "min": "fminf({a}, {b})"}


@dataclass
class Slices(Writing):
    """An operator over slices that is being written, with the point-wise operators before and after it."""

    def __post_init__(self) -> None:
        operator = CATALOGUE[self.node.operator]
        assert isinstance(operator, Sliced)
        self.operator = operator
        self.outer, self.length, self.inner = slice_axes(operator, self.x.shape, self.node.parameters)
        if self.before:
            self.pre = chain.Function(self.source, "pre", self.before, self.tensors)
        roles = zip(operator.operands, self.node.inputs[1:], strict=True)
        self.roles = {o.role: (o.place, self.tensors[name]) for o, name in roles}

    @property
    def rows(self) -> int:
        """The number of slices."""
        return self.outer * self.inner


@dataclass
class Team:
    """How threads share a slice: the lines that say which is whose, where each begins, its step, how they combine."""

    head: list[str]
    start: str
    step: str
    combine: Callable[[list[Pass]], list[str]]  # lines that leave each pass's whole in its variable, in all threads
    leader: str = ""  # condition of the thread that writes a slice's number; "": all threads have one of their own
    cached: str = ""  # where element {j} lies that was read before


def length_of(stage: Slices, kernel: Kernel) -> str:
    x, axis = stage.x.name, whole(stage.node.parameters, "dim", -1)
    if stage.operator.slices == "plane":
        return kernel.size("d", stage.x.shape[2:], f"{x}.size(2) * {x}.size(3)")
    if stage.operator.slices == "group":
        groups = whole(stage.node.parameters, "groups")
        factors = (stage.x.shape[1] // groups, *stage.x.shape[2:])
        return kernel.size("d", factors, f"{x}.numel() / ({x}.size(0) * {groups})")
    return kernel.size("d", stage.length, f"{x}.size({axis})")


def rows_of(stage: Slices, kernel: Kernel | None) -> str:
    x, shape = stage.x.name, stage.x.shape
    if stage.operator.slices == "plane":
        factors, host = shape[:2], f"{x}.size(0) * {x}.size(1)"
    elif stage.operator.slices == "group":
        groups = whole(stage.node.parameters, "groups")
        factors, host = (shape[0], groups), f"{x}.size(0) * {groups}"
    else:
        axis = whole(stage.node.parameters, "dim", -1)
        factors = tuple(size for k, size in enumerate(shape) if k != axis % len(shape))
        host = f"{x}.numel() / {x}.size({axis})"
    return (kernel.size if kernel else stage.source.size)("rows", factors, host)


def place_of(stage: Slices, kernel: Kernel, j: str) -> str:
    """The element `j` of the slice `row` in the tensor."""
    d = length_of(stage, kernel)
    if stage.inner == 1:
        return f"row * {d} + {j}"
    inner = inner_of(stage, kernel)
    if stage.outer == 1:
        return f"{j} * {inner} + row"
    return f"(row / {inner} * {d} + {j}) * {inner} + row % {inner}"


def inner_of(stage: Slices, kernel: Kernel) -> str:
    shape, axis = stage.x.shape, whole(stage.node.parameters, "dim", -1) % len(stage.x.shape)
    x = stage.x.name
    host = " * ".join(f"{x}.size({k})" for k in range(axis + 1, len(shape)))
    return kernel.size("inner", shape[axis + 1 :], host)


def index_of(stage: Slices, kernel: Kernel, j: str, i: str) -> Index:
    """Where operands stand beside the element `j` of a slice, whose place in the tensor is `i`."""
    known = {"slice": "row"}
    is_last = stage.inner == 1 and stage.operator.slices in ("any", "last")
    if is_last:
        known |= {"row": j, "column": "row"}
    flat = flat_index(kernel, stage.x.name, stage.x.shape, i, known)

    def index(place: str) -> str:
        if place != "feature":
            return flat(place)
        channels = stage.x.shape[1]
        if stage.operator.slices == "plane":
            return f"row % {kernel.size('channels', channels, f'{stage.x.name}.size(1)')}"
        groups = whole(stage.node.parameters, "groups")
        pixels = kernel.size("pixels", stage.x.shape[2:], f"{stage.x.name}.size(2) * {stage.x.name}.size(3)")
        return f"row % {groups} * {channels // groups} + {j} / {pixels}"

    return index


def load_of(stage: Slices, kernel: Kernel, j: str, team: Team) -> str:
    """The value of element `j` after the operators before."""
    if team.cached:
        return team.cached.format(j=j)
    return loaded(stage, kernel, j)


def loaded(stage: Slices, kernel: Kernel, j: str) -> str:
    place = place_of(stage, kernel, j)
    value = f"{kernel.read(stage.x)}[{place}]"
    return stage.pre.call(kernel, value, index_of(stage, kernel, j, place)) if stage.pre else value


def _roles(stage: Slices, kernel: Kernel, j: str, text: str) -> dict[str, str]:
    """What stands for the operands that a template names."""
    index = index_of(stage, kernel, j, place_of(stage, kernel, j))
    named = {role: value for role, value in stage.roles.items() if f"{{{role}}}" in text}
    return {role: f"{kernel.read(spec)}[{index(place)}]" for role, (place, spec) in named.items()}


def expression_of(stage: Slices, kernel: Kernel, text: str, roles: dict[str, str]) -> str:
    """A template of the catalogue with constants, operands and the slice's length."""
    text = re.sub(r"\bd\b", length_of(stage, kernel), text) if re.search(r"\bd\b", text) else text
    picked = ""
    if "{picked}" in text:
        spec = stage.roles["t"][1]
        place = place_of(stage, kernel, f"{kernel.read(spec)}[row]")
        picked = f"{kernel.read(stage.x)}[{place}]"
        if stage.pre:
            picked = stage.pre.call(kernel, picked, index_of(stage, kernel, f"{kernel.read(spec)}[row]", place))
    return text.format(picked=picked, **chain.constants_text(stage.operator, stage.node), **roles)


def waves(passes: Sequence[Pass]) -> list[list[Pass]]:
    """Passes that need nothing of one another go over the slice together."""
    waves: list[list[Pass]] = []
    for one in passes:
        needs = waves and any(re.search(rf"\b{other.name}\b", one.term) for other in waves[-1])
        if waves and not needs:
            waves[-1].append(one)
        else:
            waves.append([one])
    return waves


def _walk(stage: Slices, kernel: Kernel, team: Team, wave: list[Pass], j: str = "j") -> list[str]:
    """One loop over the slice that combines a thread's own share."""
    d = length_of(stage, kernel)
    roles = _roles(stage, kernel, j, " ".join(one.term for one in wave))
    lines, update = [], []
    for one in wave:
        lines.append(f"float {one.name} = {INITIAL[one.combine]};")
    used = {role: sum(one.term.count(f"{{{role}}}") for one in wave) for role in roles}
    reads = [f"float {role}_j = {read};" for role, read in roles.items() if used[role] > 1]
    named = {role: f"{role}_j" if used[role] > 1 else read for role, read in roles.items()}
    for one in wave:
        term = expression_of(stage, kernel, one.term, named)
        joined = (
            f"{one.name} += {term};"
            if one.combine == "sum"
            else f"{one.name} = {JOINED[one.combine].format(a=one.name, b=term)};"
        )
        update.append(joined)
    load = load_of(stage, kernel, j, team)
    loop = f"for (int {j} = {team.start}; {j} < {d}; {j}{'++' if team.step == '1' else f' += {team.step}'})"
    uses = len(re.findall(r"\bv\b", " ".join(update)))
    if len(update) == 1 and uses == 1 and not reads:
        return [*lines, loop, "    " + re.sub(r"\bv\b", lambda _m: load, update[0])]
    body = [*([f"float v = {load};"] if uses else []), *reads, *update]
    return [*lines, loop + " {", *(f"    {line}" for line in body), "}"]


def passes(stage: Slices, kernel: Kernel, team: Team) -> list[str]:
    lines: list[str] = []
    for wave in waves(stage.operator.passes):
        lines += _walk(stage, kernel, team, wave)
        lines += team.combine(wave)
        for one in wave:
            if one.final:
                final = expression_of(stage, kernel, one.final.replace("{0}", one.name), {})
                short = f"{one.name} / "
                is_short = final.startswith(short) and " " not in final[len(short) :]
                lines.append(f"{one.name} /= {final[len(short) :]};" if is_short else f"{one.name} = {final};")
    return lines


def finished(stage: Slices, kernel: Kernel, team: Team) -> list[str]:
    """The lines that write the slice's number, or its new values."""
    out = kernel.write(stage.out)
    if stage.operator.reduces:
        shape = next(iter(stage.after)).output.shape if stage.after else stage.node.output.shape
        index = flat_index(kernel, stage.out, shape, "row")
        result = f"float v = {expression_of(stage, kernel, stage.operator.result, {})};"
        lines = [result, *chain.lines(stage.after, stage.tensors, kernel, index)]
        lines = chain.stored(stage.source, lines, f"{out}[row]")
        if not team.leader:
            return lines
        if len(lines) == 1:
            return [f"if ({team.leader}) {lines[0]}"]
        return [f"if ({team.leader}) {{", *(f"    {line}" for line in lines), "}"]
    place = place_of(stage, kernel, "j")
    step = "j++" if team.step == "1" else f"j += {team.step}"
    loop = f"for (int j = {team.start}; j < {length_of(stage, kernel)}; {step}) {{"
    return [loop, *(f"    {line}" for line in mapped(stage, kernel, load_of(stage, kernel, "j", team), place)), "}"]


def mapped(stage: Slices, kernel: Kernel, load: str, place: str) -> list[str]:
    out = kernel.write(stage.out)
    each = expression_of(stage, kernel, stage.operator.each, _roles(stage, kernel, "j", stage.operator.each))
    uses = len(re.findall(r"\bv\b", each))
    lines = []
    if uses > 1:
        lines.append(f"float v = {load};")
        lines.append(f"v = {each};")
    else:
        lines.append("float v = " + re.sub(r"\bv\b", lambda _m: load, each) + ";")
    lines += chain.lines(stage.after, stage.tensors, kernel, index_of(stage, kernel, "j", place))
    return chain.stored(stage.source, lines, f"{out}[{place}]")


def assemble(stage: Slices, kernel: Kernel, team: Team) -> None:
    kernel.body = [*team.head, *passes(stage, kernel, team), *finished(stage, kernel, team)]
