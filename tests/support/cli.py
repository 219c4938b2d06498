"""Runs the command line with a scripted judge, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPTED = Path(__file__).parent / "scripted_cli.py"
SRC = Path(__file__).parents[2] / "src"
TASK = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x

def get_inputs():
    return [torch.ones(3)]

def get_init_inputs():
    return []
"""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TEST_GALLERY")}
    return {**kept, "PYTHONPATH": str(SRC), "PYTHONDONTWRITEBYTECODE": "1", **more}


def musacoder(*arguments: object, cwd: Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPTED), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=120,
        cwd=cwd,
        env=environment(**env),
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def candidate(first_line: str) -> str:
    return f"# {first_line}\nimport torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
