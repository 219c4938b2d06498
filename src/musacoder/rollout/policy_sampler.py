"""The policy that is trained, as rollouts ask it: messages in, answers with ids and log-probabilities out.

Its weights are the trained model's own, or a copy in another precision that follows them; nothing is restarted.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mooreeval.hashing import content_hash
from musacoder.models.tokens import prompt_ids
from musacoder.models.types import Message
from musacoder.rollout.driver import Answers, Sampled
from musacoder.rollout.sampler import BatchSampler, SamplerOptions
from musacoder.rollout.types import Drawing, Sample


@dataclass(frozen=True)
class Draws:
    """How answers are drawn; each call's seed follows from `seed`, the policy's version and the call's number."""

    temperature: float
    top_p: float
    max_tokens: int
    seed: int


class Policy:
    """The model that is trained, and how many optimisation steps it has taken.

    Whoever changes the weights holds `guard` and counts the step before letting go of it, so that nobody copies weights
    of two steps.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.version, self.guard = model, 0, threading.Lock()


class PolicySampler:
    """See `driver.TurnSampler`. Safe for several threads, which take turns."""

    def __init__(
        self,
        policy: Policy,
        tokenizer: Any,
        draws: Draws,
        *,
        copied: bool = False,
        dtype: torch.dtype | None = None,
        options: SamplerOptions | None = None,
    ) -> None:
        """
        Args:
            copied: whether it samples from a copy of the weights, as it must where the policy is trained meanwhile.
            dtype: of that copy; one other than the policy's needs a copy, too. None: the policy's.
        """
        self._policy, self._tokenizer, self._draws = policy, tokenizer, draws
        other = dtype is not None and dtype != policy.model.dtype
        self._copy = copy.deepcopy(policy.model).to(dtype).requires_grad_(False) if copied or other else None
        self._sampler = BatchSampler(
            policy.model if self._copy is None else self._copy, {tokenizer.eos_token_id}, options
        )
        self._turn = threading.Lock()
        self._drawn_by, self._calls = -1, 0  # the version of the last call, and calls since it was taken over

    def answers(self, prompts: Sequence[Sequence[Message]], n: int) -> Answers:
        """n answers to each prompt, by the policy as it is now."""
        ids = [prompt_ids(self._tokenizer, prompt) for prompt in prompts]
        with self._turn:
            version = self._follow()
            drawn = self._sampler.sample(ids, n, self._drawing(version))
        answers = [[self._answer(p, sample) for sample in several] for p, several in zip(ids, drawn, strict=True)]
        return Answers(version, answers)

    def _answer(self, prompt: Sequence[int], sample: Sample) -> Sampled:
        text = self._tokenizer.decode(sample.token_ids, skip_special_tokens=True)
        return Sampled(text, tuple(prompt), sample.token_ids, sample.logprobs, sample.finish_reason)

    def _follow(self) -> int:
        """The version that is sampled from; the copy's weights are brought up to date."""
        with self._policy.guard:
            if self._copy is not None and self._drawn_by != self._policy.version:
                with torch.no_grad():
                    for mine, trained in zip(self._copy.parameters(), self._policy.model.parameters(), strict=True):
                        mine.copy_(trained)
            return self._policy.version

    def _drawing(self, version: int) -> Drawing:
        self._calls = self._calls + 1 if self._drawn_by == version else 0
        self._drawn_by = version
        draws = self._draws
        seed = int(content_hash([draws.seed, version, self._calls])[:12], 16)
        return Drawing(draws.temperature, draws.top_p, draws.max_tokens, seed)
