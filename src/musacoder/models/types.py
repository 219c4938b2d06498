"""What is asked of a model and what comes back: frozen values and one protocol. No torch.

A model is asked for n answers and gives n completions, each an answer or a failure with its class. Whatever a server
does is one of these, never an exception: one bad answer among thousands must not end a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, Self

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Sampling:
    """How answers are drawn. None leaves a field to the model's own default.

    `seed` fixes the draw as far as a model can: n answers of one request are drawn with it, and answer i of those asked
    for one by one with `seed + i`.
    """

    temperature: float | None = 0.7
    top_p: float | None = 1.0
    max_tokens: int | None = 16384  # of one answer, its reasoning included
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: bool = False  # whether token ids and log-probabilities are asked for; not every server has them


class FailureKind(StrEnum):
    """Why there is no answer, by what a person would do about it."""

    RATE_LIMITED = "rate_limited"  # 429, after all attempts
    SERVER_ERROR = "server_error"  # 5xx, after all attempts
    TIMED_OUT = "timed_out"  # 408, or no answer within the time; after all attempts
    UNREACHABLE = "unreachable"  # refused, reset or no such host; after all attempts
    UNAUTHORISED = "unauthorised"  # 401 or 403: the key is missing or wrong
    REFUSED = "refused"  # 400, 404, 422, ...: the server does not take this request
    PROMPT_TOO_LONG = "prompt_too_long"  # the model's context has no room for it
    MALFORMED = "malformed"  # what came is not the protocol's: half a JSON, no choices; after all attempts
    EMPTY = "empty"  # an answer without any text
    ONLY_REASONING = "only_reasoning"  # the model thought until its tokens were spent and gave no answer
    FILTERED = "filtered"  # the provider or the model declined
    MODEL_ERROR = "model_error"  # a model in this process failed: out of memory, a broken checkpoint
    UNKNOWN_TASK = "unknown_task"  # a scripted model has no answer to this task
    CLOSED = "closed"  # the model was closed while the answer was awaited

    @property
    def is_an_answer(self) -> bool:
        """Whether the model did answer, and badly: asking again would draw another answer, not repair a fault."""
        return self in (FailureKind.EMPTY, FailureKind.ONLY_REASONING, FailureKind.FILTERED)


@dataclass(frozen=True)
class Failure:
    """Why there is no answer; `message` is one line and holds no secret."""

    kind: FailureKind
    message: str
    is_for_all: bool = False  # whatever else is asked would fail so too: the server is gone, or refuses the key


@dataclass(frozen=True)
class Completion:
    """Exactly one answer, or why there is none: `text` is None if and only if `failure` is not."""

    text: str | None = None  # what follows the reasoning
    reasoning: str | None = None
    finish_reason: str | None = None  # "stop", "length", ...; as the server calls it
    prompt_tokens: int | None = None
    # Reasoning included. A server counts the answers of one request together: they share its sum by their lengths.
    completion_tokens: int | None = None
    token_ids: tuple[int, ...] | None = None  # of everything that was generated, reasoning included
    logprobs: tuple[float, ...] | None = None  # natural logarithms, one for each generated token
    failure: Failure | None = None
    attempts: int = 1  # requests that this answer took
    seconds: float = 0.0  # wall, all attempts and waiting between them
    model: str = ""  # the name that answered
    warnings: tuple[str, ...] = field(default=())  # what a reader of the result should know: another model's name, ...

    def __post_init__(self) -> None:
        if (self.text is None) != (self.failure is not None):
            raise ValueError("a completion has either a text or a failure")


OnCompletion = Callable[[int, Completion], None]


class Model(Protocol):
    """Something that answers. Use as a context manager, or call `close`. Safe for several threads."""

    @property
    def name(self) -> str:
        """What a report calls it."""
        ...

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        sampling: Sampling,
        *,
        on_completion: OnCompletion | None = None,
    ) -> list[Completion]:
        """Always n completions, failures among them; blocks until the last is there.

        `on_completion(index, completion)` is called in the caller's thread as soon as one is there, in any order.
        """
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt: exact where the tokenizer is known, else an estimate that rather says too many."""
        ...

    def close(self) -> None:
        """Let go of connections and memory; what is still awaited ends as `FailureKind.CLOSED`. Idempotent."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class NamedModel(ABC):
    """What models of ours share: the name that they were opened by, and `with`, which closes them."""

    _name: str

    @property
    def name(self) -> str:
        return self._name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...
