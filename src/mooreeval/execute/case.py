"""A candidate that is being judged: what it is, what is known by now, whose processes and tools there are.

What the stages of a judgement share. Holds every seed. Imports no torch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import TaskError, Transient
from mooreeval.execute import conclude
from mooreeval.execute.answers import LoadAnswer, Report
from mooreeval.execute.asking import ask, how_the_task_ended, report_left_behind
from mooreeval.execute.children import Child, ChildEnded, Launcher
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.lawful import Legality
from mooreeval.execute.processes import Processes
from mooreeval.execute.seeds import derive_seed
from mooreeval.execute.wire import read_values
from mooreeval.task import Task
from mooreeval.toolchains.base import Toolchain
from mooreeval.toolchains.locate import SourceMap
from mooreeval.verdict import Finding, TaskAdmission


@dataclass(frozen=True)
class OtherWeights:
    """What a model holds whose neutral weights are varied: see `mooreeval.execute.neutral_weights`."""

    seed: int
    names: tuple[str, ...]  # of the varied ones
    kinds: tuple[tuple[float, int], ...]  # of these
    state: Any  # wire values of all

    def to_json(self) -> dict[str, Any]:
        return {"seed": self.seed, "names": self.names, "kinds": self.kinds}


class Case:
    """One candidate, judged once."""

    def __init__(
        self,
        task: Task,
        candidate: Candidate,
        config: VerifyConfig,
        secret: str,
        launcher: Launcher,
        toolchain: Toolchain,
        progress: Callable[[str], None],
        admission: TaskAdmission | None = None,
    ) -> None:
        self.task, self.candidate, self.config, self.secret = task, candidate, config, secret
        self.toolchain, self._progress = toolchain, progress
        self.evidence = Evidence(admission=admission)
        self.processes = Processes(config, launcher, toolchain, self.evidence)
        self.legality = Legality(task, candidate, config.policy, self.evidence)

    def seed(self, purpose: str, trial: int = 0) -> int:
        """Unpredictable for a candidate, the same again under the same secret."""
        return derive_seed(self.secret, purpose, self.task.task_hash, self.candidate.candidate_hash, trial)

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Announce a stage and add its wall seconds to the evidence."""
        self._progress(name)
        start = time.monotonic()
        try:
            yield
        finally:
            seconds = self.evidence.stage_seconds.get(name, 0.0) + time.monotonic() - start
            self.evidence.stage_seconds[name] = round(seconds, 4)

    def ask_reference(self, reference: Child, op: str, fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields and values of the task's answer.

        Raises TaskError where it has none, Transient where a process was lost that had served before.
        """
        seconds = self.config.deadlines.reference_seconds
        try:
            message = reference.ask(op, fields, {}, seconds)
        except ChildEnded as end:
            if reference.is_reused:  # a fresh process may do better
                raise Transient(f"the task's process was lost ({end})") from None
            raise TaskError(how_the_task_ended(self.task.task_id, end, seconds, reference.log_tail())) from None
        if message.op == "task_error":
            raise TaskError(message.fields["message"])
        return message.fields, read_values(message)

    def load(
        self, child: Child, mode: str, artefacts: dict[str, Any], seconds: float, weights: OtherWeights | None = None
    ) -> LoadAnswer:
        """Let the candidate's Python run: `record` what it wants built, or `run` with what was built."""
        fields = {
            "code": self.candidate.code,
            "weight_seed": self.seed("weights"),
            "mode": mode,
            "artefacts": artefacts,
            "other_weights": weights.to_json() if weights else None,
        }
        state = weights.state if weights else self.evidence.state
        values = {"init_inputs": self.evidence.init_inputs, "state": state}
        return ask(child, "load", LoadAnswer, fields, values, seconds)[0]

    def ended(self, end: ChildEnded, child: Child, when: str) -> Conclusion:
        """A candidate's process is gone; its run time may have written down why."""
        report = report_left_behind(child)
        self.observe(report)
        self.evidence.output_tail = child.log_tail() or None
        return conclude.process_ended(end, report, self.evidence.findings, when, child.log_tail())

    def observe(self, report: Report | None) -> None:
        """Keep the launches and findings of one trial, with lines in the candidate's own file."""
        if report is None:
            return
        for launch in report.launches:
            key = (launch.kernel, launch.grid, launch.block, launch.shared_bytes)
            self.evidence.launches[key] = self.evidence.launches.get(key, 0) + launch.count
        evidence = self.evidence
        found = self.toolchain.findings(
            report.model_dump(mode="json"), evidence.artefacts, self.candidate.code, evidence.recording
        )
        known = {_finding_key(f) for f in evidence.findings}
        evidence.findings.extend(f for f in found if _finding_key(f) not in known)
        note = "not every memory access was watched: the launches were over the check budget"
        if report.check_stopped and note not in evidence.warnings:
            evidence.warnings.append(note)

    def require_artefacts(self) -> None:
        """Before what was built is held against the candidate: others share the cache, and may clear it."""
        if not self.toolchain.still_has(self.evidence.artefacts):
            raise Transient("what was built was lost from the cache while it was judged")

    def tell_apart(self, name: str, stage: str, seconds: float) -> None:
        """Seconds that a stage spent waiting for others, as a stage of their own."""
        if seconds >= 0.01:
            spent = self.evidence.stage_seconds
            spent[name] = round(spent.get(name, 0.0) + seconds, 4)
            spent[stage] = round(max(spent[stage] - seconds, 0.0), 4)

    def source_map(self) -> SourceMap:
        """Where recorded lines stand in the candidate's own file."""
        return SourceMap(self.candidate.code, self.evidence.recording)


def _finding_key(finding: Finding) -> tuple[Any, ...]:
    return finding.kind, finding.severity, finding.kernel, str(finding.place), str(finding.other)
