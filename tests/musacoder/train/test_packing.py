"""A plan holds what was drawn, in sequences that are never too long and rarely empty."""

import numpy as np
import pytest

from musacoder.train.packing import plan_of

LENGTHS = np.random.default_rng(0).integers(20, 400, 2000)
ONES = np.ones(2000)


def test_every_row_is_in_the_plan_once_an_epoch():
    plan = plan_of(LENGTHS, ONES, 3, 0, 1024)
    assert np.bincount(plan.rows).tolist() == [3] * 2000
    assert sum(len(plan[i]) for i in range(len(plan))) == 6000
    assert plan.tokens == 3 * LENGTHS.sum()


def test_no_sequence_is_too_long_and_all_together_are_nearly_full():
    plan = plan_of(LENGTHS, ONES, 2, 0, 1024)
    assert max(LENGTHS[plan[i]].sum() for i in range(len(plan))) <= 1024
    assert plan.tokens / (len(plan) * 1024) > 0.95


def test_without_packing_each_sequence_holds_one_row():
    plan = plan_of(LENGTHS, ONES, 1, 0, 1024, packing=False)
    assert len(plan) == 2000
    assert sorted(plan.rows) == list(range(2000))


def test_rows_of_weight_0_are_never_in_it():
    weights = (LENGTHS <= 300).astype(float)
    plan = plan_of(LENGTHS, weights, 2, 0, 300)
    assert LENGTHS[plan.rows].max() <= 300
    assert len(plan.rows) == pytest.approx(4000, abs=2)


def test_a_part_of_an_epoch_is_a_part_of_the_draws():
    assert len(plan_of(LENGTHS, ONES, 1.5, 0, 1024).rows) == 3000
    assert len(plan_of(LENGTHS, ONES, 0.25, 0, 1024).rows) == 500


def test_the_first_sequences_of_a_longer_plan_are_those_of_a_shorter_one():
    short, long = (plan_of(LENGTHS, ONES, epochs, 7, 1024) for epochs in (1, 3))
    assert long.rows[: len(short.rows)].tolist() == short.rows.tolist()
    first = long.first(5, LENGTHS)
    assert len(first) == 5
    assert first.tokens == LENGTHS[first.rows].sum()
    assert first[4].tolist() == long[4].tolist()


def test_neighbours_of_a_sequence_are_others_in_each_epoch():
    plan = plan_of(LENGTHS, ONES, 2, 0, 1024)
    beside = [set(map(int, plan[i])) for i in range(len(plan)) if 0 in plan[i]]
    assert len(beside) == 2
    assert beside[0] != beside[1]
