"""What a task's tensors look like and what one forward pass costs, as plain JSON.

For prompts (explicit shapes, strides and dtypes), for reports, and for a first look at a task before anything runs.
Nothing is allocated: a 6 GB input costs nothing. Executes task code; for children only.
"""

from __future__ import annotations

from typing import Any

import torch

from mooreeval.execute.fake_run import fake_run

SCHEMA_VERSION = 1


def task_metadata(code: str, *, name: str = "task") -> dict[str, Any]:
    """Shapes, strides (in elements) and dtypes of a task, with its cost.

    Returns:
        `init_inputs`, `inputs` and `outputs`: the structures that the task returns, with each tensor replaced by
        `{"shape", "stride", "dtype"}` and tuples by lists; `parameters` and `buffers`: the same by name;
        `elements`, `flops`, `bytes`: see `fake_run.Cost`; `assumptions`: what had to be guessed, in words.

    Raises:
        TaskError: the task does not run.
    """
    run = fake_run(code, name=name)
    return {
        "schema_version": SCHEMA_VERSION,
        "init_inputs": describe(run.init_inputs),
        "inputs": describe(run.inputs),
        "parameters": describe(run.parameters),
        "buffers": describe(run.buffers),
        "outputs": describe(run.outputs),
        "elements": run.cost.elements,
        "flops": run.cost.flops,
        "bytes": run.cost.bytes,
        "assumptions": list(run.assumptions),
    }


def describe(value: Any) -> Any:
    """A structure of tensors and plain values as JSON-compatible values."""
    if isinstance(value, torch.Tensor):
        strided = value.layout is torch.strided
        return {
            "shape": list(value.shape),
            "stride": list(value.stride()) if strided else None,
            "dtype": str(value.dtype).removeprefix("torch."),
        }
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    # Infinite and undefined numbers are no JSON, and an output may be an object of any class.
    return value if isinstance(value, float) and abs(value) < float("inf") else str(value)
