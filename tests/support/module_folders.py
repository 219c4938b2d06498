"""Folders of Python files for expansion: modules that become tasks, and one of each kind that does not."""

from __future__ import annotations

from pathlib import Path

HEAD = "import torch\nfrom torch import nn\n"
GATED = '''
"""A package's module that needs another file, and flags that are decided by what is installed."""
import os
import torch.nn.functional as F
from torch import nn
from .helpers import half as halved, make_act
from . import helpers

try:
    from faster_kernels import fused_gate
    HAS_FUSED = True
except ImportError:
    HAS_FUSED = False
WIDEN = int(os.environ.get("GATED_WIDEN", "1"))


class Gated(nn.Module):
    """A gate beside a value.

    More words that nobody needs in a task.
    """

    def __init__(self, dim: int, act: str = "relu", bias: bool = True):
        super().__init__()
        self.hidden = helpers.widened(dim) * WIDEN
        self.fc = nn.Linear(dim, self.hidden * 2, bias=bias)
        self.act = make_act(act)

    def forward(self, x):
        if HAS_FUSED:
            return fused_gate(x, self.fc.weight)
        value, gate = self.fc(x).chunk(2, dim=-1)
        return value * self.act(halved(gate)) * F.softplus(gate)
'''
HELPERS = """
import logging
from torch import nn

_logger = logging.getLogger(__name__)
ACTS = {"relu": nn.ReLU, "tanh": nn.Tanh}


def half(x):
    return x / 2


def widened(dim):
    _logger.info("widening %s", dim)
    return dim + dim // 2


def make_act(name):
    return ACTS[name]()


def unused():
    return half(1)
"""


def module(forward: str, *, before: str = "", init: str = "self.fc = nn.Linear(16, 8)", arguments: str = "") -> str:
    """A file with one class `Planted`."""
    return (
        f"{HEAD}{before}\n\nclass Planted(nn.Module):\n    def __init__(self{arguments}):\n        super().__init__()\n"
        f"        {init}\n\n    def forward(self, x):\n        {forward}\n"
    )


def write(folder: Path, files: dict[str, str]) -> Path:
    """These files, by their paths below the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def package(folder: Path) -> Path:
    """A small package whose class `Gated` needs two files."""
    return write(folder, {"pack/__init__.py": "", "pack/gated.py": GATED, "pack/helpers.py": HELPERS})
