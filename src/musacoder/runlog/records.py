"""The records of a run folder: frozen, versioned, strict about unknown fields. Times are Unix seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from mooreeval.errors import UsageError
from mooreeval.verdict import SCHEMA_VERSION as VERDICT_VERSION
from mooreeval.verdict import Record, Verdict
from musacoder.runlog.tokens import TokensTold

SCHEMA_VERSION = 2  # 2: samples may have `tokens`

R = TypeVar("R", bound=Record)


class Key(NamedTuple):
    """Which answer: of which task, which of the n (from 0), in which turn (from 1)."""

    task: str
    index: int
    turn: int


class TaskEntry(Record):
    """One task of a run."""

    name: str
    hash: str  # Task.task_hash
    level: str | None = None
    family: str | None = None  # of operators, where the suite says so


class Manifest(Record):
    """What was run, by what, and on what."""

    schema_version: int = SCHEMA_VERSION
    name: str
    kind: Literal["bench", "generate", "rft"]
    model: str
    suite: str
    samples: int = Field(ge=1)  # of a task
    turns: int = Field(ge=1)  # of a sample at most
    backend: str
    policy: str
    protocol: str
    evidence: Literal["device", "emulation"]
    device: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    config_hash: str
    created_at: float
    tasks: tuple[TaskEntry, ...]


class MessageTold(Record):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class FailureTold(Record):
    """Why there is no answer."""

    kind: str
    message: str  # one line


class Sample(Record):
    """One answer of a model, or why there is none, with the prompt that it was asked."""

    schema_version: int = SCHEMA_VERSION
    task: str
    index: int = Field(ge=0)
    turn: int = Field(ge=1)
    messages: tuple[MessageTold, ...]
    shortened: tuple[str, ...] = ()  # what of the prompt was shortened, and how
    answer: str | None = None
    reasoning: str | None = None
    failure: FailureTold | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tokens: TokensTold | None = None  # where `sampling.logprobs` asks for them and the model gives them
    attempts: int = 1
    seconds: float = 0.0
    answered_by: str | None = None  # the name that the server gave
    warnings: tuple[str, ...] = ()  # what a reader of the result should know
    asked_at: float
    answered_at: float

    @property
    def key(self) -> Key:
        return Key(self.task, self.index, self.turn)

    @model_validator(mode="after")
    def _answer_or_failure(self) -> Self:
        if (self.answer is None) == (self.failure is None):
            raise ValueError("a sample has an answer or a failure, and never both")
        return self


class Judged(Record):
    """What the judge made of one answer: a verdict, or why there is none."""

    schema_version: int = SCHEMA_VERSION
    task: str
    index: int = Field(ge=0)
    turn: int = Field(ge=1)
    verdict: Verdict | None = None
    not_judged: str | None = None
    reward: float | None = None
    feedback: str | None = None
    queued_at: float
    started_at: float
    ended_at: float

    @property
    def key(self) -> Key:
        return Key(self.task, self.index, self.turn)

    @model_validator(mode="after")
    def _verdict_or_reason(self) -> Self:
        if (self.verdict is None) == (self.not_judged is None):
            raise ValueError("there is a verdict, or a reason why there is none, and never both")
        return self


def record_of(kind: type[R], data: Any, place: str) -> R:
    """The record in plain data.

    Raises UsageError, one line that names the place: no such record, or one that another version wrote.
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"{place} is not a record of a run but {type(data).__name__}")
    _require_version(data.get("schema_version"), SCHEMA_VERSION, place)
    if isinstance(inner := data.get("verdict"), Mapping):
        _require_version(inner.get("schema_version"), VERDICT_VERSION, f"the verdict in {place}")
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the record"
        raise UsageError(f"{place} is damaged: {field}: {first['msg']}") from None


def _require_version(version: Any, newest: int, place: str) -> None:
    if isinstance(version, bool) or not isinstance(version, int):
        raise UsageError(f"{place} has no schema_version: it is no record of a run, or damaged")
    if version > newest:
        raise UsageError(
            f"{place} was written by a newer version (schema_version {version}; this one reads up to {newest}): "
            "update musacoder"
        )
    if version < 1:
        raise UsageError(f"{place} has schema_version {version}, older than any that was ever released")
