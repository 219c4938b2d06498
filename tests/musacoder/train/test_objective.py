"""Golden values are computed by hand; properties hold over many random batches; TRL's own figures where it has them."""

import math

import pytest
import torch
from torch import Tensor
from trl import GRPOTrainer
from trl.trainer.utils import nanstd

from musacoder.train.objective import Drift, drift, group_advantages, grpo_loss, mirror_pop, prime_echo, signed_mean

NAN = float("nan")


@pytest.mark.parametrize(
    ("scores", "passed", "bonus", "reward"),
    [
        ([1.0], [True], (0.2, 0.1), 1.2),
        ([-1.0, 1.0], [False, True], (0.2, 0.1), 0.75 * -1 + 0.25 * 1 + 0.1),
        ([-0.1, -1.0, 1.0], [False, False, True], (0.2, 0.1), 0.75 * -0.1 + 0.25 * 1),
        ([-0.1, -0.3, -1.0], [False, False, False], (0.2, 0.1), -0.1),  # a worse second turn takes nothing
        ([1.4, 1.0], [True, True], (0.2, 0.1), 1.4 + 0.2),
        ([-1.0, 1.0], [False, True], (), -0.5),
    ],
)
def test_prime_echo_is_the_papers_formula(scores: list, passed: list, bonus: tuple, reward: float) -> None:
    assert prime_echo(scores, passed, bonus=bonus) == pytest.approx(reward)


def test_prime_echo_without_an_anchor_is_the_best_turn() -> None:
    assert prime_echo([-1.0, -0.2, 1.3], [False, False, True], alpha=0.0) == 1.3


@pytest.mark.parametrize(("scores", "passed"), [([], []), ([1.0], []), ([NAN], [False]), ([math.inf], [True])])
def test_what_is_no_trajectory_has_no_reward(scores: list, passed: list) -> None:
    with pytest.raises(ValueError, match=r"no trajectory|not all numbers"):
        prime_echo(scores, passed)


def test_advantages_are_those_of_a_hand() -> None:
    rewards = torch.tensor([[1.0, -1.0, -1.0, 1.0], [0.5, 0.5, 0.5, 0.5], [1.0, NAN, -1.0, NAN], [2.0, NAN, NAN, NAN]])
    root = math.sqrt(4 / 3)
    expected = torch.tensor(
        [
            [1 / root, -1 / root, -1 / root, 1 / root],
            [0.0, 0.0, 0.0, 0.0],
            [1 / math.sqrt(2), NAN, -1 / math.sqrt(2), NAN],
            [0.0, NAN, NAN, NAN],
        ]
    )
    torch.testing.assert_close(group_advantages(rewards, eps=1e-12).nan_to_num(nan=9), expected.nan_to_num(nan=9))


@pytest.mark.parametrize("seed", range(5))
def test_advantages_are_those_of_the_trainer_that_we_stand_on(seed: int) -> None:
    torch.manual_seed(seed)
    rewards = torch.randn(6, 8)
    rewards[torch.rand(6, 8) < 0.2] = NAN
    rewards[0] = 1.0
    theirs = (rewards - rewards.nanmean(dim=1, keepdim=True)) / (nanstd(rewards, dim=1)[:, None] + 1e-4)
    torch.testing.assert_close(group_advantages(rewards), theirs, equal_nan=True)


def _batch(seed: int, rows: int = 64, tokens: int = 12, scale: float = 0.1) -> tuple[Tensor, Tensor, Tensor]:
    """Current and behaviour log-probabilities, and a mask of responses of many lengths."""
    torch.manual_seed(seed)
    behaviour = -torch.rand(rows, tokens) * 3
    current = behaviour + torch.randn(rows, tokens) * scale * torch.rand(rows, 1)
    lengths = torch.randint(1, tokens + 1, (rows, 1))
    return current, behaviour, (torch.arange(tokens) < lengths).long()


