"""A task's tensors are told by a child; a hostile task gains nothing by it, and values of outputs stay unknown."""

import sys

import pytest

from mooreeval import gallery
from mooreeval.errors import TaskError
from mooreeval.task import load_task, make_task
from mooreeval.task_metadata import TensorMetadata, contiguous_stride, read_metadata
from mooreeval.verify import LocalVerifier

HEAD = "import os, torch\nfrom torch import nn\n"


@pytest.fixture(scope="module")
def judge():
    with LocalVerifier() as verifier:
        yield verifier


def task(forward, inputs="torch.rand(2, 3)", before=""):
    code = f"{HEAD}{before}\nclass Model(nn.Module):\n    def forward(self, x):\n        return {forward}\n"
    return make_task("told", f"{code}\ndef get_inputs():\n    return [{inputs}]\n")


def test_shapes_strides_and_dtypes_of_all_tensors_are_told(judge):
    found = judge.describe(load_task(gallery.FOLDER / "layer_norm" / "task.py"))
    assert [leaf.path for leaf in found.parameters] == ["norm.weight", "norm.bias"]
    assert all(leaf.tensor and leaf.tensor.dtype == "float32" for leaf in (*found.inputs, *found.parameters))
    assert found.outputs[0].tensor.shape == found.inputs[0].tensor.shape


def test_a_stride_that_is_not_row_major_is_seen(judge):
    found = judge.describe(task("x + 1", "torch.rand(3, 2).t()"))
    assert found.inputs[0].tensor == TensorMetadata(shape=(2, 3), stride=(1, 2), dtype="float32")
    assert not found.inputs[0].tensor.is_contiguous


def test_of_outputs_no_value_is_told(judge):
    found = judge.describe(task("(x.sum(), {'n': 41.25, 's': 'secret'})"))
    assert [(leaf.path, leaf.plain) for leaf in found.outputs[1:]] == [("[1]['n']", "float"), ("[1]['s']", "str")]
    assert "41.25" not in found.model_dump_json()
    assert "secret" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (task("x @ x"), "Model.forward raised"),
        (task("x", before="os._exit(7)"), "exited with code 7"),
        (task("x", before="os.kill(os.getpid(), 9)"), "killed by signal 9"),
    ],
)
def test_a_task_that_fails_or_ends_its_process_is_a_task_error_of_one_line(judge, made, words):
    with pytest.raises(TaskError, match=words) as error:
        judge.describe(made)
    assert "\n" not in str(error.value)


def test_a_task_runs_in_a_process_of_its_own(judge):
    judge.describe(task("x + 2", before="import sys\nsys.modules['told_here'] = sys"))
    assert "told_here" not in sys.modules


def test_what_is_known_is_not_asked_for_again(judge, monkeypatch):
    made = task("x + 3")
    first = judge.describe(made)
    monkeypatch.setattr(type(judge._launcher), "spawn", None)
    assert judge.describe(made) == first


@pytest.mark.parametrize(
    "fields",
    [
        None,
        {},
        {"inputs": 3},
        {"init_inputs": [], "inputs": [{"shape": ["x"], "stride": [1], "dtype": "float32"}]},
        {"init_inputs": [[]] * 40, "inputs": [{"shape": [-1], "stride": None, "dtype": "a b"}]},
    ],
)
def test_what_no_child_of_ours_tells_is_not_believed(fields):
    empty = {"parameters": {}, "buffers": {}, "outputs": None, "elements": 0, "flops": 0, "bytes": 0, "assumptions": []}
    with pytest.raises(TaskError, match="did not tell"):
        read_metadata(fields and {**empty, **fields}, "told")


def test_nesting_without_end_is_not_followed():
    value = 1
    for _ in range(200):
        value = [value]
    empty = {"parameters": {}, "buffers": {}, "outputs": None, "elements": 0, "flops": 0, "bytes": 0, "assumptions": []}
    with pytest.raises(TaskError, match="did not tell"):
        read_metadata({**empty, "init_inputs": [], "inputs": value}, "told")


@pytest.mark.parametrize(("shape", "stride"), [((2, 3, 4), (12, 4, 1)), ((), ()), ((5, 0, 2), (2, 2, 1))])
def test_the_stride_of_a_row_major_tensor_is_pytorchs(shape, stride):
    assert contiguous_stride(shape) == stride
