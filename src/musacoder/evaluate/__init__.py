"""Metrics of a run: pure functions of what was asked, answered and judged. No files, no torch.

    records ─> attempts (outcomes) ─> candidates by view (first turn, best turn) ─> columns by task ─> estimates

`docs/metrics.md` defines every figure.
"""

from musacoder.evaluate.compare import Run, compare
from musacoder.evaluate.families import FAMILIES, family_of
from musacoder.evaluate.metrics import Comparison, Estimate, Metrics, Rates
from musacoder.evaluate.run import evaluate, evidences

__all__ = [
    "FAMILIES",
    "Comparison",
    "Estimate",
    "Metrics",
    "Rates",
    "Run",
    "compare",
    "evaluate",
    "evidences",
    "family_of",
]