def test_signed_drifts_cancel_and_absolute_ones_do_not() -> None:
    current, behaviour = torch.tensor([[-1.0, -1.5, 7.0]]), torch.tensor([[-1.5, -1.0, NAN]])
    moved = drift(current, behaviour, torch.tensor([[1, 1, 0]]))
    torch.testing.assert_close(moved.absolute_B, torch.tensor([0.5]))
    torch.testing.assert_close(moved.signed_B, torch.tensor([0.0]))
    torch.testing.assert_close(moved.k2_B, torch.tensor([0.125]))
    assert signed_mean(moved, 0.1).tolist() == [True] and mirror_pop(moved, 0.1).tolist() == [False]
    assert mirror_pop(moved, 0.5).tolist() == [True]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("delta", [0.01, 0.03, 0.1])
def test_each_mask_is_inside_the_next(seed: int, delta: float) -> None:
    moved = drift(*_batch(seed))
    narrow, ours, wide = moved.k2_B <= delta**2 / 2, mirror_pop(moved, delta), signed_mean(moved, delta)
    assert not (narrow & ~ours).any() and not (ours & ~wide).any()


def test_the_masks_differ_where_it_matters() -> None:
    moved = drift(*_batch(0))
    assert 0 < mirror_pop(moved, 0.03).sum() < signed_mean(moved, 0.03).sum() < 64


def test_padding_changes_nothing() -> None:
    current, behaviour, mask = _batch(1)
    junk = torch.where(torch.rand(64, 5) < 0.5, NAN, 100.0)
    wider = drift(torch.cat([current, junk], 1), torch.cat([behaviour, junk], 1), torch.nn.functional.pad(mask, (0, 5)))
    for mine, other in zip(vars(drift(current, behaviour, mask)).values(), vars(wider).values(), strict=True):
        torch.testing.assert_close(mine, other)


def test_what_cannot_be_shown_to_be_on_policy_is_not_kept() -> None:
    behaviour = torch.tensor([[-1.0, -1.0], [-1.0, NAN], [-1.0, -math.inf]])
    moved = drift(torch.full((3, 2), -1.0), behaviour, torch.tensor([[0, 0], [1, 1], [1, 1]]))
    assert mirror_pop(moved, 10.0).tolist() == [False, False, False]


def _deepseek_mask(moved_current: Tensor, behaviour: Tensor, mask: Tensor, advantages: Tensor, delta: float) -> Tensor:
    kept = GRPOTrainer.get_off_policy_mask(advantages[:, None], moved_current, behaviour, mask, delta)
    return kept[:, 0].bool()


def test_the_sign_of_an_advantage_saves_no_answer_as_it_does_elsewhere() -> None:
    """DeepSeek-V3.2's mask, as TRL has it, keeps every answer with A >= 0 and drops others by a signed mean."""
    current, behaviour, mask = _batch(2)
    moved, delta = drift(current, behaviour, mask), 0.02
    good, bad = torch.ones(64), -torch.ones(64)
    assert _deepseek_mask(current, behaviour, mask, good, delta).all()
    assert not mirror_pop(moved, delta).all()
    theirs = _deepseek_mask(current, behaviour, mask, bad, delta)
    assert not (mirror_pop(moved, delta) & ~theirs).any(), "a one-sided signed mean is wider than the absolute one"


def test_a_bound_on_every_token_is_narrower() -> None:
    """Trust region masking bounds the largest token's drift, which MirrorPop's mean never exceeds."""
    current, behaviour, mask = _batch(3)
    largest = ((current - behaviour).abs() * mask).amax(dim=1)
    kept, ours = largest <= 0.05, mirror_pop(drift(current, behaviour, mask), 0.05)
    assert not (kept & ~ours).any() and kept.sum() < ours.sum()


