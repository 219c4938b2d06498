"""The command: stages, resuming, and what is refused. A tiny random model, the gallery's tasks and the real judge."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.tiny_model import save_tiny_model

from mooreeval.errors import UsageError
from musacoder.train.folder import TrainingFolder
from musacoder.train.rl import configuration, run_rl
from musacoder.train.rl_run import arguments_of

RECIPES = sorted((Path(__file__).parents[3] / "recipes" / "rl").glob("*.yaml"))
SMALL = (
    "tasks.source=gallery train.device=cpu optimiser.prompts=2 optimiser.micro_batch=4 rollout.answers=4 "
    "sampling.max_tokens=24 prompt.templates=compact prompt.tokens=3000 verify.backend=simulator rollout.turns=2 "
    "retry.probability=0.5"
).split()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny") / "model", context=4096)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_is_a_configuration(tmp_path: Path, recipe: Path) -> None:
    config = configuration(tmp_path / "run", recipe, ["model=m", "tasks.source=bundled"])
    assert (config.optimiser.prompts, config.rollout.answers, config.sampling.temperature) == (64, 8, 0.9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["verify.protocol=kernelbench"], "training takes its reward from protocol `ours` alone"),
        (["optimiser.epochs=3", "train.steps=4"], "train.steps: 4 is no multiple of optimiser.epochs"),
        (["objective.mask=none", "objective.delta=0.1", "train.ahead=2"], "objective.delta has no effect"),
        (["rollout.answers=1"], "rollout.answers"),
        (["tasks.source="], "tasks.source"),
        (["objective.mirror=1"], "objective.mirror"),
    ],
)
def test_a_configuration_that_contradicts_itself_is_one_line(tmp_path: Path, settings: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        configuration(tmp_path / "run", None, ["model=m", *SMALL, *settings])
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_tasks_of_a_test_set_are_not_trained_on(tmp_path: Path) -> None:
    config = configuration(tmp_path / "run", None, ["model=m", *SMALL, "tasks.source=split:unseen_op"])
    with pytest.raises(UsageError, match="120 of its 120 tasks belong to test sets"):
        run_rl(config, tmp_path / "run", as_json=False, verbose=False)
    assert not (tmp_path / "run").exists()


def test_model_and_tasks_have_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name what to train: "):
        configuration(tmp_path, None, SMALL)
    with pytest.raises(UsageError, match="name what to train on: "):
        configuration(tmp_path, None, ["model=m"])


@pytest.mark.parametrize(
    ("settings", "processes", "said"),
    [
        (["optimiser.prompts=3"], "2", "3 groups are no multiple of 2 processes"),
        (["optimiser.micro_batch=3"], "1", "8 answers"),
    ],
)
def test_groups_that_cannot_be_spread_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: list[str], processes: str, said: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", processes)
    config = configuration(tmp_path / "run", None, ["model=m", *SMALL, *settings])
    with pytest.raises(UsageError, match=said):
        arguments_of(config, TrainingFolder(tmp_path / "run"))


def _command(run: Path, checkpoint: Path, *settings: str, minutes: float | None = None) -> list[str]:
    options = [word for setting in (*SMALL, *settings) for word in ("--set", setting)]
    stage = [] if minutes is None else ["--minutes", str(minutes)]
    return [sys.executable, "-m", "musacoder", "rl", "--model", str(checkpoint), "--run", str(run), *options, *stage]


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def _ran(command: list[str], code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=_environment())
    assert done.returncode == code, done.stderr[-3000:]
    return done


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_stages_add_up_to_a_run_and_a_model(tmp_path: Path, checkpoint: Path) -> None:
    run = tmp_path / "run"
    first = _ran(_command(run, checkpoint, "train.steps=2", "train.report_to=[tensorboard]", minutes=0.001))
    assert "1 of 2 steps are done; go on with: musacoder rl --run" in first.stderr
    second = _ran([*_command(run, checkpoint, "train.steps=2"), "--minutes", "30", "--json"])
    assert json.loads(second.stdout) | {"seconds": 0} == {
        "run": str(run), "finished": True, "step": 2, "steps": 2, "seconds": 0
    }  # fmt: skip
    assert [line["step"] for line in _lines(run / "metrics.jsonl")] == [1, 2]
    rollouts = _lines(run / "rollouts.jsonl")
    assert len(rollouts) == 16 and {r["turns"][0]["status"] for r in rollouts} == {"no_candidate"}
    assert {line["what"] for line in _lines(run / "timeline.jsonl")} >= {"sample", "judge"}
    assert (run / "model" / "model.safetensors").is_file() and any((run / "tensorboard").iterdir())
    changed = _ran(_command(run, checkpoint, "train.steps=2", "objective.alpha=0.5"), code=2)
    assert "objective.alpha" in changed.stderr and "Traceback" not in changed.stderr


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(tmp_path: Path, checkpoint: Path) -> None:
    run = tmp_path / "run"
    command = _command(run, checkpoint, "train.steps=3", "train.save_minutes=0.0001")
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment())
    deadline = time.monotonic() + 600
    while not list(run.glob("checkpoints/checkpoint-*/whole.json")) and child.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = _ran(command)
    assert "all 3 steps are done" in done.stderr
    assert [line["step"] for line in _lines(run / "metrics.jsonl")][-1] == 3


@pytest.mark.slow
def test_what_is_no_checkpoint_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = _ran(_command(tmp_path / "run", tmp_path / "empty"), code=2)
    assert "empty" in done.stderr and "Traceback" not in done.stderr
