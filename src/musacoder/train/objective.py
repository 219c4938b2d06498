"""What reinforcement learning maximises, as pure functions: no engine, no model, no device of their own.

    scores of a trajectory ──prime_echo──> reward ──group_advantages──> advantage of each answer
    log-probabilities ──drift──> mirror_pop: which answers are still on-policy ──grpo_loss──> the loss

Sources: MusaCoder (arXiv 2606.04847) for PrimeEcho and MirrorPop, GRPO (arXiv 2402.03300) for advantages, the clipped
ratio and the penalty. Suffixes of names are shapes: B answers, T tokens of a response, G groups, K answers of a group.
The score of one answer is `mooreeval.reward.reward`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

ALPHA = 0.75  # of PrimeEcho, as the paper has it
ADVANTAGE_EPS = 1e-4


def prime_echo(
    scores: Sequence[float], passed: Sequence[bool], alpha: float = ALPHA, bonus: Sequence[float] = (0.0, 0.0)
) -> float:
    """The reward of a trajectory, anchored on its first turn (PrimeEcho).

        R = alpha * s_1 + (1 - alpha) * max_k s_k + b

    Args:
        scores: s_k, of every turn that was taken, in order.
        passed: whether that turn was right and legal.
        alpha: weight of the first turn; 0 rewards the best turn alone.
        bonus: b where the first turn that passed was the first, the second, ...; none beyond.

    Raises ValueError for a trajectory without turns, a score that is no number, or lists of unequal length.
    """
    if not scores or len(scores) != len(passed):
        raise ValueError(f"{len(scores)} scores and {len(passed)} outcomes are no trajectory")
    if not all(map(math.isfinite, scores)):
        raise ValueError(f"scores {list(scores)} are not all numbers")
    success = next((turn for turn, ok in enumerate(passed) if ok), None)
    early = bonus[success] if success is not None and success < len(bonus) else 0.0
    return alpha * scores[0] + (1 - alpha) * max(scores) + early


def group_advantages(rewards_GK: Tensor, eps: float = ADVANTAGE_EPS, *, scaled: bool = True) -> Tensor:
    """How much better each answer is than its group: (r - mean) / (std + eps).

    NaN marks an answer that was not judged: it counts in no mean and its own advantage is NaN. The deviation is the
    unbiased one; a group of equal rewards, or with one answer, has advantages of zero.

    Args:
        scaled: False leaves out the division.
    """
    mean = rewards_GK.nanmean(dim=1, keepdim=True)
    centred = rewards_GK - mean
    if not scaled:
        return centred
    judged = (~rewards_GK.isnan()).sum(dim=1, keepdim=True)
    variance = centred.nan_to_num(nan=0.0).square().sum(dim=1, keepdim=True) / (judged - 1).clamp(min=1)
    return centred / (variance.sqrt() + eps)


@dataclass(frozen=True)
class Drift:
    """How far the current policy has moved from the one that sampled, for each answer. NaN where there are no tokens.

    With d_t = log pi_current(t) - log pi_behaviour(t) over the tokens of a response:
    """

    absolute_B: Tensor  # mean |d_t|
    signed_B: Tensor  # |mean d_t|: moves of opposite sign cancel
    k2_B: Tensor  # mean d_t^2 / 2, an estimate of the divergence


def drift(current_BT: Tensor, behaviour_BT: Tensor, mask_BT: Tensor) -> Drift:
    """Of log-probabilities; `mask_BT` is 1 at tokens of a response. What is not masked may hold anything, NaN too."""
    inside = mask_BT.bool()
    d_BT = torch.where(inside, current_BT.detach() - behaviour_BT, 0.0)
    tokens_B = inside.sum(dim=1)

    def mean(values_BT: Tensor) -> Tensor:
        return values_BT.sum(dim=1) / tokens_B  # 0 / 0: an empty response has no drift to speak of

    return Drift(mean(d_BT.abs()), mean(d_BT).abs(), mean(d_BT.square()) / 2)


def mirror_pop(moved: Drift, delta: float) -> Tensor:
    """Which answers are kept (B, bool): mean |log rho_t| <= delta (MirrorPop).

    The advantage's sign plays no part. An answer without tokens, or with a log-probability that is no number, was not
    shown to be on-policy and is not kept.
    """
    return moved.absolute_B <= delta


def signed_mean(moved: Drift, delta: float) -> Tensor:
    """What MirrorPop replaces (B, bool): |mean log rho_t| <= delta. Keeps all that MirrorPop keeps, and more."""
    return moved.signed_B <= delta


@dataclass(frozen=True)
class Loss:
    """A loss to descend, and what it is made of; all but `value` without a gradient."""

    value: Tensor  # a scalar: the surrogate's and the penalty's mean over kept answers
    surrogate: Tensor  # a scalar
    penalty: Tensor  # a scalar: the mean KL estimate, before its weight
    clipped: Tensor  # a scalar: share of kept tokens where the bound acted
    kept: Tensor  # a scalar: how many answers counted


def grpo_loss(
    current_BT: Tensor,
    old_BT: Tensor,
    advantages_B: Tensor,
    mask_BT: Tensor,
    keep_B: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    reference_BT: Tensor | None = None,
    beta: float = 0.0,
    answers: Tensor | float | None = None,
) -> Loss:
    """The clipped surrogate with a penalty, a mean over each answer's tokens and then over the kept answers.

        l_t = -min(rho_t A, clip(rho_t, 1 - clip_low, 1 + clip_high) A) + beta (e^u - u - 1),  u = log pi_ref - log pi

    An answer that is not kept counts nowhere: neither in the surrogate, nor in the penalty, nor in the mean.

    Args:
        current_BT: log-probabilities under the policy that is trained; the gradient flows through these.
        old_BT: those that the ratio rho is taken against.
        reference_BT: those of the reference model, where beta > 0.
        keep_B: bool; an answer without tokens is never counted.
        answers: what the sum over kept answers is divided by; none: their number here. With several processes it is
            their number everywhere over the number of processes.
    """
    keep_B = keep_B & mask_BT.any(dim=1)
    inside = mask_BT.bool() & keep_B[:, None]
    # What is not inside is replaced before it is computed with: a NaN times zero would still be a NaN.
    ratio = torch.where(inside, current_BT - old_BT.detach(), 0.0).exp()
    advantage = torch.where(keep_B, advantages_B, 0.0)[:, None]
    bounded = ratio.clamp(1 - clip_low, 1 + clip_high)
    surrogate_BT = -torch.minimum(ratio * advantage, bounded * advantage)
    count = keep_B.sum() if answers is None else torch.as_tensor(answers, device=current_BT.device)
    count = torch.where(count > 0, count, 1)  # where nothing is kept, nothing is learned

    def mean(values_BT: Tensor) -> Tensor:
        each = torch.where(inside, values_BT, 0.0).sum(dim=1) / mask_BT.sum(dim=1).clamp(min=1)
        return each.sum() / count

    surrogate = mean(surrogate_BT)
    penalty = surrogate.new_zeros(())
    if beta:
        if reference_BT is None:
            raise ValueError("a penalty needs the reference's log-probabilities")
        u = torch.where(inside, reference_BT - current_BT, 0.0)
        penalty = mean(u.exp() - u - 1)
    acted = inside & (ratio * advantage > bounded * advantage)
    return Loss(
        surrogate + beta * penalty,
        surrogate.detach(),
        penalty.detach(),
        acted.sum() / inside.sum().clamp(min=1),
        keep_B.sum(),
    )
