"""Operators of whole slices: reductions, normalisations, softmaxes, losses of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from musacoder.data.operators.types import Operand, Operator, Pass, Place, Sliced

_MAX = Pass("m", "v", "max")
_SUM = Pass("s", "v")


def _lse(v: np.ndarray) -> np.ndarray:
    m = v.max(-1, keepdims=True)
    return m[..., 0] + np.log(np.exp(v - m).sum(-1))


def _reductions() -> Iterator[Operator]:
    rest = "dim={dim}{keep}"
    for key, spellings, passes, result, value in (
        ("sum", f"torch.sum({{x}}, {rest})|{{x}}.sum({rest})", (_SUM,), "s", lambda v: v.sum(-1)),
        ("mean", f"torch.mean({{x}}, {rest})|{{x}}.mean({rest})", (_SUM,), "s / d", lambda v: v.mean(-1)),
        ("amax", f"torch.amax({{x}}, {rest})|{{x}}.amax({rest})", (_MAX,), "m", lambda v: v.max(-1)),
        ("amin", f"torch.amin({{x}}, {rest})|{{x}}.amin({rest})", (Pass("m", "v", "min"),), "m", lambda v: v.min(-1)),
        ("norm2", f"torch.norm({{x}}, p=2, {rest})|{{x}}.square().sum({rest}).sqrt()", (Pass("s", "v * v"),),
         "sqrtf(s)", lambda v: np.sqrt((v * v).sum(-1))),
        ("norm1", f"torch.norm({{x}}, p=1, {rest})|{{x}}.abs().sum({rest})", (Pass("s", "fabsf(v)"),), "s",
         lambda v: abs(v).sum(-1)),
        ("mean_square", f"torch.mean({{x}} ** 2, {rest})|{{x}}.square().mean({rest})", (Pass("s", "v * v"),), "s / d",
         lambda v: (v * v).mean(-1)),
        ("mean_abs", f"torch.mean(torch.abs({{x}}), {rest})|{{x}}.abs().mean({rest})", (Pass("s", "fabsf(v)"),),
         "s / d", lambda v: abs(v).mean(-1)),
        ("logsumexp", f"torch.logsumexp({{x}}, {rest})", (_MAX, Pass("s", "expf(v - m)")), "m + logf(s)", _lse),
        ("variance", f"torch.var({{x}}, {rest}, unbiased=False)|{{x}}.var({rest}, unbiased=False)",
         (Pass("mu", "v", final="{0} / d"), Pass("s", "(v - mu) * (v - mu)")), "s / d", lambda v: v.var(-1)),
        ("std", f"torch.std({{x}}, {rest})|{{x}}.std({rest})",
         (Pass("mu", "v", final="{0} / d"), Pass("s", "(v - mu) * (v - mu)")), "sqrtf(s / (d - 1))",
         lambda v: v.std(-1, ddof=1)),
        ("value_range", f"torch.amax({{x}}, {rest}) - torch.amin({{x}}, {rest})",
         (_MAX, Pass("low", "v", "min")), "m - low", lambda v: v.max(-1) - v.min(-1)),
        ("abs_max", f"torch.amax(torch.abs({{x}}), {rest})|{{x}}.abs().amax({rest})", (Pass("m", "fabsf(v)", "max"),),
         "m", lambda v: abs(v).max(-1)),
        ("sum_scaled", f"torch.sum({{x}}, {rest}) / {{count}} ** 0.5", (_SUM,), "s * rsqrtf(d)",
         lambda v: v.sum(-1) / v.shape[-1] ** 0.5),
    ):  # fmt: skip
        yield Sliced(key, "reduction", tuple(spellings.split("|")), passes=passes, result=result, value=value)
    for key, spellings, module, passes, result, value in (
        ("global_avg_pool", "{x}.mean(dim=(2, 3))|F.adaptive_avg_pool2d({x}, 1).flatten(1)", "", (_SUM,), "s / d",
         lambda v: v.mean(-1)),
        ("global_max_pool", "{x}.amax(dim=(2, 3))|F.adaptive_max_pool2d({x}, 1).flatten(1)", "", (_MAX,), "m",
         lambda v: v.max(-1)),
    ):  # fmt: skip
        yield Sliced(key, "pooling", tuple(spellings.split("|")), module, passes=passes, result=result, slices="plane",
                     value=value)  # fmt: skip


_MEAN = Pass("mu", "v", final="{0} / d")
_RSTD = Pass("rstd", "(v - mu) * (v - mu)", final="rsqrtf({0} / d + 1e-5f)")
_RMS = Pass("inv", "v * v", final="rsqrtf({0} / d + 1e-5f)")
_NORMAL = (_MEAN, _RSTD)


def _centred(v: np.ndarray) -> np.ndarray:
    return v - v.mean(-1, keepdims=True)


def _layer(v: np.ndarray, w: np.ndarray | float = 1.0, b: np.ndarray | float = 0.0) -> np.ndarray:
    return _centred(v) / np.sqrt(v.var(-1, keepdims=True) + 1e-5) * w + b


def _rms(v: np.ndarray, w: np.ndarray | float = 1.0) -> np.ndarray:
    return v / np.sqrt((v * v).mean(-1, keepdims=True) + 1e-5) * w


def _weights(place: Place, *roles: str) -> tuple[Operand, ...]:
    made = {"w": "torch.rand({shape}) + 0.5", "b": "torch.randn({shape})"}
    names = {"w": ("weight", "gamma", "scale"), "b": ("bias", "beta", "shift")}
    return tuple(Operand(role, place, True, made[role], names[role]) for role in roles)


def _normalisations() -> Iterator[Operator]:
    both = {"w": "weight", "b": "bias"}
    last = "({x}.shape[-1],)"
    rms = "{x} * torch.rsqrt({x}.pow(2).mean(dim=-1, keepdim=True) + 1e-5)"
    each = "(v - mu) * rstd"
    rows: dict[str, Any] = {"attribute": "norm", "slices": "last"}
    yield Sliced(
        "layer_norm",
        "normalisation",
        (f"F.layer_norm({{x}}, {last})",),
        "nn.LayerNorm({d}, elementwise_affine=False)",
        passes=_NORMAL,
        each=each,
        value=_layer,
        **rows,
    )
    yield Sliced(
        "layer_norm_affine",
        "normalisation",
        (f"F.layer_norm({{x}}, {last}, {{w}}, {{b}})",),
        "nn.LayerNorm({d})",
        held=both,
        operands=_weights("row", "w", "b"),
        passes=_NORMAL,
        each=each + " * {w} + {b}",
        value=_layer,
        **rows,
    )
    yield Sliced(
        "rms_norm",
        "normalisation",
        (rms, f"F.rms_norm({{x}}, {last}, eps=1e-5)"),
        passes=(_RMS,),
        each="v * inv",
        value=_rms,
        **rows,
    )
    yield Sliced(
        "rms_norm_weight",
        "normalisation",
        (f"{rms} * {{w}}", f"F.rms_norm({{x}}, {last}, {{w}}, 1e-5)"),
        operands=_weights("row", "w"),
        passes=(_RMS,),
        each="v * inv * {w}",
        value=_rms,
        **rows,
    )
    yield from _group_normalisations(both)
    for key, spellings, passes, each, value in (
        (
            "l2_normalize",
            "F.normalize({x}, dim={dim})|{x} / {x}.norm(dim={dim}, keepdim=True).clamp(min=1e-12)",
            (Pass("inv", "v * v", final="1.0f / fmaxf(sqrtf({0}), 1e-12f)"),),
            "v * inv",
            lambda v: v / np.sqrt((v * v).sum(-1, keepdims=True)),
        ),
        (
            "l1_normalize",
            "F.normalize({x}, p=1, dim={dim})|{x} / {x}.abs().sum(dim={dim}, keepdim=True)",
            (Pass("s", "fabsf(v)"),),
            "v / s",
            lambda v: v / abs(v).sum(-1, keepdims=True),
        ),
        (
            "max_abs_normalize",
            "{x} / {x}.abs().amax(dim={dim}, keepdim=True)",
            (Pass("m", "fabsf(v)", "max"),),
            "v / m",
            lambda v: v / abs(v).max(-1, keepdims=True),
        ),
        (
            "min_max_normalize",
            "({x} - {x}.amin(dim={dim}, keepdim=True)) / ({x}.amax(dim={dim}, keepdim=True) - "
            "{x}.amin(dim={dim}, keepdim=True))",
            (_MAX, Pass("low", "v", "min")),
            "(v - low) / (m - low)",
            lambda v: (v - v.min(-1, keepdims=True)) / (np.ptp(v, -1, keepdims=True) + 1e-9),
        ),
        (
            "center",
            "{x} - {x}.mean(dim={dim}, keepdim=True)|{x} - torch.mean({x}, dim={dim}, keepdim=True)",
            (_MEAN,),
            "v - mu",
            _centred,
        ),
        (
            "standardize",
            "({x} - {x}.mean(dim={dim}, keepdim=True)) / ({x}.std(dim={dim}, keepdim=True) + 1e-5)",
            (_MEAN, Pass("s", "(v - mu) * (v - mu)", final="sqrtf({0} / (d - 1)) + 1e-5f")),
            "(v - mu) / s",
            lambda v: _centred(v) / (v.std(-1, ddof=1, keepdims=True) + 1e-5),
        ),
    ):
        yield Sliced(key, "normalisation", tuple(spellings.split("|")), passes=passes, each=each, value=value)


def _group_normalisations(both: dict[str, str]) -> Iterator[Operator]:
    each = "(v - mu) * rstd"
    groups: dict[str, Any] = {"attribute": "norm", "slices": "group"}
    for key, affine in (("group_norm", False), ("group_norm_affine", True)):
        yield Sliced(
            key,
            "normalisation",
            ("F.group_norm({x}, {groups}, {w}, {b})" if affine else "F.group_norm({x}, {groups})",),
            "nn.GroupNorm({groups}, {channels})" if affine else "nn.GroupNorm({groups}, {channels}, affine=False)",
            held=both if affine else {},
            operands=_weights("feature", "w", "b") if affine else (),
            passes=_NORMAL,
            each=each + " * {w} + {b}" if affine else each,
            value=_layer,
            **groups,
        )
    planes: dict[str, Any] = {"attribute": "norm", "slices": "plane"}
    yield Sliced(
        "instance_norm",
        "normalisation",
        ("F.instance_norm({x})",),
        "nn.InstanceNorm2d({channels})",
        passes=_NORMAL,
        each=each,
        value=_layer,
        **planes,
    )
    yield Sliced(
        "instance_norm_affine",
        "normalisation",
        ("F.instance_norm({x}, weight={w}, bias={b})",),
        "nn.InstanceNorm2d({channels}, affine=True)",
        held=both,
        operands=_weights("feature", "w", "b"),
        passes=_NORMAL,
        each=each + " * {w} + {b}",
        value=_layer,
        **planes,
    )


def _exp(v: np.ndarray) -> np.ndarray:
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _softmaxes() -> Iterator[Operator]:
    exps = (_MAX, Pass("s", "expf(v - m)"))
    soft = "expf(v - m) / s"
    for key, spellings, module, passes, each, value, bounds in (
        ("softmax", "torch.softmax({x}, dim={dim})|F.softmax({x}, dim={dim})|{x}.softmax(dim={dim})",
         "nn.Softmax(dim={dim})", exps, soft, _exp, None),
        ("log_softmax", "torch.log_softmax({x}, dim={dim})|F.log_softmax({x}, dim={dim})", "nn.LogSoftmax(dim={dim})",
         exps, "v - m - logf(s)", lambda v: v - _lse(v)[..., None], None),
        ("softmin", "F.softmin({x}, dim={dim})|torch.softmax(-{x}, dim={dim})", "nn.Softmin(dim={dim})",
         (Pass("m", "v", "min"), Pass("s", "expf(m - v)")), "expf(m - v) / s", lambda v: _exp(-v), None),
        ("softmax_scaled", "torch.softmax({x} * {c}, dim={dim})|F.softmax({c} * {x}, dim={dim})", "",
         (_MAX, Pass("s", "expf({c} * (v - m))")), "expf({c} * (v - m)) / s", lambda v, c: _exp(v * c), (0.3, 2.0)),
        ("softmax_temperature", "torch.softmax({x} / {c}, dim={dim})|F.softmax({x} / {c}, dim={dim})", "",
         (_MAX, Pass("s", "expf((v - m) / {c})")), "expf((v - m) / {c}) / s",
         lambda v, c: _exp(v / c), (0.5, 3.0)),
        ("softmax_weighted", "{x} * torch.softmax({x}, dim={dim})", "", exps, f"v * {soft}",
         lambda v: v * _exp(v), None),
        ("softmax_relative", "torch.softmax({x}, dim={dim}) * {count}", "", exps, f"{soft} * d",
         lambda v: _exp(v) * v.shape[-1], None),
        ("exp_relative", "torch.exp({x} - {x}.amax(dim={dim}, keepdim=True))", "", (_MAX,), "expf(v - m)",
         lambda v: np.exp(v - v.max(-1, keepdims=True)), None),
        ("sigmoid_normalize", "torch.sigmoid({x}) / torch.sigmoid({x}).sum(dim={dim}, keepdim=True)", "",
         (Pass("s", "1.0f / (1.0f + expf(-v))"),), "1.0f / (1.0f + expf(-v)) / s",
         lambda v: 1 / (1 + np.exp(-v)) / (1 / (1 + np.exp(-v))).sum(-1, keepdims=True), None),
    ):  # fmt: skip
        yield Sliced(key, "softmax", tuple(spellings.split("|")), module, "softmax", passes=passes, each=each,
                     value=value, constants=dict.fromkeys("c", bounds) if bounds else {})  # fmt: skip
    yield Sliced("softmax_attend", "softmax", ("(torch.softmax({x}, dim={dim}) * {y}).sum(dim={dim})",),
                 operands=(Operand("y", names=("values", "y", "other")),),
                 passes=(_MAX, Pass("s", "expf(v - m)"), Pass("a", "expf(v - m) * {y}")), result="a / s",
                 value=lambda v, y: (_exp(v) * y).sum(-1))  # fmt: skip
    yield Sliced("softmax_entropy", "softmax",
                 ("-(torch.softmax({x}, dim={dim}) * torch.log_softmax({x}, dim={dim})).sum(dim={dim})",),
                 passes=(_MAX, Pass("s", "expf(v - m)"), Pass("a", "(v - m) * expf(v - m)")), result="logf(s) - a / s",
                 value=lambda v: -(_exp(v) * (v - _lse(v)[..., None])).sum(-1))  # fmt: skip


def _huber(v: np.ndarray, t: np.ndarray, c: float) -> np.ndarray:
    e = abs(v - t)
    return np.where(e < c, 0.5 * e * e, c * (e - 0.5 * c)).mean(-1)


def _losses() -> Iterator[Operator]:
    real = (Operand("t", names=("target", "y", "labels")),)
    share = (Operand("t", make="torch.rand({shape})", names=("target", "labels", "probs")),)
    sign = (Operand("t", make="torch.randn({shape}).sign()", names=("target", "sign", "labels")),)
    for key, spellings, operands, passes, result, value, bounds in (
        ("mse_loss", 'F.mse_loss({x}, {t}, reduction="none").mean(dim={dim})|(({x} - {t}) ** 2).mean(dim={dim})', real,
         (Pass("s", "(v - {t}) * (v - {t})"),), "s / d", lambda v, t: ((v - t) ** 2).mean(-1), None),
        ("squared_error_sum", "torch.sum(({x} - {t}) ** 2, dim={dim})|(({x} - {t}) ** 2).sum(dim={dim})", real,
         (Pass("s", "(v - {t}) * (v - {t})"),), "s", lambda v, t: ((v - t) ** 2).sum(-1), None),
        ("l1_loss", 'F.l1_loss({x}, {t}, reduction="none").mean(dim={dim})|({x} - {t}).abs().mean(dim={dim})', real,
         (Pass("s", "fabsf(v - {t})"),), "s / d", lambda v, t: abs(v - t).mean(-1), None),
        ("smooth_l1_loss", 'F.smooth_l1_loss({x}, {t}, reduction="none", beta={c}).mean(dim={dim})', real,
         (Pass("s", "fabsf(v - {t}) < {c} ? 0.5f * (v - {t}) * (v - {t}) / {c} : fabsf(v - {t}) - 0.5f * {c}"),),
         "s / d", lambda v, t, c: _huber(v, t, c) / c, (0.5, 2.0)),
        ("huber_loss", 'F.huber_loss({x}, {t}, reduction="none", delta={c}).mean(dim={dim})', real,
         (Pass("s", "fabsf(v - {t}) < {c} ? 0.5f * (v - {t}) * (v - {t}) : {c} * (fabsf(v - {t}) - 0.5f * {c})"),),
         "s / d", _huber, (0.5, 2.0)),
        ("bce_logits_loss", 'F.binary_cross_entropy_with_logits({x}, {t}, reduction="none").mean(dim={dim})', share,
         (Pass("s", "fmaxf(v, 0.0f) - v * {t} + log1pf(expf(-fabsf(v)))"),), "s / d",
         lambda v, t: (np.logaddexp(v, 0) - v * t).mean(-1), None),
        ("hinge_loss", "torch.relu(1.0 - {t} * {x}).mean(dim={dim})|F.relu(1.0 - {x} * {t}).mean(dim={dim})", sign,
         (Pass("s", "fmaxf(1.0f - v * {t}, 0.0f)"),), "s / d",
         lambda v, t: np.maximum(1 - v * np.sign(t), 0).mean(-1), None),
        ("soft_margin_loss", 'F.soft_margin_loss({x}, {t}, reduction="none").mean(dim={dim})', sign,
         (Pass("s", "log1pf(expf(-v * {t}))"),), "s / d", lambda v, t: np.logaddexp(-v * np.sign(t), 0).mean(-1), None),
        ("poisson_loss", 'F.poisson_nll_loss({x}, {t}, reduction="none").mean(dim={dim})', share,
         (Pass("s", "expf(v) - {t} * v"),), "s / d", lambda v, t: (np.exp(np.minimum(v, 30)) - t * v).mean(-1), None),
        ("log_cosh_loss", "torch.log(torch.cosh({x} - {t})).mean(dim={dim})", real,
         (Pass("s", "fabsf(v - {t}) + log1pf(expf(-2.0f * fabsf(v - {t}))) - 0.69314718f"),), "s / d",
         lambda v, t: (np.logaddexp(v - t, t - v) - np.log(2)).mean(-1), None),
        ("soft_cross_entropy", "-({t} * torch.log_softmax({x}, dim={dim})).mean(dim={dim})", share,
         (_MAX, Pass("s", "expf(v - m)"), Pass("a", "{t} * (v - m)"), Pass("w", "{t}")), "(w * logf(s) - a) / d",
         lambda v, t: -(t * (v - _lse(v)[..., None])).mean(-1), None),
        ("cosine_similarity", "F.cosine_similarity({x}, {t}, dim={dim})", real,
         (Pass("s", "v * {t}"), Pass("a", "v * v"), Pass("b", "{t} * {t}")), "s / fmaxf(sqrtf(a * b), 1e-8f)",
         lambda v, t: (v * t).sum(-1) / np.sqrt((v * v).sum(-1) * (t * t).sum(-1)), None),
        ("pairwise_distance", "torch.norm({x} - {t}, dim={dim})|(({x} - {t}) ** 2).sum(dim={dim}).sqrt()", real,
         (Pass("s", "(v - {t}) * (v - {t})"),), "sqrtf(s)", lambda v, t: np.sqrt(((v - t) ** 2).sum(-1)), None),
        ("row_dot", "({x} * {t}).sum(dim={dim})|torch.sum({x} * {t}, dim={dim})", real, (Pass("s", "v * {t}"),), "s",
         lambda v, t: (v * t).sum(-1), None),
    ):  # fmt: skip
        yield Sliced(key, "loss", tuple(spellings.split("|")), operands=operands, passes=passes, result=result,
                     value=value, constants=dict.fromkeys("c", bounds) if bounds else {})  # fmt: skip
    labels = Operand("t", "slice", make="torch.randint(0, {count}, {shape})", names=("labels", "target", "classes"),
                     dtype="int64")  # fmt: skip
    yield Sliced("cross_entropy", "loss", ('F.cross_entropy({x}, {t}, reduction="none")',), operands=(labels,),
                 slices="last", passes=(_MAX, Pass("s", "expf(v - m)")), result="m + logf(s) - {picked}",
                 value=lambda v: _lse(v) - v[..., 0])  # fmt: skip


def sliced() -> Iterator[Operator]:
    """All of them."""
    yield from _reductions()
    yield from _normalisations()
    yield from _softmaxes()
    yield from _losses()
