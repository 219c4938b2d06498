"""How often each row is drawn: weights by kind and family, and draws that follow them exactly. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mooreeval.errors import UsageError
from musacoder.train.config import MixtureConfig, Weights


def weights_of(config: MixtureConfig, kinds: Sequence[str], families: Sequence[str]) -> np.ndarray:
    """(rows,) float64, not negative; a kind or family that is not named weighs 1.

    What the configuration names itself wins over its file. UsageError: a bad file, or nothing left to draw.
    """
    by_kind, by_family = _file(config.weights) if config.weights else ({}, {})
    by_kind, by_family = {**by_kind, **config.kinds}, {**by_family, **config.families}
    weights = np.array([by_kind.get(k, 1.0) * by_family.get(f, 1.0) for k, f in zip(kinds, families, strict=True)])
    if not weights.sum() > 0:
        raise UsageError("mixture: no row has a weight above 0")
    return weights


def draws(weights: np.ndarray, epoch: int, seed: int) -> np.ndarray:
    """Rows of one epoch in the order in which they are trained on: about as many draws as there are rows.

    A row of weight w is drawn floor or ceil of w / mean(w) times, on average exactly that; of equal weights each once.
    The same arguments always give the same draws.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(weights))
    ends = np.cumsum(weights[shuffled] / weights.mean()) + random.random()
    counts = np.diff(np.floor(ends), prepend=0).astype(np.int64)
    return random.permutation(np.repeat(shuffled, counts))


def _file(path: Path) -> tuple[Weights, Weights]:
    """Weights by kind and by family."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"mixture.weights: cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"mixture.weights: {path} is not JSON: {error}") from None
    if not isinstance(data, Mapping) or not {"kinds", "families"} & set(data):
        raise UsageError(f"mixture.weights: {path} has neither kinds nor families")
    return _numbers(data.get("kinds", {}), path), _numbers(data.get("families", {}), path)


def _numbers(data: Any, path: Path) -> Weights:
    """Weights by name, of a mapping or of a diagnosis' table, whose rows name a family and its weight."""
    if isinstance(data, list) and all(isinstance(row, Mapping) and {"family", "weight"} <= set(row) for row in data):
        data = {row["family"]: row["weight"] for row in data}
    good = isinstance(data, Mapping) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v < float("inf") for v in data.values()
    )
    if not good:
        raise UsageError(f"mixture.weights: {path} holds a weight that is no number from 0 on")
    return {str(name): float(value) for name, value in data.items()}
