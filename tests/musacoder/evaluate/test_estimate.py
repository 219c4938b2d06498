"""Pass@k is the probability that it says it is, and intervals are those of the bootstrap."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from musacoder.evaluate.estimate import Column, estimate, pass_at_k


@pytest.mark.parametrize("n", range(1, 9))
def test_pass_at_k_is_the_share_of_all_choices_of_k_that_hold_a_correct_one(n):
    for c, k in product(range(n + 1), range(1, n + 1)):
        choices = list(combinations(range(n), k))
        share = sum(any(i < c for i in chosen) for chosen in choices) / len(choices)
        assert pass_at_k(n, c, k) == pytest.approx(share, abs=1e-12)


def test_pass_at_k_of_the_textbook():
    # n = 5, c = 2, k = 3: 1 - C(3, 3) / C(5, 3) = 1 - 1/10
    assert pass_at_k(5, 2, 3) == pytest.approx(0.9)
    assert pass_at_k(200, 1, 100) == pytest.approx(0.5)  # one in 200 is among any 100 half of the time


def test_of_fewer_than_k_samples_all_are_taken():
    assert pass_at_k(3, 1, 8) == 1.0
    assert pass_at_k(3, 0, 8) == 0.0
    assert all(pass_at_k(3, c, 8) == pass_at_k(3, c, 3) for c in range(4))


@pytest.mark.parametrize(("n", "c", "k"), [(0, 0, 1), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_numbers_that_mean_nothing_are_refused(n, c, k):
    with pytest.raises(ValueError, match="no Pass@"):
        pass_at_k(n, c, k)


def column(over: list[float], under: list[float] | None = None) -> Column:
    return Column(np.array(over), np.array(under or [1.0] * len(over)), len(over))


def test_the_interval_is_that_of_all_resamples():
    # Three tasks of values 0, 0, 1. Of the 27 resamples 8 have mean 0 (30 %), 12 have 1/3, 6 have 2/3, 1 has 1 (3.7 %):
    # the 2.5th percentile is 0, the 97.5th is 1.
    found = estimate(column([0, 0, 1]), 4000, 7)
    assert found is not None
    assert (found.value, found.low, found.high) == (pytest.approx(1 / 3), 0.0, 1.0)


def test_a_ratio_is_resampled_as_a_ratio():
    # Two tasks, 9 of 10 and 0 of 90: a resample gives 9/10 (1/4), 9/100 (1/2) or 0 (1/4), never a mean of shares.
    found = estimate(column([9, 0], [10, 90]), 4000, 7)
    assert found is not None
    assert (found.value, found.low, found.high) == (0.09, 0.0, 0.9)


def test_a_single_task_has_no_interval_and_none_no_value():
    assert estimate(column([1]), 100, 0).low is None
    assert estimate(column([1, 0], [1, 0]), 100, 0).low is None  # a second task that says nothing
    assert estimate(column([0, 0], [0, 0]), 100, 0) is None
    assert estimate(Column(np.array([]), np.array([]), 0), 100, 0) is None


def test_the_same_seed_gives_the_same_interval_and_another_seed_nearly_the_same():
    values = list(np.random.default_rng(1).random(60))
    one, same, other = (estimate(column(values), 2000, seed) for seed in (0, 0, 1))
    assert one == same
    assert one != other
    assert one.low == pytest.approx(other.low, abs=0.02)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    generator = np.random.default_rng(5)
    held = 0
    for seed in range(200):
        # Tasks are of differing difficulty, with mean 0.3; 8 samples of each.
        shares = generator.binomial(8, generator.beta(0.6, 1.4, size=80)) / 8
        found = estimate(column(list(shares)), 400, seed)
        held += found.low <= 0.3 <= found.high
    assert 176 <= held <= 200  # 95 % of 200 are 190; four standard deviations below are 178
