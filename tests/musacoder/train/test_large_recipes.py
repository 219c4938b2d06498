"""Each large recipe takes two steps on a random miniature of its architecture: two processes, ZeRO-3, no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.miniature import save_miniature, short_rows

from musacoder.models import Message, Sampling
from musacoder.models.local import LocalModel

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
# What differs from the recipe: the model, a device without flash attention and kernels of linear attention, and sizes.
SMALLER = (
    "model.attention=sdpa", "train.flat=false", "train.packing=false", "train.device=cpu", "train.steps=2",
    "train.batch=2", "train.sequence_tokens=256",
)  # fmt: skip


@pytest.mark.parametrize(("recipe", "layers"), [("9b", 4), ("27b", 8)])
def test_two_steps_in_two_processes(recipe, layers, tmp_path):
    model, rows = save_miniature(tmp_path / "miniature", layers), short_rows(tmp_path / "rows")
    settings = [part for s in (*SMALLER, f"model.name={model}", f"data=[{rows}]") for part in ("--set", s)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", "--"]
    done = subprocess.run(
        [*launcher, "musacoder", "sft", str(ROOT / "recipes" / f"{recipe}.yaml"), *settings, "--run", tmp_path / "run"],
        capture_output=True,
        text=True,
        env={**os.environ, "DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2]
    assert all(4 < line["loss"] < 7 and line["gradient_norm"] > 0 for line in lines)  # of 258 pieces, by chance: 5.55
    shards = list((tmp_path / "run" / "checkpoints" / "checkpoint-2").glob("global_step2/*optim_states.pt"))
    assert len(shards) == 2  # the optimiser's state is spread over both
    with LocalModel(str(tmp_path / "run" / "model")) as trained:
        (answer,) = trained.sample([Message("user", "x")], 1, Sampling(max_tokens=4))
    assert answer.failure is None
