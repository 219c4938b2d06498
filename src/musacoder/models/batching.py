"""Requests of many threads, answered by one sampler together. Imports torch, so it is imported when a model is opened.

A thread of its own runs the sampler. A request goes into the batch as soon as rows are free, whoever else is in it;
one that is drawn at another temperature waits until those before it have ended.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from musacoder.models.generation import Checkpoint, Generated
from musacoder.rollout.draw import row_seed
from musacoder.rollout.sampler import BatchSampler, SamplerOptions
from musacoder.rollout.types import Ask, Drawing, Sample

_LOOK_SECONDS = 0.2  # how soon the end is seen


@dataclass(frozen=True)
class Request:
    """One prompt with a seed for each answer; they come as (place, answer), or as a fault that ends them all."""

    ask: Ask
    drawing: Drawing
    answers: queue.SimpleQueue[tuple[int, Generated] | Exception] = field(default_factory=queue.SimpleQueue)


class Batching:
    """The sampler and its thread."""

    def __init__(self, checkpoint: Checkpoint, batch: int, closed: threading.Event) -> None:
        """Raises UsageError for a model that the sampler does not know."""
        self._sampler = BatchSampler(checkpoint.model, checkpoint.ends, SamplerOptions(batch=batch))
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._closed = closed
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def ask(self, request: Request) -> Iterator[tuple[int, Generated]]:
        """The answers as they end; fewer where the model was closed. Raises whatever the sampler made of them."""
        self._requests.put(request)
        left = len(request.ask.seeds)
        while left and not (self._closed.is_set() and not self._thread.is_alive()):
            try:
                found = request.answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            if isinstance(found, Exception):
                raise found
            left -= 1
            yield found

    def close(self) -> None:
        """Wait for the thread, which ends once `closed` is set."""
        self._thread.join()

    def _run(self) -> None:
        held: Request | None = None
        while not self._closed.is_set():
            source = _Source(self._requests, self._closed, held)
            drawing = source.first()
            if drawing is None:
                return
            try:
                for sample in self._sampler.answers(source, drawing):
                    source.taken[sample.prompt].answers.put((sample.index, _generated(sample)))
                    if self._closed.is_set():
                        return
            except Exception as error:  # noqa: BLE001  whatever a model makes of a batch ends its answers alone
                for request in source.taken:
                    request.answers.put(error)
            held = source.held


class _Source:
    """Requests of one way to draw, as the sampler reads them."""

    is_open = True

    def __init__(self, requests: queue.SimpleQueue[Request], closed: threading.Event, held: Request | None) -> None:
        self._requests, self._closed = requests, closed
        self.held = held  # read already, and to be drawn otherwise
        self.taken: list[Request] = []
        self._drawing: Drawing | None = None

    def first(self) -> Drawing | None:
        """How the next request is drawn, once there is one; None where the model was closed."""
        if self.held is None:
            self.held = self._read(wait=True)
        self._drawing = None if self.held is None else self.held.drawing
        return self._drawing

    def next(self, *, wait: bool) -> Ask | None:
        """The next one; None too where it is to be drawn otherwise."""
        if self.held is None:
            # Waiting is for `first`: between two batches requests of any kind may come.
            self.held = None if wait else self._read(wait=False)
        if self.held is None or self.held.drawing != self._drawing:
            return None
        self.taken.append(self.held)
        ask, self.held = self.held.ask, None
        return ask

    def _read(self, *, wait: bool) -> Request | None:
        while not self._closed.is_set():
            try:
                return self._requests.get(timeout=_LOOK_SECONDS) if wait else self._requests.get_nowait()
            except queue.Empty:
                if not wait:
                    return None
        return None


def request_of(ids: list[int], n: int, seed: int, room: int, sampling: Any, defaults: Any) -> Request:
    """What `sample` asks; what `sampling` leaves open is as the checkpoint's generation configuration says."""
    temperature = sampling.temperature
    if temperature is None:
        temperature = getattr(defaults, "temperature", None) or 1.0
    top_p = sampling.top_p or getattr(defaults, "top_p", None) or 1.0
    seeds = tuple(row_seed(seed + index, 0, 0) for index in range(n))
    most = min(room, sampling.max_tokens or room)
    return Request(Ask(tuple(ids), seeds, most), Drawing(float(temperature), float(top_p)))


def _generated(sample: Sample) -> Generated:
    return Generated(sample.token_ids, sample.logprobs, sample.finish_reason)
