"""Admissions for people: a table of tasks, and for one task everything that was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mooreeval.admission import Admission, Outcome, Reason
from mooreeval.feedback import plain, reduced_size
from mooreeval.render import print_whole

OUTCOME_STYLES = {Outcome.ADMITTED: "bold green", Outcome.WEAK: "bold yellow", Outcome.REFUSED: "bold red"}


def print_admissions(console: Console, admissions: Sequence[Admission], *, verbose: bool = False) -> None:
    """Each task with its outcome and reasons; `verbose` adds notes, impostors and variations."""
    print_whole(console, Group(*(_entry(admission, verbose) for admission in admissions)))


def summary(outcomes: Sequence[Outcome], not_judged: int) -> str:
    """How many of each, in one line."""
    counts = [f"{outcomes.count(outcome)} {outcome.value}" for outcome in Outcome]
    return ", ".join([*counts, *([f"{not_judged} not judged"] if not_judged else [])])


def _entry(admission: Admission, verbose: bool) -> RenderableType:
    head = Text().append(f"{admission.outcome.value:<9}", OUTCOME_STYLES[admission.outcome]).append(_line(admission))
    parts: list[RenderableType] = [head, *(_reason(r, "red") for r in admission.reasons)]
    if admission.needs:
        parts.append(_item(f"told only by other inputs: {', '.join(admission.needs)}", "cyan"))
    if verbose:
        parts += _details(admission)
    return Group(*parts)


def _line(admission: Admission) -> str:
    return f" {plain(admission.task_id)}"


def _reason(reason: Reason, style: str) -> RenderableType:
    return _indented(Text().append(reason.kind, style).append(f"  {plain(reason.message)}"), 2)


def _item(text: str, style: str) -> RenderableType:
    return _indented(Text(plain(text), style), 2)


def _indented(content: RenderableType, columns: int) -> RenderableType:
    return Padding(content, (0, 0, 0, columns), expand=False)


def _details(admission: Admission) -> Iterator[RenderableType]:
    yield from (_reason(note, "dim") for note in admission.notes)
    yield _indented(_impostors(admission), 2)
    for variation in admission.variations:
        said = "allowed" if variation.allowed else f"not allowed: {variation.why_not}"
        yield _item(f"inputs {variation.name}: {said}", "dim")
    if admission.reductions:
        sizes = ", ".join(reduced_size(r) for r in admission.reductions)
        yield _item(f"run with smaller sizes: {sizes}", "dim")
    seconds = sum(admission.stage_seconds.values())
    facts = [f"backend {admission.backend}", f"protocol {admission.protocol}", f"seed {admission.seed}"]
    yield _item(" · ".join([*facts, f"{seconds:.1f} s"]), "dim")


def _impostors(admission: Admission) -> RenderableType:
    """One row for each kind of impostor: how many were tried, and what it took to tell them."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("impostor", "tried", "told by"):
        table.add_column(name, justify="right" if name == "tried" else "left")
    for name in dict.fromkeys(i.name for i in admission.impostors):
        kind = [i for i in admission.impostors if i.name == name]
        by = dict.fromkeys("nothing" if i.passes else i.told_by[0] for i in kind)
        table.add_row(name, str(len(kind)), ", ".join(by))
    return table
