"""What the arguments of a task's model are, in words: what whoever reads a candidate's source has to know of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch

from mooreeval.execute.fake_run import tensors_in

# A task that names one of these chooses its precision itself.
_OTHER_PRECISIONS = re.compile(
    r"torch\.(?:float16|half|bfloat16|float8\w*|float64|double|autocast|cuda\.amp|HalfTensor|DoubleTensor)\b"
    r"|\.(?:half|bfloat16|double)\(|\ballow_tf32\b|\bset_float32_matmul_precision\b"
)


def argument_kinds(values: Iterable[Any] | None) -> list[str] | None:
    """ "tensor", "data" or "other" for each; None where nothing is known of them."""
    return None if values is None else [_kind(value) for value in values]


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "tensor"
    plain = value is None or isinstance(value, bool | int | float | str)
    if not plain and isinstance(value, list | tuple):
        plain = all(_kind(item) == "data" for item in value)
    return "data" if plain else "other"


def is_single_precision(code: str, values: Iterable[Any]) -> bool:
    """Whether a task computes in single precision: its tensors are, and its text asks for nothing else."""
    floats = [t.dtype for t in tensors_in(list(values)) if t.is_floating_point()]
    return all(dtype is torch.float32 for dtype in floats) and not _OTHER_PRECISIONS.search(code)
