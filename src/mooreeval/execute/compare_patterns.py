"""What wrong values have in common: all zero, a factor, an offset, another output, a transposed layout.

Each story is told only if it explains every wrong element that was looked at, and only where the values can tell it
from its rivals: a story that is false costs a repairer a turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from mooreeval.config import Tolerance
from mooreeval.execute.compare_values import FLOAT8, Reference, Tally, base_of

WHOLE = 1 << 22  # stories about a whole layout are looked for up to this many elements
FEW = 4  # fewer wrong values fit a factor or an offset by chance


class Pattern(NamedTuple):
    """A stable name and a sentence part that follows "the wrong values"."""

    name: str
    phrase: str


def value_patterns(tally: Tally, dtype: torch.dtype) -> list[Pattern]:
    """Patterns that the counts and the sample of wrong elements tell, most telling first."""
    return [p for p in (_state(tally, dtype), _relation(tally), _expectation(tally)) if p is not None]


def _state(tally: Tally, dtype: torch.dtype) -> Pattern | None:
    """What the wrong elements hold."""
    if tally.unwritten == tally.wrong and (dtype.is_floating_point or dtype.is_complex or tally.wrong >= FEW):
        also = "; a bool is 0 or 1" if dtype is torch.bool else ""  # 0xFF may be a kernel's idea of true
        return Pattern(
            "unwritten", f"were never written: they still hold the fill pattern of fresh memory (0xFF bytes{also})"
        )
    if tally.zero == tally.wrong:
        whole = tally.nonzero == 0
        return Pattern("all_zero", "are zero, as is the whole output") if whole else Pattern("zero", "are all zero")
    if tally.nan == tally.wrong:
        return Pattern("nan", "are all NaN")
    if len(tally.values) == 1 and tally.total > 1:  # a few elements may happen to expect it
        return Pattern("constant", f"are one constant: the whole output is {number(next(iter(tally.values)))}")
    if tally.unwritten and (dtype.is_floating_point or dtype.is_complex):
        return Pattern("partly_unwritten", f"include {tally.unwritten} that were never written (0xFF bytes)")
    if tally.nan:
        return Pattern("partly_nan", f"include {tally.nan} NaN")
    return None


def _relation(tally: Tally) -> Pattern | None:
    """How the wrong elements relate to the expected ones: one factor, or one offset."""
    _, got, best, allowed = tally.sample()
    usable = torch.isfinite(got) & torch.isfinite(best)
    if tally.zero == tally.wrong or int(usable.sum()) < max(FEW, got.numel()):
        return None
    if float(best.max() - best.min()) <= 8 * float(allowed.max()):
        return None  # constant references cannot tell a factor from an offset
    return _factor(tally.shape, got, best, allowed) or _offset(got, best, allowed)


def _factor(shape: tuple[int, ...], got: torch.Tensor, best: torch.Tensor, allowed: torch.Tensor) -> Pattern | None:
    # The ratio of totals weighs large values most, where rounding matters least.
    c = float((got * best).sum() / (best * best).sum())
    if not math.isfinite(c) or abs(c) < 1e-6 or not _explains(got, best, c * best, max(1.0, abs(c)) * allowed):
        return None
    if abs(c + 1) < 1e-3:
        return Pattern("negated", "are the expected ones with the opposite sign")
    return Pattern("factor", f"are the expected ones times {number(c)}{_meaning(c, shape)}")


def _meaning(c: float, shape: tuple[int, ...]) -> str:
    """A hint where the factor is a size of the output: a sum in place of a mean, a missing or doubled division."""
    for axis, size in enumerate(shape):
        if size > 2 and math.isclose(c, size, rel_tol=1e-3):
            return f" (the size of dimension {axis})"
        if size > 2 and math.isclose(c, 1 / size, rel_tol=1e-3):
            return f" (1 over the size of dimension {axis})"
    if abs(c) < 0.9 and math.isclose(1 / c, round(1 / c), rel_tol=1e-3):
        return f" (1/{round(1 / c)})"
    return ""


def _offset(got: torch.Tensor, best: torch.Tensor, allowed: torch.Tensor) -> Pattern | None:
    d = float((got - best).median())
    if not _explains(got, best, best + d, allowed):
        return None
    return Pattern("offset", f"are the expected ones {'plus' if d > 0 else 'minus'} {number(abs(d))}")


def _explains(got: torch.Tensor, best: torch.Tensor, told: torch.Tensor, allowed: torch.Tensor) -> bool:
    """Whether a story fits every element and leaves next to nothing of the error: noise fits no story."""
    left, error = (got - told).abs(), (got - best).abs()
    return bool((left <= 2 * allowed).all()) and float(left.median()) <= 0.1 * float(error.median())


def _expectation(tally: Tally) -> Pattern | None:
    if tally.expected_zero == tally.wrong and tally.wrong < tally.total and tally.wrong >= FEW:
        return Pattern("expected_zero", "all stand where 0 is expected (a mask or a clamp that was left out?)")
    return None


def layout_pattern(got: torch.Tensor, reference: Reference, tally: Tally, tolerance: Tolerance) -> Pattern | None:
    """Right values in the wrong places: transposed, shifted, permuted. Looked for where at least half is wrong."""
    if not 1 < tally.total <= WHOLE or 2 * tally.wrong < tally.total or len(tally.values) < 2 or got.is_complex():
        return None
    compare = _Comparison(got, reference.own, tolerance)
    return _transposed(compare) or _shifted(compare) or _permuted(compare)


def source_pattern(got: torch.Tensor, sources: Sequence[tuple[str, torch.Tensor]], tally: Tally) -> Pattern | None:
    """The output is, bit for bit, something else that was at hand: an input handed back."""
    if tally.total > WHOLE or len(tally.values) < 2:
        return None
    for name, tensor in sources:
        same_kind = tensor.dtype == got.dtype and tensor.numel() == got.numel()
        if same_kind and torch.equal(_comparable(tensor).reshape(-1), _comparable(got).reshape(-1)):
            return Pattern("equals_input", f"are {name}, unchanged")
    return None


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """torch.equal knows no float8, and takes any byte of a bool but 0 for 1."""
    return tensor.view(torch.uint8) if tensor.dtype in (*FLOAT8, torch.bool) else tensor


class _Comparison:
    """One output and its reference in float64, and one tolerance for both, whatever the order of the elements."""

    def __init__(self, got: torch.Tensor, own: torch.Tensor, tolerance: Tolerance) -> None:
        self.got, self.want = got.to(torch.float64), own.to(torch.float64)
        finite = self.want[torch.isfinite(self.want)]
        rms = float(finite.square().mean().sqrt()) if finite.numel() else 0.0
        floating = got.is_floating_point()
        self.base = base_of(got.dtype, tolerance) if floating else 0.0
        self.rms = rms
        # float32 and float64 sums differ in their last bits whatever their order. A float8 has no bits to spare.
        self.tight = 16 * torch.finfo(got.dtype).eps if floating and got.dtype not in FLOAT8 else 0.0

    def same(self, a: torch.Tensor, b: torch.Tensor, base: float | None = None) -> bool:
        base = self.base if base is None else base
        close = (a - b).abs() <= base * (b.abs() + self.rms)
        return a.numel() > 0 and bool((close | (a == b) | (torch.isnan(a) & torch.isnan(b))).all())


def _transposed(compare: _Comparison) -> Pattern | None:
    shape = compare.want.shape
    for i in range(len(shape)):
        for j in range(i + 1, len(shape)):
            if min(shape[i], shape[j]) > 1 and compare.same(compare.got, compare.want.transpose(i, j).reshape(shape)):
                return Pattern("transposed", f"are the expected ones with dimensions {i} and {j} transposed")
    return None


def _shifted(compare: _Comparison) -> Pattern | None:
    for axis, size in enumerate(compare.want.shape):
        if size < 4:
            continue
        for step in (1, -1):
            low, high = max(step, 0), size + min(step, 0)
            moved = compare.got.narrow(axis, low, high - low)
            if compare.same(moved, compare.want.narrow(axis, low - step, high - low)):
                where = f"along dimension {axis}" if compare.want.ndim > 1 else "in the output"
                return Pattern("shifted", f"are the expected ones shifted by {step} {where}")
    return None


def _permuted(compare: _Comparison) -> Pattern | None:
    """The same values in another order; only few count, since two samples of one distribution grow alike."""
    limit = 65536 if compare.tight < 1e-5 else 1024
    want = compare.want.reshape(-1)
    if want.numel() > limit or torch.unique(want).numel() < 8 or not torch.isfinite(want).all():
        return None
    if not compare.same(compare.got.reshape(-1).sort().values, want.sort().values, compare.tight):
        return None
    return Pattern("permuted", "are the expected ones in another order")


def number(value: complex) -> str:
    """A number as a person writes it: four significant digits, integers in full."""
    return str(value) if isinstance(value, int) else f"{value:.4g}"
