"""What the judge believes of a child's answer: its form. A child that runs a candidate may send anything.

Everything is bounded and typed here, before it is used; what does not fit is `Malformed`, which counts as the
candidate's own doing. Launches and findings stay claims of the candidate's process.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mooreeval.execute.wire import Message
from mooreeval.legality.dispatch import SeenOperator
from mooreeval.legality.provenance import HostTraffic, TracedKernel
from mooreeval.toolchains.base import Extension, Recording, Source
from mooreeval.verdict import FindingKind

Text = Annotated[str, Field(max_length=64_000)]
ShortText = Annotated[str, Field(max_length=2_000)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Triple = tuple[Count, Count, Count]


class Malformed(Exception):
    """An answer that no child of ours gives by itself."""


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=False)


class ErrorClaim(_Claim):
    """An exception, described by `candidate_child.describe_error`."""

    kind: Literal["exception", "syntax", "no_model", "unrecorded", "refused"]
    type: Text
    message: Text
    line: Count | None = None
    traceback: Text = ""
    raised_in: Text = ""  # the installed package whose code raised


class LaunchClaim(_Claim):
    kernel: Text
    grid: Triple
    block: Triple
    shared_bytes: Count
    count: Count
    module: Text | None = None  # simulator: the file of the module that has the kernel


class OperatorClaim(_Claim):
    """Equal calls of one operator, see `legality.watch`."""

    name: ShortText
    origin: Literal["python", "cpp", "hidden"]
    function: ShortText = ""
    line: Count | None = None
    count: Count
    bytes: Count = 0
    reordered: Count = 0

    def seen(self) -> SeenOperator:
        return SeenOperator(self.name, self.origin, self.function, self.line, self.count, self.bytes, self.reordered)


class KernelClaim(_Claim):
    """Equal activities of a device, see `legality.device_trace`."""

    kind: Literal["kernel", "copy", "fill"]
    name: ShortText
    grid: Triple
    block: Triple
    operators: Annotated[tuple[ShortText, ...], Field(max_length=16)] = ()
    count: Annotated[int, Field(gt=0, lt=1 << 40)]
    us: Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]

    def traced(self) -> TracedKernel:
        return TracedKernel(self.kind, self.name, self.grid, self.block, self.operators, self.count, self.us)


class OutputClaim(_Claim):
    """Where what kernels wrote has gone, by the simulator's run time."""

    outputs: Count
    own: Count
    host_saw_own_work: bool


class HostClaim(_Claim):
    """Bytes that crossed between the device and the host in a forward pass, by the simulator's run time."""

    foreign_taken: Count  # of memory that no watched kernel had written, weights left out
    own_taken: Count
    own_before_launch: Count  # of these, before the last launch
    given: Count  # to the device, without what had come from there as it is
    returned: Count  # that

    def seen(self) -> HostTraffic:
        return HostTraffic(**self.model_dump())


class FindingClaim(_Claim):
    """One finding of the run time, before its addresses are lines."""

    kind: FindingKind
    severity: Literal["error", "warning"]
    message: Text
    kernel: Text | None = None
    block: Triple | None = None
    thread: Triple | None = None
    module: Text | None = None
    offset: Count | None = None
    other_module: Text | None = None
    other_offset: Count | None = None
    other_thread: Triple | None = None
    count: Count = 1


class Report(_Claim):
    """Launches and findings of one trial, as the run time tells them."""

    launches: Annotated[tuple[LaunchClaim, ...], Field(max_length=10_000)] = ()
    findings: Annotated[tuple[FindingClaim, ...], Field(max_length=1000)] = ()
    unsupported: Text | None = None
    check_stopped: bool = False
    kernel_bytes: Count = 0  # simulator: that watched kernels read and wrote
    outputs: OutputClaim | None = None
    host: HostClaim | None = None
    resets: Count = 0  # how often the run time forgot its findings; once a trial


class RefusalClaim(_Claim):
    reason: Text
    feature: Text | None = None


Strings = tuple[str, ...]


class ExtensionClaim(_Claim):
    """One recorded build call, see `toolchains.base.Extension`."""

    name: Text
    sources: tuple[tuple[Text, Literal["cpp", "cuda"], str], ...]
    headers: tuple[tuple[Text, Literal["cpp", "cuda"], str], ...] = ()
    functions: tuple[tuple[Text, Text], ...] | None
    cflags: Strings
    cuda_cflags: Strings
    ldflags: Strings
    with_cuda: bool
    implicit_headers: bool

    def extension(self) -> Extension:
        """The noun that the toolchain builds."""
        return Extension(
            name=self.name,
            sources=tuple(Source(*source) for source in self.sources),
            headers=tuple(Source(*header) for header in self.headers),
            functions=self.functions,
            cflags=self.cflags,
            cuda_cflags=self.cuda_cflags,
            ldflags=self.ldflags,
            with_cuda=self.with_cuda,
            implicit_headers=self.implicit_headers,
        )


Operators = Annotated[tuple[OperatorClaim, ...], Field(max_length=2048)]


class LoadAnswer(_Claim):
    error: ErrorClaim | None
    extensions: Annotated[tuple[ExtensionClaim, ...], Field(max_length=64)] = ()
    refusals: Annotated[tuple[RefusalClaim, ...], Field(max_length=64)] = ()
    asked_for_more: bool = False  # a run: for an extension that was not recorded
    without_counterpart: Annotated[tuple[ShortText, ...], Field(max_length=4096)] = ()  # see `neutral_weights`

    surplus: Annotated[tuple[ShortText, ...], Field(max_length=4096)] = ()

    def recording(self) -> Recording:
        return Recording(tuple(claim.extension() for claim in self.extensions))


class TrialAnswer(LoadAnswer):
    report: Report
    operators: Operators = ()
    devices: Annotated[tuple[Text, ...], Field(max_length=4096)] = ()


class TraceAnswer(_Claim):
    """Of one forward pass that a profiler watched on a device."""

    error: ErrorClaim | None = None
    report: Report = Report()
    operators: Operators = ()
    kernels: Annotated[tuple[KernelClaim, ...], Field(max_length=4096)] = ()
    missing: Text | None = None  # why nothing was seen of the device


class BlockAnswer(_Claim):
    """Of an operation while a candidate is timed."""

    error: ErrorClaim | None


class ShowAnswer(BlockAnswer):
    devices: Annotated[tuple[Text, ...], Field(max_length=4096)] = ()


def read_answer(message: Message, model: type[_Claim], op: str) -> Any:
    """The control part of an answer to `op`, checked."""
    if message.op != op:
        raise Malformed(f"answered {message.op[:40]!r} to {op!r}")
    return _validated(model, message.fields)


def read_report(data: Any) -> Report:
    """A report from a file that a dying child left."""
    return _validated(Report, data)


def _validated(model: type[_Claim], data: Any) -> Any:
    try:
        return TypeAdapter(model).validate_python(data)
    except (ValidationError, RecursionError) as error:
        raise Malformed(str(error).splitlines()[0]) from error
