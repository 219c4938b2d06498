"""The search for smaller sizes of one task.

Each stage lets sizes down to lower floors. Within a stage: one run probes the effect of each size, a plan follows from
power laws, and one run confirms it; only values that a run has confirmed are kept. A run that fails, or turns a
dimension into 0 or 1, refuses its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mooreeval.errors import TaskError
from mooreeval.execute.fake_run import Cost, FakeRun, fake_run, tensors_in
from mooreeval.execute.reduce_ladder import ladder
from mooreeval.execute.reduce_literals import Literals
from mooreeval.execute.reduce_plan import Exponents, Lever, Plan, exponents, planned, within
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
_TRIES = 4  # values of one size that are tried where the model refuses one
_TRUSTED = 1.5  # a prediction that is off by more has its exponents measured again
_COINCIDENCES = frozenset(1 << power for power in range(11))  # derived sizes equal to block sizes by accident


@dataclass(frozen=True)
class Size:
    """One integer of the task, in all places where it stands for the same kind of thing."""

    name: str
    original: int
    kind: Kind
    sites: tuple[Site, ...]

    def __str__(self) -> str:
        return f"{self.name}={self.original}"


@dataclass(frozen=True)
class Stage:
    """How small each kind of size may become; a kind that is not named stays."""

    floors: Mapping[Kind, int]
    aim_factor: int | None  # times the budget's aim; None: only the ceiling counts


STAGES = (
    Stage({"batch": 8, "size": 256}, 1),
    Stage({"batch": 4, "size": 64}, 1),
    Stage({"batch": 2, "size": 32}, 1),
    Stage({"batch": 2, "size": 16, "small": 8}, 4),
    Stage({"batch": 2, "size": 4, "small": 4, "semantic": 2}, None),
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
        while self.kept and not within(self.now.cost, ceiling):
            size = max(self.kept, key=lambda size: (size.kind == "batch", size.original, size.name))
            self.kept.remove(size)
            self.given_up.append(size)
            self._run_stages(aim, ceiling)

    def _run_stages(self, aim: Callable[[int], Cost], ceiling: Cost) -> None:
        for number, stage in enumerate(STAGES):
            # Kept sizes alone must not drive the others below the ordinary stages.
            only_ceiling = stage.aim_factor is None or (self.kept and number >= _ORDINARY)
            self._reach_in_stage(ceiling if only_ceiling else aim(stage.aim_factor or 1), stage)

    def _reach_in_stage(self, aim: Cost, stage: Stage) -> None:
        while not within(self.now.cost, aim):
            levers = [lever for size in self.sizes if (lever := self._lever(size, stage))]
            plan = planned(self.values, self.now.cost, aim, levers)
            if not plan.moved or not (self._accept(plan) or self._accept_singly(plan, stage)):
                return

    def _join_inseparable_sizes(self) -> None:
        """Makes one size of a batch and another dimension of equal value where the model demands that they be equal."""
        for batch in [size for size in self.sizes if size.kind == "batch"]:
            twin = next((s for s in self.sizes if s.original == batch.original and s.kind == "size"), None)
            if twin is None or self._probe(batch, STAGES[0]) or self._probe(twin, STAGES[0]):
                continue
            joined = Size(twin.name, twin.original, twin.kind, (*batch.sites, *twin.sites))
            self.sizes = [joined if size is twin else size for size in self.sizes if size is not batch]
            self.values = {size: size.original for size in self.sizes}
            self._fixed.clear()
            self._effects.clear()
            self._runs.clear()

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
        return [v for v in ladder(size.original, floor) if v < values[size] and v not in taken]

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
            near = sorted(self._options(size, self.values, stage.floors[size.kind]), key=lambda v: abs(v - aim))
            for value in near[:_TRIES]:
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

    def _checked_run(self, values: Mapping[Size, int]) -> FakeRun | None:
        code = with_values(self.code, {site: values[size] for size in self.sizes for site in size.sites})
        try:
            run = fake_run(code)
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


def _spread(options: list[int], first: int) -> list[int]:
    """A few of the options from all over the list, beginning at the one next to `first`."""
    nearest = sorted(options, key=lambda value: abs(value - first))[:1]
    others = [value for value in options if value not in nearest]
    step = max(1, len(others) // (_TRIES - 1))
    return [*nearest, *others[step - 1 :: step]][:_TRIES]
