"""References of KernelBench, at reduced sizes, must give the same bits on the simulated device as on the CPU.

Run by test_device_kernelbench.py; the environment says where the files are and how many to leave out between two.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from mooreeval.execute.reduce import Budget, reduce_task

FOLDER, STEP = Path(os.environ["KERNELBENCH"]), int(os.environ["KERNELBENCH_STEP"])
SMALL = Budget(elements=200_000, flops=1_000_000)


def to(device: str, values: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), values)


def outputs(module: dict[str, Any], device: str) -> list[torch.Tensor]:
    torch.manual_seed(1)
    model = module["Model"](*module.get("get_init_inputs", list)()).to(device)
    inputs = to(device, module["get_inputs"]())
    with torch.no_grad():
        found = model(*inputs)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def same_bits(file: Path) -> None:
    module: dict[str, Any] = {"__name__": file.stem}
    exec(compile(reduce_task(file.read_text(), "", SMALL).code, str(file), "exec"), module)
    expected, got = outputs(module, "cpu"), outputs(module, "cuda")
    assert len(expected) == len(got) > 0
    for one, other in zip(expected, got, strict=True):
        assert other.is_cuda and (one.dtype, one.stride()) == (other.dtype, other.stride())
        assert torch.equal(other.cpu(), one) or torch.allclose(other.cpu(), one, 0, 0, equal_nan=True)


def _cases() -> dict[str, Callable[[], None]]:
    files = [f for f in sorted(FOLDER.glob("level[123]/*.py"))[::STEP] if "einops" not in f.read_text()]
    return {f"{file.parent.name}/{file.stem}": partial(same_bits, file) for file in files}


CASES = _cases()
