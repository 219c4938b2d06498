"""Configuration of reinforcement learning. The paper's values where it names them; the others say why. No torch."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mooreeval.config import Count, NonNegative, Positive, VerifyConfig, Whole
from mooreeval.verdict import Record
from musacoder.prompts import PromptConfig
from musacoder.rollout.driver import RolloutConfig
from musacoder.train.retry_buffer import RetryConfig

Share = Annotated[float, Field(ge=0, le=1)]


class ObjectiveConfig(Record):
    """What is maximised (`train/objective.py`)."""

    alpha: Share = Field(0.75, description="PrimeEcho's weight of the first turn (paper); 0: the best turn alone.")
    early_bonus: tuple[NonNegative, ...] = Field(
        (0.2, 0.1),
        description="b_early for a first pass at turn 1, 2, ... The paper names no values: these are small beside the "
        "distance of 2 between worst and right, and keep a pass at once above a repaired one.",
    )
    scale_advantages: bool = Field(True, description="Whether advantages are divided by their group's deviation.")
    clip_low: Positive = Field(0.2, description="How far a token's ratio may fall below 1. The paper names none.")
    clip_high: Positive = Field(0.28, description="How far it may rise above 1; wider, so that rare tokens can grow.")
    beta: NonNegative = Field(0.001, description="Weight of the KL penalty to the model that training began with.")
    mask: Literal["mirror_pop", "signed_mean", "none"] = Field(
        "mirror_pop", description="Which answers count, by how far the policy has moved from the one that drew them."
    )
    delta: Positive = Field(
        0.05, description="Bound of that mask on the mean log-ratio of a token. The paper names none."
    )


class RlSamplingConfig(Record):
    """How answers are drawn in training."""

    temperature: Positive = Field(0.9, description="The paper's; log-probabilities are taken at it on both sides.")
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="Below 1 (the paper has 0.95) tokens are drawn from another distribution than is trained."
    )
    max_tokens: Count = Field(32768, description="Of one answer (paper).")
    seed: Whole = Field(0, description="What every draw follows from, with its step and place.")


class OptimiserConfig(Record):
    """AdamW's settings and the size of a step: the paper's."""

    learning_rate: Positive = 1e-6
    warmup: Share = Field(0.1, description="Share of the steps in which the rate rises from zero.")
    weight_decay: NonNegative = 0.1
    max_grad_norm: Positive = 0.5
    prompts: Count = Field(64, description="Groups of one step, over all processes.")
    micro_batch: Count = Field(8, description="Answers of one forward pass in one process. Changes no gradient.")
    epochs: Count = Field(
        1, description="Optimisation steps on the same answers; from the second on they are off-policy."
    )
    bf16: bool = True


class RlConfig(Record):
    """Everything `rl` can be told."""

    model: str | None = Field(None, description="Checkpoint to begin with: a folder, or an id of the hub.")
    tasks: str | None = Field(None, description="What is trained on: a suite, a folder of tasks, or a data set.")
    steps: Count = Field(100, description="Optimisation steps.")
    save_every: Count = Field(25, description="Steps between checkpoints.")
    seed: Whole = Field(0, description="Order of the tasks.")
    objective: ObjectiveConfig = ObjectiveConfig()
    rollout: RolloutConfig = RolloutConfig(turns=1)
    retry: RetryConfig = RetryConfig()
    sampling: RlSamplingConfig = RlSamplingConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    prompt: PromptConfig = PromptConfig(tokens=8192)
    verify: VerifyConfig = VerifyConfig()

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.verify.protocol != "ours":
            raise ValueError("verify.protocol: training takes its reward from protocol `ours` alone")
        if self.save_every % self.optimiser.epochs:
            raise ValueError(
                f"save_every: {self.save_every} is no multiple of optimiser.epochs ({self.optimiser.epochs}); a "
                "checkpoint between two steps on the same answers could not be gone on from"
            )
        if self.steps % self.optimiser.epochs:
            raise ValueError(f"steps: {self.steps} is no multiple of optimiser.epochs ({self.optimiser.epochs})")
        return self
