"""Programs of a trusted author, many at a time, on the simulator: a check that costs a tenth of a verdict.

    programs ──> batch child: sources ──> one run of g++ ──> batch child: reference, trials, comparison of each

The parts are the judge's: the rules of legality, the simulator that watches memory, the comparison with a float64 run.
What a verdict has beyond them is told in docs/synth.md: above all a process of its own for whoever might deceive. So
this says "agrees" of programs that were written by code of ours, and is never to be asked about a model's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import UsageError
from mooreeval.execute.answers import ExtensionClaim
from mooreeval.execute.asking import report_left_behind
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.conclude import process_ended
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.processes import Processes
from mooreeval.execute.schedule import PLAIN, Schedule
from mooreeval.execute.seeds import derive_seed
from mooreeval.many import as_completed
from mooreeval.on_this_machine import OnThisMachine
from mooreeval.task import Task
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Recording
from mooreeval.toolchains.simulator import SimulatorToolchain
from mooreeval.toolchains.simulator_batch import BatchCompiler
from mooreeval.verdict import Status

RECORD_SECONDS = 60.0


@dataclass(frozen=True)
class BatchLimits:
    """How closely each program is looked at, and how long it may take."""

    plain_trials: int = 2  # on inputs that the task makes, each under a seed of its own
    check_budget: int = 400_000  # watched memory accesses of a launch of the first trial; the rest runs unwatched
    program_seconds: float = 30.0  # wall, of one program's trials
    build_seconds: float = 600.0  # wall, of one batch


@dataclass(frozen=True)
class BatchOutcome:
    """What became of one program. `status` is `Status.CORRECT` where every trial agreed."""

    status: Status
    reason: str  # one line
    seconds: dict[str, float] = field(default_factory=dict)  # CPU seconds of its own by stage


@dataclass(frozen=True)
class BatchReport:
    """One batch. CPU seconds are of the compiler, and of the child's processes with all that they share."""

    outcomes: tuple[BatchOutcome, ...]
    build_cpu_seconds: float
    run_cpu_seconds: float
    compiler_runs: int


Pair = tuple[Task, Candidate]


class BatchVerifier(OnThisMachine):
    """Checks on this machine; a context manager like LocalVerifier, and safe for several threads."""

    def __init__(self, config: VerifyConfig | None = None, limits: BatchLimits | None = None) -> None:
        config = config or VerifyConfig()
        if "mini" not in config.simulator.tiers:
            raise UsageError("many programs are checked at once by the tier mini, which simulator.tiers does not have")
        one_thread = config.simulator.model_copy(update={"threads": 1})  # batches share the cores, not their launches
        config = config.model_copy(update={"backend": "simulator", "simulator": one_thread})
        super().__init__(config, lambda c: SimulatorToolchain(pool=c.pool, tiers=c.simulator.tiers))
        self.limits = limits or BatchLimits()

    def check_many(self, batches: Iterable[Sequence[Pair]], workers: int = 2) -> Iterator[tuple[int, BatchReport]]:
        """Reports with the number of their batch, as they come; batches are taken from the iterator as threads free."""
        jobs = (lambda n=number, batch=batch: (n, self.check(batch)) for number, batch in enumerate(batches))
        return as_completed(jobs, workers, self.close)

    def check(self, pairs: Sequence[Pair]) -> BatchReport:
        """One batch. Raises NotJudged where it is the machine that fails, not a program."""
        self._require_space()
        return self._tried(lambda: _Batch(self, pairs).report())

    def processes(self) -> Processes:
        return Processes(self.config, self._launcher, self._toolchain, Evidence())

    @property
    def toolchain(self) -> SimulatorToolchain:
        return self._toolchain


