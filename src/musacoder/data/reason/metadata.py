"""Tensors of an author's task as prompts tell them, from its graph: nothing is run.

What a forward pass costs is left out: only a run counts that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mooreeval.task_metadata import Leaf, TaskMetadata, TensorMetadata, contiguous_stride
from musacoder.data.author.task_text import task_text
from musacoder.data.graph import Graph, TensorSpec
from musacoder.data.records import Program


def metadata(program: Program) -> TaskMetadata | None:
    """The metadata of a program's task; None where the author did not write it."""
    graph = program.graph
    if graph is None or "task_seed" not in program.style:
        return None
    task = task_text(graph, int(program.style["task_seed"]))
    held = {spec.name: task.held_at[spec.name].removeprefix("self.") for spec in graph.weights}
    text = "\n".join(task.init_lines)
    buffers = {name for name, place in held.items() if f'register_buffer("{place}"' in text}
    outputs = [_spec(graph, name) for name in graph.outputs]
    return TaskMetadata(
        init_inputs=tuple(_init_inputs(program.task_code)),
        inputs=tuple(_leaf(f"[{i}]", spec) for i, spec in enumerate(graph.inputs)),
        parameters=tuple(_held([s for s in graph.weights if s.name not in buffers], held)),
        buffers=tuple(_held([s for s in graph.weights if s.name in buffers], held)),
        outputs=(_leaf("", outputs[0]),) if len(outputs) == 1 else tuple(
            _leaf(f"[{i}]", spec) for i, spec in enumerate(outputs)
        ),
        elements=0,
        flops=0,
        bytes=0,
    )  # fmt: skip


def _spec(graph: Graph, name: str) -> TensorSpec:
    specs = (*graph.inputs, *graph.weights, *(node.output for node in graph.nodes))
    return next(spec for spec in specs if spec.name == name)


def _held(specs: Sequence[TensorSpec], held: dict[str, str]) -> Iterator[Leaf]:
    """In the order of `Module.named_parameters`: a module's own before those of the modules in it."""
    for spec in sorted(specs, key=lambda s: "." in held[s.name]):
        yield _leaf(held[spec.name], spec)


def _leaf(path: str, spec: TensorSpec) -> Leaf:
    return Leaf(
        path=path, tensor=TensorMetadata(shape=spec.shape, stride=contiguous_stride(spec.shape), dtype=spec.dtype)
    )


def _init_inputs(code: str) -> Iterator[Leaf]:
    """Arguments of the constructor, where they are whole numbers or names that the file defines as such."""
    tree = ast.parse(code)
    numbers = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == "get_init_inputs":
            returned = function.body[-1]
            values = (
                returned.value.elts if isinstance(returned, ast.Return) and isinstance(returned.value, ast.List) else []
            )
            for i, value in enumerate(values):
                number = numbers[value.id] if isinstance(value, ast.Name) else ast.literal_eval(value)
                yield Leaf(path=f"[{i}]", plain=repr(number))
