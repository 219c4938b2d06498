"""Models that start from random weights: two sizes of a stock architecture. Imports torch, so loaded lazily."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from mooreeval.errors import UsageError
from musacoder.train.tokenizer import saved


@dataclass(frozen=True)
class Size:
    """Widths and depths; embeddings are tied, so the vocabulary counts once."""

    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    head: int
    inner: int


SIZES = {
    "nano": Size(hidden=192, layers=6, heads=6, key_value_heads=3, head=32, inner=512),
    "small": Size(hidden=512, layers=8, heads=8, key_value_heads=4, head=64, inner=1536),
}


def config_of(size: str, tokenizer: Any, context_tokens: int) -> Qwen3Config:
    """Of a model of that size over the tokenizer's vocabulary."""
    shape = SIZES[size]
    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.head,
        intermediate_size=shape.inner,
        max_position_embeddings=context_tokens,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )


def create(size: str, tokenizer: Any, context_tokens: int, seed: int, folder: Path) -> Path:
    """A checkpoint of random float32 weights with its tokenizer, as transformers saves one; by the seed alone."""
    if size not in SIZES:
        raise UsageError(f"model.size: there is no {size}; there are {', '.join(SIZES)}")
    config = config_of(size, tokenizer, context_tokens)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    return saved(tokenizer, folder)