def test_the_loss_is_that_of_a_hand() -> None:
    current = torch.tensor([[0.0, math.log(1.5)], [math.log(0.5), 0.0], [0.0, 0.0]], requires_grad=True)
    old, reference = torch.zeros(3, 2), torch.full((3, 2), math.log(2.0))
    loss = grpo_loss(
        current,
        old,
        torch.tensor([1.0, -2.0, 5.0]),
        torch.tensor([[1, 1], [1, 0], [1, 1]]),
        torch.tensor([True, True, False]),
        clip_low=0.2,
        clip_high=0.28,
        reference_BT=reference,
        beta=0.1,
    )
    surrogate = ((-1.0 - 1.28) / 2 + 2 * 0.8) / 2  # 1.5 is bounded by 1.28; -min(0.5 * -2, 0.8 * -2) is 1.6
    ratios = [[2.0, 2.0 / 1.5], [4.0]]
    penalties = [sum(r - math.log(r) - 1 for r in row) / len(row) for row in ratios]
    penalty = sum(penalties) / 2
    torch.testing.assert_close(loss.surrogate, torch.tensor(surrogate))
    torch.testing.assert_close(loss.penalty, torch.tensor(penalty))
    torch.testing.assert_close(loss.value, torch.tensor(surrogate + 0.1 * penalty))
    assert loss.kept == 2 and loss.clipped == pytest.approx(2 / 3)
    loss.value.backward()
    assert current.grad is not None and not current.grad[2].any(), "what is not kept moves nothing, by no term"


def test_a_dropped_answer_changes_nothing_whatever_it_holds() -> None:
    current, behaviour, mask = _batch(4, rows=5)
    keep = torch.tensor([True, True, False, True, False])
    bounds = {"clip_low": 0.2, "clip_high": 0.2, "beta": 0.05}

    def value(rows: Tensor) -> Tensor:
        advantages = torch.arange(5.0) - 2
        loss = grpo_loss(
            current[rows],
            behaviour[rows],
            advantages[rows],
            mask[rows],
            keep[rows],
            reference_BT=behaviour[rows],
            **bounds,
        )
        return loss.value

    whole = value(torch.arange(5))
    behaviour[~keep] = NAN
    torch.testing.assert_close(value(torch.arange(5)), whole)
    torch.testing.assert_close(value(torch.tensor([0, 1, 3])), whole)


def test_where_nothing_is_kept_the_loss_is_zero_and_has_a_gradient_of_zero() -> None:
    current = torch.zeros(2, 3, requires_grad=True)
    mask, keep = torch.ones(2, 3), torch.zeros(2, dtype=torch.bool)
    for answers in (None, 0.0):
        loss = grpo_loss(
            current, torch.zeros(2, 3), torch.ones(2), mask, keep, clip_low=0.2, clip_high=0.2, answers=answers
        )
        loss.value.backward()
        assert loss.value == 0 and loss.kept == 0
    assert current.grad is not None and not current.grad.any()


def test_two_processes_add_up_to_one() -> None:
    """Each divides by the kept answers of all over the number of processes; gradients are averaged over processes."""
    current, behaviour, mask = _batch(5, rows=6)
    keep, advantages = torch.tensor([True, False, True, True, True, True]), torch.randn(6)

    def value(rows: slice, answers: float | None) -> Tensor:
        return grpo_loss(
            current[rows],
            behaviour[rows],
            advantages[rows],
            mask[rows],
            keep[rows],
            clip_low=0.2,
            clip_high=0.2,
            answers=answers,
        ).value

    shared = (value(slice(0, 2), 5 / 2) + value(slice(2, 6), 5 / 2)) / 2
    torch.testing.assert_close(shared, value(slice(0, 6), None))


def test_on_policy_the_gradient_is_that_of_policy_gradient() -> None:
    logits = torch.randn(4, 6, 9, requires_grad=True)
    tokens, advantages = torch.randint(9, (4, 6)), torch.randn(4)
    current = logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
    every = torch.ones(4, 6)
    loss = grpo_loss(
        current, current.detach(), advantages, every, torch.ones(4, dtype=torch.bool), clip_low=0.2, clip_high=0.2
    )
    (ours,) = torch.autograd.grad(loss.value, logits, retain_graph=True)
    (plain,) = torch.autograd.grad(-(advantages * current.mean(1)).mean(), logits)
    torch.testing.assert_close(ours, plain)


def test_a_drift_holds_no_gradient() -> None:
    current, behaviour, mask = _batch(6)
    moved: Drift = drift(current.requires_grad_(), behaviour, mask)
    assert not any(value.requires_grad for value in vars(moved).values())
