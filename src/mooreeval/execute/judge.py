"""One judgement: the stages from a task and a candidate to a conclusion. Holds every expected value and every seed.

    reference child: prepare ─> recorder: strings ─> toolchain: artefacts ─> run child: load, trials ─> compare child

Each stage returns what the next one needs, or a `Conclusion` that ends the judgement. What a child says about itself
(its launches, its findings) is evidence from the candidate's own process; the values are compared in a process of the
judge's own, which no candidate's process can reach. Imports no torch.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, TaskError, Transient
from mooreeval.execute import conclude
from mooreeval.execute.answers import LoadAnswer, Malformed, Report, TraceAnswer, TrialAnswer
from mooreeval.execute.asking import (
    ask,
    bytes_of,
    has_elements,
    how_the_task_ended,
    last_line,
    or_end,
    outputs_of,
    report_left_behind,
    shapes_of,
)
from mooreeval.execute.children import Child, ChildEnded, Launcher
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.gpu_state import GpuWatch
from mooreeval.execute.lawful import Legality
from mooreeval.execute.processes import Processes
from mooreeval.execute.reading import kinds_of, read_source
from mooreeval.execute.schedule import PLAIN, DeviceSchedule, PlannedTrial, Schedule, plan
from mooreeval.execute.seeds import derive_seed
from mooreeval.execute.timed_peers import TimedPeers, core_for
from mooreeval.execute.timing_stage import time_candidate
from mooreeval.execute.wire import read_values
from mooreeval.task import Task
from mooreeval.toolchains.base import BuildFailure, Toolchain
from mooreeval.toolchains.locate import SourceMap, in_own_line, in_own_lines
from mooreeval.verdict import Finding, Mismatch, Reduction, Status, TaskAdmission, Trial

RELEASE_SECONDS = 20.0  # giving back memory of the device
STAND_IN_SECONDS = 10.0  # the recorder's forward pass computes nothing of interest


class _AskedForMore(Exception):
    """A forward pass asks for an extension that was not asked for when the candidate was loaded."""


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
        admission: TaskAdmission | None = None,
    ) -> None:
        self.task, self.candidate, self.config, self.secret = task, candidate, config, secret
        self._careful = careful  # sizes are reduced with whatever the candidate may rest on in mind
        self._launcher, self._toolchain, self._progress = launcher, toolchain, progress
        self.evidence = Evidence(admission=admission)
        self._forward_recorded = False
        self._processes = Processes(config, launcher, toolchain, self.evidence)
        self._legality = Legality(candidate, config.policy, self.evidence)

    def conclude(self) -> Conclusion:
        """Run the stages in order until one of them ends the judgement."""
        processes = self._processes
        with processes.lasting("reference", self.task.task_hash) as reference, processes.spawn("recorder") as recorder:
            processes.begin_stand_in(recorder)
            if processes.on_device:
                processes.finish_start(reference)
            self._prepare(reference)  # weights and a small example: others may have the device
            return self._judged(recorder, reference)

    def confirm(self, failed: Evidence) -> Conclusion | None:
        """Judge a failure again at other sizes (simulator only); None where there are none, or the task fails there."""
        self.evidence.stage_seconds = failed.stage_seconds
        try:
            with self._processes.spawn("reference") as reference:
                self._prepare(reference)
                if self.evidence.reductions == failed.reductions:
                    return None
                with self._processes.spawn("recorder") as recorder:
                    self._processes.begin_stand_in(recorder)
                    return self._judged(recorder, reference)
        except TaskError:
            return None

    def _judged(self, recorder: Child, reference: Child) -> Conclusion:
        """Record, build, run; from the beginning where the run asks for an extension that only a forward pass does."""
        try:
            return self._recorded(recorder) or self._build() or self._run_what_was_built(reference)
        except _AskedForMore:
            self.evidence.forget_the_run()
        with self._processes.spawn("recorder") as again:
            self._processes.begin_stand_in(again)
            return self._recorded(again, forward=True) or self._build() or self._run_what_was_built(reference)

    # ---------------------------------------------------------------------------------------------------------- helpers
    def _seed(self, purpose: str, trial: int = 0) -> int:
        return derive_seed(self.secret, purpose, self.task.task_hash, self.candidate.candidate_hash, trial)

    @contextmanager
    def _stage(self, name: str) -> Generator[None]:
        self._progress(name)
        start = time.monotonic()
        try:
            yield
        finally:
            seconds = self.evidence.stage_seconds.get(name, 0.0) + time.monotonic() - start
            self.evidence.stage_seconds[name] = round(seconds, 4)

    # -------------------------------------------------------------------------------------------------------- reference
    def _prepare(self, reference: Child) -> None:
        """Size the task for this backend, build its model, and take what the candidate needs to be built alike."""
        fields = {
            "name": self.task.task_id,
            "code": self.task.code,
            "candidate_text": self.candidate.code,
            "budget": None if self._processes.on_device else self.config.simulator.budget(),
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
        evidence.input_kinds, evidence.init_kinds = kinds_of(answer["input_kinds"]), kinds_of(answer["init_kinds"])
        evidence.single_precision = answer["single_precision"] is True
        evidence.reductions = tuple(Reduction.model_validate(r) for r in answer["reductions"])
        evidence.forced, evidence.doubtful = tuple(answer["forced"]), tuple(answer["doubtful"])

    def _ask_reference(
        self, reference: Child, op: str, fields: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        seconds = self.config.deadlines.reference_seconds
        try:
            message = reference.ask(op, fields, {}, seconds)
        except ChildEnded as end:
            raise TaskError(how_the_task_ended(self.task.task_id, end, seconds, reference.log_tail())) from None
        if message.op == "task_error":
            raise TaskError(message.fields["message"])
        return message.fields, read_values(message)

    # ---------------------------------------------------------------------------------------------------------- record
    def _recorded(self, recorder: Child, *, forward: bool = False) -> Conclusion | None:
        """Record, and read what was recorded: what is illegal by source is that before anything else is wrong."""
        stop = self._record(recorder, forward=forward)
        if stop and stop.status is Status.NO_CANDIDATE:
            return stop
        with self._stage("legality"):
            hits = read_source(self._processes, self.candidate.code, self.evidence, self.config.policy == "native")
        return conclude.illegal_by_source(hits) or stop

    def _record(self, recorder: Child, *, forward: bool = False) -> Conclusion | None:
        """The strings that the candidate wants compiled, as it is loaded or in a forward pass."""
        with self._stage("record"):
            self._processes.finish_stand_in(recorder)
            try:
                answer = self._load(recorder, "record", {}, self.config.deadlines.record_seconds)
            except ChildEnded as end:
                return self._ended(end, recorder, "while its Python was loaded")
            if stop := conclude.load_error(answer.error, self.candidate.code, final=False):
                return stop
            self._forward_recorded = forward or not answer.extensions
            if self._forward_recorded and answer.error is None and self.evidence.example is not None:
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
        waited = 0.0
        with self._stage("build"):
            for extension in self.evidence.recording.extensions:
                built = self._toolchain.build(extension, self.config.deadlines.build_seconds)
                if built.tier:
                    self.evidence.build_tiers.append(built.tier)
                waited += built.waited_seconds
                if isinstance(built, BuildFailure):
                    failures.append(in_own_lines(built, self._source_map()))
                else:
                    self.evidence.artefacts.append(built)
                    marks = [in_own_line(d, self._source_map()) for d in built.diagnostics]
                    self.evidence.warnings.extend((*built.warnings, *(f"{d.place}: {d.message}" for d in marks)))
        self._tell_apart("build_wait", "build", waited)
        if stop := conclude.build_failures(failures):
            return stop
        with self._stage("legality"):
            try:
                stop = self._legality.of_modules(self._source_map())
            except NotJudged:
                self._require_artefacts()
                raise
        if stop:
            self._require_artefacts()
        return stop

    def _require_artefacts(self) -> None:
        """Before what was built is held against the candidate: others share the cache, and may clear it."""
        if not self._toolchain.still_has(self.evidence.artefacts):
            raise Transient("what was built was lost from the cache while it was judged")

    def _tell_apart(self, name: str, stage: str, seconds: float) -> None:
        """Seconds that a stage spent waiting for others, as a stage of their own."""
        if seconds >= 0.01:
            spent = self.evidence.stage_seconds
            spent[name] = round(spent.get(name, 0.0) + seconds, 4)
            spent[stage] = round(max(spent[stage] - seconds, 0.0), 4)

    def _source_map(self) -> SourceMap:
        return SourceMap(self.candidate.code, self.evidence.recording)

    # ------------------------------------------------------------------------------------------------------------- run
    def _run_what_was_built(self, reference: Child) -> Conclusion:
        conclusion = self._run(reference)
        if conclusion.status is not Status.CORRECT:
            self._require_artefacts()
        return conclusion

    def _run(self, reference: Child) -> Conclusion:
        """Trials and timing. A failure that others on the device may be to blame for is had again without them."""
        evidence = self.evidence
        if evidence.example is None or not self._processes.may_share(bytes_of([evidence.example, evidence.state])):
            return self._run_once(reference, shared=False)
        try:
            conclusion = self._run_once(reference, shared=True)
            if not conclude.company_may_be_at_fault(conclusion):
                return conclusion
        except TaskError:
            if not reference.is_alive():
                raise
        evidence.forget_the_trials()
        return self._run_once(reference, shared=False)

    def _run_once(self, reference: Child, *, shared: bool) -> Conclusion:
        """`shared`: others may have the device during the trials; while the candidate is timed nobody has."""
        processes = self._processes
        with processes.spawn("run") as child:
            processes.begin_start(child)
            processes.finish_start(child)
            try:
                if stop := self._loaded(child):
                    self.evidence.output_tail = child.log_tail() or None
                    return stop
            except ChildEnded as end:
                return self._ended(end, child, "while it was loaded")
            with self._turn(shared=shared) as comparer:
                conclusion = self._followed(child, lambda: self._try(child, reference, comparer))
                if not self._is_to_be_timed(conclusion):
                    return conclusion
                if not shared:
                    return self._followed(child, lambda: self._timed(child, reference, comparer)) or conclusion
                stop = self._followed(child, lambda: child.ask("release", {}, {}, RELEASE_SECONDS))
                if isinstance(stop, Conclusion):
                    return stop
                self._ask_reference(reference, "release", {})
            with self._turn(shared=False) as comparer:
                return self._followed(child, lambda: self._timed(child, reference, comparer)) or conclusion

    @contextmanager
    def _turn(self, *, shared: bool) -> Generator[Child]:
        """The device, and a child that compares."""
        processes = self._processes
        with processes.turn(shared=shared), processes.lasting("compare") as comparer:
            if processes.on_device:
                processes.finish_start(comparer)
            yield comparer

    def _followed(self, child: Child, job: Callable[[], Any]) -> Any:
        """What the candidate's process is asked to do, or how it ended; where nothing is timed, it may leave then."""
        leaving = [] if self._processes.on_device else [child]
        try:
            return job()
        except ChildEnded as end:
            return self._ended(end, child, "while it ran")
        except _AskedForMore:
            leaving = [child]
            raise
        finally:
            self.evidence.output_tail = child.log_tail() or None
            for each in leaving:
                each.leave()

    def _is_to_be_timed(self, conclusion: Conclusion) -> bool:
        return conclusion.status is Status.CORRECT and self._processes.on_device and self.config.timing.enabled

    def _ended(self, end: ChildEnded, child: Child, when: str) -> Conclusion:
        """A candidate's process is gone; its run time may have written down why."""
        report = report_left_behind(child)
        self._observe(report)
        self.evidence.output_tail = child.log_tail() or None
        return conclude.process_ended(end, report, self.evidence.findings, when, child.log_tail())

    def _loaded(self, child: Child) -> Conclusion | None:
        """Let the candidate's Python run and its extensions load, while others may have the device."""
        with self._stage("load"):
            answer = self._load(child, "run", self.evidence.loadable(), self.config.deadlines.run_seconds)
        return conclude.load_error(answer.error, self.candidate.code, final=True)

    @property
    def _planned(self) -> list[PlannedTrial]:
        admission = self.evidence.admission
        return plan(
            self._processes.on_device,
            self.config.trials,
            admission.variations if admission else (),
            lambda number: self._seed("schedule", number),
            self.config.simulator.check_budget,
        )

    def _try(self, child: Child, reference: Child, comparer: Child) -> Conclusion:
        for index, (schedule, inputs) in enumerate(self._planned):
            if stop := self._trial(child, reference, comparer, index, schedule, inputs):
                return stop
        conclusion = conclude.trials(self.evidence.trials)
        if conclusion.status is Status.CORRECT and self._processes.on_device and not self.config.timing.enabled:
            return self._traced(child) or conclusion
        return conclusion

    def _timed(self, child: Child, reference: Child, comparer: Child) -> Conclusion | None:
        """Time a right candidate, and then look at what it does, which a profiler slows; None to go on."""
        return self._time(child, reference, comparer) or self._traced(child)

    def _time(self, child: Child, reference: Child, comparer: Child) -> Conclusion | None:
        """Time a right candidate; None unless a timed call shows that it is not right after all."""
        deadlines = self.config.deadlines
        peers = TimedPeers(
            child,
            reference,
            lambda got, devices, want: self._compare(comparer, got, devices, want),
            lambda number: self._seed("timed inputs", number),
            GpuWatch(self.config.cuda.device),
            {"run": deadlines.run_seconds, "reference": deadlines.reference_seconds},
            core_for(self.config.cuda.device),
        )
        source = random.Random(self._seed("timing"))
        with self._stage("timing"):
            return time_candidate(
                peers, self.evidence, self._toolchain.facts, self.config.timing, source, self.candidate.code
            )

    def _trial(
        self,
        child: Child,
        reference: Child,
        comparer: Child,
        index: int,
        schedule: Schedule | DeviceSchedule,
        inputs: str,
    ) -> Conclusion | None:
        """One run on fresh inputs; None to go on."""
        seed = self._seed("inputs", index)
        values = self._expected(reference, seed, inputs)
        if values is None:
            return None
        with self._stage("run"):
            answer, message = ask(
                child,
                "trial",
                TrialAnswer,
                {
                    "schedule": schedule.to_json(bytes_of(values["expected32"])),
                    "seconds": self.config.deadlines.run_seconds,
                    "keep": self._processes.on_device and not self.config.timing.enabled,
                },
                {"inputs": values["inputs"]},
                self.config.deadlines.run_seconds,
            )
        if answer.asked_for_more and not self._forward_recorded:
            raise _AskedForMore
        self._observe(answer.report)
        self._legality.observe(answer.operators)
        if stop := conclude.trial_stopped(answer.error, answer.report, self.evidence.findings, self.candidate.code):
            return stop
        with self._stage("compare"):
            mismatch = or_end(child, lambda: self._compare(comparer, outputs_of(message), answer.devices, values))
        if index == 0:
            self.evidence.bytes_of_a_call = bytes_of(values["inputs"]), bytes_of(values["expected32"])
            self.evidence.shapes = [*shapes_of("input", values["inputs"]), *shapes_of("output", values["expected32"])]
        passed = mismatch is None
        self.evidence.trials.append(
            Trial(index=index, seed=seed, passed=passed, schedule=str(schedule), inputs=inputs, mismatch=mismatch)
        )
        must_launch, watched = has_elements(values["expected32"]), isinstance(schedule, Schedule) and schedule.check
        return self._legality.of_trial(answer, index, passed, must_launch=must_launch, watched=watched)

    def _traced(self, child: Child) -> Conclusion | None:
        """One more forward pass on a device, with every kernel told; None to go on.

        A candidate that was right until here and fails beside a profiler is not at fault: the profiler may be.
        """
        seconds = self.config.deadlines.run_seconds
        with self._stage("legality"):
            try:
                answer = ask(child, "trace", TraceAnswer, {"seconds": seconds}, {}, seconds)[0]
            except ChildEnded as end:
                answer = TraceAnswer(missing=f"the process under the profiler: {end}")
            return self._legality.of_trace(answer)

    def _expected(self, reference: Child, seed: int, inputs: str) -> dict[str, Any] | None:
        """A trial's inputs and the reference's answer; None where a variation of the inputs does not work after all."""
        with self._stage("reference"):
            try:
                return self._ask_reference(reference, "trial", {"seed": seed, "inputs": inputs})[1]
            except TaskError as error:
                if inputs == PLAIN:
                    raise
                self.evidence.warnings.append(f"no trial on inputs {inputs}: {error}")
                return None

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


def _finding_key(finding: Finding) -> tuple[Any, ...]:
    return finding.kind, finding.severity, finding.kernel, str(finding.place), str(finding.other)
