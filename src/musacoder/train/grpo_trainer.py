"""GRPO on TRL's trainer, with the judge as the only source of reward.

    Experience ──groups──> rewards, advantages ──> a batch of first turns ──> loss on what is still on-policy

TRL schedules generations, accumulates, steps, shards, checkpoints and logs. Which answers there are (`experience.py`),
what they are worth and what is minimised (`objective.py`) is ours. Each process rolls whole groups out, and
all hold the same retry buffer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor
from transformers import TrainerCallback
from trl import GRPOTrainer
from trl.trainer.utils import pad

from mooreeval.errors import NotJudged
from musacoder.rollout.driver import Span
from musacoder.rollout.policy_sampler import Policy
from musacoder.rollout.trajectory import Group, Trajectory
from musacoder.train.experience import Batch, Experience, Ranks
from musacoder.train.objective import Drift, drift, group_advantages, grpo_loss, mirror_pop, prime_echo, signed_mean
from musacoder.train.rl_config import ObjectiveConfig
from musacoder.train.timeline import Timeline

BUFFER_FILE = "retry_buffer.json"


@dataclass(frozen=True)
class Answer:
    """One row of a batch: a first turn with its advantage. `counts` is False where it was not judged."""

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    logprobs: Sequence[float]
    advantage: float
    counts: bool


class Grpo(GRPOTrainer):
    """TRL's trainer with rollouts, rewards and loss of ours."""

    def __init__(
        self,
        *args: Any,
        experience: Callable[[Ranks], Experience],
        objective: ObjectiveConfig,
        policy: Policy,
        on_batch: Callable[[int, Batch], None] = lambda step, batch: None,
        timeline: Timeline | None = None,
        **kwargs: Any,
    ) -> None:
        """
        Args:
            experience: makes what gives the groups of a step, for this process among all.
            policy: of the model that is trained; its version follows the steps.
            on_batch: is told the step and this process's groups, for the run's records.
            timeline: of this process; none: its own, kept nowhere.
        """
        super().__init__(*args, reward_funcs=_no_reward, **kwargs)
        accelerator = self.accelerator
        self.experience = experience(Ranks(accelerator.process_index, accelerator.num_processes, gather_object))
        self._objective, self._on_batch = objective, on_batch
        self._timeline = timeline or Timeline(None)
        self._batch_came: float | None = None  # in seconds of the monotonic clock
        self.add_callback(_SavesTheBuffer(self.experience))
        self.add_callback(_CountsSteps(policy))

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: a checkpoint within a run is no model to publish."""

    # -------------------------------------------------------------------------------------------------------- rollouts
    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Tensor]:
        """A batch of first turns. TRL's rows only say how many: which tasks they are of follows from the step."""
        step, size = self.state.global_step, int(self.num_generations or 1)
        self._note_training(step)
        batch = self.experience.batch(step // self.num_iterations)
        self._on_batch(step, batch)
        answers = [answer for group in batch.groups for answer in self._answers(group, size)]
        if len(answers) != len(inputs):
            raise ValueError(f"{len(answers)} answers came for {len(inputs)} rows")
        self._note(batch, answers)
        if not self._everywhere(sum(answer.counts for answer in answers)):
            raise NotJudged(f"step {step}: no answer could be judged; {_why(batch.groups)}")
        made = self._batch(answers)
        self._batch_came = time.monotonic()
        return made

    def _answers(self, group: Group | None, size: int) -> Iterator[Answer]:
        """As many rows as a group has answers; those of a dropped group, and missing ones, hold nothing."""
        trajectories = () if group is None else group.trajectories
        rewards = torch.tensor([[self.reward_of(t) for t in trajectories]])
        advantages = group_advantages(rewards, scaled=self._objective.scale_advantages)[0] if trajectories else []
        for trajectory, advantage in zip(trajectories, advantages, strict=True):
            yield self._answer(trajectory, float(advantage))
        for _ in range(size - len(trajectories)):
            yield Answer([self._tokenizer.pad_token_id], [self._tokenizer.pad_token_id], [0.0], 0.0, counts=False)

    def reward_of(self, trajectory: Trajectory) -> float:
        if not trajectory.judged:
            return float("nan")
        objective = self._objective
        return prime_echo(trajectory.scores, trajectory.passed, objective.alpha, objective.early_bonus)

    def _answer(self, trajectory: Trajectory, advantage: float) -> Answer:
        first = trajectory.first
        if not first.completion_ids:  # an empty answer has its score in the group's mean, and no token to learn from
            return Answer(first.prompt_ids, [self._tokenizer.pad_token_id], [0.0], 0.0, counts=False)
        counts = trajectory.judged
        return Answer(first.prompt_ids, first.completion_ids, first.logprobs, advantage if counts else 0.0, counts)

    def _batch(self, answers: Sequence[Answer]) -> dict[str, Tensor]:
        device = self.accelerator.device

        def padded(rows: Sequence[Sequence[float]], value: int, side: str, dtype: torch.dtype) -> Tensor:
            tensors = [torch.tensor(row, dtype=dtype) for row in rows]
            return pad(tensors, padding_value=value, padding_side=side).to(device)

        prompts, completions = [a.prompt_ids for a in answers], [a.completion_ids for a in answers]
        mask = [[int(a.counts)] * len(a.completion_ids) for a in answers]
        batch = {
            "prompt_ids": padded(prompts, self._tokenizer.pad_token_id, "left", torch.long),
            "prompt_mask": padded([[1] * len(p) for p in prompts], 0, "left", torch.long),
            "completion_ids": padded(completions, self._tokenizer.pad_token_id, "right", torch.long),
            "completion_mask": padded([[1] * len(c) for c in completions], 0, "right", torch.long),
            "loss_mask": padded(mask, 0, "right", torch.long),
            "sampling_per_token_logps": padded([a.logprobs for a in answers], 0, "right", torch.float32),
            "advantages": torch.tensor([a.advantage for a in answers], device=device),
        }
        if self.beta:
            with torch.no_grad():
                batch["ref_per_token_logps"] = self._logps(self.ref_model, batch, with_entropies=False)[0]
        return batch

    def _logps(
        self, model: Any, batch: Mapping[str, Tensor], *, with_entropies: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Log-probabilities at the temperature of sampling, and entropies: (B, T) each."""
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        attention = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        logps, entropies, _ = self._get_per_token_logps_and_entropies(
            model,
            ids,
            attention,
            batch["completion_ids"].size(1),
            batch_size=self.args.per_device_train_batch_size,
            compute_entropy=with_entropies,
        )
        return logps, entropies

    # ------------------------------------------------------------------------------------------------------------ loss
    def _compute_loss(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        objective, mask = self._objective, inputs["loss_mask"]
        current, entropies = self._logps(model, inputs)
        behaviour = inputs["sampling_per_token_logps"]
        moved = drift(current, behaviour, mask)
        keep = mask.any(dim=1) & self._on_policy(moved)
        loss = grpo_loss(
            current,
            behaviour,
            inputs["advantages"],
            mask,
            keep,
            clip_low=objective.clip_low,
            clip_high=objective.clip_high,
            reference_BT=inputs.get("ref_per_token_logps"),
            beta=objective.beta,
            answers=self.accelerator.reduce(keep.sum().float(), "sum") / self.accelerator.num_processes,
        )
        self._note_loss(loss.penalty, loss.clipped, keep, moved, mask, entropies)
        return loss.value / self.current_gradient_accumulation_steps

    def _on_policy(self, moved: Drift) -> Tensor:
        masks = {"mirror_pop": mirror_pop, "signed_mean": signed_mean}
        if (chosen := masks.get(self._objective.mask)) is None:
            return torch.ones_like(moved.absolute_B, dtype=torch.bool)
        return chosen(moved, self._objective.delta)

    # --------------------------------------------------------------------------------------------------------- figures
    def _note_loss(
        self, penalty: Tensor, clipped: Tensor, keep: Tensor, moved: Drift, mask: Tensor, entropies: Tensor | None
    ) -> None:
        counted = mask.any(dim=1)
        self._add("kl", penalty)
        self._add("clipped", clipped)
        self._add("masked", 1 - keep.sum() / counted.sum().clamp(min=1))
        self._add("drift/absolute", moved.absolute_B.nanmean())
        self._add("drift/signed", moved.signed_B.nanmean())
        if entropies is not None:
            self._add("entropy", (entropies * mask).sum() / mask.sum().clamp(min=1))

    def _add(self, name: str, value: Tensor | float) -> None:
        """A figure of this step, averaged over processes where they have one."""
        mine = torch.as_tensor(value, device=self.accelerator.device, dtype=torch.float32).detach().reshape(1)
        self._metrics["train"][name].append(self.accelerator.gather(mine).nanmean().item())

    def _note_training(self, step: int) -> None:
        """What the last batch took to train on: from when it came to when the next one is asked for."""
        now = time.monotonic()
        if self._batch_came is not None:
            self._timeline.add(step - 1, [Span("train", self._batch_came, now)])
            self._metrics["train"]["seconds/train"].append(now - self._batch_came)

    def _note(self, batch: Batch, answers: Sequence[Answer]) -> None:
        for name, value in figures_of([g for g in gather_object(list(batch.groups)) if g], self.reward_of).items():
            self._metrics["train"][name].append(value)
        for name, value in batch.figures.counts.items():
            self._metrics["train"][f"count/{name}"].append(float(value))
        self._metrics["train"]["retry/waiting"].append(float(len(self.experience.buffer)))
        self._add("length", sum(len(a.completion_ids) for a in answers) / max(len(answers), 1))
        versions = [t.first.policy_version for g in batch.groups if g for t in g.trajectories]
        self._add("staleness", self.state.global_step - _mean(versions))
        for what in ("sample", "judge"):
            spans = [span.ended - span.begun for span in batch.figures.spans if span.what == what]
            self._add(f"seconds/{what}", sum(spans))

    def _everywhere(self, count: int) -> int:
        return int(self.accelerator.reduce(torch.tensor(count, device=self.accelerator.device), "sum"))


def _why(groups: Sequence[Group | None]) -> str:
    """The most common reason why answers were not judged."""
    reasons = Counter(
        turn.not_judged for g in groups if g for t in g.trajectories for turn in t.turns if turn.not_judged
    )
    return reasons.most_common(1)[0][0] if reasons else "every group was dropped"


def figures_of(groups: Sequence[Group], reward: Callable[[Trajectory], float]) -> dict[str, float]:
    """What a step's groups came to. NaN where there is nothing to take a mean of."""
    judged = [t for group in groups for t in group.judged]
    solved = [[any(t.passed) for t in group.judged] for group in groups]
    share = {
        "groups/all_fail": [not any(s) for s in solved],
        "groups/all_pass": [all(s) for s in solved],
        "groups/mixed": [any(s) and not all(s) for s in solved],
        "groups/repairs": [group.ask.repaired is not None for group in groups],
        "accuracy/first_turn": [t.passed[0] for t in judged],
        "accuracy/best_turn": [any(t.passed) for t in judged],
        "not_judged": [not t.judged for group in groups for t in group.trajectories],
    }
    figures = {name: _mean(values) for name, values in share.items()}
    figures["reward"] = _mean([reward(t) for t in judged])
    figures["turns_to_success"] = _mean([t.passed.index(True) + 1 for t in judged if any(t.passed)])
    classes = Counter(turn.verdict.status.value for t in judged for turn in t.turns if turn.verdict)
    return figures | {f"verdicts/{name}": count / sum(classes.values()) for name, count in classes.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _no_reward(prompts: Sequence[Any], **_: Any) -> list[float | None]:
    """TRL wants a reward function; rewards come with the rollouts."""
    return [None] * len(prompts)


class _SavesTheBuffer(TrainerCallback):
    """Beside each checkpoint, by one process: all hold the same."""

    def __init__(self, experience: Experience) -> None:
        self._experience = experience

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._experience.settle()
        if state.is_world_process_zero:
            self._experience.buffer.save(Path(args.output_dir) / f"checkpoint-{state.global_step}" / BUFFER_FILE)


class _CountsSteps(TrainerCallback):
    """Keeps others off the weights while they change, and counts how often they have."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._policy.version = state.global_step

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._policy.guard.acquire()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._policy.version += 1
        self._policy.guard.release()
