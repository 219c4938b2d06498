"""Two runs compared pair by pair: over the tasks that both have, each resample draws the same tasks for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mooreeval.config import Baseline
from mooreeval.errors import UsageError
from musacoder.evaluate.columns import Table, average_column, faster_columns, pass_column, score_column, table
from musacoder.evaluate.estimate import Column, interval, task_weights
from musacoder.evaluate.metrics import Comparison, Difference, TaskChange, View
from musacoder.evaluate.outcomes import Candidate, candidates_of
from musacoder.evaluate.rates import VIEWS, Bootstrap, ks, measured_baselines
from musacoder.runlog import Judged, Manifest, Sample

# What makes two runs differ besides their models.
_CONDITIONS = ("suite", "samples", "turns", "backend", "device", "policy", "protocol")

_Measure = Callable[[Table], Column | None]


@dataclass(frozen=True)
class Run:
    """The records of one run."""

    manifest: Manifest
    samples: Sequence[Sample]
    verdicts: Sequence[Judged]

    def by_hash(self, evidence: str) -> dict[str, list[Candidate]]:
        """Candidates by their task's content, whatever it is called."""
        hashes = {task.name: task.hash for task in self.manifest.tasks}
        found: dict[str, list[Candidate]] = {}
        for candidate in candidates_of(self.manifest, self.samples, self.verdicts, evidence):
            found.setdefault(hashes[candidate.task], []).append(candidate)
        return found


def compare(first: Run, second: Run, *, evidence: str | None = None, draw: Bootstrap | None = None) -> Comparison:
    """What changes from the first run to the second, on their common tasks.

    Raises UsageError for runs of different evidence: emulation and a device are never compared.
    """
    kinds = {first.manifest.evidence, second.manifest.evidence}
    if evidence is None and len(kinds) > 1:
        raise UsageError(
            f"runs {first.manifest.name} and {second.manifest.name} rest on different evidence "
            f"({first.manifest.evidence}, {second.manifest.evidence}) and are not compared"
        )
    evidence, draw = evidence or first.manifest.evidence, draw or Bootstrap()
    ones, others = first.by_hash(evidence), second.by_hash(evidence)
    common = [key for key in ones if key in others]
    pairs = [ones[key] for key in common], [others[key] for key in common]
    changes = list(_changes(*pairs))
    return Comparison(
        first=first.manifest.name,
        second=second.manifest.name,
        evidence=evidence,
        common_tasks=len(common),
        only_first=len(ones) - len(common),
        only_second=len(others) - len(common),
        differences=tuple(_differences(first, second, pairs, evidence, draw)) if common else (),
        better=tuple(sorted((c for c in changes if c.second > c.first), key=_size)),
        worse=tuple(sorted((c for c in changes if c.second < c.first), key=_size)),
        equal=sum(c.second == c.first for c in changes),
        cautions=tuple(_cautions(first.manifest, second.manifest)),
    )


def _size(change: TaskChange) -> tuple[float, str]:
    return -abs(change.second - change.first), change.name


_Pairs = tuple[list[list[Candidate]], list[list[Candidate]]]  # [tasks][candidates] of each run


def _differences(first: Run, second: Run, pairs: _Pairs, evidence: str, draw: Bootstrap) -> Iterator[Difference]:
    samples = min(first.manifest.samples, second.manifest.samples)
    baselines = [b for b in measured_baselines(pairs[0], evidence) if b in measured_baselines(pairs[1], evidence)]
    for view in VIEWS:
        tables = table(pairs[0], view), table(pairs[1], view)
        for name, measure in _measures(samples, baselines):
            columns = measure(tables[0]), measure(tables[1])
            if columns[0] is not None and columns[1] is not None:
                found = _difference(name, view, columns[0], columns[1], draw)
                yield from () if found is None else (found,)


def _measures(samples: int, baselines: Sequence[Baseline]) -> Iterator[tuple[str, _Measure]]:
    for k in ks(samples):
        yield f"Pass@{k}", lambda of, k=k: pass_column(of, k)[0]
    yield "Avg", average_column
    yield "score", score_column
    for baseline in baselines:
        yield f"faster than {baseline}", lambda of, b=baseline: _faster(of, b)


def _faster(of: Table, baseline: Baseline) -> Column | None:
    columns = faster_columns(of, baseline)
    return None if columns is None else columns.rate


def _difference(name: str, view: View, first: Column, second: Column, draw: Bootstrap) -> Difference | None:
    both = (first.under > 0) & (second.under > 0)
    one, other = _only(first, both), _only(second, both)
    values = one.value(), other.value()
    if values[0] is None or values[1] is None:
        return None
    tasks = int(both.sum())
    low, high = None, None
    if tasks > 1:
        weights = task_weights(tasks, draw.resamples, draw.seed)
        low, high = interval(other.resampled(weights) - one.resampled(weights))
    return Difference(
        name=name,
        view=view,
        first=values[0],
        second=values[1],
        difference=values[1] - values[0],
        low=low,
        high=high,
        tasks=tasks,
    )


def _only(column: Column, tasks: np.ndarray) -> Column:
    return Column(column.over[tasks], column.under[tasks], column.candidates)


def _changes(first: list[list[Candidate]], second: list[list[Candidate]]) -> Iterator[TaskChange]:
    columns = average_column(table(first, "best")), average_column(table(second, "best"))
    for number, candidates in enumerate(first):
        if all(column.under[number] for column in columns):
            one, other = (float(column.over[number]) for column in columns)
            yield TaskChange(name=candidates[0].task, first=one, second=other)


def _cautions(first: Manifest, second: Manifest) -> Iterator[str]:
    for name in _CONDITIONS:
        one, other = getattr(first, name), getattr(second, name)
        if one != other:
            yield f"{name} differs: {one} and {other}"
