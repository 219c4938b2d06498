"""Wrong outputs made of right ones, and whether the judge's comparison tells them from the reference's.

    outputs of one run ── HeldOutputs ──┬── agrees(outputs of another run)
    outputs of the run before ──────────┴── impostors(): zeros, a constant, an input, a mean, permuted, dropped, ...

Runs nobody's code. The comparison is `compare_values`, with its tolerances; only the description is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from mooreeval.config import Tolerance
from mooreeval.execute.compare import _as_tensors, _form, _leaves, _plain, _same_bits, _structure, _usable
from mooreeval.execute.compare_values import Box, Reference, Scale, differs, scaled_parts

MOST_LEAVES, MOST_DIMS = 8, 6  # of an output: what has more is looked at in part
TAIL = 16  # elements that a grid one block short might leave out

Named = tuple[str, torch.Tensor]  # a path, and what is there


@dataclass(frozen=True)
class Impostor:
    """A wrong output: which, in which place, and how it is made (None where it is none, e.g. a permuted constant)."""

    name: str
    at: str
    make: Callable[[], torch.Tensor | None]


@dataclass(frozen=True)
class _Leaf:
    path: str
    reference: Reference
    tolerance: Tolerance
    parts: list[tuple[Box, Scale]]

    @property
    def own(self) -> torch.Tensor:
        return self.reference.own

    def agrees(self, got: torch.Tensor) -> bool:
        same_form = got.shape == self.own.shape and got.dtype == self.own.dtype
        return same_form and not differs(_plain(got), self.reference, self.tolerance, self.parts)


class HeldOutputs:
    """The outputs of one run, for many others to be compared with."""

    def __init__(self, expected32: Any, expected64: Any, tolerance: Tolerance) -> None:
        self._expected, self._tolerance = expected32, tolerance
        pairs = list(_leaves("output", expected32, expected32, expected64))
        self.leaves = [self._held(path, own, wide) for path, own, _, wide in pairs if isinstance(own, torch.Tensor)]

    def _held(self, path: str, own: torch.Tensor, wide: Any) -> _Leaf:
        reference = Reference(_plain(own), _usable(wide, own))
        return _Leaf(path, reference, self._tolerance, scaled_parts(reference, self._tolerance))

    def without_float64(self) -> HeldOutputs:
        """The same outputs with the tolerance of a task that does not run in float64."""
        return HeldOutputs(self._expected, None, self._tolerance)

    def agrees(self, got: Any) -> bool:
        """Whether the judge would take these outputs for the reference's."""
        if _structure("output", got, self._expected) is not None:
            return False
        held = iter(self.leaves)
        for leaf in _leaves("output", got, self._expected, None):
            if _form(leaf) is not None:
                return False
            _path, mine, expected, _wide = leaf
            if isinstance(expected, torch.Tensor):
                if not next(held).agrees(mine):
                    return False
            elif isinstance(expected, float | complex) and not self._number_agrees(mine, expected):
                return False
        return True

    def _number_agrees(self, got: Any, expected: Any) -> bool:
        mine, own, _, tolerance = _as_tensors(got, expected, None, self._tolerance)
        reference = Reference(own)
        return not differs(mine, reference, tolerance, scaled_parts(reference, tolerance))

    def is_same(self, got: Any) -> bool:
        """Whether these outputs are the same bit for bit."""
        if _structure("output", got, self._expected) is not None:
            return False
        pairs = [(a, b) for _, a, b, _ in _leaves("output", got, self._expected, None)]
        return all(
            _same_bits(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) else repr(a) == repr(b)
            for a, b in pairs
        )

    def facts(self) -> list[dict[str, Any]]:
        """Of each tensor: its path, how many are NaN, how many are infinite that float64 has as numbers, and its noise.

        `noise` is the largest difference of float32 and float64 as a share of the slice's root mean square.
        """
        return [{"path": e.path, "noise": _noise(e.parts), **_not_finite(e.reference)} for e in self.leaves]


def _noise(parts: list[tuple[Box, Scale]]) -> float:
    shares = [torch.as_tensor(scale.noise) / torch.as_tensor(scale.rms) for _box, scale in parts]
    known = [share[torch.isfinite(share)] for share in shares]
    return max((float(share.max()) for share in known if share.numel()), default=0.0)


