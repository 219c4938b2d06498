"""The last stage of a judgement: the candidate's process, trials on fresh inputs, timing, a look at what ran.

On a device trials run beside those of others, where the task is small; a candidate is timed alone. Holds the expected
values. Imports no torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from mooreeval.errors import TaskError, Transient
from mooreeval.execute import conclude
from mooreeval.execute.answers import Malformed, TraceAnswer, TrialAnswer
from mooreeval.execute.asking import ask, bytes_of, has_elements, last_line, or_end, outputs_of, shapes_of
from mooreeval.execute.case import Case
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.gpu_state import GpuWatch
from mooreeval.execute.other_weights import TrialOnOtherWeights
from mooreeval.execute.schedule import PLAIN, DeviceSchedule, PlannedTrial, Schedule, plan
from mooreeval.execute.timed_peers import TimedPeers, core_for
from mooreeval.execute.timing_stage import time_candidate
from mooreeval.execute.wire import Message
from mooreeval.verdict import Mismatch, Status, Trial

RELEASE_SECONDS = 20.0  # giving back memory of the device
HELD_SECONDS = 10.0  # a pass without kernels: where host code waits for what one would have written, it waits for ever


class AskedForMore(Exception):
    """A forward pass asks for an extension that was not asked for when the candidate was loaded."""


class _Lost(Exception):
    """The candidate's process did not come through a pass without kernels as it was, and has to be timed."""


