"""Element-wise and broadcasting operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from musacoder.data.operators.types import Operand, Operator, Place, Pointwise

_erf = np.vectorize(math.erf, otypes=[float])


def _softplus(v: np.ndarray) -> np.ndarray:
    return np.logaddexp(v, 0.0)


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


# Key, spellings, module, device expression, value; and the least value of its domain.
_UNARY: tuple[tuple, ...] = (
    ("relu", "torch.relu({x})|F.relu({x})|{x}.relu()|{x}.clamp(min=0)", "nn.ReLU()", "fmaxf(v, 0.0f)",
     lambda v: np.maximum(v, 0)),
    ("sigmoid", "torch.sigmoid({x})|{x}.sigmoid()", "nn.Sigmoid()", "1.0f / (1.0f + expf(-v))", _sigmoid),
    ("tanh", "torch.tanh({x})|{x}.tanh()", "nn.Tanh()", "tanhf(v)", np.tanh),
    ("gelu", "F.gelu({x})", "nn.GELU()", "0.5f * v * (1.0f + erff(v * 0.70710678f))",
     lambda v: 0.5 * v * (1 + _erf(v / 2**0.5))),
    ("gelu_tanh", 'F.gelu({x}, approximate="tanh")', 'nn.GELU(approximate="tanh")',
     "0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)))",
     lambda v: 0.5 * v * (1 + np.tanh(0.79788456 * (v + 0.044715 * v**3)))),
    ("silu", "F.silu({x})|{x} * torch.sigmoid({x})", "nn.SiLU()", "v / (1.0f + expf(-v))", lambda v: v * _sigmoid(v)),
    ("softplus", "F.softplus({x})", "nn.Softplus()", "v > 20.0f ? v : log1pf(expf(v))", _softplus),
    ("mish", "F.mish({x})|{x} * torch.tanh(F.softplus({x}))", "nn.Mish()",
     "v * tanhf(v > 20.0f ? v : log1pf(expf(v)))", lambda v: v * np.tanh(_softplus(v))),
    ("softsign", "F.softsign({x})|{x} / (1.0 + torch.abs({x}))", "nn.Softsign()", "v / (1.0f + fabsf(v))",
     lambda v: v / (1 + abs(v))),
    ("relu6", "F.relu6({x})|torch.clamp({x}, 0.0, 6.0)", "nn.ReLU6()", "fminf(fmaxf(v, 0.0f), 6.0f)",
     lambda v: np.clip(v, 0, 6)),
    ("hardsigmoid", "F.hardsigmoid({x})", "nn.Hardsigmoid()", "fminf(fmaxf(v / 6.0f + 0.5f, 0.0f), 1.0f)",
     lambda v: np.clip(v / 6 + 0.5, 0, 1)),
    ("hardswish", "F.hardswish({x})", "nn.Hardswish()", "v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f",
     lambda v: v * np.clip(v + 3, 0, 6) / 6),
    ("selu", "F.selu({x})|torch.selu({x})", "nn.SELU()",
     "1.05070099f * (v > 0.0f ? v : 1.67326324f * (expf(v) - 1.0f))",
     lambda v: 1.05070099 * np.where(v > 0, v, 1.67326324 * np.expm1(np.minimum(v, 0)))),
    ("logsigmoid", "F.logsigmoid({x})", "nn.LogSigmoid()", "fminf(v, 0.0f) - log1pf(expf(-fabsf(v)))",
     lambda v: -_softplus(-v)),
    ("tanhshrink", "F.tanhshrink({x})|{x} - torch.tanh({x})", "nn.Tanhshrink()", "v - tanhf(v)",
     lambda v: v - np.tanh(v)),
    ("abs", "torch.abs({x})|{x}.abs()", "", "fabsf(v)", abs),
    ("neg", "-{x}|torch.neg({x})", "", "-v", lambda v: -v),
    ("square", "{x} ** 2|torch.square({x})|{x} * {x}|{x}.pow(2)", "", "v * v", np.square),
    ("sin", "torch.sin({x})|{x}.sin()", "", "sinf(v)", np.sin),
    ("cos", "torch.cos({x})|{x}.cos()", "", "cosf(v)", np.cos),
    ("atan", "torch.atan({x})|{x}.atan()", "", "atanf(v)", np.arctan),
    ("erf", "torch.erf({x})|{x}.erf()", "", "erff(v)", _erf),
    ("asinh", "torch.asinh({x})|{x}.asinh()", "", "asinhf(v)", np.arcsinh),
    ("exp", "torch.exp({x})|{x}.exp()", "", "expf(v)", lambda v: np.exp(np.minimum(v, 30))),
    ("expm1", "torch.expm1({x})|{x}.exp() - 1.0", "", "expf(v) - 1.0f", lambda v: np.expm1(np.minimum(v, 30))),
    ("sqrt", "torch.sqrt({x})|{x}.sqrt()|{x} ** 0.5", "", "sqrtf(v)", np.sqrt, 0.0),
    ("log1p", "torch.log1p({x})|torch.log(1.0 + {x})", "", "logf(1.0f + v)", np.log1p, 0.0),
    ("rsqrt1", "torch.rsqrt(1.0 + {x})|1.0 / torch.sqrt(1.0 + {x})", "", "rsqrtf(1.0f + v)",
     lambda v: 1 / np.sqrt(1 + v), 0.0),
    ("signed_sqrt", "torch.sign({x}) * torch.sqrt(torch.abs({x}))", "", "copysignf(sqrtf(fabsf(v)), v)",
     lambda v: np.sign(v) * np.sqrt(abs(v))),
    ("quick_gelu", "{x} * torch.sigmoid(1.702 * {x})", "", "v / (1.0f + expf(-1.702f * v))",
     lambda v: v * _sigmoid(1.702 * v)),
    ("squared_relu", "torch.relu({x}) ** 2|torch.square(F.relu({x}))", "", "v > 0.0f ? v * v : 0.0f",
     lambda v: np.maximum(v, 0) ** 2),
)  # fmt: skip

_CONSTANT: tuple[tuple, ...] = (
    ("leaky_relu", "F.leaky_relu({x}, negative_slope={c})|F.leaky_relu({x}, {c})", "nn.LeakyReLU({c})",
     "v > 0.0f ? v : {c} * v", lambda v, c: np.where(v > 0, v, c * v), (0.05, 0.5)),
    ("elu", "F.elu({x}, alpha={c})", "nn.ELU(alpha={c})", "v > 0.0f ? v : {c} * (expf(v) - 1.0f)",
     lambda v, c: np.where(v > 0, v, c * np.expm1(np.minimum(v, 0))), (0.3, 1.6)),
    ("celu", "F.celu({x}, alpha={c})|torch.celu({x}, {c})", "nn.CELU({c})",
     "fmaxf(v, 0.0f) + fminf(0.0f, {c} * (expf(v / {c}) - 1.0f))",
     lambda v, c: np.maximum(v, 0) + np.minimum(0, c * np.expm1(np.minimum(v / c, 0))), (0.5, 1.6)),
    ("add_scalar", "{x} + {c}|torch.add({x}, {c})", "", "v + {c}", lambda v, c: v + c, (0.1, 2.0)),
    ("sub_scalar", "{x} - {c}|torch.sub({x}, {c})", "", "v - {c}", lambda v, c: v - c, (0.1, 2.0)),
    ("mul_scalar", "{x} * {c}|{c} * {x}|torch.mul({x}, {c})", "", "v * {c}", lambda v, c: v * c, (0.3, 2.5)),
    ("div_scalar", "{x} / {c}|torch.div({x}, {c})", "", "v / {c}", lambda v, c: v / c, (0.4, 3.0)),
    ("rsub_scalar", "{c} - {x}", "", "{c} - v", lambda v, c: c - v, (0.1, 2.0)),
    ("clamp_min", "torch.clamp({x}, min={c})|{x}.clamp(min={c})|{x}.clamp_min({c})", "", "fmaxf(v, {c})",
     lambda v, c: np.maximum(v, c), (-0.9, 0.4)),
    ("clamp_max", "torch.clamp({x}, max={c})|{x}.clamp(max={c})", "", "fminf(v, {c})",
     lambda v, c: np.minimum(v, c), (0.2, 1.6)),
    ("softshrink", "F.softshrink({x}, {c})", "nn.Softshrink({c})",
     "v > {c} ? v - {c} : (v < -{c} ? v + {c} : 0.0f)",
     lambda v, c: np.where(v > c, v - c, np.where(v < -c, v + c, 0)), (0.1, 0.6)),
    ("softplus_beta", "F.softplus({x}, beta={c})", "nn.Softplus(beta={c})",
     "v * {c} > 20.0f ? v : log1pf(expf(v * {c})) / {c}", lambda v, c: _softplus(v * c) / c, (0.5, 3.0)),
    ("swish_beta", "{x} * torch.sigmoid({c} * {x})", "", "v / (1.0f + expf(-{c} * v))",
     lambda v, c: v * _sigmoid(c * v), (0.5, 2.0)),
    ("sin_scaled", "torch.sin({c} * {x})|torch.sin({x} * {c})", "", "sinf({c} * v)", lambda v, c: np.sin(c * v),
     (0.5, 3.0)),
    ("soft_cap", "{c} * torch.tanh({x} / {c})", "", "{c} * tanhf(v / {c})", lambda v, c: c * np.tanh(v / c),
     (0.5, 3.0)),
)  # fmt: skip

# Two tensors: key, spellings, device expression, value. The broadcasting ones are made of the first five.
_BINARY: tuple[tuple, ...] = (
    ("add", "{x} + {y}|torch.add({x}, {y})", "v + {y}", lambda v, y: v + y),
    ("sub", "{x} - {y}|torch.sub({x}, {y})", "v - {y}", lambda v, y: v - y),
    ("mul", "{x} * {y}|torch.mul({x}, {y})", "v * {y}", lambda v, y: v * y),
    ("maximum", "torch.maximum({x}, {y})|torch.max({x}, {y})", "fmaxf(v, {y})", np.maximum),
    ("minimum", "torch.minimum({x}, {y})|torch.min({x}, {y})", "fminf(v, {y})", np.minimum),
    ("rsub", "{y} - {x}", "{y} - v", lambda v, y: y - v),
    ("gate", "{x} * torch.sigmoid({y})", "v / (1.0f + expf(-{y}))", lambda v, y: v * _sigmoid(y)),
    ("abs_difference", "torch.abs({x} - {y})|({x} - {y}).abs()", "fabsf(v - {y})", lambda v, y: abs(v - y)),
    ("squared_difference", "({x} - {y}) ** 2|torch.square({x} - {y})", "(v - {y}) * (v - {y})",
     lambda v, y: (v - y) ** 2),
    ("silu_mul", "F.silu({x}) * {y}", "v / (1.0f + expf(-v)) * {y}", lambda v, y: v * _sigmoid(v) * y),
)  # fmt: skip

_PLACES: tuple[tuple[Place, tuple[str, ...]], ...] = (
    ("row", ("bias", "scale", "shift", "gain", "weight")),
    ("column", ("gate", "offset", "factor", "row_scale", "level")),
    ("channel", ("scale", "shift", "alpha", "channel_bias", "gain")),
)
_NAMES_OF_PLACE: dict[str, tuple[str, ...]] = dict(_PLACES)
_INPUT_NAMES = ("y", "z", "other", "rhs", "residual")


def pointwise() -> Iterator[Operator]:
    """All of them."""
    for key, spellings, module, device, value, *least in _UNARY:
        yield _make(key, "elementwise", spellings, device, value, module=module, least=least[0] if least else None)
    for key, spellings, module, device, value, bounds in _CONSTANT:
        yield _make(key, "elementwise", spellings, device, value, module=module, constants={"c": bounds})
    bounded = ("lo", (-1.5, -0.2)), ("hi", (0.2, 1.8))
    yield _make(
        "clamp", "elementwise", "torch.clamp({x}, {lo}, {hi})|{x}.clamp({lo}, {hi})|F.hardtanh({x}, {lo}, {hi})",
        "fminf(fmaxf(v, {lo}), {hi})", lambda v, lo, hi: np.clip(v, lo, hi),
        module="nn.Hardtanh({lo}, {hi})", constants=dict(bounded),
    )  # fmt: skip
    yield from _two_tensors()
    yield from _broadcasting()


def _two_tensors() -> Iterator[Operator]:
    operand = (Operand("y", names=_INPUT_NAMES),)
    for key, spellings, device, value in _BINARY:
        yield _make(key, "elementwise", spellings, device, value, operands=operand)
    for key, spelling, device, value in (
        ("add_scaled", "{x} + {c} * {y}|torch.add({x}, {y}, alpha={c})", "v + {c} * {y}", lambda v, y, c: v + c * y),
        ("lerp", "torch.lerp({x}, {y}, {c})|{x} + {c} * ({y} - {x})", "v + {c} * ({y} - v)",
         lambda v, y, c: v + c * (y - v)),
    ):  # fmt: skip
        yield _make(key, "elementwise", spelling, device, value, operands=operand, constants={"c": (0.2, 0.9)})


def _broadcasting() -> Iterator[Operator]:
    for place, names in _PLACES:
        operand = (Operand("y", place, is_weight=place != "column", names=names),)
        for key, spellings, device, value in _BINARY[:7]:
            yield _make(f"{key}_{place}", "broadcast", spellings, device, value, operands=operand)
    for place in ("row", "channel"):
        two = (Operand("y", place, True, names=("scale", "gamma", "gain")), Operand("z", place, True, names=("shift",)))
        yield _make(f"affine_{place}", "broadcast", "{x} * {y} + {z}", "v * {y} + {z}", lambda v, y, z: v * y + z,
                    operands=two)  # fmt: skip
    yield _make("prelu_channel", "broadcast", "F.prelu({x}, {y}.view(-1))|torch.where({x} > 0, {x}, {x} * {y})",
                "v > 0.0f ? v : {y} * v", lambda v, y: np.where(v > 0, v, v * y),
                operands=(Operand("y", "channel", True, names=("slope", "weight", "alpha")),))  # fmt: skip
    yield _batch_norm()


def _batch_norm() -> Operator:
    roles = ("mean", "torch.randn({shape}) * 0.5"), ("var", "torch.rand({shape}) + 0.5")
    statistics = tuple(Operand(role, "channel", True, make, (f"running_{role}", role)) for role, make in roles)
    return _make(
        "batch_norm", "normalisation",
        "({x} - {mean}) / torch.sqrt({var} + 1e-5)|({x} - {mean}) * torch.rsqrt({var} + 1e-5)",
        "(v - {mean}) * rsqrtf({var} + 1e-5f)", lambda v, mean, var: (v - mean) / np.sqrt(abs(var) + 0.5),
        operands=statistics,
    )  # fmt: skip


def _make(
    key: str, family: str, spellings: str, device: str, value: Callable[..., np.ndarray], **rest: Any
) -> Pointwise:
    made: dict[str, Any] = {"attribute": "act", **rest}
    return Pointwise(key, family, tuple(spellings.split("|")), device=device, value=value, **made)
