"""The trainer with real rollouts of a tiny model; only the judge is a hash."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from support import tiny_rl
from support.tiny_model import save_tiny_model

from mooreeval.errors import NotJudged
from musacoder.train.experience import Batch
from musacoder.train.objective import group_advantages, grpo_loss, prime_echo
from musacoder.train.retry_buffer import RetryConfig
from musacoder.train.rl_config import ObjectiveConfig


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_tiny_model(tmp_path_factory.mktemp("tiny") / "model")


def _log(trainer: Any) -> list[dict[str, float]]:
    return [entry for entry in trainer.state.log_history if "loss" in entry]


def test_on_policy_nothing_is_masked_and_a_second_step_on_the_same_answers_is(model: Path, tmp_path: Path) -> None:
    trainer = tiny_rl.trainer_of(model, tiny_rl.arguments(tmp_path, max_steps=2, num_iterations=2))
    trainer.train()
    first, second = _log(trainer)
    assert first["masked"] == 0 and first["drift/absolute"] < 1e-5 and first["kl"] == 0
    assert second["masked"] == 1 and second["drift/absolute"] > 0.2 and second["grad_norm"] == 0


def test_without_a_mask_the_second_step_learns(model: Path, tmp_path: Path) -> None:
    args = tiny_rl.arguments(tmp_path, max_steps=2, num_iterations=2)
    trainer = tiny_rl.trainer_of(model, args, objective=ObjectiveConfig(mask="none"))
    trainer.train()
    _, second = _log(trainer)
    assert second["masked"] == 0 and second["grad_norm"] > 0 and second["clipped"] > 0


def test_the_loss_is_that_of_the_objective_on_first_turns_alone(model: Path, tmp_path: Path) -> None:
    seen: list[Batch] = []
    args = tiny_rl.arguments(tmp_path, max_steps=1, gradient_accumulation_steps=1, per_device_train_batch_size=8)
    trainer = tiny_rl.trainer_of(model, args, on_batch=lambda step, batch: seen.append(batch), turns=3)
    policy = trainer.model
    losses: list[float] = []
    plain = trainer._compute_loss
    trainer._compute_loss = lambda *a, **k: _noted(losses, plain(*a, **k))  # type: ignore[method-assign]
    before = [p.detach().clone() for p in policy.parameters()]
    trainer.train()
    with torch.no_grad():
        for parameter, old in zip(policy.parameters(), before, strict=True):
            parameter.copy_(old)
    trajectories = [t for group in seen[0].groups if group for t in group.trajectories]
    assert any(len(t.turns) > 1 for t in trajectories)
    rewards = torch.tensor([prime_echo(t.scores, t.passed, 0.75, (0.2, 0.1)) for t in trajectories])
    advantages = group_advantages(rewards.view(2, 4)).flatten()
    longest = max(len(t.first.completion_ids) for t in trajectories)
    current, old, mask = torch.zeros(8, longest), torch.zeros(8, longest), torch.zeros(8, longest)
    for row, trajectory in enumerate(trajectories):
        first = trajectory.first
        ids = torch.tensor([first.prompt_ids + first.completion_ids])
        logits = policy(input_ids=ids).logits[0] / 0.9
        logps = logits.log_softmax(-1)[:-1].gather(1, ids[0, 1:, None])[-len(first.completion_ids) :, 0]
        current[row, : len(logps)], old[row, : len(logps)] = logps.detach(), torch.tensor(first.logprobs)
        mask[row, : len(logps)] = 1
    keep = torch.ones(8, dtype=torch.bool)
    expected = grpo_loss(current, old, advantages, mask, keep, clip_low=0.2, clip_high=0.28)
    assert losses == pytest.approx([float(expected.value)], abs=1e-5)


def _noted(losses: list[float], loss: torch.Tensor) -> torch.Tensor:
    losses.append(float(loss.detach()))
    return loss


class _Flaky(tiny_rl.HashVerifier):
    """Judges none of the tasks named."""

    def __init__(self, *lost: str) -> None:
        self._lost = lost

    def verify(self, task: Any, candidate: Any, progress: Any = None) -> Any:
        if task.task_id in self._lost:
            raise NotJudged("the judge's disk is full")
        return super().verify(task, candidate, progress)


def test_what_was_not_judged_is_replaced_and_counts_nowhere(model: Path, tmp_path: Path) -> None:
    seen: list[Batch] = []
    trainer = tiny_rl.trainer_of(
        model,
        tiny_rl.arguments(tmp_path, max_steps=6),
        verifier=_Flaky("task0", "task3"),
        on_batch=lambda step, batch: seen.append(batch),
    )
    trainer.train()
    asked = {group.ask.task.task_id for batch in seen for group in batch.groups if group}
    assert not asked & {"task0", "task3"} and len(asked) > 2
    assert sum(batch.figures.counts["replaced_groups"] for batch in seen) > 0
    assert all(entry["grad_norm"] >= 0 for entry in _log(trainer))


def test_a_judge_that_judges_nothing_ends_the_run_with_the_reason(model: Path, tmp_path: Path) -> None:
    verifier = _Flaky(*(task.task_id for task in tiny_rl.tasks()))
    trainer = tiny_rl.trainer_of(model, tiny_rl.arguments(tmp_path), verifier=verifier)
    with pytest.raises(NotJudged, match="step 0: no answer could be judged"):
        trainer.train()


def test_groups_that_failed_come_back_as_repairs(model: Path, tmp_path: Path) -> None:
    class Hard(tiny_rl.HashVerifier):
        def verify(self, task: Any, candidate: Any, progress: Any = None) -> Any:
            return tiny_rl.verdict(tiny_rl.Status.RUNTIME_ERROR)

    seen: list[Batch] = []
    trainer = tiny_rl.trainer_of(
        model,
        tiny_rl.arguments(tmp_path, max_steps=4),
        verifier=Hard(),
        retry=RetryConfig(probability=1.0),
        on_batch=lambda step, batch: seen.append(batch),
    )
    trainer.train()
    repairs = [[g.ask.repaired is not None for g in batch.groups if g] for batch in seen]
    assert repairs == [[False] * 2, [True] * 2, [True] * 2, [False] * 2], "a repair that fails comes back once"
    assert trainer.experience.buffer.counts["given_up"] == 2


def test_ahead_trains_on_answers_of_an_older_policy_within_the_bound(model: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, Batch]] = []
    trainer = tiny_rl.trainer_of(
        model,
        tiny_rl.arguments(tmp_path, max_steps=6),
        ahead=2,
        objective=ObjectiveConfig(mask="none"),
        on_batch=lambda step, batch: seen.append((step, batch)),
    )
    trainer.train()
    trainer.experience.close()
    ages = [step - t.first.policy_version for step, batch in seen for g in batch.groups if g for t in g.trajectories]
    assert max(ages) <= 2 and max(ages) > 0 and min(ages) >= 0
    assert [step for step, _ in seen] == [0, 1, 2, 3, 4, 5]


def _run(folder: Path, *numbers: int, processes: int = 1) -> list[dict[str, Any]]:
    """A run in processes of its own; what each left."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(launch if processes > 1 else []), "-m", "support.tiny_rl", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, *map(str, numbers)], capture_output=True, text=True, timeout=900, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((folder / f"log-{rank}.json").read_text()) for rank in range(processes)]


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path: Path, epochs: int) -> None:
    (whole,) = _run(tmp_path / "whole", 4, 4, epochs)
    _run(tmp_path / "parts", 2, 2, epochs)
    (parts,) = _run(tmp_path / "parts", 4, 2, epochs)
    assert parts["weights"] == whole["weights"]
    assert parts["buffer"] == whole["buffer"]
    assert [e["reward"] for e in parts["log"] if "reward" in e] == [e["reward"] for e in whole["log"] if "reward" in e]


@pytest.mark.slow
def test_two_processes_hold_one_policy_and_one_buffer(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "model")
    one, other = _run(tmp_path, 3, 3, 1, processes=2)
    assert one["weights"] == other["weights"]
    assert one["buffer"] == other["buffer"]
    assert sum(one["buffer"]["counts"].get(kind, 0) for kind in ("solved", "entered", "known", "given_up")) == 12
