"""The run-time API: right calls work, wrong ones fail with CUDA's error and are reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.simulator_headers import Kernels, build_kernels

INVALID_VALUE = 1


@pytest.fixture(scope="module")
def kernels(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build_kernels("calls", runtime_library, tmp_path_factory.mktemp("calls"))


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        ("copy_host_as_device", "the source is not a device pointer"),
        ("copy_device_as_host", "the source is a device pointer"),
        ("copy_too_much", "the destination has fewer bytes left"),
        ("copy_too_much_from_the_middle", "the source has fewer bytes left"),
        ("fill_host", "the destination is not a device pointer"),
        ("fill_too_much", "the destination has fewer bytes left"),
        ("copy_null", "the destination is a null pointer"),
    ],
)
def test_a_wrong_copy_fails_and_says_why(kernels: Kernels, function: str, complaint: str) -> None:
    outcome = kernels.call(function)
    assert outcome.value == INVALID_VALUE
    assert outcome.kinds == {"api_error"}
    assert complaint in outcome.messages


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("right_copies", 1),
        ("symbols", 166),  # no error, right product, six threads counted twice over
        ("launch_by_pointer", 4),
        ("device_queries", 1011),  # an invalid device is error 101
        ("shared_opt_in", 1),
        ("events", 4001),  # never recorded is error 400
    ],
)
def test_right_calls_work_and_are_not_accused(kernels: Kernels, function: str, expected: int) -> None:
    outcome = kernels.call(function)
    assert outcome.value == expected
    assert not outcome.kinds


def test_the_last_error_is_kept_until_it_is_read(kernels: Kernels) -> None:
    assert kernels.call("last_error").value == 110


def test_a_failed_assert_in_a_kernel_is_a_trap_with_its_text(kernels: Kernels) -> None:
    outcome = kernels.call("assert")
    assert outcome.exit_code == 78
    assert outcome.kinds == {"trap"}
    assert "assertion `static_cast<int>(threadIdx.x) < n' failed" in outcome.messages


def test_managed_memory_is_unsupported_by_name(kernels: Kernels) -> None:
    outcome = kernels.call("managed")
    assert outcome.exit_code == 79
    assert outcome.report["unsupported"] == "managed memory"
