"""Rates equal what a hand computes from small tables, and nothing unscored is ever a failure."""

from __future__ import annotations

import random

import pytest
from support.small_runs import metrics_of, small_run

from musacoder.evaluate import Run
from musacoder.evaluate.rates import ks

# By hand, with > 1.1 as faster:
#
#   task  samples                                        scored  correct  faster than eager  than compile
#   a     2.0/1.5  1.05/0.9  incorrect:0.5  illegal        4        2      1 of 4 (2.0)       1 of 4 (1.5)
#   b     compile_error x3, unsupported                    3        0      0 of 3             0 of 3
#   c     1.15/1.3  1.0/ (no compile)  not judged  3/1     3        3      2 of 3 (1.15, 3)   1 of 2 (1.3)
TABLE = {
    "a": ["2.0/1.5", "1.05/0.9", "incorrect:0.5", "illegal"],
    "b": ["compile_error", "compile_error", "compile_error", "wmma?"],
    "c": ["1.15/1.3", "1.0/", "!full", "3/1"],
}


@pytest.fixture(scope="module")
def metrics():
    return metrics_of(small_run(TABLE, levels={"a": "1", "b": "1", "c": "2"}, families={"a": "matmul", "b": "loss"}))


def test_pass_at_k_of_the_table(metrics):
    rates = metrics.overall.first
    # k = 1: (2/4 + 0 + 1) / 3. k = 2: a is 1 - C(2,2)/C(4,2) = 5/6, so (5/6 + 0 + 1) / 3. k = 4: (1 + 0 + 1) / 3.
    assert [(p.k, round(p.estimate.value, 6)) for p in rates.pass_at] == [(1, 0.5), (2, 0.611111), (4, 0.666667)]
    assert [p.short_tasks for p in rates.pass_at] == [0, 0, 2]  # b and c have three scored samples


def test_avg_is_the_mean_over_tasks_and_score_the_mean_over_candidates(metrics):
    rates = metrics.overall.first
    assert rates.avg.value == pytest.approx((2 / 4 + 0 / 3 + 3 / 3) / 3)
    # s = 1 + 0.5 * (v - 1) of correct ones, -0.5 + 0.5 q, else -1:
    # a: 1.5 + 1.025 - 0.25 - 1 = 1.275; b: -3; c: 1.075 + 1 + 2 = 4.075; together 2.35 over 10 candidates.
    assert rates.score.value == pytest.approx(0.235)
    assert (rates.tasks, rates.scored, rates.unscored) == (3, 10, 2)


def test_the_faster_rate_of_the_table(metrics):
    eager, compiled = (metrics.overall.first.faster_than(b) for b in ("eager", "compile"))
    assert eager.rate.value == pytest.approx(3 / 10)  # 2.0 of a, 1.15 and 3 of c
    assert compiled.rate.value == pytest.approx(2 / 9)  # 1.5 of a, 1.3 of c; the untimed one left the denominator
    assert (eager.without_baseline, compiled.without_baseline) == (0, 1)
    # Intervals begin 0.1 lower: of eager 1.9 and 2.9 are left, of compile 1.4 and 1.2.
    assert eager.confirmed.value == pytest.approx(2 / 10)
    assert compiled.confirmed.value == pytest.approx(2 / 9)


def test_exactly_ten_per_cent_faster_is_not_faster():
    metrics = metrics_of(small_run({"a": ["1.1/1.1", "1.1000001/1"]}))
    assert metrics.overall.first.faster_than("eager").rate.value == 0.5
    assert metrics.overall.first.faster_than("compile").rate.value == 0.0


def test_unsupported_counts_as_failed_only_in_the_rates_that_say_so(metrics):
    rates = metrics.unsupported_failed.first
    assert (rates.scored, rates.unscored) == (11, 1)
    assert rates.faster_than("eager").rate.value == pytest.approx(3 / 11)
    assert rates.avg.value == pytest.approx((2 / 4 + 0 / 4 + 3 / 3) / 3)
    assert rates.passed(4).value == pytest.approx(2 / 3)
    assert metrics.coverage.asked == 12
    assert {c.name: c.count for c in metrics.coverage.unscored} == {"unsupported": 1, "not_judged": 1}


def test_levels_and_families_are_rates_of_their_tasks(metrics):
    assert [(g.name, g.first.tasks, g.first.avg.value) for g in metrics.levels] == [("1", 2, 0.25), ("2", 1, 1.0)]
    assert [g.name for g in metrics.families] == ["loss", "matmul", "unknown"]


def test_a_task_without_any_scored_candidate_is_in_no_rate():
    with_it = metrics_of(small_run({**TABLE, "d": ["wmma?", "!gone", "~timed_out", "..."]}))
    without = metrics_of(small_run(TABLE))
    for name in ("avg", "score"):
        assert getattr(with_it.overall.first, name).value == getattr(without.overall.first, name).value
    assert with_it.coverage.tasks_unscored == 1
    assert [p.short_tasks for p in with_it.overall.first.pass_at] == [0, 0, 2]  # not three: it is no task of theirs


def test_where_no_correct_candidate_of_a_task_has_the_baseline_the_whole_task_leaves():
    # b was not compiled: counting its failed sample alone would pull the rate down from 1/2 to 1/3.
    metrics = metrics_of(small_run({"a": ["2/2", "incorrect"], "b": ["2/", "incorrect"]}))
    compiled = metrics.overall.first.faster_than("compile")
    assert (compiled.rate.value, compiled.without_baseline) == (0.5, 2)
    assert metrics.overall.first.faster_than("eager").rate.value == 0.5


