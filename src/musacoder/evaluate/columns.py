"""From candidates to columns: each figure as numerators and denominators by task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mooreeval.config import Baseline
from mooreeval.reward import WORST
from musacoder.evaluate.estimate import Column, pass_at_k
from musacoder.evaluate.metrics import View
from musacoder.evaluate.outcomes import Attempt, Candidate, Outcome


@dataclass(frozen=True)
class Table:
    """The attempts that count, by task: for each candidate its first turn or its best."""

    view: View
    rows: tuple[tuple[Attempt, ...], ...]  # [tasks][candidates]
    unsupported_failed: bool = False  # else it is not scored

    def scored(self, row: Sequence[Attempt]) -> list[Attempt]:
        """The attempts of one task that count for or against the model."""
        return [a for a in row if a.scored or (self.unsupported_failed and a.outcome is Outcome.UNSUPPORTED)]

    def scored_rows(self) -> Iterator[list[Attempt]]:
        """The same for every task, in order."""
        return (self.scored(row) for row in self.rows)


def table(tasks: Sequence[Sequence[Candidate]], view: View, *, unsupported_failed: bool = False) -> Table:
    """The table of some tasks' candidates by one view."""
    rows = tuple(tuple(c.first if view == "first" else c.best for c in candidates) for candidates in tasks)
    return Table(view, rows, unsupported_failed)


def pass_column(of: Table, k: int) -> tuple[Column, int]:
    """Pass@k by task, and how many tasks have fewer than k scored candidates."""
    counts = [(len(row), _correct(row)) for row in of.scored_rows()]
    over = [pass_at_k(n, c, k) if n else 0.0 for n, c in counts]
    column = _column(over, [float(n > 0) for n, _ in counts], sum(n for n, _ in counts))
    return column, sum(0 < n < k for n, _ in counts)


def average_column(of: Table) -> Column:
    """The share of correct candidates by task: every task weighs the same."""
    counts = [(len(row), _correct(row)) for row in of.scored_rows()]
    over = [c / n if n else 0.0 for n, c in counts]
    return _column(over, [float(n > 0) for n, _ in counts], sum(n for n, _ in counts))


def score_column(of: Table) -> Column:
    """The mean of s: every candidate weighs the same, and what counts as failed without a verdict has the worst."""
    scores = [[s for a in row if (s := _score(a)) is not None] for row in of.scored_rows()]
    return _column([sum(s) for s in scores], [float(len(s)) for s in scores], sum(map(len, scores)))


def _score(attempt: Attempt) -> float | None:
    return WORST if attempt.outcome is Outcome.UNSUPPORTED else attempt.score


@dataclass(frozen=True)
class FasterColumns:
    """The Faster Rate by task; every candidate weighs the same."""

    rate: Column
    confirmed: Column  # empty where no correct candidate has an interval
    without_baseline: int
    without_interval: int  # candidates that are in the rate, and not in the confirmed one


def faster_columns(of: Table, baseline: Baseline) -> FasterColumns | None:
    """Shares of candidates that are faster; None where candidates are correct and none was timed.

    A correct candidate that was not timed against the baseline leaves the denominator. Where no correct one of a task
    was, the task has no such baseline, and its other candidates leave, too: else they alone would be counted.
    """
    by_time, by_interval = (lambda a: a.faster(baseline)), (lambda a: a.confirmed(baseline))
    kept = [_known(row, by_time) for row in of.scored_rows()]
    scored = sum(len(row) for row in of.scored_rows())
    correct = sum(_correct(row) for row in of.scored_rows())
    if correct and not any(_correct(row) for row in kept):
        return None
    sure = [_known(row, by_interval) for row in kept]
    if correct and not any(_correct(row) for row in sure):
        sure = [[] for _ in kept]  # the failures of other tasks alone are no rate
    left = sum(map(len, kept))
    return FasterColumns(_share(kept, by_time), _share(sure, by_interval), scored - left, left - sum(map(len, sure)))


_Holds = Callable[[Attempt], bool | None]  # None: unknown


def _known(row: list[Attempt], holds: _Holds) -> list[Attempt]:
    """The attempts of a task of which it is known; none where it is of no correct one, and there are such."""
    known = [a for a in row if holds(a) is not None]
    return known if not _correct(row) or _correct(known) else []


def _share(rows: Sequence[Sequence[Attempt]], holds: _Holds) -> Column:
    over = [float(sum(bool(holds(a)) for a in row)) for row in rows]
    return _column(over, [float(len(row)) for row in rows], sum(map(len, rows)))


def _correct(row: Sequence[Attempt]) -> int:
    return sum(a.outcome is Outcome.CORRECT for a in row)


def _column(over: Sequence[float], under: Sequence[float], candidates: int) -> Column:
    return Column(np.array(over, dtype=np.float64), np.array(under, dtype=np.float64), candidates)
