"""Tables, made once and shown by every form of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from musacoder.evaluate import Comparison, Estimate, Metrics, Rates
from musacoder.evaluate.metrics import Difference, Group, Spread
from musacoder.report import published
from musacoder.report.gather import Part
from musacoder.report.words import (
    NOTHING,
    decimal,
    duration,
    number,
    one_line,
    percent,
    percent_range,
    several,
    spoken,
    times,
)


@dataclass(frozen=True)
class Cell:
    """A value with a smaller one beside it."""

    text: str
    small: str = ""
    kind: str = ""  # "name", "better", "worse"; else a number


@dataclass(frozen=True)
class Row:
    """A row; `heading` rows begin a part of the table and have one cell."""

    cells: tuple[Cell, ...]
    heading: bool = False
    published: bool = False


@dataclass(frozen=True)
class Table:
    """What is read together."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()


RATE_COLUMNS = ("tasks", "n", "Pass@1", "Pass@n", "Avg@n", "faster than eager", "than compile", "score")


def name_cell(text: str, small: str = "") -> Cell:
    return Cell(one_line(text), one_line(small), "name")


def rate_cell(estimate: Estimate | None) -> Cell:
    """A share in per cent with its interval."""
    return Cell(percent(estimate.value if estimate else None), percent_range(estimate))


def rate_cells(rates: Rates, samples: int) -> Iterator[Cell]:
    """The cells of `RATE_COLUMNS`."""
    yield Cell(number(rates.tasks))
    yield Cell(number(samples))
    yield rate_cell(rates.passed(1))
    yield rate_cell(rates.passed(samples))
    yield rate_cell(rates.avg)
    yield from (rate_cell(rates.faster_than(baseline).rate) for baseline in ("eager", "compile"))
    yield score_cell(rates.score)


def score_cell(score: Estimate | None) -> Cell:
    if score is None:
        return Cell(NOTHING)
    low, high = score.low, score.high
    return Cell(decimal(score.value), "" if low is None or high is None else f"{decimal(low)} to {decimal(high)}")


def headline(parts: Sequence[Part], evidence: str) -> Table:
    """The rates of every run, beside the paper's where the evidence is of the same kind."""
    rows = [row for part in parts for row in _run_rows(part)]
    if evidence == "device":
        rows += _published_rows(musa=any(part.metrics.backend == "musa" for part in parts))
    return Table(("run", *RATE_COLUMNS), tuple(rows), notes=tuple(_headline_notes(parts, evidence)))


def _run_rows(part: Part) -> Iterator[Row]:
    group, metrics = part.metrics.overall, part.metrics
    turns = metrics.turns > 1
    yield _rates_row(part.label, f"{metrics.model}{', first turn' if turns else ''}", group.first, metrics.samples)
    if turns:
        yield _rates_row(part.label, f"{metrics.model}, best of {metrics.turns} turns", group.best, metrics.samples)


def _rates_row(name: str, small: str, rates: Rates, samples: int) -> Row:
    return Row((name_cell(name, small), *rate_cells(rates, samples)))


def _published_rows(*, musa: bool) -> Iterator[Row]:
    title = f"published in {published.SOURCE}, KernelBench levels 1 to 3; not measured here"
    yield Row((Cell(title, kind="name"),), heading=True, published=True)
    for row in (*published.CUDA, *(published.MUSA if musa else ())):
        figures = (row.pass_at_8, row.avg_at_8, row.faster_eager, row.faster_compile)
        cells = (Cell(NOTHING if figure is None else f"{figure:.2f}".removesuffix("0")) for figure in figures)
        facts = (Cell("250"), Cell(str(published.SAMPLES)), Cell(NOTHING))
        yield Row((Cell(row.model, kind="name"), *facts, *cells, Cell(NOTHING)), published=True)


def published_table() -> Table:
    """The paper's rows on their own, for a report without evidence of that kind."""
    note = "Measured on GPUs. Nothing in this report was, so that they are for orientation and not for comparison."
    return Table(("model", *RATE_COLUMNS), tuple(_published_rows(musa=False)), notes=(note,))


