"""The search for smaller sizes of one task.

Sizes keep what is wished of them (reduce_wishes) as far as a few times the aim pays for it. Each stage lets sizes down
to lower floors. Within a stage: one run probes the effect of each size, a plan follows from power laws, and one run
confirms it; only values that a run has confirmed are kept. A run that fails, or turns a dimension into 0 or 1, refuses
its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from mooreeval.errors import TaskError
from mooreeval.execute.fake_run import Cost, FakeRun, quick_run, tensors_in
from mooreeval.execute.reduce_ladder import ladder, powers_below
from mooreeval.execute.reduce_literals import Literals, Tie
from mooreeval.execute.reduce_plan import Exponents, Lever, Plan, excess, exponents, planned, within
from mooreeval.execute.reduce_sites import Site, find_sites, with_values
from mooreeval.execute.reduce_sizes import LARGEST_SMALL, Kind, Size, is_power, shapes_of, sizes_of
from mooreeval.execute.reduce_wishes import Wish, rests_on_all, wishes

_PAIRS_TRIED = 6  # sizes that may have to be joined
_TRIES = 4  # values of one size that are tried where the model refuses one
_TRUSTED = 1.5  # a prediction that is off by more has its exponents measured again
_WORTH_IT = 0.2  # the exponent from which a carried size is given up
_WISHES_COST = 5  # times the aim
_THIRD_TILE_COST = 2
_CORRECTIONS = 6  # of a choice of wishes by a run
_COINCIDENCES = frozenset(1 << power for power in range(11))  # derived sizes equal to block sizes by accident


@dataclass(frozen=True)
class Stage:
    """How small each kind of size may become; a kind that is not named stays."""

    floors: Mapping[Kind, int]
    aim_factor: int = 1  # times the budget's aim


STAGES = (
    Stage({"batch": 8, "size": 256}),
    Stage({"batch": 4, "size": 64}),
    Stage({"batch": 2, "size": 32}),
    Stage({"batch": 2, "size": 16, "small": 8}, aim_factor=4),
    Stage({"batch": 2, "size": 4, "small": 4, "semantic": 2}),  # for the ceiling only
)
_ORDINARY = 3  # the stages after which a task begins to lose its character


@dataclass
class Search:
    """State: the values of all sizes, each confirmed by a run, and what was learnt on the way."""

    code: str
    literals: Literals
    now: FakeRun  # at the current values
    # What an earlier search came to. This one is careful: whatever may be a relation between a size and the candidate
    # counts, and no size becomes smaller than there, so that what was found in the earlier one's sizes is found again.
    earlier: Mapping[Site, int] | None = None
    sizes: list[Size] = field(default_factory=list)
    values: dict[Size, int] = field(default_factory=dict)
    kept: set[Size] = field(default_factory=set)  # not to be touched: the candidate carries them
    given_up: list[Size] = field(default_factory=list)  # kept at first, and touched nonetheless
    keeping_tiles: bool = True  # no size loses its residue modulo the candidate's tile
    _wishes: dict[Size, list[Wish]] = field(default_factory=dict)  # the first one is in force, the last one needed
    _wished: dict[Size, Wish] = field(default_factory=dict)  # what was the first one
    _carried: set[Size] = field(default_factory=set)  # the candidate seems to be written for them
    _fixed: set[Size] = field(default_factory=set)  # the model allows no other value, or it has no effect
    _effects: dict[Size, Exponents] = field(default_factory=dict)
    _runs: dict[tuple[int, ...], FakeRun | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = sizes_of(find_sites(self.code))
        self.values = {size: size.original for size in self.sizes}
        self._shapes = shapes_of(self.now)
        inputs = tensors_in(self.now.inputs)
        self._rows = {tensor.shape[0] for tensor in inputs if tensor.dim() == 2}

    @property
    def careful(self) -> bool:
        """Whether relations that are guessed count."""
        return self.earlier is not None

    def reach(self, aim: Callable[[int], Cost], ceiling: Cost) -> None:
        """Lowers sizes towards `aim(factor)`; gives up sizes that the candidate carries only above the ceiling."""
        self._join_inseparable_sizes()
        aim = self._aim_past_constant_grids(aim)
        self._carried = {size for size in self.sizes if self._is_carried(size)}
        self.kept = {size for size in self.sizes if size in self._carried or (self.careful and self._may_be(size))}
        self._keep_what_determines_carried_shapes()
        self._make_wishes()
        self._drop_wishes(aim(_THIRD_TILE_COST), self._is_of_a_third_tile)
        self._drop_wishes(aim(_WISHES_COST))
        self._run_stages(aim, ceiling)
        for _correction in range(_CORRECTIONS):
            if within(self.now.cost, aim(_WISHES_COST)) or not self._drop_wish():
                break
            self._run_stages(aim, ceiling)
        self._wishes = {size: ways[-1:] for size, ways in self._wishes.items()}
        self._give_up(self.kept - self._carried, aim, ceiling)
        if not within(self.now.cost, ceiling):
            self.keeping_tiles = False
            self._fixed.clear()
            self._effects.clear()
            self._run_stages(lambda _factor: ceiling, ceiling)
        self._give_up(self.kept, aim, ceiling)

    def _give_up(self, kept: set[Size], aim: Callable[[int], Cost], ceiling: Cost) -> None:
        """Lowers kept sizes one by one where the cost is above the ceiling."""
        for size in sorted(kept, key=lambda size: (size.kind != "batch", -size.original, size.name)):
            if within(self.now.cost, ceiling):
                return
            self.kept.remove(size)
            if self._helps(size, ceiling):
                self.given_up.append(size)
                self._run_stages(aim, ceiling)
            else:
                self.kept.add(size)

    def _helps(self, size: Size, ceiling: Cost) -> bool:
        """Whether lowering the size would bring the cost noticeably nearer to the ceiling."""
        lever = self._lever(size, STAGES[-1])
        parts = excess(self.now.cost, ceiling)
        return lever is not None and any(getattr(lever.effect, part) >= _WORTH_IT for part in parts)

    def _run_stages(self, aim: Callable[[int], Cost], ceiling: Cost) -> None:
        # Kept sizes alone must not drive the others below the ordinary stages.
        aimed = STAGES[:_ORDINARY] if self.kept else STAGES[: _ORDINARY + 1]
        for stage in aimed:
            wished = stage is STAGES[_ORDINARY - 1] and any(len(ways) > 1 for ways in self._wishes.values())
            self._reach_in_stage(aim(stage.aim_factor), stage, at_any_rate=wished or stage is aimed[-1])
        for stage in STAGES[len(aimed) :]:
            self._reach_in_stage(ceiling, stage, at_any_rate=True)

    def _reach_in_stage(self, aim: Cost, stage: Stage, at_any_rate: bool) -> None:
        """Lowers sizes until the cost is within the aim. Where no plan promises that, a later stage will do better."""
        while not within(self.now.cost, aim):
            levers = [lever for size in self.sizes if (lever := self._lever(size, stage))]
            plan = planned(self.values, self.now.cost, aim, levers)
            if not plan.moved or not (at_any_rate or within(plan.cost, aim)):
                return
            if not self._accept(plan) and not self._accept_singly(plan, stage):
                return

    def _join_inseparable_sizes(self) -> None:
        """Joins two sizes that the model refuses to change alone but not together, in proportion."""
        stage = STAGES[_ORDINARY - 1]
        refused = [
            size
            for size in self.sizes
            if self._options(size, self.values, LARGEST_SMALL) and not self._probe(size, stage)
        ]
        if not refused:
            return
        late = STAGES[_ORDINARY]
        refused = [size for size in self.sizes if size.kind in late.floors and not self._probe(size, late)]
        for first, second in list(combinations(refused, 2))[:_PAIRS_TRIED]:
            if first in self.sizes and second in self.sizes:
                self._join(first, second, late)

    def _join(self, first: Size, second: Size, stage: Stage) -> None:
        base = min(first, second, key=lambda size: size.original)
        joined = Size(base.name, base.original, base.kind, (*first.sites, *second.sites))
        state = self.sizes, self.values, self._runs
        self.sizes = [joined, *(size for size in self.sizes if size not in (first, second))]
        self.values = {size: size.original for size in self.sizes}
        self._runs = {}
        if not self._probe(joined, stage):
            self.sizes, self.values, self._runs = state

    # ---------------------------------------------------------------------------------------------------------- wishes
    def forced(self) -> list[Size]:
        """Sizes that the candidate seems to rest on, changed for want of means."""
        lost = {size for size in self.given_up if size in self._carried}
        lost |= {size for size, ways in self._wishes.items() if size.kind != "batch" and not self._has(size, ways[-1])}
        return [size for size in self.sizes if size in lost and self._changed(size)]

    def doubtful(self) -> list[Size]:
        """Sizes that were changed, and that the candidate may rest on; a careful search treats them otherwise."""
        return [size for size in self.sizes if self._changed(size) and self._is_doubtful(size)]

    def _is_doubtful(self, size: Size) -> bool:
        if size.kind == "batch" and not self._is_tiled(size):
            return False
        wish = self._wished.get(size, Wish())
        power_lost = is_power(size.original) and not is_power(self.values[size])
        return power_lost or self._may_be(size) or (size.original - self.values[size]) % wish.modulus != 0

    def _changed(self, size: Size) -> bool:
        return self.values[size] != size.original

    def _has(self, size: Size, wish: Wish) -> bool:
        return wish.grants(size.original, self.values[size])

    def _others(self, size: Size) -> frozenset[int]:
        """Dimensions that are not this size."""
        others = {other.original for other in self.sizes} | set(self._shapes.values())
        return frozenset(others - {size.original})

    def _make_wishes(self) -> None:
        for size in self.sizes:
            if size.kind in ("size", "small") or (size.kind == "batch" and self._is_tiled(size)):
                ways = wishes(size.original, self.literals, self._others(size), careful=self.careful)
                self._wished[size] = ways[0]
                self._wishes[size] = [*ways, Wish()] if size.kind == "batch" else ways

    def _is_tiled(self, size: Size) -> bool:
        """Whether a batch is the rows of a matrix. That of images is walked, not tiled."""
        return size.original in self._rows

    def _is_of_a_third_tile(self, wish: Wish) -> bool:
        return wish.above > 0 and wish.above not in self.literals.all

    def _drop_wishes(self, means: Cost, which: Callable[[Wish], bool] = lambda _wish: True) -> None:
        """Drops such wishes until the means seem to suffice."""
        stage = STAGES[_ORDINARY - 1]
        while not within(self.now.cost, means):
            levers = [lever for size in self.sizes if (lever := self._lever(size, stage))]
            plan = planned(self.values, self.now.cost, means, levers)
            if within(plan.cost, means) or not self._drop_wish(which):
                return

    def _drop_wish(self, which: Callable[[Wish], bool] = lambda _wish: True) -> bool:
        """Drops such a wish of the size that has to stay largest for it."""
        free = [size for size in self.sizes if size not in self.kept]
        left = [s for s in free if len(self._wishes.get(s, ())) > 1 and which(self._wishes[s][0])]
        if left:
            largest = max(left, key=lambda size: (self._wishes[size][0].least(size.original), size.kind == "batch"))
            del self._wishes[largest][0]
        return bool(left)

    def _aim_past_constant_grids(self, aim: Callable[[int], Cost]) -> Callable[[int], Cost]:
        """A larger aim where otherwise a grid of constant size would reach each element, and does not at first."""
        elements = max(self._shapes.values(), default=1)
        for threads in sorted(self.literals.threads, reverse=True):
            wanted = 2 * threads * self.now.cost.elements // elements
            factor = -(-wanted // aim(1).elements)
            if threads < elements and 1 < factor <= _WISHES_COST:
                return lambda times: aim(times * factor)
        return aim

    # ------------------------------------------------------------------------------------------------ carried literals
    def _is_carried(self, size: Size) -> bool:
        """Whether the candidate carries this size. A batch that equals a block size does so by accident."""
        if size.kind == "batch":
            return size.original in self.literals.sizes
        return self.literals.carry(size.original) or self._tie(size) == "written for"

    def _tie(self, size: Size) -> Tie | None:
        return self.literals.tie(size.original, self._others(size))

    def _may_be(self, size: Size) -> bool:
        """Whether the candidate may rest on just this size."""
        if size.kind == "semantic" or (size.kind == "batch" and not self._is_tiled(size)):
            return False
        return bool(self._tie(size)) or rests_on_all(size.original, self.literals, self._others(size))

    def _keep_what_determines_carried_shapes(self) -> None:
        """Keeps also sizes on which a dimension depends, or a product of neighbours, that the candidate carries."""
        carried = self.literals.sizes - _COINCIDENCES - {size.original for size in self.sizes}
        places = [place for place, value in self._shapes.items() if value in carried and value > LARGEST_SMALL]
        for size in self.sizes if places else ():
            if size in self.kept or size.kind == "semantic":
                continue
            probed = self._probe(size, STAGES[_ORDINARY - 1])
            if probed and any(shapes_of(probed).get(place) != self._shapes[place] for place in places):
                self._carried.add(size)
                self.kept.add(size)

    # ---------------------------------------------------------------------------------------------------------- levers
    def _lever(self, size: Size, stage: Stage) -> Lever[Size] | None:
        """How the size can be lowered in this stage; None where it cannot, or nothing comes of it."""
        if size not in self._effects:
            self._probe(size, stage)
        effect = self._effects.get(size)
        if effect is None or size in self.kept or size in self._fixed:
            return None
        floor = stage.floors.get(size.kind)
        if floor is None or not self._options(size, self.values, floor):
            return None
        least = self._wish(size).least(size.original)
        return Lever(
            size,
            max(floor, least, self._earlier_value(size)),
            effect,
            lambda values: self._options(size, values, floor),
        )

    def _probe(self, size: Size, stage: Stage) -> FakeRun | None:
        """A run with this size alone made smaller; remembers its effect, or that it cannot be changed."""
        floor = stage.floors.get(size.kind)
        if floor is None or size in self._fixed or size in self.kept:
            return None
        options = self._options(size, self.values, floor)
        for value in _spread(options, self.values[size] // 2):
            run = self._run({**self.values, size: value})
            if run:
                effect = exponents(self.now.cost, run.cost, self.values[size] / value)
                self._effects[size] = effect
                if effect.without_effect:
                    self._fixed.add(size)
                return run
        if len(options) >= _TRIES or stage is STAGES[-1]:
            self._fixed.add(size)
        return None

    def _options(self, size: Size, values: Mapping[Size, int], floor: int) -> list[int]:
        """Lower values, descending; sizes that were different stay different."""
        taken = {value for other, value in values.items() if other.original != size.original}
        wish = self._wish(size)
        floor = max(floor, wish.above + 1, self._earlier_value(size))
        powers = powers_below(size.original, floor, wish.modulus) if self.careful else []
        free: list[int] = []
        for candidates in (powers, ladder(size.original, floor, wish.modulus)):
            free = free or [v for v in candidates if v not in taken and size.allows(v)]
        return [v for v in free if v < values[size]]

    def _earlier_value(self, size: Size) -> int:
        earlier = self.earlier or {}
        return max(-(-size.original * earlier.get(site, 0) // site.value) for site in size.sites)

    def _wish(self, size: Size) -> Wish:
        return self._wishes[size][0] if self.keeping_tiles and size in self._wishes else Wish()

    # ------------------------------------------------------------------------------------------------------------ runs
    def _accept(self, plan: Plan[Size]) -> bool:
        run = self._run(plan.values)
        if run is None:
            return False
        off = max(plan.cost.flops, 1) / max(run.cost.flops, 1), max(plan.cost.elements, 1) / max(run.cost.elements, 1)
        if not all(1 / _TRUSTED < ratio < _TRUSTED for ratio in off):
            self._effects.clear()
        self.values, self.now = plan.values, run
        return True

    def _accept_singly(self, plan: Plan[Size], stage: Stage) -> bool:
        """Where the model refuses the plan as a whole: each of its moves alone, or the nearest value that works."""
        moved = False
        for size in sorted(plan.moved, key=self.sizes.index):
            aim = plan.values[size]
            for value in _near(self._options(size, self.values, stage.floors[size.kind]), size.original, aim):
                run = self._run({**self.values, size: value})
                if run:
                    self.values, self.now, moved = {**self.values, size: value}, run, True
                    break
            else:
                self._fixed.add(size)
        self._effects.clear()
        return moved

    def _run(self, values: Mapping[Size, int]) -> FakeRun | None:
        """The run at these values; None where the task fails or degenerates."""
        key = tuple(values[size] for size in self.sizes)
        if key not in self._runs:
            self._runs[key] = self._checked_run(values)
        return self._runs[key]

    def code_at(self, values: Mapping[Size, int]) -> str:
        """The task with these values."""
        return with_values(self.code, self.written(values))

    def written(self, values: Mapping[Size, int]) -> dict[Site, int]:
        """What stands in each site at these values."""
        return {site: value for size in self.sizes for site, value in size.at(values[size]).items()}

    def _checked_run(self, values: Mapping[Size, int]) -> FakeRun | None:
        try:
            run = quick_run(self.code_at(values))
        except TaskError:
            return None
        shapes = shapes_of(run)
        degenerate = any(shapes.get(place, 0) < 2 for place, before in self._shapes.items() if before >= 2)
        return None if degenerate else run


def _near(options: list[int], original: int, aim: int) -> list[int]:
    """The options nearest to the aim: of all, and of those that keep the residue modulo each power of two."""
    moduli = [1 << power for power in range(11)]
    kept = [[v for v in options if (original - v) % modulus == 0] for modulus in moduli]
    nearest = {min(values, key=lambda v: abs(v - aim)) for values in kept if values}
    return sorted(nearest, key=lambda v: abs(v - aim))[: _TRIES + 1]


def _spread(options: list[int], first: int) -> list[int]:
    """A few of the options from all over the list, beginning at the one next to `first`."""
    nearest = sorted(options, key=lambda value: abs(value - first))[:1]
    others = [value for value in options if value not in nearest]
    step = max(1, len(others) // (_TRIES - 1))
    return [*nearest, *others[step - 1 :: step]][:_TRIES]
