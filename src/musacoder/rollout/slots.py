"""Keys and values of many answers in memory that is taken once: each row of a batch is at a place of its own.

    keys, values (rows, heads, tokens, size) by layer ── the first `rows` and `tokens` are what a step reads

A row's place moves with its answer; when it has ended the row is another answer's, or the rows behind close up.
Imports torch and transformers, whose models keep what they like in a `Cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

Prefix = Sequence[tuple[torch.Tensor, torch.Tensor]]  # by layer, keys and values (prompts, heads, tokens, size)


class Slots(Cache):
    """What a model's layers keep of up to `rows` answers with `tokens` tokens each, prompts included."""

    def __init__(self, model: Any, rows: int, tokens: int) -> None:
        self.rows, self.tokens = rows, tokens
        self.positions_R = torch.zeros(rows, dtype=torch.int64, device=model.device)
        shape = kept_shape(model)
        layers = [_Layer(self, shape, model.dtype, model.device) for _ in range(layer_count(model))]
        super().__init__(layers=list(layers))
        self._kept = layers
        self.view(rows, tokens)

    def view(self, rows: int, tokens: int) -> None:
        """Let the next steps be over the first `rows` rows and the first `tokens` places of each."""
        self.seen_rows, self.seen_tokens = rows, tokens

    def fill(self, prefix: Prefix, rows_N: torch.Tensor, sources_N: torch.Tensor) -> None:
        """Copy row sources_N[i] of a prefix into row rows_N[i]; what lies behind a prompt's end is unseen."""
        for layer, made in zip(self._kept, prefix, strict=True):
            for held, new in zip(layer.held, made, strict=True):
                held[rows_N, :, : new.shape[2]] = new[sources_N]

    def close_up(self, kept_N: torch.Tensor) -> None:
        """Move these rows to the front, in this order."""
        for layer in self._kept:
            for held in layer.held:
                held[: len(kept_N), :, : self.seen_tokens] = held[kept_N, :, : self.seen_tokens]

    def mask(self, dtype: torch.dtype | None) -> torch.Tensor:
        """What each row sees: (rows, 1, 1, tokens), True where it does; as an addend where a dtype is given."""
        places = torch.arange(self.seen_tokens, device=self.positions_R.device)
        seen = places[None] <= self.positions_R[: self.seen_rows, None]
        if dtype is not None:
            seen = torch.zeros_like(seen, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)
        return seen[:, None, None, :]


class _Layer(CacheLayerMixin):
    """Keys and values of one layer; a step writes one token at each row's own place."""

    def __init__(self, slots: Slots, shape: tuple[int, int], dtype: torch.dtype, device: torch.device) -> None:
        super().__init__()
        heads, size = shape
        self._slots = slots
        keys = torch.zeros(slots.rows, heads, slots.tokens, size, dtype=dtype, device=device)
        self.held = (keys, torch.zeros_like(keys))
        self.keys, self.values = self.held
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """There is nothing left to take."""

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Put (rows, heads, 1, size) at the rows' places; returns all that the step may see."""
        del args, kwargs
        rows, tokens = self._slots.seen_rows, self._slots.seen_tokens
        place = self._slots.positions_R[:rows, None, None, None].expand_as(key_states)
        keys, values = (held[:rows, :, :tokens] for held in self.held)
        keys.scatter_(2, place, key_states)
        values.scatter_(2, place, value_states)
        return keys, values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        del query_length
        return self._slots.seen_tokens, 0

    def get_seq_length(self) -> int:
        return 0  # rows differ: whoever needs a place is told it, as `position_ids`

    def get_max_length(self) -> int:
        return self._slots.tokens


def kept_shape(model: Any) -> tuple[int, int]:
    """Heads and size of what a layer keeps of a token."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    return heads, getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def layer_count(model: Any) -> int:
    """Layers that keep something."""
    return model.config.get_text_config().num_hidden_layers


def bytes_of_a_token(model: Any) -> int:
    """Bytes that all layers together keep of one token."""
    heads, size = kept_shape(model)
    return 2 * layer_count(model) * heads * size * torch.finfo(model.dtype).bits // 8
