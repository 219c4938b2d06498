"""The verdict: what was concluded about one candidate, with the evidence.

Timing exists only on `correct`; units are in field names. A verdict is frozen, serialises to strict JSON, and
names what it needs to be reproduced. A failure of the judge is not a verdict (see `errors.NotJudged`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = 1
PROTOCOL_VERSION = "moore-1"
DERIVED = ("reward", "feedback")  # what the command line's JSON holds beside the verdict's own fields


class Status(StrEnum):
    """One word per outcome, in the order in which they take precedence (DESIGN: where several hold)."""

    NO_CANDIDATE = "no_candidate"
    ILLEGAL = "illegal"
    COMPILE_ERROR = "compile_error"
    UNSUPPORTED = "unsupported"
    RUNTIME_ERROR = "runtime_error"
    INCORRECT = "incorrect"
    CORRECT = "correct"


class Record(BaseModel):
    """A frozen value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(Record):
    """Where something is: a line of the candidate's own file where it can be told, else of a recorded source."""

    file: str  # "candidate" for the candidate's own file, else e.g. "cuda_sources[0]", "bindings", "torch"
    line: int | None = None  # 1-based
    column: int | None = None  # 1-based
    text: str | None = None  # that line, stripped, at most 200 characters

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Diagnostic(Record):
    """One compiler message in the candidate's sources."""

    severity: Literal["error", "warning", "note"]
    message: str
    place: Place


class FindingKind(StrEnum):
    OUT_OF_BOUNDS = "out_of_bounds"  # device memory: outside its allocation, or freed
    SHARED_OUT_OF_BOUNDS = "shared_out_of_bounds"
    RACE = "race"
    MISALIGNED = "misaligned"
    HANG = "hang"  # still running when its time was over
    DEADLOCK = "deadlock"  # threads wait for others that never come
    DIVERGENT_BARRIER = "divergent_barrier"  # threads of one block at different barriers, or some have exited
    HOST_MEMORY = "host_memory"  # a kernel touched memory that is not device memory
    HOST_ACCESS = "host_access"  # host code touched device memory outside a copy or operator
    LAUNCH_ERROR = "launch_error"  # a launch that the device refuses
    API_ERROR = "api_error"  # a CUDA run-time call that failed
    STACK_OVERFLOW = "stack_overflow"
    TRAP = "trap"  # assert, __trap
    UNINITIALIZED = "uninitialized"  # a shared-memory word read before anything was written to it
    WARP_SYNC = "warp_sync"  # relies on lanes running in lockstep: a warning


class Finding(Record):
    """One fault observed while a kernel or its host code ran."""

    kind: FindingKind
    severity: Literal["error", "warning"]
    message: str
    kernel: str | None = None
    block: tuple[int, int, int] | None = None  # blockIdx x, y, z
    thread: tuple[int, int, int] | None = None  # threadIdx x, y, z
    place: Place | None = None
    other: Place | None = None  # the other access of a race
    other_thread: tuple[int, int, int] | None = None
    count: int = 1  # times seen at this place


class RuleHit(Record):
    """One broken rule of legality."""

    rule: str  # stable id, e.g. "no_kernel_launched"
    message: str
    place: Place | None = None
    evidence: str | None = None  # the words it rests on


class Mismatch(Record):
    """How one output differs from the reference, in words a repairer can use."""

    output: str  # path in the returned structure: "output", "output[1]", "output['loss']"
    kind: Literal["structure", "type", "shape", "dtype", "device", "layout", "values", "mutated_input"]
    message: str  # one to three sentences: how many, where, how far, what pattern
    wrong: int | None = None  # elements outside the tolerance
    total: int | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    patterns: tuple[str, ...] = ()  # e.g. "all_zero", "nan", "constant", "transposed", "tail", "factor"
    first: tuple[int, ...] | None = None  # index of the first wrong element
    examples: tuple[tuple[tuple[int, ...], int | float, int | float], ...] = ()  # (index, got, expected)


class Trial(Record):
    """One run on fresh inputs."""

    index: int
    seed: int
    passed: bool
    schedule: str | None = None  # simulator: "checked forward", "reverse", "random", ...
    inputs: str = "plain"  # or how they differ from what get_inputs makes: "signs", "tenth", "tenfold"
    weights: Literal["own", "other"] = "own"  # "other": those that begin as ones or zeros have other values
    mismatch: Mismatch | None = None


