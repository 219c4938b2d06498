"""Configuration of a verdict: every default of the judge stands here, once.

A configuration is frozen and refuses unknown fields. It comes from a YAML file and from `a.b=c` settings, later ones
winning; whatever is wrong with them is one line (`UsageError`). Units are in field names. Imports no torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mooreeval.config_reading import origin_of, plain_data, validated_as
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record

Backend = Literal["auto", "cuda", "musa", "musa-shim", "simulator"]
Policy = Literal["native", "mixed"]
Protocol = Literal["ours", "kernelbench"]
Tier = Literal["mini", "slim", "full"]
SimulatorTier = Literal["mini", "full"]
Confirm = Literal["always", "ambiguous", "sampled"]
Baseline = Literal["eager", "compile"]
Variations = Literal["auto", "none"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _whole(value: Any) -> Any:
    """A whole number also where it is written as 2e7, which YAML reads as text, or as 3.0."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    if isinstance(value, str) and "e" in value.lower():
        with contextlib.suppress(ValueError):
            number = float(value)
            return int(number) if number.is_integer() else value
    return value


Whole = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=10**18)]
Count = Annotated[Whole, Field(gt=0)]
Mebibytes = Annotated[Whole, Field(gt=0, le=2**40)]


def _hex_secret(value: str | None) -> str | None:
    if value is None:
        return None
    text = value.strip().lower()
    if not text or len(text) > 128 or set(text) - set("0123456789abcdef"):
        raise ValueError("must be 1 to 128 hexadecimal digits")
    return text


class Deadlines(Record):
    """Wall seconds that one stage may take; waiting for a free worker is not counted."""

    record_seconds: Positive = Field(60, description="The candidate's Python, import included.")
    # 300 is known to kill right kernels.
    build_seconds: Positive = Field(600, description="Compiling one extension of a candidate.")
    reference_seconds: Positive = Field(120, description="One run of the task, and one comparison of outputs.")
    run_seconds: Positive = Field(120, description="Loading the candidate, and each trial of it.")
    compile_seconds: Positive = Field(300, description="torch.compile of a task's model and its first call.")


class MemoryLimits(Record):
    """What one child may hold, with all that it starts."""

    child_mib: Mebibytes = Field(8192, description="Memory of a task's or a candidate's process.")
    # The driver maps its own memory and the whole device into every process.
    device_child_mib: Mebibytes = Field(65536, description="The same for a process that uses a real device.")
    device_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="Part of a real device's memory that a candidate may hold, with all that it starts."
    )
    # Held in memory where there are namespaces, and gone with the last process.
    disk_mib: Mebibytes = Field(1024, description="What such a process may write to its scratch folder.")
    log_mib: Mebibytes = Field(64, description="What it may print.")
    tasks: Count = Field(1024, description="Processes and threads of one such process and all that it starts.")


class Tolerance(Record):
    """How far a floating output may be from the reference.

    `scaled` is our own rule (see `mooreeval.execute.compare`): base * (|ref| + rms) plus a multiple of the reference's
    own rounding error. `allclose` is `torch.allclose` with atol = rtol = base, KernelBench's rule.
    """

    rule: Literal["scaled", "allclose"] = Field(
        "scaled",
        description="`scaled`: base * (|ref| + rms of the slice) + noise; `allclose`: atol = rtol = base.",
    )
    float32: NonNegative = Field(1e-4, description="Base for float32.")
    half: NonNegative = Field(1e-2, description="Base for float16 and bfloat16.")
    # Between float64's own rounding in a long sum (about 1e-12) and one rounding to float32 (6e-8): a kernel that
    # computes in float32 where float64 was asked for is told apart.
    float64: NonNegative = Field(1e-9, description="Base for float64.")
    noise_factor: NonNegative = Field(
        4, description="Noise: this times the largest |ref32 - ref64| in the slice (`scaled` only)."
    )


class RewardConfig(Record):
    """The paper leaves lambda and v_max open; these are our choice.

    With them a correct answer earns 1, one that is twice as fast 1.5, and nothing earns more than 3.
    """

    lambda_speedup: NonNegative = Field(0.5, description="Lambda: what a speed-up of 1 more is worth.")
    v_max: NonNegative = Field(4, description="Speed-up beyond 1 that is counted at most.")
    baseline: Baseline = Field("eager", description="What the speed-up is over: `eager` or `compile`.")


