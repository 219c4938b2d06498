"""Where the wrong elements of an output lie, told as a pattern and a phrase.

A pattern is claimed only when the wrong elements fill it (nine tenths: some wrong values coincide with right ones) and
none lies outside it. What fits no pattern is "scattered".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

FULL = 0.9
_TILES = (64, 32, 16, 8)
_PERIODS = (32, 64, 128, 256, 512, 1024)
_BLOCKS = (1024, 512, 256, 128, 64, 32)


class Where(NamedTuple):
    """A stable name of the pattern and a phrase for "the wrong elements are ..."."""

    pattern: str
    phrase: str


def where_wrong(mask: torch.Tensor | None, shape: tuple[int, ...], wrong: int, first: int, last: int) -> Where:
    """The pattern of `wrong` elements (at least one) of an output; `mask` is absent for very large outputs."""
    total = math.prod(shape)
    if wrong == total:
        return Where("everywhere", "every element" if total > 1 else "the only element")
    if wrong == 1:
        return Where("single", f"one element, {index_text(first, shape)}")
    run = _run(shape, wrong, first, last)
    found = run if mask is None else _best_of_mask(mask, run, wrong / (last - first + 1))
    return found or Where("scattered", f"spread between {index_text(first, shape)} and {index_text(last, shape)}")


def _best_of_mask(mask: torch.Tensor, run: Where | None, run_density: float) -> Where | None:
    axes, density = _along_axes(mask)
    if run and run_density > density:
        return run
    flat = mask.reshape(-1)
    listed = axes if axes and axes.pattern == "some_indices" else None  # true of much, so said last
    if axes and not listed:
        return axes
    return run or _every_nth(flat) or _in_planes(mask) or _periodic(flat) or _aligned_blocks(flat) or listed


def index_text(flat: int, shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(str(i) for i in unravel(flat, shape)) + "]"


def unravel(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        flat, rest = divmod(flat, size)
        index.append(rest)
    return tuple(reversed(index))


def _run(shape: tuple[int, ...], wrong: int, first: int, last: int) -> Where | None:
    """One run in memory order: a tail, a head, or a stretch in between."""
    total = math.prod(shape)
    if wrong < FULL * (last - first + 1):
        return None
    if last == total - 1:
        return Where("tail", f"the last {total - first}, from {index_text(first, shape)} to the end")
    if first == 0:
        return Where("head", f"the first {last + 1}, up to {index_text(last, shape)}")
    return Where("range", f"one run from {index_text(first, shape)} to {index_text(last, shape)}")


def _along_axes(mask: torch.Tensor) -> tuple[Where | None, float]:
    """Whole indices along some dimensions (the last rows, every fourth column, one block), and how full of wrong."""
    hits = [_hit(mask, axis) for axis in range(mask.ndim)]
    limited = [axis for axis, hit in enumerate(hits) if len(hit) < mask.shape[axis]]
    inside = math.prod(len(hit) for hit in hits)
    density = int(mask.sum()) / inside
    parts = [_describe(hits[axis], mask.shape[axis]) for axis in limited]
    if not limited or density < FULL or any(part is None for part in parts):
        return None, 0.0
    phrases = [
        f"{part.phrase} of {_axis_name(axis, mask.ndim)}" for axis, part in zip(limited, parts, strict=True) if part
    ]
    names = {part.pattern for part in parts if part}
    pattern = names.pop() if len(names) == 1 and len(limited) == 1 else "block"
    return Where(pattern, " in ".join(phrases)), density


def _hit(mask: torch.Tensor, axis: int) -> list[int]:
    others = [a for a in range(mask.ndim) if a != axis]
    profile = mask.any(dim=others) if others else mask
    return profile.nonzero().reshape(-1).tolist()


def _axis_name(axis: int, ndim: int) -> str:
    if ndim == 1:
        return "the output"
    return f"dimension {axis}"


def _describe(hit: list[int], size: int) -> Where | None:
    """Indices along one dimension; None where they follow no rule and are too many to list."""
    low, high = hit[0], hit[-1]
    if len(hit) == 1:
        return Where("tail", f"the last index ({low})") if low == size - 1 else Where("single_index", f"index {low}")
    if high - low + 1 == len(hit):
        if high == size - 1:
            return Where("tail", f"the last {len(hit)} of {size} (from {low} on)")
        return (
            Where("head", f"the first {len(hit)} of {size}") if low == 0 else Where("range", f"indices {low} to {high}")
        )
    step = _step(hit, size)
    if step:
        return Where("every_nth", f"every {ordinal(step)} index (from {low} on)")
    absent = sorted(set(range(size)) - set(hit))
    step = _step(absent, size) if len(absent) > 1 else 0
    if step:
        return Where("all_but_every_nth", f"all but every {ordinal(step)} index (right ones from {absent[0]} on)")
    return Where("some_indices", f"indices {', '.join(map(str, hit))}") if len(hit) <= 8 else None


def _step(hit: list[int], size: int) -> int:
    """n where the indices are all those of one residue modulo n, at least three of them; else 0."""
    step = hit[1] - hit[0]
    return step if len(hit) >= 3 and step > 1 and hit == list(range(hit[0] % step, size, step)) else 0


def ordinal(n: int) -> str:
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def _every_nth(flat: torch.Tensor) -> Where | None:
    """One residue in memory order, as a one-dimensional grid of threads makes it."""
    index = flat.nonzero().reshape(-1)
    step = math.gcd(*torch.unique(index.diff()).tolist()) if index.numel() > 2 else 0
    if step < 2:
        return None
    residue = int(index[0]) % step
    if index.numel() < FULL * math.ceil((flat.numel() - residue) / step):
        return None
    return Where("every_nth", f"every {ordinal(step)} element in memory order (from {residue} on)")


def _aligned_blocks(flat: torch.Tensor) -> Where | None:
    """Whole thread blocks of a one-dimensional grid."""
    for size in _BLOCKS:
        if flat.numel() < 4 * size:
            continue
        whole = flat[: flat.numel() // size * size].reshape(-1, size).float().mean(1)
        hit = (whole > 0).nonzero().reshape(-1).tolist()
        if hit and len(hit) < whole.numel() and bool((whole[hit] >= FULL).all()):
            shown = ", ".join(map(str, hit[:6])) + (", ..." if len(hit) > 6 else "")
            return Where("blocks", f"whole runs of {size} elements in memory order, numbers {shown}")
    return None


def _periodic(flat: torch.Tensor) -> Where | None:
    """The same threads of every block."""
    for period in _PERIODS:
        if flat.numel() < 4 * period:
            continue
        share = flat[: flat.numel() // period * period].reshape(-1, period).float().mean(0)
        hit = (share > 0).nonzero().reshape(-1).tolist()
        place = _describe(hit, period) if 1 < len(hit) < period and bool((share[hit] >= FULL).all()) else None
        if place and place.pattern in ("head", "tail", "range"):
            return Where("periodic", f"{place.phrase} in every {period} elements in memory order")
    return None


def _in_planes(mask: torch.Tensor) -> Where | None:
    """Patterns in the last two dimensions, equal or not over the others."""
    if mask.ndim < 2 or min(mask.shape[-2:]) < 2:
        return None
    planes = mask.reshape(-1, *mask.shape[-2:])
    return _borders(planes) or _triangle(planes) or _tiles(planes)


def _borders(planes: torch.Tensor) -> Where | None:
    height, width = planes.shape[-2:]
    rows, columns = torch.arange(height)[:, None], torch.arange(width)[None, :]
    to_edge = torch.minimum(
        torch.minimum(rows, height - 1 - rows).expand(height, width),
        torch.minimum(columns, width - 1 - columns).expand(height, width),
    )
    depth = int(to_edge[planes.any(0)].max()) + 1
    if 4 * depth > min(height, width):
        return None
    border = to_edge < depth
    if float(planes[:, border].float().mean()) < FULL / 2:  # a border is often right on some sides or corners
        return None
    return Where("borders", f"at the borders of the last two dimensions, at most {depth} from an edge")


def _triangle(planes: torch.Tensor) -> Where | None:
    height, width = planes.shape[-2:]
    offset = torch.arange(width)[None, :] - torch.arange(height)[:, None]
    regions = {
        "on the diagonal": offset == 0,
        "above the diagonal": offset > 0,
        "on and above the diagonal": offset >= 0,
        "below the diagonal": offset < 0,
        "on and below the diagonal": offset <= 0,
    }
    for phrase, region in regions.items():
        if not planes[:, ~region].any() and float(planes[:, region].float().mean()) >= FULL:
            return Where("triangle", f"{phrase} of the last two dimensions")
    return None


def _tiles(planes: torch.Tensor) -> Where | None:
    """Tiles of a two-dimensional grid of blocks, each wholly wrong or wholly right; cut-off ones at the ends too."""
    for size in _TILES:
        share, full = _tile_shares(planes, size)
        if share.numel() < 4 or not (share > 0).any() or (share > 0).all():
            continue
        if bool((share[share > 0] >= FULL).all()):
            place = (share > 0).nonzero()[0].tolist()[-2:]
            return Where("tiles", f"{int((share > 0).sum())} of {full} tiles of {size} x {size}, first tile {place}")
    return None


def _tile_shares(planes: torch.Tensor, size: int) -> tuple[torch.Tensor, int]:
    height, width = planes.shape[-2:]
    padding = (0, -width % size, 0, -height % size)
    pool = torch.nn.functional.avg_pool2d
    wrong = pool(torch.nn.functional.pad(planes.float(), padding), size)
    real = pool(torch.nn.functional.pad(torch.ones(1, height, width), padding), size)
    share = wrong / real
    return share, share.numel()
