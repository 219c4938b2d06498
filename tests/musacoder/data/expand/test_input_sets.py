"""Unit tests of a task: what is derived from its inputs, how it is made, and what the reference supports."""

import math

import pytest
import torch

from mooreeval.errors import TaskError
from mooreeval.task import make_task
from musacoder.data.expand.input_sets import InputSets, TensorInput, derived, input_sets
from musacoder.data.expand.inside.support import made_inputs, made_tensor, supported
from musacoder.data.expand.sandboxed import Sandboxed

TASK = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x, n, labels):
        return torch.log(self.fc(x.view(-1).view(x.shape[0], 6)).abs() + n), labels

def get_inputs():
    return [torch.randn(3, 6), 1, [torch.randint(0, 9, (3,))]]
"""
BASE = (TensorInput(shape=(3, 6), dtype="float32"), TensorInput(shape=(3,), dtype="int64"))


@pytest.fixture(scope="module")
def children():
    with Sandboxed() as started:
        yield started


def by_name():
    return {each.name: each for each in derived(BASE)}


def test_a_dimension_changes_in_all_inputs_that_share_it():
    sets = by_name()
    assert [t.shape for t in sets["odd_batch"].tensors] == [(6, 6), (6,)]
    assert [t.shape for t in sets["dimension_1_plus_one"].tensors] == [(3, 7), (3,)]


def test_edges_and_dtypes_leave_whole_numbers_alone():
    sets = by_name()
    assert [t.fill for t in sets["special"].tensors] == ["special", "task"]
    assert [t.dtype for t in sets["bfloat16"].tensors] == ["bfloat16", "int64"]
    assert {each.about for each in sets.values()} == {"shape", "stride", "dtype", "edge"}


@pytest.mark.parametrize(
    ("layout", "stride"), [("transposed", (1, 3)), ("strided", (12, 2)), ("offset", (6, 1)), ("contiguous", (6, 1))]
)
def test_a_layout_has_the_values_and_other_strides(layout, stride):
    plain = made_tensor(torch.randn(1), {"shape": (3, 6), "dtype": "float32", "layout": "contiguous", "fill": "ones"})
    made = made_tensor(torch.randn(1), {"shape": (3, 6), "dtype": "float32", "layout": layout, "fill": "ones"})
    assert torch.equal(plain, made)
    assert (made.stride(), made.storage_offset()) == (stride, 1 if layout == "offset" else 0)


def test_special_values_are_infinities_and_nan():
    made = made_tensor(torch.randn(1), {"shape": (9,), "dtype": "float32", "layout": "contiguous", "fill": "special"})
    assert sorted(v for v in made.tolist() if math.isinf(v)) == [-math.inf, math.inf]
    assert sum(math.isnan(v) for v in made.tolist()) == 1


def test_whole_numbers_stay_below_the_tasks_largest_and_plain_values_stay():
    own = [torch.randn(3, 6), 1, [torch.tensor([4, 0, 2])]]
    x, n, (labels,) = made_inputs(own, [t.model_dump() for t in by_name()["dimension_0_doubled"].tensors])
    assert (x.shape, n, labels.shape) == ((6, 6), 1, (6,))
    assert labels.max() <= 4


@pytest.mark.slow
def test_what_the_reference_supports_is_found_in_a_child(children):
    found = input_sets(make_task("unit", TASK), children)
    assert InputSets.model_validate_json(found.model_dump_json()) == found
    sets = {each.name: each for each in found.sets}
    assert sets["odd_batch"].supported
    assert sets["odd_batch"].outputs == ((6, 4), (6,))
    assert not sets["dimension_1_plus_one"].supported
    assert "invalid for input of size" in sets["dimension_1_plus_one"].why
    assert not sets["transposed"].supported  # .view of what no view can be had of
    assert sets["zeros"].finite
    assert not sets["special"].finite
    assert sets["float64"].supported


@pytest.mark.slow
def test_a_task_that_ends_its_process_is_a_task_error_of_one_line(children):
    hostile = TASK.replace("def get_inputs():", "import os\nos._exit(5)\ndef get_inputs():")
    with pytest.raises(TaskError, match="exited with code 5") as error:
        input_sets(make_task("hostile", hostile), children)
    assert "\n" not in str(error.value)


def test_the_same_sets_are_the_same_tensors_each_time():
    sets = [[t.model_dump() for t in each.tensors] for each in derived(BASE)]
    assert supported(TASK, "unit", sets) == supported(TASK, "unit", sets)
