"""The simulated device inside PyTorch: how it behaves, and that it computes what the CPU computes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import simulated_device

HERE = Path(__file__).parent
BEHAVIOUR, OPERATORS = HERE / "device_behaviour.py", HERE / "device_operators.py"


@pytest.fixture(scope="module")
def behaviour(runtime_library: Path) -> dict[str, str]:
    return simulated_device.run_cases(BEHAVIOUR, runtime_library)


@pytest.fixture(scope="module")
def operators(runtime_library: Path) -> dict[str, str]:
    return simulated_device.run_cases(OPERATORS, runtime_library)


@pytest.mark.parametrize("name", simulated_device.names_of_cases(BEHAVIOUR))
def test_the_device_behaves(behaviour: dict[str, str], name: str) -> None:
    assert behaviour.get(name, f"not reached; the child {behaviour['the child']}") == ""


@pytest.mark.parametrize("name", simulated_device.names_of_cases(OPERATORS))
def test_results_have_the_bits_of_the_cpu(operators: dict[str, str], name: str) -> None:
    assert operators.get(name, f"not reached; the child {operators['the child']}") == ""


def test_the_child_ends_well(behaviour: dict[str, str], operators: dict[str, str]) -> None:
    assert (behaviour["the child"], operators["the child"]) == ("", "")


def test_importing_the_module_does_not_import_torch() -> None:
    program = "import sys, mooreeval.simulator.torch_device; sys.exit('torch' in sys.modules)"
    source = str(simulated_device.SIMULATOR.parents[1])
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": source}).returncode == 0


def test_host_code_cannot_touch_a_tensor_between_operators(runtime_library: Path) -> None:
    device_library = simulated_device.build_device_library(runtime_library)
    program = f"""
import ctypes, sys
from pathlib import Path
sys.path.insert(0, {str(simulated_device.SIMULATOR.parents[1])!r})
import torch
from mooreeval.simulator import torch_device
torch_device.install(Path({str(runtime_library)!r}), Path({str(device_library)!r}))
x = torch.ones(4).cuda() + 1
print(x.tolist(), flush=True)
print(ctypes.c_float.from_address(x.data_ptr()).value, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[2.0, 2.0, 2.0, 2.0]\n"
    assert done.returncode == 77 and '"kind":"host_access"' in done.stderr
