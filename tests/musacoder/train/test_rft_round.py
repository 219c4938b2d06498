"""From checkpoint to checkpoint: SFT, sampling, judging, a pool of two ways to write a kernel, SFT on its rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mooreeval import gallery
from mooreeval.render import strict_json
from musacoder import cli
from musacoder.data.asking import Asking, row, task_of
from musacoder.data.records import Program, Row, RowKind
from musacoder.prompts import PromptConfig
from musacoder.runlog import RunFolder
from musacoder.train.pool import read_pool

_KERNEL = """import torch
from torch.utils.cpp_extension import load_inline

source = \"\"\"
__global__ void k(const float* x, float* y, int n) {
    BODY
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    k<<<GRID, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
\"\"\"
m = load_inline("m", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return m.run(x)
"""
_PLAIN = _KERNEL.replace("GRID", "(n + 255) / 256").replace(
    "BODY", "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = fmaxf(x[i], 0.0f);"
)
_STRIDED = _KERNEL.replace("GRID", "64").replace(
    "BODY",
    "for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x)\n        y[i] = fmaxf(x[i], 0.0f);",
)


def _programs() -> list[Program]:
    (task,) = {e.task_path.read_text(encoding="utf-8") for e in gallery.load() if e.task_name == "relu"}
    common = {"task_code": task, "family": "elementwise", "operators": ("relu",), "licence": "Apache-2.0"}
    return [Program(candidate_code=code, source="test", **common) for code in (_PLAIN, _STRIDED)]


def _save_rows(folder: Path, programs: list[Program]) -> list[Row]:
    asking = Asking(prompt=PromptConfig(templates=Path("compact")))
    rows = [row(RowKind.GENERATION, p, asking.first(p), asking.answer(p.candidate_code), {}) for p in programs]
    (folder / "rows.jsonl").write_text("".join(strict_json(r) + "\n" for r in rows), encoding="utf-8")
    (folder / "programs.jsonl").write_text("".join(strict_json(p) + "\n" for p in programs), encoding="utf-8")
    return rows


def _save_checkpoint(folder: Path, rows: list[Row]) -> None:
    """0.2M parameters, and a tokenizer made of the rows: small enough to learn two programs by heart in seconds."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from musacoder.train.tokenizer import make_tokenizer

    tokenizer = make_tokenizer([t.content for r in rows for t in (*r.prompt, *r.completion)] * 4, 512)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=1024, tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _sft(model: str, data: str, run: str, steps: int) -> None:
    settings = {
        "model.name": model, "train.steps": steps, "train.epochs": 1000, "train.sequence_tokens": 512,
        "train.batch": 4, "train.device_batch": 4, "train.learning_rate": 1e-2, "train.device": "cpu",
        "train.weight_decay": 0,
    }  # fmt: skip
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    assert cli.run(["sft", "--data", data, "--run", run, *given]) == 0


@pytest.mark.slow
def test_a_checkpoint_learns_from_its_own_right_answers_in_both_ways_that_it_knows(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rows = _save_rows(tmp_path, _programs())
    _save_checkpoint(tmp_path / "start", rows)
    _sft("start", "rows.jsonl", "first", 120)
    rft = ["rft", "--programs", "programs.jsonl", "--model", "hf:runs/first/model", "--samples", "6", "--epochs", "4"]
    together = [
        "model.local.together=true",
        "model.local.batch=16",
        "prompt.templates=compact",
        "sampling.max_tokens=600",
    ]
    given = [word for setting in together for word in ("--set", setting)]
    code = cli.run([*rft, *given, "--run", "round", "--json"])
    told, run = capfd.readouterr(), RunFolder.open(tmp_path / "runs" / "round")
    assert code == 0, told.err
    statuses = Counter(v.verdict.status.value if v.verdict else v.not_judged for v in run.verdicts())
    assert statuses["correct"] >= 3, statuses
    assert len({e.cluster for e in read_pool(run.path / "pool.jsonl")}) == 2
    lines = (run.path / "rows" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["task_hash"] for line in lines} == {task_of(_programs()[0]).task_hash}
    assert len(lines) == 4
    for name in ("rows", "rows_best_of_one"):
        _sft("runs/first/model", str(run.path / name), f"after-{name}", 2)
        assert (tmp_path / "runs" / f"after-{name}" / "model" / "model.safetensors").is_file()
