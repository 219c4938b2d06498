"""What a report says, in its order: shown alike by HTML and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from musacoder.evaluate import Metrics
from musacoder.report import tables
from musacoder.report.figures import CLASSES, Figure, curves, outcome_bars
from musacoder.report.gather import Findings, Part
from musacoder.report.tables import Table
from musacoder.report.words import one_line, several, spoken

BAR_WIDTHS = {"broad": 880, "narrow": 360}  # in the units of their own text
NAMED = 12  # tasks that a warning lists


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it."""

    anchor: str
    title: str
    level: int = 2
    text: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    bars: tuple[tuple[str, str], ...] = ()  # SVG by the kind of window that it is for: the style sheet shows one
    bar_legend: tuple[tuple[str, str], ...] = ()  # class of colour, name


def sections(findings: Findings) -> Iterator[Section]:
    """Headline and curves by evidence, comparisons, then each run in detail."""
    by_evidence = list(findings.by_evidence())
    for evidence, parts in by_evidence:
        yield _headline(evidence, parts, alone=len(by_evidence) == 1)
    if not any(evidence == "device" for evidence, _ in by_evidence):
        yield Section("published", "Published figures", tables=(tables.published_table(),))
    for number, comparison in enumerate(findings.comparisons, start=1):
        title = f"{one_line(comparison.first, 60)} and {one_line(comparison.second, 60)} compared"
        yield Section(f"compared-{number}", title, tables=(tables.comparison_table(comparison),))
    if findings.not_compared:
        yield Section("not-compared", "Not compared", warnings=tuple(one_line(w, 400) for w in findings.not_compared))
    for number, part in enumerate(findings.parts, start=1):
        yield from _run(part, number)


def _headline(evidence: str, parts: Sequence[Part], *, alone: bool) -> Section:
    how = "judged on a device" if evidence == "device" else "judged by emulation"
    return Section(
        anchor=f"results-{evidence}",
        title="Results" if alone else f"Results, {how}",
        tables=(tables.headline(parts, evidence),),
        figures=tuple(curves(parts)),
    )


def _run(part: Part, number: int) -> Iterator[Section]:
    metrics = part.metrics
    yield Section(
        f"run-{number}",
        f"Run {one_line(part.label, 80)}",
        text=(_facts(metrics),),
        warnings=tuple(_warnings(metrics)),
        tables=tuple(filter(None, (tables.other_counts(part), tables.confirmed_table(part)))),
    )
    for title, groups in (("By level", metrics.levels), ("By operator family", metrics.families)):
        if groups:
            name = title.removeprefix("By ")
            table = tables.groups_table(name, groups, metrics)
            yield Section(f"run-{number}-{name.split()[0]}", title, level=3, tables=(table,))
    outcomes = tuple(filter(None, (tables.outcomes_table(part), tables.causes_table(part))))
    yield Section(
        f"run-{number}-outcomes",
        "Outcomes",
        level=3,
        tables=outcomes,
        bars=tuple((window, outcome_bars(part, width)) for window, width in BAR_WIDTHS.items()),
        bar_legend=tuple(_bar_legend(part)),
    )
    cost = (tables.turns_table(part), tables.cost_table(part))
    yield Section(f"run-{number}-cost", "Turns, tokens and seconds", level=3, tables=cost)


def _bar_legend(part: Part) -> Iterator[tuple[str, str]]:
    for outcome in dict.fromkeys(count.outcome for count in part.metrics.outcomes):
        yield CLASSES[spoken(outcome)], spoken(outcome)


def _facts(metrics: Metrics) -> str:
    facts = [
        f"model {metrics.model}",
        f"suite {metrics.suite}",
        f"{several(metrics.coverage.tasks, 'task')}, {several(metrics.samples, 'sample')} each" + _turns_told(metrics),
        f"backend {metrics.backend}" + (f" on {metrics.device}" if metrics.device else ""),
        f"policy {metrics.policy}",
        f"protocol {metrics.protocol}",
        *(f"{name} {version}" for name, version in metrics.versions.items()),
        f"configuration {metrics.config_hash[:12]}",
        f"intervals from {metrics.bootstrap_resamples} resamples, seed {metrics.bootstrap_seed}",
    ]
    return one_line(" · ".join(facts), 1000)


def _turns_told(metrics: Metrics) -> str:
    if metrics.kind == "generate":
        return f", {several(metrics.turns, 'turn')} used at most"
    return f", at most {metrics.turns} turns" if metrics.turns > 1 else ""


def _warnings(metrics: Metrics) -> Iterator[str]:
    """What a reader must know before the figures are believed."""
    coverage = metrics.coverage
    counted = ", ".join(f"{c.count} {spoken(c.name)}" for c in coverage.unscored)
    if counted:
        left = coverage.asked - coverage.scored
        yield f"{left} of {several(coverage.asked, 'candidate')} not scored in their first turn: {counted}."
    if coverage.tasks_unscored:
        of = several(coverage.tasks, "task")
        yield f"{coverage.tasks_unscored} of {of} without a scored candidate, and in no rate."
    for outcome, names in (("weak", coverage.weak_tasks), ("refused", coverage.refused_tasks)):
        if names:
            yield f"{several(len(names), f'{outcome} task')}, which may call wrong kernels correct: {_listed(names)}."
    if coverage.unknown_admission:
        unknown = several(coverage.unknown_admission, "task")
        yield f"Of {unknown} it is not known whether right is told from wrong (musacoder admit)."
    yield from (f"{several(c.count, 'answer')}: {one_line(c.name)}." for c in metrics.warnings)
    if coverage.outside:
        yield f"{several(coverage.outside, 'record')} left out: of tasks or samples that the run does not ask for."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return one_line(", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else ""), 1000)
