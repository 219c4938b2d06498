"""What is drawn and what comes back: frozen values and one protocol. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Prompt = Sequence[int]  # token ids


@dataclass(frozen=True)
class Drawing:
    """How answers are drawn.

    Training needs `top_p` 1: log-probabilities are those of the whole distribution at the temperature, and a cut would
    make the draw another one than they say. At temperature 0 the likeliest token is taken, and they are the model's.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 1024  # of one answer, the token that ends it included
    seed: int = 0  # the same seed, prompts and n draw the same uniform numbers, whatever stands in a batch together

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.max_tokens < 1:
            raise ValueError("temperature is 0 or more, top_p above 0 and at most 1, max_tokens at least 1")


@dataclass(frozen=True)
class Sample:
    """One answer to one prompt."""

    prompt: int  # its place among the prompts
    index: int  # its place among the answers to it
    token_ids: tuple[int, ...]  # the one that ends it included
    logprobs: tuple[float, ...]  # natural logarithms, one for each token: what the draw went by, at its temperature
    finish_reason: Literal["stop", "length"]


@dataclass(frozen=True)
class Ask:
    """One prompt, and a seed for each answer that is wanted: an answer depends on its seed, not on its neighbours."""

    ids: tuple[int, ...]
    seeds: tuple[int, ...]  # signed 64-bit numbers
    max_tokens: int


class Asks(Protocol):
    """Prompts that come one after the other, maybe while others are answered."""

    @property
    def is_open(self) -> bool:
        """Whether more may come than can be read without waiting."""
        ...

    def next(self, *, wait: bool) -> Ask | None:
        """The next one. None: there is none yet (without waiting), or there never will be (with it)."""
        ...


class Sampler(Protocol):
    """Something that answers many prompts at once."""

    def stream(self, prompts: Iterable[Prompt], n: int, drawing: Drawing) -> Iterator[Sample]:
        """n answers to each prompt, each as soon as it is there, in any order; prompts are taken as there is room."""
        ...

    def sample(self, prompts: Sequence[Prompt], n: int, drawing: Drawing) -> list[list[Sample]]:
        """n answers to each prompt, in the order of prompts and answers."""
        ...


def in_order(samples: Iterable[Sample], prompts: int, n: int) -> list[list[Sample]]:
    """Answers as they came, by prompt and place. ValueError where one is missing."""
    found = {(sample.prompt, sample.index): sample for sample in samples}
    if len(found) != prompts * n:
        raise ValueError(f"{prompts * n} answers were asked for, {len(found)} came")
    return [[found[prompt, index] for index in range(n)] for prompt in range(prompts)]
