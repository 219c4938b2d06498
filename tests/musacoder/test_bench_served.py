"""`musacoder bench` against the real `transformers serve`: whatever a random model says, every answer is on record."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import environment
from support.tiny_model import save_tiny_model
from support.transformers_serve import free_port, transformers_serve

from mooreeval.verdict import Status
from musacoder.runlog import Key, RunFolder
from musacoder.suite import bundled_tasks

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


TASKS, ANSWERS = 3, 8
SUITE = ("--suite", "bundled", "--level", "1", "--draw", str(TASKS), "--samples", str(ANSWERS))
# One request at a time: this server's draws, by a request's seed or not, are of all requests together.
ONE_BY_ONE = ("--set", "model.server.concurrency=1", "--set", "model.server.retry.first_seconds=0.5")
SHORT = ("--set", "sampling.max_tokens=16", "--set", "prompt.metadata=false")


def begun(folder: Path, run: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "musacoder", "bench", "--run", run, *arguments]
    environ = environment(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    return subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    """Its table."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def answers(folder: Path, run: str) -> dict[Key, str | None]:
    return {s.key: s.answer for s in RunFolder.open(folder / "runs" / run).samples()}


def await_samples(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    file, end = folder / "runs" / "disturbed" / "samples.jsonl", time.monotonic() + 120
    while not file.exists() or file.read_bytes().count(b"\n") < count:
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.02)


def test_a_run_whose_server_was_killed_and_which_was_killed_itself_ends_with_the_same_table(tmp_path):
    model = save_tiny_model(tmp_path / "tiny-model", context=16384, trained_on=[t.path for t in bundled_tasks()])
    port = free_port()
    asked = ("--model", str(model), "--base-url", f"http://127.0.0.1:{port}/v1", *SUITE, *ONE_BY_ONE, *SHORT)
    with transformers_serve(model, port) as served:
        expected = ended(begun(tmp_path, "whole", *asked))
        process = begun(tmp_path, "disturbed", *asked)
        await_samples(process, tmp_path, 5)
        served.process.kill()
    with transformers_serve(model, port):
        await_samples(process, tmp_path, 12)  # the run has waited for the server, and goes on
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert len(answers(tmp_path, "disturbed")) < TASKS * ANSWERS
        assert ended(begun(tmp_path, "disturbed")) == expected
    assert f"{TASKS} tasks, {ANSWERS} answers each" in expected
    whole = answers(tmp_path, "whole")
    assert len(whole) == TASKS * ANSWERS
    assert answers(tmp_path, "disturbed") == whole
    assert len(set(whole.values())) > ANSWERS  # a random model says something else each time
