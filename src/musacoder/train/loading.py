"""Checkpoints in and out of a training. Imports torch and transformers, so loaded lazily."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

from mooreeval.errors import UsageError
from musacoder.models.replies import one_line
from musacoder.models.tokens import load_tokenizer
from musacoder.train.config import SftConfig
from musacoder.train.folder import TrainingFolder

_LINEAR_ATTENTION = "linear_attention"  # a layer's type, as configurations of transformers name it


def quiet() -> None:
    """No bars and warnings of transformers and datasets between our own lines."""
    import warnings

    import datasets

    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    datasets.disable_progress_bars()


def require_vocabulary(checkpoint: str, tokenizer: Any) -> None:
    """UsageError where the checkpoint was trained with other pieces than the tokenizer's."""
    rows = _config(checkpoint).get_text_config().vocab_size
    if len(tokenizer) > rows:
        raise UsageError(f"{checkpoint} has a vocabulary of {rows} pieces, the tokenizer {len(tokenizer)}")
    if not (Path(checkpoint) / "tokenizer.json").is_file():
        return
    own = load_tokenizer(checkpoint).get_vocab()
    if own != tokenizer.get_vocab():
        differ = sum(own.get(piece) != number for piece, number in tokenizer.get_vocab().items())
        raise UsageError(f"{checkpoint} was made with another vocabulary: {differ} of {len(tokenizer)} pieces differ")


def load(checkpoint: str, config: SftConfig, tokenizer: Any) -> Any:
    """The model in float32, or in bfloat16 where DeepSpeed keeps float32 weights. UsageError where there is none."""
    _require_kernels(_config(checkpoint), config)
    dtype = torch.bfloat16 if config.train.deepspeed else torch.float32
    model = opened(checkpoint, dtype=dtype, attn_implementation=config.model.attention)
    if model.config.get_text_config().vocab_size < len(tokenizer):
        raise UsageError(f"{checkpoint} has too small a vocabulary")
    return model


def opened(checkpoint: str, **options: Any) -> Any:
    """A causal model, with options of transformers. UsageError where there is none."""
    try:
        return AutoModelForCausalLM.from_pretrained(checkpoint, **options)
    except Exception as error:  # noqa: BLE001  whatever a folder that is no checkpoint makes of it
        raise UsageError(f"no model at {checkpoint}: {one_line(str(error))}") from None


def export(trainer: Any, tokenizer: Any, folder: TrainingFolder) -> None:
    """`model/`, in bfloat16: whole or not at all. All processes take part."""
    part = folder.model.with_name("model.part")
    trainer.save_model(str(part))
    if not trainer.args.should_save:
        return
    tokenizer.save_pretrained(part)
    if trainer.args.deepspeed is None:  # which gathers bfloat16 itself
        AutoModelForCausalLM.from_pretrained(part, dtype=torch.bfloat16).save_pretrained(part)
    (part / "training_args.bin").unlink(missing_ok=True)  # a pickle, which nobody should have to load
    part.rename(folder.model)


def _config(checkpoint: str) -> Any:
    try:
        return AutoConfig.from_pretrained(checkpoint)
    except Exception as error:  # noqa: BLE001
        raise UsageError(f"no model at {checkpoint}: {one_line(str(error))}") from None


def _require_kernels(model: Any, config: SftConfig) -> None:
    """Without their kernels, layers of linear attention carry their state from one packed sample into the next."""
    linear = _LINEAR_ATTENTION in (getattr(model.get_text_config(), "layer_types", None) or ())
    missing = [name for name in ("fla", "causal_conv1d") if importlib.util.find_spec(name) is None]
    if linear and config.train.packing and missing:
        raise UsageError(
            "train.packing: this architecture has linear attention, which keeps packed samples apart with the packages "
            f"fla and causal_conv1d alone, and there is no {missing[0]}: install them, or --set train.packing=false "
            "--set train.flat=false"
        )
