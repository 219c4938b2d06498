"""A checkpoint of transformers on its device: token ids in, token ids and log-probabilities out.

Imports torch and transformers, so it is imported when a model is opened. Log-probabilities are the model's own, before
temperature and top-p, as servers give them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LogitsProcessor, LogitsProcessorList, StoppingCriteria
from transformers import StoppingCriteriaList as Criteria

from musacoder.models.config import LocalConfig
from musacoder.models.types import Sampling

_NO_BOUND = 1 << 20  # tokens of a model that names no context


@dataclass(frozen=True)
class Generated:
    """One answer's tokens, without what fills its batch up."""

    token_ids: tuple[int, ...]  # the one that ends it included
    logprobs: tuple[float, ...] | None
    finish_reason: str  # "stop" or "length"


class Checkpoint:
    """One model; one caller at a time."""

    def __init__(self, path: str, tokenizer: Any, config: LocalConfig) -> None:
        """Raises whatever transformers makes of a folder that is no checkpoint."""
        dtype = config.dtype if config.dtype == "auto" else getattr(torch, config.dtype)
        self._tokenizer = tokenizer
        self._model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=dtype).to(_device(config.device)).eval()
        self._ends = self._end_tokens()

    @property
    def context(self) -> int:
        """Tokens of prompt and answer together."""
        config = self._model.config.get_text_config()
        return getattr(config, "max_position_embeddings", None) or _NO_BOUND

    @property
    def model(self) -> Any:
        """The model itself, in evaluation mode."""
        return self._model

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end an answer."""
        return self._ends

    def generate(
        self, ids: list[int], n: int, seed: int | None, room: int, sampling: Sampling, closed: threading.Event
    ) -> list[Generated]:
        """n answers of at most `room` tokens; they end early once `closed` is set."""
        recorder = _Recorder() if sampling.logprobs else None
        prompt = torch.tensor([ids], device=self._model.device)
        with torch.inference_mode(), self._seeded(seed):
            sequences = self._model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                num_return_sequences=n if sampling.temperature != 0 else 1,
                logits_processor=LogitsProcessorList([recorder] if recorder else []),
                stopping_criteria=Criteria([_Closed(closed)]),
                **self._options(room, sampling),
            )
        rows = sequences[:, len(ids) :].tolist()
        logprobs = recorder.finished(sequences) if recorder else [None] * len(rows)
        made = [self._trimmed(row, p, sampling.stop) for row, p in zip(rows, logprobs, strict=True)]
        return made * (n // len(made))  # at temperature 0 all are the same

    def _options(self, room: int, sampling: Sampling) -> dict[str, Any]:
        """Of `generate`; what `sampling` leaves open is as the checkpoint says."""
        pad = self._tokenizer.pad_token_id
        options: dict[str, Any] = {
            "max_new_tokens": min(room, sampling.max_tokens or room),
            "pad_token_id": next(iter(sorted(self._ends)), 0) if pad is None else pad,
            "stop_strings": list(sampling.stop) or None,
            "tokenizer": self._tokenizer if sampling.stop else None,
        }
        if sampling.temperature == 0:
            return {**options, "do_sample": False}
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        # Asked for a distribution, a cut that was not asked for would be another one.
        cut = {} if sampling.top_p is None else {"top_k": 0}
        return {**options, "do_sample": True, **{k: v for k, v in drawn.items() if v is not None}, **cut}

    def _end_tokens(self) -> frozenset[int]:
        found = self._model.generation_config.eos_token_id
        found = self._tokenizer.eos_token_id if found is None else found
        return frozenset([] if found is None else [found] if isinstance(found, int) else found)

    @contextlib.contextmanager
    def _seeded(self, seed: int | None) -> Generator[None]:
        """Draws by the seed, if there is one, that leave everybody else's draws as they were."""
        if seed is None:
            yield
            return
        device = self._model.device
        others = {} if device.type == "cpu" else {"device_type": device.type}
        with torch.random.fork_rng(devices=[device] if others else [], **others):
            torch.manual_seed(seed % 2**63)
            yield

    def _trimmed(self, row: list[int], logprobs: list[float] | None, stop: tuple[str, ...]) -> Generated:
        length = next((i + 1 for i, token in enumerate(row) if token in self._ends), None)
        if length is None and stop:
            length = self._stopped(row, stop)
        reason = "length" if length is None else "stop"
        return Generated(tuple(row[:length]), tuple(logprobs[:length]) if logprobs else None, reason)

    def _stopped(self, row: list[int], stop: tuple[str, ...]) -> int | None:
        """How many tokens lead up to the first stop string; None where there is none."""

        def has(length: int) -> bool:
            return any(text in self._tokenizer.decode(row[:length]) for text in stop)

        if not has(len(row)):
            return None
        low, high = 1, len(row)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if has(middle) else (middle + 1, high)
        return low


def is_shortage(error: Exception) -> bool:
    """Whether a smaller batch may help."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "out of memory" in str(error).lower()


def _device(name: str) -> str:
    if name != "auto":
        return name
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return str(accelerator or "cpu")


class _Closed(StoppingCriteria):
    """Ends a generation once the model was closed."""

    def __init__(self, closed: threading.Event) -> None:
        self._closed = closed

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        del scores, kwargs
        return torch.full((input_ids.shape[0],), self._closed.is_set(), device=input_ids.device, dtype=torch.bool)


class _Recorder(LogitsProcessor):
    """Keeps of each step's distribution the one number that is wanted: all of them would be gigabytes."""

    def __init__(self) -> None:
        self._last: torch.Tensor | None = None  # log-probabilities (answers, vocabulary) of the token drawn next
        self._taken: list[torch.Tensor] = []  # (answers,) each

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        self._take(input_ids)
        self._last = torch.log_softmax(scores.float(), dim=-1)
        return scores

    def finished(self, sequences: torch.Tensor) -> list[list[float]]:
        """One list for each answer, as long as the longest."""
        self._take(sequences)
        return torch.stack(self._taken, dim=1).tolist()

    def _take(self, sequences: torch.Tensor) -> None:
        """What the token was drawn with that now stands at the end."""
        if self._last is not None:
            self._taken.append(self._last.gather(1, sequences[:, -1:])[:, 0])
