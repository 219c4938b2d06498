"""Shapes and cost of tasks without memory or arithmetic."""

import json
import subprocess
import sys
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from mooreeval.errors import TaskError
from mooreeval.execute.fake_run import FakeRun, fake_run, quick_run, tensors_in
from mooreeval.execute.metadata import task_metadata
from mooreeval.execute.task_module import load_task_module
from mooreeval.task_sources import load_tasks

KERNELBENCH = Path(__file__).parents[3] / ".data/kernelbench/KernelBench"


def task(forward: str, inputs: str, init: str = "pass", init_inputs: str = "") -> str:
    return f"""
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, *args):
        super().__init__()
        {init}

    def forward(self, x, *others):
        return {forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return [{init_inputs}]
"""


def test_shapes_strides_and_dtypes_of_everything_are_told() -> None:
    code = task(
        "(self.norm(x.half().float()), {'t': x.transpose(2, 3), 'n': 3})",
        "torch.rand(2, 3, 4, 5), torch.randint(0, 9, (7,)), 5, None",
        init="self.norm = nn.BatchNorm2d(3)",
        init_inputs="3, [torch.zeros(2, dtype=torch.bool)]",
    )
    found = task_metadata(code)
    assert found["inputs"][0] == {"shape": [2, 3, 4, 5], "stride": [60, 20, 5, 1], "dtype": "float32"}
    assert found["inputs"][1:] == [{"shape": [7], "stride": [1], "dtype": "int64"}, 5, None]
    assert found["init_inputs"] == [3, [{"shape": [2], "stride": [1], "dtype": "bool"}]]
    assert set(found["parameters"]) == {"norm.weight", "norm.bias"}
    assert found["buffers"]["norm.num_batches_tracked"] == {"shape": [], "stride": [], "dtype": "int64"}
    assert found["outputs"][1] == {"t": {"shape": [2, 3, 5, 4], "stride": [60, 20, 1, 5], "dtype": "float32"}, "n": 3}
    assert found["assumptions"] == []
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_task_of_terabytes_costs_nothing() -> None:
    tracemalloc.start()
    code = task("self.fc(x)", "torch.rand(1 << 20, 1 << 20)", init="self.fc = nn.Linear(1 << 20, 1 << 20)")
    found = task_metadata(code)
    assert found["outputs"]["shape"] == [1 << 20, 1 << 20]
    assert found["bytes"] > 1 << 43
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("forward", "inputs", "flops"),
    [
        ("x @ others[0]", "torch.rand(8, 16), torch.rand(16, 32)", 2 * 8 * 16 * 32),
        ("torch.relu(x)", "torch.rand(8, 16)", 8 * 16),
        ("x.sum()", "torch.rand(8, 16)", 8 * 16),
        ("x.t().reshape(2, 64)[1:]", "torch.rand(8, 16)", 8 * 16),  # one copy
        ("x.t()", "torch.rand(8, 16)", 0),
        ("F.conv2d(x, others[0])", "torch.rand(2, 3, 8, 8), torch.rand(5, 3, 3, 3)", 2 * 2 * 5 * 36 * 27),
        ("F.scaled_dot_product_attention(x, x, x)", "torch.rand(2, 3, 8, 16)", 2 * 2 * 2 * 3 * 8 * 8 * 16),
    ],
)
def test_flops_are_those_of_the_formula(forward: str, inputs: str, flops: int) -> None:
    assert task_metadata(task(forward, inputs))["flops"] == flops


def test_elements_are_inputs_weights_and_every_result() -> None:
    code = task("torch.relu(self.fc(x))", "torch.rand(4, 8)", init="self.fc = nn.Linear(8, 2)")
    assert task_metadata(code)["elements"] == 4 * 8 + (8 * 2 + 2) + 4 * 2 + 4 * 2


@pytest.mark.parametrize(
    "layer", ["nn.GRU(5, 7, 2, bidirectional=True)", "nn.LSTM(5, 7, 2)", "nn.RNN(5, 7)", "nn.BatchNorm1d(5)"]
)
def test_layers_that_are_faked_whole_have_the_shapes_of_a_real_run(layer: str) -> None:
    shape = "128, 5, 9" if "Norm" in layer else "11, 128, 5"
    code = task("self.layer(x)", f"torch.rand({shape})", init=f"self.layer = {layer}")
    real = load_task_module(code, name="real")
    outputs = real.forward(real.make_model(0), real.make_inputs(0))
    expected = torch.utils._pytree.tree_map(lambda t: (tuple(t.shape), t.dtype), outputs)
    run = fake_run(code)
    assert torch.utils._pytree.tree_map(lambda t: (tuple(t.shape), t.dtype), run.outputs) == expected
    assert run.cost.flops > 0


def shapes(run: FakeRun) -> list[list[tuple[int, ...]]]:
    return [[tuple(t.shape) for t in tensors_in(value)] for value in (run.inputs, run.parameters, run.outputs)]


