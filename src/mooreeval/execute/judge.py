"""One judgement: the stages from a task and a candidate to a conclusion. Holds every expected value and every seed.

    reference child: prepare ─> recorder: strings ─> toolchain: artefacts ─> run child: load, trials ─> compare child

Each stage returns what the next one needs, or a `Conclusion` that ends the judgement. What a child says about itself
(its launches, its findings) is evidence from the candidate's own process; the values are compared in a process of the
judge's own, which no candidate's process can reach. Imports no torch.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import SimulatorConfig, VerifyConfig
from mooreeval.errors import NotJudged, TaskError, Transient
from mooreeval.execute import conclude
from mooreeval.execute.answers import (
    LoadAnswer,
    Malformed,
    Report,
    TrialAnswer,
    read_report,
)
from mooreeval.execute.asking import ask, bytes_of, has_elements, last_line, or_end, outputs_of, shapes_of
from mooreeval.execute.children import Child, ChildEnded, Launcher
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.gpu_state import GpuWatch
from mooreeval.execute.schedule import DeviceSchedule, Schedule, schedules
from mooreeval.execute.seeds import derive_seed
from mooreeval.execute.timed_peers import CandidateRaised, TimedPeers
from mooreeval.execute.timing import Untimed, Work, WrongOutput, measure, slower_neighbour
from mooreeval.execute.wire import read_values
from mooreeval.task import Task
from mooreeval.toolchains.base import BuildFailure, Toolchain
from mooreeval.toolchains.locate import SourceMap, in_own_line, in_own_lines
from mooreeval.verdict import Finding, Mismatch, Reduction, Status, Trial

START_SECONDS = 60.0  # opening a device
STAND_IN_SECONDS = 10.0  # the recorder's forward pass computes nothing of interest


class Judgement:
    """Judges one candidate once."""

    def __init__(
        self,
        task: Task,
        candidate: Candidate,
        config: VerifyConfig,
        secret: str,
        launcher: Launcher,
        toolchain: Toolchain,
        progress: Callable[[str], None],
        careful: bool = False,
    ) -> None:
        self.task, self.candidate, self.config, self.secret = task, candidate, config, secret
        self._careful = careful  # sizes are reduced with whatever the candidate may rest on in mind
        self._launcher, self._toolchain, self._progress = launcher, toolchain, progress
        self.evidence = Evidence()

    def conclude(self) -> Conclusion:
        """Run the stages in order until one of them ends the judgement."""
        with self._spawn("reference") as reference, self._spawn("recorder") as recorder:
            self._begin_start(recorder, "simulator", self._toolchain.recorder_options())
            if self._on_device:
                self._begin_start(reference, self.config.backend, self._toolchain.device_options())
                self._finish_start(reference)
            with self._turn():
                self._prepare(reference)
            return self._record(recorder) or self._build() or self._run(reference)

    def confirm(self, failed: Evidence) -> Conclusion | None:
        """Judge a failure again at other sizes (simulator only); None where there are none, or the task fails there."""
        self.evidence.stage_seconds = failed.stage_seconds
        try:
            with self._spawn("reference") as reference:
                self._prepare(reference)
                if self.evidence.reductions == failed.reductions:
                    return None
                with self._spawn("recorder") as recorder:
                    self._begin_start(recorder, "simulator", self._toolchain.recorder_options())
                    return self._record(recorder) or self._build() or self._run(reference)
        except TaskError:
            return None

    @property
    def _on_device(self) -> bool:
        """Whether references run and outputs are compared where the candidate runs; on the simulator the CPU does."""
        return self.config.backend != "simulator"

    # ---------------------------------------------------------------------------------------------------------- helpers
    def _seed(self, purpose: str, trial: int = 0) -> int:
        return derive_seed(self.secret, purpose, self.task.task_hash, self.candidate.candidate_hash, trial)

    def _spawn(self, role: str) -> Child:
        memory, real = self.config.memory, self._on_device and role != "recorder"
        limits = {
            "data_bytes": (memory.device_child_mib if real else memory.child_mib) << 20,
            "file_bytes": memory.disk_mib << 20,
            "core_bytes": 0,
        }
        return self._launcher.spawn(role, limits, device=real)

    @contextmanager
    def _stage(self, name: str) -> Generator[None]:
        self._progress(name)
        start = time.monotonic()
        try:
            yield
        finally:
            seconds = self.evidence.stage_seconds.get(name, 0.0) + time.monotonic() - start
            self.evidence.stage_seconds[name] = round(seconds, 4)

    @contextmanager
    def _turn(self) -> Generator[None]:
        """The device for this judgement alone. Contexts are made and candidates are built while others have it."""
        with self._toolchain.device_turn():
            start = time.monotonic()
            try:
                yield
            finally:
                self.evidence.device_seconds += time.monotonic() - start

    # -------------------------------------------------------------------------------------------------------- reference
    def _prepare(self, reference: Child) -> None:
        """Size the task for this backend, build its model, and take what the candidate needs to be built alike."""
        fields = {
            "name": self.task.task_id,
            "code": self.task.code,
            "candidate_text": self.candidate.code,
            "budget": None if self._on_device else _budget(self.config.simulator),
            "careful": self._careful,
            "weight_seed": self._seed("weights"),
            "example_seed": self._seed("example"),
        }
        with self._stage("reference"):
            answer, values = self._ask_reference(reference, "prepare", fields)
        evidence = self.evidence
        evidence.init_inputs, evidence.state, evidence.example = (
            values[k] for k in ("init_inputs", "state", "example")
        )
        evidence.reductions = tuple(Reduction.model_validate(r) for r in answer["reductions"])
        evidence.forced, evidence.doubtful = tuple(answer["forced"]), tuple(answer["doubtful"])

    def _ask_reference(
        self, reference: Child, op: str, fields: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        seconds = self.config.deadlines.reference_seconds
        try:
            message = reference.ask(op, fields, {}, seconds)
        except ChildEnded as end:
            raise TaskError(_how_the_task_ended(self.task, end, seconds, reference.log_tail())) from None
        if message.op == "task_error":
            raise TaskError(message.fields["message"])
        return message.fields, read_values(message)

    # ---------------------------------------------------------------------------------------------------------- record
    def _record(self, recorder: Child) -> Conclusion | None:
        """The strings that the candidate wants compiled."""
        with self._stage("record"):
            self._finish_start(recorder)
            try:
                answer = self._load(recorder, "record", {}, self.config.deadlines.record_seconds)
            except ChildEnded as end:
                return self._ended(end, recorder, "while its Python was loaded")
            if stop := conclude.load_error(answer.error, self.candidate.code, final=False):
                return stop
            if answer.error is None and self.evidence.example is not None:
                answer = self._record_forward(recorder) or answer
        recorder.leave()
        self.evidence.recording = answer.recording()
        return conclude.refusals(answer.refusals)

    def _record_forward(self, recorder: Child) -> LoadAnswer | None:
        """One forward pass over stand-ins, for extensions that are asked for only there. It can't convict."""
        schedule = Schedule("forward", False, 0, 0).to_json()
        seconds = min(STAND_IN_SECONDS, self.config.deadlines.record_seconds)
        try:
            return ask(
                recorder,
                "trial",
                TrialAnswer,
                {"schedule": schedule, "seconds": seconds},
                {"inputs": self.evidence.example},
                seconds,
            )[0]
        except ChildEnded:
            return None

    def _begin_start(self, child: Child, backend: str, options: dict[str, Any]) -> None:
        """Let a child open a device, while others do something else."""
        if backend == "simulator":
            simulator = self.config.simulator
            options = {**options, "memory_bytes": simulator.device_mib << 20, "threads": simulator.threads}
        with _told_as_ours(child):
            child.begin("start", {"backend": backend, "options": options}, {}, START_SECONDS)

    def _finish_start(self, child: Child) -> None:
        """Wait until it is open; what it says of itself is told of the last one opened."""
        with _told_as_ours(child):
            answer = child.finish()
        self.evidence.device, self.evidence.tensor_device = answer.fields["name"], answer.fields["tensor_device"]

    def _load(self, child: Child, mode: str, artefacts: dict[str, Any], seconds: float) -> LoadAnswer:
        fields = {
            "code": self.candidate.code,
            "weight_seed": self._seed("weights"),
            "mode": mode,
            "artefacts": artefacts,
        }
        values = {"init_inputs": self.evidence.init_inputs, "state": self.evidence.state}
        return ask(child, "load", LoadAnswer, fields, values, seconds)[0]

    # ----------------------------------------------------------------------------------------------------------- build
    def _build(self) -> Conclusion | None:
        """Every recorded extension; the gravest failure wins, so that a cheat is not hidden behind a syntax error."""
        failures: list[BuildFailure] = []
        with self._stage("build"):
            for extension in self.evidence.recording.extensions:
                built = self._toolchain.build(extension, self.config.deadlines.build_seconds)
                if isinstance(built, BuildFailure):
                    failures.append(in_own_lines(built, self._source_map()))
                else:
                    self.evidence.artefacts.append(built)
                    marks = [in_own_line(d, self._source_map()) for d in built.diagnostics]
                    self.evidence.warnings.extend((*built.warnings, *(f"{d.place}: {d.message}" for d in marks)))
        return conclude.build_failures(failures)

    def _source_map(self) -> SourceMap:
        return SourceMap(self.candidate.code, self.evidence.recording)

    # ------------------------------------------------------------------------------------------------------------- run
    def _run(self, reference: Child) -> Conclusion:
        with self._spawn("run") as child, self._spawn("compare") as comparer:
            opened = [child, *([comparer] if self._on_device else [])]
            for each in opened:
                self._begin_start(each, self.config.backend, self._toolchain.device_options())
            for each in reversed(opened):
                self._finish_start(each)
            try:
                with self._turn():
                    return self._load_and_try(child, reference, comparer)
            except ChildEnded as end:
                return self._ended(end, child, "while it ran")
            finally:
                self.evidence.output_tail = child.log_tail() or None
                for each in (child, comparer, reference):
                    each.leave()

    def _ended(self, end: ChildEnded, child: Child, when: str) -> Conclusion:
        """A candidate's process is gone; its run time may have written down why."""
        report = _report_left_behind(child)
        self._observe(report)
        self.evidence.output_tail = child.log_tail() or None
        return conclude.process_ended(end, report, self.evidence.findings, when, child.log_tail())

    def _load_and_try(self, child: Child, reference: Child, comparer: Child) -> Conclusion:
        artefacts = {
            a.extension_hash: {"module_name": a.module_name, "path": str(a.path)} for a in self.evidence.artefacts
        }
        with self._stage("load"):
            answer = self._load(child, "run", artefacts, self.config.deadlines.run_seconds)
        if stop := conclude.load_error(answer.error, self.candidate.code, final=True):
            return stop
        for index, schedule in enumerate(self._schedules()):
            if stop := self._trial(child, reference, comparer, index, schedule):
                return stop
        conclusion = conclude.trials(self.evidence.trials)
        if conclusion.status is not Status.CORRECT or not self._on_device or not self.config.timing.enabled:
            return conclusion
        with self._stage("timing"):
            return self._time(child, reference, comparer) or conclusion

    def _time(self, child: Child, reference: Child, comparer: Child) -> Conclusion | None:
        """Time a right candidate; None unless a timed call shows that it is not right after all."""
        facts, deadlines = self._toolchain.facts, self.config.deadlines
        work = Work(*self.evidence.bytes_of_a_call, facts.L2_cache_size, facts.peak_bytes_per_second)
        peers = TimedPeers(
            child,
            reference,
            lambda got, devices, want: self._compare(comparer, got, devices, want),
            lambda number: self._seed("timed inputs", number),
            work,
            GpuWatch(self.config.cuda.device),
            {"run": deadlines.run_seconds, "reference": deadlines.reference_seconds},
        )
        try:
            measured = measure(peers, work, self.config.timing, random.Random(self._seed("timing")))
        except WrongOutput as wrong:
            return conclude.wrong_when_timed(wrong.mismatch)
        except CandidateRaised as raised:
            return conclude.load_error(raised.error, self.candidate.code, final=True)
        except Untimed as why:
            self.evidence.warnings.append(f"timing: {why}")
            return None
        self.evidence.timing = peers.timing(measured)
        if moved := slower_neighbour(measured.states):
            self.evidence.warnings.append(f"timing: {moved}")
        return None

    def _schedules(self) -> Sequence[Schedule | DeviceSchedule]:
        if self._on_device:
            return [DeviceSchedule() for _ in range(self.config.trials)]
        seeds = [self._seed("schedule", i) for i in range(self.config.trials)]
        return schedules(seeds, self.config.simulator.check_budget)

    def _trial(
        self, child: Child, reference: Child, comparer: Child, index: int, schedule: Schedule | DeviceSchedule
    ) -> Conclusion | None:
        """One run on fresh inputs; None to go on."""
        seed = self._seed("inputs", index)
        with self._stage("reference"):
            _fields, values = self._ask_reference(reference, "trial", {"seed": seed})
        with self._stage("run"):
            answer, message = ask(
                child,
                "trial",
                TrialAnswer,
                {
                    "schedule": schedule.to_json(bytes_of(values["expected32"])),
                    "seconds": self.config.deadlines.run_seconds,
                },
                {"inputs": values["inputs"]},
                self.config.deadlines.run_seconds,
            )
        self._observe(answer.report)
        if stop := conclude.trial_stopped(answer.error, answer.report, self.evidence.findings, self.candidate.code):
            return stop
        with self._stage("compare"):
            mismatch = or_end(child, lambda: self._compare(comparer, outputs_of(message), answer.devices, values))
        if index == 0:
            self.evidence.bytes_of_a_call = bytes_of(values["inputs"]), bytes_of(values["expected32"])
            self.evidence.shapes = [*shapes_of("input", values["inputs"]), *shapes_of("output", values["expected32"])]
        passed = mismatch is None
        self.evidence.trials.append(
            Trial(index=index, seed=seed, passed=passed, schedule=str(schedule), mismatch=mismatch)
        )
        return self._legal(answer.report, index, passed, values["expected32"])

    def _legal(self, report: Report, index: int, passed: bool, expected: Any) -> Conclusion | None:
        """What one trial shows of the rules. The report is the candidate's word: it can convict, it can't acquit."""
        if report.resets != index + 1:
            return conclude.tampering("the findings of the simulator were reset while the candidate ran")
        launched = report.launches and self.evidence.artefacts
        return None if launched or not has_elements(expected) else conclude.no_launch(passed)

    def _compare(
        self, comparer: Child, got: dict[str, Any], devices: Sequence[str], want: dict[str, Any]
    ) -> Mismatch | None:
        """What the candidate returned and left behind against what the reference did.

        Raises Malformed where the candidate's tensors can't be read.
        """
        fields = {
            "devices": list(devices),
            "expected_device": self.evidence.tensor_device,
            "tolerance": self.config.effective_tolerance().model_dump(mode="json"),
        }
        try:
            answer = comparer.ask(
                "compare", fields, {"got": got, "want": want}, self.config.deadlines.reference_seconds
            )
        except ChildEnded as end:
            raise Transient(f"the outputs could not be compared ({end}): {last_line(comparer.log_tail())}") from None
        if answer.fields["malformed"]:
            self.evidence.warnings.append(f"the outputs could not be read: {last_line(comparer.log_tail())}")
            raise Malformed("its tensors can't be read")
        mismatch = answer.fields["mismatch"]
        return None if mismatch is None else Mismatch.model_validate(mismatch)

    def _observe(self, report: Report | None) -> None:
        """Keep the launches and findings of one trial, with lines in the candidate's own file."""
        if report is None:
            return
        for launch in report.launches:
            key = (launch.kernel, launch.grid, launch.block, launch.shared_bytes)
            self.evidence.launches[key] = self.evidence.launches.get(key, 0) + launch.count
        evidence = self.evidence
        found = self._toolchain.findings(
            report.model_dump(mode="json"), evidence.artefacts, self.candidate.code, evidence.recording
        )
        known = {_finding_key(f) for f in evidence.findings}
        evidence.findings.extend(f for f in found if _finding_key(f) not in known)
        note = "not every memory access was watched: the launches were over the check budget"
        if report.check_stopped and note not in evidence.warnings:
            evidence.warnings.append(note)


