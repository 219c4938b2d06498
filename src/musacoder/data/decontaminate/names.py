"""Names of tasks as sets of words: `19_ReLU`, `matmul_with_bias_add` and "Adds a bias to a matrix product" alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mooreeval.source_text import SyntaxProblem, parse_python

LEAST_WORDS = 2  # one word names an operator, and no task

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+[dD]\b|\d+")
_COMMENT = re.compile(r"^#\s*(.+)$", re.MULTILINE)
_NOTHING = frozenset(
    "a an and of the with by then followed to in on for from its is it that as kernel kernels model module task level "
    "problem forward new py op operator operators applies apply computes compute performs perform "
    "simple after before over along per each".split()
)
# One word for what is called by several.
_SAME = {
    word: group.split()[0]
    for group in (
        "conv convolution convolutional convolve conv1d conv2d conv3d",
        "transposed transpose deconv deconvolution",
        "mul multiply multiplication multiplies product times mult multiplied",
        "add addition adds sum summed plus added adding",
        "sub subtract subtraction subtracts minus",
        "div divide division divides divided",
        "matmul mm bmm gemm",
        "matrix mat matrices",
        "norm normalization normalisation normalize normalise normalized normalised",
        "batch bn batched",
        "layer ln",
        "group gn",
        "max maximum maximal",
        "min minimum minimal",
        "avg average mean averaged",
        "act activation",
        "relu rectified rectifier",
        "logsumexp lse",
        "pool pooling pooled pools",
        "attn attention",
        "emb embedding embeddings",
        "bias biases",
        "scale scaling scaled scales",
        "linear dense fc",
        "red reduce reduction reduces",
        "cum cumulative",
    )
    for word in group.split()
}
_PARTS = {"maxpool": ("max", "pool"), "avgpool": ("avg", "pool"), "batchnorm": ("batch", "norm"),
          "layernorm": ("layer", "norm"), "groupnorm": ("group", "norm"), "cumsum": ("cum", "add"),
          "logsoftmax": ("log", "softmax"), "leakyrelu": ("leaky", "relu")}  # fmt: skip
# Words that spellings such as ReLU, HardSwish or log_sum_exp take apart.
_WHOLE = frozenset(
    "relu gelu elu selu silu celu glu swiglu geglu hardswish hardtanh hardsigmoid hardshrink softshrink tanhshrink "
    "softplus softsign softmin softmax logsumexp matmul groupnorm batchnorm layernorm instancenorm rmsnorm maxpool "
    "avgpool cumsum cumprod logsigmoid upsample downsample".split()
)
_MOST_PARTS = 3


def words_of(name: str) -> frozenset[str]:
    """Its words, each by the one that stands for it; numbers and words that say nothing are gone."""
    found: set[str] = set()
    for word in _whole([match[0].lower() for match in _WORD.finditer(name.replace("_", " "))]):
        if word.rstrip("d").isdigit() or word in _NOTHING:
            continue
        found.update(_PARTS.get(word, (_SAME.get(word, word),)))
    return frozenset(found)


def _whole(parts: list[str]) -> Iterator[str]:
    """The parts, neighbours put together where that makes a word."""
    at = 0
    while at < len(parts):
        joined = (n for n in range(_MOST_PARTS, 0, -1) if "".join(parts[at : at + n]) in _WHOLE)
        count = next(joined, 1)
        yield "".join(parts[at : at + count])
        at += count


def names_in(code: str) -> Iterator[str]:
    """What a task's text calls itself: a comment that stands first, docstrings, classes beside `Model`."""
    if (comment := _COMMENT.match(code.lstrip())) is not None:
        yield comment[1]
    tree = parse_python(code)
    if isinstance(tree, SyntaxProblem):
        return
    yield from _first_lines(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            if node.name not in ("Model", "ModelNew"):
                yield node.name
            yield from _first_lines(node)


def _first_lines(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    text = ast.get_docstring(node)
    if text:
        yield text.strip().split("\n")[0]