class _Batch:
    """State: the outcomes that are known by the place of their program, and the child that is at work."""

    def __init__(self, verifier: BatchVerifier, pairs: Sequence[Pair]) -> None:
        self._verifier, self._pairs, self._limits = verifier, pairs, verifier.limits
        self._known: dict[int, BatchOutcome] = {}
        self._extensions: dict[int, tuple[Extension, ...]] = {}
        self._artefacts: dict[int, dict[str, Artefact]] = {}
        self._child: Child | None = None
        self._run_seconds = self._build_seconds = 0.0
        self._compiler_runs = 0

    def report(self) -> BatchReport:
        toolchain = self._verifier.toolchain
        compiler = toolchain.batch_compiler()
        with toolchain.cache.scratch("batch-") as self._folder:
            try:
                self._record()
                self._build(compiler)
                for number in self._open:
                    self._known[number] = self._check(number)
            finally:
                self._end_child()
        outcomes = tuple(self._known[number] for number in range(len(self._pairs)))
        return BatchReport(outcomes, self._build_seconds, self._run_seconds, self._compiler_runs)

    @property
    def _open(self) -> list[int]:
        return [number for number in range(len(self._pairs)) if number not in self._known]

    # ---------------------------------------------------------------------------------------------------------- stages
    def _record(self) -> None:
        """The sources of each; one by one where a file ends the process that reads it."""
        numbers = list(range(len(self._pairs)))
        try:
            self._note(numbers, self._asked_for(numbers))
        except ChildEnded:
            self._end_child()
            for number in numbers:
                self._record_alone(number)

    def _record_alone(self, number: int) -> None:
        try:
            self._note([number], self._asked_for([number]))
        except ChildEnded as end:
            self._known[number] = self._lost(number, end, "while its Python was loaded")

    def _asked_for(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        codes = [self._pairs[number][1].code for number in numbers]
        return self._worker().ask("record", {"codes": codes}, {}, RECORD_SECONDS).fields["recorded"]

    def _note(self, numbers: Sequence[int], recorded: Sequence[dict[str, Any]]) -> None:
        for number, found in zip(numbers, recorded, strict=True):
            claims = [ExtensionClaim.model_validate(each) for each in found["extensions"]]
            self._extensions[number] = tuple(claim.extension() for claim in claims)
            if found["error"]:
                self._known[number] = BatchOutcome(Status.RUNTIME_ERROR, found["error"])

    def _build(self, compiler: BatchCompiler) -> None:
        """All that is still open, in one go."""
        wanted: list[tuple[int, Extension]] = []
        for number in self._open:
            refused = [r for e in self._extensions[number] if (r := self._refused(compiler, e))]
            if refused:
                self._known[number] = refused[0]
            else:
                wanted += [(number, extension) for extension in self._extensions[number]]
        if not wanted:
            return
        built = compiler.build([extension for _, extension in wanted], self._folder, self._limits.build_seconds)
        self._build_seconds, self._compiler_runs = built.cpu_seconds, built.runs
        for (number, extension), result in zip(wanted, built.results, strict=True):
            if isinstance(result, BuildFailure):
                self._known[number] = _of_failure(result)
            else:
                self._artefacts.setdefault(number, {})[extension.content_hash()] = result

    def _refused(self, compiler: BatchCompiler, extension: Extension) -> BatchOutcome | None:
        if failure := self._verifier.toolchain.refused(extension):
            return _of_failure(failure)
        reason = compiler.reason_against(extension)
        return BatchOutcome(Status.UNSUPPORTED, f"not one of many: {reason}") if reason else None

    def _check(self, number: int) -> BatchOutcome:
        try:
            message = self._worker().ask("check", self._fields(number), {}, self._limits.program_seconds)
        except ChildEnded as end:
            return self._lost(number, end, "while it ran")
        told = message.fields
        return BatchOutcome(Status(told["status"]), " ".join(told["reason"].split()), told["seconds"])

    def _fields(self, number: int) -> dict[str, Any]:
        task, candidate = self._pairs[number]
        seed = partial(derive_seed, self._verifier.secret, task_hash=task.task_hash,
                       candidate_hash=candidate.candidate_hash)  # fmt: skip
        loadable = {
            key: {"module_name": artefact.module_name, "path": str(artefact.path)}
            for key, artefact in self._artefacts[number].items()
        }
        return {
            "name": task.task_id,
            "task": task.code,
            "code": candidate.code,
            "artefacts": loadable,
            "extensions": [extension.to_json() for extension in self._extensions[number]],
            "budget": self._verifier.config.simulator.budget(),
            "tolerance": self._verifier.config.effective_tolerance().model_dump(mode="json"),
            "weight_seed": seed(purpose="weights"),
            "example_seed": seed(purpose="example"),
            "seconds": self._limits.program_seconds,
            "trials": list(self._trials(seed)),
            "other_weights": {
                "seed": seed(purpose="inputs", trial=99),
                "weights": seed(purpose="other weights"),
                "inputs": PLAIN,
                "schedule": Schedule("forward", False, seed(purpose="schedule"), 0).to_json(),
            },
        }

    def _trials(self, seed: Callable[..., int]) -> Iterator[dict[str, Any]]:
        """The first is watched and the next run in another order of threads; the last has other signs of its inputs."""
        inputs = [*([PLAIN] * self._limits.plain_trials), "signs"]
        for index, name in enumerate(inputs):
            order = ("forward", "reverse", "random")[index % 3]
            schedule = Schedule(order, index == 0, seed(purpose="schedule", trial=index), self._limits.check_budget)
            yield {"seed": seed(purpose="inputs", trial=index), "inputs": name, "schedule": schedule.to_json()}

    # ----------------------------------------------------------------------------------------------------------- child
    def _worker(self) -> Child:
        """The child that is at work, or a new one."""
        if self._child is None:
            processes = self._verifier.processes()
            shown = [*self._verifier.toolchain.shown_to_children(), str(self._folder)]
            self._child = processes.spawn("batch", shown)
            processes.begin_start(self._child)
            processes.finish_start(self._child)
        return self._child

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.leave()
            self._child.close()
            self._run_seconds += self._child.cpu_seconds
            self._child = None

    def _lost(self, number: int, end: ChildEnded, when: str) -> BatchOutcome:
        """Of a program that took its process with it; the next one gets a new one."""
        assert self._child is not None
        report, log = report_left_behind(self._child), self._child.log_tail()
        self._end_child()
        artefacts, recording = (
            list(self._artefacts.get(number, {}).values()),
            Recording(self._extensions.get(number, ())),
        )
        findings = []
        if report:
            told, code = report.model_dump(mode="json"), self._pairs[number][1].code
            findings = self._verifier.toolchain.findings(told, artefacts, code, recording)
        conclusion = process_ended(end, report, findings, when, log)
        return BatchOutcome(conclusion.status, " ".join(conclusion.reason.split()))


def _of_failure(failure: BuildFailure) -> BatchOutcome:
    return BatchOutcome(_STATUS[failure.kind], " ".join(failure.reason.split()))


_STATUS = {
    "compile_error": Status.COMPILE_ERROR,
    "illegal": Status.ILLEGAL,
    "unsupported": Status.UNSUPPORTED,
    "timeout": Status.UNSUPPORTED,
}
