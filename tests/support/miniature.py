"""A random model of a large recipe's architecture that trains on a CPU in seconds, and short rows for it."""

from __future__ import annotations

from pathlib import Path

from support.tiny_model import save_tiny_model
from support.training_rows import write_rows

from musacoder.data.records import Row, RowKind, Split, Turn


def save_miniature(folder: Path, layers: int = 4) -> Path:
    """Qwen3.5's text model, three layers of linear attention to one of full attention, over a tokenizer of bytes."""
    import torch
    from transformers import AutoTokenizer, Qwen3_5ForCausalLM, Qwen3_5TextConfig

    tokenizer = AutoTokenizer.from_pretrained(save_tiny_model(folder))
    torch.manual_seed(0)
    config = Qwen3_5TextConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        max_position_embeddings=512,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3_5ForCausalLM(config).save_pretrained(folder)
    return folder


def short_rows(folder: Path, count: int = 24) -> Path:
    """A folder of rows of one or two turns, a hundred bytes each, of which a tiny model learns something."""
    return write_rows(folder, [_row(i) for i in range(count)])


def _row(number: int) -> Row:
    asked = Turn(role="user", content=f"x{number}")
    wrong = (Turn(role="assistant", content="no"), Turn(role="user", content="again"))
    return Row(
        kind=RowKind.REPAIR if number % 3 == 0 else RowKind.GENERATION,
        prompt=(asked, *wrong) if number % 3 == 0 else (asked,),
        completion=(Turn(role="assistant", content="ab" * (5 + number % 7)),),
        task_hash=str(number),
        family="even" if number % 2 == 0 else "odd",
        split=Split.TRAIN,
        source="test",
        licence="Apache-2.0",
    )
