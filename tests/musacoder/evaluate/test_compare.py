"""Two runs are compared over the tasks that both have, each resample with the same tasks of both."""

from __future__ import annotations

import pytest
from support.small_runs import small_run

from mooreeval.errors import UsageError
from musacoder.evaluate import compare


def named(comparison, name: str, view: str = "first"):
    return next(d for d in comparison.differences if (d.name, d.view) == (name, view))


def test_only_common_tasks_are_compared_by_their_content():
    first = small_run({"a": ["correct", "incorrect"], "b": ["incorrect", "incorrect"], "gone": ["correct", "correct"]})
    second = small_run({"a": ["correct", "correct"], "b": ["incorrect", "incorrect"], "new": ["illegal", "illegal"]})
    found = compare(first, second)
    # Over a and b: Avg goes from (1/2 + 0) / 2 to (1 + 0) / 2.
    assert (found.common_tasks, found.only_first, found.only_second) == (2, 1, 1)
    average = named(found, "Avg")
    assert (average.first, average.second, average.difference) == (0.25, 0.5, 0.25)
    assert [(c.name, c.first, c.second) for c in found.better] == [("a", 0.5, 1.0)]
    assert (found.worse, found.equal) == ((), 1)


def test_the_interval_is_of_paired_differences():
    # Every task gains exactly a half, however hard it is: paired, the difference is certain; unpaired it would not be.
    first = {f"t{i}": ["correct", "incorrect"] if i % 2 else ["incorrect", "incorrect"] for i in range(10)}
    second = {f"t{i}": ["correct", "correct"] if i % 2 else ["correct", "incorrect"] for i in range(10)}
    average = named(compare(small_run(first), small_run(second)), "Avg")
    assert (average.low, average.difference, average.high) == pytest.approx((0.5, 0.5, 0.5))


def test_a_run_compared_with_itself_differs_in_nothing():
    run = small_run({"a": ["2/1", "incorrect"], "b": ["1/1", "wmma?"]})
    found = compare(run, run)
    assert found.differences
    assert all((d.difference, d.low, d.high) == (0, 0, 0) for d in found.differences)
    assert found.cautions == ()


def test_swapping_the_runs_swaps_the_signs():
    first = small_run({"a": ["2/1", "incorrect"], "b": ["1/1", "illegal"], "c": ["illegal", "illegal"]})
    second = small_run({"a": ["1/1", "illegal"], "b": ["2/3", "correct"], "c": ["correct", "2/2"]})
    there, back = compare(first, second), compare(second, first)
    for one, other in zip(there.differences, back.differences, strict=True):
        assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))


def test_a_task_that_one_run_could_not_judge_is_not_held_against_it():
    first = small_run({"a": ["correct"], "b": ["correct"]})
    second = small_run({"a": ["wmma?"], "b": ["correct"]})
    average = named(compare(first, second), "Avg")
    assert (average.difference, average.tasks) == (0.0, 1)


def test_speed_is_compared_where_both_runs_timed_it():
    first = small_run({"a": ["2/2"], "b": ["2/2"]})
    second = small_run({"a": ["1/"], "b": ["2/"]})
    names = {d.name for d in compare(first, second).differences}
    assert "faster than eager" in names
    assert "faster than compile" not in names


def test_emulation_and_a_device_are_never_compared():
    with pytest.raises(UsageError, match="different evidence"):
        compare(small_run({"a": ["correct"]}), small_run({"a": ["correct"]}, evidence="emulation"))


def test_other_differences_between_runs_are_said():
    found = compare(small_run({"a": ["correct"]}), small_run({"a": ["correct", "correct"]}, policy="mixed"))
    assert found.cautions == ("samples differs: 1 and 2", "policy differs: native and mixed")
    assert [d.name for d in found.differences if d.view == "first"][:1] == ["Pass@1"]


def test_runs_without_a_common_task_have_no_differences():
    found = compare(small_run({"a": ["correct"]}), small_run({"b": ["correct"]}))
    assert (found.common_tasks, found.differences) == (0, ())
