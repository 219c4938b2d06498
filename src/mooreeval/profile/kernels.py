"""From metrics by their names in ncu to a `KernelProfile`: the one place that knows these names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mooreeval.profile.table import LaunchRow, short_name
from mooreeval.verdict import KernelProfile

MAX_KERNELS = 5  # the longest ones; the rest of a forward pass is seldom worth words

_TIME = "gpu__time_duration.sum"
_PIPE = re.compile(r"sm__(?:inst_executed_)?pipe_(\w+?)(?:_cycles_active)?\.avg\.pct_of_peak_sustained_active")
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
# Pipes that compute, by what is told of them; the others load, store, branch.
_ARITHMETIC = (
    ("tensor", "tensor cores"),
    ("fp64", "double precision"),
    ("fp16", "half precision"),
    ("xu", "special functions and conversions"),
    ("fma", "single precision (FMA)"),
    ("alu", "integers and comparisons (ALU)"),
)
_AT_WORK = ("selected", "not_selected")  # warps that issue, or could: not waiting for anything
_LIMITS = {  # launch__occupancy_limit_*: blocks of an SM that each resource allows; the first of equals is told
    "warps": "warps", "registers": "registers", "shared_mem": "shared memory", "blocks": "blocks",
    "barriers": "barriers",
}  # fmt: skip
_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}"
_SECTOR = 32


def kernel_profiles(rows: Iterable[LaunchRow]) -> list[KernelProfile]:
    """One for each kernel and shape, the longest first; the metrics are those of its longest launch."""
    alike: dict[Any, list[LaunchRow]] = defaultdict(list)
    for row in rows:
        alike[row.kernel, row.grid, row.block].append(row)
    whole = sum(map(_microseconds, (row for group in alike.values() for row in group)))
    kernels = [_kernel(group, whole) for group in alike.values()]
    return sorted(kernels, key=lambda k: k.duration_us * k.launches, reverse=True)


def _microseconds(row: LaunchRow) -> float:
    return row.metrics.get(_TIME, 0.0) * 1e6


def _kernel(group: list[LaunchRow], whole: float) -> KernelProfile:
    longest = max(group, key=_microseconds)
    spent = sum(map(_microseconds, group))
    metrics = longest.metrics
    pipe, arithmetic = _busiest_pipe(metrics)
    stall, stalled = _longest_stall(metrics)
    return KernelProfile(
        kernel=short_name(longest.kernel),
        grid=longest.grid,
        block=longest.block,
        launches=len(group),
        duration_us=round(spent / len(group), 3),
        share_percent=_percent(100 * spent / whole if whole else None),
        memory_percent=_percent(metrics.get("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")),
        memory_gb_per_s=_scaled(metrics.get("dram__bytes.sum.per_second"), 1e-9),
        memory_peak_gb_per_s=_peak(metrics),
        l2_percent=_percent(metrics.get("lts__throughput.avg.pct_of_peak_sustained_elapsed")),
        l2_hit_percent=_percent(metrics.get("lts__t_sector_hit_rate.pct")),
        l1_percent=_percent(metrics.get("l1tex__throughput.avg.pct_of_peak_sustained_active")),
        l1_hit_percent=_percent(metrics.get("l1tex__t_sector_hit_rate.pct")),
        shared_percent=_percent(
            metrics.get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed")
        ),
        arithmetic_percent=arithmetic,
        arithmetic_pipe=pipe,
        fp64_percent=_percent(_pipes(metrics).get("double precision")),
        issue_percent=_percent(metrics.get("smsp__issue_active.avg.pct_of_peak_sustained_active")),
        occupancy_percent=_percent(metrics.get("sm__warps_active.avg.pct_of_peak_sustained_active")),
        occupancy_possible_percent=_percent(metrics.get("sm__maximum_warps_per_active_cycle_pct")),
        occupancy_limiter=_limiter(metrics),
        registers=_whole(metrics.get("launch__registers_per_thread")),
        shared_bytes=_shared(metrics),
        waves=_scaled(metrics.get("launch__waves_per_multiprocessor"), 1.0),
        processors=_whole(metrics.get("launch__sm_count")),
        load_bytes_per_sector=_bytes_per_sector(metrics, "ld"),
        store_bytes_per_sector=_bytes_per_sector(metrics, "st"),
        bank_conflict_percent=_conflicts(metrics),
        spill_requests=_spills(metrics),
        threads_per_instruction=_scaled(metrics.get("smsp__thread_inst_executed_per_inst_executed.ratio"), 1.0),
        stall=stall,
        stall_percent=stalled,
    )


def _peak(metrics: Mapping[str, float]) -> float | None:
    """Of the device's memory in GB/s: two transfers a clock, as `DeviceFacts.peak_bytes_per_second` has it."""
    clock = metrics.get("device__attribute_memory_clock_rate")  # kHz
    bits = metrics.get("device__attribute_global_memory_bus_width")
    return round(2 * clock * 1e3 * bits / 8 / 1e9, 1) if clock and bits else None


