"""What counters mean in words: the limit first, then its causes, with figures; nothing where a counter is missing."""

from pathlib import Path

import pytest

from mooreeval.profile.advice import MAX_SENTENCES, advice, limit_of
from mooreeval.profile.read import read_profile
from mooreeval.verdict import KernelProfile

WITH_TABLES = (Path(__file__).parent / "data" / "with_tables.csv").read_text()
QUIET = {"memory_percent": 10.0, "l2_percent": 8.0, "l1_percent": 7.0, "arithmetic_percent": 9.0, "issue_percent": 12.0}


def kernel(**counters) -> KernelProfile:
    """A kernel that is slow for no known reason, with some counters as given."""
    known = {"kernel": "k", "grid": (1024, 1, 1), "block": (256, 1, 1), "launches": 1, "duration_us": 100.0}
    return KernelProfile(**{**known, "share_percent": 100.0, **QUIET, **counters})


def told(*kernels: KernelProfile, call_us: float | None = None) -> str:
    return "\n".join(advice(kernels, sum(k.duration_us * k.launches for k in kernels), call_us))


def test_recorded_kernels_are_told_with_their_figures():
    profile = read_profile(WITH_TABLES, "", call_us=540.0)
    assert [(k.kernel, k.limit) for k in profile.kernels] == [("mm", "L1"), ("saxpy", "memory")]
    first, second, third, fourth = profile.advice
    assert first.startswith("mm (88 % of the time): bound by shared memory: its unit (L1) is at 94 %, at its roof")
    assert "mm: warps wait 48 % of their time for room in the queue of shared-memory" in second
    assert "saxpy (12 % of the time): mostly memory-bound: device memory is at 62 % of its peak (2.96 of 4.81" in third
    assert "at most 1.5x is left" in third
    assert "saxpy: warps wait 80 % of their time for data from global or local memory" in fourth
    assert (profile.launches, profile.total_us) == (2, 533.568)


@pytest.mark.parametrize(
    ("counters", "limit"),
    [
        ({"memory_percent": 91.0, "l2_percent": 95.0}, "memory"),  # what goes to memory passes through L2
        ({"memory_percent": 62.0, "l2_percent": 97.0}, "L2"),
        ({"memory_percent": 30.0, "l1_percent": 85.0}, "L1"),
        ({"arithmetic_percent": 88.0}, "arithmetic"),
        ({"issue_percent": 75.0}, "issue"),
        ({}, "latency"),
        ({"waves": 0.4}, "too few blocks"),
        ({"waves": 0.4, "arithmetic_percent": 70.0}, "arithmetic"),
        (dict.fromkeys(QUIET), None),
    ],
)
def test_the_limit_is_the_busiest_unit_where_one_is_busy(counters, limit):
    assert limit_of(kernel(**counters)) == limit


def test_at_memorys_roof_only_bytes_count():
    text = told(
        kernel(
            memory_percent=87.0, memory_gb_per_s=4190.0, memory_peak_gb_per_s=4814.0, stall="long_scoreboard",
            stall_percent=90.0, occupancy_percent=20.0, occupancy_possible_percent=25.0, occupancy_limiter="registers",
        )
    )  # fmt: skip
    assert text == (
        "k: memory-bound: device memory is at 87 % of its peak (4.19 of 4.81 TB/s); little is left but to move fewer "
        "bytes: fuse with what comes before or after, read everything once, smaller types"
    )


def test_a_kernel_that_waits_is_told_why_and_what_holds_its_occupancy():
    text = told(
        kernel(
            stall="long_scoreboard", stall_percent=71.0, registers=96, occupancy_percent=29.0,
            occupancy_possible_percent=31.0, occupancy_limiter="registers",
        )
    )  # fmt: skip
    assert "latency-bound: no unit is busy (memory 10 %, L2 8 %, L1 7 %, arithmetic 9 %, issue 12 %)" in text
    assert "warps wait 71 % of their time for data from global or local memory" in text
    assert "occupancy 29 % of at most 31 %, limited by registers (96 a thread)" in text


