"""The verifier seam: `verify(task, candidate) -> Verdict`. Local, scripted, and later remote, behind one protocol.

    LocalVerifier
      ├── Launcher ── reference child, recorder, run child      execute/children.py
      ├── toolchain ── compiler processes, cache                 toolchains/
      └── Judgement: stages, expected values, comparison         execute/judge.py

A candidate gets a verdict, whatever it is. A bad task raises TaskError; a failure of the judge raises NotJudged after
one more try where that may help. Safe to call from several threads: each call has processes of its own.
"""

from __future__ import annotations

import functools
import platform
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Protocol

from mooreeval.admission import admission_key, known_admission
from mooreeval.audit import Audit, told
from mooreeval.backends import BackendInfo, available_backends
from mooreeval.candidate import Candidate, NoCandidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, TaskError
from mooreeval.execute import conclude
from mooreeval.execute.case import Case
from mooreeval.execute.compile_baseline import add_compile_baseline
from mooreeval.execute.conclude import Conclusion
from mooreeval.execute.describing import describe_task
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.judge import Judgement
from mooreeval.execute.processes import Processes
from mooreeval.execute.profiling import make_profile
from mooreeval.execute.seeds import derive_seed
from mooreeval.many import as_completed
from mooreeval.on_this_machine import OnThisMachine, told_where_space_ends
from mooreeval.sandbox.modes import DEVICE_MEMORY
from mooreeval.task import Task
from mooreeval.task_metadata import TaskMetadata
from mooreeval.verdict import SandboxUsed, Status, TaskAdmission, Verdict

__all__ = ["BackendInfo", "LocalVerifier", "Outcome", "ScriptedVerifier", "Verifier", "available_backends"]

Progress = Callable[[str], None]
_MOST_USES = 64  # of operators and kernels that a verdict lists


class Verifier(Protocol):
    """What every verifier offers."""

    def verify(self, task: Task, candidate: Candidate | NoCandidate, progress: Progress | None = None) -> Verdict:
        """The verdict; TaskError for a bad task, NotJudged where there is none."""
        ...


@dataclass(frozen=True)
class Outcome:
    """One of many: a verdict, or the reason why there is none."""

    index: int
    verdict: Verdict | None
    error: NotJudged | TaskError | None = None


