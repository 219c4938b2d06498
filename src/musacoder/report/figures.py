"""Which charts a report has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2

from musacoder.evaluate.metrics import FastCurve, Rates
from musacoder.evaluate.outcomes import Outcome
from musacoder.report.charts import Axis, Line, Segment, bar_chart, legend, line_chart
from musacoder.report.gather import Part
from musacoder.report.words import one_line, spoken

SHARE = Axis("", tuple((i / 4, f"{25 * i}") for i in range(5)))
P_AXIS = Axis("p: times as fast as the baseline", tuple((float(i), str(i)) for i in range(6)))
CLASSES = {spoken(o.value): f"o-{o.value.replace('_', '-')}" for o in Outcome}


@dataclass(frozen=True)
class Figure:
    """A chart with its title and its legend."""

    title: str
    svg: str
    legend: tuple[tuple[str, str, bool], ...] = ()
    note: str = ""


def curves(parts: Sequence[Part]) -> list[Figure]:
    """Pass@k and, where speed is known, fast_p."""
    found = [_pass_figure(parts), _fast_figure(parts)]
    return [figure for figure in found if figure is not None]


def _pass_figure(parts: Sequence[Part]) -> Figure | None:
    lines = []
    for number, part in enumerate(parts):
        name = one_line(part.label, 60)
        overall = part.metrics.overall
        if part.metrics.turns > 1:
            best = _pass_line(f"{name}, best turn", overall.best, number)
            lines += [_pass_line(f"{name}, first turn", overall.first, number), replace(best, dashed=True)]
        else:
            lines.append(_pass_line(name, overall.first, number))
    lines = [line for line in lines if line.points]
    if not lines:
        return None
    ks = sorted({int(2**x) if float(x).is_integer() else round(2**x) for line in lines for x, _ in line.points})
    x = Axis("k: samples drawn", tuple((log2(k), str(k)) for k in ks))
    svg = line_chart("Pass@k", x, replace(SHARE, label="tasks with a correct one, %"), lines)
    return Figure("Pass@k", svg, tuple(legend(lines)), "Shaded: 95 % interval. Logarithmic in k.")


def _pass_line(name: str, rates: Rates, series: int) -> Line:
    points = tuple((log2(p.k), p.estimate.value) for p in rates.pass_at)
    ends = ((log2(p.k), p.estimate.low, p.estimate.high) for p in rates.pass_at)
    band = tuple((x, low, high) for x, low, high in ends if low is not None and high is not None)
    return Line(name, points, band, series)


def _fast_figure(parts: Sequence[Part]) -> Figure | None:
    lines = []
    for number, part in enumerate(parts):
        view = "best" if part.metrics.turns > 1 else "first"
        chosen = (curve for curve in part.metrics.fast_p if curve.view == view)
        lines += [_fast_line(part, curve, number) for curve in chosen]
    if not lines:
        return None
    y = replace(SHARE, label="candidates, %")
    svg = line_chart("fast_p", P_AXIS, y, lines, marks=((1.1, "1.1"),))
    turns = any(part.metrics.turns > 1 for part in parts)
    note = f"Candidates{', at their best turn,' if turns else ''} that are correct and more than p times as fast."
    return Figure("fast_p", svg, tuple(legend(lines)), note)


def _fast_line(part: Part, curve: FastCurve, series: int) -> Line:
    points = tuple((point.p, point.candidates) for point in curve.points)
    name = f"{one_line(part.label, 60)}, over {curve.baseline}"
    return Line(name, points, series=series, dashed=curve.baseline == "compile")


def outcome_bars(part: Part, width: int) -> str:
    """Attempts of each turn by outcome, as SVG of that width."""
    counts = part.metrics.outcomes
    bars = [
        (f"turn {turn}", [Segment(spoken(c.outcome), c.count) for c in counts if c.turn == turn])
        for turn in sorted({c.turn for c in counts})
    ]
    return bar_chart(f"Outcomes of {one_line(part.label, 60)}", bars, CLASSES, width)
