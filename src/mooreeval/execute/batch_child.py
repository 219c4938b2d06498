"""The batch child: references, candidates and comparisons of many programs in one process. Of a trusted author only.

Operations
    start    backend, options -> as of the candidate's child
    record   codes -> of each: extensions, error (None, or one line)
    check    name, task, code, artefacts, extensions, budget, tolerance, weight_seed, example_seed, trials (seed,
             inputs and schedule of each), other_weights (such a trial, with a seed of weights) -> status, reason,
             seconds by stage

Each part is the judge's own: `reference_child`, `candidate_child`, `compare_child`, the rules of `legality.source` and
of the operators that ran. But here they share a process with the candidate, which could make any of them say anything:
no verdict comes of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.utils.cpp_extension

from mooreeval.errors import TaskError
from mooreeval.execute import conclude
from mooreeval.execute.answers import ExtensionClaim, LoadAnswer, Report, TrialAnswer
from mooreeval.execute.asking import has_elements
from mooreeval.execute.candidate_child import CandidateChild, describe_error, execute_candidate
from mooreeval.execute.compare_child import CompareChild
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.reading import kinds_of
from mooreeval.execute.reference_child import ReferenceChild
from mooreeval.legality.dispatch import operator_hits
from mooreeval.legality.source import broken_rules
from mooreeval.toolchains.base import Artefact, Extension, Recording
from mooreeval.toolchains.locate import SourceMap, findings_from_report
from mooreeval.toolchains.record import Interceptor, StandIn
from mooreeval.verdict import Finding, Mismatch, Status, Trial

Seconds = dict[str, float]
Values = dict[str, Any]


class BatchChild:
    """State: the device. Of a program nothing is kept but what Python keeps of modules that were executed."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self._candidate = CandidateChild()
        self._entry_points = {name: getattr(torch.utils.cpp_extension, name) for name in ("load_inline", "load")}

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if op == "start":
            return self._candidate.handle(op, fields, values)
        if op == "record":
            return {"recorded": [self._recorded(code) for code in fields["codes"]]}, {}
        if op == "check":
            return self._checked(fields), {}
        raise ValueError(f"the batch child has no operation {op}")

    # ---------------------------------------------------------------------------------------------------------- record
    def _recorded(self, code: str) -> dict[str, Any]:
        """What a candidate asks for when its file is read; later is too late for a batch."""
        interceptor = self._intercepted()
        try:
            execute_candidate(code)
        except Exception as error:  # noqa: BLE001  whatever a candidate's Python raises
            told = describe_error(error)
            return {"extensions": [], "error": _one_line(f"{told['type']}: {told['message']}", told["line"])}
        found = [extension.to_json() for extension in interceptor.extensions]
        return {"extensions": found, "error": None if found else "its file asks for no kernels when it is read"}

    def _intercepted(self) -> Interceptor:
        self._restore_entry_points()
        interceptor = Interceptor(lambda extension: StandIn(extension, lambda args: args[0] if args else None))
        interceptor.install()
        return interceptor

    def _restore_entry_points(self) -> None:
        """An interceptor reads the signature of what it replaces: it must be PyTorch's own."""
        for name, original in self._entry_points.items():
            setattr(torch.utils.cpp_extension, name, original)

    # ----------------------------------------------------------------------------------------------------------- check
    def _checked(self, fields: dict[str, Any]) -> dict[str, Any]:
        seconds: Seconds = {}
        try:
            conclusion = _Check(fields, self._fresh_candidate, seconds).conclude()
        except TaskError as error:
            conclusion = Conclusion(Status.RUNTIME_ERROR, str(error))
        return {"status": conclusion.status.value, "reason": conclusion.reason, "seconds": seconds}

    def _fresh_candidate(self) -> CandidateChild:
        """Without the last one's model and modules, on the device that is open."""
        self._restore_entry_points()
        opened, fresh = self._candidate, CandidateChild()
        fresh.device, fresh._watch = opened.device, opened._watch
        self._candidate = fresh
        return fresh