class TaskAdmission(Record):
    """What was known of the task when a candidate was judged by it. Not for a model's eyes: it says what would pass."""

    outcome: Literal["admitted", "weak", "refused"]
    reasons: tuple[str, ...] = ()  # in words
    variations: tuple[str, ...] = ()  # of the inputs, each of which one more trial ran on


class Reduction(Record):
    """One constant of the task that was made smaller so that a CPU can run it."""

    name: str
    original: int
    used: int
    line: int | None = None


class Launch(Record):
    """A kernel that ran, aggregated over equal launches."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    count: int


class OperatorUse(Record):
    """Equal calls of one of PyTorch's operators in the forward passes of the trials."""

    name: str  # "aten::add.Tensor"
    count: int
    origin: Literal["python", "cpp", "hidden"]  # who called it; hidden: in a thread, or an operator of its own
    allowed: bool  # by the list of `mooreeval.legality.operators`, under either policy
    place: Place | None = None  # the candidate's line that led to it
    moved_bytes: int = 0  # of device memory that it read and wrote


class KernelUse(Record):
    """Equal activities of a device in one forward pass, as a profiler in the candidate's process saw them."""

    kernel: str
    kind: Literal["kernel", "copy", "fill"] = "kernel"
    owner: Literal["candidate", "operator", "unknown"]  # by the module that launched it
    operator: str | None = None  # of PyTorch's, within which it was launched
    count: int
    us: float  # of all of them
    share: float | None = None  # of the device's time


class Shape(Record):
    """One tensor that went in or came out, as run."""

    name: str  # path in the inputs or outputs: "input[0]", "output['loss']"
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name} {'x'.join(map(str, self.shape)) or 'scalar'} {self.dtype}"


class Timing(Record):
    """Measured on a device only; exists only on `correct`."""

    candidate_ms: float  # of one call, its launches included
    eager_ms: float | None = None  # candidate_ms times the median ratio of neighbouring blocks
    compile_ms: float | None = None
    eager_speedup_low: float | None = None  # ends of the 95 % interval of that ratio
    eager_speedup_high: float | None = None
    compile_speedup_low: float | None = None  # wide enough for what is uncertain of both baselines
    compile_speedup_high: float | None = None
    # Of calls under 20 microseconds also without their launches, by the candidate's process's own word: not scored.
    candidate_device_ms: float | None = None
    eager_device_ms: float | None = None
    baseline_precision: str | None = None  # in which precision the baselines compute
    rounds: int | None = None  # pairs of blocks
    calls: int | None = None  # of both sides together
    input_sets: int | None = None  # different inputs that a block cycles through
    sm_clock_mhz: int | None = None  # median while timed
    temperature_c: int | None = None  # highest
    throttled: str | None = None  # why the device was slowed, where it was


class KernelProfile(Record):
    """One kernel as a profiler's counters show it; None where the device or the profiler has no such counter.

    Percentages are of a unit's peak while the kernel ran, unless said otherwise.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int  # in one forward pass
    duration_us: float  # of one launch, on average, caches empty at its start
    share_percent: float | None = None  # of the time of all kernels of the forward pass
    limit: str | None = None  # "memory", "L2", "L1", "arithmetic", "issue", "latency", "too few blocks"
    memory_percent: float | None = None  # device memory
    memory_gb_per_s: float | None = None
    memory_peak_gb_per_s: float | None = None
    l2_percent: float | None = None
    l2_hit_percent: float | None = None  # of its sectors
    l1_percent: float | None = None  # shared memory included
    l1_hit_percent: float | None = None  # of its sectors
    shared_percent: float | None = None  # shared memory's part of L1
    arithmetic_percent: float | None = None  # the busiest pipe that computes ...
    arithmetic_pipe: str | None = None  # ... and which one that is
    fp64_percent: float | None = None
    issue_percent: float | None = None  # instructions issued, of issue slots
    occupancy_percent: float | None = None  # achieved, of an SM's warps
    occupancy_possible_percent: float | None = None
    occupancy_limiter: str | None = None  # "registers", "shared memory", "blocks", "warps", "barriers"
    registers: int | None = None  # of a thread
    shared_bytes: int | None = None  # of a block, static and dynamic
    waves: float | None = None  # blocks over what the device holds at once
    processors: int | None = None  # SMs
    load_bytes_per_sector: float | None = None  # bytes asked for of each 32 that global loads move
    store_bytes_per_sector: float | None = None
    bank_conflict_percent: float | None = None  # of passes over shared memory
    spill_requests: int | None = None  # accesses to local memory
    threads_per_instruction: float | None = None  # of 32
    stall: str | None = None  # what warps wait for most, by its name in ncu
    stall_percent: float | None = None  # of the time between two instructions


class Profile(Record):
    """What a profiler says of a correct candidate: advice from the candidate's own process, never evidence."""

    missing: str | None = None  # one line, where there is no profile: why
    kernels: tuple[KernelProfile, ...] = ()  # the longest first, bounded
    launches: int | None = None  # profiled, of one forward pass
    total_us: float | None = None  # of all of them
    advice: tuple[str, ...] = ()  # sentences in the order of their weight