class LocalVerifier(OnThisMachine):
    """Judges on this machine. A context manager: leaving it ends every process and removes every scratch folder."""

    def __init__(self, config: VerifyConfig | None = None) -> None:
        super().__init__(config, _toolchain)
        is_real = _kind_of_evidence(self.config.backend) == "device"
        self.audit = Audit((self.config.cuda if is_real else self.config.simulator).audit_share)

    def needs_preparation(self) -> bool:
        """Whether the next verdict waits for what is built once a machine and PyTorch version, about a minute."""
        self._require_space()
        return not self._toolchain.is_prepared()

    @property
    def device_name(self) -> str | None:
        """The device that judges; None on the simulator."""
        return self._toolchain.device_name if _kind_of_evidence(self.config.backend) == "device" else None

    def verify(self, task: Task, candidate: Candidate | NoCandidate, progress: Progress | None = None) -> Verdict:
        """The verdict on one candidate. `progress` is called with the name of each stage as it begins."""
        _require_nouns(task, candidate)
        if isinstance(candidate, NoCandidate):
            return self._verdict(task, candidate, Conclusion(Status.NO_CANDIDATE, candidate.reason), Evidence())
        report = progress or (lambda _stage: None)
        report("prepare")
        self._require_space()
        with told_where_space_ends(self._launcher.root):
            self._toolchain.prepare()
        return self._tried(lambda: self._judge(task, candidate, report))

    def describe(self, task: Task) -> TaskMetadata:
        """What the task's tensors look like, as a child sees them that runs it without values. TaskError, NotJudged."""
        self._require_space()
        seconds = self.config.deadlines.reference_seconds
        processes = Processes(self.config, self._launcher, self._toolchain, Evidence())
        return self._tried(lambda: describe_task(task, processes, self._toolchain.cache, versions(), seconds))

    def verify_many(
        self,
        pairs: Iterable[tuple[Task, Candidate | NoCandidate]],
        workers: int = 2,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        """Outcomes in the order of the pairs; `on_outcome` sees each as it is known, in the caller's thread."""
        outcomes = []
        jobs = ((lambda i=i, pair=pair: self._outcome(i, *pair)) for i, pair in enumerate(pairs))
        for outcome in as_completed(jobs, workers, self.close):
            if on_outcome:
                on_outcome(outcome)
            outcomes.append(outcome)
        return sorted(outcomes, key=lambda o: o.index)

    def _outcome(self, index: int, task: Task, candidate: Candidate | NoCandidate) -> Outcome:
        try:
            return Outcome(index, self.verify(task, candidate))
        except (NotJudged, TaskError) as error:
            return Outcome(index, None, error)

    # --------------------------------------------------------------------------------------------------------- verdict
    def _judge(self, task: Task, candidate: Candidate, progress: Progress) -> Verdict:
        verdict = self._judge_with(self._toolchain, task, candidate, progress)
        draw = derive_seed(self.secret, "audit", task.task_hash, candidate.candidate_hash)
        if not self.audit.is_due(draw, verdict.build_tiers):
            return verdict
        start = time.monotonic()
        full = self._judge_with(self._toolchain.fullest(), task, candidate, progress)
        difference = self.audit.compared(verdict.build_tiers, told(verdict), told(full))
        if difference is None:
            audited = {**verdict.stage_seconds, "audit": round(time.monotonic() - start, 4)}
            return verdict.model_copy(update={"stage_seconds": audited})
        self._toolchain.use_fullest_alone()
        note = f"{difference}: fast ways to build are out of use in this run"
        return full.model_copy(update={"warnings": (*full.warnings, note)})

    def _judge_with(self, toolchain: Any, task: Task, candidate: Candidate, progress: Progress) -> Verdict:
        parts = (task, candidate, self.config, self.secret, self._launcher, toolchain, progress)
        admission = self._admission(task, toolchain)
        for last in (False, True):
            judgement = Judgement(Case(*parts, admission))
            conclusion = judgement.conclude()
            if conclude.sizes_may_be_at_fault(conclusion, judgement.evidence):
                careful = Judgement(Case(*parts, admission), careful=True)
                if confirmed := careful.confirm(judgement.evidence):
                    judgement, conclusion = careful, confirmed
            conclusion = conclude.shape_specialised(conclusion, judgement.evidence.forced)
            if conclusion.status is not Status.CORRECT or not self.config.timing.compile_baseline:
                break
            if add_compile_baseline(*parts, judgement.evidence) or last:
                break  # a baseline that was slowed, by the candidate or by another's work, gets one more chance
        if self.config.profile.enabled and conclusion.status is Status.CORRECT:
            judgement.evidence.profile = make_profile(*parts, judgement.evidence)
        return self._verdict(task, candidate, conclusion, judgement.evidence)

    def _admission(self, task: Task, toolchain: Any) -> TaskAdmission | None:
        """What `admit` has found of the task, under the same configuration and versions, where it was asked."""
        key = admission_key(task.task_hash, self.config, toolchain.device_name, versions())
        known = known_admission(toolchain.cache, key)
        return None if known is None else known.of_a_verdict(varied=self.config.input_variation == "auto")

    def _verdict(
        self, task: Task, candidate: Candidate | NoCandidate, conclusion: Conclusion, evidence: Evidence
    ) -> Verdict:
        held = evidence.device_seconds > 0 and _kind_of_evidence(self.config.backend) == "device"
        return Verdict(
            status=conclusion.status,
            reason=one_line(conclusion.reason),
            place=conclusion.place,
            evidence=_kind_of_evidence(self.config.backend) if evidence.device else None,
            q=conclusion.q,
            trials=tuple(evidence.trials),
            rules=conclusion.rules,
            diagnostics=conclusion.diagnostics,
            findings=tuple(evidence.findings),
            warnings=tuple(evidence.warnings),
            build_tiers=tuple(evidence.build_tiers),
            launches=evidence.launch_table(),
            operators=tuple(evidence.operators.values())[:_MOST_USES],
            kernels=evidence.kernels[:_MOST_USES],
            own_share=evidence.own_share,
            own_share_of=evidence.own_share_of,
            unsupported_feature=conclusion.unsupported_feature,
            exception=conclusion.exception,
            output_tail=evidence.output_tail,
            reductions=evidence.reductions,
            admission=evidence.admission,
            weights_not_varied=one_line(evidence.weights_not_varied) if evidence.weights_not_varied else None,
            timing=evidence.timing if conclusion.status is Status.CORRECT else None,
            profile=evidence.profile,
            backend=self.config.backend,
            device=evidence.device,
            sandbox=_sandbox(evidence),
            policy=self.config.policy,
            protocol=self.config.protocol,
            versions={**versions(), **self._toolchain.compiler_versions()},
            seed=self.secret,
            shapes=tuple(evidence.shapes),
            task_id=task.task_id,
            task_hash=task.task_hash,
            candidate_hash=candidate.candidate_hash,
            config_hash=self.config.config_hash(),
            config=self.config.of_the_verdict(),
            stage_seconds=evidence.stage_seconds,
            device_seconds=round(evidence.device_seconds, 4) if held else None,
            shared_device_seconds=round(evidence.shared_device_seconds, 4) if held else None,
        )


def _sandbox(evidence: Evidence) -> SandboxUsed | None:
    used = evidence.sandbox
    more = (DEVICE_MEMORY,) if evidence.device_is_unbounded else ()
    return SandboxUsed(mode=used.mode, lacks=(*used.lacks, *more)) if used else None


def _kind_of_evidence(backend: str) -> Literal["device", "emulation"]:
    return "device" if backend in ("cuda", "musa") else "emulation"


def _require_nouns(task: Any, candidate: Any) -> None:
    """TypeError where a path or a text was given, with what makes a task or a candidate of it."""
    if not isinstance(task, Task):
        raise TypeError(
            f"task is a {type(task).__name__}, not a Task: load_task(path) of mooreeval.task reads one from a file"
        )
    if not isinstance(candidate, Candidate | NoCandidate):
        raise TypeError(
            f"candidate is a {type(candidate).__name__}, not a Candidate: "
            "load_candidate(path) of mooreeval.candidate reads one from a file"
        )


def one_line(text: str) -> str:
    """Text of unknown origin as one line that a terminal may print."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else "?" for c in joined)


class ScriptedVerifier:
    """The fake that ships with the seam: answers from a table by candidate hash, and remembers what it was asked."""

    def __init__(self, verdicts: dict[str, Verdict | NotJudged | TaskError]) -> None:
        self.verdicts = verdicts
        self.asked: list[tuple[str, str]] = []

    def verify(self, task: Task, candidate: Candidate | NoCandidate, progress: Progress | None = None) -> Verdict:
        """The scripted verdict; NotJudged for a candidate that the script does not know."""
        del progress
        self.asked.append((task.task_hash, candidate.candidate_hash))
        answer = self.verdicts.get(candidate.candidate_hash, NotJudged("the script has no verdict for this candidate"))
        if isinstance(answer, Exception):
            raise answer
        return answer


@functools.cache
def versions() -> dict[str, str]:
    """Software that a verdict depends on, without importing any of it. Not to be changed."""
    found = {"python": platform.python_version(), "platform": f"{sys.platform}-{platform.machine()}"}
    for name in ("musacoder", "torch", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _toolchain(config: VerifyConfig) -> Any:
    if config.backend == "simulator":
        from mooreeval.toolchains.simulator import SimulatorToolchain

        return SimulatorToolchain(pool=config.pool, tiers=config.simulator.tiers)
    if config.backend == "cuda":
        from mooreeval.toolchains.cuda_on_device import CudaOnDevice

        return CudaOnDevice(config.cuda, pool=config.pool)
    raise NotJudged(f"this version has no toolchain for backend {config.backend}")
