"""The training itself: TRL's SFTTrainer over a plan of sequences. Imports torch and TRL, so loaded lazily.

    plan ──> numbers of sequences, in order ──> batches ──> SFTTrainer ──> checkpoints, metrics.jsonl, model/

Ours is what it is fed with, when it stops, and what is written down; loss, optimiser, sharding and its own state are
TRL's, accelerate's and DeepSpeed's.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers import Trainer as TransformersTrainer
from trl import SFTConfig as TrlConfig
from trl import SFTTrainer

from mooreeval.errors import UsageError
from mooreeval.render import strict_json
from musacoder.runlog.lines import Lines
from musacoder.train.batches import FlatBatches, PaddedBatches, RowBatches
from musacoder.train.config import TrainConfig
from musacoder.train.folder import TrainingFolder
from musacoder.train.packing import Plan
from musacoder.train.tokens import TokenRows


def arguments_of(config: TrainConfig, folder: TrainingFolder) -> TrlConfig:
    """What TRL is told. Made before a model is loaded: it sets up the processes, and DeepSpeed's sharded loading.

    Raises UsageError where the batch can't be spread over the processes, or DeepSpeed has no launcher to set them up.
    """
    if config.deepspeed and "RANK" not in os.environ:
        raise UsageError("train.deepspeed needs a launcher: accelerate launch -m musacoder sft ...")
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    share = config.device_batch * processes
    if config.batch % share:
        raise UsageError(
            f"train.batch: {config.batch} sequences are no multiple of train.device_batch x processes, "
            f"{config.device_batch} x {processes}"
        )
    on_cpu = config.device == "cpu" or not torch.accelerator.is_available()
    arguments = TrlConfig(
        output_dir=str(folder.checkpoints),
        per_device_train_batch_size=config.device_batch,
        gradient_accumulation_steps=config.batch // share,
        num_train_epochs=1,  # of the plan, which holds all epochs
        learning_rate=config.learning_rate,
        warmup_steps=config.warmup,
        weight_decay=config.weight_decay,
        adam_beta2=config.beta2,
        max_grad_norm=config.gradient_norm,
        optim=config.optimiser,
        bf16=not on_cpu if config.bf16 is None else config.bf16,
        gradient_checkpointing=config.checkpointing,
        use_cpu=on_cpu,
        deepspeed=config.deepspeed,
        seed=config.seed,
        data_seed=config.seed,
        train_sampling_strategy="sequential",
        logging_steps=config.log_steps,
        logging_first_step=True,
        save_strategy="no",  # by minutes, see Stage
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_pin_memory=not on_cpu,
        max_length=None,
        completion_only_loss=False,  # labels are made already
    )
    if config.deepspeed and on_cpu:
        _join_on_cpu()
    return arguments


def _join_on_cpu() -> None:
    """DeepSpeed over gloo, which is for tests; its operator for shared memory would be compiled for minutes."""
    import deepspeed
    from deepspeed.ops import __compatible_ops__ as offered

    offered["deepspeed_shm_comm"] = False
    deepspeed.init_distributed("gloo", auto_mpi_discovery=False, verbose=False)


class Interruptible(Protocol):
    """A stage that ends after its step once it is told."""

    interrupted: bool


class Trainer(SFTTrainer):
    """TRL's, without a model's card."""

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: a checkpoint within a run is no model to publish."""


