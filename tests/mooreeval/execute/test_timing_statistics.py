"""The estimator of a speed-up: golden values, and its coverage by simulation."""

import random

import pytest

from mooreeval.execute.timing_statistics import estimate


def test_the_median_moves_little_with_an_outlier():
    assert estimate([1.0, 1.01, 0.99, 1.0, 1.02, 50.0]).value == pytest.approx(1.005)


def test_the_interval_is_between_the_order_statistics_of_the_table():
    # Ranks of the distribution-free 95 % interval of a median: 6 -> 1..6, 9 -> 2..8, 20 -> 6..15, 30 -> 10..21.
    for n, low, high in ((6, 1, 6), (9, 2, 8), (20, 6, 15), (30, 10, 21)):
        found = estimate([float(k) for k in range(1, n + 1)])
        assert (found.low, found.high) == (low, high)


def test_few_values_have_no_interval():
    assert estimate([2.0, 3.0]).width == float("inf")


@pytest.mark.parametrize("n", [6, 11, 20])
def test_the_interval_covers_the_true_median_at_least_as_often_as_it_says(n):
    source = random.Random(5)
    hits = 0
    for _ in range(2000):
        found = estimate([source.lognormvariate(0, 0.3) for _ in range(n)])
        hits += found.low <= 1.0 <= found.high
    assert hits / 2000 >= 0.93