def _headline_notes(parts: Sequence[Part], evidence: str) -> Iterator[str]:
    yield "Per cent; small: 95 % interval by bootstrap over tasks. n samples a task; score is the mean reward."
    if evidence == "emulation":
        yield "Judged by emulation on a CPU: it refutes wrong kernels and says nothing about speed."
    elif others := sorted({p.metrics.suite for p in parts if "kernelbench" not in p.metrics.suite.lower()}):
        yield f"The published figures are of KernelBench; other suites here: {one_line(', '.join(others))}."
    for part in parts:
        yield from (f"{one_line(part.label)}: {note}" for note in _notes_on(part.metrics.overall.first))


def _notes_on(rates: Rates) -> Iterator[str]:
    for found in (f for f in rates.faster if f.without_baseline):
        left = several(found.without_baseline, "candidate")
        yield f"{left} left the rate against {found.baseline}, which was not timed."
    short = rates.pass_at[-1].short_tasks if rates.pass_at else 0
    if short:
        yield f"Pass@n takes what there is of {several(short, 'task')} with fewer than n scored candidates."


def other_counts(part: Part) -> Table:
    """The same rates, counted otherwise."""
    metrics = part.metrics
    groups = [metrics.overall, metrics.unsupported_failed, *([metrics.admitted] if metrics.admitted else [])]
    return groups_table("counted by", groups, metrics)


def groups_table(first_column: str, groups: Iterable[Group], metrics: Metrics) -> Table:
    """Rates of groups of tasks, by every view."""
    rows = []
    for group in groups:
        if metrics.turns > 1:
            rows.append(_rates_row(group.name, "first turn", group.first, metrics.samples))
            rows.append(_rates_row(group.name, "best turn", group.best, metrics.samples))
        else:
            rows.append(_rates_row(group.name, "", group.first, metrics.samples))
    return Table((first_column, *RATE_COLUMNS), tuple(rows))


def confirmed_table(part: Part) -> Table | None:
    """Faster Rates by point estimate and by interval; None where nothing was timed."""
    rows = [
        Row((name_cell(f"than {f.baseline}", f"{rates.view} turn"), rate_cell(f.rate), rate_cell(f.confirmed),
             Cell(number(f.without_baseline)), Cell(number(f.without_interval))))
        for rates in _views(part.metrics)
        for f in rates.faster
        if f.rate is not None
    ]  # fmt: skip
    ways = ("by the point estimate", "confirmed by the interval", "without this baseline", "without an interval")
    return Table(("more than 1.1× as fast", *ways), tuple(rows)) if rows else None


def _views(metrics: Metrics) -> list[Rates]:
    return [metrics.overall.first, *([metrics.overall.best] if metrics.turns > 1 else [])]


def outcomes_table(part: Part) -> Table:
    """Attempts by outcome, a column for each turn."""
    counts = part.metrics.outcomes
    turns = sorted({c.turn for c in counts})
    by_key = {(c.outcome, c.turn): c.count for c in counts}
    totals = {t: sum(c.count for c in counts if c.turn == t) for t in turns}
    rows = (
        Row((name_cell(spoken(outcome)), *(_count_cell(by_key.get((outcome, t), 0), totals[t]) for t in turns)))
        for outcome in dict.fromkeys(c.outcome for c in counts)
    )
    return Table(("outcome", *(f"turn {t}" for t in turns)), tuple(rows))


def _count_cell(count: int, total: int) -> Cell:
    return Cell(number(count), f"{percent(count / total)} %") if count else Cell(NOTHING)


def causes_table(part: Part, limit: int = 12) -> Table | None:
    """What stands behind failures; None where nothing is known."""
    causes = part.metrics.causes[:limit]
    rows = (Row((name_cell(c.name.replace("_", " ")), Cell(number(c.count)))) for c in causes)
    return Table(("cause, over all turns", "attempts"), tuple(rows)) if causes else None


