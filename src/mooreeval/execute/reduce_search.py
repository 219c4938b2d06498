"""The search for smaller sizes of one task.

Each stage lets sizes down to lower floors. Within a stage: one run probes the effect of each size, a plan follows from
power laws, and one run confirms it; only values that a run has confirmed are kept. A run that fails, or turns a
dimension into 0 or 1, refuses its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from mooreeval.errors import TaskError
from mooreeval.execute.fake_run import Cost, FakeRun, quick_run, tensors_in
from mooreeval.execute.reduce_ladder import ladder
from mooreeval.execute.reduce_literals import Literals
from mooreeval.execute.reduce_plan import Exponents, Lever, Plan, excess, exponents, planned, within
from mooreeval.execute.reduce_sites import Site, find_sites, with_values

Kind = Literal["batch", "size", "small", "semantic"]

_BATCH = re.compile(r"batch|^bsz?$", re.IGNORECASE)
_SEMANTIC = re.compile(
    r"kernel|stride|pad|dilat|group|head|axis|layer|scale|factor|expert|top_?k|patch|window|eps|class|step|block|chunk"
    r"|ratio|power|reduction|^norm$|^k$|^p$",
    re.IGNORECASE,
)
_LARGEST_SMALL = 32  # channel counts up to here are touched late
_LARGEST_SEMANTIC = 512  # above, a name like `window_size` or `num_classes` still means a size
_PAIRS_TRIED = 6  # sizes that may have to be joined
_TRIES = 4  # values of one size that are tried where the model refuses one
_TRUSTED = 1.5  # a prediction that is off by more has its exponents measured again
_WORTH_IT = 0.2  # the exponent from which a carried size is given up
_COINCIDENCES = frozenset(1 << power for power in range(11))  # derived sizes equal to block sizes by accident


@dataclass(frozen=True)
class Size:
    """One integer of the task, in all places where it stands for the same kind of thing.

    Where two different integers can only change together, `original` is the smaller one, and both are its sites.
    """

    name: str
    original: int
    kind: Kind
    sites: tuple[Site, ...]

    def __str__(self) -> str:
        return f"{self.name}={self.original}"

    def allows(self, value: int) -> bool:
        """Whether all sites, which move in proportion, stay whole numbers."""
        return all(site.value * value % self.original == 0 for site in self.sites)

    def at(self, value: int) -> dict[Site, int]:
        """What to write into each site."""
        return {site: site.value * value // self.original for site in self.sites}


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
    sizes: list[Size] = field(default_factory=list)
    values: dict[Size, int] = field(default_factory=dict)
    kept: set[Size] = field(default_factory=set)  # not to be touched: the candidate carries them
    given_up: list[Size] = field(default_factory=list)  # carried, and touched nonetheless
    keeping_tiles: bool = True  # no size loses its residue modulo the candidate's tile
    _fixed: set[Size] = field(default_factory=set)  # the model allows no other value, or it has no effect
    _effects: dict[Size, Exponents] = field(default_factory=dict)
    _runs: dict[tuple[int, ...], FakeRun | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = _sizes_of(find_sites(self.code))
        self.values = {size: size.original for size in self.sizes}
        self._shapes = _shapes(self.now)

    def reach(self, aim: Callable[[int], Cost], ceiling: Cost) -> None:
        """Lowers sizes towards `aim(factor)`; gives up sizes that the candidate carries only above the ceiling."""
        self._join_inseparable_sizes()
        self.kept = {size for size in self.sizes if self._is_carried(size)}
        self._keep_what_determines_carried_shapes()
        self._run_stages(aim, ceiling)
        if not within(self.now.cost, ceiling):
            self.keeping_tiles = False
            self._fixed.clear()
            self._effects.clear()
            self._run_stages(lambda _factor: ceiling, ceiling)
        for size in sorted(self.kept, key=lambda size: (size.kind != "batch", -size.original, size.name)):
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
            self._reach_in_stage(aim(stage.aim_factor), stage, at_any_rate=stage is aimed[-1])
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
            if self._options(size, self.values, _LARGEST_SMALL) and not self._probe(size, stage)
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

    # ----------------------------------------------------------------------------------------------------------- tiles
    def untiled(self) -> list[Size]:
        """Sizes that lost their residue modulo the candidate's tile: its kernel may rest on it without a guard."""
        return [size for size in self.sizes if not self._keeps_tile(size, self.values[size])]

    def _keeps_tile(self, size: Size, value: int) -> bool:
        """A kernel for whole tiles is honest where the task's size is a multiple of the tile.

        Which power of two among the candidate's integers is the tile can't be told: the largest one that fits is taken.
        A batch is walked, not tiled.
        """
        if size.kind not in ("size", "small"):
            return True
        tile = max((power for power in self.literals.tiles if power <= size.original), default=1)
        return (size.original - value) % tile == 0

    # ------------------------------------------------------------------------------------------------ carried literals
    def _is_carried(self, size: Size) -> bool:
        """Whether the candidate carries this size. A batch that equals a block size does so by accident."""
        return size.original in (self.literals.sizes if size.kind == "batch" else self.literals.all)

    def _keep_what_determines_carried_shapes(self) -> None:
        """Keeps also sizes on which a dimension depends, or a product of neighbours, that the candidate carries."""
        carried = self.literals.sizes - _COINCIDENCES - {size.original for size in self.sizes}
        places = [place for place, value in self._shapes.items() if value in carried and value > _LARGEST_SMALL]
        for size in self.sizes if places else ():
            if size in self.kept or size.kind == "semantic":
                continue
            probed = self._probe(size, STAGES[_ORDINARY - 1])
            if probed and any(_shapes(probed).get(place) != self._shapes[place] for place in places):
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
        return Lever(size, floor, effect, lambda values: self._options(size, values, floor))

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
        options = [v for v in ladder(size.original, floor) if v < values[size] and v not in taken and size.allows(v)]
        return [v for v in options if self._keeps_tile(size, v)] if self.keeping_tiles else options

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
        shapes = _shapes(run)
        degenerate = any(shapes.get(place, 0) < 2 for place, before in self._shapes.items() if before >= 2)
        return None if degenerate else run


def _sizes_of(sites: list[Site]) -> list[Size]:
    """Equal integers of one kind are one size: what was equal stays equal, and a value named twice stays consistent."""
    groups: dict[tuple[int, Kind], list[Site]] = {}
    for site in sites:
        groups.setdefault((site.value, _kind(site)), []).append(site)
    return [Size(group[0].name, value, kind, tuple(group)) for (value, kind), group in groups.items()]


def _kind(site: Site) -> Kind:
    if _BATCH.search(site.name):
        return "batch"
    if _SEMANTIC.search(site.name) and site.value <= _LARGEST_SEMANTIC:
        return "semantic"
    return "small" if site.value <= _LARGEST_SMALL else "size"


def _shapes(run: FakeRun) -> dict[tuple[object, ...], int]:
    """Every dimension of inputs, weights and outputs, and every product of neighbouring ones, by its place."""
    found: dict[tuple[object, ...], int] = {}
    groups = {"in": run.inputs, "weight": {**run.parameters, **run.buffers}, "out": run.outputs}
    for group, value in groups.items():
        for position, tensor in enumerate(tensors_in(value)):
            for first in range(tensor.dim()):
                product = 1
                for last in range(first, tensor.dim()):
                    product *= tensor.shape[last]
                    found[group, position, first, last] = product
    return found


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
