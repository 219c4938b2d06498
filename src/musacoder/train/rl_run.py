"""`musacoder rl`: a model learns from what the judge says of its kernels, in stages that any crash leaves whole.

    checkpoint ─┬─> Policy ──> PolicySampler ─┐
    tasks ──────┼─> TaskOrder ────────────────┼─> Driver ──> Experience ──> Grpo ──> checkpoints, metrics, model/
    judge ──────┴─> LocalVerifier ────────────┘        └──> rollouts.jsonl, alarms.jsonl

The paper's two stages are two runs: one turn first, then several from the checkpoint that came out. Several processes
may run it, under `accelerate launch` or `torch.distributed.run`; each samples and judges its own groups, and the first
alone writes. Imports torch and TRL, so loaded lazily.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig

from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.render import strict_json
from mooreeval.task import Task
from mooreeval.verify import LocalVerifier
from musacoder.models.tokens import counted, load_tokenizer
from musacoder.prompts import target_of
from musacoder.rollout.driver import Driver
from musacoder.rollout.policy_sampler import Draws, Policy, PolicySampler
from musacoder.rollout.task_prompts import TaskPrompts
from musacoder.runlog.lines import Lines
from musacoder.train import rollout_records
from musacoder.train.engine import agreed, train
from musacoder.train.experience import Ahead, Batch, Experience, Ranks, TaskOrder
from musacoder.train.folder import TrainingFolder, step_of
from musacoder.train.grpo_trainer import BUFFER_FILE, Grpo
from musacoder.train.hack_watch import HackWatch
from musacoder.train.loading import opened
from musacoder.train.retry_buffer import RetryBuffer
from musacoder.train.rl_config import RlConfig
from musacoder.train.timeline import TIMELINE, Timeline

ALARMS = "alarms.jsonl"
Tell = Callable[[str], None]


def arguments_of(config: RlConfig, folder: TrainingFolder) -> GRPOConfig:
    """What TRL is told. Raises UsageError where a step's groups can't be spread over the processes."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    step, rollout, train = config.optimiser, config.rollout, config.train
    if step.prompts % processes:
        raise UsageError(f"optimiser.prompts: {step.prompts} groups are no multiple of {processes} processes")
    answers = step.prompts // processes * rollout.answers
    if answers % step.micro_batch:
        raise UsageError(
            f"optimiser.micro_batch: the {answers} answers of a process are no multiple of {step.micro_batch}"
        )
    # Both keep their files in the run's folder, unless whoever runs it has said otherwise.
    os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(folder.path / "tensorboard"))
    os.environ.setdefault("TRACKIO_DIR", str(folder.path / "trackio"))
    on_cpu = train.device == "cpu" or not torch.accelerator.is_available()
    return GRPOConfig(
        output_dir=str(folder.checkpoints),
        per_device_train_batch_size=step.micro_batch,
        gradient_accumulation_steps=answers // step.micro_batch,
        num_generations=rollout.answers,
        num_iterations=step.epochs,
        max_steps=train.steps,
        learning_rate=step.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=round(step.warmup * train.steps),
        weight_decay=step.weight_decay,
        max_grad_norm=step.max_grad_norm,
        beta=config.objective.beta,
        loss_type="grpo",
        use_bias_correction_kl=False,
        temperature=config.sampling.temperature,
        max_completion_length=config.sampling.max_tokens,
        bf16=not on_cpu if step.bf16 is None else step.bf16,
        gradient_checkpointing=step.checkpointing,
        use_cpu=on_cpu,
        deepspeed=step.deepspeed,
        seed=train.seed,
        logging_steps=1,
        save_strategy="no",  # by minutes, see RlStage
        save_total_limit=2,
        report_to=list(train.report_to) or "none",
        run_name=folder.path.name,
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=not on_cpu,
    )


class Assembly:
    """All parts of a run, wired."""

    def __init__(
        self, config: RlConfig, folder: TrainingFolder, tasks: Sequence[Task], arguments: GRPOConfig, tell: Tell
    ) -> None:
        """Raises UsageError for a checkpoint that can't be opened."""
        self._config, self._arguments = config, arguments
        self.tokenizer = load_tokenizer(str(config.model))
        self._policy = Policy(opened(str(config.model), dtype=torch.float32))
        self.verifier = LocalVerifier(config.verify)
        self._prompts = self._task_prompts()
        self._sampler: PolicySampler | None = None
        self._order = TaskOrder(tasks, config.train.seed)
        self.records = Records(folder, config, arguments.process_index, tell)
        self.trainer = self._trainer()
        self.records.reward = self.trainer.reward_of

    def _task_prompts(self) -> TaskPrompts:
        verify = self._config.verify
        target = target_of(self.verifier.config.backend, device=self.verifier.device_name, policy=verify.policy)

        def count(messages: Sequence[Any]) -> int:
            return counted(self.tokenizer, messages, 3.0)

        return TaskPrompts(self._config.prompt, target, count, self.verifier.describe)

    def _driver(self) -> Driver:
        if self._sampler is None:  # once the trainer has put the model on its device
            dtype = torch.bfloat16 if self._arguments.bf16 else None
            sampling = self._config.sampling
            draws = Draws(sampling.temperature, sampling.top_p, sampling.max_tokens, self._seed())
            self._sampler = PolicySampler(
                self._policy, self.tokenizer, draws, copied=self._config.train.ahead > 0, dtype=dtype
            )
        rollout = self._config.rollout
        return Driver(
            self._prompts, self._sampler, self.verifier, rollout, self._config.verify, close=self.verifier.close
        )

    def _seed(self) -> int:
        """Of this process's draws."""
        return int(content_hash([self._config.train.seed, self._arguments.process_index])[:12], 16)

    def _experience(self, ranks: Ranks) -> Experience:
        groups = self._config.optimiser.prompts // ranks.world
        parts = (self._driver, self._order, RetryBuffer(self._config.retry), groups)
        ahead = self._config.train.ahead
        return Ahead(*parts, ahead, ranks=ranks) if ahead else Experience(*parts, ranks=ranks)

    def _trainer(self) -> Grpo:
        rows = self._config.optimiser.prompts
        trainer = Grpo(
            model=self._policy.model,
            args=self._arguments,
            processing_class=self.tokenizer,
            train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": ""}]}] * rows),
            policy=self._policy,
            experience=self._experience,
            objective=self._config.objective,
            on_batch=self.records.note,
            timeline=self.records.timeline,
        )
        trainer.remove_callback(PrinterCallback)
        return trainer

    def close(self) -> None:
        """End every process and thread. Idempotent."""
        self.trainer.experience.close()
        self.verifier.close()
        self.records.close()


