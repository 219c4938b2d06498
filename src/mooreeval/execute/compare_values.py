"""Element-wise comparison of one output with its reference, in chunks: bounded extra memory whatever the size.

The tolerance of a floating element is

    base * (|ref| + rms of ref over the slice) + noise_factor * max |ref32 - ref64| over the slice

where ref is the float64 reference (float32 where there is none, and then without the noise term) and a slice is the
element's line along the last dimension. Slices under 32 elements say little about scale: there the whole output is
the slice. Slices with fewer than 32 elements that are not 0 say little about rounding: there the noise is the whole
output's. Integers and bool are compared exactly. NaN and infinity must stand where the reference has them, in a
complex number part by part.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from mooreeval.config import Tolerance

CHUNK = 1 << 20  # elements looked at together on the CPU: about 100 MB of temporaries
DEVICE_CHUNK = 1 << 25  # and on a device, where each step costs a launch: about 3 GB
KEEP_MASK = 1 << 24  # larger outputs are described without a mask of their wrong elements
SAMPLE = 8192  # wrong elements kept for a look at their values
SHORT_SLICE = 32

Box = tuple[slice, ...]

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
_INTEGER_OF_SIZE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass
class Tally:
    """What was counted over all elements of one output."""

    shape: tuple[int, ...]
    total: int
    wrong: int = 0
    first: int | None = None  # flat index, row-major
    last: int | None = None
    max_abs: float | None = None  # over wrong elements that are finite on both sides
    max_rel: float | None = None
    zero: int = 0  # wrong elements that are 0
    nan: int = 0  # wrong elements that are NaN
    unwritten: int = 0  # wrong elements that still hold the fill pattern, all bits set
    expected_zero: int = 0  # wrong elements whose expected value is 0
    nonzero: int = 0  # elements that are not 0, right ones too
    values: set[Any] = field(default_factory=set)  # distinct values seen, at most two are kept
    mask: torch.Tensor | None = None  # bool, of the output's shape, on the CPU; only up to KEEP_MASK elements
    samples: list[torch.Tensor] = field(default_factory=list)

    def sample(self) -> torch.Tensor:
        """Wrong elements, evenly spread: rows (flat index, got, expected, allowed), float64 [4, n]."""
        return torch.cat(self.samples, dim=1) if self.samples else torch.empty(4, 0, dtype=torch.float64)


@dataclass(frozen=True)
class Scale:
    """What the tolerance of an element needs to know about its slice; numbers, or one value per slice."""

    rms: Any = 0.0
    noise: Any = 0.0


@dataclass(frozen=True)
class Reference:
    """The expected output in the task's own precision and, where it was run, in float64."""

    own: torch.Tensor
    wide: torch.Tensor | None = None

    def __getitem__(self, box: Box) -> Reference:
        return Reference(self.own[box], None if self.wide is None else self.wide[box])


def base_of(dtype: torch.dtype, tolerance: Tolerance) -> float:
    """The relative tolerance of a dtype; complex numbers take that of their parts."""
    if dtype in (torch.float64, torch.complex128):
        return tolerance.float64
    if dtype in (torch.float32, torch.complex64):
        return tolerance.float32
    if dtype in FLOAT8 and tolerance.half:  # a last digit is more than that: 1/8 or 1/4
        return max(tolerance.half, torch.finfo(dtype).eps)
    return tolerance.half