class SimulatorConfig(Record):
    """How much work the simulator takes on before it makes the task's shapes smaller, and how much of it is watched."""

    elements: Count = Field(4_000_000, description="Aim: elements read and written in one forward pass of the task.")
    flops: Count = Field(20_000_000, description="Aim: floating-point operations of one forward pass.")
    ceiling_elements: Count = Field(
        64_000_000, description="A size that the candidate carries as a literal is kept up to this many elements ..."
    )
    # A product of square matrices of 1024 is still below.
    ceiling_flops: Count = Field(2_200_000_000, description="... this many operations ...")
    ceiling_mib: Mebibytes = Field(1536, description="... and this much memory; no task is run above it.")
    device_mib: Mebibytes = Field(4096, description="Memory of the simulated device.")
    check_budget: Count = Field(
        20_000_000, description="Watched memory accesses of one launch; the rest of its blocks run unwatched."
    )
    threads: Annotated[Whole, Field(le=4096)] = Field(
        0, description="Host threads that blocks are spread over; 0: all cores."
    )
    tiers: tuple[SimulatorTier, ...] = Field(
        ("mini", "full"),
        description="Ways to build, fastest first; the first that succeeds is taken. The last is full.",
    )
    audit_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.02, description="Share of candidates built by the fast way that are built by `full` and judged again, too."
    )

    def budget(self) -> dict[str, int]:
        """How much one forward pass of a task may cost, as `reduce.Budget` takes it."""
        return {
            "elements": self.elements,
            "flops": self.flops,
            "ceiling_elements": self.ceiling_elements,
            "ceiling_flops": self.ceiling_flops,
            "ceiling_bytes": self.ceiling_mib << 20,
        }


class CudaConfig(Record):
    """Which device, and how candidates are built for it."""

    device: str = Field("0", description="The device that judges, as CUDA_VISIBLE_DEVICES names it.")
    sharing: Annotated[int, Field(ge=1, le=8)] = Field(
        4, description="How many candidates may run on it at once while none is timed; 1: each alone."
    )
    tiers: tuple[Tier, ...] = Field(
        ("slim", "full"), description="Ways to build, fastest first; the first that succeeds is taken."
    )
    confirm_failures: Confirm = Field(
        "always", description="Which failures of a fast way are confirmed by the full one before they are told."
    )
    confirm_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Share of failures confirmed under `sampled`."
    )
    audit_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.02,
        description="Share of candidates built by a fast way that are built by the last one and judged again, too.",
    )


class PoolConfig(Record):
    """How many compilers run at once, over all processes that share a cache."""

    builds: Count | None = Field(None, description="Compilers at once; none: as many as cores and memory allow.")
    # The hungriest that were measured: docs/results/build-pool.md.
    build_mib: Mebibytes = Field(
        1536, description="Memory that one compiler is expected to take; twice that with all of PyTorch's headers."
    )


class TimingConfig(Record):
    """How long right candidates are timed, on a device."""

    enabled: bool = Field(True, description="Whether candidates that are right are timed.")
    budget_seconds: Positive = Field(0.6, description="Blocks are repeated this long at most ...")
    interval: Positive = Field(
        0.01, description="... or until the speed-up's 95 % interval is narrower than this share."
    )
    fewest_pairs: Count = Field(8, description="Pairs of blocks that are measured whatever they cost.")
    block_seconds: Positive = Field(0.015, description="Aim: how long one block of queued calls takes.")
    compile_baseline: bool = Field(
        True, description="Whether torch.compile is a baseline too; half a minute for the first right answer to a task."
    )


class AdmissionConfig(Record):
    """How closely a task is looked at before it is used."""

    trials: Annotated[Count, Field(ge=2)] = Field(2, description="Runs on the inputs that `get_inputs` makes.")
    weights: Whole = Field(16, description="Weights that are changed one by one, evenly chosen among all.")
    variant_seconds: Positive = Field(30, description="A run in lower precision, or with one input or weight changed.")