@pytest.mark.parametrize(
    ("counters", "words", "harmless"),
    [
        ({"spill_requests": 5000}, "5000 accesses to local memory", {"spill_requests": 0}),
        ({"load_bytes_per_sector": 4.0}, "loads use 4 of every 32 bytes", {"load_bytes_per_sector": 30.0}),
        ({"store_bytes_per_sector": 8.0}, "stores use 8 of every 32 bytes", {"store_bytes_per_sector": 32.0}),
        (
            {"bank_conflict_percent": 75.0, "shared_percent": 60.0},
            "75 % of its passes over shared memory are bank conflicts",
            {"bank_conflict_percent": 75.0, "shared_percent": 2.0},
        ),
        ({"fp64_percent": 40.0}, "double-precision pipe is at 40 %", {"fp64_percent": 1.0}),
        ({"threads_per_instruction": 8.0}, "8 of 32 threads are active", {"threads_per_instruction": 31.0}),
        ({"waves": 1.1}, "1.1 waves, so about 45 % of the time", {"waves": 62.1}),
        (
            {"occupancy_percent": 30.0, "occupancy_possible_percent": 100.0},
            "occupancy 30 % where 100 % is possible",
            {"occupancy_percent": 90.0, "occupancy_possible_percent": 100.0},
        ),
        (
            {
                "occupancy_percent": 24.0, "occupancy_possible_percent": 25.0,
                "occupancy_limiter": "shared memory", "shared_bytes": 98304,
            },
            "limited by shared memory (98304 bytes a block)",
            {"occupancy_percent": 70.0, "occupancy_possible_percent": 75.0, "occupancy_limiter": "shared memory"},
        ),
        ({"stall": "barrier", "stall_percent": 55.0}, "for __syncthreads()", {"stall": "barrier", "stall_percent": 9}),
        (
            {"stall": "quantum_doubt", "stall_percent": 55.0},
            "warps wait 55 % of their time for quantum doubt",
            {"stall": "quantum_doubt", "stall_percent": 5.0},
        ),
    ],
)  # fmt: skip
def test_a_cause_is_told_where_its_counter_shows_it_and_only_there(counters, words, harmless):
    assert words in told(kernel(**counters))
    assert told(kernel(**harmless)) == told(kernel())


def test_too_few_blocks_are_counted():
    text = told(kernel(grid=(8, 4, 1), waves=0.03, processors=132))
    assert "too few blocks to fill the device: 32, 0.03 of what it holds at once; the device has 132 SMs" in text


def test_a_call_that_waits_for_the_host_is_told_so_first():
    assert told(kernel(), call_us=900.0).startswith("a call takes 900 us, its kernels 100 us of it")
    assert "a call takes" not in told(kernel(), call_us=130.0)
    assert "a call takes" not in told(kernel())


def test_many_short_launches_and_pytorchs_own_kernels_are_told():
    tiny = kernel(launches=40, duration_us=2.0, share_percent=80.0)
    theirs = kernel(kernel="at::native::fill", launches=10, duration_us=2.0, share_percent=20.0)
    text = told(tiny, theirs)
    assert text.startswith("50 launches of 2.0 us on average")
    assert "20 % of the time is in PyTorch's own kernels (at::native::fill)" in text


def test_advice_is_bounded_and_short_kernels_get_no_words():
    everything = {
        "spill_requests": 9, "load_bytes_per_sector": 4.0, "store_bytes_per_sector": 4.0, "fp64_percent": 30.0,
        "stall": "wait", "stall_percent": 60.0, "threads_per_instruction": 3.0, "waves": 1.1,
    }  # fmt: skip
    many = [kernel(kernel=f"k{n}", share_percent=24.0, **everything) for n in range(4)]
    assert len(advice(many, 400.0, None)) == MAX_SENTENCES
    assert "small" not in told(kernel(share_percent=96.0), kernel(kernel="small", share_percent=4.0))


def test_nothing_is_said_of_counters_that_are_missing():
    text = told(kernel(**dict.fromkeys(QUIET)))
    assert text == "k: ncu gave no figures of how busy the device's units are"


@pytest.mark.parametrize(("launches", "whole"), [(49, True), (50, False)])
def test_a_call_whose_launches_were_cut_off_is_told_so_and_not_held_against_its_time(launches, whole):
    header = '"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum"\n"","","","","ns"\n'
    rows = "".join(f'"{n}","k()","(1, 1, 1)","(1, 1, 1)","9000"\n' for n in range(launches))
    first = read_profile(header + rows, "", call_us=5000.0).advice[0]
    assert first.startswith("a call takes 5000 us" if whole else "only the first 50 launches")
