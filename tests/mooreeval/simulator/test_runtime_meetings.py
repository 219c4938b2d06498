"""Barriers, votes, warp operations, deadlocks, launches, and the order of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

ORDERS = ("forward", "reverse", "random")
RIGHT = ("warp_sums", "reductions", "votes", "lanes_exit", "divergent_masks", "coordinates", "many_blocks")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("function", RIGHT)
def test_threads_meet_in_every_order(run_kernel, function, order):
    run = run_kernel(function, order=order)
    assert (run.exit_code, run.value, run.findings) == (0, 1, [])


@pytest.mark.parametrize("function", RIGHT)
def test_threads_meet_on_several_host_threads(run_kernel, function):
    run = run_kernel(function, check=False, threads=4)
    assert (run.value, run.findings) == (1, [])


@pytest.mark.parametrize(
    "function", ["warp_sums", "votes", "lanes_exit", "deadlock", "warp_tail_volatile", "spin_lock"]
)
def test_the_portable_context_switch_agrees(run_kernel, portable_runtime_library, function):
    ours, portable = run_kernel(function), run_kernel(function, library=portable_runtime_library)
    assert portable.value == ours.value == 1
    assert [f["message"] for f in portable.findings] == [f["message"] for f in ours.findings]


def test_a_shuffle_from_a_lane_that_does_not_exist_warns(run_kernel):
    run = run_kernel("partial_warp_sums")
    assert run.value == 1 and run.kinds() == set()
    assert "undefined" in run.only("uninitialized")["message"]


@pytest.mark.parametrize("function", ["votes_after_exits", "exited_before_barrier"])
def test_a_barrier_does_not_wait_for_threads_that_exited_but_warns(run_kernel, function):
    run = run_kernel(function)
    assert run.value == 1 and run.kinds() == set() and run.kinds("warning") == {"divergent_barrier"}


@pytest.mark.parametrize("order", ORDERS)
def test_a_mask_that_names_lanes_elsewhere_passes_as_on_hardware_and_warns(run_kernel, order):
    run = run_kernel("too_full_a_mask", order=order)
    assert run.value == 1 and run.kinds() == set()
    assert run.mark("too_full_a_mask") in run.lines(run.only("warp_sync"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("check", [True, False])
def test_a_deadlock_says_who_waits_where_and_the_process_goes_on(run_kernel, order, check):
    run = run_kernel("deadlock", order=order, check=check)
    found = run.only("deadlock")
    assert (run.exit_code, run.value) == (0, 1)  # the launch failed with 719, and the next one works
    assert run.lines(found) == {run.mark("deadlock_warp")}
    assert run.lines(found, "other_offset") == {run.mark("deadlock_barrier")}
    assert "__syncwarp() for lanes 0xffff0000" in found["message"] and found["other_thread"] == [16, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_barriers_on_different_lines_are_an_error_with_both_lines(run_kernel, order):
    run = run_kernel("divergent_barrier", order=order)
    found = run.only("divergent_barrier")
    lines = run.lines(found) | run.lines(found, "other_offset")
    assert found["severity"] == "error" and lines == {run.mark("diverges_first"), run.mark("diverges_second")}


def test_orders_differ_and_repeat_for_the_same_seed(run_kernel):
    def codes(check: bool) -> list[int]:
        forward, reverse = (run_kernel("order", check=check, order=o).value for o in ("forward", "reverse"))
        return [forward, reverse, *(run_kernel("order", check=check, order="random", seed=s).value for s in (1, 2))]

    assert codes(True) == codes(False) and len(set(codes(True))) == 4


def test_impossible_launches_are_refused_with_cuda_s_errors(run_kernel):
    run = run_kernel("bad_launches")
    assert run.value == 1 and run.kinds() == {"launch_error"} and len(run.findings) == 3
    (launch,) = run.report["launches"]
    assert Path(launch.pop("module")).suffix == ".so"
    assert launch == {"kernel": "nothing", "grid": [1, 1, 1], "block": [32, 1, 1], "shared_bytes": 50000, "count": 1}


def test_too_much_static_shared_memory_is_a_launch_error(run_kernel):
    assert "52000 bytes of static shared memory" in run_kernel("big_static").only("launch_error")["message"]


def test_equal_launches_are_counted_together(run_kernel):
    run = run_kernel("many_blocks", check=False)
    assert [(r["kernel"], r["count"]) for r in run.report["launches"]] == [("barrier_work", 5)]
    assert run.report["threads"] == 5 * 300 * 256


def test_a_launch_inside_a_kernel_is_unsupported(run_kernel):
    run = run_kernel("dynamic_parallelism")
    assert run.exit_code == 79 and run.report["unsupported"] == "dynamic parallelism"


def test_a_trap_leaves_a_report_with_escaped_text(run_kernel):
    run = run_kernel("trap", check=False)
    found = run.only("trap")
    assert run.exit_code == 78 and found["message"] == 'assertion "x < n" failed' and found["thread"] == [3, 0, 0]
