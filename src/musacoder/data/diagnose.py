"""Diagnosis: which families of operators a model is weak in, and how often each is to be sampled in training.

    tasks ─> profile (sandboxed child, CPU) ─> operators of aten by family ─> a task's family ─> a balanced set
    a run of `musacoder bench` over it ─> rate by family ─> weight by family

The weight of a family f with rate p over n scored answers:

    q = (n p + k r) / (n + k)         r: the rate over all families; its k answers keep a few answers from deciding
    w = ((1 - q) / mean of all 1 - q) ** sharpness, within [least, most]
    then divided by the mean of all w, so that the mean weight is 1: weak families have more, stable ones less

A task is drawn with a probability that is proportional to its family's weight. No torch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from mooreeval.config import Count, NonNegative, Positive, Whole
from mooreeval.hashing import content_hash
from mooreeval.task import Task
from mooreeval.verdict import Record
from musacoder.data.expand.sandboxed import ChildFailed, Sandboxed
from musacoder.data.operator_families import ALLOCATION, LAYOUT, family_of_operator
from musacoder.evaluate import FAMILIES, Metrics, evaluate
from musacoder.runlog import Judged, Manifest, Sample

SCHEMA_VERSION = 1
_NETWORK_FAMILIES = 4  # families of weight from which a task is a network
_NETWORK_SHARE = 0.05  # of the time, from which a family has weight


class DiagnoseConfig(Record):
    """Everything that diagnosis can be told."""

    per_family: Count = Field(8, description="Tasks of each family in the diagnostic set at most.")
    seed: Whole = Field(0, description="Which tasks are drawn.")
    profile_seconds: Positive = Field(60.0, description="For one task to be profiled.")
    prior: NonNegative = Field(4.0, description="Answers of the overall rate that are added to each family's.")
    sharpness: NonNegative = Field(1.0, description="How much more weak families are sampled; 0: all alike.")
    least: Positive = Field(0.25, description="The smallest weight before the mean is made 1.")
    most: Positive = Field(4.0, description="The largest weight before the mean is made 1.")


class OperatorCost(Record):
    """One operator of a forward pass."""

    name: str
    calls: int
    self_us: float  # in itself, not in those that it called; microseconds on this machine's CPU
    family: str


class TaskProfile(Record):
    """What a task's forward pass is made of; `failure` where it could not be profiled."""

    task_id: str
    task_hash: str
    family: str | None = None
    operators: tuple[OperatorCost, ...] = ()
    failure: str | None = None


class FamilyRow(Record):
    """One family in the table."""

    family: str
    tasks: int  # profiled
    drawn: int  # in the balanced set
    scored: int = 0  # answers of the run
    rate: float | None = None  # mean over tasks of the share of first answers that are correct
    smoothed: float | None = None
    weight: float = 1.0
    share: float = 0.0  # of draws, were every profiled task drawn by its weight


