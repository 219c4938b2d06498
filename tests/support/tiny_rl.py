"""A run of reinforcement learning of a random model of a few kilobytes, judged by a hash; also a program.

    python -m support.tiny_rl FOLDER STEPS SAVE_EVERY EPOCHS [AHEAD]

trains FOLDER/model, goes on from FOLDER/out's last checkpoint where there is one, and writes FOLDER/log-RANK.json.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from support.tiny_model import save_tiny_model
from support.verdicts import verdict
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig

from mooreeval.candidate import Candidate, NoCandidate
from mooreeval.config import VerifyConfig
from mooreeval.task import Task, make_task
from mooreeval.verdict import Status, Verdict
from musacoder.models.types import Message
from musacoder.prompts import Turn
from musacoder.rollout.driver import Answers, Driver, RolloutConfig
from musacoder.rollout.policy_sampler import Draws, Policy, PolicySampler
from musacoder.train.experience import Ahead, Experience, Ranks, TaskOrder
from musacoder.train.grpo_trainer import BUFFER_FILE, Grpo
from musacoder.train.retry_buffer import RetryBuffer, RetryConfig
from musacoder.train.rl_config import ObjectiveConfig

CODE = "import torch\nclass ModelNew(torch.nn.Module):\n    mark = {!r}\n"
TASK = "import torch\nclass Model(torch.nn.Module):\n    mark = {}\n\ndef get_inputs():\n    return []\n"
ANSWERS, GROUPS = 4, 2


class HashVerifier:
    """A third of all answers is right, as their hash has it: a judge that never tires and never changes its mind."""

    def verify(self, task: Task, candidate: Candidate | NoCandidate, progress: Any = None) -> Verdict:
        del progress
        digest = hashlib.sha256((task.code + repr(candidate)).encode()).digest()
        return verdict(Status.CORRECT if digest[0] % 3 == 0 else Status.RUNTIME_ERROR)


class ShortPrompts:
    """A few tokens a prompt, a model of a few kilobytes reads no more."""

    def first(self, task: Task) -> Sequence[Message]:
        return (Message("user", task.task_id),)

    def repair(self, task: Task, history: Sequence[Turn]) -> Sequence[Message]:
        return (Message("user", f"{task.task_id} again {len(history)}"),)


class FencedSampler:
    """Whatever bytes the model draws, as the mark of a candidate: every answer holds code."""

    def __init__(self, sampler: PolicySampler) -> None:
        self._sampler = sampler

    def answers(self, prompts: Sequence[Sequence[Message]], n: int) -> Answers:
        drawn = self._sampler.answers(prompts, n)
        for several in drawn.to:
            for place, answer in enumerate(several):
                several[place] = type(answer)(
                    f"```python\n{CODE.format(answer.text)}```",
                    answer.prompt_ids,
                    answer.token_ids,
                    answer.logprobs,
                    answer.finish_reason,
                )
        return drawn


def tasks(count: int = 6) -> list[Task]:
    return [make_task(f"task{i}", TASK.format(i)) for i in range(count)]


def arguments(folder: Path, **changes: Any) -> GRPOConfig:
    """TRL's arguments for one process: two groups of four answers a step, in fp32."""
    plain: dict[str, Any] = {
        "output_dir": str(folder),
        "per_device_train_batch_size": ANSWERS,
        "gradient_accumulation_steps": GROUPS,
        "num_generations": ANSWERS,
        "max_steps": 2,
        "use_cpu": True,
        "bf16": False,
        "beta": 0.01,
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "lr_scheduler_type": "constant",
        "temperature": 0.9,
        "max_completion_length": 16,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
    }
    return GRPOConfig(**{**plain, **changes})


def trainer_of(
    model: Path,
    args: GRPOConfig,
    *,
    verifier: Any = None,
    objective: ObjectiveConfig | None = None,
    retry: RetryConfig | None = None,
    groups: int = GROUPS,
    ahead: int = 0,
    turns: int = 2,
    on_batch: Callable[[int, Any], None] = lambda step, batch: None,
) -> Grpo:
    """A trainer whose parts are the real ones, but for the judge."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    policy = Policy(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32))
    sampler = FencedSampler(PolicySampler(policy, tokenizer, Draws(0.9, 1.0, 16, 0), copied=ahead > 0))
    rollout = RolloutConfig(answers=ANSWERS, turns=turns)

    def driver() -> Driver:
        return Driver(ShortPrompts(), sampler, verifier or HashVerifier(), rollout, VerifyConfig())

    def experience(ranks: Ranks) -> Experience:
        parts = (driver, TaskOrder(tasks(), 0), RetryBuffer(retry or RetryConfig(probability=0.5)), groups)
        return Ahead(*parts, ahead, ranks=ranks) if ahead else Experience(*parts, ranks=ranks)

    rows = Dataset.from_list([{"prompt": [{"role": "user", "content": ""}]}] * 64)
    return Grpo(
        model=policy.model,
        args=args,
        processing_class=tokenizer,
        train_dataset=rows,
        policy=policy,
        experience=experience,
        objective=objective or ObjectiveConfig(delta=0.2),
        on_batch=on_batch,
    )


def weights_of(trainer: Grpo) -> str:
    """SHA-256 (hex) over all weights, to the bit."""
    digest = hashlib.sha256()
    for tensor in trainer.accelerator.unwrap_model(trainer.model).state_dict().values():
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def main(folder: Path, steps: int, save_every: int, epochs: int, ahead: int = 0) -> None:
    if not (folder / "model").exists():
        save_tiny_model(folder / "model")
    args = arguments(
        folder / "out", max_steps=steps, save_strategy="steps", save_steps=save_every, num_iterations=epochs
    )
    groups = GROUPS
    trainer = trainer_of(folder / "model", args, groups=groups, ahead=ahead)
    last = get_last_checkpoint(str(folder / "out")) if (folder / "out").exists() else None
    if last:
        trainer.experience.load(Path(last) / BUFFER_FILE)
    trainer.train(resume_from_checkpoint=last)
    trainer.experience.close()
    told = {
        "weights": weights_of(trainer),
        "buffer": trainer.experience.buffer.state(),
        "log": trainer.state.log_history,
    }
    (folder / f"log-{trainer.accelerator.process_index}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
