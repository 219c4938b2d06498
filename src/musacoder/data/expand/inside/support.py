"""Makes tensors from their description, and tries a task on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from mooreeval.errors import TaskError
from mooreeval.execute.fake_run import tensors_in
from mooreeval.execute.task_module import TaskModule, load_task_module, seed_generators
from mooreeval.execute.tensors import map_tensors

SEED = 1
LARGE, TINY, SPIKE = 1e4, 1e-6, 1e3  # within float16, but for squares of the large ones, which is their point


def supported(code: str, name: str, sets: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Of each set whether the reference runs on it, whether its outputs are finite, and their shapes."""
    torch.set_num_threads(1)
    task = load_task_module(code, name=name)
    own = task.make_inputs(SEED)
    return [_tried(task, own, tensors) for tensors in sets]


def _tried(task: TaskModule, own: list[Any], tensors: Sequence[dict[str, Any]]) -> dict[str, Any]:
    try:
        model = task.make_model(SEED)
        dtype = next((t["dtype"] for t in tensors if t["dtype"] in ("float16", "bfloat16", "float64")), None)
        if dtype is not None and isinstance(model, torch.nn.Module):
            model = model.to(getattr(torch, dtype))
        outputs = list(tensors_in(task.forward(model, made_inputs(own, tensors))))
    except TaskError as error:
        return {"runs": False, "why": str(error)[:300]}
    except (RuntimeError, ValueError, TypeError) as error:
        return {"runs": False, "why": " ".join(str(error).split())[:300]}
    finite = all(bool(torch.isfinite(t).all()) for t in outputs)
    return {"runs": True, "finite": finite, "outputs": [list(t.shape) for t in outputs], "why": ""}


def made_inputs(own: list[Any], tensors: Sequence[dict[str, Any]]) -> list[Any]:
    """A task's inputs with each tensor, in the order in which they appear, replaced by the described one."""
    seed_generators(SEED)
    described = iter(tensors)
    return map_tensors(own, lambda tensor: made_tensor(tensor, next(described)))


def made_tensor(own: torch.Tensor, described: dict[str, Any]) -> torch.Tensor:
    """A tensor of this shape, dtype, layout and fill; `own`: the task's, whose kind of values "task" means."""
    shape, dtype = tuple(described["shape"]), getattr(torch, described["dtype"])
    values = _filled(own, shape, described["fill"])
    return laid_out(values.to(dtype), described["layout"])


def _filled(own: torch.Tensor, shape: tuple[int, ...], fill: str) -> torch.Tensor:
    if not own.is_floating_point():
        largest = int(own.max()) if own.numel() else 1
        return torch.randint(0, largest + 1, shape)
    fills: dict[str, Callable[[], torch.Tensor]] = {
        "task": lambda: _like(own, shape),
        "zeros": lambda: torch.zeros(shape),
        "ones": lambda: torch.ones(shape),
        "negative": lambda: -torch.rand(shape) - 0.1,
        "large": lambda: torch.randn(shape) * LARGE,
        "tiny": lambda: torch.randn(shape) * TINY,
        "spike": lambda: _marked(torch.zeros(shape), (SPIKE,)),
        "special": lambda: _marked(torch.randn(shape), (math.inf, -math.inf, math.nan)),
    }
    return fills[fill]()


def _like(own: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Positive numbers where the task's are, else numbers of both signs."""
    return torch.rand(shape) if own.numel() and float(own.min()) >= 0 else torch.randn(shape)


def _marked(values: torch.Tensor, marks: Sequence[float]) -> torch.Tensor:
    """With a few elements that stand out, evenly spread."""
    flat = values.view(-1)
    for number, mark in enumerate(marks[: flat.numel()]):
        flat[(number * flat.numel()) // len(marks)] = mark
    return values


def laid_out(values: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values, otherwise laid out in memory; a shape that has no such layout keeps its own."""
    if layout == "transposed" and values.dim() >= 2:
        return values.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "strided" and values.dim() >= 1:
        wide = values.new_zeros((*values.shape[:-1], 2 * values.shape[-1]))
        wide[..., ::2] = values
        return wide[..., ::2]
    if layout == "offset":
        room = values.new_zeros(values.numel() + 1)
        room[1:] = values.reshape(-1)
        return room[1:].view(values.shape)
    if layout == "channels_last" and values.dim() == 4:
        return values.contiguous(memory_format=torch.channels_last)
    return values
