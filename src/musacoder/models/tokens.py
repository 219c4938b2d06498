"""How many tokens a prompt has: counted by the model's tokenizer where it is known, else estimated. No torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mooreeval.errors import UsageError
from mooreeval.hub import look_for_hub
from musacoder.models.config import ModelConfig
from musacoder.models.types import Message

CountTokens = Callable[[Sequence[Message]], int]

_PER_MESSAGE = 8  # role and marks of a turn in the usual chat templates, and some more
LOCAL_EXTRA = "pip install 'musacoder[local]'"


def estimated_tokens(messages: Sequence[Message], bytes_per_token: float = ModelConfig().bytes_per_token) -> int:
    """Rather too many than too few: real tokenizers put 3 to 4 bytes of code into one token."""
    texts = sum(len(m.content.encode("utf-8", "replace")) for m in messages)
    return math.ceil(texts / bytes_per_token) + _PER_MESSAGE * len(messages)


def token_counter(config: ModelConfig) -> CountTokens:
    """The counter that the configuration asks for. Raises UsageError where its tokenizer can't be loaded."""
    if config.tokenizer is None:
        return lambda messages: estimated_tokens(messages, config.bytes_per_token)
    tokenizer = load_tokenizer(config.tokenizer)
    return lambda messages: counted(tokenizer, messages, config.bytes_per_token)


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a folder or a Hugging Face id. Raises UsageError, one line.

    Where the hub is out of reach, this process looks for it, and for the model's weights, in its cache alone.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise UsageError(f"a model in this process, or its tokenizer, needs transformers: {LOCAL_EXTRA}") from None
    if not Path(name).exists() and not look_for_hub():
        _require_cached(name)
    try:
        return AutoTokenizer.from_pretrained(name)
    except Exception as error:  # noqa: BLE001  whatever a folder that is no tokenizer makes of it
        raise UsageError(f"no tokenizer at {name}: {' '.join(str(error).split())[:300]}") from None


def _require_cached(name: str) -> None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        files = ("config.json", "tokenizer_config.json")
        if any(isinstance(try_to_load_from_cache(name, file), str) for file in files):
            return
    except HFValidationError:
        pass
    raise UsageError(
        f"no tokenizer at {name}: no such folder, the Hugging Face hub is out of reach, and its cache has none"
    )


def counted(tokenizer: Any, messages: Sequence[Message], bytes_per_token: float) -> int:
    """Tokens of a prompt; an estimate where the chat template refuses it, which `sample` then tells."""
    try:
        return len(prompt_ids(tokenizer, messages))
    except Exception:  # noqa: BLE001  a template raises what it likes
        return estimated_tokens(messages, bytes_per_token)


def prompt_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Token ids of a prompt: by the chat template where there is one, else of the plain texts with role names.

    A template that takes no system message gets its text at the beginning of the first turn. Raises whatever a template
    raises.
    """
    if not getattr(tokenizer, "chat_template", None):
        text = "".join(f"{m.role}: {m.content}\n\n" for m in messages) + "assistant: "
        return list(tokenizer(text)["input_ids"])
    try:
        return _templated(tokenizer, messages)
    except Exception:
        if len(messages) < 2 or messages[0].role != "system" or messages[1].role != "user":
            raise
        first = Message("user", f"{messages[0].content}\n\n{messages[1].content}")
        return _templated(tokenizer, [first, *messages[2:]])


def _templated(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    turns = [{"role": m.role, "content": m.content} for m in messages]
    found = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True, return_dict=True)
    return list(found["input_ids"])
