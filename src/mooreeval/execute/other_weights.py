"""One trial more for a right candidate: with other weights than a model begins with, in a process of its own.

Weights that begin as ones or zeros are in no other trial missed by who leaves them out. Here both models are made
anew with other values in their place (`neutral_weights`). A candidate that has no place for one of them is not tried:
it may have folded it into something else. Holds expected values. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from mooreeval.errors import TaskError
from mooreeval.execute import conclude
from mooreeval.execute.answers import TrialAnswer
from mooreeval.execute.asking import ask, bytes_of, has_elements, last_line, or_end, outputs_of
from mooreeval.execute.case import Case, OtherWeights
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.schedule import PLAIN, DeviceSchedule, Schedule
from mooreeval.verdict import Mismatch, Status, Trial

Compare = Callable[[Child, dict[str, Any], Sequence[str], dict[str, Any]], Mismatch | None]
_SHOWN = 3  # names in a message


class TrialOnOtherWeights:
    """`turn` is the device with a child that compares; `compare` asks that child."""

    def __init__(self, case: Case, turn: Callable[..., AbstractContextManager[Child]], compare: Compare) -> None:
        self._case, self._turn, self._compare = case, turn, compare
        self.config, self.evidence = case.config, case.evidence

    def conclude(self, reference: Child, *, shared: bool) -> Conclusion | None:
        """What the trial shows; None to go on. `shared`: others may have the device meanwhile."""
        evidence, config = self.evidence, self.config
        if not evidence.neutral_weights or config.protocol != "ours" or config.weight_variation == "none":
            return None
        stop = self._tried(reference, shared=shared)
        if stop and shared and conclude.company_may_be_at_fault(stop):
            stop = self._tried(reference, shared=False)
        return stop

    def _tried(self, reference: Child, *, shared: bool) -> Conclusion | None:
        processes, case, evidence = self._case.processes, self._case, self.evidence
        with processes.spawn("run") as child, processes.bounded(child):
            processes.begin_start(child)
            processes.finish_start(child)
            with self._turn(shared=shared) as comparer:
                seed = case.seed("inputs", len(evidence.trials))
                if (made := self._expected(reference, seed)) is None:
                    return None
                weights, values = made
                try:
                    stop = self._loaded(child, weights)
                    if stop or evidence.weights_not_varied:
                        return stop
                    return self._ran(child, comparer, seed, values)
                except ChildEnded as end:
                    return case.ended(end, child, "with other weights than a model begins with")
                finally:
                    child.leave()

    def _expected(self, reference: Child, seed: int) -> tuple[OtherWeights, dict[str, Any]] | None:
        """The varied weights, and a trial's values; None where the task says nothing with them."""
        weights = self._case.seed("other weights")
        with self._case.stage("reference"):
            try:
                answer, values = self._case.ask_reference(reference, "other", {"seed": seed, "weights": weights})
            except TaskError as error:
                return self._leave_out(f"{error}")
        if answer["silent"]:
            return self._leave_out(answer["silent"])
        kinds = tuple((float(begins_as), int(count)) for begins_as, count in answer["kinds"])
        return OtherWeights(weights, tuple(answer["varied"]), kinds, values.pop("state")), values

    def _loaded(self, child: Child, weights: OtherWeights) -> Conclusion | None:
        """Let the candidate's model be made with these weights, where it has a place for each.

        What it raises itself is held against it: it was made with the others. What PyTorch raises is not.
        """
        with self._case.stage("load"):
            artefacts, seconds = self.evidence.loadable(), self.config.deadlines.run_seconds
            answer = self._case.load(child, "run", artefacts, seconds, weights)
        error = answer.error
        if error is not None and error.line is not None and not error.raised_in:
            return _told(conclude.load_error(error, self._case.candidate.code, final=True))
        if error is not None:
            self._leave_out(f"ModelNew raises {error.type}: {last_line(error.message)}")
        elif answer.without_counterpart:
            self._leave_out(f"the candidate has no place for {_listed(answer.without_counterpart)}")
        elif answer.surplus:
            self._leave_out(f"the candidate makes weights like these that the task has not: {_listed(answer.surplus)}")
        return None

    def _leave_out(self, why: str) -> None:
        self.evidence.weights_not_varied = " ".join(why.split())[:300]

    def _ran(self, child: Child, comparer: Child, seed: int, values: dict[str, Any]) -> Conclusion | None:
        case, evidence, index = self._case, self.evidence, len(self.evidence.trials)
        device = DeviceSchedule() if case.processes.on_device else Schedule("forward", False, case.seed("schedule"), 0)
        seconds = self.config.deadlines.run_seconds
        fields = {"schedule": device.to_json(bytes_of(values["expected32"])), "seconds": seconds}
        with case.stage("run"):
            answer, message = ask(child, "trial", TrialAnswer, fields, {"inputs": values["inputs"]}, seconds)
        case.observe(answer.report)
        if stop := conclude.trial_stopped(answer.error, answer.report, evidence.findings, case.candidate.code):
            return _told(stop)
        with case.stage("compare"):
            wrong = or_end(child, lambda: self._compare(comparer, outputs_of(message), answer.devices, values))
        told = {"schedule": str(device), "inputs": PLAIN, "weights": "other", "mismatch": wrong}
        evidence.trials.append(Trial(index=index, seed=seed, passed=wrong is None, **told))
        must_launch = has_elements(values["expected32"])
        if stop := case.legality.of_trial(answer, 0, wrong is None, must_launch=must_launch, watched=False):
            return stop
        conclusion = conclude.trials(evidence.trials)
        return None if conclusion.status is Status.CORRECT else conclusion


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _told(stop: Conclusion | None) -> Conclusion | None:
    """The same, with a word of what was tried."""
    return stop and replace(stop, reason=f"with other weights than a model begins with: {stop.reason}")
