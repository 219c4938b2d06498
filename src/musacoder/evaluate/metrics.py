"""The metrics of a run and of a comparison: frozen records, strict JSON. Shares are between 0 and 1."""

from __future__ import annotations

from typing import Literal

from mooreeval.config import Baseline
from mooreeval.verdict import Record

SCHEMA_VERSION = 1

View = Literal["first", "best"]  # which turn of a candidate counts


class Estimate(Record):
    """A figure over tasks."""

    value: float
    low: float | None = None  # ends of the 95 % interval; None for a single task
    high: float | None = None
    tasks: int  # that stand behind it
    candidates: int


class FasterRate(Record):
    """Share of candidates that are correct, legal and more than 1.1 times as fast as a baseline."""

    baseline: Baseline
    rate: Estimate | None = None  # by the point estimate; None where nothing was timed
    confirmed: Estimate | None = None  # by the lower end of the speed-up's interval; None where there is no interval
    without_baseline: int = 0  # scored candidates that left the denominator, for want of this baseline
    without_interval: int = 0  # candidates of the rate that left the confirmed one's, for want of an interval


class PassAtK(Record):
    """Pass@k for one k."""

    k: int
    estimate: Estimate
    short_tasks: int = 0  # with fewer than k scored candidates, of which all were taken


class Rates(Record):
    """The rates of a set of tasks, by one turn of each candidate."""

    view: View
    tasks: int  # in the set
    scored: int  # candidates
    unscored: int
    pass_at: tuple[PassAtK, ...] = ()
    avg: Estimate | None = None  # Avg@n: the mean over tasks of the share that is correct
    score: Estimate | None = None  # mean of the paper's s over candidates
    faster: tuple[FasterRate, ...] = ()

    def passed(self, k: int) -> Estimate | None:
        """Pass@k; None where it was not computed."""
        return next((p.estimate for p in self.pass_at if p.k == k), None)

    def faster_than(self, baseline: Baseline) -> FasterRate:
        """The Faster Rate against a baseline."""
        return next((f for f in self.faster if f.baseline == baseline), FasterRate(baseline=baseline))


class Group(Record):
    """Rates of some of the tasks, or by another count."""

    name: str
    first: Rates
    best: Rates


class FastPoint(Record):
    """fast_p at one p."""

    p: float
    candidates: float  # share of candidates that are correct and more than p times as fast
    tasks: float  # share of tasks that have such a candidate


class FastCurve(Record):
    """fast_p against one baseline."""

    baseline: Baseline
    view: View
    points: tuple[FastPoint, ...]
    candidates: int
    tasks: int


class Count(Record):
    """How often something happened."""

    name: str
    count: int


class FailureCount(Count):
    """Answers that failed in one way: "not_answered: refused", "no_answer: only_reasoning", "not_judged"."""

    example: str  # what was told of the first of them, one line


class OutcomeCount(Record):
    """Attempts of one turn with one outcome."""

    turn: int
    outcome: str
    count: int


class Turns(Record):
    """At which turn candidates became correct."""

    succeeded: tuple[OutcomeCount, ...] = ()  # by turn; the outcome is always `correct`
    failed: int = 0  # scored in some turn, and in none correct
    unscored: int = 0


class Spread(Record):
    """A quantity over attempts."""

    known: int  # attempts for which it is known
    total: float = 0
    mean: float | None = None
    median: float | None = None
    p90: float | None = None


class Cost(Record):
    """Tokens and seconds."""

    prompt_tokens: Spread
    completion_tokens: Spread
    answer_seconds: Spread  # from asking to the answer
    judge_seconds: Spread
    queue_seconds: Spread  # an answer's wait for the judge
    wall_seconds: float | None = None  # from the first question to the last verdict


class Coverage(Record):
    """What was asked, and what there is to say of it; all by candidates, in their first turn."""

    tasks: int
    tasks_unscored: int  # no candidate of theirs is scored: in no rate
    asked: int
    scored: int
    unscored: tuple[Count, ...] = ()  # by outcome
    outside: int = 0  # records of tasks or samples that the manifest does not ask for
    weak_tasks: tuple[str, ...] = ()
    refused_tasks: tuple[str, ...] = ()
    unknown_admission: int = 0  # tasks of which no verdict knows an admission


class TaskResult(Record):
    """One task's candidates."""

    name: str
    hash: str
    level: str | None = None
    family: str
    admission: str | None = None
    scored: int
    first_correct: int
    best_correct: int
    eager_speedup: float | None = None  # of its fastest correct candidate
    compile_speedup: float | None = None


class Metrics(Record):
    """Everything that one run says, of one kind of evidence."""

    schema_version: int = SCHEMA_VERSION
    run: str
    kind: str
    model: str
    suite: str
    samples: int
    turns: int  # of a sample at most; of generate, which ends them by what it finds, the most that one took
    backend: str
    policy: str
    protocol: str
    evidence: str
    device: str | None = None
    versions: dict[str, str]
    config_hash: str
    bootstrap_seed: int
    bootstrap_resamples: int
    coverage: Coverage
    overall: Group
    unsupported_failed: Group  # `unsupported` counted as failed
    admitted: Group | None = None  # without weak and refused tasks; None where there are none of these
    levels: tuple[Group, ...] = ()
    families: tuple[Group, ...] = ()
    fast_p: tuple[FastCurve, ...] = ()
    turns_to_success: Turns
    outcomes: tuple[OutcomeCount, ...] = ()
    warnings: tuple[Count, ...] = ()  # of the answers, by text: "asked m, answered by n", ...
    causes: tuple[Count, ...] = ()  # "illegal: no_kernel_launched", "runtime_error: race", ... over all attempts
    failures: tuple[FailureCount, ...] = ()  # answers that did not come or could not be judged, the commonest first
    cost: Cost
    tasks: tuple[TaskResult, ...] = ()


class Difference(Record):
    """One figure in two runs, over the tasks that both have."""

    name: str  # "Pass@8", "Avg@8", "faster than eager", "score"
    view: View
    first: float
    second: float
    difference: float  # second - first
    low: float | None = None  # ends of the 95 % interval of the difference, by paired bootstrap
    high: float | None = None
    tasks: int


class TaskChange(Record):
    """A task on which two runs differ: shares of correct candidates, at their best turn."""

    name: str
    first: float
    second: float


class Comparison(Record):
    """Two runs, task by task."""

    schema_version: int = SCHEMA_VERSION
    first: str
    second: str
    evidence: str
    common_tasks: int
    only_first: int
    only_second: int
    differences: tuple[Difference, ...] = ()
    better: tuple[TaskChange, ...] = ()  # the second run has the larger share
    worse: tuple[TaskChange, ...] = ()
    equal: int = 0
    cautions: tuple[str, ...] = ()  # in what else the runs differ
