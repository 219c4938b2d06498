"""Guesses at arguments: of constructors by names, annotations, defaults; of forward by names and layers. No torch.

A guess is the text of an expression that `torch` is known to; the first of a name's guesses is the likeliest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

REQUIRED = "<required>"
MOST_CONSTRUCTORS = 40
BATCH, TOKENS, SPACE = 4, 64, 16


@dataclass(frozen=True)
class Parameter:
    """One parameter of a signature; `default` is its text, or REQUIRED."""

    name: str
    annotation: str = ""
    default: str = REQUIRED


_BY_NAME: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(num_)?(heads|nhead|n_heads|num_heads)", ("4", "2")),
    (r"num_classes|n_classes|classes|n_outputs", ("10",)),
    (r"(num|n)_embeddings|vocab_size|num_tokens", ("100",)),
    (r"(num_)?(groups|group)", ("4", "1")),
    (r"group_size", ("16", "8")),
    (r"(kernel|ksize|k|filter|pool)(_size|_sz)?|kernel", ("3", "(3, 3)", "2")),
    (r"window(_size)?|win_size", ("(4, 4)", "4", "8")),
    (r"stride|strides|scale_factor|upscale_factor|r|block_size|bs", ("2", "1")),
    (r"dilation|padding|pad", ("1", "(1, 1, 1, 1)")),
    (r"patch_size", ("4", "(4, 4)")),
    (
        r"(img|image|input|feat|fmap|grid|feature|spatial|base|output|out|q|pretrained_window)_?(size|resolution|shape|hw)"
        r"|resolution|size|fmap_size",
        ("(16, 16)", "16", "(4, 4)", "64"),
    ),
    (r"(seq|context|max_seq|sequence)_?(len|length)|max_len|num_patches|num_pos|n_tokens|seq_length", ("64",)),
    (r"num_(queries|query)|num_latents|num_clusters|num_experts|num_branches", ("8", "2")),
    (r"(out|hidden|mid|mlp|inter|proj|head|embed|key|value|qk|dim_out|outplanes|rd)_?\w*", ("64", "32", "128")),
    (r"(num_)?(depth|layers|blocks|n|stages|num_blocks|repeats|num_layers)", ("2", "1", "[2, 2, 2, 2]", "[1, 1]")),
    (r"(drop|dropout|p|prob|rate|drop_prob|drop_rate|survival_prob|keep_prob|smoothing)\w*", ("0.1", "0.0")),
    (r"eps|epsilon|variance_epsilon", ("1e-5",)),
    (r"(reduction|ratio|rd_ratio|expansion|expand_ratio|mlp_ratio|mult|multiplier|growth\w*)\w*", ("4", "2", "0.25")),
    (r"temperature|alpha|beta|gamma|lam\w*|scale|weight|init_values?|slope|margin|power|\w*value", ("0.5", "2.0")),
    (r"norm\w*", ("torch.nn.LayerNorm", "torch.nn.BatchNorm2d")),
    (r"act\w*|activation\w*|nonlinearity|gate_layer", ("torch.nn.ReLU", "torch.nn.ReLU()", "'relu'")),
    (r"block|layer|conv\w*|module|fn|net|m|embed_layer|backbone|model", ("torch.nn.Identity()", "torch.nn.Identity")),
    (r"(use|with|has|is|no|add|do|apply|enable|bias|learnable|affine|causal|flatten|ceil)\w*", ("True", "False")),
    (r"dims?_?|axis", ("64", "1", "-1", "(2, 3)")),
    (r"(in|inp|input|n|num|num_in)?_?(channels?|chs?|chans|planes|features?|feats|dims?|width|filters|units|c)\w*",
     ("64", "32", "3", "[64, 64]")),
    (r"c1|c2|nf|ni|nin|nout|d|d_model|normalized_shape|nc|ch_in|ch_out|dim\w*|in_\w*", ("64", "32")),
)  # fmt: skip
_BY_ANNOTATION = (
    (r"bool", ("True", "False")),
    (r"(Tuple|tuple|Sequence|List|list).*int", ("(64, 64)", "[64, 64]", "(2, 2)", "[2, 2, 2, 2]")),
    (r"int", ("64", "2", "1")),
    (r"float", ("0.5",)),
    (r"str", ("'relu'", "'mean'", "'bilinear'")),
    (r"(nn\.)?Module|Callable|Type|LayerType", ("torch.nn.Identity", "torch.nn.Identity()", "torch.nn.ReLU")),
    (r"Tensor", ("torch.ones(64)", "torch.ones(4, 64)")),
)
_ANYTHING = ("64", "4", "0.5", "True", "torch.nn.Identity()")
_OPTIONAL_CHANGES = {"True": ("False",), "False": ("True",)}


def guesses_for(parameter: Parameter) -> tuple[str, ...]:
    """Expressions for a required parameter, the likeliest first."""
    literal = re.findall(r"Literal\[(.*?)\]", parameter.annotation)
    if literal:
        return tuple(part.strip() for part in literal[0].split(","))
    found: list[str] = []
    for pattern, expressions in _BY_NAME:
        if re.fullmatch(pattern, parameter.name.lower()):
            found += expressions
            break
    for pattern, expressions in _BY_ANNOTATION:
        if parameter.annotation and re.search(pattern, parameter.annotation):
            fitting = [e for e in found if _is_of(e, pattern)]
            found = [*fitting, *expressions, *found]
            break
    return tuple(dict.fromkeys(found or _ANYTHING))


def _is_of(expression: str, annotation: str) -> bool:
    """Whether a guess by name is of the kind that the annotation says."""
    kinds = {"bool": r"True|False", "int": r"-?\d+", "float": r"[\d.e-]+", "str": r"'.*'"}
    return re.fullmatch(kinds.get(annotation, r".*"), expression) is not None


def constructors(parameters: Sequence[Parameter]) -> Iterator[dict[str, str]]:
    """Arguments for a constructor: the likeliest, then each with one other guess, then all with their second."""
    required = {p.name: guesses_for(p) for p in parameters if p.default == REQUIRED}
    base = {name: guesses[0] for name, guesses in required.items()}
    yield base
    for name, guesses in required.items():
        for other in guesses[1:4]:
            yield {**base, name: other}
    for depth in (1, 2, 3):
        yield {name: guesses[min(depth, len(guesses) - 1)] for name, guesses in required.items()}
    small = {p.name: value for p in parameters if (value := _small(p)) is not None}
    if small:
        yield {**base, **small}


def _small(parameter: Parameter) -> str | None:
    """A small value for an optional parameter by which networks are large."""
    sizes = {"depth": "2", "depths": "(1, 1, 1, 1)", "embed_dim": "64", "img_size": "32", "num_classes": "10"}
    wanted = sizes.get(parameter.name) if parameter.default != REQUIRED else None
    return wanted if wanted and parameter.default not in ("None", wanted) else None


def variations(base: Mapping[str, str], parameters: Sequence[Parameter]) -> Iterator[dict[str, str]]:
    """Other configurations of a module that can be made by `base`, one argument changed at a time: options first."""
    optional = [p for p in parameters if p.default != REQUIRED and p.name not in ("device", "dtype", "inplace")]
    for parameter in optional:
        for option in _changes(parameter):
            yield {**base, parameter.name: option}
    for name, given in base.items():
        own = next((p for p in parameters if p.name == name), Parameter(name))
        larger = [str(int(given) * 3 // 2)] if given.isdecimal() else []
        for option in [*larger, *(g for g in guesses_for(own) if g != given)][:2]:
            yield {**base, name: option}


def _changes(parameter: Parameter) -> Iterator[str]:
    """Other values of an optional parameter."""
    default = parameter.default
    if default in _OPTIONAL_CHANGES:
        yield from _OPTIONAL_CHANGES[default]
    elif re.fullmatch(r"\d+", default) and 0 < int(default) <= 64:
        yield str(int(default) + 2 if int(default) % 2 else int(default) * 2)
    elif re.fullmatch(r"\d*\.\d+", default) and not re.search("drop|prob|rate|eps|momentum", parameter.name):
        yield f"{float(default) * 2:g}"
    elif literal := re.findall(r"Literal\[(.*?)\]", parameter.annotation):
        yield from (part.strip() for part in literal[0].split(",") if part.strip() != default)
    elif default == "None" and re.search(r"act_layer|activation", parameter.name):
        yield "torch.nn.GELU"


@dataclass(frozen=True)
class Layer:
    """What a module is made of, as far as it tells its input: "conv2d" with 64 channels."""

    kind: str  # "conv1d", "conv2d", "conv3d", "linear", "norm", "embedding"
    channels: int


@dataclass(frozen=True)
class Hints:
    """What is known of a module that was made."""

    layers: tuple[Layer, ...] = ()
    numbers: tuple[int, ...] = ()  # of its arguments and their defaults, those that name channels first
    sizes: tuple[int, ...] = ()  # sides of images that its arguments name


def main_inputs(hints: Hints, annotation: str = "") -> Iterator[str]:
    """Shapes, as text, for the first input: what its layers ask for first, then every rank with every number."""
    seen: set[str] = set()
    for shape in _shapes(hints):
        if shape not in seen:
            seen.add(shape)
            yield shape


def _shapes(hints: Hints) -> Iterator[str]:
    sides = tuple(dict.fromkeys((*hints.sizes, SPACE, 32, 8, 7, 14)))[:6]
    channels = tuple(dict.fromkeys((*(layer.channels for layer in hints.layers[:3]), *hints.numbers, 64, 3)))[:5]
    kinds = [layer.kind for layer in hints.layers[:2]]
    for c in channels[:2]:
        for kind in kinds:
            yield from _for_layer(kind, c, sides)
    for c in channels:
        for side in sides[:3]:
            yield f"{BATCH}, {c}, {side}, {side}"
            yield f"{BATCH}, {side}, {side}, {c}"
            yield f"{BATCH}, {side * side}, {c}"
        yield f"{BATCH}, {TOKENS}, {c}"
        yield f"{BATCH}, {c}, {TOKENS}"
        yield f"16, {c}"
        yield f"{BATCH}, {c}, 8, 8, 8"
        yield f"{BATCH}, 4, 16, {c}"
    yield "3, 224, 224" if not hints.layers else f"{BATCH}, 3, 224, 224"
    yield "64"


def _for_layer(kind: str, c: int, sides: Sequence[int]) -> Iterator[str]:
    if kind == "conv2d":
        yield from (f"{BATCH}, {c}, {side}, {side}" for side in sides)
    elif kind == "conv1d":
        yield f"{BATCH}, {c}, {TOKENS}"
    elif kind == "conv3d":
        yield f"{BATCH}, {c}, 8, 16, 16"
    else:
        yield f"{BATCH}, {TOKENS}, {c}"
        yield from (f"{BATCH}, {side * side}, {c}" for side in sides[:3])
        yield from (f"{BATCH}, {side}, {side}, {c}" for side in sides[:3])
        yield f"16, {c}"


def inputs(parameters: Sequence[Parameter], shape: str) -> Iterator[tuple[str, ...]]:
    """Expressions for all required parameters of forward, the first input having this shape."""
    required = [p for p in parameters if p.default == REQUIRED]
    if not required:
        required = list(parameters[:1])
    first = _first(required[0], shape)
    others = [_others(p, shape) for p in required[1:]]
    for depth in range(max((len(o) for o in others), default=1)):
        yield (first, *(options[min(depth, len(options) - 1)] for options in others))


def _first(parameter: Parameter, shape: str) -> str:
    if re.search(r"ids|indices|index|tokens?$|positions", parameter.name):
        return f"torch.randint(0, 10, ({shape}))"
    if re.search(r"List|list|Sequence|Tuple", parameter.annotation):
        return f"[torch.randn({shape}), torch.randn({shape})]"
    return f"torch.randn({shape})"


def _others(parameter: Parameter, shape: str) -> tuple[str, ...]:
    """Expressions for a further input, in the order in which they are tried."""
    dims = [int(d) for d in shape.split(",")]
    name = parameter.name.lower()
    same = f"torch.randn({shape})"
    if re.fullmatch(r"h|height", name) or re.fullmatch(r"w|width", name):
        return (str(round(dims[1] ** 0.5)) if len(dims) == 3 else str(dims[-1]),)
    if re.search(r"size|shape|resolution|hw|grid", name):
        side = round(dims[1] ** 0.5) if len(dims) == 3 else dims[-1]
        return (f"({side}, {side})", f"[{side}, {side}]", str(side))
    if "mask" in name or "bias" in name:
        return (
            "None",
            f"torch.randn({BATCH}, 1, {dims[-2] if len(dims) > 1 else 1}, {dims[-2] if len(dims) > 1 else 1})",
        )
    if re.search(r"target|label|^y$|^gt$", name):
        classes = dims[1] if len(dims) > 1 else 2
        return (same, f"torch.randint(0, {classes}, ({dims[0]},))", f"torch.rand({shape})")
    if re.search(r"ids|indices|index", name):
        return (f"torch.randint(0, 4, ({dims[0]},))", f"torch.randint(0, 4, ({shape}))")
    if re.search(r"bool", parameter.annotation):
        return ("True", "False")
    if re.search(r"int", parameter.annotation):
        return ("2", "1", str(dims[-1]))
    pooled = f"torch.randn({dims[0]}, {dims[1]})" if len(dims) > 2 else same
    return (same, pooled, f"torch.randn({dims[0]}, {dims[-1]})", "2")
