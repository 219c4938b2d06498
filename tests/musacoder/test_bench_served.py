"""`musacoder bench` against the real `transformers serve`: whatever a random model says, every answer is on record."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.cli import environment
from support.tiny_model import save_tiny_model
from support.transformers_serve import transformers_serve

from mooreeval.verdict import Status
from musacoder.runlog import RunFolder

pytestmark = pytest.mark.slow
SAMPLES = 2


def test_every_answer_of_a_real_server_is_asked_for_once_and_judged(tmp_path):
    with transformers_serve(save_tiny_model(tmp_path / "tiny-model", context=16384)) as served:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "musacoder", "bench", "--suite", "gallery", "--id", "relu", "--run", "served"),
                *("--samples", str(SAMPLES), "--model", served.model, "--base-url", served.seen.url),
                *("--set", "sampling.max_tokens=24", "--set", f"model.tokenizer={served.model}"),
            ],
            cwd=tmp_path,
            env=environment(HF_HUB_OFFLINE="1"),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        requests = list(served.seen.requests)
    run = RunFolder.open(tmp_path / "runs" / "served")
    samples, verdicts = list(run.samples()), list(run.verdicts())
    assert len(requests) == SAMPLES  # this server gives one answer to a request
    assert all(r["model"] == served.model and "class Model" in r["messages"][-1]["content"] for r in requests)
    assert sorted(s.key for s in samples) == [("gallery:relu", index, 1) for index in range(SAMPLES)]
    answered = [s for s in samples if s.answer is not None]
    assert answered, [s.failure for s in samples]
    assert {v.key for v in verdicts} == {s.key for s in answered}
    assert {v.verdict.status for v in verdicts} == {Status.NO_CANDIDATE}  # what 24 random bytes are
    assert done.returncode == 0, done.stderr  # some answer was judged, and right it need not be
    assert f"{served.model} on gallery · 1 task, {SAMPLES} answers each" in done.stdout
    assert len(list(run.metrics())) == 1