class Run:
    """Runs what was built. `forward_recorded`: extensions that only a forward pass asks for have been built, too."""

    def __init__(self, case: Case, *, forward_recorded: bool) -> None:
        self._case, self._forward_recorded = case, forward_recorded
        self.config, self.evidence, self.candidate = case.config, case.evidence, case.candidate
        self._processes, self._legality, self._toolchain = case.processes, case.legality, case.toolchain
        self._last: tuple[Schedule | DeviceSchedule, dict[str, Any]] | None = None  # of the last trial
        self._holds_kernels = case.config.policy == "native"  # else PyTorch may do the work, and its share is told

    def conclude(self, reference: Child) -> Conclusion:
        """Raises AskedForMore where the candidate asks for an extension that only a forward pass does."""
        try:
            conclusion = self._run(reference)
        except _Lost:
            self._holds_kernels = False
            self.evidence.forget_the_trials()
            conclusion = self._run(reference)
        if conclusion.status is Status.CORRECT:
            other = TrialOnOtherWeights(self._case, self._turn, self._compare)
            conclusion = other.conclude(reference, shared=self._may_share) or self._concluded(conclusion)
        if conclusion.status is not Status.CORRECT:
            self._case.require_artefacts()
        return conclusion

    def _concluded(self, conclusion: Conclusion) -> Conclusion:
        """What is said of all trials, now that there are no more."""
        return conclude.trials(self.evidence.trials) if self.evidence.trials else conclusion

    @property
    def _may_share(self) -> bool:
        example, state = self.evidence.example, self.evidence.state
        return example is not None and self._processes.may_share(bytes_of([example, state]))

    def _run(self, reference: Child) -> Conclusion:
        """Trials and timing. A failure that others on the device may be to blame for is had again without them."""
        evidence = self.evidence
        if not self._may_share:
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
        with processes.spawn("run") as child, processes.bounded(child):
            processes.begin_start(child)
            processes.finish_start(child)
            try:
                if stop := self._loaded(child):
                    self.evidence.output_tail = child.log_tail() or None
                    return stop
            except ChildEnded as end:
                return self._case.ended(end, child, "while it was loaded")
            with self._turn(shared=shared) as comparer:
                conclusion = self._followed(child, lambda: self._try(child, reference, comparer))
                if not self._is_to_be_timed(conclusion):
                    return conclusion
                if not shared:
                    return self._followed(child, lambda: self._timed(child, reference, comparer)) or conclusion
                stop = self._followed(child, lambda: child.ask("release", {}, {}, RELEASE_SECONDS))
                if isinstance(stop, Conclusion):
                    return stop
                self._case.ask_reference(reference, "release", {})
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
        try:
            return job()
        except ChildEnded as end:
            return self._case.ended(end, child, "while it ran")
        finally:
            self.evidence.output_tail = child.log_tail() or None
            if not self._processes.on_device:
                child.leave()

    def _is_to_be_timed(self, conclusion: Conclusion) -> bool:
        return conclusion.status is Status.CORRECT and self._processes.on_device and self.config.timing.enabled

    def _loaded(self, child: Child) -> Conclusion | None:
        """Let the candidate's Python run and its extensions load, while others may have the device."""
        with self._case.stage("load"):
            answer = self._case.load(child, "run", self.evidence.loadable(), self.config.deadlines.run_seconds)
        return conclude.load_error(answer.error, self.candidate.code, final=True)

    @property
    def _planned(self) -> list[PlannedTrial]:
        admission = self.evidence.admission
        return plan(
            self._processes.on_device,
            self.config.trials,
            admission.variations if admission else (),
            lambda number: self._case.seed("schedule", number),
            self.config.simulator.check_budget,
        )

    def _try(self, child: Child, reference: Child, comparer: Child) -> Conclusion:
        for index, (schedule, inputs) in enumerate(self._planned):
            if stop := self._trial(child, reference, comparer, index, schedule, inputs):
                return stop
        conclusion = conclude.trials(self.evidence.trials)
        if conclusion.status is not Status.CORRECT:
            return conclusion
        if self._processes.on_device and not self.config.timing.enabled and (stop := self._traced(child)):
            return stop
        return self._held(child, comparer) or conclusion

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
            lambda number: self._case.seed("timed inputs", number),
            GpuWatch(self.config.cuda.device),
            {"run": deadlines.run_seconds, "reference": deadlines.reference_seconds},
            core_for(self.config.cuda.device),
        )
        source = random.Random(self._case.seed("timing"))
        with self._case.stage("timing"):
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
        seed = self._case.seed("inputs", index)
        self._last = None
        values = self._expected(reference, seed, inputs)
        if values is None:
            return None
        self._last = schedule, values
        with self._case.stage("run"):
            answer, message = self._pass(child, "trial", self.config.deadlines.run_seconds)
        if answer.asked_for_more and not self._forward_recorded:
            raise AskedForMore
        self._case.observe(answer.report)
        self._legality.observe(answer.operators)
        if stop := conclude.trial_stopped(answer.error, answer.report, self.evidence.findings, self.candidate.code):
            return stop
        with self._case.stage("compare"):
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

    def _pass(self, child: Child, op: str, seconds: float) -> tuple[TrialAnswer, Message]:
        """A forward pass on the inputs of the present trial."""
        assert self._last is not None
        schedule, values = self._last
        fields = {
            "schedule": schedule.to_json(bytes_of(values["expected32"])),
            "seconds": seconds,
            "keep": self._processes.on_device and not self.config.timing.enabled,
        }
        return ask(child, op, TrialAnswer, fields, {"inputs": values["inputs"]}, seconds)

    def _held(self, child: Child, comparer: Child) -> Conclusion | None:
        """The last trial once more, with none of the candidate's kernels run; None to go on.

        What is right all the same was computed by somebody else, unless nobody had to. A candidate that fails for want
        of what its kernels make is honest, but its process may be of no use after that: raises _Lost.
        """
        if self._last is None or not self._holds_kernels:
            return None
        with self._case.stage("held"):
            try:
                answer, message = self._pass(child, "held", min(HELD_SECONDS, self.config.deadlines.run_seconds))
                got = or_end(child, lambda: outputs_of(message)) if answer.error is None else None
            except ChildEnded:
                got = None
            if got is not None:
                found = self._compared(comparer, got, answer.devices, self._last[1], held=True)
                is_right = found["mismatch"] is None and not found["malformed"] and not found["plain"]
                return conclude.needless_kernels() if is_right else None
        if self._processes.on_device and self.config.timing.enabled:
            raise _Lost
        return None

    def _traced(self, child: Child) -> Conclusion | None:
        """One more forward pass on a device, with every kernel told; None to go on.

        A candidate that was right until here and fails beside a profiler is not at fault: the profiler may be.
        """
        seconds = self.config.deadlines.run_seconds
        with self._case.stage("legality"):
            try:
                answer = ask(child, "trace", TraceAnswer, {"seconds": seconds}, {}, seconds)[0]
            except ChildEnded as end:
                answer = TraceAnswer(missing=f"the process under the profiler: {end}")
            return self._legality.of_trace(answer)

    def _expected(self, reference: Child, seed: int, inputs: str) -> dict[str, Any] | None:
        """A trial's inputs and the reference's answer; None where a variation of the inputs does not work after all."""
        with self._case.stage("reference"):
            try:
                return self._case.ask_reference(reference, "trial", {"seed": seed, "inputs": inputs})[1]
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
        found = self._compared(comparer, got, devices, want)
        if found["malformed"]:
            self.evidence.warnings.append(f"the outputs could not be read: {last_line(comparer.log_tail())}")
            raise Malformed("its tensors can't be read")
        mismatch = found["mismatch"]
        return None if mismatch is None else Mismatch.model_validate(mismatch)

    def _compared(
        self, comparer: Child, got: dict[str, Any], devices: Sequence[str], want: dict[str, Any], *, held: bool = False
    ) -> dict[str, Any]:
        """What the process that compares says; `held`: of a pass in which no kernel of the candidate's ran."""
        fields = {
            "devices": list(devices),
            "expected_device": self.evidence.tensor_device,
            "tolerance": self.config.effective_tolerance().model_dump(mode="json"),
            "held": held,
        }
        seconds = self.config.deadlines.reference_seconds
        try:
            return comparer.ask("compare", fields, {"got": got, "want": want}, seconds).fields
        except ChildEnded as end:
            raise Transient(f"the outputs could not be compared ({end}): {last_line(comparer.log_tail())}") from None
