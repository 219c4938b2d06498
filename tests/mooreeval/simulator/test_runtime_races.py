"""Shared memory and the race detector: both lines of every race, and no right kernel accused."""

from __future__ import annotations

import pytest

ORDERS = ("forward", "reverse", "random")

CLEAN = (
    "block_sum",
    "dynamic_shared",
    "bytes_of_a_word",
    "bytes_of_own_block",
    "atomic_counter",
    "shared_counter",
    "last_block_done",
    "last_block_of_threads",
    "warp_tail_synced",
    "warp_tail_volatile",
    "half_warps",
    "spin_lock",
    "flag_between_threads",
    "compare_and_swap_loop",
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("function", CLEAN)
def test_right_kernels_are_not_accused(run_kernel, function, order):
    run = run_kernel(function, order=order)
    assert (run.exit_code, run.value, run.findings) == (0, 1, [])


@pytest.mark.parametrize("function", CLEAN)
def test_right_kernels_are_right_without_check_mode_and_on_several_host_threads(run_kernel, function):
    assert run_kernel(function, check=False, order="random", threads=3).value == 1


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("function", "marks"),
    [
        ("missing_barrier", {"missing_barrier_write", "missing_barrier_read"}),
        ("missing_second_barrier", {"reuse_write", "reuse_read"}),
        ("blocks_accumulate", {"accumulates"}),
        ("blocks_write_different", {"writes_block_number"}),
        ("last_block_without_fence", {"last_block_write"}),
        ("counter_without_barrier", {"counter_without_barrier"}),
        ("reads_unfinished_sum", {"divides_by_unfinished_sum"}),
        ("lanes_write_different", {"lanes_write_different"}),
    ],
)
def test_races_are_errors_with_both_lines(run_kernel, function, marks, order):
    run = run_kernel(function, order=order)
    races = [f for f in run.findings if f["kind"] == "race"]
    assert races and all(f["severity"] == "error" and f["other_thread"] is not None for f in races)
    places = [run.lines(f) | run.lines(f, "other_offset") for f in races]
    assert any({run.mark(m) for m in marks} <= lines for lines in places)


def test_a_pair_of_lines_is_told_once_with_a_count(run_kernel):
    races = [f for f in run_kernel("missing_barrier").findings if f["kind"] == "race"]
    assert len(races) == 1 and races[0]["count"] == 256


@pytest.mark.parametrize("order", ORDERS)
def test_threads_that_write_the_same_value_only_warn(run_kernel, order):
    run = run_kernel("same_value_flag", order=order)
    found = run.only("race")
    assert run.value == 1 and found["severity"] == "warning" and "same value" in found["message"]
    assert run.lines(found) == run.lines(found, "other_offset") == {run.mark("raises_flag")}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("function", ["warp_tail_plain", "across_half_warps"])
def test_code_that_relies_on_lockstep_only_warns(run_kernel, function, order):
    run = run_kernel(function, order=order)
    assert run.kinds() == set() and "warp_sync" in run.kinds("warning")
    (found, *_) = [f for f in run.findings if f["kind"] == "warp_sync"]
    assert run.mark(function) in run.lines(found) | run.lines(found, "other_offset")


def test_shared_memory_has_bounds_per_variable(run_kernel):
    run = run_kernel("static_overrun")
    found = run.only("shared_out_of_bounds")
    assert "byte 128 of a shared variable of 128 bytes" in found["message"] and found["thread"] == [31, 0, 0]
    assert run.mark("static_overrun") in run.lines(found)


def test_a_damaged_red_zone_is_found_without_check_mode(run_kernel):
    assert run_kernel("static_overrun", check=False).kinds() == {"shared_out_of_bounds"}


def test_the_dynamic_area_is_as_large_as_the_launch_says(run_kernel):
    run = run_kernel("dynamic_shared_too_small")
    assert run.kinds() == {"shared_out_of_bounds"}
    assert "byte 396 of the dynamic shared memory: past the 396 bytes that the launch" in run.findings[0]["message"]


@pytest.mark.parametrize("function", ["dynamic_shared_forgotten", "dynamic_shared_forgotten_beside_static"])
@pytest.mark.parametrize("check", [True, False])
def test_dynamic_memory_that_no_launch_asked_for_is_told_as_such(run_kernel, function, check):
    found = run_kernel(function, check=check).only("shared_out_of_bounds")
    assert "at byte 0 of the dynamic shared memory: past the 0 bytes that the launch asked for" in found["message"]


def test_reading_shared_memory_that_nobody_wrote_warns(run_kernel):
    run = run_kernel("reads_unwritten")
    found = run.only("uninitialized")
    assert found["severity"] == "warning" and found["count"] == 16
    assert run.mark("reads_unwritten") in run.lines(found)
