"""What values do on their way through a chain of operators, seen on a small sample, so that no task is trivial.

A chain is refused where values explode or vanish, where an operator changes next to nothing, and where rounding the
inputs to half precision would not show in the output: a judge could not tell a wrong kernel then.
"""

from __future__ import annotations

import numpy as np

from musacoder.data.graph import Parameter
from musacoder.data.operators import Gathered, Operand, Operator, Pointwise, Product, Sliced
from musacoder.data.operators.types import Parameters, Sample, Shape

_SIZE = 512
_LONGEST = 1024  # values of a slice that are looked at
_MOST = 60.0  # largest value that may occur
_TOLERANCE = 1e-4  # of the judge, in single precision
_MARGIN = 2.0  # times the tolerance by which half-precision inputs have to show
_MOST_ROUNDING = 0.05  # of the output's scale
_NON_NEGATIVE = frozenset(
    "relu sigmoid softplus relu6 hardsigmoid abs square exp squared_relu sqrt log1p rsqrt1 norm2 norm1 mean_square "
    "mean_abs variance std value_range abs_max softmax softmin softmax_scaled softmax_temperature softmax_relative "
    "exp_relative sigmoid_normalize min_max_normalize mse_loss squared_error_sum l1_loss abs_difference "
    "squared_difference pairwise_distance".split()
)


def fresh(rng: np.random.Generator, size: int | tuple[int, ...] = _SIZE, make: str = "") -> Sample:
    """Values of an input or a weight, and the same rounded to half precision; the outermost ones are far out."""
    shape = (size,) if isinstance(size, int) else size
    values = rng.random(shape) if "rand(" in make else rng.standard_normal(shape)
    if isinstance(size, int) and not make:
        values[:2] = -5.0, 5.0
    return np.stack([values, values.astype(np.float16).astype(np.float64)])


def follow(
    operator: Operator, sample: Sample, length: int, parameters: Parameters, rng: np.random.Generator
) -> Sample | None:
    """The operator's output on a sample of its input; `length` is what a slice, a window or a product goes over.

    None where the output hardly follows the main tensor, such as a minimum with values that are all smaller.
    """
    constants = {name: parameters[name] for name in operator.constants}
    if isinstance(operator, Pointwise):
        others = [fresh(rng, sample.shape[1], o.make) for o in operator.operands]
        after = operator.value(sample, *others, **constants)
        turned = operator.value(sample[:, ::-1], *others, **constants)
        return after if np.abs(after - turned)[0].mean() > 0.1 * after[0].std() else None
    length = min(length, _LONGEST)
    rows = _SIZE if not isinstance(operator, Sliced) else max(24, min(128, 16384 // length))
    drawn = sample[:, rng.integers(sample.shape[1], size=(rows, length))]
    if isinstance(operator, Product):
        others = [fresh(rng, drawn.shape[1:]), *[fresh(rng, rows) for _ in operator.operands[1:]]]
        return (drawn * others[0]).sum(-1) / drawn.shape[-1] ** 0.5 + sum(others[1:])
    assert isinstance(operator, Sliced | Gathered)
    others = [fresh(rng, drawn.shape[1:], o.make) for o in operator.operands if o.dtype == "float32"]
    result = operator.value(drawn, *others, **constants)
    return result.reshape(2, -1)


def is_defined(operator: Operator, before: str | None) -> bool:
    """Whether every value that the operator before gives is in this one's domain."""
    return not isinstance(operator, Pointwise) or operator.least is None or before in _NON_NEGATIVE


def is_useful(operator: Operator, before: Sample, after: Sample) -> bool:
    """Whether the operator changes its input visibly, and leaves values of an ordinary size that differ."""
    exact = after[0]
    if not np.isfinite(exact).all() or np.abs(exact).max() > _MOST:
        return False
    spread = exact.std()
    if spread < 1e-3 or spread < 0.15 * abs(exact.mean()):
        return False
    if isinstance(operator, Pointwise):
        return bool(np.abs(exact - before[0]).mean() > 0.06 * before[0].std())
    return True


def rounds_visibly(sample: Sample) -> bool:
    """Whether half-precision inputs would be told from the right ones by the judge's tolerance, and no more than that.

    Where they change values a lot, as a sine does of large ones, single precision rounds near the tolerance, too.
    """
    exact, rounded = sample
    scale = np.sqrt((exact**2).mean())
    difference = np.abs(exact - rounded)
    is_seen = (difference > _MARGIN * _TOLERANCE * (np.abs(exact) + scale)).mean() > 0.002
    return bool(is_seen and difference.max() < _MOST_ROUNDING * scale)


def draw_constants(operator: Operator, rng: np.random.Generator) -> dict[str, Parameter]:
    """Constants from the operator's ranges with at most two digits, none of them zero."""
    drawn = {name: round(float(rng.uniform(*bounds)), 2) for name, bounds in operator.constants.items()}
    return {name: value or 0.1 for name, value in drawn.items()}


def operand_shape(operand: Operand, shape: Shape) -> Shape | None:
    """The shape of an operand beside a main tensor; None where there is none."""
    rank = len(shape)
    if operand.place == "same":
        return shape
    if operand.place == "row":
        return (shape[-1],) if rank >= 2 and shape[-1] >= 4 else None
    if operand.place == "column":
        return (*shape[:-1], 1) if rank in (2, 3) and shape[-1] >= 4 else None
    if operand.place == "channel":
        return (shape[1], *[1] * (rank - 2)) if rank >= 3 and shape[-1] >= 4 else None
    if operand.place == "feature":
        return (shape[1],) if rank == 4 else None
    if operand.place == "slice":
        return shape[:-1] if rank == 2 else None
    return None
