"""Configuration of reinforcement learning. The paper's values where it names them; the others say why. No torch."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mooreeval.config import Count, NonNegative, Positive, VerifyConfig, Whole
from mooreeval.verdict import Record
from musacoder.prompts import PromptConfig
from musacoder.rollout.driver import RolloutConfig
from musacoder.suites import SuiteConfig
from musacoder.train.hack_watch import WatchConfig
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


class OptimiserConfig(Record):
    """AdamW's settings and the size of a step: the paper's."""

    learning_rate: Positive = Field(1e-6, description="Of AdamW, constant after the warm-up (paper).")
    warmup: Share = Field(0.1, description="Share of the steps in which the rate rises from zero.")
    weight_decay: NonNegative = Field(0.1, description="Of AdamW (paper).")
    max_grad_norm: Positive = Field(0.5, description="Longer gradients are cut to it (paper).")
    prompts: Count = Field(64, description="Groups of one step, over all processes.")
    micro_batch: Count = Field(8, description="Answers of one forward pass in one process. Changes no gradient.")
    epochs: Count = Field(
        1, description="Optimisation steps on the same answers; from the second on they are off-policy."
    )
    bf16: bool | None = Field(
        None, description="Whether matrices are multiplied in bfloat16, in sampling too; none: on an accelerator."
    )
    checkpointing: bool = Field(
        False, description="Whether activations are computed again in the backward pass, to save memory."
    )
    deepspeed: str | None = Field(None, description="JSON file with DeepSpeed's configuration (ZeRO 1 and 2).")


class TrainerConfig(Record):
    """How the run is spread over time and machines."""

    steps: Count = Field(100, description="Optimisation steps.")
    minutes: Positive | None = Field(None, description="After which this stage stops, with a checkpoint.")
    save_minutes: Positive = Field(10, description="Between checkpoints; one more ends each stage.")
    ahead: Annotated[Whole, Field(le=16)] = Field(
        0,
        description="Batches of answers that are under way while an earlier one is trained on; also the bound on how "
        "many batches older than the trained policy the one that answers may be. 0: one after another.",
    )
    report_to: tuple[Literal["tensorboard", "trackio"], ...] = Field(
        (), description="Where figures go besides metrics.jsonl; both keep their files in the run's folder."
    )
    device: Literal["auto", "cpu"] = Field("auto", description="auto: the first accelerator, else the CPU.")
    seed: Whole = Field(0, description="Order of the tasks, and what every draw follows from.")


class RlConfig(Record):
    """Everything `rl` can be told."""

    model: str | None = Field(None, description="Checkpoint to begin with: a folder, or an id of the hub.")
    tasks: SuiteConfig = SuiteConfig()
    train: TrainerConfig = TrainerConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    rollout: RolloutConfig = RolloutConfig()
    sampling: RlSamplingConfig = RlSamplingConfig()
    retry: RetryConfig = RetryConfig()
    watch: WatchConfig = WatchConfig()
    prompt: PromptConfig = PromptConfig(tokens=8192)
    verify: VerifyConfig = VerifyConfig()

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.verify.protocol != "ours":
            raise ValueError("verify.protocol: training takes its reward from protocol `ours` alone")
        if self.train.steps % self.optimiser.epochs:
            raise ValueError(
                f"train.steps: {self.train.steps} is no multiple of optimiser.epochs ({self.optimiser.epochs})"
            )
        off_policy = self.train.ahead > 0 or self.optimiser.epochs > 1
        if off_policy and self.objective.mask == "none" and self.objective.delta != ObjectiveConfig().delta:
            raise ValueError("objective.delta has no effect while objective.mask is none")
        return self


# What may change when a run goes on: it decides how long something takes or where it runs, not what is learned.
FREE = (
    "train.minutes",
    "train.save_minutes",
    "train.report_to",
    "optimiser.micro_batch",
    "rollout.judging",
    "verify.pool",
    "watch",
)
