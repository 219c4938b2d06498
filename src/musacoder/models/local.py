"""A checkpoint that answers in this process, through transformers. No torch before one is opened.

`LocalModel`: one prompt at a time is in the model, with a batch of its answers; other threads wait. `TogetherModel`:
answers to the prompts of all threads are in one batch.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mooreeval.errors import UsageError
from musacoder.models.config import ModelConfig
from musacoder.models.replies import completion_of, one_line
from musacoder.models.tokens import LOCAL_EXTRA, counted, load_tokenizer, prompt_ids
from musacoder.models.types import Completion, Failure, FailureKind, Message, NamedModel, OnCompletion, Sampling

if TYPE_CHECKING:
    from musacoder.models.generation import Checkpoint, Generated


@dataclass(frozen=True)
class _Asked:
    """One call of `sample`."""

    ids: list[int]
    sampling: Sampling


class LocalModel(NamedModel):
    """A model of transformers. Safe for several threads; see `types.Model`."""

    def __init__(self, path: str, config: ModelConfig | None = None) -> None:
        """Loads the checkpoint: UsageError where that is not possible."""
        config = config or ModelConfig()
        self._name = Path(path).name or path
        self._tokenizer = load_tokenizer(config.tokenizer or path)
        self._checkpoint: Checkpoint | None = _loaded(path, self._tokenizer, config)
        self._context = config.context_tokens or self._checkpoint.context
        self._most, self._bytes_per_token = config.local.batch, config.bytes_per_token
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return counted(self._tokenizer, messages, self._bytes_per_token)

    def close(self) -> None:
        self._closed.set()  # ends a generation under way after its next token
        with self._lock:
            self._checkpoint = None

    def sample(
        self, messages: Sequence[Message], n: int, sampling: Sampling, *, on_completion: OnCompletion | None = None
    ) -> list[Completion]:
        asked = self._asked(messages, sampling)
        found: list[Completion] = []
        most = self._most
        while len(found) < n:
            start, wanted = time.monotonic(), min(most, n - len(found))
            made = self._batch(asked, len(found), wanted) if isinstance(asked, _Asked) else [asked] * wanted
            most = min(most, len(made))  # what memory has room for
            for completion in made:
                found.append(replace(completion, seconds=time.monotonic() - start, model=self._name))
                if on_completion:
                    on_completion(len(found) - 1, found[-1])
        return found

    def _asked(self, messages: Sequence[Message], sampling: Sampling) -> _Asked | Completion:
        """What is asked, or the failure where the chat template refuses it."""
        try:
            return _Asked(prompt_ids(self._tokenizer, messages), sampling)
        except Exception as error:  # noqa: BLE001  a template raises what it likes
            words = f"the chat template refuses the prompt: {type(error).__name__}: {error}"
            return Completion(failure=Failure(FailureKind.MODEL_ERROR, one_line(words)))

    def _batch(self, asked: _Asked, first: int, n: int) -> list[Completion]:
        """Completions first, first + 1, ...: n of them, or fewer where memory does not suffice for more at once."""
        from musacoder.models.generation import is_shortage

        try:
            return self._answers(asked, first, n)
        except Exception as error:  # noqa: BLE001  whatever a model makes of a prompt ends these answers alone
            if not is_shortage(error) or n == 1:
                failure = Failure(FailureKind.MODEL_ERROR, one_line(f"{type(error).__name__}: {error}"))
                return [Completion(failure=failure, prompt_tokens=len(asked.ids))] * n
        return self._batch(asked, first, n // 2)  # outside: what was tried is let go of with the error

    def _answers(self, asked: _Asked, first: int, n: int) -> list[Completion]:
        room = self._context - len(asked.ids)
        if why := self._no_room(asked):
            return [Completion(failure=why, prompt_tokens=len(asked.ids))] * n
        seed = None if asked.sampling.seed is None else asked.sampling.seed + first
        made: list[Generated] = []
        with self._lock:
            if self._checkpoint is not None:
                made = self._checkpoint.generate(asked.ids, n, seed, room, asked.sampling, self._closed)
        if self._closed.is_set():
            return [Completion(failure=Failure(FailureKind.CLOSED, "the model was closed"))] * n
        return [self._completion(answer, asked) for answer in made]

    def _no_room(self, asked: _Asked) -> Failure | None:
        if len(asked.ids) < self._context:
            return None
        words = f"the prompt has {len(asked.ids)} tokens, the model's context {self._context}"
        return Failure(FailureKind.PROMPT_TOO_LONG, words)

    def _completion(self, answer: Generated, asked: _Asked) -> Completion:
        ids, text = asked.ids, self._tokenizer.decode(answer.token_ids, skip_special_tokens=True)
        for stop in asked.sampling.stop:  # it ends the answer and is no part of it
            text = text.partition(stop)[0]
        # Some templates open the thinking at the end of the prompt: the tag is not among what was generated.
        if self._tokenizer.decode(ids[-8:]).rstrip().endswith("<think>"):
            text = "<think>\n" + text
        return completion_of(
            text,
            None,
            answer.finish_reason,
            prompt_tokens=len(ids),
            completion_tokens=len(answer.token_ids),
            token_ids=answer.token_ids,
            logprobs=answer.logprobs,
        )


class TogetherModel(LocalModel):
    """A model of transformers that answers the prompts of many threads at once. See `types.Model`.

    Answers are drawn by our own sampler: each by its own seed, whatever is in the batch with it. Log-probabilities are
    there where they are the model's own: at temperature 1 and 0.
    """

    def __init__(self, path: str, config: ModelConfig | None = None) -> None:
        """Loads the checkpoint: UsageError where that is not possible, or its layers don't see all that is before."""
        super().__init__(path, config)
        from musacoder.models.batching import Batching

        assert self._checkpoint is not None
        self._context = min(self._context, self._checkpoint.context)
        self._defaults = self._checkpoint.model.generation_config
        self._batching = Batching(self._checkpoint, self._most, self._closed)

    def close(self) -> None:
        super().close()
        self._batching.close()

    def sample(
        self, messages: Sequence[Message], n: int, sampling: Sampling, *, on_completion: OnCompletion | None = None
    ) -> list[Completion]:
        start = time.monotonic()
        asked = self._asked(messages, sampling)
        found: dict[int, Completion] = {}
        answers = self._drawn(asked, n) if isinstance(asked, _Asked) else ((i, asked) for i in range(n))
        for index, completion in answers:
            found[index] = replace(completion, seconds=time.monotonic() - start, model=self._name)
            if on_completion:
                on_completion(index, found[index])
        return [found[index] for index in range(n)]

    def _drawn(self, asked: _Asked, n: int) -> Iterator[tuple[int, Completion]]:
        """Each answer as it ends, and for those that did not come what kept them."""
        from musacoder.models.batching import request_of

        missing, why = set(range(n)), self._no_room(asked)
        if why is None:
            seed = secrets.randbits(32) if asked.sampling.seed is None else asked.sampling.seed
            room = self._context - len(asked.ids)
            try:
                for index, answer in self._batching.ask(
                    request_of(asked.ids, n, seed, room, asked.sampling, self._defaults)
                ):
                    missing.remove(index)
                    yield index, self._completion(self._told(answer, asked), asked)
                why = Failure(FailureKind.CLOSED, "the model was closed")
            except Exception as error:  # noqa: BLE001  whatever a model makes of a prompt ends these answers alone
                why = Failure(FailureKind.MODEL_ERROR, one_line(f"{type(error).__name__}: {error}"))
        for index in missing:
            yield index, Completion(failure=why, prompt_tokens=len(asked.ids))

    @staticmethod
    def _told(answer: Generated, asked: _Asked) -> Generated:
        is_own = asked.sampling.logprobs and asked.sampling.temperature in (0, 1)
        return answer if is_own else replace(answer, logprobs=None)


def _loaded(path: str, tokenizer: object, config: ModelConfig) -> Checkpoint:
    try:
        from musacoder.models.generation import Checkpoint
    except ImportError:
        raise UsageError(f"a model in this process needs transformers: {LOCAL_EXTRA}") from None
    _without_bars_in_files()
    try:
        return Checkpoint(path, tokenizer, config.local)
    except Exception as error:  # noqa: BLE001  whatever a folder that is no checkpoint makes of it
        raise UsageError(f"no model at {path}: {one_line(str(error))}") from None


def _without_bars_in_files() -> None:
    """How far a checkpoint is loaded is for a terminal alone."""
    from transformers.utils.logging import disable_progress_bar

    if not sys.stderr.isatty():
        disable_progress_bar()