def turns_table(part: Part) -> Table:
    """At which turn candidates became correct."""
    turns, asked = part.metrics.turns_to_success, part.metrics.coverage.asked
    named = [(f"in turn {t.turn}", t.count) for t in turns.succeeded]
    named += [("never", turns.failed), ("not scored", turns.unscored)]
    rows = (Row((name_cell(name), _count_cell(count, asked))) for name, count in named)
    return Table(("became correct", "candidates"), tuple(rows))


def cost_table(part: Part) -> Table:
    """Tokens and seconds."""
    cost = part.metrics.cost
    rows = [_spread_row(name, s, number) for name, s in
            (("prompt tokens", cost.prompt_tokens), ("answer tokens", cost.completion_tokens))]  # fmt: skip
    seconds = (("answering", cost.answer_seconds), ("judging", cost.judge_seconds), ("waiting", cost.queue_seconds))
    rows += [_spread_row(name, s, duration) for name, s in seconds]
    wall = Row((name_cell("from first to last"), Cell(duration(cost.wall_seconds)), *[Cell("")] * 4))
    return Table(("", "total", "mean", "median", "90 %", "known for"), (*rows, wall))


def _spread_row(name: str, spread: Spread, show: Callable[[float | None], str]) -> Row:
    total = spread.total if spread.known else None
    figures = (total, spread.mean, spread.median, spread.p90)
    return Row((name_cell(name), *(Cell(show(figure)) for figure in figures), Cell(number(spread.known))))


def comparison_table(comparison: Comparison) -> Table:
    """What changes from one run to another."""
    views = {d.view for d in comparison.differences if d.view == "best"}
    same = all(_twin(d, comparison) for d in comparison.differences)
    rows = (_difference_row(d) for d in comparison.differences if not (same and d.view in views))
    columns = ("figure", comparison.first, comparison.second, "difference", "tasks")
    return Table(tuple(one_line(c, 60) for c in columns), tuple(rows), notes=tuple(_comparison_notes(comparison)))


def _twin(difference: Difference, comparison: Comparison) -> bool:
    """Whether the other view says the same, as it does of runs with one turn."""
    twins = (d for d in comparison.differences if d.name == difference.name and d.view != difference.view)
    return any((d.first, d.second) == (difference.first, difference.second) for d in twins)


def _difference_row(d: Difference) -> Row:
    show = decimal if d.name == "score" else percent
    known = d.low is not None and d.high is not None
    sure = known and (d.low > 0 or d.high < 0)
    kind = ("better" if d.difference > 0 else "worse") if sure else ""
    interval = f"{_signed(show, d.low)} to {_signed(show, d.high)}" if known else ""
    cells = (Cell(show(d.first)), Cell(show(d.second)), Cell(_signed(show, d.difference), interval, kind))
    return Row((name_cell(d.name, f"{d.view} turn"), *cells, Cell(number(d.tasks))))


def _signed(show: Callable[[float], str], value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{show(abs(value))}"


def _comparison_notes(c: Comparison) -> Iterator[str]:
    yield (
        f"{several(c.common_tasks, 'common task')}: {len(c.better)} better, {len(c.worse)} worse, {c.equal} equal "
        f"in the share of correct candidates; {c.only_first} only in the first run, {c.only_second} only in the second."
    )
    yield "Differences in percentage points, intervals by paired bootstrap; coloured where these do not hold zero."
    yield from (one_line(caution) for caution in c.cautions)


def tasks_table(parts: Sequence[Part]) -> Table:
    """Every task, a row for each run."""
    rows = (
        Row((
            name_cell(t.name, part.label if len(parts) > 1 else ""),
            Cell(one_line(t.level or NOTHING, 20)), Cell(one_line(t.family, 20), kind="name"),
            Cell(one_line(t.admission or NOTHING, 20), kind="name"),
            Cell(f"{t.first_correct}/{t.scored}"), Cell(f"{t.best_correct}/{t.scored}"),
            Cell(times(t.eager_speedup)), Cell(times(t.compile_speedup)),
        ))
        for part in parts
        for t in part.metrics.tasks
    )  # fmt: skip
    columns = ("task", "level", "family", "admission", "first turn", "best turn", "over eager", "over compile")
    return Table(columns, tuple(rows))
