"""The sizes of a task: its integers, equal ones of one kind together, and the shapes that they lead to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from mooreeval.execute.fake_run import FakeRun, tensors_in
from mooreeval.execute.reduce_sites import Site

Kind = Literal["batch", "size", "small", "semantic"]

_BATCH = re.compile(r"batch|^bsz?$", re.IGNORECASE)
_SEMANTIC = re.compile(
    r"kernel|stride|pad|dilat|group|head|axis|layer|scale|factor|expert|top_?k|patch|window|eps|class|step|block|chunk"
    r"|ratio|power|reduction|^norm$|^k$|^p$",
    re.IGNORECASE,
)
LARGEST_SMALL = 32  # channel counts up to here are touched late
_LARGEST_SEMANTIC = 512  # above, a name like `window_size` or `num_classes` still means a size


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


def is_power(value: int) -> bool:
    return value & (value - 1) == 0


def sizes_of(sites: list[Site]) -> list[Size]:
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
    return "small" if site.value <= LARGEST_SMALL else "size"


def shapes_of(run: FakeRun) -> dict[tuple[object, ...], int]:
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
