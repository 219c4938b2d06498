"""Which outputs a task keeps on the CPU: what is known of each kind, and no claim where it can't be."""

import pytest
import torch

from mooreeval.execute.host_outputs import may_keep_on_host, outputs_on_host
from mooreeval.execute.task_module import load_task_module

TASK = """
import torch
{before}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        y = self.linear(x)
        self.count += 1
        return {returned}

def get_inputs():
    return [torch.zeros(3, 4) + torch.rand(3, 4)]
"""


def on_host(returned: str, before: str = "") -> list[bool]:
    code = TASK.format(returned=returned, before=before)
    module = load_task_module(code, name="task")
    model = module.make_model(0)
    found = outputs_on_host(module, code, model, module.make_inputs(0))
    assert model.count == 0
    return found


@pytest.mark.parametrize(
    "returned",
    [
        "torch.tensor([x.shape[0]])", "torch.arange(3) * 2", "torch.zeros(2).add_(1)", "torch.zeros(2, 3).T",
        "torch.stack([torch.zeros(2), torch.ones(2)])", "y.cpu()", "y.detach().to('cpu')",
        "torch.zeros(2, device='cpu')",
        "torch.tensor(y.mean().item())", "torch.cat([y.cpu(), torch.zeros(3, 4)])", "torch.zeros(2).to(torch.int32)",
        "torch.zeros(2, device=y.cpu().device)", "torch.nn.functional.relu(torch.ones(3))",
    ],
)  # fmt: skip
def test_what_is_made_without_the_inputs_or_moved_is_on_the_host(returned):
    assert on_host(f"y, {returned}, y") == [False, True, False]


@pytest.mark.parametrize(
    "returned",
    [
        "y", "y + torch.ones(1)", "torch.zeros(2, device=x.device)", "torch.zeros(2, device=x.device.type)",
        "torch.zeros(2, device='cuda')", "torch.zeros(2).cuda()", "torch.arange(3).to(y)",
        "torch.arange(3).to(x.device)",
        "y.cpu().to(x.device)", "x.new_zeros(3)", "torch.zeros_like(y)", "self.count", "y[torch.tensor([0, 1])]",
        "torch.zeros(2, device='cpu' if y.is_cpu else 'cuda')",
    ],
)  # fmt: skip
def test_what_comes_from_the_inputs_or_is_placed_is_on_the_device(returned):
    assert on_host(f"{returned}, torch.zeros(1)") == [False, True]


def test_a_cpu_that_stands_for_a_missing_accelerator_is_no_claim():
    before = "where = 'cuda' if torch.cuda.is_available() else 'cpu'"
    assert on_host("y, torch.zeros(2, device=where), y.to(where), y.cpu()", before) == [False, False, False, True]


def test_a_pass_that_fails_claims_nothing_and_draws_no_random_number():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    assert on_host("torch.rand(4), 1 / 0, torch.rand(4)") == []
    torch.manual_seed(3)
    module = load_task_module(TASK.format(returned="torch.rand(4)", before=""), name="task")
    model, inputs = module.make_model(0), module.make_inputs(0)
    torch.manual_seed(3)
    assert outputs_on_host(module, "", model, inputs) == [True]
    assert torch.equal(torch.rand(4), expected)


def test_only_tasks_that_name_a_maker_outside_their_inputs_are_followed():
    assert may_keep_on_host(TASK.format(returned="torch.ones(1)", before=""))
    assert may_keep_on_host("class Model:\n    def forward(self, x):\n        return x.cpu()")
    assert not may_keep_on_host("import torch\ndef get_inputs():\n    return [torch.rand(3)]")
    assert not may_keep_on_host("import torch\ntorch.set_default_device('cuda')\nx = torch.zeros(3)")
