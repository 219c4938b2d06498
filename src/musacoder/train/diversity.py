"""How many ways of writing a kernel a policy knows: figures of the clusters of right answers. No torch."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from mooreeval.verdict import Record
from musacoder.train.pool import PoolEntry

DRAWS = 4  # right answers among which clusters are counted where tasks have different numbers of them


class Diversity(Record):
    """Means over tasks that have an answer at all; none where there is no such task.

    `clusters` grows with the number of right answers. `clusters_in_4` does not: it is how many clusters four right
    answers of a task have on average, over tasks that have as many.
    """

    tasks: int
    answers: int
    clusters: float | None = None  # different ones of a task
    entropy: float | None = None  # nats, of the shares of a task's clusters
    effective: float | None = None  # exp(entropy): as many clusters of equal share have that entropy
    clusters_in_4: float | None = None
    tasks_with_4: int = 0


def diversity_of(entries: Iterable[PoolEntry]) -> Diversity:
    """Of right answers, or of targets."""
    by_task: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        by_task[entry.task][entry.cluster] += 1
    tables = list(by_task.values())
    if not tables:
        return Diversity(tasks=0, answers=0)
    entropies = [entropy(table) for table in tables]
    many = [expected_clusters(table, DRAWS) for table in tables if table.total() >= DRAWS]
    return Diversity(
        tasks=len(tables),
        answers=sum(table.total() for table in tables),
        clusters=_mean([len(table) for table in tables]),
        entropy=_mean(entropies),
        effective=_mean([math.exp(each) for each in entropies]),
        clusters_in_4=_mean(many) if many else None,
        tasks_with_4=len(many),
    )


def entropy(counts: Mapping[str, int]) -> float:
    """Of the shares, in nats."""
    total = sum(counts.values())
    return max(-sum(n / total * math.log(n / total) for n in counts.values() if n), 0.0)


def expected_clusters(counts: Mapping[str, int], draws: int) -> float:
    """Expected number of clusters among so many answers drawn without replacement (rarefaction; Hurlbert 1971)."""
    total = sum(counts.values())
    whole = math.comb(total, draws)
    return sum(1 - math.comb(total - n, draws) / whole for n in counts.values())


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)
