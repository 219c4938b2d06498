"""A prompt, and the turns of a conversation that it continues."""

from __future__ import annotations

from dataclasses import dataclass

from mooreeval.errors import UsageError
from mooreeval.verdict import Verdict
from musacoder.models.types import Message


@dataclass(frozen=True)
class Prompt:
    """What a model is sent. `shortened`: what was left out or cut to fit the budget, in words, in the order taken."""

    messages: tuple[Message, ...]
    shortened: tuple[str, ...]
    tokens: int  # as the model's counter has it


@dataclass(frozen=True)
class Turn:
    """An answer of this conversation and what was said of it.

    `answer` is a completion's text, without its reasoning; `feedback` the text of `mooreeval.feedback.feedback`.
    """

    answer: str
    verdict: Verdict
    feedback: str


class PromptTooLong(UsageError):
    """Not even the shortest prompt of this task fits the budget."""
