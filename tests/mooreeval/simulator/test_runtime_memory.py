"""Bounds, alignment, kinds of memory, and faults: what was hit, by which thread, on which line."""

from __future__ import annotations

import pytest

ORDERS = ("forward", "reverse", "random")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("check", [True, False])
def test_a_right_kernel_gives_right_values_and_no_finding(run_kernel, order, check):
    run = run_kernel("scale", check=check, order=order)
    assert (run.exit_code, run.value, run.findings) == (0, 1, [])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("function", "thread", "words"),
    [
        ("reads_one_past", [29, 0, 0], "read of 4 bytes at byte 120 of an allocation of 120 bytes"),
        ("writes_one_past", [33, 0, 0], "write of 4 bytes at byte 132 of an allocation of 132 bytes"),
        ("writes_before", [0, 0, 0], "write of 4 bytes, 20 bytes before an allocation of 64 bytes"),
        ("copies_too_much", [0, 0, 0], "write of 38 bytes at byte 0 of an allocation of 36 bytes"),
    ],
)
def test_check_mode_finds_what_the_guard_page_cannot(run_kernel, function, thread, words, order):
    run = run_kernel(function, order=order)
    found = run.only("out_of_bounds")
    assert found["severity"] == "error" and words in found["message"]
    assert found["kernel"] == function and found["block"] == [0, 0, 0] and found["thread"] == thread
    assert run.mark(function) in run.lines(found)
    assert run_kernel(function, check=False).exit_code == 0


@pytest.mark.parametrize("check", [True, False])
def test_a_write_far_past_the_end_ends_the_process_with_one_finding(run_kernel, check):
    run = run_kernel("writes_far_past", check=check)
    found = run.only("out_of_bounds")
    assert run.exit_code == 77 and len(run.findings) == 1
    assert "byte 64 of an allocation of 64 bytes" in found["message"] and found["thread"] == [0, 0, 0]
    assert run.mark("writes_far_past") in run.lines(found)


@pytest.mark.parametrize("check", [True, False])
def test_an_index_far_out_is_told_from_the_nearest_allocation(run_kernel, check):
    run = run_kernel("writes_very_far", check=check)
    assert run.exit_code == 77
    assert "byte 400000000 of an allocation of 256 bytes" in run.only("out_of_bounds")["message"]


def test_misaligned_vector_access_is_found_in_every_mode(run_kernel):
    assert run_kernel("aligned_vectors").findings == []
    for check in (True, False):
        run = run_kernel("misaligned_vectors", check=check)
        assert run.kinds() == {"misaligned"}
        assert all(run.mark("reads_vectors") in run.lines(f) for f in run.findings)


@pytest.mark.parametrize("check", [True, False])
def test_use_after_free_is_told_from_a_wild_pointer(run_kernel, check):
    run = run_kernel("use_after_free", check=check)
    assert run.exit_code == 77
    assert "freed device memory (byte 0 of an allocation of 256 bytes)" in run.only("out_of_bounds")["message"]


def test_freeing_twice_is_refused_and_told(run_kernel):
    run = run_kernel("free_twice")
    assert run.value == 1 and run.kinds() == {"api_error"}


def test_host_code_cannot_touch_device_memory(run_kernel):
    run = run_kernel("host_reads_device", check=False)
    found = run.only("host_access")
    assert run.exit_code == 77 and found["kernel"] is None and found["thread"] is None
    assert "byte 12 of an allocation of 256 bytes" in found["message"]
    assert run.mark("host_reads_device") in run.lines(found)


@pytest.mark.parametrize("function", ["kernel_reads_heap", "kernel_reads_host_stack"])
def test_a_kernel_must_not_touch_host_memory(run_kernel, function):
    found = run_kernel(function).only("host_memory")
    assert found["kernel"] == "scale" and found["count"] == 64


@pytest.mark.parametrize("function", ["module_data", "kernel_variable", "deep_stack"])
def test_device_variables_the_own_stack_and_the_arguments_are_no_host_memory(run_kernel, function):
    run = run_kernel(function)
    assert (run.value, run.findings) == (1, [])


def test_races_on_device_variables_are_seen(run_kernel):
    run = run_kernel("module_data_race")
    assert run.mark("races_on_module_data") in run.lines(run.only("race")) | run.lines(run.only("race"), "other_offset")


@pytest.mark.parametrize("check", [True, False])
def test_a_null_pointer_in_a_kernel_is_named(run_kernel, check):
    run = run_kernel("kernel_null", check=check)
    assert run.exit_code == 77 and "null pointer" in run.only("out_of_bounds")["message"]


def test_a_stack_overflow_is_named(run_kernel):
    run = run_kernel("stack_overflow", check=False)
    assert run.exit_code == 77 and run.only("stack_overflow")["kernel"] == "recurses"


@pytest.mark.parametrize("function", ["host_reads_null", "host_aborts", "exception_in_kernel"])
def test_crashes_of_any_kind_leave_a_report(run_kernel, function):
    run = run_kernel(function, check=False)
    assert run.exit_code in (77, 78) and run.kinds() == {"trap"}


def test_integer_division_by_zero_gives_garbage_and_a_warning_as_on_a_gpu(run_kernel):
    run = run_kernel("division_by_zero", check=False)
    found = run.only("trap")
    assert (run.exit_code, run.value, found["severity"]) == (0, 1, "warning")
    assert "by zero" in found["message"] and run.mark("divides") in run.lines(found)


def test_memory_beyond_the_limit_is_refused_and_sizes_are_known(run_kernel):
    run = run_kernel("memory_limit")
    assert run.value == 1 and run.report["peak_bytes"] == 4096


def test_fresh_device_memory_is_nan(run_kernel):
    assert run_kernel("fresh_memory_is_nan").value == 1


def test_a_budget_stops_the_check_and_the_report_says_so(run_kernel):
    whole, part = run_kernel("many_accesses"), run_kernel("many_accesses", budget=10_000)
    assert whole.report["check_stopped"] is False and whole.report["watched_accesses"] == 2 * 65536
    assert part.report["check_stopped"] is True and part.report["watched_accesses"] == 10_000


@pytest.mark.parametrize("order", ORDERS)
def test_a_budget_still_covers_the_last_block(run_kernel, order):
    run = run_kernel("overrun_beyond_budget", budget=6400, order=order)
    assert run.report["check_stopped"] is True and run.report["watched_accesses"] <= 6400
    if order == "random":
        assert run.kinds() <= {"out_of_bounds"}
    else:
        assert run.only("out_of_bounds")["block"] == [999, 0, 0]
