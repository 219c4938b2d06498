"""Rows as tokens: made once, kept in files that are mapped into memory. No torch.

A row's tokens are exactly those that a model is sent when it is asked, `musacoder.models.tokens.prompt_ids`, and then
those of the answer up to the mark that ends it. Earlier answers of a conversation belong to the prompt: what is
learnt is the last answer alone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mooreeval.errors import UsageError
from musacoder.models.types import Message
from musacoder.train.rows import Rows

_BATCH = 512  # rows that are tokenised at once
IGNORED = -100  # a label that has no loss


@dataclass(frozen=True)
class TokenRows:
    """Row i: tokens `ids[starts[i] : starts[i + 1]]`, of which the first `prompts[i]` are the prompt."""

    ids: np.ndarray  # (tokens,) uint16 or uint32
    starts: np.ndarray  # (rows + 1,) int64
    prompts: np.ndarray  # (rows,) int32

    @property
    def lengths(self) -> np.ndarray:
        """(rows,) tokens."""
        return np.diff(self.starts)

    def row(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and labels of a row, int64; a label is the token itself in the answer, else IGNORED."""
        ids = self.ids[self.starts[index] : self.starts[index + 1]].astype(np.int64)
        labels = ids.copy()
        labels[: self.prompts[index]] = IGNORED
        return ids, labels


def kept_tokens(folder: Path, rows: Rows, tokenizer: Any, identity: str) -> TokenRows:
    """The tokens of rows from the folder, where they were made from the same data and tokenizer; else made now."""
    mark = folder / "made.json"
    if not mark.is_file() or json.loads(mark.read_text(encoding="utf-8")) != {"identity": identity}:
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        found = tokenised(rows, tokenizer)
        for name in ("ids", "starts", "prompts"):
            np.save(part / f"{name}.npy", getattr(found, name))
        (part / mark.name).write_text(json.dumps({"identity": identity}), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    return TokenRows(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("ids", "starts", "prompts")))


def tokenised(rows: Rows, tokenizer: Any) -> TokenRows:
    """Tokens of all rows. UsageError where the chat template refuses one or goes on otherwise than it is asked."""
    kind = np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32
    parts: list[np.ndarray] = []
    lengths, prompts = [0], list[int]()
    for begin in range(0, len(rows), _BATCH):
        end = min(begin + _BATCH, len(rows))
        texts = [texts_of(tokenizer, rows.prompts[i], rows.completions[i]) for i in range(begin, end)]
        asked = tokenizer([a for a, _ in texts], add_special_tokens=False)["input_ids"]
        answered = tokenizer([b for _, b in texts], add_special_tokens=False)["input_ids"]
        for prompt, answer in zip(asked, _ended(answered, tokenizer.eos_token_id), strict=True):
            parts.append(np.array([*prompt, *answer], dtype=kind))
            lengths.append(len(parts[-1]))
            prompts.append(len(prompt))
    return TokenRows(np.concatenate(parts), np.cumsum(lengths), np.array(prompts, dtype=np.int32))


def texts_of(tokenizer: Any, prompt: tuple[Message, ...], completion: Message) -> tuple[str, str]:
    """What the model is sent, and what it should answer, the mark that ends it included."""
    turns = [{"role": m.role, "content": m.content} for m in (*prompt, completion)]
    try:
        asked = tokenizer.apply_chat_template(turns[:-1], add_generation_prompt=True, tokenize=False)
        whole = tokenizer.apply_chat_template(turns, tokenize=False)
    except Exception as error:  # noqa: BLE001  a template raises what it likes
        raise UsageError(f"the chat template refuses a row: {' '.join(str(error).split())[:200]}") from None
    if not whole.startswith(asked):
        raise UsageError("the chat template writes an answer otherwise than it asks for one: it can't be trained on")
    return asked, whole[len(asked) :]


def _ended(answers: list[list[int]], end: int | None) -> Iterator[list[int]]:
    """Each up to its last end mark; a template that writes none gets one."""
    for ids in answers:
        if end is None:
            yield ids
        elif end in ids:
            yield ids[: len(ids) - ids[::-1].index(end)]
        else:
            yield [*ids, end]