@pytest.mark.parametrize(
    ("forward", "inputs", "init"),
    [
        ("self.fc(x).relu().softmax(-1)", "torch.rand(4, 8, device='cpu')", "self.fc = nn.Linear(8, 2)"),
        ("self.conv(x.cpu()).to('cpu')", "torch.randn(2, 3, 9, 9).cuda()", "self.conv = nn.Conv2d(3, 5, 3)"),
        ("self.layer(x)[0]", "torch.rand(11, 128, 5)", "self.layer = nn.LSTM(5, 7, 2)"),
        ("F.scaled_dot_product_attention(x, x, x)", "torch.rand(2, 3, 16, 8)", "pass"),
        ("x * (2 if x.max() > 0.5 else 3)", "torch.rand(4)", "pass"),  # reads a value
        ("x[x > -1]", "torch.rand(4, 5)", "pass"),  # its shape depends on values
        ("x + torch.from_numpy(numpy.ones(5, 'float32'))", "torch.rand(4, 5)", "global numpy; import numpy"),
        ("torch.compile(torch.relu, backend='eager')(x)", "torch.rand(4, 5)", "import torch._dynamo"),
    ],
)
def test_a_quick_run_shows_what_a_fake_run_shows(forward: str, inputs: str, init: str) -> None:
    code = task(forward, inputs, init=init)
    quick, full = quick_run(code), fake_run(code)
    assert shapes(quick) == shapes(full)
    assert quick.cost.flops == full.cost.flops
    assert quick.cost.elements == pytest.approx(full.cost.elements, rel=0.1)


def test_a_quick_run_loads_no_compiler_and_leaves_none_behind() -> None:
    code = task("self.fc(x).relu().softmax(-1)", "torch.rand(4, 8)", init="self.fc = nn.Linear(8, 2)")
    script = f"""
import sys, torch
from mooreeval.execute.fake_run import quick_run
quick_run({code!r})
assert "torch._dynamo" not in sys.modules
assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).item() == 2
assert torch._dynamo.config.cache_size_limit
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_quick_run_of_a_huge_task_costs_no_memory() -> None:
    run = quick_run(task("torch.relu(x)", "torch.rand(1 << 16, 1 << 16, device='cpu')"))
    assert shapes(run)[2] == [(1 << 16, 1 << 16)]
    assert run.outputs.is_meta


def test_what_a_fake_run_cannot_know_is_guessed_and_said() -> None:
    found = task_metadata(task("x * (2 if x.max() > 0.5 else 3)", "torch.rand(4)"))
    assert found["outputs"]["shape"] == [4]
    assert any("guessed" in words for words in found["assumptions"])


def test_a_small_task_whose_shapes_depend_on_values_is_run_for_real() -> None:
    found = task_metadata(task("x[x > -1]", "torch.rand(4, 5)"))
    assert found["outputs"]["shape"] == [20]
    assert any("real" in words for words in found["assumptions"])


def test_of_a_large_one_the_inputs_are_known() -> None:
    found = task_metadata(task("x[x > -1]", "torch.rand(1 << 20, 1 << 10)"))
    assert found["inputs"][0]["shape"] == [1 << 20, 1 << 10]
    assert found["outputs"] is None
    assert any("unknown" in words for words in found["assumptions"])


def test_modules_that_copy_modules_and_read_constants_are_understood() -> None:
    code = task(
        "self.layers(x)",
        "torch.rand(2, 5, 16)",
        init="self.rates = [r.item() for r in torch.linspace(0, 0.1, 4)]; "
        "self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 3)",
    )
    assert task_metadata(code)["outputs"]["shape"] == [2, 5, 16]


@pytest.mark.parametrize(
    ("forward", "inputs", "words"),
    [
        ("x @ x", "torch.rand(2, 3)", "Model.forward raised RuntimeError"),
        ("3", "torch.rand(2, 3)", "no tensor"),
        ("self.missing", "torch.rand(2, 3)", "AttributeError"),
        ("x", "undefined", "NameError"),
    ],
)
def test_a_task_that_fails_is_a_task_error_of_one_line(forward: str, inputs: str, words: str) -> None:
    with pytest.raises(TaskError) as error:
        task_metadata(task(forward, inputs))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(not KERNELBENCH.is_dir(), reason="KernelBench is not here")
def test_every_task_of_kernelbench_whose_packages_are_here_has_metadata() -> None:
    failed = {}
    for each in load_tasks(KERNELBENCH, levels=[1, 2, 3]):
        try:
            assert task_metadata(each.code, name=each.task_id)["outputs"] is not None
        except TaskError as error:
            if "needs the Python package" not in str(error):
                failed[each.task_id] = str(error)
    assert failed == {}


@pytest.mark.slow
@pytest.mark.skipif(not KERNELBENCH.is_dir(), reason="KernelBench is not here")
def test_quick_runs_of_kernelbench_cost_what_fake_runs_do() -> None:
    for each in load_tasks(KERNELBENCH, levels=[1, 2, 3]):
        if "einops" in each.code and not find_spec("einops"):
            continue
        quick, full = quick_run(each.code), fake_run(each.code)
        assert shapes(quick) == shapes(full), each.task_id
        assert quick.cost.flops == pytest.approx(full.cost.flops, rel=0.01), each.task_id
        assert quick.cost.elements == pytest.approx(full.cost.elements, rel=0.1), each.task_id


def test_the_bytes_of_inputs_are_told_without_making_them():
    from mooreeval.execute.fake_run import input_bytes

    code = (
        "import torch\ndef get_inputs(): return [torch.rand(1 << 20, 1 << 20), [torch.zeros(3, dtype=torch.int64)]]\n"
    )
    code += "class Model(torch.nn.Module):\n    def forward(self, x, y): return x\n"
    assert input_bytes(code) == (4 << 40) + 24
    assert input_bytes(code.replace("torch.rand", "torch.no_such_function")) == 0
