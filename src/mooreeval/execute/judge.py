"""One judgement: the stages from a task and a candidate to a conclusion. Holds every expected value and every seed.

    reference child: prepare ─> recorder: strings ─> toolchain: artefacts ─> run child: load, trials ─> compare child

Each stage returns what the next one needs, or a `Conclusion` that ends the judgement. What a child says about itself
(its launches, its findings) is evidence from the candidate's own process; the values are compared in a process of the
judge's own, which no candidate's process can reach. Imports no torch.
"""

from __future__ import annotations

from mooreeval.errors import NotJudged, TaskError
from mooreeval.execute import conclude
from mooreeval.execute.answers import LoadAnswer, TrialAnswer
from mooreeval.execute.asking import ask
from mooreeval.execute.case import Case
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.reading import kinds_of, read_source
from mooreeval.execute.running import AskedForMore, Run
from mooreeval.execute.schedule import Schedule
from mooreeval.toolchains.base import BuildFailure
from mooreeval.toolchains.locate import in_own_line, in_own_lines
from mooreeval.verdict import Reduction, Status

STAND_IN_SECONDS = 10.0  # the recorder's forward pass computes nothing of interest


class Judgement:
    """Judges one candidate once."""

    def __init__(self, case: Case, *, careful: bool = False) -> None:
        self._case = case
        self.task, self.candidate, self.config, self.evidence = case.task, case.candidate, case.config, case.evidence
        self._careful = careful  # sizes are reduced with whatever the candidate may rest on in mind
        self._forward_recorded = False
        self._processes, self._toolchain, self._legality = case.processes, case.toolchain, case.legality

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
            return self._recorded(recorder) or self._build() or self._run(reference)
        except AskedForMore:
            self.evidence.forget_the_run()
        with self._processes.spawn("recorder") as again:
            self._processes.begin_stand_in(again)
            return self._recorded(again, forward=True) or self._build() or self._run(reference)

    def _run(self, reference: Child) -> Conclusion:
        return Run(self._case, forward_recorded=self._forward_recorded).conclude(reference)

    # -------------------------------------------------------------------------------------------------------- reference
    def _prepare(self, reference: Child) -> None:
        """Size the task for this backend, build its model, and take what the candidate needs to be built alike."""
        fields = {
            "name": self.task.task_id,
            "code": self.task.code,
            "candidate_text": self.candidate.code,
            "budget": None if self._processes.on_device else self.config.simulator.budget(),
            "careful": self._careful,
            "weight_seed": self._case.seed("weights"),
            "example_seed": self._case.seed("example"),
        }
        with self._case.stage("reference"):
            answer, values = self._case.ask_reference(reference, "prepare", fields)
        evidence = self.evidence
        evidence.init_inputs, evidence.state, evidence.example = (
            values[k] for k in ("init_inputs", "state", "example")
        )
        evidence.input_kinds, evidence.init_kinds = kinds_of(answer["input_kinds"]), kinds_of(answer["init_kinds"])
        evidence.single_precision = answer["single_precision"] is True
        evidence.neutral_weights = tuple(answer["neutral"])
        evidence.reductions = tuple(Reduction.model_validate(r) for r in answer["reductions"])
        evidence.forced, evidence.doubtful = tuple(answer["forced"]), tuple(answer["doubtful"])

    # ---------------------------------------------------------------------------------------------------------- record
    def _recorded(self, recorder: Child, *, forward: bool = False) -> Conclusion | None:
        """Record, and read what was recorded: what is illegal by source is that before anything else is wrong."""
        stop = self._record(recorder, forward=forward)
        if stop and stop.status is Status.NO_CANDIDATE:
            return stop
        with self._case.stage("legality"):
            hits = read_source(self._processes, self.candidate.code, self.evidence, self.config.policy == "native")
        return conclude.illegal_by_source(hits) or stop

    def _record(self, recorder: Child, *, forward: bool = False) -> Conclusion | None:
        """The strings that the candidate wants compiled, as it is loaded or in a forward pass."""
        with self._case.stage("record"):
            self._processes.finish_stand_in(recorder)
            try:
                answer = self._case.load(recorder, "record", {}, self.config.deadlines.record_seconds)
            except ChildEnded as end:
                return self._case.ended(end, recorder, "while its Python was loaded")
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

    # ----------------------------------------------------------------------------------------------------------- build
    def _build(self) -> Conclusion | None:
        """Every recorded extension; the gravest failure wins, so that a cheat is not hidden behind a syntax error."""
        failures: list[BuildFailure] = []
        waited = 0.0
        with self._case.stage("build"):
            for extension in self.evidence.recording.extensions:
                built = self._toolchain.build(extension, self.config.deadlines.build_seconds)
                if built.tier:
                    self.evidence.build_tiers.append(built.tier)
                waited += built.waited_seconds
                if isinstance(built, BuildFailure):
                    failures.append(in_own_lines(built, self._case.source_map()))
                else:
                    self.evidence.artefacts.append(built)
                    marks = [in_own_line(d, self._case.source_map()) for d in built.diagnostics]
                    self.evidence.warnings.extend((*built.warnings, *(f"{d.place}: {d.message}" for d in marks)))
        self._case.tell_apart("build_wait", "build", waited)
        if stop := conclude.build_failures(failures):
            return stop
        with self._case.stage("legality"):
            try:
                stop = self._legality.of_modules(self._case.source_map())
            except NotJudged:
                self._case.require_artefacts()
                raise
        if stop:
            self._case.require_artefacts()
        return stop
