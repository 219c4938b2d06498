"""Counters in words: which unit holds a kernel back, how near to its roof it is, and what that suggests.

A kernel is as fast as its busiest unit lets it be. Where one is near its peak, only less work for that unit helps;
where none is, warps wait, and what they wait for is told with the occupancy that could hide it. Thresholds are rules of
thumb and stand below. A counter that is missing is not guessed: then its sentence is missing too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mooreeval.verdict import KernelProfile

AT_ROOF = 80.0  # percent of peak from which on a unit is taken to be what holds the kernel back
LEADING = 60.0  # ... and from which on it leads, with latency not quite hidden
REACHED_BY_STREAMS = 90.0  # percent of memory's peak that a plain copy of a large array reaches
PASSES_THROUGH = (
    20.0  # points by which a cache may be busier than the memory behind it, and still only pass its data on
)
LOW_OCCUPANCY = 50.0  # percent of an SM's warps
FAR_BELOW_POSSIBLE = 0.6  # achieved over possible occupancy
MUCH_WAITING = 30.0  # percent of the time between two instructions
POOR_SECTOR = 24.0  # of 32 bytes
MANY_CONFLICTS = 10.0  # percent of passes over shared memory ...
SHARED_MATTERS = 10.0  # ... where its pipe is at least that busy, percent
FEW_THREADS = 24.0  # active of 32
ANY_FP64 = 10.0  # percent of its pipe
LONG_TAIL = 0.15  # share of the time that the last, partial wave wastes
SHORT_US = 5.0  # a launch itself costs a few microseconds
HOST_BOUND = 0.5  # kernels' share of a call's time
WORTH_WORDS = 10.0  # percent of the time
MAX_TOLD, MAX_SENTENCES = 3, 10  # kernels, sentences

_WAITS = {  # by ncu's stall reason: what is waited for, and what helps
    "long_scoreboard": (
        "data from global or local memory",
        "independent loads issued before the first is used, wider ones (float4), or data kept in shared memory",
    ),
    "short_scoreboard": (
        "results from shared memory or special functions",
        "fewer accesses to shared memory, or independent work between a load and its use",
    ),
    "mio_throttle": (
        "room in the queue of shared-memory and special-function instructions",
        "fewer and wider accesses to shared memory, more of it held in registers",
    ),
    "lg_throttle": ("room in the queue of global-memory instructions", "fewer and wider loads and stores (float4)"),
    "tex_throttle": ("room in the texture unit's queue", "fewer and wider loads"),
    "barrier": (
        "__syncthreads()",
        "fewer barriers, warp shuffles in their place, smaller blocks, or even work between them",
    ),
    "math_pipe_throttle": ("an arithmetic pipe that is taken", "fewer instructions of that kind"),
    "wait": ("the fixed latency of their own last instruction", "independent work in each thread, e.g. by unrolling"),
    "no_instruction": ("instructions to be fetched", "shorter code: less unrolling, fewer branches"),
    "imc_miss": ("constants that the cache lacks", "constant memory only where all threads read one address"),
    "branch_resolving": ("branches", "fewer branches in the inner loop"),
    "membar": ("memory fences", "fewer fences"),
    "drain": ("their last stores before they exit", "coalesced stores, more work for each thread"),
    "gmma": ("tensor cores", "more stages in flight"),
}
_LESS_ARITHMETIC = {
    "double precision": "float literals without f, and double where float would do, cost most here",
    "special functions and conversions": "fewer exp, log, sqrt, divisions and conversions for each element",
    "single precision (FMA)": "fewer operations, or tensor cores where the precision allows",
    "integers and comparisons (ALU)": "less index arithmetic: hoist divisions and remainders out of loops",
}


def limit_of(kernel: KernelProfile) -> str | None:
    """What holds a kernel back: a unit, "too few blocks" or "latency"; None where counters are missing."""
    units = _units(kernel)
    if not units:
        return None
    unit = max(units, key=lambda name: units[name])
    memory = units.get("memory", 0.0)
    if unit in ("L2", "L1") and memory >= LEADING and units[unit] - memory <= PASSES_THROUGH:
        unit = "memory"
    if units[unit] >= LEADING:
        return unit
    return "too few blocks" if kernel.waves is not None and kernel.waves < 1 else "latency"


def _units(kernel: KernelProfile) -> dict[str, float]:
    """How busy each unit is, in percent of its peak."""
    known = {
        "memory": kernel.memory_percent,
        "L2": kernel.l2_percent,
        "L1": kernel.l1_percent,
        "arithmetic": kernel.arithmetic_percent,
        "issue": kernel.issue_percent,
    }
    return {name: value for name, value in known.items() if value is not None}


def advice(kernels: Sequence[KernelProfile], total_us: float, call_us: float | None) -> tuple[str, ...]:
    """Sentences in the order of their weight. `call_us` is what a call takes where it was timed, else None."""
    said = list(_on_the_call(kernels, total_us, call_us))
    for kernel in [k for k in kernels if (k.share_percent or 0) >= WORTH_WORDS][:MAX_TOLD]:
        first, *rest = _on_kernel(kernel)
        share = "" if len(kernels) == 1 else f" ({kernel.share_percent:.0f} % of the time)"
        said.append(f"{kernel.kernel}{share}: {first}")
        said += [f"{kernel.kernel}: {sentence}" for sentence in rest]
    return tuple(said[:MAX_SENTENCES])


def _on_the_call(kernels: Sequence[KernelProfile], total_us: float, call_us: float | None) -> Iterator[str]:
    launches = sum(k.launches for k in kernels)
    if call_us and total_us < HOST_BOUND * call_us:
        yield (
            f"a call takes {call_us:.0f} us, its kernels {total_us:.0f} us of it: the rest is Python, allocations and "
            f"launches ({launches}); fewer launches and less work on the host gain more than faster kernels"
        )
    elif launches > 1 and total_us < SHORT_US * launches:
        yield (
            f"{launches} launches of {total_us / launches:.1f} us on average: launching costs about as much; "
            "fuse them into fewer kernels"
        )
    theirs = [k for k in kernels if k.kernel.startswith("at::")]
    share = sum(k.share_percent or 0 for k in theirs)
    if share >= WORTH_WORDS:
        yield f"{share:.0f} % of the time is in PyTorch's own kernels ({theirs[0].kernel}): do their work in yours"


def _on_kernel(kernel: KernelProfile) -> Iterator[str]:
    limit = limit_of(kernel)
    yield _limit_sentence(kernel, limit)
    if kernel.spill_requests:
        yield (
            f"{kernel.spill_requests} accesses to local memory: registers spill, or an array is indexed at run time; "
            "fewer live values, or indices known to the compiler"
        )
    yield from _on_access(kernel)
    if (kernel.fp64_percent or 0) >= ANY_FP64 and kernel.arithmetic_pipe != "double precision":
        yield f"its double-precision pipe is at {kernel.fp64_percent:.0f} %: look for literals without f"
    if limit not in ("memory", None) or (kernel.memory_percent or 0) < AT_ROOF:
        yield from _on_waiting(kernel, limit)
    few = kernel.threads_per_instruction
    if few is not None and few < FEW_THREADS:
        yield f"{few:.0f} of 32 threads are active in an instruction on average: branches or short rows idle the others"
    yield from _on_tail(kernel)


def _limit_sentence(kernel: KernelProfile, limit: str | None) -> str:
    known = _units(kernel)
    busy = ", ".join(f"{name} {value:.0f} %" for name, value in known.items())
    if limit is None:
        return "ncu gave no figures of how busy the device's units are"
    if limit == "memory":
        return _memory_sentence(kernel)
    if limit == "too few blocks":
        blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
        device = f"; the device has {kernel.processors} SMs" if kernel.processors else ""
        return (
            f"too few blocks to fill the device: {blocks}, {kernel.waves:.2f} of what it holds at once{device} "
            f"({busy}); split the work into more blocks, e.g. along the reduced dimension"
        )
    if limit == "latency":
        return f"latency-bound: no unit is busy ({busy}), warps wait instead"
    value = known[limit]
    bound = "at its roof" if value >= AT_ROOF else "the busiest unit, not yet at its roof"
    others = ", ".join(f"{name} {share:.0f} %" for name, share in known.items() if name != limit)
    return f"{_unit_words(kernel, limit)} at {value:.0f} %, {bound} ({others}); {_less_of(kernel, limit)}"


def _memory_sentence(kernel: KernelProfile) -> str:
    percent = kernel.memory_percent or 0.0
    rate = ""
    if kernel.memory_gb_per_s is not None and kernel.memory_peak_gb_per_s is not None:
        rate = f" ({kernel.memory_gb_per_s / 1e3:.2f} of {kernel.memory_peak_gb_per_s / 1e3:.2f} TB/s)"
    if percent >= AT_ROOF:
        return (
            f"memory-bound: device memory is at {percent:.0f} % of its peak{rate}; little is left but to move fewer "
            "bytes: fuse with what comes before or after, read everything once, smaller types"
        )
    return (
        f"mostly memory-bound: device memory is at {percent:.0f} % of its peak{rate}, and a plain copy reaches about "
        f"{REACHED_BY_STREAMS:.0f} %, so at most {REACHED_BY_STREAMS / percent:.1f}x is left at these bytes; "
        "more of them in flight help: loads of 16 bytes (float4), several independent loads a thread"
    )


def _unit_words(kernel: KernelProfile, limit: str) -> str:
    if limit == "arithmetic":
        return f"arithmetic-bound: {kernel.arithmetic_pipe}"
    if limit == "L1" and _mostly_shared(kernel):
        return "bound by shared memory: its unit (L1) is"
    return {"L1": "bound by L1", "L2": "bound by L2", "issue": "bound by instructions: issue slots"}[limit]


def _mostly_shared(kernel: KernelProfile) -> bool:
    return (kernel.shared_percent or 0) > 0.5 * (kernel.l1_percent or 0)


def _less_of(kernel: KernelProfile, limit: str) -> str:
    if limit == "arithmetic":
        return _LESS_ARITHMETIC.get(kernel.arithmetic_pipe or "", "fewer operations")
    if limit == "L1" and _mostly_shared(kernel):
        return "use each value more often once it is in a register: several outputs for each thread, float4 accesses"
    if limit == "L1":
        return "fewer and wider loads, neighbouring addresses in neighbouring threads, reuse in registers"
    if limit == "L2":
        return "reuse data in shared memory or registers before it is read again; spread atomics over addresses"
    return "fewer instructions for each element: wider loads, unrolling, less index arithmetic"


def _on_access(kernel: KernelProfile) -> Iterator[str]:
    for verb, used in (("loads", kernel.load_bytes_per_sector), ("stores", kernel.store_bytes_per_sector)):
        if used is not None and used < POOR_SECTOR:
            yield (
                f"global {verb} use {used:.0f} of every 32 bytes they move: let neighbouring threads access "
                "neighbouring addresses, or go through shared memory"
            )
    conflicts, shared = kernel.bank_conflict_percent, kernel.shared_percent
    if conflicts is not None and conflicts >= MANY_CONFLICTS and (shared is None or shared >= SHARED_MATTERS):
        yield f"{conflicts:.0f} % of its passes over shared memory are bank conflicts: pad rows or change the layout"


def _on_waiting(kernel: KernelProfile, limit: str | None) -> Iterator[str]:
    if kernel.stall is not None and (kernel.stall_percent or 0) >= MUCH_WAITING:
        what, help_ = _WAITS.get(kernel.stall, (kernel.stall.replace("_", " "), ""))
        yield f"warps wait {kernel.stall_percent:.0f} % of their time for {what}" + (f": {help_}" if help_ else "")
    achieved, possible = kernel.occupancy_percent, kernel.occupancy_possible_percent
    if limit not in ("latency", "memory") or achieved is None or possible is None:
        return
    if possible <= LOW_OCCUPANCY and kernel.occupancy_limiter:
        yield f"occupancy {achieved:.0f} % of at most {possible:.0f} %, limited by {_limiter_words(kernel)}"
    elif achieved < FAR_BELOW_POSSIBLE * possible:
        yield (
            f"occupancy {achieved:.0f} % where {possible:.0f} % is possible: blocks differ in length, "
            "or there are too few of them"
        )


def _limiter_words(kernel: KernelProfile) -> str:
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    if kernel.occupancy_limiter == "registers" and kernel.registers:
        return f"registers ({kernel.registers} a thread): fewer live values, or __launch_bounds__"
    if kernel.occupancy_limiter == "shared memory" and kernel.shared_bytes:
        return f"shared memory ({kernel.shared_bytes} bytes a block): smaller tiles"
    if kernel.occupancy_limiter in ("blocks", "warps"):
        return f"its blocks of {threads} threads: another size (128 or 256) fits more warps"
    return kernel.occupancy_limiter or ""


def _on_tail(kernel: KernelProfile) -> Iterator[str]:
    waves = kernel.waves
    if waves is None or waves <= 1:
        return
    full = -(-waves // 1)
    wasted = 1 - waves / full
    if wasted >= LONG_TAIL:
        yield (
            f"its blocks make {waves:.1f} waves, so about {100 * wasted:.0f} % of the time the last one leaves SMs "
            "idle: another number of blocks, or a grid-stride loop"
        )