def test_without_any_timing_speed_is_unknown_and_never_zero():
    metrics = metrics_of(small_run({"a": ["correct", "incorrect"]}))
    assert metrics.overall.first.faster == ()
    assert metrics.overall.first.faster_than("eager").rate is None
    assert metrics.fast_p == ()


def test_where_nothing_is_correct_nothing_is_faster():
    metrics = metrics_of(small_run({"a": ["illegal", "incorrect"]}))
    assert metrics.overall.first.faster_than("eager").rate.value == 0.0


def test_emulation_says_nothing_of_speed_whatever_its_verdicts_hold():
    metrics = metrics_of(small_run({"a": ["2/2", "illegal"]}, evidence="emulation"))
    assert metrics.overall.first.faster == ()
    assert metrics.fast_p == ()


def test_times_that_no_clock_gives_are_no_timing():
    run = small_run({"a": ["2/2", "3/3"]})
    broken = run.verdicts[0].verdict.timing.model_copy(update={"candidate_ms": 0.0})
    verdict = run.verdicts[0].verdict.model_copy(update={"timing": broken})
    run.verdicts[0] = run.verdicts[0].model_copy(update={"verdict": verdict, "reward": None})
    eager = metrics_of(run).overall.first.faster_than("eager")
    assert (eager.rate.value, eager.without_baseline) == (1.0, 1)


def test_fast_p_of_the_table(metrics):
    curve = next(c for c in metrics.fast_p if c.baseline == "eager" and c.view == "first")
    points = {point.p: (point.candidates, point.tasks) for point in curve.points}
    # Speed-ups, 0 for what failed: a 2, 1.05, 0, 0; b 0, 0, 0; c 1.15, 1, 3.
    assert points[0.0] == (5 / 10, 2 / 3)
    assert points[1.0] == (4 / 10, 2 / 3)
    assert points[1.1] == (3 / 10, 2 / 3)
    assert points[2.0] == (1 / 10, 1 / 3)
    assert points[3.0] == (0, 0)
    assert points[1.1][0] == metrics.overall.first.faster_than("eager").rate.value


def test_every_k_is_a_power_of_two_or_all_samples():
    assert [ks(n) for n in (1, 2, 5, 8)] == [[1], [1, 2], [1, 2, 4, 5], [1, 2, 4, 8]]


def test_rates_do_not_depend_on_the_order_of_records():
    run = small_run(TABLE)
    shuffled = small_run(TABLE)
    random.Random(3).shuffle(shuffled.samples)
    random.Random(4).shuffle(shuffled.verdicts)
    assert metrics_of(run) == metrics_of(shuffled)


def test_pass_at_k_grows_with_k_and_pass_at_1_is_avg():
    generator = random.Random(9)
    words = ["correct", "incorrect", "illegal", "wmma?", "!x", "~empty", "~timed_out"]
    for _ in range(20):
        rows = {f"t{i}": [generator.choice(words) for _ in range(6)] for i in range(8)}
        rates = metrics_of(small_run(rows)).overall.first
        values = [p.estimate.value for p in rates.pass_at]
        assert values == sorted(values)
        assert rates.avg is None or values[0] == pytest.approx(rates.avg.value)


def test_what_is_counted_as_failed_has_the_worst_score_too():
    metrics = metrics_of(small_run({"a": ["correct", "wmma?"], "b": ["wmma?", "wmma? incorrect:0.5"]}))
    assert metrics.overall.first.score.value == 1.0
    failed = metrics.unsupported_failed
    assert (failed.first.score.value, failed.first.score.candidates) == (pytest.approx((1 - 3) / 4), 4)
    assert failed.best.score.value == pytest.approx((1 - 1 - 1 - 0.25) / 4)


def untold(run: Run, task: str) -> Run:
    """The same run, the speed-ups of that task over compile without their intervals."""
    gone = {"compile_speedup_low": None, "compile_speedup_high": None}
    verdicts = []
    for judged in run.verdicts:
        found = judged.verdict
        if judged.task == task and found.timing is not None:
            found = found.model_copy(update={"timing": found.timing.model_copy(update=gone)})
        verdicts.append(judged.model_copy(update={"verdict": found}))
    return Run(run.manifest, run.samples, verdicts)


def test_a_time_without_an_interval_confirms_nothing_and_refutes_nothing():
    faster = metrics_of(untold(small_run({"a": ["2/2", "incorrect"], "b": ["illegal", "-"]}), "a")).overall.first
    compiled = faster.faster_than("compile")
    assert compiled.rate.value == pytest.approx(1 / 3)
    assert (compiled.confirmed, compiled.without_interval) == (None, 3)
    assert faster.faster_than("eager").confirmed.value == pytest.approx(1 / 3)
    assert faster.faster_than("eager").without_interval == 0


def test_a_task_without_intervals_leaves_the_confirmed_rate_with_all_its_candidates():
    run = untold(small_run({"a": ["2/2", "incorrect"], "b": ["2/2", "incorrect"], "c": ["illegal", "illegal"]}), "a")
    compiled = metrics_of(run).overall.first.faster_than("compile")
    assert compiled.rate.value == pytest.approx(2 / 6)
    assert (compiled.confirmed.value, compiled.confirmed.candidates) == (pytest.approx(1 / 4), 4)
    assert compiled.without_interval == 2
