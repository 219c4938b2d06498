"""Sequences of a plan as batches of tensors. Imports torch, so loaded lazily.

`RowBatches` have one shape, (sequences, sequence_tokens): what is compiled is compiled once; attention takes a mask.
`FlatBatches` are one row without padding, with the bounds of each sample beside it, as flash attention and the kernels
of linear attention take them. In both a sample sees no other: positions begin at 0 with each. `PaddedBatches` are not
packed, and as long as their longest sample: any architecture takes them, because nothing looks ahead at the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from musacoder.train.packing import Plan
from musacoder.train.tokens import IGNORED, TokenRows


class RowBatches:
    """Numbers of sequences become input_ids, labels and position_ids, (batch, sequence_tokens) each."""

    def __init__(self, plan: Plan, tokens: TokenRows, sequence_tokens: int, pad: int) -> None:
        self._plan, self._tokens, self._length, self._pad = plan, tokens, sequence_tokens, pad

    def __call__(self, examples: Sequence[dict[str, int]]) -> dict[str, torch.Tensor]:
        shape = (len(examples), self._length)
        ids, labels = np.full(shape, self._pad, dtype=np.int64), np.full(shape, IGNORED, dtype=np.int64)
        positions = np.empty(shape, dtype=np.int64)
        for number, example in enumerate(examples):
            at = 0
            for row in self._plan[example["sequence"]]:
                row_ids, row_labels = self._tokens.row(row)
                end = at + len(row_ids)
                ids[number, at:end], labels[number, at:end] = row_ids, row_labels
                positions[number, at:end] = np.arange(len(row_ids))
                at = end
            positions[number, at:] = np.arange(self._length - at)  # what fills up is a sample of its own
        arrays = {"input_ids": ids, "labels": labels, "position_ids": positions}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


class PaddedBatches:
    """Numbers of sequences of one row each become input_ids and labels, (batch, longest)."""

    def __init__(self, plan: Plan, tokens: TokenRows, pad: int) -> None:
        self._plan, self._tokens, self._pad = plan, tokens, pad

    def __call__(self, examples: Sequence[dict[str, int]]) -> dict[str, torch.Tensor]:
        rows = [self._tokens.row(int(self._plan[example["sequence"]][0])) for example in examples]
        shape = (len(rows), max(len(ids) for ids, _ in rows))
        ids, labels = np.full(shape, self._pad, dtype=np.int64), np.full(shape, IGNORED, dtype=np.int64)
        for number, (row_ids, row_labels) in enumerate(rows):
            ids[number, : len(row_ids)], labels[number, : len(row_ids)] = row_ids, row_labels
        positions = np.broadcast_to(np.arange(shape[1]), shape).copy()
        arrays = {"input_ids": ids, "labels": labels, "position_ids": positions}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


class FlatBatches:
    """Numbers of sequences become one row of all their tokens, (1, tokens), by TRL's own collator."""

    def __init__(self, plan: Plan, tokens: TokenRows, pad: int) -> None:
        self._plan, self._tokens = plan, tokens
        self._collator = DataCollatorForLanguageModeling(pad_token_id=pad, padding_free=True)

    def __call__(self, examples: Sequence[dict[str, int]]) -> dict[str, Any]:
        made = []
        for example in examples:
            parts = [self._tokens.row(row) for row in self._plan[example["sequence"]]]
            ids, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            made.append({"input_ids": ids, "labels": labels, "seq_lengths": [len(row_ids) for row_ids, _ in parts]})
        return self._collator(made)