class _Check:
    """One program: prepared, read, loaded, tried."""

    def __init__(self, fields: dict[str, Any], fresh: Callable[[], CandidateChild], seconds: Seconds) -> None:
        self._fields, self._fresh, self._seconds = fields, fresh, seconds
        self._code: str = fields["code"]
        self._reference, self._comparer = ReferenceChild(), CompareChild()
        self._init_inputs: Any = None
        claims = [ExtensionClaim.model_validate(each) for each in fields["extensions"]]
        self._extensions: tuple[Extension, ...] = tuple(claim.extension() for claim in claims)

    def conclude(self) -> Conclusion:
        prepared, values = self._prepared()
        stop = self._read(prepared) or self._loaded(values)
        done: list[Trial] = []
        for trial in self._fields["trials"]:
            stop = stop or self._tried(trial, self._expected("trial", trial), done)
        conclusion = stop or conclude.trials(done)
        if conclusion.status is Status.CORRECT and prepared["neutral"]:
            conclusion = self._on_other_weights(done) or conclude.trials(done)
        return conclusion

    def _prepared(self) -> tuple[dict[str, Any], dict[str, Any]]:
        fields = {name: self._fields[name] for name in ("name", "budget", "weight_seed", "example_seed")}
        fields |= {"code": self._fields["task"], "candidate_text": self._code}
        with self._stage("reference"):
            return self._reference.handle("prepare", fields, {})

    def _read(self, prepared: dict[str, Any]) -> Conclusion | None:
        """What the source breaks."""
        with self._stage("legality"):
            hits = broken_rules(
                self._code,
                self._extensions,
                single=prepared["single_precision"] is True,
                inputs=kinds_of(prepared["input_kinds"]),
                init_inputs=kinds_of(prepared["init_kinds"]),
            )
        return conclude.illegal_by_source(hits)

    def _loaded(self, values: dict[str, Any]) -> Conclusion | None:
        return conclude.load_error(self._load(values).error, self._code, final=True)

    def _load(self, values: dict[str, Any], other_weights: dict[str, Any] | None = None) -> LoadAnswer:
        fields = {name: self._fields[name] for name in ("code", "weight_seed", "artefacts")}
        fields |= {"mode": "run", "other_weights": other_weights}
        self._candidate = self._fresh()
        self._init_inputs = values.get("init_inputs", self._init_inputs)
        given = {"init_inputs": self._init_inputs, "state": values["state"]}
        with self._stage("load"):
            return LoadAnswer.model_validate(self._candidate.handle("load", fields, given)[0])

    def _expected(self, op: str, trial: dict[str, Any]) -> Values:
        """The inputs of a run, and what the reference makes of them."""
        with self._stage("reference"):
            told, want = self._reference.handle(op, trial, {})
        return {"told": told, **want}

    def _tried(self, trial: dict[str, Any], want: Values, done: list[Trial]) -> Conclusion | None:
        """One run, watched or not; None to go on."""
        fields = {"schedule": trial["schedule"], "seconds": self._fields["seconds"]}
        with self._stage("run"):
            told, got = self._candidate.handle("trial", fields, {"inputs": want["inputs"]})
        answer = TrialAnswer.model_validate(told)
        if stop := self._stopped(answer, must_launch=has_elements(want["expected32"])):
            return stop
        with self._stage("compare"):
            mismatch = self._mismatch(got, answer, want)
        done.append(
            Trial(
                index=len(done),
                seed=trial["seed"],
                passed=mismatch is None,
                schedule=trial["schedule"]["order"],
                inputs=trial["inputs"],
                mismatch=mismatch,
            )
        )
        return None

    def _on_other_weights(self, done: list[Trial]) -> Conclusion | None:
        """One run more where weights begin as ones or zeros, which who leaves them out misses in no other run.

        As the judge has it (`other_weights`): not where the candidate has no place for one of them.
        """
        trial = self._fields["other_weights"]
        try:
            want = self._expected("other", trial)
        except TaskError:
            return None
        if want["told"]["silent"]:
            return None
        told = want["told"]
        answer = self._load(want, {"seed": trial["weights"], "names": told["varied"], "kinds": told["kinds"]})
        if answer.error is not None:
            is_its_own = answer.error.line is not None and not answer.error.raised_in
            return conclude.load_error(answer.error, self._code, final=True) if is_its_own else None
        has_no_place = answer.without_counterpart or answer.surplus
        return None if has_no_place else self._tried(trial, want, done)

    def _stopped(self, answer: TrialAnswer, *, must_launch: bool) -> Conclusion | None:
        """An exception, a finding, a rule that was broken by what ran."""
        recording = Recording(self._extensions)
        findings = self._findings(answer.report, recording)
        if stop := conclude.trial_stopped(answer.error, answer.report, findings, self._code):
            return stop
        hits = operator_hits([claim.seen() for claim in answer.operators], self._code, recording, "native")
        if must_launch and not answer.report.launches:
            return conclude.no_launch(passed=False, more=hits)
        return conclude.broken_rules(hits)

    def _findings(self, report: Report, recording: Recording) -> list[Finding]:
        """With lines of the candidate's file; the module is the batch's, and nobody else's kernels run now."""
        if not report.findings:
            return []
        built = [
            Artefact(key, each["module_name"], Path(each["path"])) for key, each in self._fields["artefacts"].items()
        ]
        return findings_from_report(report.model_dump(mode="json"), built, SourceMap(self._code, recording))

    def _mismatch(self, got: dict[str, Any], answer: TrialAnswer, want: dict[str, Any]) -> Mismatch | None:
        assert self._candidate.device is not None
        fields = {
            "devices": list(answer.devices),
            "expected_device": self._candidate.device.tensor_device,
            "tolerance": self._fields["tolerance"],
            "held": False,
        }
        found = self._comparer.handle("compare", fields, {"got": got, "want": want})[0]["mismatch"]
        return None if found is None else Mismatch.model_validate(found)

    @contextmanager
    def _stage(self, name: str) -> Generator[None]:
        """CPU seconds of this process by stage."""
        start = time.process_time()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.process_time() - start


def _one_line(text: str, line: int | None) -> str:
    return " ".join(text.split())[:300] + (f" (line {line})" if line else "")