class SandboxUsed(Record):
    """What stood between the candidate's processes and this machine; see docs/security.md."""

    mode: Literal["bubblewrap", "namespaces", "limits"]
    lacks: tuple[str, ...] = ()  # what did not hold here: "other processes are hidden", ...


class Verdict(Record):
    """What was concluded, and everything needed to conclude it again."""

    schema_version: int = SCHEMA_VERSION
    status: Status
    reason: str  # one line
    place: Place | None = None  # where to look first: of the error, finding or exception that decided
    evidence: Literal["device", "emulation"] | None = None  # None where nothing ran
    q: float | None = Field(default=None, ge=0, le=1)  # fraction of trials passed
    trials: tuple[Trial, ...] = ()
    rules: tuple[RuleHit, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    build_tiers: tuple[str, ...] = ()  # mini, slim or full: how each extension was built
    launches: tuple[Launch, ...] = ()
    operators: tuple[OperatorUse, ...] = ()  # of PyTorch's, bounded
    kernels: tuple[KernelUse, ...] = ()  # on a device only, bounded
    own_share: float | None = Field(default=None, ge=0, le=1)  # of the work that is done by the candidate's kernels
    own_share_of: Literal["device_time", "bytes_moved"] | None = None  # in which measure
    unsupported_feature: str | None = None  # "wmma", "shape-specialised", ...
    exception: str | None = None  # traceback of the candidate's Python, its own frames, bounded
    output_tail: str | None = None  # end of what the candidate printed, bounded
    reductions: tuple[Reduction, ...] = ()
    admission: TaskAdmission | None = None  # None where the task's is not known
    weights_not_varied: str | None = None  # why no trial gave other values to weights that begin as ones or zeros
    timing: Timing | None = None
    profile: Profile | None = None  # only where it was asked for
    backend: str
    device: str | None = None
    sandbox: SandboxUsed | None = None  # None where nothing ran
    policy: str = "native"
    protocol: str = "ours"
    protocol_version: str = PROTOCOL_VERSION
    versions: dict[str, str] = Field(default_factory=dict)
    seed: str | None = None  # the run secret, hex; together with the hashes it gives every seed
    shapes: tuple[Shape, ...] = ()
    task_id: str | None = None
    task_hash: str
    candidate_hash: str
    config_hash: str
    # The configuration behind that hash, whole; with the seed it is what `--config` takes to judge alike.
    config: dict[str, Any] = Field(default_factory=dict)
    stage_seconds: dict[str, float] = Field(default_factory=dict)  # wall seconds by stage, not part of identity
    device_seconds: float | None = None  # how long a real device was held for this verdict ...
    shared_device_seconds: float | None = None  # ... and of these, beside trials of other candidates

    @model_validator(mode="before")
    @classmethod
    def _without_what_follows_from_it(cls, data: Any) -> Any:
        """The command line prints reward and feedback beside the verdict; they are computed again, never read."""
        return {k: v for k, v in data.items() if k not in DERIVED} if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _status_fits_payload(self) -> Self:
        if self.timing is not None and self.status is not Status.CORRECT:
            raise ValueError("timing exists only on a correct verdict")
        if self.profile is not None and self.status is not Status.CORRECT:
            raise ValueError("a profile exists only on a correct verdict")
        if self.status is Status.CORRECT and self.q != 1:
            raise ValueError("a correct verdict has q = 1")
        if self.status is Status.INCORRECT and (self.q is None or self.q == 1):
            raise ValueError("an incorrect verdict has q below 1")
        if (self.status is Status.UNSUPPORTED) != (self.unsupported_feature is not None):
            raise ValueError("an unsupported verdict names the feature, and only that one does")
        if self.status is Status.ILLEGAL and not self.rules:
            raise ValueError("an illegal verdict names a rule")
        return self