class Diagnosis(Record):
    """What is printed, and read by training."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run: str | None = None
    families: tuple[FamilyRow, ...]
    drawn: tuple[str, ...]  # ids of the balanced set
    skipped: dict[str, str] = Field(default_factory=dict)  # why tasks could not be profiled

    def weights(self) -> dict[str, float]:
        """Weight by family."""
        return {row.family: row.weight for row in self.families}


class _Told(Record):
    name: str
    calls: int
    self_us: float


_OPERATORS = TypeAdapter(tuple[_Told, ...])


def profile_task(task: Task, children: Sandboxed, seconds: float) -> TaskProfile:
    """One forward pass in a child of the sandbox; whatever is wrong with the task is told, and never raised."""
    told = TaskProfile(task_id=task.task_id, task_hash=task.task_hash)
    try:
        answer = children.ask("profile", {"code": task.code, "name": task.task_id}, seconds)
        operators = _OPERATORS.validate_python(answer.get("operators"))
    except ChildFailed as failed:
        return told.model_copy(update={"failure": str(failed)})
    except ValidationError:
        return told.model_copy(update={"failure": "its process did not tell its operators"})
    costs = tuple(OperatorCost(**each.model_dump(), family=family_of_operator(each.name)) for each in operators)
    family = family_of_costs(costs)
    failure = None if family else "it has no operators"
    return told.model_copy(update={"family": family, "operators": costs, "failure": failure})


def family_of_costs(costs: Iterable[OperatorCost]) -> str | None:
    """The family that most of the time is spent in; moving data counts where nothing else is done.

    What spends its time in many families is a network, and what has an operator of a loss is a loss.
    """
    spent: dict[str, float] = defaultdict(float)
    for cost in costs:
        if cost.family != ALLOCATION:
            spent[cost.family] += cost.self_us
    moved = spent.pop(LAYOUT, None)
    if not spent:
        return "indexing" if moved is not None else None
    if "loss" in spent:
        return "loss"
    whole = sum(spent.values()) or 1.0
    heavy = [family for family, us in spent.items() if us / whole >= _NETWORK_SHARE]
    return "network" if len(heavy) >= _NETWORK_FAMILIES else max(spent, key=lambda family: spent[family])


def balanced(profiles: Sequence[TaskProfile], per_family: int, seed: int) -> tuple[str, ...]:
    """Ids of as many tasks of each family, by lot; of a family with fewer all."""
    by_family: dict[str, list[TaskProfile]] = defaultdict(list)
    for profile in profiles:
        if profile.family is not None:
            by_family[profile.family].append(profile)
    drawn = []
    for family in sorted(by_family):
        by_lot = sorted(by_family[family], key=lambda p: content_hash([seed, p.task_hash]))
        drawn += [p.task_id for p in by_lot[:per_family]]
    return tuple(drawn)


def rates_by_family(
    profiles: Sequence[TaskProfile], manifest: Manifest, samples: Iterable[Sample], verdicts: Iterable[Judged]
) -> Metrics:
    """The metrics of a run, with each task in the family that its profile says: tasks are known by their hashes."""
    families = {p.task_hash: p.family for p in profiles if p.family is not None}
    tasks = tuple(t.model_copy(update={"family": families.get(t.hash, t.family)}) for t in manifest.tasks)
    return evaluate(manifest.model_copy(update={"tasks": tasks}), samples, verdicts)


def weights_of(rates: Mapping[str, tuple[float, int]], config: DiagnoseConfig) -> dict[str, tuple[float, float]]:
    """(smoothed rate, weight) by family, from (rate, scored answers) by family: the formula of this module."""
    answers = sum(n for _, n in rates.values())
    overall = sum(p * n for p, n in rates.values()) / answers if answers else 0.5
    smoothed = {
        family: (n * p + config.prior * overall) / (n + config.prior) if n + config.prior else overall
        for family, (p, n) in rates.items()
    }
    missing = {family: 1.0 - q for family, q in smoothed.items()}
    mean = sum(missing.values()) / len(missing) if missing else 1.0
    raw = {f: _within((m / mean if mean else 1.0) ** config.sharpness, config) for f, m in missing.items()}
    scale = sum(raw.values()) / len(raw) if raw else 1.0
    return {family: (smoothed[family], raw[family] / scale) for family in rates}


def _within(weight: float, config: DiagnoseConfig) -> float:
    return min(max(weight, config.least), config.most)


def diagnosis(profiles: Sequence[TaskProfile], config: DiagnoseConfig, metrics: Metrics | None = None) -> Diagnosis:
    """The table. Without a run every family has weight 1."""
    drawn = balanced(profiles, config.per_family, config.seed)
    counts = Counter(p.family for p in profiles if p.family is not None)
    chosen = Counter(p.family for p in profiles if p.task_id in set(drawn))
    rates = {f: found for f, found in _rates(metrics) if counts[f]}
    weights = weights_of(rates, config) if rates else {}
    rows = []
    for family in (f for f in FAMILIES if counts[f]):
        rate, scored = rates.get(family, (None, 0))
        smoothed, weight = weights.get(family, (None, 1.0))
        rows.append(
            FamilyRow(
                family=family,
                tasks=counts[family],
                drawn=chosen[family],
                scored=scored,
                rate=rate,
                smoothed=smoothed,
                weight=weight,
            )
        )
    return Diagnosis(
        run=metrics.run if metrics else None,
        families=tuple(_with_shares(rows)),
        drawn=drawn,
        skipped={p.task_id: p.failure for p in profiles if p.failure},
    )


def _with_shares(rows: Sequence[FamilyRow]) -> Iterator[FamilyRow]:
    whole = sum(row.weight * row.tasks for row in rows) or 1.0
    for row in rows:
        yield row.model_copy(update={"share": row.weight * row.tasks / whole})


def _rates(metrics: Metrics | None) -> Iterator[tuple[str, tuple[float, int]]]:
    """Families with scored answers: unscored is not zero."""
    for group in metrics.families if metrics else ():
        if group.first.avg is not None and group.first.scored:
            yield group.name, (group.first.avg.value, group.first.scored)


def profile_tasks(
    tasks: Sequence[Task], config: DiagnoseConfig, known: Mapping[str, TaskProfile], note: Callable[[TaskProfile], Any]
) -> list[TaskProfile]:
    """The profiles of all tasks, those of `known` (by hash) as they are; `note` sees each that is new."""
    profiles = []
    with Sandboxed() as children:
        for task in tasks:
            profile = known.get(task.task_hash)
            if profile is None:
                profile = profile_task(task, children, config.profile_seconds)
                note(profile)
            profiles.append(profile.model_copy(update={"task_id": task.task_id}))
    return profiles
