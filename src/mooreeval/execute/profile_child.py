"""One forward pass of a candidate for a profiler to watch.

    ncu ... python -P -m mooreeval.execute.profile_child REQUEST.json

A process that ncu starts speaks to nobody but ncu, so it makes for itself what the judge hands the run child: weights
and inputs come from the task's code, which runs here first. Nothing that this process says is believed: a verdict has
been reached without it. Its standard output goes where its errors go, apart from the profiler's.

The request holds task (name, code), candidate (code), weight_seed, input_seed, artefacts, backend, options.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from mooreeval.execute.candidate_child import CandidateChild
from mooreeval.execute.device import Device, watched_by_profiler
from mooreeval.execute.task_module import load_task_module
from mooreeval.execute.tensors import map_tensors, to_wire

WARM_UP = 2  # calls before the one that counts: modules load, plans are made, memory is cached


def main() -> int:
    """Load, warm up, and call once more under the profiler's eye; the exit code."""
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    child = CandidateChild()
    child.handle("start", {"backend": request["backend"], "options": request["options"]}, {})
    assert child.device is not None
    inputs, error = _load(child, child.device, request)
    if error is not None:
        print(f"the candidate could not be loaded: {error['type']}: {error['message']}", file=sys.stderr)
        return 1
    for _ in range(WARM_UP):
        _call(child.model, _fresh(inputs), child.device)
    last = _fresh(inputs)
    child.device.synchronize()
    with watched_by_profiler(child.device):
        _call(child.model, last, child.device)
    return 0


def _load(child: CandidateChild, device: Device, request: dict[str, Any]) -> tuple[list[Any], dict[str, Any] | None]:
    """The task's inputs, and what went wrong with the candidate."""
    task = load_task_module(request["task"]["code"], name=request["task"]["name"], device=device.tensor_device)
    model = task.make_model(request["weight_seed"])
    state = dict(model.state_dict()) if isinstance(model, torch.nn.Module) else {}
    values = {"init_inputs": to_wire(list(task.init_inputs())), "state": to_wire(state)}
    inputs = task.make_inputs(request["input_seed"])
    fields = {
        "code": request["candidate"],
        "weight_seed": request["weight_seed"],
        "mode": "run",
        "artefacts": request["artefacts"],
    }
    return inputs, child.handle("load", fields, values)[0]["error"]


def _fresh(inputs: list[Any]) -> list[Any]:
    """Copies: a candidate may write to what it is given."""
    return map_tensors(inputs, torch.clone)


def _call(model: Any, inputs: list[Any], device: Device) -> None:
    with torch.no_grad():
        model(*inputs)
    device.synchronize()


if __name__ == "__main__":
    sys.exit(main())
