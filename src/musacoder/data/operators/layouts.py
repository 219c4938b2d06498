"""Indexing and layout: values go to other places, some are left out, repeated or joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from musacoder.data.operators.types import Gathered, Operand, Operator, Parameters, Shape, whole

Length = Callable[[int, Parameters], int]
ShapeRule = Callable[[Shape, Parameters], Shape | None]


def _columns(i: Shape, o: Shape, _p: Parameters) -> dict[str, int]:
    return {"D": i[-1], "J": o[-1]}


def _pixels(i: Shape, o: Shape, _p: Parameters) -> dict[str, int]:
    return {"H": i[-2], "W": i[-1], "OH": o[-2], "OW": o[-1], "C": i[1]}


def _rows(key: str, spellings: str, body: str, last: Length = lambda size, _p: size, **rest: Any) -> Operator:
    """An operator of the last axis; lines of `body` end with a semicolon and a bar lies between them."""
    made: dict[str, Any] = {"rank": (2, 3), "coordinates": ("p", "j"), "plane_axes": 1, "is_local": True, **rest}
    lines = tuple(body.split("|"))
    return Gathered(
        key, "indexing", tuple(spellings.split("|")), sizes=_columns, body=lambda _p: lines,
        shape=lambda s, p: (*s[:-1], last(s[-1], p)), **made,
    )  # fmt: skip


def _padded(size: int, p: Parameters) -> int:
    return size + whole(p, "n") + whole(p, "m")


_BOTH_ENDS = {"n": (1, 2, 3), "m": (1, 2, 4)}
_TWO: dict[str, Any] = {"fan_in": lambda _s, _p: 2}


def _of_rows() -> Iterator[Operator]:
    yield _rows("flip", "torch.flip({x}, dims=[-1])|{x}.flip(-1)", "float v = @p[#D - 1 - j];")
    yield _rows("roll", "torch.roll({x}, {n}, dims=-1)|{x}.roll({n}, -1)", "float v = @p[(j + #D - <n>) % #D];",
                settings={"n": (1, 2, 3, 5)})  # fmt: skip
    yield _rows("repeat_interleave", "torch.repeat_interleave({x}, {n}, dim=-1)|{x}.repeat_interleave({n}, dim=-1)",
                "float v = @p[j / <n>];", lambda size, p: size * whole(p, "n"), settings={"n": (2, 3)})  # fmt: skip
    yield _rows("repeat", "{x}.repeat(1, {n})|torch.tile({x}, (1, {n}))|torch.cat([{x}] * {n}, dim=-1)",
                "float v = @p[j % #D];", lambda size, p: size * whole(p, "n"), settings={"n": (2, 3)}, rank=(2,),
                )  # fmt: skip
    yield _rows("skip_first", "{x}[..., {n}:]|{x}.narrow(-1, {n}, {x}.shape[-1] - {n})", "float v = @p[j + <n>];",
                lambda size, p: size - whole(p, "n"), settings={"n": (1, 2, 4)})  # fmt: skip
    yield _rows("every_nth", "{x}[..., ::{n}]", "float v = @p[j * <n>];", lambda size, p: -(-size // whole(p, "n")),
                settings={"n": (2, 3)})  # fmt: skip
    yield _rows("difference", "torch.diff({x}, dim=-1)|{x}[..., 1:] - {x}[..., :-1]", "float v = @p[j + 1] - @p[j];",
                lambda size, _p: size - 1, value=lambda v: v[..., 0] - v[..., 1], **_TWO)  # fmt: skip
    yield _rows("pad_zero", "F.pad({x}, ({n}, {m}))|F.pad({x}, ({n}, {m}), value=0.0)",
                "int k = j - <n>;|float v = k >= 0 && k < #D ? @p[k] : 0.0f;", _padded, settings=_BOTH_ENDS,
                )  # fmt: skip
    yield _rows("pad_replicate", 'F.pad({x}, ({n}, {m}), mode="replicate")',
                "float v = @p[min(max(j - <n>, 0), #D - 1)];", _padded, settings=_BOTH_ENDS, rank=(3,))  # fmt: skip
    yield _rows("rotate_half", "torch.cat((-{x}[..., {x}.shape[-1] // 2:], {x}[..., :{x}.shape[-1] // 2]), dim=-1)",
                "float v = j < #D / 2 ? -@p[j + #D / 2] : @p[j - #D / 2];", divides=2)  # fmt: skip
    yield _rows("swap_pairs", "{x}.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)", "float v = @p[(j ^ 1)];", divides=2)
    yield _rows("add_reversed", "{x} + {x}.flip(-1)|{x} + torch.flip({x}, dims=[-1])",
                "float v = @p[j] + @p[#D - 1 - j];", value=lambda v: v.sum(-1), **_TWO)  # fmt: skip


def _index(end: str, own: Callable[[Shape, Parameters], Shape]) -> dict[str, Any]:
    operand = Operand("t", "own", False, f"torch.randint(0, {end}, {{shape}})", ("indices", "idx", "ids"), "int64")
    return {"operands": (operand,), "own": lambda s, p: {"t": own(s, p)}}


def _either(v: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(np.arange(v.shape[1]) % 2 == 0, v[..., 0], y[..., 0])


def _by_tensors() -> Iterator[Operator]:
    few = {"n": (8, 16, 24, 40)}
    count: Length = lambda _size, p: whole(p, "n")  # noqa: E731
    yield _rows("index_columns", "torch.index_select({x}, -1, {t})|{x}[..., {t}]",
                "int k = (int)$t[j];|float v = @p[k];", count, settings=few,
                **_index("{last}", lambda _s, p: (whole(p, "n"),)))  # fmt: skip
    yield _rows("gather", "torch.gather({x}, -1, {t})|{x}.gather(-1, {t})|torch.take_along_dim({x}, {t}, dim=-1)",
                "int k = (int)$t[p * #J + j];|float v = @p[k];", count, settings=few,
                **_index("{last}", lambda s, p: (*s[:-1], whole(p, "n"))))  # fmt: skip
    yield Gathered(
        "index_rows", "indexing", ("torch.index_select({x}, 0, {t})", "{x}[{t}]", "F.embedding({t}, {x})"), rank=(2,),
        settings={"n": (16, 48, 100, 128)}, shape=lambda s, p: (whole(p, "n"), s[1]), coordinates=("p", "j"),
        sizes=_columns, plane_axes=1, body=lambda _p: ("int k = (int)$t[p];", "float v = @k[j];"),
        **_index("{first}", lambda _s, p: (whole(p, "n"),)),
    )  # fmt: skip
    y = (Operand("y", names=("y", "other", "rhs", "z")),)
    joined: dict[str, Any] = {"operands": y, "value": _either, **_TWO}
    yield _rows("concat", "torch.cat(({x}, {y}), dim=-1)|torch.cat([{x}, {y}], dim=-1)",
                "float v = j < #D ? @p[j] : $y[p * #D + j - #D];", lambda size, _p: 2 * size, **joined)  # fmt: skip
    yield _rows("interleave", "torch.stack(({x}, {y}), dim=-1).flatten(-2)",
                "float v = j % 2 == 0 ? @p[j / 2] : $y[p * #D + j / 2];", lambda size, _p: 2 * size,
                **joined)  # fmt: skip
    yield _rows("select_by_sign", "torch.where({y} > 0, {x}, {c})|{x}.masked_fill({y} <= 0, {c})",
                "float v = $y[p * #D + j] > 0.0f ? @p[j] : <c>f;", constants={"c": (-1.0, 1.0)},
                operands=(Operand("y", names=("mask", "cond", "gate")),),
                value=lambda v, y, c: np.where(y[..., 0] > 0, v[..., 0], c))  # fmt: skip


def _planes(key: str, spellings: str, body: str, rank: tuple[int, ...], shape: ShapeRule, **rest: Any) -> Operator:
    """An operator of the last two axes, or of channels."""
    made: dict[str, Any] = {"sizes": _pixels, "coordinates": ("p", "oh", "ow"), "is_local": True, **rest}
    lines = tuple(body.split("|"))
    return Gathered(key, "indexing", tuple(spellings.split("|")), rank=rank, body=lambda _p: lines, shape=shape, **made)


def _same(shape: Shape, _p: Parameters) -> Shape:
    return shape


def _wider(shape: Shape, p: Parameters) -> Shape:
    return (*shape[:2], shape[2] + 2 * whole(p, "n"), shape[3] + 2 * whole(p, "n"))


def _of_planes() -> Iterator[Operator]:
    turned = "float v = @p[ow * #W + oh];"
    yield _planes("transpose", "{x}.t().contiguous()|{x}.transpose(0, 1).contiguous()|{x}.T.contiguous()", turned, (2,),
                  lambda s, _p: (s[1], s[0]))  # fmt: skip
    yield _planes("transpose_last",
                  "{x}.transpose(1, 2).contiguous()|{x}.permute(0, 2, 1).contiguous()|{x}.mT.contiguous()", turned,
                  (3,), lambda s, _p: (s[0], s[2], s[1]))  # fmt: skip
    yield _planes("channels_last", "{x}.permute(0, 2, 3, 1).contiguous()", "float v = @p[ow * #H * #W + oh];", (4,),
                  lambda s, _p: (s[0], s[2], s[3], s[1]), plane_axes=3, sizes=_channels_last)  # fmt: skip
    yield _planes("swap_first", "{x}.transpose(0, 1).contiguous()|{x}.permute(1, 0, 2).contiguous()",
                  "float v = @(oh * #H + p)[ow];", (3,), lambda s, _p: (s[1], s[0], s[2]), is_local=False,
                  plane_axes=1)  # fmt: skip
    yield _planes("flip_rows", "torch.flip({x}, dims=[-2])|{x}.flip(-2)", "float v = @p[(#H - 1 - oh) * #W + ow];",
                  (3, 4), _same)  # fmt: skip
    yield _planes("rotate90", "torch.rot90({x}, 1, dims=(-2, -1))", "float v = @p[ow * #W + #W - 1 - oh];", (3, 4),
                  lambda s, _p: (*s[:-2], s[-1], s[-2]))  # fmt: skip
    for key, sign in (("tril", "<="), ("triu", ">=")):
        yield _planes(key, f"torch.{key}({{x}})|{{x}}.{key}()", f"float v = ow {sign} oh ? @p[oh * #W + ow] : 0.0f;",
                      (3,), _same)  # fmt: skip
    yield _planes("upsample_nearest", 'F.interpolate({x}, scale_factor={n}, mode="nearest")',
                  "float v = @p[oh / <n> * #W + ow / <n>];", (4,),
                  lambda s, p: (*s[:2], s[2] * whole(p, "n"), s[3] * whole(p, "n")), settings={"n": (2, 3)},
                  module='nn.Upsample(scale_factor={n}, mode="nearest")', attribute="up")  # fmt: skip
    yield _planes("pad_planes", "F.pad({x}, ({n}, {n}, {n}, {n}))", "int h = oh - <n>, w = ow - <n>;|"
                  "float v = h >= 0 && h < #H && w >= 0 && w < #W ? @p[h * #W + w] : 0.0f;", (4,), _wider,
                  settings={"n": (1, 2)}, module="nn.ZeroPad2d({n})", attribute="pad")  # fmt: skip
    yield _planes("pad_reflect", 'F.pad({x}, ({n}, {n}, {n}, {n}), mode="reflect")',
                  "int h = abs(oh - <n>), w = abs(ow - <n>);|if (h >= #H) h = 2 * #H - 2 - h;|"
                  "if (w >= #W) w = 2 * #W - 2 - w;|float v = @p[h * #W + w];", (4,), _wider,
                  settings={"n": (1, 2)}, module="nn.ReflectionPad2d({n})", attribute="pad")  # fmt: skip
    yield from _of_channels()


def _channels_last(i: Shape, o: Shape, _p: Parameters) -> dict[str, int]:
    return {"H": i[2], "W": i[3], "C": i[1], "OH": o[1] * o[2], "OW": o[3]}


def _halved(s: Shape, _p: Parameters) -> Shape | None:
    return None if s[1] % 2 else (s[0], s[1] // 2, *s[2:])


def _shuffled(s: Shape, p: Parameters) -> Shape | None:
    n = whole(p, "n")
    return None if s[1] % n**2 else (s[0], s[1] // n**2, s[2] * n, s[3] * n)


def _unshuffled(s: Shape, p: Parameters) -> Shape | None:
    n = whole(p, "n")
    return None if s[2] % n or s[3] % n else (s[0], s[1] * n**2, s[2] // n, s[3] // n)


def _of_channels() -> Iterator[Operator]:
    two: dict[str, Any] = {"settings": {"n": (2,)}, "is_local": False}
    yield _planes("pixel_shuffle", "F.pixel_shuffle({x}, {n})", "int q = (p * <n> + oh % <n>) * <n> + ow % <n>;|"
                  "float v = @q[oh / <n> * #W + ow / <n>];", (4,), _shuffled, module="nn.PixelShuffle({n})",
                  attribute="shuffle", **two)  # fmt: skip
    yield _planes("pixel_unshuffle", "F.pixel_unshuffle({x}, {n})", "int k = p % (<n> * <n>), q = p / (<n> * <n>);|"
                  "float v = @q[(oh * <n> + k / <n>) * #W + ow * <n> + k % <n>];", (4,), _unshuffled,
                  module="nn.PixelUnshuffle({n})", attribute="unshuffle", **two)  # fmt: skip
    yield _planes("channel_shuffle", "F.channel_shuffle({x}, {n})", "int c = p % #C;|"
                  "int q = p - c + c % <n> * (#C / <n>) + c / <n>;|float v = @q[oh * #W + ow];", (4,),
                  lambda s, p: None if s[1] % whole(p, "n") or s[1] == whole(p, "n") else s, is_local=False,
                  settings={"n": (2, 3, 4)}, module="nn.ChannelShuffle({n})", attribute="shuffle")  # fmt: skip
    halves = "int half = #C / 2;|int q = p / half * #C + p % half, k = oh * #W + ow;|"
    first, second = "{x}[:, :{x}.shape[1] // 2]", "{x}[:, {x}.shape[1] // 2:]"
    pair: dict[str, Any] = {"is_local": False, **_TWO}
    yield _planes("mean_of_halves", f"({first} + {second}) / 2", halves + "float v = 0.5f * (@q[k] + @(q + half)[k]);",
                  (4,), _halved, value=lambda v: v.mean(-1), **pair)  # fmt: skip
    yield _planes("channel_gate", f"{first} * torch.sigmoid({second})",
                  halves + "float v = @q[k] / (1.0f + expf(-@(q + half)[k]));", (4,), _halved,
                  value=lambda v: v[..., 0] / (1 + np.exp(-v[..., 1])), **pair)  # fmt: skip


def layouts() -> Iterator[Operator]:
    """All of them."""
    yield from _of_rows()
    yield from _by_tensors()
    yield from _of_planes()
