"""Task code as it is executed in the reference child."""

import pytest
import torch

from mooreeval.errors import TaskError
from mooreeval.execute.task_module import TaskModule, load_task_module

GOOD = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width, scale=1.0):
        super().__init__()
        self.linear = nn.Linear(width, 3)
        self.scale = scale

    def forward(self, x):
        return self.linear(x) * self.scale

def get_inputs():
    return [torch.rand(2, 4)]

def get_init_inputs():
    return [4, torch.randn(3)]
"""


def module(code: str) -> TaskModule:
    return load_task_module(code, name="example")


def run(code: str) -> None:
    task = module(code)
    inputs = task.make_inputs(0)
    task.forward(task.make_model(0), inputs)


def one_line(error: pytest.ExceptionInfo[Exception]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_equal_seeds_give_equal_inputs_and_weights_and_others_do_not() -> None:
    task = module(GOOD)
    assert torch.equal(task.make_inputs(7)[0], task.make_inputs(7)[0])
    assert not torch.equal(task.make_inputs(7)[0], task.make_inputs(8)[0])
    first, second, other = task.make_model(1), task.make_model(1), task.make_model(2)
    assert torch.equal(first.linear.weight, second.linear.weight)
    assert torch.equal(first.scale, second.scale)
    assert not torch.equal(first.linear.weight, other.linear.weight)


def test_seeds_are_those_of_kernelbench() -> None:
    """The generator is seeded before `get_inputs`, before `get_init_inputs` and before the model is made."""
    torch.manual_seed(5)
    expected = torch.rand(2, 4)
    assert torch.equal(module(GOOD).make_inputs(5)[0], expected)
    torch.manual_seed(6)
    weight = torch.nn.Linear(4, 3).weight
    assert torch.equal(module(GOOD).make_model(6).linear.weight, weight)


def test_init_inputs_are_those_that_the_last_model_was_given() -> None:
    task = module(GOOD)
    model = task.make_model(9)
    task.make_inputs(1)
    assert torch.equal(task.init_inputs()[1], model.scale)


def test_a_task_without_init_inputs_makes_its_model_without_arguments() -> None:
    task = module(
        "import torch\nclass Model(torch.nn.Module):\n    pass\ndef get_inputs():\n    return [torch.ones(1)]\n"
    )
    assert task.init_inputs() == []
    assert isinstance(task.make_model(0), torch.nn.Module)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.rand(2, 2).cuda()",
        "torch.rand(2, 2, device='cuda')",
        "torch.rand(2, 2).to('cuda:0')",
        "torch.rand(2, 2).to(torch.device('cuda'), torch.float64)",
        "torch.rand(2, 2).to(device='cuda')",
        "torch.nn.Linear(2, 2).cuda().weight.detach()",
        "torch.nn.Linear(2, 2, device='cuda').weight.detach()",
        "torch.rand(2, 2).pin_memory()",
    ],
)
def test_what_a_task_places_on_an_accelerator_is_on_the_cpu(expression: str) -> None:
    code = f"import torch\nX = {expression}\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
    code += f"        return x + {expression}\ndef get_inputs():\n    return [X + {expression}]\n"
    task = module(code)
    inputs = task.make_inputs(0)
    assert inputs[0].device.type == "cpu"
    assert task.forward(task.make_model(0), inputs).device.type == "cpu"


def test_inputs_may_be_structures_of_plain_values() -> None:
    code = GOOD.replace(
        "[torch.rand(2, 4)]", "(torch.rand(2, 4), 3, 1.5, None, 'sum', [torch.ones(1), {'a': (1, True)}])"
    )
    assert module(code).make_inputs(0)[1:5] == [3, 1.5, None, "sum"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("return [torch.rand(2, 4)]", "return torch.rand(2, 4)", "not a list"),
        ("return [torch.rand(2, 4)]", "return [3]", "no tensor"),
        ("return [torch.rand(2, 4)]", "return [torch.ones(1), {'a': [object()]}]", "['a'][0] is object"),
        ("return [torch.rand(2, 4)]", "return [1 / 0]", "get_inputs() raised ZeroDivisionError"),
        ("return [torch.rand(2, 4)]", "raise SystemExit(3)", "get_inputs() raised SystemExit"),
        ("import torch.nn as nn", "import no_such_package_of_anybody", "package no_such_package_of_anybody"),
        ("class Model", "class Net", "Model is missing"),
        ("def get_inputs", "get_inputs = 3\ndef other", "get_inputs is missing"),
        ("return [4, torch.randn(3)]", "return [4, lambda: 1]", "get_init_inputs()[1] is function"),
        ("return [4, torch.randn(3)]", "return [4, 1, 1]", "Model.__init__ raised TypeError"),
        ("return self.linear(x) * self.scale", "return [1, None]", "forward returns no tensor"),
        ("return self.linear(x) * self.scale", "return x.view(3, 3)", "Model.forward raised RuntimeError"),
        ("import torch\n", "import torch\nx = = 1\n", "not valid Python"),
    ],
)
def test_a_fault_of_the_task_is_one_line_that_names_it(old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(TaskError) as error:
        run(GOOD.replace(old, new))
    assert words in one_line(error)
    assert "example" in one_line(error)


def test_a_fault_shows_the_tasks_own_line_and_frames() -> None:
    with pytest.raises(TaskError) as error:
        module(GOOD.replace("return [torch.rand(2, 4)]", "return [torch.rand(2, 4) @ torch.rand(3)]")).make_inputs(0)
    assert "(line 15: return [torch.rand(2, 4) @ torch.rand(3)])" in one_line(error)
    assert any("in get_inputs" in note for note in error.value.__notes__)


def test_an_exception_that_cannot_be_printed_is_still_one_line() -> None:
    bad = "class Bad(Exception):\n    def __str__(self):\n        raise ValueError\n"
    with pytest.raises(TaskError) as error:
        module(bad + GOOD.replace("return [torch.rand(2, 4)]", "raise Bad()")).make_inputs(0)
    assert "Bad" in one_line(error)
