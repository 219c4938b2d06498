"""The rates of a set of tasks, and fast_p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooreeval.config import Baseline
from musacoder.evaluate.columns import (
    Table,
    average_column,
    faster_columns,
    pass_column,
    score_column,
    table,
)
from musacoder.evaluate.estimate import RESAMPLES, Column, estimate
from musacoder.evaluate.metrics import Estimate, FastCurve, FasterRate, FastPoint, Group, PassAtK, Rates, View
from musacoder.evaluate.outcomes import BASELINES, Attempt, Candidate, Outcome

# Dense where curves bend; 1.1 is the Faster Rate's.
P_GRID = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)

VIEWS: tuple[View, ...] = ("first", "best")

TaskCandidates = Sequence[Sequence[Candidate]]  # [tasks][candidates]


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn."""

    seed: int = 0
    resamples: int = RESAMPLES

    def __call__(self, column: Column) -> Estimate | None:
        return estimate(column, self.resamples, self.seed)


def ks(samples: int) -> list[int]:
    """The k of Pass@k: powers of two up to the number of samples, and that number."""
    powers = [1 << i for i in range(samples.bit_length()) if 1 << i <= samples]
    return sorted({*powers, samples} - {0})


def group(
    name: str,
    tasks: TaskCandidates,
    samples: int,
    draw: Bootstrap,
    baselines: Sequence[Baseline],
    *,
    unsupported_failed: bool = False,
) -> Group:
    """Rates of a set of tasks by both views, their speed against these baselines."""
    first, best = (
        rates(table(tasks, view, unsupported_failed=unsupported_failed), samples, draw, baselines) for view in VIEWS
    )
    return Group(name=name, first=first, best=best)


def rates(of: Table, samples: int, draw: Bootstrap, baselines: Sequence[Baseline]) -> Rates:
    """All rates of one table."""
    scored = sum(len(row) for row in of.scored_rows())
    return Rates(
        view=of.view,
        tasks=len(of.rows),
        scored=scored,
        unscored=sum(map(len, of.rows)) - scored,
        pass_at=tuple(_pass_rates(of, samples, draw)),
        avg=draw(average_column(of)),
        score=draw(score_column(of)),
        faster=tuple(_faster(of, baseline, draw) for baseline in baselines),
    )


def _pass_rates(of: Table, samples: int, draw: Bootstrap) -> Iterator[PassAtK]:
    for k in ks(samples):
        column, short = pass_column(of, k)
        if (found := draw(column)) is not None:
            yield PassAtK(k=k, estimate=found, short_tasks=short)


def _faster(of: Table, baseline: Baseline, draw: Bootstrap) -> FasterRate:
    columns = faster_columns(of, baseline)
    if columns is None:
        left = sum(len(row) for row in of.scored_rows())
        return FasterRate(baseline=baseline, without_baseline=left)
    return FasterRate(
        baseline=baseline,
        rate=draw(columns.rate),
        confirmed=draw(columns.confirmed),
        without_baseline=columns.without_baseline,
        without_interval=columns.without_interval,
    )


def measured_baselines(tasks: TaskCandidates, evidence: str) -> tuple[Baseline, ...]:
    """What a run can be compared with in speed: nothing by emulation, else the baselines that were timed.

    Where nothing is correct nothing was timed, and nothing is faster than any baseline.
    """
    if evidence != "device":
        return ()
    attempts = [a for row in tasks for candidate in row for a in candidate.attempts]
    if not any(a.outcome is Outcome.CORRECT for a in attempts):
        return BASELINES
    return tuple(b for b in BASELINES if any(a.speedup(b) is not None for a in attempts))


def fast_curves(tasks: TaskCandidates, baselines: Sequence[Baseline]) -> Iterator[FastCurve]:
    """fast_p by both views; no curve where a view has no timed candidate."""
    for of in (table(tasks, view) for view in VIEWS):
        yield from (curve for baseline in baselines if (curve := _fast_curve(of, baseline)) is not None)


def _fast_curve(of: Table, baseline: Baseline) -> FastCurve | None:
    rows = [row for row in (_timed(row, baseline) for row in of.scored_rows()) if row]
    total = sum(map(len, rows))
    if not any(v for row in rows for v in row):
        return None
    points = [
        FastPoint(
            p=p,
            candidates=sum(v > p for row in rows for v in row) / total,
            tasks=sum(any(v > p for v in row) for row in rows) / len(rows),
        )
        for p in P_GRID
    ]
    return FastCurve(baseline=baseline, view=of.view, points=tuple(points), candidates=total, tasks=len(rows))


def _timed(row: list[Attempt], baseline: Baseline) -> list[float]:
    """Speed-ups of the candidates of a task, 0 for what is not correct; empty where the task has no such baseline."""
    known = [a.speedup(baseline) or 0.0 for a in row if a.faster(baseline) is not None]
    lacking = len(known) < len(row)
    return known if not lacking or any(known) else []
