"""What a judgement has learnt so far. Without torch, so that a verdict can be written where nothing had to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from mooreeval.sandbox.modes import Sandbox
from mooreeval.toolchains.base import Artefact, Recording
from mooreeval.verdict import Finding, KernelUse, Launch, OperatorUse, Profile, Reduction, TaskAdmission, Timing, Trial


@dataclass
class Evidence:
    """What has been learnt so far; every conclusion is told with it."""

    init_inputs: Any = None
    state: Any = None
    example: Any = None
    input_kinds: list[str] | None = None  # of forward's arguments, see `argument_kinds`
    init_kinds: list[str] | None = None
    single_precision: bool = False
    neutral_weights: tuple[str, ...] = ()  # that begin as ones or zeros
    weights_not_varied: str | None = None  # why no trial gave them other values
    reductions: tuple[Reduction, ...] = ()
    admission: TaskAdmission | None = None
    forced: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    recording: Recording = field(default_factory=Recording)
    artefacts: list[Artefact] = field(default_factory=list)
    build_tiers: list[str] = field(default_factory=list)  # which way to build had the last word on each extension
    sandbox: Sandbox | None = None  # of the children that ran
    device_is_unbounded: bool = False  # the driver does not tell how much of its memory a process holds
    device: str | None = None
    tensor_device: str = ""  # where outputs must be
    trials: list[Trial] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    launches: dict[tuple[Any, ...], int] = field(default_factory=dict)
    operators: dict[tuple[Any, ...], OperatorUse] = field(default_factory=dict)
    kernels: tuple[KernelUse, ...] = ()
    own_share: float | None = None
    own_share_of: Literal["device_time", "bytes_moved"] | None = None
    warnings: list[str] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    output_tail: str | None = None
    bytes_of_a_call: tuple[int, int] = (0, 0)  # of its inputs and of its outputs
    timing: Timing | None = None
    profile: Profile | None = None
    device_seconds: float = 0.0  # while the device was this judgement's ...
    shared_device_seconds: float = 0.0  # ... and of these, beside others' trials
    stage_seconds: dict[str, float] = field(default_factory=dict)

    def loadable(self) -> dict[str, dict[str, str]]:
        """The artefacts as a child loads them, by the hash of their extension."""
        return {a.extension_hash: {"module_name": a.module_name, "path": str(a.path)} for a in self.artefacts}

    def forget_the_run(self) -> None:
        """Back to before anything was built."""
        self.forget_the_trials()
        for found in (self.artefacts, self.build_tiers, self.warnings):
            found.clear()

    def forget_the_trials(self) -> None:
        """Back to before anything was run."""
        for found in (self.trials, self.findings, self.launches, self.operators):
            found.clear()
        self.kernels, self.own_share, self.own_share_of = (), None, None

    def launch_table(self) -> tuple[Launch, ...]:
        """The launches of all trials, aggregated."""
        return tuple(
            Launch(kernel=kernel, grid=grid, block=block, shared_bytes=shared, count=count)
            for (kernel, grid, block, shared), count in self.launches.items()
        )
