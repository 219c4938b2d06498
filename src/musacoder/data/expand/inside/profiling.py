"""Profiles one forward pass of a task's model on the CPU: which operators of aten ran, how often and for how long."""

from __future__ import annotations

from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from mooreeval.execute.task_module import load_task_module

SEED = 1
_PREFIX = "aten::"


def profiled(code: str, name: str) -> dict[str, Any]:
    """`operators`: of each operator its calls and the microseconds that it spent itself, not in those that it called.

    Raises TaskError where the task does not run.
    """
    torch.set_num_threads(1)
    task = load_task_module(code, name=name)
    inputs, model = task.make_inputs(SEED), task.make_model(SEED)
    task.forward(model, task.make_inputs(SEED))  # what is made once is not the pass's cost
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as found:
        task.forward(model, inputs)
    return {
        "operators": [
            {
                "name": event.key.removeprefix(_PREFIX),
                "calls": int(event.count),
                "self_us": max(float(event.self_cpu_time_total), 0.0),
            }
            for event in found.key_averages()
            if event.key.startswith(_PREFIX)
        ]
    }
