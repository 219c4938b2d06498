"""Graphs drawn at random: a chain of operators around one that gives the family, useful and of ordinary values."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from musacoder.data import splits
from musacoder.data.author import values
from musacoder.data.author.shapes import draw_shape, is_affordable, ranks_of
from musacoder.data.graph import Graph, Node, Parameter, TensorSpec
from musacoder.data.operators import CATALOGUE, Gathered, Operand, Operator, Pointwise, Product, Sliced
from musacoder.data.operators.types import Parameters, Sample, Shape, whole
from musacoder.data.records import Split

_TRIES = 400
_TRIES_OF_A_STEP = 14
_MOST_TENSORS = 3  # beside the main one
_SHORTEST_SLICE = 6
_MAIN_NAMES = ("x", "x", "x", "x", "inp", "data")
_SECOND_ANCHOR = 0.08  # share of chains of three or more with another operator that is not point-wise


class NoGraphError(Exception):
    """No graph was found that keeps all rules."""


def draw_graph(rng: random.Random, split: Split, family: str, length: int) -> Graph:
    """A graph of the family and split with so many operators. NoGraphError where none is found."""
    for _ in range(_TRIES):
        graph = _Chain(rng, split).drawn(family, length)
        if graph is not None and splits.split_of(graph) is split:
            return graph
    raise NoGraphError(f"no graph of {length} operators of the family {family} for {split}")


@dataclass
class _Chain:
    """A graph that is being drawn, operator by operator."""

    rng: random.Random
    split: Split
    inputs: list[TensorSpec] = field(default_factory=list)
    weights: list[TensorSpec] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    shape: Shape = ()
    name: str = ""
    sample: Sample = field(default_factory=lambda: np.empty((2, 0)))

    def __post_init__(self) -> None:
        self.draws = np.random.default_rng(self.rng.getrandbits(32))

    def drawn(self, family: str, length: int) -> Graph | None:
        anchor = self._choose(o for o in CATALOGUE.values() if o.family == family and self._may_hold(o, length))
        if anchor is None:
            return None
        before = self._steps_before(anchor, length)
        self._begin(anchor)
        plan = [None] * before + [anchor] + [None] * (length - before - 1)
        second = self._second_anchor(anchor, length, before)
        for place, wanted in enumerate(plan):
            operators = [wanted] if wanted else self._fillers(family, place == second, place < before)
            if not self._step(operators):
                return None
        if not values.rounds_visibly(self.sample):
            return None
        return Graph(inputs=tuple(self.inputs), weights=tuple(self.weights), nodes=tuple(self.nodes),
                     outputs=(self.nodes[-1].output.name,))  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- choices
    def _may_hold(self, operator: Operator, length: int) -> bool:
        is_held = operator.key in splits.HELD_OUT_OPERATORS
        if self.split is Split.UNSEEN_OP:
            return is_held
        if length == 1 and not is_held:
            return splits.is_held_single(operator.key) == (self.split is Split.UNSEEN_COMBO)
        return not is_held

    def _steps_before(self, anchor: Operator, length: int) -> int:
        if isinstance(anchor, Pointwise):
            return self.rng.randint(0, length - 1)
        most = 1 if isinstance(anchor, Product) or anchor.family == "convolution" else 2
        if length > splits.LONGEST_IN_TRAINING:
            most += 1
        return self.rng.choice([0, self.rng.randint(0, min(most, length - 1))])

    def _second_anchor(self, anchor: Operator, length: int, before: int) -> int | None:
        places = range(before + 1, length)
        if isinstance(anchor, Pointwise) or length < 3 or not places or self.rng.random() > _SECOND_ANCHOR:
            return None
        return self.rng.choice(places)

    def _fillers(self, family: str, is_anchor: bool, is_before: bool) -> list[Operator]:
        """Operators to draw from for one place, in the order in which they are tried."""
        if is_anchor:
            kinds: list[Operator] = [o for o in CATALOGUE.values() if isinstance(o, Sliced) and o.family in _LIGHT]
            return self.rng.sample(kinds, _TRIES_OF_A_STEP)
        plain, tensors, broadcasting = _POINTWISE
        room = _MOST_TENSORS - len(self.inputs) - len(self.weights)
        mixed = self.rng.sample(plain, _TRIES_OF_A_STEP)
        if is_before and family not in ("elementwise", "broadcast"):
            return mixed
        if room > 0 and self.rng.random() < 0.3:
            mixed = [*self.rng.sample(tensors, 3), *mixed]
        if room > 0 and family != "elementwise" and self.rng.random() < 0.35:
            mixed = [*self.rng.sample(broadcasting, 3), *mixed]
        return mixed

    def _choose(self, operators: Iterable[Operator]) -> Operator | None:
        found = list(operators)
        return self.rng.choice(found) if found else None

    # --------------------------------------------------------------------------------------------------------- steps
    def _begin(self, anchor: Operator) -> None:
        slim = anchor.family in ("reduction", "loss") and self.rng.random() < 0.8
        rank = self.rng.choice(ranks_of(anchor))
        divides = anchor.divides if isinstance(anchor, Gathered) else 1
        self.shape = draw_shape(self.rng, rank, slim, divides)
        self.name = self.rng.choice(_MAIN_NAMES)
        self.inputs.append(TensorSpec(name=self.name, shape=self.shape))
        self.sample = values.fresh(self.draws)

    def _step(self, operators: list[Operator]) -> bool:
        """Adds the first operator that may follow and does something; False where none does."""
        return any(self._added(o) for o in operators if self._may_follow(o, len(operators) == 1))

    def _may_follow(self, operator: Operator, is_wanted: bool) -> bool:
        before = self.nodes[-1].operator if self.nodes else None
        if not values.is_defined(operator, before) or len(self.shape) not in set(ranks_of(operator)):
            return False
        if operator.key in splits.HELD_OUT_OPERATORS and not is_wanted:
            return False
        if before is None:
            return True
        if before == operator.key:
            return False
        if self.split is Split.UNSEEN_OP:
            return True
        return splits.is_held_pair(before, operator.key) == (self.split is Split.UNSEEN_COMBO)

    def _added(self, operator: Operator) -> bool:
        parameters = self._parameters(operator)
        shape = output_shape(operator, self.shape, parameters)
        if shape is None or not is_affordable(_work(operator, self.shape, shape, parameters)):
            return False
        shapes = [_operand_shape(operator, o, self.shape, parameters) for o in operator.operands]
        if any(s is None for s in shapes):
            return False
        length = reach(operator, self.shape, parameters)
        if isinstance(operator, Sliced) and length < _SHORTEST_SLICE:
            return False
        with np.errstate(all="ignore"):  # what is not finite is refused below
            sample = values.follow(operator, self.sample, length, parameters, self.draws)
        if sample is None or not values.is_useful(operator, self.sample, sample):
            return False
        named = [self._operand(o, s) for o, s in zip(operator.operands, shapes, strict=True) if s is not None]
        output = TensorSpec(name=f"t{len(self.nodes) + 1}", shape=shape)
        self.nodes.append(Node(operator=operator.key, inputs=(self.name, *named), output=output, parameters=parameters))
        self.name, self.shape, self.sample = output.name, shape, sample
        return True

    def _operand(self, operand: Operand, shape: Shape) -> str:
        taken = {spec.name for spec in (*self.inputs, *self.weights)}
        free = [name for name in operand.names if name not in taken]
        name = self.rng.choice(free) if free else f"{operand.names[0]}{len(taken)}"
        spec = TensorSpec(name=name, shape=shape, dtype=operand.dtype)
        (self.weights if operand.is_weight else self.inputs).append(spec)
        return name

    def _parameters(self, operator: Operator) -> dict[str, Parameter]:
        drawn: dict[str, Parameter] = values.draw_constants(operator, self.draws)
        if isinstance(operator, Gathered):
            drawn |= {name: self.rng.choice(choices) for name, choices in operator.settings.items()}
        if isinstance(operator, Product):
            drawn["N"] = self.rng.choice((16, 24, 32, 48, 64, 96, 100, 128, 160, 200))
        if isinstance(operator, Sliced):
            drawn |= self._slices(operator)
        return drawn

    def _slices(self, operator: Sliced) -> dict[str, Parameter]:
        if operator.slices == "group":
            return {"groups": self.rng.choice([g for g in (2, 3, 4, 5, 7) if self.shape[1] % g == 0] or [1])}
        if operator.slices != "any":
            return {}
        rank = len(self.shape)
        dims = {1: (-1,), 2: (-1, -1, -1, 0), 3: (-1, -1, 1), 4: (1, -1)}[rank]
        drawn: dict[str, Parameter] = {"dim": self.rng.choice(dims)}
        if any("{keep}" in s for s in operator.spellings):
            drawn["keepdim"] = self.rng.random() < 0.25
        return drawn


_LIGHT = ("reduction", "normalisation", "softmax")
_POINTWISE: tuple[list[Operator], ...] = (
    [o for o in CATALOGUE.values() if isinstance(o, Pointwise) and not o.operands],
    [o for o in CATALOGUE.values() if isinstance(o, Pointwise) and o.operands and o.family == "elementwise"],
    [o for o in CATALOGUE.values() if isinstance(o, Pointwise) and o.operands and o.family != "elementwise"],
)


def output_shape(operator: Operator, shape: Shape, p: Parameters) -> Shape | None:
    """The output's shape; None where the operator does not take this input."""
    if isinstance(operator, Gathered):
        return operator.shape(shape, p)
    if isinstance(operator, Product):
        return (*shape[:-1], whole(p, "N"))
    if isinstance(operator, Sliced) and operator.reduces:
        if operator.slices == "plane":
            return shape[:2]
        axis = whole(p, "dim", -1) % len(shape)
        kept = (1,) if p.get("keepdim") else ()
        return (*shape[:axis], *kept, *shape[axis + 1 :])
    return shape


