"""How much of a data set is of which class and family: reported, drawn to wanted shares, refused where too rare."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from mooreeval.config import Count, Whole
from mooreeval.errors import UsageError
from mooreeval.verdict import Record
from musacoder.data.records import Row, RowKind

Share = Annotated[float, Field(gt=0, le=1)]


class MixtureConfig(Record):
    """What a mixture has to be like."""

    wanted: Mapping[RowKind, Share] = Field(
        {}, description="Shares of classes to draw to, of those that are named together; none: every row is kept."
    )
    least: Annotated[float, Field(ge=0, lt=1)] = Field(0.03, description="Smallest share of a class ...")
    enough: Count = Field(
        300, description="... unless it has that many rows of profiling, which need measured kernels."
    )
    kept: Share = Field(
        0.5,
        description="Classes that are common lose rows until the others have their share, but never so many that "
        "less than this is left of all rows.",
    )
    without: tuple[RowKind, ...] = Field((), description="Classes that may be missing, or rarer.")
    family_most: Share = Field(0.2, description="Largest share of a family of operators.")
    seed: Whole = Field(0, description="Which rows are left out.")


def mixture(rows: Sequence[Row], config: MixtureConfig) -> list[Row]:
    """The rows that make the mixture, in their order. UsageError, one line, where a class is too rare."""
    kept = _balanced(_capped(_drawn(rows, config), config), config)
    require_shares(kept, config)
    return kept


def shares(rows: Iterable[Row]) -> dict[RowKind, float]:
    """The share of each of the six classes, 0 where there is none."""
    counts = Counter(row.kind for row in rows)
    total = sum(counts.values())
    return {kind: counts[kind] / total if total else 0.0 for kind in RowKind}


def require_shares(rows: Sequence[Row], config: MixtureConfig) -> None:
    """UsageError, one line that names every class that is too rare."""
    counts = Counter(row.kind for row in rows)
    rare = [
        f"{kind.value} {counts[kind]} of {len(rows)} rows ({share:.1%})"
        for kind, share in shares(rows).items()
        if share < config.least and kind not in config.without and not _is_enough(kind, counts, config)
    ]
    if rare:
        raise UsageError(
            f"too rare in the mixture, where {config.least:.0%} is the least: {', '.join(rare)}; make more of them, "
            "take fewer of the others (wanted), or leave them out on purpose (without)"
        )


def _is_enough(kind: RowKind, counts: Mapping[RowKind, int], config: MixtureConfig) -> bool:
    return kind is RowKind.PROFILING and counts[kind] >= config.enough


def _drawn(rows: Sequence[Row], config: MixtureConfig) -> list[Row]:
    """As many rows as can have the wanted shares, none of them twice; classes without a wanted share stay whole."""
    if not config.wanted:
        return list(rows)
    counts = Counter(row.kind for row in rows)
    whole = sum(config.wanted.values())
    total = min(math.floor(counts[kind] * whole / share) for kind, share in config.wanted.items())
    most = {kind: round(total * share / whole) for kind, share in config.wanted.items()}
    return _at_most(rows, lambda row: row.kind, most, config.seed)


def _balanced(rows: Sequence[Row], config: MixtureConfig) -> list[Row]:
    """Without rows of common classes that leave a rare one less than its share; all of them where that is too many."""
    counts = Counter(row.kind for row in rows)
    needed = [k for k in RowKind if k not in config.without and not _is_enough(k, counts, config)]
    if not needed or not config.least:
        return list(rows)
    most = math.floor(min(counts[kind] for kind in needed) / config.least)
    if most >= len(rows) or most < config.kept * len(rows):
        return list(rows)
    cap = max(counts.values())
    while sum(min(n, cap) for n in counts.values()) > most:
        cap -= 1
    return _at_most(rows, lambda row: row.kind, dict.fromkeys(counts, cap), config.seed)


def _capped(rows: Sequence[Row], config: MixtureConfig) -> list[Row]:
    """Without what makes a family larger than its share may be."""
    counts = Counter(row.family for row in rows)
    if len(counts) * config.family_most < 1:
        raise UsageError(
            f"the rows are of {len(counts)} families, of which none may be more than {config.family_most:.0%} "
            "(family_most)"
        )
    cap = max(counts.values(), default=0)
    while cap > 0 and cap > config.family_most * sum(min(n, cap) for n in counts.values()):
        cap -= 1
    return _at_most(rows, lambda row: row.family, dict.fromkeys(counts, cap), config.seed)


def _at_most(rows: Sequence[Row], of: Callable[[Row], Hashable], most: Mapping[Any, int], seed: int) -> list[Row]:
    """The rows without those that are too many of their group; by lot, which depends on rows and seed alone."""
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        groups[of(row)].append(row)
    kept: set[str] = set()
    for group, members in groups.items():
        by_lot = sorted(members, key=lambda row: hashlib.sha256(f"{seed} {row.row_hash}".encode()).hexdigest())
        kept.update(row.row_hash for row in by_lot[: most.get(group, len(members))])
    return [row for row in rows if row.row_hash in kept]
