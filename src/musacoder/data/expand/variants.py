"""Operator variants as jobs of expansion: rows of tables, an operator over shapes, layouts and parameters. No torch.

    Row("softmax", "torch.softmax(x, dim={dim})", shapes=(((64, 1000),), ((8, 12, 33, 65),)), grid={"dim": (-1, 0)})

is four tasks. What a row says is all that there is: a task is written from it, and from nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from mooreeval.task import make_task
from musacoder.data.expand.records import ExpandedTask, Explored, Job, Origin
from musacoder.data.expand.sandboxed import Sandboxed
from musacoder.evaluate.families import family_of

LICENCE = "generated"
Shape = tuple[int, ...]
Input = Shape | str  # a shape, drawn normally, or an expression
_LETTERS = ("x", "y", "z", "w", "v")


@dataclass(frozen=True)
class Row:
    """An operator: an expression of x, y, z, w, and what it is tried over."""

    operator: str
    forward: str  # with {parameter} for each of the grid
    shapes: tuple[tuple[Input, ...], ...]  # of each: one for every input
    grid: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # all combinations
    layer: str = ""  # what `self.layer` is, where the operator has weights
    layouts: tuple[str, ...] = ("contiguous",)  # of the first input


@dataclass(frozen=True)
class Variant:
    """One task of a row."""

    row: Row
    inputs: tuple[Input, ...]
    parameters: Mapping[str, object]
    layout: str

    @property
    def label(self) -> str:
        """In words, unlike that of any other variant."""
        shapes = " and ".join("x".join(map(str, i)) if isinstance(i, tuple) else i for i in self.inputs)
        given = "".join(f", {name}={value}" for name, value in self.parameters.items())
        return f"{self.row.operator}: {shapes}{given}" + ("" if self.layout == "contiguous" else f", {self.layout}")


def variants(rows: tuple[Row, ...]) -> Iterator[Variant]:
    """Every combination of each row."""
    for row in rows:
        for inputs, values, layout in itertools.product(row.shapes, itertools.product(*row.grid.values()), row.layouts):
            yield Variant(row, inputs, dict(zip(row.grid, values, strict=True)), layout)


def variant_jobs(rows: tuple[Row, ...]) -> Iterator[Job]:
    """A job for each variant."""
    for variant in variants(rows):
        yield Job(f"variant:{variant.label}", partial(_explored, variant))


def _explored(variant: Variant, _children: Sandboxed) -> Explored:
    what = f"variant:{variant.label}"
    code = make_task(what, variant_task(variant)).code
    task = ExpandedTask(
        task_id=f"variant/{_as_name(variant.label)}",
        code=code,
        origin=Origin.VARIANT,
        made_from=what,
        licence=LICENCE,
        family=family_of(code),
        operators=(variant.row.operator,),
    )
    return Explored(what=what, tasks=(task,))


def _as_name(label: str) -> str:
    """Letters, digits and underscores, other for other labels."""
    return re.sub(r"[^A-Za-z0-9]+", "_", label.replace("=-", "=minus ").replace("(-", "(minus ")).strip("_")[:120]


def variant_task(variant: Variant) -> str:
    """The code of a task in the KernelBench format."""
    names = _LETTERS[: len(variant.inputs)]
    layer = ""
    if variant.row.layer:
        made = variant.row.layer.format(**variant.parameters)
        layer = f"    def __init__(self):\n        super().__init__()\n        self.layer = {made}\n\n"
    drawn = [_drawn(each, variant.layout if i == 0 else "contiguous") for i, each in enumerate(variant.inputs)]
    return (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
        f'class Model(nn.Module):\n    """{variant.label}."""\n\n{layer}'
        f"    def forward(self, {', '.join(names)}):\n"
        f"        return {variant.row.forward.format(**variant.parameters)}\n\n\n"
        f"def get_inputs():\n    return [{', '.join(drawn)}]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )


def _drawn(given: Input, layout: str) -> str:
    """The expression of an input; a layout has the shape that is asked for, and other strides."""
    if isinstance(given, str):
        return given
    if layout == "transposed":
        return f"torch.randn({_sizes((*given[:-2], given[-1], given[-2]))}).transpose(-1, -2)"
    if layout == "every_second":
        return f"torch.randn({_sizes((*given[:-1], 2 * given[-1]))})[..., ::2]"
    if layout == "offset":
        return f"torch.randn({_sizes((given[0] + 1, *given[1:]))})[1:]"
    if layout == "channels_last":
        return f"torch.randn({_sizes(given)}).to(memory_format=torch.channels_last)"
    return f"torch.randn({_sizes(given)})"


def _sizes(shape: Shape) -> str:
    return ", ".join(map(str, shape))
