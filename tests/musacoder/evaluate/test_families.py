"""The family of a task is that of its heaviest operator."""

from __future__ import annotations

import pytest

from mooreeval import gallery
from musacoder.evaluate import FAMILIES, family_of

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
INPUTS = "\ndef get_inputs():\n    return [torch.softmax(torch.randn(4, 4) @ torch.randn(4, 4), 1)]\n"


def task(forward: str, layers: str = "pass", arguments: str = "x") -> str:
    """A task whose inputs are made by operators that must not count."""
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {layers}\n"
        f"    def forward(self, {arguments}):\n        {forward}\n{INPUTS}"
    )


@pytest.mark.parametrize(
    ("family", "code"),
    [
        ("elementwise", task("return torch.relu(x)")),
        ("elementwise", task("return x * y.unsqueeze(1)", arguments="x, y")),
        ("elementwise", task("return self.act(x)", "self.act = nn.GELU()")),
        ("reduction", task("return x.sum(dim=1)")),
        ("reduction", task("return torch.cumsum(x, dim=0)")),
        ("normalisation", task("return self.norm(x)", "self.norm = nn.LayerNorm(4)")),
        ("normalisation", task("s = torch.sqrt(torch.mean(x**2))\n        return x / s")),
        ("normalisation", task("return F.group_norm(x, 2)")),
        ("softmax", task("return F.log_softmax(x, dim=1)")),
        ("matmul", task("return x @ y", arguments="x, y")),
        ("matmul", task("return torch.softmax(self.fc(x), 1)", "self.fc = nn.Linear(4, 4)")),
        ("convolution", task("return torch.relu(self.c(x))", "self.c = nn.ConvTranspose3d(1, 2, 3)")),
        ("convolution", task("return F.conv2d(x, w) @ w", arguments="x, w")),
        ("attention", task("return F.scaled_dot_product_attention(x, x, x)")),
        ("attention", task("return torch.softmax(x @ x.T, -1) @ x")),
        ("pooling", task("return self.p(x)", "self.p = nn.MaxPool2d(2)")),
        ("indexing", task("return torch.gather(x, 1, i)", arguments="x, i")),
        ("indexing", task("return x.transpose(0, 1).contiguous()")),
        ("loss", task("return torch.mean((predictions - targets) ** 2)", arguments="predictions, targets")),
        ("loss", task("return F.kl_div(x, y)", arguments="x, y")),
        ("network", task("return self.n(x)", "self.n = nn.LSTM(4, 4)")),
        ("network", task("return x", "self.n = nn.ModuleList([nn.Linear(4, 4) for _ in range(9)])")),
        ("network", task("return x", "self.n = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(1, 1))")),
        ("network", f"{HEAD}class Block(nn.Module):\n    pass\n{task('return x')}"),
        ("unknown", "class Model(:"),
    ],
)
def test_the_family_of(family, code):
    assert family_of(code) == family
    assert family in (*FAMILIES, "unknown")


def test_the_families_of_the_gallery():
    tasks = {entry.task_name: entry.task_path for entry in gallery.load()}
    found = {name: family_of(path.read_text()) for name, path in tasks.items()}
    assert {name: found[name] for name in ("relu", "conv2d", "matmul", "row_softmax", "layer_norm", "max_pool")} == {
        "relu": "elementwise",
        "conv2d": "convolution",
        "matmul": "matmul",
        "row_softmax": "softmax",
        "layer_norm": "normalisation",
        "max_pool": "pooling",
    }
