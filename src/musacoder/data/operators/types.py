"""What an operator of the catalogue is: its spellings in PyTorch, its shapes, and how a kernel computes it. No torch.

`value` computes an operator on samples, so that the author can tell chains whose values explode, vanish or hide an
operator. A sample has the shape (2, n): values, and the same computed from inputs rounded to half precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from musacoder.data.graph import Parameter

Shape = tuple[int, ...]
Parameters = Mapping[str, Parameter]
Sample = np.ndarray  # (2, n), float64
# Which axes of the main tensor an operand has; a feature is a channel without the axes of size one behind it, and of
# "own" the operator's own rule says.
Place = Literal["same", "row", "column", "channel", "feature", "slice", "own"]

FAMILIES = (
    "elementwise",
    "broadcast",
    "reduction",
    "normalisation",
    "softmax",
    "matmul",
    "pooling",
    "convolution",
    "indexing",
    "loss",
)


def whole(parameters: Parameters, name: str, default: int | None = None) -> int:
    """A parameter that is a whole number. KeyError where it is missing without a default."""
    value = parameters[name] if default is None else parameters.get(name, default)
    if not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}, not a whole number")
    return value


@dataclass(frozen=True)
class Operand:
    """A tensor that an operator reads beside its main one. `role` names it in spellings and device code."""

    role: str
    place: Place = "same"
    is_weight: bool = False
    make: str = "torch.randn({shape})"  # how the task makes it
    names: tuple[str, ...] = ()  # that it may have
    dtype: Literal["float32", "int64"] = "float32"


@dataclass(frozen=True)
class Operator:
    """What all operators have. In templates {x} is the main tensor, a role an operand, another name a parameter."""

    key: str
    family: str
    spellings: tuple[str, ...]
    module: str = ""  # of torch.nn, with its arguments; "" where there is none
    attribute: str = "op"  # what the module is called
    held: Mapping[str, str] = field(default_factory=dict)  # operand's role -> attribute of the module
    operands: tuple[Operand, ...] = ()
    constants: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # drawn from these ranges


@dataclass(frozen=True)
class Pointwise(Operator):
    """One value from one value of each tensor. `device` is an expression of `v` and the operands' roles."""

    device: str = "v"
    value: Callable[..., np.ndarray] = lambda v: v  # of v, then operands, then constants by name
    least: float | None = None  # values below this are outside its domain


@dataclass(frozen=True)
class Pass:
    """One walk over a slice that combines `term` of every value `v` into `name`; `final` is what it is used as."""

    name: str
    term: str
    combine: Literal["sum", "max", "min"] = "sum"
    final: str = ""


@dataclass(frozen=True)
class Sliced(Operator):
    """Something of a whole slice of the tensor: a number (`result`), or a new value for each of its own (`each`).

    Expressions know `v`, the slice's length `d`, the names of passes, and operands' roles.
    """

    passes: tuple[Pass, ...] = ()
    result: str = ""
    each: str = ""
    slices: Literal["any", "last", "group", "plane"] = "any"  # along an axis, the last one, groups of channels, pixels
    value: Callable[..., np.ndarray] = lambda v: v  # of (2, rows, d), then operands of the same shape

    @property
    def reduces(self) -> bool:
        """Whether a slice becomes a number."""
        return bool(self.result)


@dataclass(frozen=True)
class Gathered(Operator):
    """Each output value is gathered from a few places of the input.

    The output's coordinates are `coordinates`, outermost first, the first over all axes that the others leave. `body`
    are the lines that compute `v`: `@p[k]` is the input's value at offset k of plane p, `$w[k]` another tensor's, `#H`
    one of `sizes`, `<K>` a setting.
    """

    rank: tuple[int, ...] = (2,)  # of the inputs that it takes
    settings: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # whole numbers, each drawn from a list
    shape: Callable[[Shape, Parameters], Shape | None] = lambda shape, _p: shape  # None: does not fit
    own: Callable[[Shape, Parameters], Mapping[str, Shape]] = lambda _shape, _p: {}  # shapes of "own" operands
    coordinates: tuple[str, ...] = ("p", "j")
    sizes: Callable[[Shape, Shape, Parameters], Mapping[str, int]] = lambda _i, _o, _p: {}
    plane_axes: int = 2  # last axes of the input that are a plane
    is_local: bool = False  # reads plane `p` of the input alone
    body: Callable[[Parameters], tuple[str, ...]] = lambda _p: ()
    divides: int = 1  # the last axis is a multiple of it
    fan_in: Callable[[Shape, Parameters], int] = lambda _shape, _p: 1  # values that an output is made of
    value: Callable[..., np.ndarray] = lambda v: v[..., 0]  # of (2, n, fan_in), then operands of the same shape


@dataclass(frozen=True)
class Product(Operator):
    """Sums of products: `x` [..., M, K] times a second matrix gives [..., M, N]."""

    rank: tuple[int, ...] = (2,)
    is_transposed: bool = False  # the second matrix is stored [N][K]
    is_batched: bool = False  # and has the batch axis, too
