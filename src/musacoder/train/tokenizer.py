"""A tokenizer of our own for models that start from nothing, made from the rows. No torch.

Byte-pair pieces over bytes, so that nothing is unknown. Digits stand alone; a line's end and the next line's indent are
one piece where that is common, and so are words with the space before them. The chat template has one mark for each
role and one that ends a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mooreeval.hashing import content_hash
from musacoder.models.types import Message

PAD, END = "<|pad|>", "<|end|>"
ROLES = ("system", "user", "assistant")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# What no piece crosses: a digit; an end of line and the next one's indent; a name or other marks, and the space before.
_PIECES = r"[0-9]|\n[\n ]*| ?[A-Za-z_]+| ?[^A-Za-z0-9_\s]+|[^\S\n]+"


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """A `PreTrainedTokenizerFast` of at most so many pieces; the same texts always give the same one."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    raw.decoder = decoders.ByteLevel()
    marks = [PAD, END, *(f"<|{role}|>" for role in ROLES)]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=marks,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token=PAD, eos_token=END, extra_special_tokens=[f"<|{role}|>" for role in ROLES]
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def texts_of(prompts: Iterable[tuple[Message, ...]], completions: Iterable[Message], most: int) -> Iterator[str]:
    """Contents of the first conversations: pieces saturate long before all of a large data set was seen."""
    for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        if number >= most:
            return
        yield from (message.content for message in prompt)
        yield completion.content


def identity_of(tokenizer: Any) -> str:
    """SHA-256 (hex) over pieces, marks and chat template: two tokenizers of one identity give the same tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    pieces = backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items())
    return content_hash([pieces, tokenizer.chat_template, tokenizer.eos_token, tokenizer.pad_token])


def saved(tokenizer: Any, folder: Path) -> Path:
    """The folder, with the tokenizer in it."""
    tokenizer.save_pretrained(folder)
    return folder