def slice_axes(operator: Sliced, shape: Shape, p: Parameters) -> tuple[int, int, int]:
    """(outer, d, inner): the tensor's sizes before, along and behind its slices."""
    if operator.slices == "plane":
        return shape[0] * shape[1], shape[2] * shape[3], 1
    if operator.slices == "group":
        groups = whole(p, "groups")
        return shape[0] * groups, shape[1] // groups * shape[2] * shape[3], 1
    axis = whole(p, "dim", -1) % len(shape)
    return int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :]))


def reach(operator: Operator, shape: Shape, p: Parameters) -> int:
    """Values of the input that one output, or one slice, is made of."""
    if isinstance(operator, Sliced):
        return slice_axes(operator, shape, p)[1]
    if isinstance(operator, Product):
        return shape[-1]
    return operator.fan_in(shape, p) if isinstance(operator, Gathered) else 1


def _work(operator: Operator, shape: Shape, out: Shape, p: Parameters) -> int:
    return int(np.prod(out)) * reach(operator, shape, p) if isinstance(operator, Gathered | Product) else 0


def _operand_shape(operator: Operator, operand: Operand, shape: Shape, p: Parameters) -> Shape | None:
    if operand.place != "own":
        return values.operand_shape(operand, shape)
    if isinstance(operator, Gathered):
        return operator.own(shape, p)[operand.role]
    columns, length = whole(p, "N"), shape[-1]
    if operand.role == "b":
        return (columns,)
    assert isinstance(operator, Product)
    matrix = (columns, length) if operator.is_transposed else (length, columns)
    return (shape[0], *matrix) if operator.is_batched else matrix
