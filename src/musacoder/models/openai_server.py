"""An OpenAI-compatible server: n answers to a prompt, each an answer or a failure with its class.

    sample() in any thread ──> one event loop in a thread of its own ──> requests, some at a time ──> queue ──> sample()

One request asks for all n answers; what the server leaves out, or refuses to give together, is asked for one by one.
Faults that may pass are waited out (`pace.py`), everything else is told at once (`faults.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from mooreeval.errors import UsageError
from musacoder.models.config import ModelConfig, ServerConfig
from musacoder.models.faults import Fault, ReplyTooLarge, fault_of
from musacoder.models.pace import Pace, backoff_seconds
from musacoder.models.reach import LOOK_SECONDS, Reach
from musacoder.models.replies import read_reply
from musacoder.models.tokens import token_counter
from musacoder.models.types import Completion, Failure, FailureKind, Message, NamedModel, OnCompletion, Sampling

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
_NO_KEY = "none"  # the client wants one; a server of one's own takes any
_CLOSE_SECONDS = 5.0

Deliver = Callable[[tuple[int, Completion] | None], None]


@dataclass(frozen=True)
class _Asked:
    """One call of `sample`."""

    messages: list[dict[str, str]]
    sampling: Sampling
    deliver: Deliver


@dataclass(frozen=True)
class _Got:
    """What several requests for the same answers came to."""

    completions: list[Completion]
    fault: Fault | None
    attempts: int
    seconds: float
    is_the_end: bool = False  # of all that is asked of this server


class OpenAIServer(NamedModel):
    """A model behind a server. Safe for several threads; see `types.Model`."""

    def __init__(self, name: str, config: ModelConfig | None = None) -> None:
        """Raises UsageError for an address or a key that can't be; connects to nothing yet."""
        config = config or ModelConfig()
        self._name, self._config = name, config.server
        self._url = _checked_url(self._config.base_url)
        self._secret = _secret(self._config)
        self._count, self._context = token_counter(config), config.context_tokens
        self._draw = random.Random()
        self._one_by_one = False  # learnt from the server
        self._closed = threading.Event()
        self._lock = threading.Lock()  # nothing is handed to a loop that was told to stop
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=f"model {name}", daemon=True)
        self._thread.start()

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._count(messages)

    def sample(
        self, messages: Sequence[Message], n: int, sampling: Sampling, *, on_completion: OnCompletion | None = None
    ) -> list[Completion]:
        found: dict[int, Completion] = {}
        with contextlib.closing(self._arriving(messages, n, sampling)) as arriving:
            for index, completion in arriving:
                found[index] = completion
                if on_completion:
                    on_completion(index, completion)
        return [found[index] for index in range(n)]

    def _arriving(self, messages: Sequence[Message], n: int, sampling: Sampling) -> Generator[tuple[int, Completion]]:
        """Each completion as it comes; to leave early ends the requests for the others."""
        results: queue.SimpleQueue[tuple[int, Completion] | None] = queue.SimpleQueue()
        asked = _Asked([_wire(m) for m in messages], self._within_context(messages, sampling), results.put)
        missing, future = set(range(n)), self._submitted(asked, n)
        if future is not None:
            try:
                while missing and (got := results.get()) is not None:
                    missing.remove(got[0])
                    yield got
                if missing and not self._closed.is_set():
                    future.result()  # raises what went wrong in this file
            finally:
                future.cancel()
        yield from ((index, self._lost()) for index in sorted(missing))

    def close(self) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)

    def _submitted(self, asked: _Asked, n: int) -> Future[None] | None:
        """The job under way in the loop; None where the model is closed."""
        with self._lock:
            if self._closed.is_set():
                return None
            future = asyncio.run_coroutine_threadsafe(self._answer(asked, list(range(n))), self._loop)
        future.add_done_callback(lambda _future: asked.deliver(None))
        return future

    def _serve(self) -> None:
        """The thread: runs the loop until `close`, then ends whatever is still under way."""
        asyncio.set_event_loop(self._loop)
        self._client = self._made_client()
        self._pace, self._reach = Pace(self._config), Reach(self._config.retry)
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def _made_client(self) -> openai.AsyncOpenAI:
        limits = httpx2.Limits(max_connections=self._config.concurrency, max_keepalive_connections=64)
        timeout = httpx2.Timeout(self._config.answer_seconds, connect=self._config.connect_seconds)
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self._limit_body]}
        client = openai.AsyncOpenAI(
            base_url=self._url,
            api_key=self._secret or _NO_KEY,
            max_retries=0,  # ours know what helps, and count
            timeout=timeout,
            http_client=openai.DefaultAsyncHttpxClient(limits=limits, timeout=timeout, event_hooks=hooks),
        )
        if self._config.base_url is not None:  # the environment's are OpenAI's: another server learns nothing of them
            client.organization = client.project = None
        return client

    async def _limit_body(self, response: httpx2.Response) -> None:
        """Called before the body is read: no server can fill this process's memory."""
        response.stream = _LimitedBody(response.stream, self._config.answer_mib << 20)

    def _within_context(self, messages: Sequence[Message], sampling: Sampling) -> Sampling:
        """Within the model's context, where that is known: some servers refuse what does not fit, others cut it."""
        if self._context is None:
            return sampling
        room = self._context - self._count(messages)
        return replace(sampling, max_tokens=min(room, room if sampling.max_tokens is None else sampling.max_tokens))

    async def _answer(self, asked: _Asked, indices: list[int]) -> None:
        """Deliver a completion for each index, in requests of as many as may go together."""
        if self._context is not None and (asked.sampling.max_tokens or 0) <= 0:
            failure = Failure(FailureKind.PROMPT_TOO_LONG, f"no room for an answer in {self._context} tokens")
            for index in indices:
                asked.deliver((index, Completion(failure=failure, attempts=0, model=self._name)))
            return
        most = 1 if self._one_by_one else self._config.answers_per_request or len(indices) or 1
        groups = [indices[i : i + most] for i in range(0, len(indices), most)]
        await asyncio.gather(*(self._answer_group(asked, group) for group in groups))

    async def _answer_group(self, asked: _Asked, group: list[int]) -> None:
        got = await self._got(asked, len(group), group[0])
        if got.fault and len(group) > 1 and got.fault.kind is FailureKind.REFUSED:
            await self._after_refusal(asked, group, got)
            return
        if got.fault:
            got.completions.extend(self._failed(got) for _ in group)
        for index, completion in zip(group, got.completions, strict=False):
            asked.deliver((index, replace(completion, attempts=got.attempts, seconds=got.seconds)))
        if rest := group[len(got.completions) :]:
            self._one_by_one = self._one_by_one or len(got.completions) == 1
            await self._answer(asked, rest)

    async def _after_refusal(self, asked: _Asked, group: list[int], refused: _Got) -> None:
        """A request for several was refused: does the server take one for one? If not, that is the answer to all."""
        one = await self._got(asked, 1, group[0])
        attempts, seconds = refused.attempts + one.attempts, refused.seconds + one.seconds
        if one.fault and one.fault.kind is FailureKind.REFUSED:
            for index in group:
                asked.deliver((index, replace(self._failed(one), attempts=attempts, seconds=seconds)))
            return
        self._one_by_one = self._one_by_one or one.fault is None
        completion = self._failed(one) if one.fault else one.completions[0]
        asked.deliver((group[0], replace(completion, attempts=attempts, seconds=seconds)))
        await self._answer(asked, group[1:])

    async def _got(self, asked: _Asked, n: int, first: int) -> _Got:
        """Ask until there are answers, or a fault that does not pass, or too many were."""
        start, faults = time.monotonic(), list[Fault]()
        while not faults or self._is_worth_another(faults):
            if faults:
                await asyncio.sleep(self._wait_seconds(faults[-1], len(faults)))
            try:
                found = await self._reply(self._request(asked, n, first), n)
                self._reach.note(None)
                return _Got(found, None, len(faults) + 1, time.monotonic() - start)
            except Fault as fault:
                self._reach.note(fault)
                faults.append(fault)
        is_the_end = self._reach.is_the_end(faults[-1])
        return _Got([], faults[-1], len(faults), time.monotonic() - start, is_the_end)

    def _is_worth_another(self, faults: list[Fault]) -> bool:
        """Whether to ask once more after these."""
        retry = self._config.retry
        if faults[-1].is_absence:  # no fault of this request, so it is not counted
            return not self._reach.is_given_up
        counted, costly = sum(not f.is_absence for f in faults), sum(f.is_costly for f in faults)
        return faults[-1].passing and counted < retry.attempts and costly < retry.timed_out

    def _wait_seconds(self, fault: Fault, attempt: int) -> float:
        retry = self._config.retry
        wait = backoff_seconds(retry, attempt, self._draw)
        if fault.is_absence:
            return min(wait, LOOK_SECONDS)
        if fault.pause_seconds is None:
            return wait
        pause = min(fault.pause_seconds, retry.longest_seconds)
        self._pace.pause(pause)
        # Behind the pause all waiting requests would leave at once.
        return pause + min(wait, retry.first_seconds)

    async def _reply(self, request: dict[str, Any], n: int) -> list[Completion]:
        """The answers of one request. Raises Fault."""
        async with self._pace.turn():
            try:
                async with asyncio.timeout(self._config.answer_seconds):
                    raw = await self._client.chat.completions.with_raw_response.create(**request)
                return read_reply(raw.content, self._name, n)
            except Exception as error:  # whatever the client makes of what a server sends
                raise fault_of(error, self._secret) from error

    def _request(self, asked: _Asked, n: int, first: int) -> dict[str, Any]:
        sampling = asked.sampling
        fields: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self._config.max_tokens_field: sampling.max_tokens,
            "stop": list(sampling.stop) or None,
            "seed": None if sampling.seed is None else (sampling.seed + first) % 2**31,
            "logprobs": True if sampling.logprobs else None,
            "n": n if n > 1 else None,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return {"model": self._name, "messages": asked.messages, **given, "extra_body": self._config.extra_body or None}

    def _failed(self, got: _Got) -> Completion:
        assert got.fault is not None
        return Completion(failure=got.fault.failure(got.attempts, is_for_all=got.is_the_end), model=self._name)

    def _lost(self) -> Completion:
        return Completion(failure=Failure(FailureKind.CLOSED, "the model was closed"), attempts=0, model=self._name)


class _LimitedBody(httpx2.AsyncByteStream):
    """A body that is read up to a bound."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > self._most:
                raise ReplyTooLarge(f"the reply is larger than {self._most >> 20} MiB (model.server.answer_mib)")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _wire(message: Message) -> dict[str, str]:
    """What travels: a text with half a character in it is no JSON."""
    return {"role": message.role, "content": message.content.encode("utf-8", "replace").decode("utf-8")}


def _checked_url(url: str | None) -> str:
    if url is None:
        return OPENAI_URL
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{url!r} is no address of a server; one looks like http://localhost:8000/v1")
    return url


def _secret(config: ServerConfig) -> str | None:
    """The key, or None where none is needed. Raises UsageError where it is missing; names the variable alone."""
    name = config.api_key_env or (OPENAI_KEY if config.base_url is None else None)
    if name is None:
        return None
    value = os.environ.get(name, "").strip()
    if not value:
        remedy = "set it, or name another with model.server.api_key_env"
        hint = "" if config.base_url else "; a server of your own needs --base-url"
        raise UsageError(f"the environment variable {name}, which holds the server's key, is not set: {remedy}{hint}")
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"the environment variable {name} does not hold a key: it has characters that no key has")
    return value
