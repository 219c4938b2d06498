"""Whose kernels ran: by launches of the candidate's modules, never by a kernel's name."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from mooreeval.legality.device_trace import rows_of
from mooreeval.legality.provenance import (
    Emulated,
    HostTraffic,
    OwnLaunch,
    TracedKernel,
    emulated_hits,
    kernel_uses,
    own_share,
    plain_name,
    traced_hits,
)

ATEN = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float*)"


def kernel(name: str, us: float, *operators: str, count: int = 1, grid: int = 8, kind: str = "kernel") -> TracedKernel:
    return TracedKernel(kind, name, (grid, 1, 1), (128, 1, 1), operators, count, us)


def launch(name: str, count: int = 1, grid: int = 8) -> OwnLaunch:
    return OwnLaunch(name, (grid, 1, 1), (128, 1, 1), count)


def rules(traced: list[TracedKernel], own: list[OwnLaunch], policy: str = "native") -> list[str]:
    return [hit.rule for hit in traced_hits(kernel_uses(traced, own), policy)]


@pytest.mark.parametrize(
    ("demangled", "plain"),
    [
        ("twice(float const*, float*, int)", "twice"),
        ("void scan<float, 4>(float*)", "scan<float, 4>"),
        ("void (anonymous namespace)::fill<(int)3>(float*)", "(anonymous namespace)::fill<(int)3>"),
        ("extern_c_kernel", "extern_c_kernel"),
    ],
)
def test_a_kernel_is_called_as_the_counter_of_launches_calls_it(demangled, plain):
    assert plain_name(demangled) == plain


def test_kernels_of_the_candidate_and_copies_of_allowed_operators_pass():
    traced = [
        kernel("product(float const*, float*)", 900.0, count=3),
        kernel(ATEN, 100.0, "aten::contiguous", "aten::clone", "aten::copy_"),
        kernel("Memset (Device)", 5.0, kind="fill"),
    ]
    uses = kernel_uses(traced, [launch("product", 3)])
    assert traced_hits(uses, "native") == []
    assert [(use.owner, use.operator) for use in uses] == [
        ("candidate", None), ("operator", "aten::contiguous"), ("unknown", None),
    ]  # fmt: skip
    assert own_share(uses) == pytest.approx(900 / 1000, abs=1e-4)


def test_a_kernel_that_is_named_like_pytorchs_is_told_from_it_by_who_launched_it():
    traced = [kernel(ATEN, 500.0, "aten::add"), kernel(ATEN, 2.0)]
    uses = kernel_uses(traced, [launch(plain_name(ATEN))])
    assert [(use.owner, use.us) for use in uses] == [("operator", 500.0), ("candidate", 2.0)]
    assert set(rules(traced, [launch(plain_name(ATEN))])) == {"cpp_torch_compute", "decoy_kernel"}


def test_a_launch_that_was_counted_once_does_not_stand_for_two():
    traced = [kernel("product(float*)", 10.0, count=2)]
    assert rules(traced, [launch("product")]) == ["foreign_kernel"]
    assert rules(traced, [launch("product", 2)]) == []


def test_a_kernel_of_nobody_is_foreign_under_either_policy():
    traced = [kernel("product(float*)", 50.0), kernel("sm90_xmma_gemm_f32f32", 40.0)]
    assert rules(traced, [launch("product")]) == ["foreign_kernel"]
    assert rules(traced, [launch("product")], "mixed") == ["foreign_kernel"]


def test_a_name_that_is_demangled_otherwise_is_matched_by_its_shape():
    traced = [kernel("void scan<float, (int)4>(float*)", 50.0, grid=77)]
    assert rules(traced, [launch("scan<float, 4>", grid=77)]) == []
    assert "foreign_kernel" in rules(traced, [launch("scan<float, 4>", grid=76)])


def test_a_decoy_beside_the_copy_that_does_the_work_is_found_by_the_time_it_takes():
    copy = kernel(ATEN, 300.0, "aten::contiguous", "aten::copy_")
    assert rules([kernel("decoy(float*)", 2.0), copy], [launch("decoy")]) == ["decoy_kernel"]
    assert rules([kernel("transpose(float*)", 310.0), copy], [launch("transpose")]) == []
    assert rules([kernel("decoy(float*)", 2.0), copy], [launch("decoy")], "mixed") == []


def test_time_on_the_way_to_the_host_is_nobodys_work():
    own = kernel("product(float*)", 30.0)
    ways = [
        replace(kernel(f"Memcpy {way}", 500.0, "aten::to"), kind="copy")
        for way in ("DtoH (Device -> Pageable)", "HtoD")
    ]
    assert rules([own, *ways], [launch("product")]) == []
    within = replace(kernel("Memcpy DtoD (Device -> Device)", 500.0, "aten::clone"), kind="copy")
    assert rules([own, within], [launch("product")]) == ["decoy_kernel"]


def test_a_short_copy_before_a_short_kernel_is_no_decoy():
    assert rules([kernel("tiny(float*)", 2.0), kernel("copy", 3.0, "aten::clone")], [launch("tiny")]) == []


def test_a_kernel_that_writes_a_few_elements_of_what_was_filled_is_no_decoy():
    traced = [kernel("diagonal(float*)", 2.0), kernel("fill", 900.0, "aten::zeros", "aten::fill_")]
    assert rules(traced, [launch("diagonal")]) == []


def test_what_composes_an_allowed_operator_is_allowed_and_what_a_forbidden_one_is_made_of_is_not():
    own, mine = [launch("mine")], kernel("mine(float*)", 99.0)
    assert rules([mine, kernel("philox", 1.0, "aten::rand", "aten::uniform_")], own) == []
    assert rules([mine, kernel("gemm", 1.0, "aten::linear", "aten::t", "aten::addmm")], own) == ["cpp_torch_compute"]
    assert rules([mine, kernel("gemm", 1.0, "mylib::forward", "aten::mm")], own) == ["cpp_torch_compute"]


# ------------------------------------------------------------------------------------------------------- what is traced
def span(cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: object) -> dict[str, object]:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": args}


def test_an_activity_of_the_device_belongs_to_the_operators_around_its_launch():
    events = [
        {"ph": "M", "name": "process_name"},
        span("cpu_op", "aten::contiguous", 10.0, 30.0),
        span("cpu_op", "aten::clone", 12.0, 20.0),
        span("cuda_runtime", "cudaLaunchKernel", 15.0, 2.0, correlation=1),
        span("cuda_runtime", "cudaLaunchKernel", 50.0, 2.0, correlation=2),
        span("cuda_runtime", "cudaLaunchKernel", 16.0, 2.0, tid=2, correlation=3),
        span("kernel", "copy", 100.0, 4.0, tid=7, correlation=1, grid=[2, 1, 1], block=[64, 1, 1]),
        span("kernel", "mine", 110.0, 6.0, tid=7, correlation=2, grid=[3, 1, 1], block=[64, 1, 1]),
        span("kernel", "mine", 120.0, 8.0, tid=7, correlation=3, grid=[3, 1, 1], block=[64, 1, 1]),
        span("gpu_memset", "Memset (Device)", 130.0, 1.0, tid=7, correlation=9),
    ]
    rows = rows_of(events)
    assert [(r["name"], r["count"], r["us"], r["operators"]) for r in rows] == [
        ("mine", 2, 14.0, ()), ("copy", 1, 4.0, ("aten::contiguous", "aten::clone")), ("Memset (Device)", 1, 1.0, ()),
    ]  # fmt: skip
    assert (rows[2]["kind"], rows[2]["grid"]) == ("fill", (0, 0, 0))


def test_where_no_device_is_the_profiler_runs_quickly_and_tells_nothing(tmp_path):
    code = (
        "import sys, torch; from mooreeval.legality.device_trace import traced\n"
        "done = []\n"
        "print(traced(lambda: done.append(torch.ones(3) + 1)), len(done))\n"
        "print([name for name in sys.modules if name.startswith(('torch._dynamo', 'torch._inductor'))])"
    )
    quiet = {**os.environ, "KINETO_LOG_LEVEL": "99", "PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=quiet, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] 1", "[]"]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------------------------------- on the simulator
HONEST = {
    "modules": ["/inside/module-1f2e/module.so"], "kernel_bytes": 10_000, "operator_bytes": 5_000,
    "outputs": 1, "own_outputs": 1, "host_saw_own_work": False, "watched_whole": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "found"),
    [
        ({}, []),
        ({"modules": ["/cache/module-0000/module.so"]}, ["foreign_kernel"]),
        ({"modules": [None]}, []),
        ({"kernel_bytes": 8}, ["decoy_kernel"]),
        ({"kernel_bytes": 2_500}, []),  # reads once what PyTorch has transposed
        ({"kernel_bytes": 8, "operator_bytes": 100}, []),
        ({"own_outputs": 0}, ["decoy_kernel"]),
        ({"own_outputs": 0, "host_saw_own_work": True}, []),  # finished on the host
        ({"own_outputs": 0, "watched_whole": False}, []),  # an unwatched block may have written it
        ({"own_outputs": 0, "outputs": 0}, []),
    ],
)
def test_what_the_simulator_saw_convicts_decoys_and_nobody_else(difference, found):
    seen = Emulated(**{**HONEST, **difference})
    assert [hit.rule for hit in emulated_hits(seen, ["/cache/module-1f2e/module.so"], "native")] == found


ALONE = {"foreign_taken": 0, "own_taken": 0, "own_before_launch": 0, "given": 0, "returned": 0}


@pytest.mark.parametrize(
    ("crossed", "found"),
    [
        ({}, []),
        ({"foreign_taken": 100_000}, ["host_compute"]),
        ({"foreign_taken": 20_000}, ["host_compute"]),  # a quarter of the inputs
        ({"foreign_taken": 19_999}, []),
        ({"foreign_taken": 8, "own_taken": 8, "own_before_launch": 8, "given": 8}, []),  # numbers
        ({"own_taken": 80_000}, []),  # the result is wanted on the host
        ({"own_taken": 80_000, "returned": 80_000}, []),  # and comes back as it is
        ({"own_taken": 80_000, "own_before_launch": 80_000, "returned": 80_000}, []),
        ({"own_taken": 80_000, "given": 40_000}, ["host_compute"]),
        ({"own_taken": 80_000, "own_before_launch": 80_000}, ["host_compute"]),  # arguments tell the kernel
        ({"own_taken": 80_000, "own_before_launch": 4}, []),
    ],
)
def test_data_in_the_hands_of_host_code_convict_it(crossed, found):
    seen = Emulated(**{**HONEST, "host": HostTraffic(**{**ALONE, **crossed}), "bytes_of_a_call": (80_000, 40_000)})
    assert [hit.rule for hit in emulated_hits(seen, ["/cache/module-1f2e/module.so"], "native")] == found
    assert emulated_hits(seen, ["/cache/module-1f2e/module.so"], "mixed") == []


def test_small_tasks_may_be_read_whole_by_the_host():
    seen = Emulated(
        **{**HONEST, "host": HostTraffic(**{**ALONE, "foreign_taken": 2_000}), "bytes_of_a_call": (2_000, 8)}
    )
    assert emulated_hits(seen, ["/cache/module-1f2e/module.so"], "native") == []


def test_under_the_policy_mixed_others_may_do_the_work():
    seen = Emulated(**{**HONEST, "kernel_bytes": 8, "own_outputs": 0})
    assert emulated_hits(seen, ["/cache/module-1f2e/module.so"], "mixed") == []
    assert seen.own_share == pytest.approx(8 / 5008)
