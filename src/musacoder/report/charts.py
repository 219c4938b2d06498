"""Charts as inline SVG. Colours, fonts and dashes are the style sheet's, by class; nothing here is styled inline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 44
DOTTED = 10  # points up to which a curve shows them
SERIES = 6  # colours and dashes that the style sheet has


@dataclass(frozen=True)
class Line:
    """One curve: points in the data's units, with the ends of their intervals where there are any."""

    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float, float], ...] = ()  # x, low, high
    series: int = 0  # which colour
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """What an axis is of, and where its ticks are, as (position, label)."""

    label: str
    ticks: tuple[tuple[float, str], ...]

    def fraction(self, value: float) -> float:
        """Where a value lies between the first tick and the last."""
        first, last = self.ticks[0][0], self.ticks[-1][0]
        return (value - first) / (last - first) if last > first else 0.5


@dataclass(frozen=True)
class Segment:
    """A part of a bar."""

    name: str
    count: int


def line_chart(title: str, x: Axis, y: Axis, lines: Sequence[Line], *, marks: Sequence[tuple[float, str]] = ()) -> str:
    """Curves over labelled axes. `marks`: positions on x that have a name."""
    described = "; ".join(f"{line.name}: {_spoken(line, y)}" for line in lines)
    parts = [
        *_grid(x, y),
        *(part for position, name in marks for part in _mark(x, position, name)),
        *(_band(x, y, line) for line in lines if line.band),
        *(part for line in lines for part in _curve(x, y, line)),
    ]
    return _svg(title, described, WIDTH, HEIGHT, parts)


def bar_chart(title: str, bars: Sequence[tuple[str, Sequence[Segment]]], classes: dict[str, str], width: int) -> str:
    """Stacked bars, each of its own whole; `classes`: the style of a segment by its name."""
    described = "; ".join(f"{name}: {', '.join(f'{s.name} {s.count}' for s in parts)}" for name, parts in bars)
    row, left, right = 34, 56, 2
    height = row * len(bars) + 6
    shapes = []
    for number, (name, segments) in enumerate(bars):
        y = row * number + 4
        shapes.append(f'<text class="tick" x="{left - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>')
        shapes += _stack(segments, classes, left, y, width - left - right)
    return _svg(title, described, width, height, shapes)


def legend(lines: Sequence[Line]) -> list[tuple[str, str, bool]]:
    """(name, class of colour, dashed) of every curve, for the list below a chart."""
    return [(line.name, _colour(line), line.dashed) for line in lines]


def _stack(segments: Sequence[Segment], classes: dict[str, str], left: float, y: float, width: float) -> Iterator[str]:
    total = sum(s.count for s in segments)
    x = left
    for segment in (s for s in segments if s.count):
        share = width * segment.count / total
        css = classes.get(segment.name, "o-other")
        yield (
            f'<rect class="{css}" x="{x:.1f}" y="{y}" width="{max(share - 1, 0.5):.1f}" height="26">'
            f"<title>{escape(segment.name)}: {segment.count}</title></rect>"
        )
        if share > 9 * len(str(segment.count)) + 6:
            middle = f'x="{x + share / 2:.1f}" y="{y + 18}" text-anchor="middle"'
            yield f'<text class="inbar" {middle}>{segment.count}</text>'
        x += share


def _svg(title: str, described: str, width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}. {escape(described)}">'
        f"{''.join(parts)}</svg>"
    )


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    for value, label in y.ticks:
        at = _y(y, value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text class="tick" x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{escape(label)}</text>'
    for value, label in x.ticks:
        at = _x(x, value)
        yield f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>'
        yield f'<text class="tick" x="{at:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{escape(label)}</text>'
    base = HEIGHT - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="label" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x.label)}</text>'
    across = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text class="label" x="12" y="{across}" transform="rotate(-90 12 {across})" text-anchor="middle">'
        f"{escape(y.label)}</text>"
    )


def _mark(x: Axis, position: float, name: str) -> Iterator[str]:
    at = _x(x, position)
    yield f'<line class="marked" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
    yield f'<text class="tick" x="{at + 4:.1f}" y="{TOP + 9}">{escape(name)}</text>'


def _band(x: Axis, y: Axis, line: Line) -> str:
    upper = [f"{_x(x, at):.1f},{_y(y, high):.1f}" for at, _low, high in line.band]
    lower = [f"{_x(x, at):.1f},{_y(y, low):.1f}" for at, low, _high in reversed(line.band)]
    return f'<polygon class="band {_colour(line)}" points="{" ".join(upper + lower)}"/>'


def _curve(x: Axis, y: Axis, line: Line) -> Iterator[str]:
    places = [(_x(x, a), _y(y, b)) for a, b in line.points]
    css = f"curve {_colour(line)}{' dashed' if line.dashed else ''}"
    yield f'<polyline class="{css}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in places)}"/>'
    if len(places) > DOTTED:
        return
    for (a, b), (at, value) in zip(places, line.points, strict=True):
        told = f"{escape(line.name)}, {at:g}: {100 * value:.1f} %"
        yield f'<circle class="dot {_colour(line)}" cx="{a:.1f}" cy="{b:.1f}" r="3"><title>{told}</title></circle>'


def _colour(line: Line) -> str:
    return f"c{line.series % SERIES}"


def _spoken(line: Line, y: Axis) -> str:
    first, last = line.points[0], line.points[-1]
    return f"{y.label} from {100 * first[1]:.1f} at {first[0]:g} to {100 * last[1]:.1f} at {last[0]:g}"


def _x(axis: Axis, value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * axis.fraction(value)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.fraction(value)
