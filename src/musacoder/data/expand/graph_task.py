"""Writes a drawn graph as a plain task: a module whose forward has one line for each operator. Text only."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mooreeval.verdict import Record

_NAME = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Tensor = tuple[_NAME, tuple[int, ...]]


class Step(Record):
    """One operator: a call of its inputs, `{0}` and so on, or a layer."""

    name: _NAME
    operator: str
    inputs: tuple[_NAME, ...]
    number: int
    call: str | None = None
    layer: str | None = None


class DrawnGraph(Record):
    """A graph as `inside/draw_graphs.py` tells it."""

    inputs: tuple[_Tensor, ...]
    weights: tuple[_Tensor, ...] = ()
    steps: tuple[Step, ...]
    outputs: tuple[_NAME, ...]


def graph_task(graph: DrawnGraph) -> str:
    """The code of a task in the KernelBench format."""
    names = _readable_names(graph)
    return (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
        "class Model(nn.Module):\n"
        f'    """A drawn graph: {", ".join(step.operator for step in graph.steps)}."""\n\n'
        f"{_constructor(graph, names)}"
        f"    def forward(self, {', '.join(names[name] for name, _ in graph.inputs)}):\n"
        f"{_forward(graph, names)}\n\n"
        f"def get_inputs():\n    return [{', '.join(_drawn_tensor(shape) for _, shape in graph.inputs)}]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )


def _readable_names(graph: DrawnGraph) -> dict[str, str]:
    """x, y, ... for inputs, self.w0, ... for weights, t0, ... for what is computed."""
    letters = ("x", "y", "z", "u", "v", "w")
    names = {name: letters[i] if i < len(letters) else f"x{i}" for i, (name, _) in enumerate(graph.inputs)}
    names |= {name: f"self.w{i}" for i, (name, _) in enumerate(graph.weights)}
    return names | {step.name: f"t{i}" for i, step in enumerate(graph.steps)}


def _constructor(graph: DrawnGraph, names: dict[str, str]) -> str:
    lines = [f"{names[name]} = nn.Parameter({_drawn_tensor(shape)})" for name, shape in graph.weights]
    lines += [f"self.{_layer_name(step)} = {step.layer}" for step in graph.steps if step.layer]
    if any("BatchNorm" in (step.layer or "") for step in graph.steps):
        lines.append("self.eval()")
    if not lines:
        return ""
    body = "".join(f"        {line}\n" for line in lines)
    return f"    def __init__(self):\n        super().__init__()\n{body}\n"


def _layer_name(step: Step) -> str:
    return f"{step.operator.lower()}_{step.number}"


def _forward(graph: DrawnGraph, names: dict[str, str]) -> str:
    lines = []
    for step in graph.steps:
        arguments = [names[name] for name in step.inputs]
        made = f"self.{_layer_name(step)}({arguments[0]})" if step.layer else (step.call or "").format(*arguments)
        lines.append(f"        {names[step.name]} = {made}\n")
    outputs = [names[name] for name in graph.outputs]
    return "".join(lines) + f"        return {', '.join(outputs)}\n"


def _drawn_tensor(shape: tuple[int, ...]) -> str:
    return f"torch.randn({', '.join(map(str, shape)) or '()'})"