class ProfileConfig(Record):
    """What a profiler is asked of right candidates, on a device; it changes no verdict."""

    enabled: bool = Field(False, description="Whether candidates that are right are profiled; `--profile` says so too.")
    seconds: Positive = Field(120, description="What the profiler may take; after that there is no profile.")


class FeedbackConfig(Record):
    """Bounds of the text that a model gets for its next turn."""

    characters: Annotated[Whole, Field(ge=200)] = Field(4000, description="Of the whole text.")
    diagnostics: Count = Field(3, description="Compiler errors.")
    findings: Count = Field(4, description="Findings of the run.")
    context_lines: Whole = Field(2, description="Source lines shown before and after the one at fault.")
    line_characters: Annotated[Whole, Field(ge=40)] = Field(160, description="Of one line.")


class VerifyConfig(Record):
    """Everything a verifier can be told."""

    backend: Backend = Field("auto", description="What judges.")
    policy: Policy = Field("native", description="What a candidate may call beside its own kernels.")
    protocol: Protocol = Field("ours", description="Whose rules of comparison.")
    trials: Count = Field(5, description="Runs on fresh inputs.")
    input_variation: Variations = Field(
        "auto",
        description="`auto`: one more run for each other sign or scale of the inputs that the task's known admission "
        "needs; `none`: no such run.",
    )
    weight_variation: Variations = Field(
        "auto",
        description="`auto`: one more run in which weights that begin as ones or zeros have other values; `none`: no "
        "such run. There is none under protocol `kernelbench`.",
    )
    seed: Annotated[str | None, AfterValidator(_hex_secret)] = Field(
        None, description="The run secret, hexadecimal; none: a new one each run."
    )
    deadlines: Deadlines = Deadlines()
    memory: MemoryLimits = MemoryLimits()
    tolerance: Tolerance = Tolerance()
    simulator: SimulatorConfig = SimulatorConfig()
    cuda: CudaConfig = CudaConfig()
    pool: PoolConfig = PoolConfig()
    timing: TimingConfig = TimingConfig()
    profile: ProfileConfig = ProfileConfig()
    admission: AdmissionConfig = AdmissionConfig()
    reward: RewardConfig = RewardConfig()
    feedback: FeedbackConfig = FeedbackConfig()

    def effective_tolerance(self) -> Tolerance:
        """The tolerance that is applied: protocol `kernelbench` brings its own rule."""
        if self.protocol == "kernelbench":
            return self.tolerance.model_copy(update={"rule": "allclose"})
        return self.tolerance

    def with_backend(self, backend: str) -> VerifyConfig:
        """The same configuration with `auto` resolved; hash this one."""
        return VerifyConfig.model_validate({**self.model_dump(), "backend": backend})

    def config_hash(self) -> str:
        """Identity of what can change a verdict.

        The secret is left out because a verdict names it apart; reward, feedback, profile, admission and threads change
        no verdict.
        """
        return content_hash(self.of_the_verdict())

    def of_the_verdict(self) -> dict[str, Any]:
        """The fields behind `config_hash`, as plain data that `load_config` reads back."""
        return self.model_dump(mode="json", exclude=_NOT_IN_THE_HASH)


_NOT_IN_THE_HASH: Any = {
    "seed": True, "reward": True, "feedback": True, "profile": True, "pool": True,
    "admission": True,
    "simulator": {"threads": True},
}  # fmt: skip


def load_config(
    path: str | Path | None = None, settings: Iterable[str] = (), overrides: Mapping[str, Any] | None = None
) -> VerifyConfig:
    """The configuration of a YAML file (or the defaults) with `a.b=c` settings applied in order.

    `overrides` are top-level fields that win over both, such as options of a command line; None leaves a field alone.

    Raises UsageError, one line that names the field, what is wrong with it, and where it came from.
    """
    data = plain_data(path, settings)
    data.update({name: value for name, value in (overrides or {}).items() if value is not None})
    return validated(data, origin=origin_of(path))


def validated(data: Mapping[str, Any], *, origin: str) -> VerifyConfig:
    """A configuration from plain data; UsageError names the first field at fault."""
    return validated_as(VerifyConfig, data, origin=origin)
