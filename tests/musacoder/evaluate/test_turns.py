"""First and best turns, turns to success, tokens and seconds."""

from __future__ import annotations

import pytest
from support.runs import judged, sample
from support.small_runs import metrics_of, small_run

from musacoder.evaluate.tallies import cost, spread

# Best turns: 0: 1.5/ of turn 2 (s 1.25 over 1.0); 1: turn 2; 2: the first, nothing later is better; 3: turn 2.
ROWS = {"a": ["1.0/ 1.5/ incorrect", "compile_error correct", "incorrect:0.5 illegal", "wmma? incorrect:0.5"]}


def test_the_best_turn_is_that_of_the_highest_score_not_the_last():
    metrics = metrics_of(small_run(ROWS))
    first, best = metrics.overall.first, metrics.overall.best
    assert (first.scored, first.avg.value) == (3, pytest.approx(1 / 3))
    assert first.score.value == pytest.approx((1 - 1 - 0.25) / 3)
    assert (best.scored, best.avg.value) == (4, 0.5)
    assert best.score.value == pytest.approx((1.25 + 1 - 0.25 - 0.25) / 4)
    assert best.faster_than("eager").rate.value == pytest.approx(1 / 3)  # the untimed correct one is left out


def test_a_later_turn_that_is_lost_takes_nothing_from_an_earlier_one():
    metrics = metrics_of(small_run({"a": ["correct !disk", "correct ~timed_out", "incorrect wmma?"]}))
    assert metrics.overall.best.avg.value == pytest.approx(2 / 3)


def test_a_turn_whose_first_is_lost_is_no_first_turn():
    metrics = metrics_of(small_run({"a": ["- correct", "incorrect"]}))
    assert metrics.overall.first.avg.value == 0.0
    assert metrics.overall.best.avg.value == 0.5


def test_turns_to_success_are_counted_by_the_first_correct_turn():
    turns = metrics_of(
        small_run({**ROWS, "b": ["!x", "correct incorrect", "incorrect !x correct", "-"]})
    ).turns_to_success
    assert [(t.turn, t.count) for t in turns.succeeded] == [(1, 2), (2, 1), (3, 1)]
    assert (turns.failed, turns.unscored) == (2, 2)


def test_with_one_turn_first_and_best_are_the_same():
    group = metrics_of(small_run({"a": ["correct", "incorrect"], "b": ["2/1", "wmma?"]})).overall
    assert group.first.model_copy(update={"view": "best"}) == group.best


def test_tokens_and_seconds_add_up_over_what_is_known():
    samples = [
        sample(prompt_tokens=100, completion_tokens=10, seconds=2.0, asked_at=1000.0, answered_at=1002.0),
        sample(index=1, prompt_tokens=100, completion_tokens=30, seconds=4.0, asked_at=1001.0, answered_at=1005.0),
        sample(index=2, failure=("timed_out", "late"), seconds=60.0, asked_at=1001.0, answered_at=1061.0),
    ]
    verdicts = [judged(queued_at=1002.0, started_at=1003.0, ended_at=1063.5)]
    found = cost(samples, verdicts)
    assert (found.completion_tokens.total, found.completion_tokens.known) == (40, 2)
    assert (found.answer_seconds.total, found.answer_seconds.median) == (66, 4)
    assert (found.judge_seconds.total, found.queue_seconds.total, found.wall_seconds) == (60.5, 1, 63.5)


def test_a_spread_has_the_percentiles_of_its_values():
    found = spread([*range(11), None])
    assert (found.known, found.mean, found.median, found.p90) == (11, 5.0, 5.0, 9.0)
