"""Configuration of `sft`: every default stands here, once. No torch.

Read as every configuration is: a recipe, then `a.b=c` settings, then options of the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from mooreeval.config import Count, NonNegative, Positive, Whole
from mooreeval.errors import UsageError
from mooreeval.verdict import Record
from musacoder.config import read_config

Share = Annotated[float, Field(ge=0, le=1)]
Weights = dict[str, NonNegative]


class StartConfig(Record):
    """What training starts from: a checkpoint, or random weights with a tokenizer of their own."""

    name: str | None = Field(None, description="Folder or Hugging Face id of a checkpoint; none: `size` from nothing.")
    tokenizer: str | None = Field(None, description="Folder or id of its tokenizer; none: the checkpoint's own.")
    size: Literal["nano", "small"] | None = Field(
        None, description="Random weights of this size: `nano` has 2.6 million parameters, `small` 26 million."
    )
    vocabulary: Annotated[Count, Field(ge=300, le=65536)] = Field(
        1024, description="Pieces of the tokenizer that is made from the rows, where training starts from nothing."
    )
    context_tokens: Count = Field(2048, description="Of a model that starts from nothing.")
    seed: Whole = Field(0, description="Of random weights.")
    attention: Literal["sdpa", "eager", "flash_attention_2", "flash_attention_3", "flex_attention"] = Field(
        "sdpa", description="How attention is computed; the flash ones need a package of their own and `train.flat`."
    )


class MixtureConfig(Record):
    """How often a row is drawn, relative to others: the product of its kind's weight and its family's."""

    weights: Path | None = Field(None, description="JSON with `families` and `kinds`, such as a diagnosis.")
    kinds: Weights = Field(default_factory=dict, description="By kind of row; 1 where none is named.")
    families: Weights = Field(default_factory=dict, description="By family of operators; 1 where none is named.")


class TrainConfig(Record):
    """The training itself."""

    epochs: Positive = Field(1, description="Passes over as many draws as there are rows.")
    steps: Count | None = Field(None, description="Optimiser steps, where that is fewer than `epochs` gives.")
    sequence_tokens: Annotated[Count, Field(ge=16)] = Field(
        40960, description="Of one packed sequence. Rows that are longer are left out, and counted."
    )
    batch: Count = Field(256, description="Sequences of one optimiser step, over all processes.")
    device_batch: Count = Field(1, description="Sequences that a process handles at once.")
    packing: bool = Field(True, description="Whether a sequence holds several rows, none of which sees another.")
    flat: bool = Field(
        False, description="Whether a batch is one row of tokens without padding, as flash attention wants it."
    )
    learning_rate: Positive = Field(1e-5, description="Highest of the schedule.")
    schedule: Literal["linear", "cosine", "wsd", "constant"] = Field(
        "cosine", description="After the warm-up. `wsd`: constant, then linear to nothing over `decay` of all steps."
    )
    warmup: Share = Field(0.03, description="Share of all steps.")
    decay: Share = Field(0.3, description="Share of all steps, of the schedule `wsd`.")
    weight_decay: NonNegative = Field(0.01, description="Of AdamW, on matrices.")
    beta2: Annotated[float, Field(gt=0, lt=1)] = Field(0.999, description="Of AdamW.")
    gradient_norm: Positive = Field(1.0, description="Longer gradients are cut to it.")
    bf16: bool | None = Field(
        None, description="Whether matrices are multiplied in bfloat16; none: where an accelerator computes."
    )
    checkpointing: bool = Field(
        False, description="Whether activations are computed again in the backward pass, to save memory."
    )
    compile: bool = Field(False, description="Whether the layers are compiled, for one shape of batch.")
    optimiser: Literal["adamw_torch", "adamw_torch_fused"] = Field(
        "adamw_torch_fused", description="Implementation of AdamW."
    )
    deepspeed: dict[str, Any] | None = Field(
        None, description="DeepSpeed's own configuration, or in a recipe the path of its JSON file."
    )
    device: Literal["auto", "cpu"] = Field("auto", description="auto: the first accelerator, else the CPU.")
    seed: Whole = Field(0, description="Of the mixture's draws and the order of rows.")
    minutes: Positive | None = Field(
        None, description="Of this stage, from the start of the command; none: until all steps are done."
    )
    save_minutes: Positive = Field(5, description="Between checkpoints; one more ends each stage.")
    log_steps: Count = Field(10, description="Between lines of metrics.jsonl.")


class SftConfig(Record):
    """Everything `sft` can be told."""

    data: tuple[str, ...] = Field((), description="Folders of parquet files, or files of rows.")
    model: StartConfig = StartConfig()
    mixture: MixtureConfig = MixtureConfig()
    train: TrainConfig = TrainConfig()


# What may change when a run goes on: it decides how long something takes, not what comes out but for rounding.
FREE = (
    "train.minutes",
    "train.save_minutes",
    "train.log_steps",
    "train.device_batch",
    "train.compile",
    "train.checkpointing",
)


def read_recipe(
    path: Path | None,
    settings: Iterable[str] = (),
    options: Mapping[str, Any] | None = None,
    *,
    base: Mapping[str, Any] | None = None,
) -> SftConfig:
    """The configuration of a recipe. UsageError, one line that names the field and where it came from."""
    config = read_config(_Recipe, path, settings, options, base=base)
    deepspeed = config.train.deepspeed
    if isinstance(deepspeed, Path):
        deepspeed = _json_of(deepspeed if path is None else path.parent / deepspeed, "train.deepspeed")
    train = TrainConfig.model_validate({**config.train.model_dump(), "deepspeed": deepspeed})
    if train.flat != (train.packing and config.model.attention.startswith("flash")):
        raise UsageError(
            f"train.flat is {train.flat}: flash attention with train.packing needs it, and nothing else takes it "
            f"(model.attention is {config.model.attention}, train.packing {train.packing})"
        )
    return SftConfig(data=config.data, model=config.model, mixture=config.mixture, train=train)


class _TrainRecipe(TrainConfig):
    deepspeed: dict[str, Any] | Path | None = None  # ty: ignore[incompatible-attribute-override]


class _Recipe(SftConfig):
    train: _TrainRecipe = _TrainRecipe()


def _json_of(path: Path, field: str) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{field}: cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{field}: {path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{field}: {path} holds no object")
    return data
