"""A training as its user has it: in stages, stopped and killed, gone on with, or refused in one line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.miniature import short_rows
from support.tiny_model import save_tiny_model

from mooreeval.errors import UsageError
from musacoder.models import Message, Sampling
from musacoder.models.local import LocalModel
from musacoder.train.sft import configuration, run_sft

pytestmark = pytest.mark.slow

SETTINGS = (
    "train.device=cpu", "train.sequence_tokens=96", "train.batch=4", "train.device_batch=4", "train.epochs=4",
    "train.learning_rate=0.01", "train.log_steps=1", "train.schedule=wsd", "train.packing=true",
)  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    return save_tiny_model(folder / "tiny"), short_rows(folder / "rows")


@pytest.fixture(scope="module")
def whole(inputs, tmp_path_factory) -> Path:
    """A run that nothing interrupted."""
    return stage(tmp_path_factory.mktemp("whole") / "run", inputs)


def settings(inputs, *more: str) -> list[str]:
    model, rows = inputs
    return [*SETTINGS, f"model.name={model}", f"data=[{rows}]", *more]


def stage(path: Path, inputs, *more: str) -> Path:
    assert run_sft(configuration(path, None, settings(inputs, *more)), path, as_json=False, verbose=True) == 0
    return path


def losses(path: Path) -> dict[int, float]:
    """By step; where one was done twice, the last."""
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines}


def weights(path: Path):
    from safetensors.torch import load_file

    return load_file(path / "model" / "model.safetensors")


def assert_same(path: Path, other: Path) -> None:
    import torch

    assert losses(path) == losses(other)
    left, right = weights(path), weights(other)
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def command(path: Path, inputs, *more: str) -> list[str]:
    given = [part for setting in settings(inputs, *more) for part in ("--set", setting)]
    return [sys.executable, "-m", "musacoder", "sft", "--run", str(path), *given]


def started(path: Path, inputs, *more: str) -> subprocess.Popen[str]:
    """A training in a process of its own that has done its first steps and saved one."""
    child = subprocess.Popen(command(path, inputs, *more), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not (list(path.glob("checkpoints/*/whole.json")) and len(losses(path)) > 1):
        assert child.poll() is None, child.stderr.read() if child.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return child


def test_a_training_learns_and_its_model_answers(whole):
    found = losses(whole)
    assert list(found) == list(range(1, len(found) + 1))
    assert found[len(found)] < 0.7 * found[1]
    last = json.loads((whole / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["tokens_per_second"] > 0
    assert last["tokens"] > last["steps"] * 96
    with LocalModel(str(whole / "model")) as model:
        (answer,) = model.sample([Message("user", "x1")], 1, Sampling(temperature=0, max_tokens=20))
    assert answer.failure is None
    assert "ab" in (answer.text or "")


def test_stages_of_one_step_each_come_to_the_same_as_one_run(whole, inputs, tmp_path):
    path = tmp_path / "run"
    stages = 0
    while not (path / "model").is_dir():
        stage(path, inputs, "train.minutes=0.0001")
        stages += 1
    assert stages == len(losses(whole))
    assert_same(path, whole)


def test_a_finished_training_is_left_as_it_is(whole, inputs):
    before = (whole / "metrics.jsonl").read_text()
    stage(whole, inputs)
    assert (whole / "metrics.jsonl").read_text() == before


def test_a_killed_training_goes_on_and_comes_to_the_same(whole, inputs, tmp_path):
    path = tmp_path / "run"
    child = started(path, inputs, "train.save_minutes=0.00001")
    child.send_signal(signal.SIGKILL)
    child.wait()
    torn = path / "checkpoints" / "checkpoint-999"
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"half")
    stage(path, inputs)
    assert not torn.exists()
    assert_same(path, whole)


def test_an_interrupt_ends_the_stage_with_a_checkpoint(inputs, tmp_path):
    path = tmp_path / "run"
    child = started(path, inputs, "train.save_minutes=0.00001", "train.epochs=2000")
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=120)
    assert child.returncode == 130
    assert told.splitlines()[-1] == "musacoder: interrupted"
    saved = max(int(p.parent.name.rpartition("-")[2]) for p in path.glob("checkpoints/*/whole.json"))
    assert saved == max(losses(path))


def test_a_changed_configuration_is_refused_and_its_keys_are_named(whole, inputs):
    with pytest.raises(UsageError, match=r"train.learning_rate: 0.01 -> 0.02; train.seed: 0 -> 7"):
        stage(whole, inputs, "train.learning_rate=0.02", "train.seed=7")


def test_what_changes_no_result_may_change(whole, inputs):
    stage(whole, inputs, "train.minutes=5", "train.log_steps=3", "train.device_batch=1")


def test_changed_rows_are_refused(whole, inputs, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    model, _ = inputs
    rows = short_rows(tmp_path / "rows")
    for file in ("config.yaml",):
        (path / file).write_text((path / file).read_text().replace(str(inputs[1]), str(rows)))
    short_rows(rows, 25)
    with pytest.raises(UsageError, match="the data is no longer what the run was begun with"):
        stage(path, (model, rows))


def test_a_run_that_exists_needs_nothing_said_again(whole):
    config = configuration(whole, None, [])
    assert run_sft(config, whole, as_json=False, verbose=False) == 0


def test_a_checkpoint_of_another_vocabulary_is_refused(inputs, tmp_path):
    other = save_tiny_model(tmp_path / "other")
    text = (other / "tokenizer.json").read_text()
    assert '"A"' in text
    (other / "tokenizer.json").write_text(text.replace('"A"', '"QQ"').replace('"B"', '"A"').replace('"QQ"', '"B"'))
    with pytest.raises(UsageError, match=r"was made with another vocabulary: 2 of \d+ pieces differ"):
        stage(tmp_path / "run", inputs, f"model.tokenizer={other}")


def test_a_checkpoint_with_too_few_pieces_is_refused(inputs, tmp_path):
    small = shutil.copytree(inputs[0], tmp_path / "small")
    config = json.loads((small / "config.json").read_text())
    (small / "config.json").write_text(json.dumps({**config, "vocab_size": 100}))
    with pytest.raises(UsageError, match="has a vocabulary of 100 pieces, the tokenizer 258"):
        stage(tmp_path / "run", (small, inputs[1]))


def test_two_processes_do_not_write_to_one_run(whole, inputs):
    from musacoder.train.folder import TrainingFolder

    with TrainingFolder(whole), pytest.raises(UsageError, match="another process is writing"):
        stage(whole, inputs)


def test_a_folder_of_another_kind_of_run_is_refused(whole, inputs, tmp_path):
    path = shutil.copytree(whole, tmp_path / "run")
    run = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**run, "kind": "rft"}))
    with pytest.raises(UsageError, match="is a run of musacoder rft, not of sft"):
        stage(path, inputs)


def test_a_batch_that_does_not_divide_is_told(inputs, tmp_path):
    with pytest.raises(UsageError, match=r"train.batch: 4 sequences are no multiple .* 8 x 1"):
        stage(tmp_path / "run", inputs, "train.device_batch=8")


def test_deepspeed_without_a_launcher_is_told(inputs, tmp_path, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(UsageError, match=r"train.deepspeed needs a launcher: accelerate launch"):
        stage(tmp_path / "run", inputs, "train.deepspeed={zero_optimization: {stage: 3}}")


def test_rows_that_are_all_too_long_are_told(inputs, tmp_path):
    with pytest.raises(UsageError, match="no row is as short as 16 tokens"):
        stage(tmp_path / "run", inputs, "train.sequence_tokens=16")


def test_the_command_tells_missing_columns_in_one_line_and_prints_nothing_but_json(inputs, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": [], "kind": "k"}\n')
    done = subprocess.run(
        [*command(tmp_path / "run", (inputs[0], tmp_path / "rows.jsonl")), "--json"],
        capture_output=True, text=True, check=False, env={k: v for k, v in os.environ.items() if k != "DS_ACCELERATOR"},
    )  # fmt: skip
    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if line.startswith("musacoder:")]
    assert len(told) == 1
    assert json.loads(done.stdout)["exit_code"] == 2
    assert told[0].endswith(
        "rows.jsonl, line 1 has no column completion, family: rows need prompt, completion, kind, family"
    )
