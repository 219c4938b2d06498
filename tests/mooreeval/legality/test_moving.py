"""A task that only moves its elements is told from one that computes, by its text."""

import pytest

from mooreeval.legality.moving import only_moves

TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Identity()
    def forward(self, x, y=None):
        {}
"""


@pytest.mark.parametrize(
    "body",
    [
        "return x.transpose(1, 2).contiguous()",
        "return x.permute(0, 2, 1).reshape(-1, 4)[:, :2].clone()",
        "z = torch.broadcast_to(x, (3, 4)); return z.contiguous(), x.flatten(start_dim=-2)",
    ],
)
def test_views_copies_and_conversions_only_move(body):
    assert only_moves(TASK.format(body))


@pytest.mark.parametrize(
    "body",
    [
        "return x.transpose(1, 2).contiguous() + 1",
        "return x.relu().contiguous()",
        "return self.layer(x).contiguous()",
        "return torch.cat([x, x])",
        "return x",
        "x += 1; return x.clone()",
        "return (lambda v: v * 2)(x).clone()",
        "return x[x > 0].clone()",
        "return x.clone() if x.size(0) else torch.nn.functional.gelu(x).clone()",
    ],
)
def test_whatever_else_computes(body):
    assert not only_moves(TASK.format(body))


@pytest.mark.parametrize("code", ["", "def (", "class Model: pass", "x" + "(" * 9000])
def test_text_without_such_a_forward_is_no_task_that_moves(code):
    assert not only_moves(code)
