"""Tokens drawn from logits, by numbers that depend on a seed, an answer and a place in it alone. Imports torch.

One uniform number is enough for a token: the distribution is summed up, and where the sum passes the number is the
token. The number is a hash, so that an answer is the same whatever else is in its batch, and a captured graph needs no
generator.
"""

from __future__ import annotations

import hashlib

import torch

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number
_MIX = (-4658895280553007687, -7723592293110705685)  # of the splitmix64 finaliser, as signed numbers
_MANTISSA = 24  # bits of a uniform number: what float32 holds below 1


def row_seed(seed: int, prompt: int, index: int) -> int:
    """A signed 64-bit number for one answer."""
    digest = hashlib.sha256(f"{seed}/{prompt}/{index}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def uniform(seeds_R: torch.Tensor, steps_R: torch.Tensor) -> torch.Tensor:
    """Numbers in (0, 1), float32, one for each row: a hash (splitmix64) of its seed and step, both int64."""
    state = seeds_R + (steps_R + 1) * _GOLDEN
    state = (state ^ _shifted(state, 30)) * _MIX[0]
    state = (state ^ _shifted(state, 27)) * _MIX[1]
    state = state ^ _shifted(state, 31)
    return (_shifted(state, 64 - _MANTISSA).float() + 0.5) * 2.0**-_MANTISSA


def draw(
    logits_RV: torch.Tensor,
    uniform_R: torch.Tensor,
    temperature: float,
    top_p: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (R,) int64 and their log-probabilities (R,) float32 in the distribution at the temperature, uncut."""
    logits_RV = logits_RV.float()
    if temperature == 0:
        tokens_R = logits_RV.argmax(-1)
        return tokens_R, _taken(torch.log_softmax(logits_RV, -1), tokens_R)
    logprobs_RV = torch.log_softmax(logits_RV / temperature, -1)
    weights_RV = logprobs_RV.exp() if top_p == 1 else _cut(logprobs_RV.exp(), top_p)
    sums_RV = weights_RV.cumsum(-1)
    tokens_R = (sums_RV < uniform_R[:, None] * sums_RV[:, -1:]).sum(-1).clamp(max=logits_RV.shape[-1] - 1)
    return tokens_R, _taken(logprobs_RV, tokens_R)


@torch.inference_mode()
def plain_logprobs(model: torch.nn.Module, prompt: list[int], answer: list[int], temperature: float) -> torch.Tensor:
    """Log-probabilities (answer,) float32 of an answer by one forward pass over all of it, without any cache."""
    ids = torch.tensor([[*prompt, *answer]], device=next(model.parameters()).device)
    logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
    return _taken(torch.log_softmax(logits / (temperature or 1.0), -1), ids[0, len(prompt) :])


def _taken(logprobs_RV: torch.Tensor, tokens_R: torch.Tensor) -> torch.Tensor:
    return logprobs_RV.gather(-1, tokens_R[:, None])[:, 0]


def _cut(weights_RV: torch.Tensor, top_p: float) -> torch.Tensor:
    """Weights without the tail beyond the first tokens that together reach top_p; the likeliest stays always."""
    sorted_RV, order_RV = weights_RV.sort(-1, descending=True)
    before_RV = sorted_RV.cumsum(-1) - sorted_RV
    return torch.zeros_like(weights_RV).scatter(-1, order_RV, sorted_RV * (before_RV < top_p))


def _shifted(state: torch.Tensor, by: int) -> torch.Tensor:
    """A shift to the right of 64 bits that fills up with zeros."""
    return (state >> by) & ((1 << (64 - by)) - 1)
