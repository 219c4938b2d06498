"""One build in a scratch folder: compilers run one after the other under one deadline, and their cost is added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mooreeval.errors import NotJudged
from mooreeval.toolchains.base import BuildFailure, Extension
from mooreeval.toolchains.build_pool import BuildClock, BuildPool
from mooreeval.toolchains.cuda_flags import CudaFlags
from mooreeval.toolchains.cuda_messages import (
    Message,
    demangled,
    diagnostics,
    errors_of,
    parse,
    undefined_names,
)
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_units import BINDINGS, Unit, sources_by_name
from mooreeval.toolchains.simulator_messages import readable
from mooreeval.toolchains.simulator_process import Ran
from mooreeval.verdict import Diagnostic

# Where a build failed: C++ for g++; the front end of nvcc; what nvcc makes for the device; the linker.
Phase = Literal["c++", "cuda", "device", "link"]


@dataclass(frozen=True)
class Job:
    """What is to be built: an extension with its flags, sorted, as a Python module of this name."""

    extension: Extension
    flags: CudaFlags
    module: str
    link_flags: tuple[str, ...] = ()  # more for the linker, not the candidate's


class CompileFailed(Exception):
    """The sources were refused: in which phase, and in which words."""

    def __init__(self, phase: Phase, messages: list[Message], log: str) -> None:
        super().__init__(phase)
        self.phase, self.messages, self.log = phase, messages, log

    @property
    def first(self) -> Message:
        return errors_of(self.messages)[0]

    def as_failure(self, tier: str, seconds: float) -> BuildFailure:
        first = self.first
        where = f"{first.place}: " if first.place else ""
        return BuildFailure(
            "compile_error",
            f"{where}{readable(first.text)}",
            diagnostics=diagnostics(self.messages),
            log_tail=self.log[-4000:],
            tier=tier,
            seconds=seconds,
        )


class DeadlineReached(Exception):
    """The build's time is over."""


@dataclass
class Workshop:
    """A scratch folder and what was spent in it."""

    toolkit: Toolkit
    folder: Path
    pool: BuildPool
    clock: BuildClock
    claims: int = 1  # memory of a compiler, see BuildPool.run
    cpu_seconds: float = 0.0
    phase_seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()

    def within(self, name: str) -> Workshop:
        """An own folder inside of this one, of the same build."""
        folder = self.folder / name
        folder.mkdir()
        return Workshop(self.toolkit, folder, self.pool, self.clock, self.claims)

    @property
    def library(self) -> Path:
        return self.folder / "module.so"

    def compile(self, phase: Phase, command: Sequence[str], texts: Mapping[str, str]) -> None:
        """Run a compiler. Raises CompileFailed where it refuses the sources, whose `texts` are given by name."""
        ran = self.run(phase, command)
        messages = parse(_as_written(ran.log), texts)
        if ran.returncode != 0:
            raise self._refusal(phase, ran, messages)
        self.warnings += diagnostics([m for m in messages if m.severity == "warning"])[:5]

    def link(self, command: Sequence[str], may_be_missing: Sequence[str] = ()) -> list[str]:
        """Run the linker; what it did not find, by name as it was written."""
        ran = self.run("link", command)
        if ran.returncode != 0:
            raise self._refusal("link", ran, parse(ran.log, {}))
        return [name for name in undefined_names(_as_written(ran.log)) if name not in may_be_missing]

    def run(self, phase: str, command: Sequence[str]) -> Ran:
        """Raises DeadlineReached, and NotJudged where the compiler itself failed."""
        ran = self.pool.run(command, self.folder, self.clock, self.claims)
        self.cpu_seconds += ran.cpu_seconds
        self.phase_seconds[phase] = self.phase_seconds.get(phase, 0.0) + ran.cpu_seconds
        if ran.returncode is None:
            raise DeadlineReached
        return ran

    def _refusal(self, phase: Phase, ran: Ran, messages: list[Message]) -> CompileFailed:
        errors = errors_of(messages)
        log = _as_written(ran.log.replace(f"{self.folder}/", ""))
        if not errors:
            raise NotJudged(f"the {phase} compiler failed without an error message: {log.strip()[-200:]!r}")
        if phase == "cuda" and "ptxas " in ran.log and not errors[0].file:
            phase = "device"
        return CompileFailed(phase, messages, log)


def _as_written(log: str) -> str:
    """Names as the sources know them."""
    return demangled(log).replace("moore_mini::", "at::")


def write_unit(unit: Unit, folder: Path) -> None:
    (folder / unit.name).write_text(unit.text, encoding="utf-8", errors="replace")


def texts_of(job: Job, bindings: Sequence[str]) -> dict[str, str]:
    """The sources by the names that diagnostics give them."""
    return {**sources_by_name(job.extension), BINDINGS: "\n".join(bindings)}
