"""The reference child: runs the task, and nothing of any candidate, on the CPU in true float32 and in float64.

Operations
    prepare   name, code, candidate_text, budget, weight_seed, example_seed
              -> the code as run (sizes reduced), reductions, kept literals; values: init_inputs, state, example
    trial     seed -> values: inputs, expected32, expected64 (None where there is no float64 run), inputs_after
"""

from __future__ import annotations

import copy
from typing import Any

import torch

from mooreeval.execute.reduce import Budget, reduce_task
from mooreeval.execute.task_module import TaskModule, load_task_module
from mooreeval.execute.tensors import map_tensors, to_wire


class ReferenceChild:
    """State: the task's module and its one model, which lives through all trials as KernelBench's does."""

    def __init__(self) -> None:
        self.module: TaskModule | None = None
        self.model: torch.nn.Module | None = None

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op == "prepare":
            return self._prepare(fields)
        if op == "trial":
            return {}, self._trial(fields["seed"])
        raise ValueError(f"the reference child has no operation {op}")

    def _prepare(self, fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        name, budget = fields["name"], Budget(**fields["budget"])
        reduced = reduce_task(fields["code"], fields["candidate_text"], budget, name=name)
        self.module = load_task_module(reduced.code, name=name)
        self.model = self.module.make_model(fields["weight_seed"])
        state = dict(self.model.state_dict()) if isinstance(self.model, torch.nn.Module) else {}
        answer = {
            "code": reduced.code,
            "reductions": [r.model_dump() for r in reduced.reductions],
            "forced": list(reduced.forced),
        }
        values = {
            "init_inputs": to_wire(list(self.module.init_inputs())),
            "state": to_wire(state),
            "example": to_wire(list(self.module.make_inputs(fields["example_seed"]))),
        }
        return answer, values

    def _trial(self, seed: int) -> dict[str, Any]:
        assert self.module is not None
        assert self.model is not None
        inputs = list(self.module.make_inputs(seed))
        before = map_tensors(inputs, _own_copy)  # forward may write to its inputs
        expected64 = self._in_float64(before)
        expected32 = self.module.forward(self.model, inputs)
        return {
            "inputs": to_wire(before),
            "expected32": to_wire(map_tensors(expected32, _own_copy)),
            "expected64": to_wire(expected64),
            "inputs_after": to_wire(inputs),
        }

    def _in_float64(self, inputs: list[Any]) -> Any:
        """The outputs of a float64 copy of the model as it is now, or None where the task does not run in float64."""
        assert self.module is not None
        assert self.model is not None
        if not _has_floating(inputs) and not _has_floating(list(self.model.state_dict().values())):
            return None
        try:
            model = copy.deepcopy(self.model).double()
            widened = map_tensors(inputs, lambda t: t.double() if t.is_floating_point() else t.clone())
            return map_tensors(self.module.forward(model, widened), _own_copy)
        except Exception:  # noqa: BLE001  any failure means only that this task has no float64 run
            return None


def _own_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.preserve_format)


def _has_floating(values: list[Any]) -> bool:
    found: list[bool] = []
    map_tensors(values, lambda t: found.append(t.is_floating_point()))
    return any(found)
