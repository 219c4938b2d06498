"""The operator family of a task, read from its source: what its computation is mainly made of. Nothing runs.

A task that fuses operators is of the family of its heaviest: a convolution with a ReLU is a convolution. What has
layers in loops, several modules or several heavy layers is a network.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mooreeval.source_text import SyntaxProblem, parse_python

UNKNOWN = "unknown"
FAMILIES = (
    "elementwise",
    "reduction",
    "normalisation",
    "softmax",
    "matmul",
    "convolution",
    "attention",
    "pooling",
    "indexing",
    "loss",
    "network",
)
NETWORK_LAYERS = 3  # heavy layers from which a task is a network

# Names of layers and functions, lower-case, without underscores and a final 1d, 2d or 3d.
_WORDS = {
    "convolution": "conv convtranspose lazyconv fold unfold",
    "matmul": "linear matmul mm bmm addmm baddbmm addbmm mv addmv einsum bilinear tensordot inner outer dot kron",
    "attention": "scaleddotproductattention multiheadattention multiheadattentionforward",
    "recurrent": "lstm gru rnn lstmcell grucell rnncell",
    "transformer": "transformer transformerencoder transformerencoderlayer transformerdecoder transformerdecoderlayer",
    "normalisation": "batchnorm layernorm groupnorm instancenorm rmsnorm localresponsenorm normalize norm vectornorm "
    "matrixnorm",
    "softmax": "softmax logsoftmax softmin gumbelsoftmax logsumexp",
    "pooling": "maxpool avgpool lppool adaptiveavgpool adaptivemaxpool fractionalmaxpool maxunpool",
    "reduction": "sum mean max min amax amin prod argmax argmin std var stdmean varmean median mode nansum nanmean any "
    "all countnonzero cumsum cumprod cummax cummin logcumsumexp aminmax quantile",
    "indexing": "gather scatter scatteradd scatterreduce indexselect indexadd indexcopy indexput take takealongdim "
    "maskedselect maskedfill where nonzero embedding embeddingbag cat concat stack hstack vstack flip roll rot90 tril "
    "triu diag diagonal diagembed topk sort argsort unique bincount histc onehot searchsorted bucketize "
    "repeatinterleave repeat tile pad meshgrid pixelshuffle pixelunshuffle interpolate upsample gridsample",
    "layout": "transpose permute reshape view flatten unflatten contiguous expand squeeze unsqueeze movedim swapaxes "
    "narrow chunk split select t asstrided",
    "loss": "crossentropy kldiv binarycrossentropy cosinesimilarity",
}
_FAMILY_OF_WORD = {word: family for family, words in _WORDS.items() for word in words.split()}
_HEAVY = ("convolution", "matmul", "attention")
_LIGHT = ("loss", "softmax", "normalisation", "pooling", "reduction", "indexing")  # the weightiest first
_MODULES = {"Module"}
_INPUTS = {"get_inputs", "get_init_inputs"}


@dataclass
class _Seen:
    """What a task's source holds."""

    counts: dict[str, int] = field(default_factory=dict)  # calls by family
    modules: int = 0  # classes of layers
    looped_layers: bool = False  # layers made in a loop or by a Sequential of many
    targets: bool = False  # forward takes targets or labels

    def has(self, family: str) -> bool:
        return self.counts.get(family, 0) > 0


def family_of(code: str) -> str:
    """The family of a task's source, one of `FAMILIES`; `unknown` for what is no Python."""
    tree = parse_python(code)
    return UNKNOWN if isinstance(tree, SyntaxProblem) else _family(_seen(tree))


def family_of_word(name: str) -> str | None:
    """The family of a layer's or a function's name, or `layout`; None for arithmetic and what is not known."""
    found = _family_of_name(name)
    return None if found == "arithmetic" else found


def _family(seen: _Seen) -> str:
    heavy = sum(seen.counts.get(family, 0) for family in _HEAVY)
    if seen.has("recurrent") or seen.has("transformer") or seen.modules > 1 or seen.looped_layers:
        return "network"
    if seen.has("attention") or (seen.has("softmax") and seen.counts.get("matmul", 0) >= 2):
        return "attention"
    if heavy >= NETWORK_LAYERS:
        return "network"
    if heavy:
        return max(("convolution", "matmul"), key=lambda family: seen.has(family))
    if seen.targets and (seen.has("reduction") or seen.has("loss")):
        return "loss"
    light = next((family for family in _LIGHT if seen.has(family)), None)
    return light or ("indexing" if seen.has("layout") and not seen.has("arithmetic") else "elementwise")


def _seen(tree: ast.Module) -> _Seen:
    seen = _Seen()
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            seen.modules += any(_last_name(base) in _MODULES for base in statement.bases)
        if not (isinstance(statement, ast.FunctionDef) and statement.name in _INPUTS):
            _look(statement, seen)
    return seen


def _look(statement: ast.stmt, seen: _Seen) -> None:
    for node in ast.walk(statement):
        for family in _families_of(node):
            seen.counts[family] = seen.counts.get(family, 0) + 1
        seen.looped_layers = seen.looped_layers or _makes_layers_in_a_loop(node)
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            seen.targets = seen.targets or any(a.arg.startswith(("target", "label")) for a in node.args.args)
            seen.counts["normalisation"] = seen.counts.get("normalisation", 0) + _divides_by_a_reduction(node)


def _families_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            yield "matmul"
        case ast.BinOp() | ast.AugAssign():
            yield "arithmetic"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"))):
            yield "arithmetic"  # a layer that was counted where it is made
        case ast.Call(func=ast.Attribute(attr="__init__") | ast.Name(id="super")):
            pass
        case ast.Call(func=func):
            yield _family_of_name(_last_name(func))


def _family_of_name(name: str) -> str:
    word = re.sub(r"_|[123]d$", "", name.lower())
    return "loss" if word.endswith("loss") else _FAMILY_OF_WORD.get(word, "arithmetic")


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _makes_layers_in_a_loop(node: ast.AST) -> bool:
    """Whether a loop or comprehension constructs heavy layers or modules of the task's own."""
    if not isinstance(node, (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)):
        return False
    heavy = {"Conv1d", "Conv2d", "Conv3d", "Linear", "ConvTranspose2d", "Sequential", "MultiheadAttention"}
    return any(isinstance(part, ast.Call) and _last_name(part.func) in heavy for part in ast.walk(node))


def _divides_by_a_reduction(forward: ast.FunctionDef) -> bool:
    """Whether something is divided by what was reduced: a normalisation that is written out."""
    reduced: set[str] = set()
    for node in ast.walk(forward):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_reduced(value, reduced):
                reduced.add(name)
            case ast.BinOp(op=ast.Div(), right=right) if _is_reduced(right, reduced):
                return True
    return False


def _is_reduced(value: ast.expr, reduced: set[str]) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id in reduced)
        or (isinstance(part, ast.Call) and _family_of_name(_last_name(part.func)) in ("reduction", "normalisation"))
        for part in ast.walk(value)
    )
