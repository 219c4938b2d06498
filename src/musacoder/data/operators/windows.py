"""Pooling and convolution."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from musacoder.data.operators.types import Gathered, Operand, Operator, Parameters, Shape, whole

_PIXELS = ("p", "oh", "ow")


def _out(size: int, p: Parameters) -> int:
    reach = whole(p, "D", 1) * (whole(p, "K", 1) - 1) + 1
    return (size + 2 * whole(p, "P", 0) - reach) // whole(p, "S", 1) + 1


def _window_shape(shape: Shape, p: Parameters) -> Shape | None:
    """The shape after a window has slid over the last axes (two of a rank of 4, one of 3)."""
    axes = len(shape) - 2
    ends = tuple(_out(size, p) for size in shape[2:])
    if min(ends) < 2 or any(size < whole(p, "K", 1) for size in shape[2:]):
        return None
    return (shape[0], whole(p, "OC", shape[1]), *ends[:axes])


def _sizes2(i: Shape, o: Shape, _p: Parameters) -> dict[str, int]:
    return {"H": i[2], "W": i[3], "OH": o[2], "OW": o[3], "C": i[1], "OC": o[1]}


def _sizes1(i: Shape, o: Shape, _p: Parameters) -> dict[str, int]:
    return {"L": i[2], "OL": o[2], "C": i[1], "OC": o[1]}


def _scaled(name: str, p: Parameters, step: str, stride: str = "S") -> str:
    """An input coordinate: that of the output times the stride, plus the step of the window, less the padding."""
    first = f"{name} * {whole(p, stride, 0)}" if whole(p, stride, 1) > 1 else name
    reach = f"{step} * {whole(p, 'D')}" if whole(p, "D", 1) > 1 else step
    back = f" - {whole(p, 'P')}" if whole(p, "P", 0) else ""
    return f"{first} + {reach}{back}"


Update = Callable[[str], str]  # a statement, of the value that it reads


def _window2(p: Parameters, plane: str, update: Update, indent: str = "") -> list[str]:
    """Loops over a window of rows and columns."""
    k, h, w = whole(p, "K"), _scaled("oh", p, "kh"), _scaled("ow", p, "kw")
    loops = [f"for (int kh = 0; kh < {k}; kh++)", f"    for (int kw = 0; kw < {k}; kw++)"]
    if not whole(p, "P", 0):
        read = f"@{plane}[({h}) * #W + {w}]"
        return [indent + line for line in (*loops, f"        {update(read)}")]
    inner = [
        f"        int h = {h}, w = {w};",
        "        if (h >= 0 && h < #H && w >= 0 && w < #W)",
        f"            {update(f'@{plane}[h * #W + w]')}",
    ]
    return [indent + line for line in (loops[0] + " {", loops[1] + " {", *inner, "    }", "}")]


def _window1(p: Parameters, plane: str, update: Update, indent: str = "") -> list[str]:
    k, at = whole(p, "K"), _scaled("o", p, "k")
    loop = f"for (int k = 0; k < {k}; k++)"
    if not whole(p, "P", 0):
        return [indent + loop, indent + f"    {update(f'@{plane}[{at}]')}"]
    inner = (f"    int l = {at};", f"    if (l >= 0 && l < #L) {update(f'@{plane}[l]')}")
    return [indent + line for line in (loop + " {", *inner, "}")]


_MAXIMUM: tuple[str, Update] = ("-INFINITY", lambda x: f"v = fmaxf(v, {x});")
_MINIMUM: tuple[str, Update] = ("INFINITY", lambda x: f"v = fminf(v, {x});")
_TOTAL: tuple[str, Update] = ("0.0f", lambda x: f"v += {x};")


def _pool(
    key: str,
    spellings: str,
    module: str,
    kind: tuple[str, Update],
    value: Callable[[np.ndarray], np.ndarray],
    settings: dict[str, tuple[int, ...]],
    final: str = "",
) -> Operator:
    rank = 3 if "1d" in key else 4
    init, update = kind

    def body(p: Parameters) -> tuple[str, ...]:
        window = _window1 if rank == 3 else _window2
        last = final.format(count=whole(p, "K") ** (rank - 2))
        return (f"float v = {init};", *window(p, "p", update), *([last] if last else []))

    return Gathered(
        key, "pooling", tuple(spellings.split("|")), module, "pool", rank=(rank,), settings=settings,
        shape=_window_shape, coordinates=("p", "o") if rank == 3 else _PIXELS, sizes=_sizes1 if rank == 3 else _sizes2,
        plane_axes=rank - 2, is_local=True, body=body, fan_in=lambda _s, p: whole(p, "K") ** (rank - 2), value=value,
    )  # fmt: skip


def _poolings() -> Iterator[Operator]:
    ks: dict[str, tuple[int, ...]] = {"K": (2, 3, 4), "S": (1, 2, 3)}
    padded: dict[str, tuple[int, ...]] = {"K": (3,), "S": (1, 2), "P": (1,)}
    mean = "v /= {count}.0f;"
    for n in ("2d", "1d"):
        plain, pad = "{x}, {K}, stride={S}", "{x}, kernel_size={K}, stride={S}, padding={P}"
        args, pads = "({K}, stride={S})", "({K}, stride={S}, padding={P})"
        yield _pool(
            f"max_pool{n}", f"F.max_pool{n}({plain})", f"nn.MaxPool{n}{args}", _MAXIMUM, lambda v: v.max(-1), ks
        )
        yield _pool(f"avg_pool{n}", f"F.avg_pool{n}({plain})", f"nn.AvgPool{n}{args}", _TOTAL, lambda v: v.mean(-1), ks,
                    mean)  # fmt: skip
        yield _pool(f"max_pool{n}_pad", f"F.max_pool{n}({pad})", f"nn.MaxPool{n}{pads}", _MAXIMUM,
                    lambda v: v.max(-1), padded)  # fmt: skip
        yield _pool(f"avg_pool{n}_pad", f"F.avg_pool{n}({pad})", f"nn.AvgPool{n}{pads}", _TOTAL, lambda v: v.mean(-1),
                    padded, mean)  # fmt: skip
        yield _pool(f"min_pool{n}", f"-F.max_pool{n}(-{{x}}, {{K}}, stride={{S}})", "", _MINIMUM, lambda v: v.min(-1),
                    ks)  # fmt: skip
        yield _pool(f"lp_pool{n}", f"F.lp_pool{n}({{x}}, 2, {{K}}, stride={{S}})", "",
                    ("0.0f", lambda x: f"{{ float a = {x}; v += a * a; }}"), lambda v: np.sqrt((v * v).sum(-1)), ks,
                    "v = sqrtf(v);")  # fmt: skip
    yield _pool("sum_pool2d", "F.avg_pool2d({x}, {K}, stride={S}, divisor_override=1)", "", _TOTAL,
                lambda v: v.sum(-1), ks)  # fmt: skip
    yield _pool("peak_to_mean2d", "F.max_pool2d({x}, {K}, stride={S}) - F.avg_pool2d({x}, {K}, stride={S})", "",
                ("-INFINITY, total = 0.0f", lambda x: f"{{ float a = {x}; v = fmaxf(v, a); total += a; }}"),
                lambda v: v.max(-1) - v.mean(-1), ks, "v -= total / {count}.0f;")  # fmt: skip


# --------------------------------------------------------------------------------------------------------- convolution
def _conv(
    key: str, arguments: str, settings: dict[str, tuple[int, ...]], *, bias: bool, depthwise: bool = False
) -> Operator:
    """A convolution of one or two dimensions; the weight is [OC][C][K][K], depthwise [C][1][K][K]."""
    rank = 3 if "1d" in key else 4
    dims, biased = rank - 2, ", {b}" if bias else ""
    module = f"nn.Conv{dims}d({{C}}, {'{C}' if depthwise else '{OC}'}, {{K}}{arguments}"
    module += ", groups={C}" if depthwise else ""
    groups = ", groups={C}" if depthwise else ""
    none = "" if bias else ", bias=False"

    def own(shape: Shape, p: Parameters) -> dict[str, Shape]:
        channels = shape[1] if depthwise else whole(p, "OC")
        return {"w": (channels, 1 if depthwise else shape[1], *[whole(p, "K")] * dims), "b": (channels,)}

    def fan_in(shape: Shape, p: Parameters) -> int:
        return whole(p, "K") ** dims * (1 if depthwise else shape[1])

    operands = (
        Operand("w", "own", True, "torch.randn({shape}) * {spread}", ("weight", "kernel", "filters")),
        *((Operand("b", "own", True, "torch.randn({shape})", ("bias", "conv_bias")),) if bias else ()),
    )
    return Gathered(
        key, "convolution", (f"F.conv{dims}d({{x}}, {{w}}{biased}{arguments}{groups})",), f"{module}{none})", "conv",
        held={"w": "weight", "b": "bias"} if bias else {"w": "weight"}, operands=operands, rank=(rank,),
        settings=settings, shape=_window_shape, own=own, coordinates=("p", "o") if rank == 3 else _PIXELS,
        sizes=_sizes1 if rank == 3 else _sizes2, plane_axes=dims, is_local=depthwise,
        body=_conv_body(rank, bias, depthwise), fan_in=fan_in,
        value=lambda v, w, b=None: (v * w).sum(-1) / v.shape[-1] ** 0.5 + (0 if b is None else b[..., 0]),
    )  # fmt: skip


def _conv_body(rank: int, bias: bool, depthwise: bool) -> Callable[[Parameters], tuple[str, ...]]:
    def body(p: Parameters) -> tuple[str, ...]:
        k = whole(p, "K")
        window, tap = (_window1, "k") if rank == 3 else (_window2, f"kh * {k} + kw")
        area, start = k ** (rank - 2), f"float v = {'$b[oc]' if bias else '0.0f'};"
        first = ("int oc = p % #OC;", start)
        if depthwise:
            return (*first, *window(p, "p", lambda x: f"v += {x} * $w[oc * {area} + {tap}];"))
        loop, plane = "for (int ic = 0; ic < #C; ic++)", "(p / #OC * #C + ic)"
        if k == 1:
            offset = "oh * #W + ow" if rank == 4 else "o"
            return (*first, loop, f"    v += @{plane}[{offset}] * $w[oc * #C + ic];")
        return (*first, loop, *window(p, plane, lambda x: f"v += {x} * $w[(oc * #C + ic) * {area} + {tap}];", "    "))

    return body


def _up_conv() -> Operator:
    """A transposed convolution whose stride is its width, so that windows do not overlap."""
    body = (
        "int oc = p % #OC;",
        "float v = 0.0f;",
        "for (int ic = 0; ic < #C; ic++)",
        "    v += @(p / #OC * #C + ic)[oh / <K> * #W + ow / <K>] * "
        "$w[((ic * #OC + oc) * <K> + oh % <K>) * <K> + ow % <K>];",
    )

    def shape(s: Shape, p: Parameters) -> Shape:
        return (s[0], whole(p, "OC"), s[2] * whole(p, "K"), s[3] * whole(p, "K"))

    return Gathered(
        "conv_transpose2d", "convolution", ("F.conv_transpose2d({x}, {w}, stride={K})",),
        "nn.ConvTranspose2d({C}, {OC}, {K}, stride={K}, bias=False)", "up", held={"w": "weight"},
        operands=(Operand("w", "own", True, "torch.randn({shape}) * {spread}", ("weight", "kernel")),),
        rank=(4,), settings={"OC": (2, 4, 8), "K": (2, 3)}, shape=shape, coordinates=_PIXELS, sizes=_sizes2,
        own=lambda s, p: {"w": (s[1], whole(p, "OC"), whole(p, "K"), whole(p, "K"))},
        body=lambda _p: body, fan_in=lambda s, _p: s[1], value=lambda v, w: (v * w).sum(-1) / v.shape[-1] ** 0.5,
    )  # fmt: skip


def _convolutions() -> Iterator[Operator]:
    oc, three = (2, 3, 4, 6, 8), {"K": (3,)}
    yield _conv("conv2d", "", {"OC": oc, "K": (2, 3)}, bias=False)
    yield _conv("conv2d_bias", "", {"OC": oc, "K": (2, 3)}, bias=True)
    yield _conv("conv2d_pad", ", padding={P}", {"OC": oc, **three, "P": (1,)}, bias=False)
    yield _conv("conv2d_pad_bias", ", padding={P}", {"OC": oc, **three, "P": (1,)}, bias=True)
    yield _conv("conv2d_strided", ", stride={S}", {"OC": oc, "K": (2, 3), "S": (2, 3)}, bias=True)
    yield _conv("conv2d_dilated", ", dilation={D}", {"OC": oc, **three, "D": (2,)}, bias=False)
    yield _conv("conv2d_1x1", "", {"OC": (4, 8, 12, 16), "K": (1,)}, bias=False)
    yield _conv("conv2d_1x1_bias", "", {"OC": (4, 8, 12, 16), "K": (1,)}, bias=True)
    yield _conv("depthwise_conv2d", "", {"K": (2, 3, 5)}, bias=False, depthwise=True)
    yield _conv("depthwise_conv2d_pad", ", padding={P}", {**three, "P": (1,)}, bias=True, depthwise=True)
    yield _conv("conv1d", "", {"OC": (4, 8, 16), "K": (3, 5)}, bias=False)
    yield _conv("conv1d_pad", ", padding={P}", {"OC": (4, 8, 16), **three, "P": (1,)}, bias=True)
    yield _conv("conv1d_strided", ", stride={S}", {"OC": (4, 8, 16), "K": (3, 4), "S": (2,)}, bias=False)
    yield _conv("depthwise_conv1d", "", {"K": (3, 4, 5)}, bias=True, depthwise=True)
    yield _conv("depthwise_conv1d_pad", ", padding={P}", {**three, "P": (1,)}, bias=False, depthwise=True)
    yield _up_conv()


def windows() -> Iterator[Operator]:
    """All of them."""
    yield from _poolings()
    yield from _convolutions()
