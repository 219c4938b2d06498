"""From the records of a run to its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from musacoder.evaluate.families import UNKNOWN
from musacoder.evaluate.metrics import Count, Coverage, Group, Metrics, TaskResult
from musacoder.evaluate.outcomes import UNSCORED, Candidate, Outcome, candidates_of
from musacoder.evaluate.rates import Bootstrap, fast_curves, group, measured_baselines
from musacoder.evaluate.tallies import causes, cost, failures, outcome_counts, turns_to_success, warnings
from musacoder.runlog import Judged, Manifest, Sample, TaskEntry

_SEVERITY = ("refused", "weak", "admitted")


@dataclass(frozen=True)
class TaskRun:
    """A task of the manifest with its candidates and what is known of it."""

    record: TaskEntry
    family: str
    admission: str | None
    candidates: tuple[Candidate, ...]

    @property
    def in_doubt(self) -> bool:
        """Whether the task may not tell right from wrong."""
        return self.admission in ("weak", "refused")


def evidences(manifest: Manifest, verdicts: Iterable[Judged]) -> tuple[str, ...]:
    """The kinds of evidence in a run, the manifest's first: each needs a table of its own."""
    found = {judged.verdict.evidence for judged in verdicts if judged.verdict and judged.verdict.evidence}
    return (manifest.evidence, *sorted(found - {manifest.evidence}))


def evaluate(
    manifest: Manifest,
    samples: Iterable[Sample],
    verdicts: Iterable[Judged],
    *,
    families: Mapping[str, str] | None = None,
    evidence: str | None = None,
    draw: Bootstrap | None = None,
) -> Metrics:
    """The metrics of one run.

    `families`: the operator family by task name, where the manifest has none. `evidence`: what counts, else the
    manifest's; verdicts of the other kind are set aside and counted (`other_evidence`). `draw`: how intervals are
    drawn.
    """
    samples, verdicts, evidence = list(samples), list(verdicts), evidence or manifest.evidence
    candidates = candidates_of(manifest, samples, verdicts, evidence)
    tasks = judged_tasks(manifest, candidates, families or {})
    return Metrics(
        **_facts(manifest, evidence),
        turns=_turns(manifest, samples),
        **_rates(manifest, tasks, evidence, draw or Bootstrap()),
        coverage=_coverage(manifest, tasks, samples),
        turns_to_success=turns_to_success(candidates),
        outcomes=outcome_counts(candidates),
        warnings=warnings(samples),
        causes=causes(candidates),
        failures=failures(candidates, samples),
        cost=cost(samples, verdicts),
        tasks=tuple(_result(task) for task in tasks),
    )


def judged_tasks(manifest: Manifest, candidates: Sequence[Candidate], families: Mapping[str, str]) -> list[TaskRun]:
    """The manifest's tasks, each with its candidates."""
    by_task: dict[str, list[Candidate]] = {task.name: [] for task in manifest.tasks}
    for candidate in candidates:
        by_task[candidate.task].append(candidate)
    return [
        TaskRun(
            task,
            task.family or families.get(task.name, UNKNOWN),
            admission_of(by_task[task.name]),
            tuple(by_task[task.name]),
        )
        for task in manifest.tasks
    ]


def admission_of(candidates: Iterable[Candidate]) -> str | None:
    """The worst outcome of a task's admission that its verdicts tell of."""
    told = {a.verdict.admission.outcome for c in candidates for a in c.attempts if a.verdict and a.verdict.admission}
    return next((outcome for outcome in _SEVERITY if outcome in told), None)


def _facts(manifest: Manifest, evidence: str) -> dict[str, Any]:
    names = ("kind", "model", "suite", "samples", "backend", "policy", "protocol", "device", "config_hash")
    facts = {name: getattr(manifest, name) for name in names}
    return {**facts, "run": manifest.name, "evidence": evidence, "versions": dict(manifest.versions)}


def _turns(manifest: Manifest, samples: Sequence[Sample]) -> int:
    """What a manifest of generate allows is a budget: without a device none of it can be spent on speed."""
    return manifest.turns if manifest.kind in ("bench", "rft") else max((s.turn for s in samples), default=1)


def _rates(manifest: Manifest, tasks: Sequence[TaskRun], evidence: str, draw: Bootstrap) -> dict[str, Any]:
    all_candidates = [task.candidates for task in tasks]
    baselines = measured_baselines(all_candidates, evidence)

    def rates(name: str, chosen: Iterable[TaskRun], *, unsupported_failed: bool = False) -> Group:
        rows = [task.candidates for task in chosen]
        return group(name, rows, manifest.samples, draw, baselines, unsupported_failed=unsupported_failed)

    sound = [task for task in tasks if not task.in_doubt]
    return {
        "bootstrap_seed": draw.seed,
        "bootstrap_resamples": draw.resamples,
        "overall": rates("all", tasks),
        "unsupported_failed": rates("unsupported counted as failed", tasks, unsupported_failed=True),
        "admitted": rates("without weak and refused tasks", sound) if len(sound) < len(tasks) else None,
        "levels": tuple(rates(*part) for part in _parts(tasks, lambda task: task.record.level)),
        "families": tuple(rates(*part) for part in _parts(tasks, lambda task: task.family)),
        "fast_p": tuple(fast_curves(all_candidates, baselines)),
    }


def _parts(tasks: Sequence[TaskRun], name_of: Callable[[TaskRun], str | None]) -> Iterator[tuple[str, list[TaskRun]]]:
    """Tasks by a property, in the order of its names; none where no task has it."""
    parts: dict[str, list[TaskRun]] = {}
    for task in tasks:
        parts.setdefault(str(name_of(task) or UNKNOWN), []).append(task)
    return iter(sorted(parts.items())) if set(parts) - {UNKNOWN} else iter(())


def _coverage(manifest: Manifest, tasks: Sequence[TaskRun], samples: Sequence[Sample]) -> Coverage:
    firsts = [candidate.first for task in tasks for candidate in task.candidates]
    unscored = Counter(a.outcome for a in firsts if not a.scored)
    names = {task.name for task in manifest.tasks}
    return Coverage(
        tasks=len(tasks),
        tasks_unscored=sum(not any(c.first.scored for c in task.candidates) for task in tasks),
        asked=len(firsts),
        scored=sum(a.scored for a in firsts),
        unscored=tuple(Count(name=o.value, count=unscored[o]) for o in Outcome if o in UNSCORED and unscored[o]),
        outside=sum(s.task not in names or not 0 <= s.index < manifest.samples for s in samples),
        weak_tasks=tuple(task.record.name for task in tasks if task.admission == "weak"),
        refused_tasks=tuple(task.record.name for task in tasks if task.admission == "refused"),
        unknown_admission=sum(task.admission is None for task in tasks),
    )


def _result(task: TaskRun) -> TaskResult:
    best = [candidate.best for candidate in task.candidates]
    fastest = {
        f"{baseline}_speedup": max((v for a in best if (v := a.speedup(baseline)) is not None), default=None)
        for baseline in ("eager", "compile")
    }
    return TaskResult(
        name=task.record.name,
        hash=task.record.hash,
        level=task.record.level,
        family=task.family,
        admission=task.admission,
        scored=sum(a.scored for a in best),
        first_correct=sum(c.first.outcome is Outcome.CORRECT for c in task.candidates),
        best_correct=sum(a.outcome is Outcome.CORRECT for a in best),
        **fastest,
    )
