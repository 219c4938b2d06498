"""What an examination has found of a task so far, and the outcome that follows from it. No torch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from mooreeval.admission import Impostor, Outcome, Reason, Variation
from mooreeval.execute.schedule import PLAIN
from mooreeval.verdict import Shape

Key = tuple[str, str]  # name and place of an impostor

# In words for whoever wrote the task: what would pass for right.
WORDS = {
    "zeros": "an output of zeros",
    "constant": "the mean of an earlier output",
    "stale": "the output for other inputs",
    "input": "an input returned as it is",
    "mean": "each slice's mean in place of its elements",
    "permuted": "slices in another order",
    "dropped": "an output whose last slice was never written",
    "tail": "an output whose last elements were never written",
    "half": "the whole module in float16",
    "bfloat16": "the whole module in bfloat16",
    "half_inputs": "inputs and weights rounded to float16",
    "tf32": "products of operands rounded to TF32",
    "ignored": "other values of an input",
    "unread": "an input whose last slice was never read",
}
_UNSEEN = {"weight": "a change of these is not seen", "limit": "nobody misses these"}  # is no reason to be weak
_SHOWN_PLACES = 3
ILL_CONDITIONED = 0.01  # of its values' size: a reference whose own rounding is that large excuses everything


@dataclass
class Examined:
    """Everything found; `outcome` and the rest follow from it at any time."""

    shapes: tuple[Shape, ...] = ()
    forward_seconds: float | None = None
    noise: float = 0.0  # the largest difference of float32 and float64, as a share of the values' size
    notes: list[Reason] = field(default_factory=list)
    variations: list[Variation] = field(default_factory=list)
    _refusals: list[Reason] = field(default_factory=list)
    _told_by: dict[Key, list[str]] = field(default_factory=dict)  # of each that could be made
    _effects: dict[Key, bool] = field(default_factory=dict)  # whether a changed input or weight changed a bit

    @property
    def is_refused(self) -> bool:
        return bool(self._refusals)

    def refuse(self, kind: str, message: str) -> None:
        self._refusals.append(Reason(kind=kind, message=message))

    def note(self, kind: str, message: str) -> None:
        self.notes.append(Reason(kind=kind, message=message))

    def variation(self, name: str, why_not: str | None) -> None:
        self.variations.append(Variation(name=name, allowed=why_not is None, why_not=why_not))

    # ------------------------------------------------------------------------------------------------------- impostors
    def is_open(self, name: str, at: str, under: str) -> bool:
        """Whether a run is still worth its time: never tried, or not yet told by anything."""
        told = self._told_by.get((name, at))
        return not told if told is not None else under == PLAIN

    def any_open(self) -> bool:
        """Whether there is an impostor that nothing has told."""
        return not all(self._told_by.values())

    def impostors_told(self, found: dict[Key, bool | None], under: str) -> None:
        """What the comparison said of each impostor under these inputs; None is of one that could not be made."""
        for key, told in found.items():
            if told is None or (under != PLAIN and key not in self._told_by):
                continue
            by = self._told_by.setdefault(key, [])
            if told and under not in by:
                by.append(under)

    def run_told(self, name: str, at: str, under: str, *, told: bool, same: bool) -> None:
        """The same of a run of the task with one thing changed."""
        self.impostors_told({(name, at): told}, under)
        if name in ("ignored", "weight"):
            self._effects[name, at] = self._effects.get((name, at), False) or not same

    def refuse_what_has_no_effect(self) -> None:
        """After the plain trials: outputs that never change, inputs that change nothing."""
        stale = {at: by for (name, at), by in self._told_by.items() if name == "stale"}
        if stale and not any(stale.values()):
            if self.noise > ILL_CONDITIONED:
                said = f"float32 and float64 differ by {self.noise:.2g} of its values' size: nothing is told apart"
                self.refuse("ill_conditioned", said)
            else:
                self.refuse("constant", "its output is the same for other inputs, within the tolerance")
            return
        for (name, path), has_effect in self._effects.items():
            if name == "ignored" and not has_effect:
                self.refuse("ignores_input", f"other values of {path} change no bit of its output")

    def qualify(self, said: str) -> None:
        """Add a remark to every refusal."""
        self._refusals = [r.model_copy(update={"message": r.message + said}) for r in self._refusals]

    # --------------------------------------------------------------------------------------------------------- outcome
    def impostors(self) -> tuple[Impostor, ...]:
        return tuple(
            Impostor(name=name, at=at, told_by=tuple(by), passes=not by)
            for (name, at), by in self._told_by.items()
            if name != "weight" and (by or name != "limit")
        )

    def outcome(self) -> tuple[Outcome, tuple[Reason, ...]]:
        """The outcome, and why it is no better."""
        if self._refusals:
            return Outcome.REFUSED, tuple(self._refusals)
        places: dict[str, list[str]] = defaultdict(list)
        for impostor in self.impostors():
            if impostor.passes:
                places[impostor.name].append(impostor.at)
        reasons = tuple(
            Reason(kind=name, message=f"{WORDS[name]} would pass{_places(at)}") for name, at in places.items()
        )
        return (Outcome.WEAK if reasons else Outcome.ADMITTED), reasons

    def all_notes(self) -> tuple[Reason, ...]:
        """Notes, and the weights and limits whose change was not seen."""
        told = [
            Reason(kind=f"{kind}s_without_effect", message=f"{said}: {', '.join(unseen)}")
            for kind, said in _UNSEEN.items()
            if (unseen := [at for (name, at), by in self._told_by.items() if name == kind and not by])
        ]
        return (*self.notes, *told)

    def needs(self) -> tuple[str, ...]:
        """The fewest variations by which everything is told that the plain inputs do not tell; greedily chosen."""
        names = [v.name for v in self.variations if v.allowed]
        left = [set(i.told_by) & set(names) for i in self.impostors() if PLAIN not in i.told_by]
        left = [by for by in left if by]
        chosen: list[str] = []
        while left:
            best = max(names, key=lambda name: sum(name in by for by in left))
            chosen.append(best)
            left = [by for by in left if best not in by]
        return tuple(chosen)


def _places(places: list[str]) -> str:
    named = [place for place in places if place]
    more = f" and {len(named) - _SHOWN_PLACES} more" if len(named) > _SHOWN_PLACES else ""
    return f" ({', '.join(named[:_SHOWN_PLACES])}{more})" if named else ""