@contextmanager
def _told_as_ours(child: Child) -> Generator[None]:
    """NotJudged where a child ends while it opens its device: no candidate has been read yet."""
    try:
        yield
    except ChildEnded as end:
        raise NotJudged(f"the device could not be opened ({end}): {last_line(child.log_tail())}") from None


def _finding_key(finding: Finding) -> tuple[Any, ...]:
    return finding.kind, finding.severity, finding.kernel, str(finding.place), str(finding.other)


def _report_left_behind(child: Child) -> Report | None:
    """The report that the run time wrote when it had to leave the process."""
    try:
        return read_report(json.loads(child.last_report()))
    except (ValueError, RecursionError, Malformed):
        return None


def _budget(config: SimulatorConfig) -> dict[str, int]:
    return {
        "elements": config.elements,
        "flops": config.flops,
        "ceiling_elements": config.ceiling_elements,
        "ceiling_flops": config.ceiling_flops,
        "ceiling_bytes": config.ceiling_mib << 20,
    }


def _how_the_task_ended(task: Task, end: ChildEnded, seconds: float, log: str) -> str:
    if end.timed_out:
        return (
            f"task {task.task_id}: it did not finish within {seconds:g} s; "
            "make it smaller or raise deadlines.reference_seconds"
        )
    code = end.exit_code
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with code {code}"
    return f"task {task.task_id}: its process {how}: {last_line(log)}"
