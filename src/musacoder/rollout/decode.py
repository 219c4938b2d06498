"""One step for all rows of a batch: a token each, drawn and noted down, without a word to the host. Imports torch.

On CUDA the steps of a size are captured once as a graph and replayed: launched one by one, the kernels of a small model
would wait for Python. Numbers of a row stand in tensors that never move.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from musacoder.rollout.draw import draw, uniform
from musacoder.rollout.slots import Slots
from musacoder.rollout.types import Drawing


class Decoder:
    """The rows of a batch, and the step that brings each of them one token on."""

    def __init__(self, model: Any, slots: Slots, drawing: Drawing, ends: frozenset[int], *, graphs: bool) -> None:
        device = model.device
        self._model, self._slots, self._drawing = model, slots, drawing
        self._ends = torch.tensor(sorted(ends), dtype=torch.int64, device=device)
        self._cache_name = cache_name(model)
        self._mask_dtype = model.dtype if _adds_masks(model) else None
        self._graphs: dict[tuple[int, int], torch.cuda.CUDAGraph | None] | None = {} if graphs else None
        self._pool = torch.cuda.graph_pool_handle() if graphs else None
        rows = slots.rows
        self.tokens_R = torch.zeros(rows, dtype=torch.int64, device=device)  # what each row reads next
        self.seeds_R = torch.zeros_like(self.tokens_R)
        self.made_R = torch.zeros_like(self.tokens_R)  # tokens of the answer so far
        self.room_R = torch.zeros_like(self.tokens_R)  # most tokens of the answer
        self.done_R = torch.ones(rows, dtype=torch.bool, device=device)
        # No answer is longer than a row of the cache; one column more takes what rows that are done go on to draw.
        self.out_RT = torch.zeros(rows, slots.tokens + 1, dtype=torch.int64, device=device)
        self.logprobs_RT = torch.zeros(rows, slots.tokens + 1, device=device)

    def start(self, rows_N: torch.Tensor, values: dict[str, list[int]]) -> None:
        """Begin answers in these rows; `values` are their next tokens, positions, seeds and rooms."""
        for name, held in (
            ("tokens", self.tokens_R),
            ("positions", self._slots.positions_R),
            ("seeds", self.seeds_R),
            ("rooms", self.room_R),
        ):
            held[rows_N] = torch.tensor(values[name], dtype=torch.int64, device=held.device)
        self.made_R[rows_N] = 0
        self.done_R[rows_N] = False

    def close_up(self, kept_N: torch.Tensor, before: int) -> None:
        """Move these rows of the first `before` to the front, in this order; those behind are free then."""
        self._slots.close_up(kept_N)
        columns = [self.tokens_R, self.seeds_R, self.made_R, self.room_R, self.done_R, self._slots.positions_R]
        for held in (*columns, self.out_RT, self.logprobs_RT):
            held[: len(kept_N)] = held[kept_N]
        self.done_R[len(kept_N) : before] = True
        self._slots.positions_R[len(kept_N) : before] = 0

    def rest(self, rows: int) -> None:
        """Rows that are done go to the first place, where a view of any length has them."""
        self._slots.positions_R[:rows].masked_fill_(self.done_R[:rows], 0)

    def advance(self, rows: int, tokens: int, steps: int) -> None:
        """So many steps of the first `rows` rows, none of which gets beyond place `tokens`."""
        self._slots.view(rows, tokens)
        for _ in range(steps):
            if self._graphs is None:
                self._step(rows)
            else:
                self._replay((rows, tokens))

    def _replay(self, size: tuple[int, int]) -> None:
        """The step by its graph. The first one of a size runs as it is: libraries take what they need then."""
        assert self._graphs is not None
        if size not in self._graphs:
            self._graphs[size] = None
            self._aside(size[0])
            return
        graph = self._graphs[size]
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            # One pool for all: graphs are replayed one after the other, and keep nothing in it between two replays.
            with torch.cuda.graph(graph, pool=self._pool):
                self._step(size[0])
            self._graphs[size] = graph
        graph.replay()

    def _aside(self, rows: int) -> None:
        """A step on a stream of its own, as a capture wants it before."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step(rows)
        torch.cuda.current_stream().wait_stream(stream)

    def _step(self, rows: int) -> None:
        places = self._slots.positions_R[:rows]
        given = {self._cache_name: self._slots, "use_cache": True, "attention_mask": self._slots.mask(self._mask_dtype)}
        logits = self._model(input_ids=self.tokens_R[:rows, None], position_ids=places[:, None], **given).logits[:, -1]
        numbers = uniform(self.seeds_R[:rows], self.made_R[:rows])
        self._note(rows, *draw(logits, numbers, self._drawing.temperature, self._drawing.top_p))

    def _note(self, rows: int, drawn: torch.Tensor, logprobs: torch.Tensor) -> None:
        done, made = self.done_R[:rows], self.made_R[:rows]
        column = torch.where(done, self._slots.tokens, made)[:, None]
        self.out_RT[:rows].scatter_(1, column, drawn[:, None])
        self.logprobs_RT[:rows].scatter_(1, column, logprobs[:, None])
        alive = ~done
        made += alive
        self._slots.positions_R[:rows] += alive
        self.tokens_R[:rows] = torch.where(done, self.tokens_R[:rows], drawn)
        done |= (drawn[:, None] == self._ends).any(-1) | (made >= self.room_R[:rows])


def cache_name(model: Any) -> str:
    """What transformers' models call their cache: older ones `past_key_values`."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _adds_masks(model: Any) -> bool:
    """Whether the model's attention adds masks to scores; PyTorch's own takes truth values."""
    return model.config.get_text_config()._attn_implementation != "sdpa"