class Records:
    """What the first process writes down: every rollout, and whatever a person should look at."""

    def __init__(self, folder: TrainingFolder, config: RlConfig, rank: int, tell: Tell) -> None:
        self._rank, self._tell = rank, tell
        self._watch = HackWatch(config.watch)
        self._rollouts = Lines(folder.path / rollout_records.ROLLOUTS) if rank == 0 else None
        self._alarms = Lines(folder.path / ALARMS) if rank == 0 else None
        self._path = folder.path / rollout_records.ROLLOUTS
        self.timeline = Timeline(folder.path / TIMELINE if rank == 0 else None)
        self.reward: Callable[[Any], float] = lambda trajectory: float("nan")

    def begin(self, step: int) -> None:
        """Let the watch see what came before that step."""
        by_step: dict[int, list[rollout_records.RolloutTold]] = {}
        for rollout in rollout_records.read(self._path, before=step) if self._rank == 0 else ():
            by_step.setdefault(rollout.step, []).append(rollout)
        for number, rollouts in by_step.items():
            self._watch.look(number, rollouts)

    def note(self, step: int, batch: Batch) -> None:
        """A batch of all processes; each calls this."""
        self.timeline.add(step, batch.figures.spans)
        everyone = gather_object(rollout_records.told(step, self._rank, batch.groups, self.reward))
        if self._rollouts is None or self._alarms is None:
            return
        rollout_records.write(self._rollouts, everyone)
        for alarm in self._watch.look(step, everyone):
            self._alarms.append(alarm.model_dump_json())
            self._tell(f"step {step}: look at this: {alarm.what} (task {alarm.task_hash[:12]}, {ALARMS})")

    def close(self) -> None:
        self.timeline.close()
        for lines in (self._rollouts, self._alarms):
            if lines is not None:
                lines.close()


class RlStage(TrainerCallback):
    """When to save and when to stop, always between two batches of answers, and what is written down meanwhile."""

    def __init__(self, folder: TrainingFolder, config: RlConfig, began: float, tell: Tell) -> None:
        self._folder, self._config, self._began, self._tell = folder, config, began, tell
        self._saved = time.monotonic()
        self._lines: Lines | None = None
        self.interrupted = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._saved = time.monotonic()
        if state.is_world_process_zero:
            self._lines = Lines(self._folder.metrics)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        now, train = time.monotonic(), self._config.train
        over = self.interrupted or (train.minutes is not None and now - self._began > 60 * train.minutes)
        over, due = agreed(over, now - self._saved > 60 * train.save_minutes, args)
        if state.global_step % self._config.optimiser.epochs:
            return control  # answers that were used once could not be gone on with
        control.should_save = over or due or state.global_step >= state.max_steps
        control.should_training_stop = control.should_training_stop or over
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if args.world_size > 1:
            torch.distributed.barrier()
        if state.is_world_process_zero:
            self._folder.mark_whole(state.global_step)
        self._saved = time.monotonic()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if self._lines is None or not logs or "loss" not in logs:
            return
        figures = {name: _finite(value) for name, value in logs.items() if name not in ("epoch", "train_runtime")}
        line = {"step": state.global_step, "steps": state.max_steps, **figures, "at": round(time.time(), 3)}
        self._lines.append(strict_json(line))
        first, reward = figures.get("accuracy/first_turn"), figures.get("reward")
        if first is not None and reward is not None:
            told = f"first turn right {first:.0%}, reward {reward:.2f}"
            self._tell(f"step {state.global_step} of {state.max_steps}: {told}")

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._lines is not None:
            self._lines.close()


def _finite(value: Any) -> float | None:
    """A figure as a number; None where there is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None


def go_on(assembly: Assembly, stage: RlStage, checkpoint: Path | None) -> bool:
    """Train until all steps are done or the stage is over; whether all are done."""
    trainer = assembly.trainer
    trainer.add_callback(stage)
    if checkpoint is not None:
        trainer.experience.load(checkpoint / BUFFER_FILE)
        assembly.records.begin(step_of(checkpoint))
    return train(trainer, stage, checkpoint)