def tally(got: torch.Tensor, reference: Reference, tolerance: Tolerance) -> Tally:
    """Counts over all elements; both sides have equal shape and dtype."""
    total = got.numel()
    result = Tally(tuple(got.shape), total)
    if _equal(got, reference.own):
        return result
    if 0 < total <= KEEP_MASK:
        result.mask = torch.zeros(got.shape, dtype=torch.bool)
    per_box = max(16, SAMPLE * CHUNK // max(total, CHUNK))
    start = 0
    for box, scale in _scaled_boxes(got, reference, tolerance):
        start += _count_box(result, box, start, got[box], reference[box], (scale, tolerance), per_box)
    return result


def scaled_parts(reference: Reference, tolerance: Tolerance) -> list[tuple[Box, Scale]]:
    """The chunks of a reference with what is known of their scale: once for many outputs that `differs` looks at."""
    return list(_scaled_boxes(reference.own, reference, tolerance))


def differs(got: torch.Tensor, reference: Reference, tolerance: Tolerance, parts: list[tuple[Box, Scale]]) -> bool:
    """Whether `tally` would count a wrong element; the last chunks first, and no further than the first with one."""
    if _equal(got, reference.own):
        return False
    return any(bool(_wrong_of(got[box], reference[box], scale, tolerance)[0].any()) for box, scale in reversed(parts))


def _equal(got: torch.Tensor, own: torch.Tensor) -> bool:
    """Equal to the task's own precision, without a NaN: then within any tolerance, which grants |own - wide|.

    Not for complex numbers, bool and float8: `tally` looks at their bits.
    """
    if got.is_complex() or got.dtype is torch.bool or got.dtype in FLOAT8:
        return False
    return all(torch.equal(got[box], own[box]) for box in boxes(tuple(got.shape), chunk_of(got)))


def chunk_of(tensor: torch.Tensor) -> int:
    """How many elements of a tensor to look at together."""
    return CHUNK if tensor.device.type == "cpu" else DEVICE_CHUNK


def boxes(shape: tuple[int, ...], limit: int = CHUNK) -> Iterator[Box]:
    """Boxes that cover a shape in row-major order, each at most `limit` elements in one run of flat indices."""
    if math.prod(shape) <= limit:
        yield ()
        return
    inner = math.prod(shape[1:])
    if inner > limit:
        for index in range(shape[0]):
            for rest in boxes(shape[1:], limit):
                yield (slice(index, index + 1), *rest)
        return
    step = limit // inner
    for begin in range(0, shape[0], step):
        yield (slice(begin, min(begin + step, shape[0])),)


def _scaled_boxes(got: torch.Tensor, reference: Reference, tolerance: Tolerance) -> Iterator[tuple[Box, Scale]]:
    shape, chunk = tuple(got.shape), chunk_of(got)
    exact = not (got.is_floating_point() or got.is_complex())
    if exact or tolerance.rule == "allclose":
        yield from ((box, Scale()) for box in boxes(shape, chunk))
    elif shape and SHORT_SLICE <= shape[-1] <= chunk:
        whole_noise = functools.cache(lambda: _scale_of_all(reference).noise)
        yield from ((box, _scale_per_line(reference[box], whole_noise)) for box in boxes(shape, chunk))
    elif shape and shape[-1] > chunk:  # one line does not fit in a chunk: line by line
        for line in boxes(shape[:-1], limit=1):
            scale = _scale_of_all(reference[line])
            yield from ((_join(line, len(shape) - 1, rest), scale) for rest in boxes(shape[-1:], chunk))
    else:
        scale = _scale_of_all(reference)
        yield from ((box, scale) for box in boxes(shape, chunk))


def _join(line: Box, axes: int, rest: Box) -> Box:
    return (*line, *(slice(None),) * (axes - len(line)), *rest)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _best(reference: Reference) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """(own, best known value, its magnitude's noise): wide copies of one chunk; noise is None without float64."""
    own = _wide(reference.own)
    if reference.wide is None:
        return own, own, None
    wide = _wide(reference.wide)
    noise = (own - wide).abs()
    return own, torch.where(torch.isfinite(wide), wide, own), torch.where(torch.isfinite(noise), noise, 0.0)


def _scale_per_line(reference: Reference, whole_noise: Callable[[], float] | None = None) -> Scale:
    """`whole_noise`: that of the output which the lines belong to, for those that hardly show any."""
    own, best, noise = _best(reference)
    known = torch.isfinite(own) & torch.isfinite(best)
    size = torch.where(known, best.abs(), 0.0)
    largest = size.amax(-1, keepdim=True)
    # Divided by the largest first: squares of large float64 values would overflow.
    parts = torch.where(largest > 0, size / largest, 0.0)
    count = known.sum(-1, keepdim=True).clamp(min=1)
    rms = largest * ((parts * parts).sum(-1, keepdim=True) / count).sqrt()
    if noise is None:
        return Scale(rms, 0.0)
    most = torch.where(known, noise, 0.0).amax(-1, keepdim=True)
    if whole_noise is not None and (sparse := (size > 0).sum(-1, keepdim=True) < SHORT_SLICE).any():
        most = torch.where(sparse, whole_noise(), most)
    return Scale(rms, most)


def _scale_of_all(reference: Reference) -> Scale:
    norm, count, noise = 0.0, 0, 0.0
    for box in boxes(tuple(reference.own.shape), chunk_of(reference.own)):
        flat = Reference(
            reference.own[box].reshape(1, -1), None if reference.wide is None else reference.wide[box].reshape(1, -1)
        )
        if not flat.own.numel():
            continue
        part, known = _scale_per_line(flat), int(torch.isfinite(_wide(flat.own)).sum())
        norm = math.hypot(norm, float(part.rms) * math.sqrt(known))
        count, noise = count + known, max(noise, float(part.noise))
    return Scale(norm / math.sqrt(count) if count else 0.0, noise)


def _count_box(
    result: Tally,
    box: Box,
    start: int,
    got: torch.Tensor,
    reference: Reference,
    rule: tuple[Scale, Tolerance],
    per_box: int,
) -> int:
    """Adds one chunk to the counts; returns its number of elements."""
    wrong, wide_got, best, allowed = _wrong_of(got, reference, *rule)
    _note_values(result, wide_got)
    if wrong.any():
        _note_wrong(result, start, got, (wide_got, best, allowed), wrong, per_box)
        if result.mask is not None:
            result.mask[box] = wrong
    return got.numel()


def _wrong_of(
    got: torch.Tensor, reference: Reference, scale: Scale, tolerance: Tolerance
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of one chunk: which elements are wrong, what was got, what was expected, and the error that is allowed."""
    if not (got.is_floating_point() or got.is_complex()):
        wide_got, best = _numbers(got), _numbers(reference.own)
        return _integers(got) != _integers(reference.own), wide_got, best, torch.zeros_like(best)
    wide_got, (own, best, _) = _wide(got), _best(reference)
    best = own if tolerance.rule == "allclose" else best
    allowed = _allowed(best, got.dtype, scale, tolerance)
    wrong = _is_wrong(wide_got, own, best, allowed)
    if got.is_complex() and not (finite := _finite(wide_got, own)).all():
        wrong = torch.where(finite, wrong, _any_part_wrong(wide_got, own, best, got.dtype, (scale, tolerance)))
    return wrong, wide_got, best, allowed


def _allowed(best: torch.Tensor, dtype: torch.dtype, scale: Scale, tolerance: Tolerance) -> torch.Tensor:
    base = base_of(dtype, tolerance)
    if tolerance.rule == "allclose":
        return base * (1 + best.abs())
    # Each term by itself: a sum of large float64 values would overflow.
    floor = _floor(dtype) if base else 0.0
    return base * best.abs() + base * scale.rms + tolerance.noise_factor * scale.noise + floor


def _floor(dtype: torch.dtype) -> float:
    """An error that never counts: denormals may be flushed.

    float16's smallest normal number is not negligible, and there the noise term serves. A float8 has none: one step.
    """
    if dtype is torch.float16:
        return 0.0
    if dtype in FLOAT8:
        return torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    return torch.finfo(torch.float64 if dtype in (torch.float64, torch.complex128) else torch.float32).tiny


def _is_wrong(got: torch.Tensor, own: torch.Tensor, best: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """NaN and infinity are judged by the task's own precision; no NaN ever passes for a number or the reverse."""
    same = (got == own) | (torch.isnan(got) & torch.isnan(own))
    return torch.where(_finite(got, own), (got - best).abs() > allowed, ~same)


def _finite(got: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    return torch.isfinite(got) & torch.isfinite(own)


def _any_part_wrong(
    got: torch.Tensor, own: torch.Tensor, best: torch.Tensor, dtype: torch.dtype, rule: tuple[Scale, Tolerance]
) -> torch.Tensor:
    """Complex numbers that are not finite, of which one part may be a number: both parts as real ones."""
    got, own, best = (torch.view_as_real(v.resolve_conj()) for v in (got, own, best))
    scale = Scale(*(v.unsqueeze(-1) if isinstance(v, torch.Tensor) else v for v in (rule[0].rms, rule[0].noise)))
    return _is_wrong(got, own, best, _allowed(best, dtype, scale, rule[1])).any(-1)


def _integers(tensor: torch.Tensor) -> torch.Tensor:
    """Elements as signed integers of their own size.

    Of a bool the byte: one that is neither 0 nor 1 equals nothing. To most of PyTorch it is true, but so is 0xFF, with
    which fresh memory is filled: an output that no kernel wrote would be true everywhere. Viewed before it is copied,
    because a copy of bools turns every byte but 0 into 1.
    """
    return tensor.view(_INTEGER_OF_SIZE[tensor.element_size()]).contiguous()


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.view(torch.uint8) if tensor.dtype is torch.bool else tensor).to(torch.float64)


def _note_values(result: Tally, got: torch.Tensor) -> None:
    result.nonzero += int((got != 0).sum())
    if len(result.values) < 2 and got.numel():
        first = got.reshape(-1)[:1]
        result.values.add(first.item())
        if not bool((got == first).all()):
            result.values.add(None)  # a second value, whichever


def _note_wrong(
    result: Tally,
    start: int,
    raw: torch.Tensor,
    values: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    wrong: torch.Tensor,
    per_box: int,
) -> None:
    where = wrong.reshape(-1).nonzero().reshape(-1)
    got, best, allowed = (v.reshape(-1)[where] for v in torch.broadcast_tensors(*values))
    result.wrong += where.numel()
    result.first = start + int(where[0]) if result.first is None else result.first
    result.last = start + int(where[-1])
    result.zero += int((got == 0).sum())
    result.nan += int(torch.isnan(got).sum())
    result.expected_zero += int((best == 0).sum())
    result.unwritten += int(_all_bits_set(raw).reshape(-1)[where].sum())
    _note_errors(result, got, best)
    if not got.is_complex():
        pick = (
            torch.linspace(0, where.numel() - 1, min(per_box, where.numel()), dtype=torch.float64)
            .long()
            .to(where.device)
        )
        result.samples.append(torch.stack([(where[pick] + start).double(), got[pick], best[pick], allowed[pick]]).cpu())


def _note_errors(result: Tally, got: torch.Tensor, best: torch.Tensor) -> None:
    error = (got - best).abs()
    known = torch.isfinite(error)
    if known.any():
        result.max_abs = max(result.max_abs or 0.0, float(error[known].max()))
    known &= best != 0
    if known.any():
        relative = (error[known] / best[known].abs()).max()
        if torch.isfinite(relative):
            result.max_rel = max(result.max_rel or 0.0, float(relative))


def _all_bits_set(values: torch.Tensor) -> torch.Tensor:
    """Elements that still hold the fill pattern of fresh device memory, 0xFF in every byte."""
    if values.is_complex():
        parts = torch.view_as_real(values)
        return (_integers(parts) == -1).all(-1)
    return _integers(values) == -1