class Stage(TrainerCallback):
    """When to save and when to stop, and what is written down meanwhile."""

    def __init__(
        self,
        folder: TrainingFolder,
        config: TrainConfig,
        tokens_after: np.ndarray,
        began: float,
        tell: Callable[[str], None],
    ) -> None:
        """`tokens_after` (steps + 1,): tokens of the first steps; `began`: time.monotonic() at the command's start."""
        self._folder, self._config, self._tokens, self._tell = folder, config, tokens_after, tell
        self._began = began
        self._saved = self._logged = time.monotonic()
        self._logged_step: int | None = None
        self._lines: Lines | None = None
        self.interrupted = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._saved = self._logged = time.monotonic()
        self._logged_step = state.global_step
        if state.is_world_process_zero:
            self._lines = Lines(self._folder.metrics)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        now = time.monotonic()
        minutes = self._config.minutes
        over = self.interrupted or (minutes is not None and now - self._began > 60 * minutes)
        due = now - self._saved > 60 * self._config.save_minutes
        over, due = agreed(over, due, args)
        if over or due or state.global_step >= state.max_steps:
            control.should_save = True
        if over:
            control.should_training_stop = True
        return control

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if args.world_size > 1:
            torch.distributed.barrier()
        if state.is_world_process_zero:
            self._folder.mark_whole(state.global_step)
        self._saved = time.monotonic()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if self._lines is None or not logs or "loss" not in logs:
            return
        now, before = time.monotonic(), self._logged_step or 0
        tokens = int(self._tokens[state.global_step])
        speed = (tokens - int(self._tokens[before])) / max(now - self._logged, 1e-9)
        line = {
            "step": state.global_step,
            "steps": state.max_steps,
            "tokens": tokens,
            "loss": logs["loss"],
            "accuracy": logs.get("mean_token_accuracy"),
            "gradient_norm": _number(logs.get("grad_norm")),
            "learning_rate": logs.get("learning_rate"),
            "tokens_per_second": round(speed, 1),
            "stage_seconds": round(now - self._began, 2),
        }
        self._lines.append(strict_json(line))
        self._tell(
            f"step {state.global_step} of {state.max_steps}: loss {logs['loss']:.4f}, {speed:,.0f} tokens a second"
        )
        self._logged, self._logged_step = now, state.global_step

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self._lines is not None:
            self._lines.close()


def trainer_of(
    model: Any, tokenizer: Any, arguments: TrlConfig, config: TrainConfig, plan: Plan, tokens: TokenRows, stage: Stage
) -> Trainer:
    """Ready to train."""
    arguments.max_steps = steps_of(plan, config)
    name, options = _schedule(config, arguments.max_steps)
    arguments.lr_scheduler_type, arguments.lr_scheduler_kwargs = name, options
    if config.compile:
        for layer in model.base_model.layers:
            layer.compile(dynamic=False)
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({"sequence": list(range(len(plan)))}),
        processing_class=tokenizer,
        data_collator=batches_of(config, plan, tokens, tokenizer),
        callbacks=[stage],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def batches_of(config: TrainConfig, plan: Plan, tokens: TokenRows, tokenizer: Any) -> Any:
    """What makes tensors of numbers of sequences, in the form that the configuration asks for."""
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    if not config.packing:
        return PaddedBatches(plan, tokens, pad)
    if config.flat:
        return FlatBatches(plan, tokens, pad)
    return RowBatches(plan, tokens, config.sequence_tokens, pad)


def train(trainer: TransformersTrainer, stage: Interruptible, checkpoint: Path | None) -> bool:
    """Train until all steps are done, the stage's time is over or a signal asks to stop; whether all are done.

    The first SIGINT or SIGTERM ends the stage after its step, with a checkpoint; a second one ends it at once.
    """

    def stop(number: int, _frame: Any) -> None:
        if stage.interrupted:
            signal.signal(number, signal.SIG_DFL)
            raise KeyboardInterrupt
        stage.interrupted = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return trainer.state.global_step >= trainer.state.max_steps


def steps_of(plan: Plan, config: TrainConfig) -> int:
    """Optimiser steps of a plan; the last may have fewer sequences."""
    whole = -(-len(plan) // config.batch)
    return whole if config.steps is None else min(whole, config.steps)


def tokens_after(plan: Plan, tokens: TokenRows, batch: int) -> np.ndarray:
    """(steps + 1,): how many tokens the first 0, 1, 2, ... steps train on, prompts included and padding not."""
    ends = np.concatenate([[0], np.cumsum(tokens.lengths[plan.rows])])[plan.starts]
    return ends[np.minimum(np.arange(0, len(plan) + batch, batch), len(plan))]


def _schedule(config: TrainConfig, steps: int) -> tuple[str, dict[str, Any]]:
    """TRL's name for it, and its options."""
    if config.schedule == "wsd":
        return "warmup_stable_decay", {"num_decay_steps": max(1, round(config.decay * steps)), "decay_type": "linear"}
    return {"constant": "constant_with_warmup"}.get(config.schedule, config.schedule), {}


def agreed(over: bool, due: bool, arguments: TrainingArguments) -> tuple[bool, bool]:
    """What the first process decides, in all of them: their clocks differ."""
    if arguments.world_size == 1:
        return over, due
    told = torch.tensor([over, due], dtype=torch.uint8, device=arguments.device)
    torch.distributed.broadcast(told, src=0)
    return bool(told[0]), bool(told[1])


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