def _pipes(metrics: Mapping[str, float]) -> dict[str, float]:
    """How busy each kind of arithmetic is, by its name for people."""
    busy: dict[str, float] = {}
    for name, value in metrics.items():
        if found := _PIPE.fullmatch(name):
            kind = next((words for begin, words in _ARITHMETIC if found[1].startswith(begin)), None)
            if kind is not None:
                busy[kind] = max(busy.get(kind, 0.0), value)
    return busy


def _busiest_pipe(metrics: Mapping[str, float]) -> tuple[str | None, float | None]:
    busy = _pipes(metrics)
    if not busy:
        return None, None
    name = max(busy, key=lambda kind: busy[kind])
    return name, _percent(busy[name])


def _longest_stall(metrics: Mapping[str, float]) -> tuple[str | None, float | None]:
    """What warps wait for most between two instructions, and its share of that time."""
    latency = metrics.get(_LATENCY)
    waits = {found[1]: value for name, value in metrics.items() if (found := _STALL.fullmatch(name))}
    waits = {name: value for name, value in waits.items() if name not in _AT_WORK}
    if not latency or not waits:
        return None, None
    name = max(waits, key=lambda reason: waits[reason])
    return (name[:60], _percent(100 * waits[name] / latency)) if waits[name] > 0 else (None, None)


def _limiter(metrics: Mapping[str, float]) -> str | None:
    """What allows the fewest blocks an SM; None where all of its warps can be there."""
    if metrics.get("sm__maximum_warps_per_active_cycle_pct", 100.0) >= 100:
        return None
    limits = {words: metrics.get(f"launch__occupancy_limit_{name}") for name, words in _LIMITS.items()}
    known = {words: value for words, value in limits.items() if value is not None}
    return min(known, key=lambda words: known[words]) if known else None


def _shared(metrics: Mapping[str, float]) -> int | None:
    """What a block asks for, without what the driver keeps of it."""
    asked = [metrics.get(f"launch__shared_mem_per_block_{kind}") for kind in ("static", "dynamic")]
    return None if None in asked else int(sum(value for value in asked if value is not None))


def _bytes_per_sector(metrics: Mapping[str, float], operation: str) -> float | None:
    """Bytes that threads ask for of each 32 that are moved, where anything is moved."""
    name = _BYTES_PER_SECTOR.format(operation)
    value = metrics.get(f"{name}.ratio")
    if value is None and f"{name}.pct" in metrics:
        value = metrics[f"{name}.pct"] / 100 * _SECTOR
    return round(value, 1) if value else None


def _conflicts(metrics: Mapping[str, float]) -> float | None:
    """Passes over shared memory that only bank conflicts make necessary, of all passes."""
    passes = metrics.get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
    conflicts = metrics.get("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")
    return _percent(100 * conflicts / passes) if passes and conflicts is not None else None


def _spills(metrics: Mapping[str, float]) -> int | None:
    """Accesses to local memory for registers; versions that don't tell these apart tell all accesses to it."""
    told = metrics.get("derived__local_spilling_requests")
    if told is None:
        both = [metrics.get(f"smsp__sass_inst_executed_op_local_{op}.sum") for op in ("ld", "st")]
        told = None if None in both else sum(value for value in both if value is not None)
    return _whole(told)


def _percent(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else round(value * factor, 2)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
