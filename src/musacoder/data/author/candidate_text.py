"""The candidate's file: the CUDA source, `load_inline`, and a `ModelNew` that holds the task's weights."""

from __future__ import annotations

import random
from dataclasses import dataclass

from musacoder.data.author.source import Source
from musacoder.data.author.stages import c_names, write_stages
from musacoder.data.author.task_text import TaskText, constructor
from musacoder.data.graph import Graph, TensorSpec

_SOURCE_NAMES = ("cuda_source", "source", "cuda_src", "kernel_source")
_MODULE_NAMES = ("ext", "module", "ops", "lib")


@dataclass(frozen=True)
class CandidateText:
    """A candidate's code and the choices that made it."""

    code: str
    style: dict[str, str | int | bool]


def candidate_text(graph: Graph, task: TaskText, family: str, seed: int) -> CandidateText:
    """A candidate for a task; the seed chooses kernels, fusion, launches and the host's code."""
    rng = random.Random(f"candidate/{seed}")
    source = Source(
        rng,
        has_constants=rng.random() < 0.25,
        restricts=rng.random() < 0.12,
        names_launch=rng.random() < 0.25,
        has_stream=rng.random() < 0.1,
        nests=rng.random() < 0.4,
        stores_at_once=rng.random() < 0.6,
        inlines=rng.random() < 0.65,
        includes=rng.random() < 0.5,
    )
    kinds = write_stages(source, graph, rng)
    style: dict[str, str | int | bool] = {
        "kernels": " + ".join(kinds),
        "constants": source.has_constants,
        "restrict": source.restricts,
        "named_launch": source.names_launch,
        "stream": source.has_stream,
        "nested": source.nests,
        "stores_at_once": source.stores_at_once,
        "fused": len(kinds) == 1,
    }
    return CandidateText(_file(graph, task, source, _function_name(graph, family, rng), rng), style)


def _function_name(graph: Graph, family: str, rng: random.Random) -> str:
    first = graph.nodes[0].operator
    return rng.choice(("forward", "forward", "run", "launch", f"{first}_forward", f"fused_{family}"))


def _file(graph: Graph, task: TaskText, source: Source, function: str, rng: random.Random) -> str:
    specs = c_names(graph)
    tensors = [specs[spec.name] for spec in (*graph.inputs, *graph.weights)]
    declaration = f"torch::Tensor {function}({', '.join(f'torch::Tensor {t.name}' for t in tensors)})"
    host = [f"{declaration} {{", *(f"    {line}" for line in [*_checks(tensors, rng), *source.host]), "}"]
    name, module = rng.choice(_SOURCE_NAMES), rng.choice(_MODULE_NAMES)
    lines = ["import torch", "import torch.nn as nn", "from torch.utils.cpp_extension import load_inline", ""]
    lines += [f'{name} = """', source.text(), "", *host, '"""', "", *_loading(name, module, function, declaration, rng)]
    lines += ["", "", "class ModelNew(nn.Module):", *constructor(task.init_arguments, task.init_lines, rng)]
    arguments = ", ".join([*task.forward_arguments, *(task.held_at[spec.name] for spec in graph.weights)])
    lines += [f"    def forward({', '.join(['self', *task.forward_arguments])}):",
              f"        return {module}.{function}({arguments})"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _checks(tensors: list[TensorSpec], rng: random.Random) -> list[str]:
    """What the host demands of its tensors, if anything."""
    kind, x = rng.random(), tensors[0]
    if kind < 0.05:
        return [f'TORCH_CHECK({x.name}.is_cuda(), "{x.name} must be on the GPU");']
    if kind < 0.09:
        return [f'TORCH_CHECK({x.name}.is_contiguous(), "{x.name} must be contiguous");']
    if kind < 0.12:
        return [f'TORCH_CHECK({x.name}.dim() == {len(x.shape)}, "{len(x.shape)} dimensions expected");']
    if kind < 0.16:
        return [f"{x.name} = {x.name}.contiguous();"]
    return []


def _loading(name: str, module: str, function: str, declaration: str, rng: random.Random) -> list[str]:
    """The lines that build the extension."""
    rest = rng.choice(("", "", ", verbose=False", ', extra_cuda_cflags=["-O3"]'))
    if rng.random() < 0.5:
        return [
            f'cpp_source = "{declaration};"',
            "",
            f'{module} = load_inline(name="{function}_ext", cpp_sources=cpp_source, cuda_sources={name}, '
            f'functions=["{function}"]{rest})',
        ]
    return [
        f"{module} = load_inline(",
        f'    name="{function}_ext",',
        f'    cpp_sources="{declaration};",',
        f"    cuda_sources={name},",
        f'    functions=["{function}"],',
        *([f"    {rest[2:]},"] if rest else []),
        ")",
    ]
