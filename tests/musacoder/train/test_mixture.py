"""Rows are drawn as often as their weights say, the same ones each time."""

import json

import numpy as np
import pytest

from mooreeval.errors import UsageError
from musacoder.train.config import MixtureConfig
from musacoder.train.mixture import draws, weights_of

KINDS, FAMILIES = ["kernel_generation", "multi_turn_repair"] * 2, ["matmul", "matmul", "reduction", "reduction"]


def test_of_equal_weights_each_row_is_drawn_once_an_epoch_in_another_order():
    first, second = (draws(np.ones(1000), epoch, seed=3) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(1000))
    assert list(first) != list(second) != list(range(1000))


def test_a_row_is_drawn_as_often_as_it_weighs_on_average():
    weights = np.array([0.0, 0.5, 1.0, 2.5])
    counts = np.mean([np.bincount(draws(weights, 0, seed), minlength=4) for seed in range(2000)], axis=0)
    assert counts == pytest.approx(weights, abs=0.05)


def test_no_single_epoch_strays_from_the_weights_by_a_whole_draw():
    weights = np.random.default_rng(0).random(500)
    counts = np.bincount(draws(weights, 4, seed=1), minlength=500)
    assert (np.abs(counts - weights / weights.mean()) < 1).all()


def test_the_same_seed_and_epoch_give_the_same_draws():
    assert list(draws(np.arange(9.0), 2, 5)) == list(draws(np.arange(9.0), 2, 5))


def test_a_row_weighs_the_product_of_its_kind_and_family():
    config = MixtureConfig(kinds={"multi_turn_repair": 0.5}, families={"reduction": 4, "unheard_of": 9})
    assert weights_of(config, KINDS, FAMILIES).tolist() == [1, 0.5, 4, 2]


def test_a_file_of_weights_is_read_and_the_configuration_wins_over_it(tmp_path):
    file = tmp_path / "weights.json"
    file.write_text(json.dumps({"families": {"matmul": 3, "reduction": 2}, "rates": {"matmul": 0.1}}))
    config = MixtureConfig(weights=file, families={"matmul": 7})
    assert weights_of(config, KINDS, FAMILIES).tolist() == [7, 7, 2, 2]


def test_a_diagnosis_is_such_a_file(tmp_path):
    file = tmp_path / "diagnosis.json"
    rows = [{"family": "matmul", "tasks": 3, "weight": 0.5}, {"family": "reduction", "tasks": 4, "weight": 1.5}]
    file.write_text(json.dumps({"schema_version": 1, "run": "base", "families": rows, "drawn": []}))
    assert weights_of(MixtureConfig(weights=file), KINDS, FAMILIES).tolist() == [0.5, 0.5, 1.5, 1.5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "neither kinds nor families"),
        ('{"families": {"matmul": "much"}}', "no number from 0 on"),
        ('{"families": {"matmul": -1}}', "no number from 0 on"),
        ('{"kinds": {"kernel_generation": 0, "multi_turn_repair": 0}}', "no row has a weight above 0"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, text, words):
    file = tmp_path / "weights.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        weights_of(MixtureConfig(weights=file), KINDS, FAMILIES)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        weights_of(MixtureConfig(weights=tmp_path / "none.json"), KINDS, FAMILIES)
