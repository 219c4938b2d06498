"""A sampler in this process: a model of transformers answers thousands of prompts at once. Imports torch.

    prompts ── taken as rows get free ──> prefix: all but the prompt's last token, once for all its answers
        ──> slots: a row an answer ── steps ──> answers that have ended leave, others take their rows,
                                                and where none wait the batch closes up

A step is the model's own forward pass over one token a row, so any causal model whose layers attend to everything
before them works as it is. A prompt's last token goes through a step like the others: its answers begin there.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import DynamicCache

from mooreeval.errors import UsageError
from musacoder.rollout.decode import Decoder, cache_name
from musacoder.rollout.draw import row_seed
from musacoder.rollout.slots import Prefix, Slots, bytes_of_a_token
from musacoder.rollout.types import Ask, Asks, Drawing, Prompt, Sample, in_order

_PREFIX_TOKENS = 1 << 16  # that are computed at once, padding included
_NO_BOUND = 1 << 20  # tokens of a model that names no context


@dataclass(frozen=True)
class SamplerOptions:
    """How a batch is run; none of it changes what is drawn, but for rounding."""

    batch: int = 4096  # most answers at once
    memory_share: float = 0.7  # of the device's free memory, for what layers keep of tokens
    memory_bytes: int | None = None  # the same, in bytes; None: by the share, on a CPU 4 GiB
    check_steps: int | None = None  # steps between looks at which rows are done; None: 16 on CUDA, 1 elsewhere
    length_step: int | None = None  # a step reads so many places more at once; None: 128 on CUDA, 1 elsewhere
    refill: float = 1 / 16  # share of the rows that are free before new answers begin
    cuda_graphs: bool = True  # on CUDA


@dataclass(frozen=True)
class _Place:
    """An answer that is to be drawn."""

    prompt: int
    index: int
    ids: tuple[int, ...]
    room: int  # tokens
    seed: int


class BatchSampler:
    """Samples from a causal model of transformers. See `types.Sampler`; one caller at a time."""

    def __init__(self, model: Any, ends: Iterable[int], options: SamplerOptions | None = None) -> None:
        """`ends` are tokens that end an answer. UsageError for a model whose layers don't see all that is before."""
        self._model, self._ends, self._options = model, frozenset(ends), options or SamplerOptions()
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
        if kinds or getattr(config, "attention_chunk_size", None):
            named = ", ".join(sorted(kinds)) or "chunks"
            raise UsageError(f"this sampler knows full attention alone; the model has layers of {named}")
        self.context = getattr(config, "max_position_embeddings", None) or _NO_BOUND

    def sample(self, prompts: Sequence[Prompt], n: int, drawing: Drawing) -> list[list[Sample]]:
        """n answers to each prompt, in order."""
        return in_order(self.stream(prompts, n, drawing), len(prompts), n)

    def stream(self, prompts: Iterable[Prompt], n: int, drawing: Drawing) -> Iterator[Sample]:
        """Answers as they end. ValueError for an empty prompt, or one that leaves no room in the model's context."""
        asks = (
            Ask(tuple(ids), tuple(row_seed(drawing.seed, number, index) for index in range(n)), drawing.max_tokens)
            for number, ids in enumerate(prompts)
        )
        known = len(prompts) * n if isinstance(prompts, Sequence) else 0
        return self.answers(_Given(asks), drawing, known=known)

    def answers(self, asks: Asks, drawing: Drawing, *, known: int = 0) -> Iterator[Sample]:
        """Answers to prompts that come by and by, drawn at the temperature and top_p of `drawing`.

        `known`: how many answers are sure to be asked for, which are read ahead.
        """
        waiting = _Waiting(asks, self.context, known)
        with _evaluating(self._model), torch.inference_mode():
            while waiting.has_more(wait=True):
                yield from self._batch(waiting, drawing)

    def _batch(self, waiting: _Waiting, drawing: Drawing) -> Iterator[Sample]:
        """Answers of one batch; it ends where a prompt comes that is too long for its memory, or none."""
        tokens = self.context if waiting.is_open else waiting.longest()
        most = min(self._options.batch, self._rows_for(tokens))
        rows = most if waiting.is_open else waiting.count(most)
        batch = _Batch(self._model, rows, tokens, drawing, self._ends, self._options)
        while batch.admit(waiting) or batch.alive:
            yield from batch.advance(waiting)

    def _rows_for(self, tokens: int) -> int:
        """Rows whose keys and values memory has room for; at least one."""
        room = self._options.memory_bytes
        if room is None:
            free = torch.cuda.mem_get_info(self._model.device)[0] if self._model.device.type == "cuda" else 0
            room = int(free * self._options.memory_share) if free else 4 << 30
        return max(room // (tokens * bytes_of_a_token(self._model)), 1)


class _Given:
    """Prompts of an iterable, read as they are asked for."""

    is_open = False

    def __init__(self, asks: Iterable[Ask]) -> None:
        self._asks = iter(asks)

    def next(self, *, wait: bool) -> Ask | None:
        del wait
        return next(self._asks, None)


class _Waiting:
    """Answers that have no row yet; prompts are read no further than is needed."""

    def __init__(self, asks: Asks, context: int, known: int) -> None:
        self._asks, self._context = asks, context
        self._read_so_far = 0  # prompts
        self._ahead: deque[_Place] = deque()
        self._read(known)

    @property
    def is_open(self) -> bool:
        """Whether more may come than there is to read now."""
        return self._asks.is_open

    def has_more(self, *, wait: bool = False) -> bool:
        """Whether an answer waits; with `wait`, whether one ever will."""
        self._read(1, wait=wait)
        return bool(self._ahead)

    def count(self, most: int) -> int:
        """How many there are, as far as `most`."""
        self._read(most)
        return min(len(self._ahead), most)

    def longest(self) -> int:
        """Tokens of the longest prompt that is known with its answer."""
        return max(len(place.ids) + place.room for place in self._ahead)

    def take(self, most: int, tokens: int) -> list[_Place]:
        """The next answers, at most so many, as far as rows of `tokens` tokens hold them."""
        self._read(most)
        taken: list[_Place] = []
        while self._ahead and len(taken) < most and len(self._ahead[0].ids) + self._ahead[0].room <= tokens:
            taken.append(self._ahead.popleft())
        return taken

    def _read(self, wanted: int, *, wait: bool = False) -> None:
        while len(self._ahead) < wanted and (ask := self._asks.next(wait=wait)) is not None:
            number, self._read_so_far = self._read_so_far, self._read_so_far + 1
            room = min(ask.max_tokens, self._context - len(ask.ids))
            if not ask.ids or room < 1:
                raise ValueError(f"prompt {number} has {len(ask.ids)} tokens, the model's context is {self._context}")
            self._ahead += [_Place(number, index, ask.ids, room, seed) for index, seed in enumerate(ask.seeds)]


class _Batch:
    """Rows and what stands in them. The host knows who owns a row and how far it was; the rest is tensors."""

    def __init__(
        self, model: Any, rows: int, tokens: int, drawing: Drawing, ends: frozenset[int], options: SamplerOptions
    ) -> None:
        on_cuda = model.device.type == "cuda"
        self._model, self._ends, self._options = model, ends, options
        self._check = options.check_steps or (16 if on_cuda else 1)
        self._length_step = options.length_step or (128 if on_cuda else 1)
        self._halves = on_cuda and options.cuda_graphs  # graphs want few sizes
        self._slots = Slots(model, rows, tokens)
        self._decoder = Decoder(model, self._slots, drawing, ends, graphs=self._halves)
        self._rows = 0  # the first of them, which steps are over; the others are free
        self._owners: list[_Place | None] = [None] * rows
        self._places = [0] * rows  # each row's place at the last look
        self._prefixes = _Prefixes(model)

    @property
    def alive(self) -> int:
        """Answers under way."""
        return sum(owner is not None for owner in self._owners[: self._rows])

    def admit(self, waiting: _Waiting) -> int:
        """Begin answers in free rows, where enough are free; how many there were."""
        wanted = self.alive + waiting.count(self._slots.rows - self.alive)
        self._rows = max(self._rows, self._size_for(wanted))
        free = [row for row in range(self._rows) if self._owners[row] is None]
        if not free or (self.alive and len(free) < self._rows * self._options.refill):
            return 0
        taken = waiting.take(len(free), self._slots.tokens)
        for places in _by_tokens(taken):
            rows, free = free[: len(places)], free[len(places) :]
            self._begin(rows, places)
        return len(taken)

    def advance(self, waiting: _Waiting) -> list[Sample]:
        """Some steps; the answers that ended in them."""
        furthest = max(self._places[: self._rows]) + self._check + 1
        tokens = min(-(-furthest // self._length_step) * self._length_step, self._slots.tokens)
        self._decoder.advance(self._rows, tokens, self._check)
        ended = self._harvest()
        if ended and not waiting.has_more():
            self._shrink()
        return ended

    def _begin(self, rows: list[int], places: list[_Place]) -> None:
        device = self._model.device
        for prefix, sources in self._prefixes.of(places):
            filled = [(row, sources[p.prompt]) for row, p in zip(rows, places, strict=True) if p.prompt in sources]
            self._slots.fill(prefix, *torch.tensor(filled, device=device).T)
        values = {
            "tokens": [place.ids[-1] for place in places],
            "positions": [len(place.ids) - 1 for place in places],
            "seeds": [place.seed for place in places],
            "rooms": [place.room for place in places],
        }
        self._decoder.start(torch.tensor(rows, device=device), values)
        for row, place in zip(rows, places, strict=True):
            self._owners[row], self._places[row] = place, len(place.ids) - 1

    def _harvest(self) -> list[Sample]:
        """The answers of rows that are done, which are free then."""
        done = self._decoder.done_R[: self._rows].tolist()
        self._places[: self._rows] = self._slots.positions_R[: self._rows].tolist()
        rows = [row for row in range(self._rows) if done[row] and self._owners[row] is not None]
        if not rows:
            return []
        picked = torch.tensor(rows, device=self._model.device)
        lengths = self._decoder.made_R[picked].tolist()
        tokens = self._decoder.out_RT[picked, : max(lengths)].tolist()
        logprobs = self._decoder.logprobs_RT[picked, : max(lengths)].tolist()
        self._decoder.rest(self._rows)
        ended = []
        for row, length, ids, values in zip(rows, lengths, tokens, logprobs, strict=True):
            ended.append(self._sample(row, ids[:length], values[:length]))
            self._owners[row], self._places[row] = None, 0
        return ended

    def _sample(self, row: int, ids: list[int], logprobs: list[float]) -> Sample:
        owner = self._owners[row]
        assert owner is not None
        reason: Literal["stop", "length"] = "stop" if ids[-1] in self._ends else "length"
        return Sample(owner.prompt, owner.index, tuple(ids), tuple(logprobs), reason)

    def _size_for(self, rows: int) -> int:
        """How many rows steps are over where so many are needed: the whole batch, a half, a quarter ... for graphs."""
        size = self._slots.rows
        while self._halves and rows <= size // 2:
            size //= 2
        return size if self._halves else rows

    def _shrink(self) -> None:
        """Close the batch up where enough rows are free."""
        kept = [row for row in range(self._rows) if self._owners[row] is not None]
        rows, before = self._size_for(len(kept)), self._rows
        if not kept or rows > before * 7 // 8:
            return
        spare = [row for row in range(before) if self._owners[row] is None][: rows - len(kept)]
        order = kept + spare
        self._decoder.close_up(torch.tensor(order, device=self._model.device), before)
        self._owners[:before] = [*(self._owners[row] for row in order), *itertools.repeat(None, before - rows)]
        self._places[:before] = [*(self._places[row] for row in order), *itertools.repeat(0, before - rows)]
        self._rows = rows


class _Prefixes:
    """Keys and values of prompts without their last tokens: computed once a prompt, however its answers are spread."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._last: tuple[int, Prefix] | None = None  # of the prompt some of whose answers may have no row yet

    def of(self, places: list[_Place]) -> Iterator[tuple[Prefix, dict[int, int]]]:
        """Prefixes, and which row of them is which prompt's."""
        prompts = {place.prompt: place.ids for place in places}
        if self._last and prompts.pop(self._last[0], None):
            yield self._last[1], {self._last[0]: 0}
        prompts = {number: ids for number, ids in prompts.items() if len(ids) > 1}
        if prompts:
            made = self._computed(list(prompts.values()))
            self._last = (list(prompts)[-1], [(keys[-1:].clone(), values[-1:].clone()) for keys, values in made])
            yield made, {number: row for row, number in enumerate(prompts)}

    def _computed(self, prompts: list[tuple[int, ...]]) -> Prefix:
        longest = max(len(ids) for ids in prompts) - 1
        # Padded at the right: what stands there comes later than every real token, and no row ever looks at it.
        padded = [[*ids[:-1], *itertools.repeat(0, longest - len(ids) + 1)] for ids in prompts]
        cache: Any = DynamicCache(config=self._model.config)
        given = {cache_name(self._model): cache, "use_cache": True, "logits_to_keep": 1}
        self._model(input_ids=torch.tensor(padded, device=self._model.device), **given)
        return [(layer.keys, layer.values) for layer in cache.layers]


def _by_tokens(places: list[_Place]) -> Iterator[list[_Place]]:
    """Groups whose different prompts, padded to the longest, are few enough tokens to compute at once."""
    group: list[_Place] = []
    prompts: set[int] = set()
    longest = 0
    for place in places:
        longest = max(longest, len(place.ids))
        if group and place.prompt not in prompts and longest * (len(prompts) + 1) > _PREFIX_TOKENS:
            yield group
            group, prompts, longest = [], set(), len(place.ids)
        group.append(place)
        prompts.add(place.prompt)
    if group:
        yield group


@contextmanager
def _evaluating(model: Any) -> Generator[None]:
    """The model without dropout, for so long."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