def _not_finite(reference: Reference) -> dict[str, int]:
    """Without a float64 run every infinity counts: nothing shows that it is more than an overflow."""
    own, wide = reference.own, reference.wide
    if not (own.is_floating_point() or own.is_complex()) or own.dtype.itemsize == 1:
        return {"nan": 0, "infinite": 0}
    infinite = torch.isinf(own) if wide is None else torch.isinf(own) & ~torch.isinf(wide)
    return {"nan": int(torch.isnan(own).sum()), "infinite": int(infinite.sum())}


def told(held: HeldOutputs, before: HeldOutputs | None, inputs: list[Named], wanted: set[tuple[str, str]] | None) -> (
    list[dict[str, Any]]
):  # fmt: skip
    """Of each impostor whether the comparison tells it; `told` is None where it could not be made of these values.

    Args:
        held: the outputs of a run.
        before: those of an earlier run, on other inputs.
        inputs: what the run was given.
        wanted: (name, at) of those to look at; None: all of them.
    """
    previous = {leaf.path: leaf.own for leaf in before.leaves} if before else {}
    answers = []
    for leaf in held.leaves[:MOST_LEAVES]:
        for impostor in impostors(leaf, previous.get(leaf.path), inputs):
            if wanted is None or (impostor.name, impostor.at) in wanted:
                answers.append({"name": impostor.name, "at": impostor.at, "told": _is_told(leaf, impostor)})
    return answers


def _is_told(leaf: _Leaf, impostor: Impostor) -> bool | None:
    try:
        made = impostor.make()
    except (RuntimeError, NotImplementedError, TypeError):  # an operator that this dtype does not have
        return None
    return None if made is None else not leaf.agrees(made)


def impostors(leaf: _Leaf, previous: torch.Tensor | None, inputs: list[Named]) -> Iterator[Impostor]:
    """Every impostor of one output tensor."""
    own, path = leaf.own, leaf.path
    if not own.numel():
        return
    yield Impostor("zeros", path, lambda: torch.zeros_like(own))
    yield Impostor("constant", path, lambda: None if previous is None else _constant(own, previous))
    yield Impostor("stale", path, lambda: previous)
    for name, tensor in inputs:
        if (shaped := _shaped(tensor, own)) is not None:
            yield Impostor("input", f"{name} as {path}", lambda shaped=shaped: shaped.to(own.dtype).expand(own.shape))
    if own.numel() == 1:
        return
    yield Impostor("tail", path, lambda: _unless_same(_tail_dropped(own), own))
    for dim in [d for d, size in enumerate(own.shape) if size > 1][:MOST_DIMS]:
        at = f"{path}, dimension {dim}"
        if own.is_floating_point() or own.is_complex():
            yield Impostor("mean", at, lambda dim=dim: _mean(own, dim))
        yield Impostor("permuted", at, lambda dim=dim: _unless_same(own.roll(1, dim), own))
        yield Impostor("dropped", at, lambda dim=dim: _unless_same(_dropped(own, dim), own))


def _constant(own: torch.Tensor, previous: torch.Tensor) -> torch.Tensor:
    """The mean of an earlier output, of integers its commonest value: nothing of this run."""
    flat = previous.reshape(-1)
    value = flat.double().mean() if own.is_floating_point() else flat.mode().values if not own.is_complex() else 0
    return torch.zeros_like(own) + torch.as_tensor(value, device=own.device).to(own.dtype)


def _shaped(tensor: torch.Tensor, own: torch.Tensor) -> torch.Tensor | None:
    """An input in an output's shape, where it has its number of elements or can be repeated to it."""
    if tensor.numel() == own.numel():
        return tensor.reshape(own.shape)
    try:
        return tensor.expand(own.shape)
    except RuntimeError:
        return None


def _mean(own: torch.Tensor, dim: int) -> torch.Tensor | None:
    """Each slice's mean in place of its elements; where these are equal anyway it is right."""
    if bool((own == own.narrow(dim, 0, 1)).all()):
        return None
    wide = own.to(torch.complex128 if own.is_complex() else torch.float64)
    return wide.mean(dim, keepdim=True).to(own.dtype).expand(own.shape)


def _dropped(own: torch.Tensor, dim: int) -> torch.Tensor:
    made = own.clone()
    made.narrow(dim, own.shape[dim] - 1, 1).zero_()
    return made


def _tail_dropped(own: torch.Tensor) -> torch.Tensor:
    made = own.clone(memory_format=torch.contiguous_format)
    made.reshape(-1)[-min(TAIL, own.numel() - 1) :].zero_()
    return made


def _unless_same(made: torch.Tensor, own: torch.Tensor) -> torch.Tensor | None:
    return None if _same_bits(made, own) else made
