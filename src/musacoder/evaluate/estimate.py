"""Estimates: Pass@k of one task, and a ratio over tasks with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from musacoder.evaluate.metrics import Estimate

RESAMPLES = 2000
INTERVAL = (2.5, 97.5)  # percentiles: the ends of 95 %

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A figure by task: its value over tasks is sum(over) / sum(under)."""

    over: Floats  # [tasks]
    under: Floats  # [tasks], 0 where the task says nothing
    candidates: int  # that stand behind it

    def value(self) -> float | None:
        """The point estimate; None where nothing stands behind it."""
        total = float(self.under.sum())
        return float(self.over.sum()) / total if total > 0 else None

    def resampled(self, weights: Floats) -> Floats:
        """The value in each resample, [resamples]; those without any task of it are left out by NaN."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (weights @ self.over) / (weights @ self.under)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k passes, drawn without replacement from n of which c do.

    1 - C(n - c, k) / C(n, k), the unbiased estimator of Chen et al. 2021 (arXiv 2107.03374). Of fewer than k samples
    all are taken: an estimate that can only be too low.
    Raises ValueError where n, c and k are no such numbers.
    """
    if not 0 <= c <= n or n < 1 or k < 1:
        raise ValueError(f"no Pass@{k} of {c} in {n}")
    return 1.0 - comb(n - c, min(k, n)) / comb(n, min(k, n))


@lru_cache(maxsize=8)
def task_weights(tasks: int, resamples: int, seed: int) -> Floats:
    """How often each task is drawn in each resample with replacement, [resamples, tasks]."""
    generator = np.random.default_rng([seed, tasks])
    return generator.multinomial(tasks, np.full(tasks, 1 / tasks), size=resamples).astype(np.float64)


def estimate(column: Column, resamples: int, seed: int) -> Estimate | None:
    """The value with a 95 % percentile interval, by bootstrap over tasks; no interval for a single task."""
    value = column.value()
    if value is None:
        return None
    tasks = int((column.under > 0).sum())
    low, high = (
        interval(column.resampled(task_weights(len(column.over), resamples, seed))) if tasks > 1 else (None,) * 2
    )
    return Estimate(value=value, low=low, high=high, tasks=tasks, candidates=column.candidates)


def interval(values: Floats) -> tuple[float, float]:
    """The 95 % percentile interval of resampled values."""
    low, high = np.nanpercentile(values, INTERVAL)
    return float(low), float(high)
