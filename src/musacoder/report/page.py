"""The report as one HTML file that asks nothing of anybody: styles, script, charts and answers are in it.

What models wrote reaches the page twice guarded: as packed data that the script puts in as text, never as markup; and
under a content security policy that runs this page's own script and style, by their hashes, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from musacoder.evaluate.outcomes import UNSCORED, Outcome
from musacoder.report.contents import Opened, opened, packed
from musacoder.report.figures import Figure
from musacoder.report.gather import Findings, ReadRun
from musacoder.report.sections import Section, sections
from musacoder.report.words import NOTHING, one_line, spoken, times, visible

GLYPHS = {
    Outcome.CORRECT: "✓",
    Outcome.INCORRECT: "≠",
    Outcome.ILLEGAL: "!",
    Outcome.COMPILE_ERROR: "c",
    Outcome.RUNTIME_ERROR: "r",
    Outcome.NO_CANDIDATE: "0",
    Outcome.NO_ANSWER: "∅",
    Outcome.UNSUPPORTED: "?",
}  # of all that is not scored besides: a dash


@dataclass(frozen=True)
class Strip:
    """One run's candidates of a task, as marks in a row."""

    label: str
    marks: tuple[tuple[str, str, str], ...]  # class, glyph, what it says
    correct: int
    scored: int
    speedup: str


@dataclass(frozen=True)
class TaskRow:
    """A task with what it opens to."""

    number: int
    name: str
    level: str
    family: str
    admission: str
    strips: tuple[Strip, ...]
    packed: str

    @property
    def words(self) -> str:
        """What the filter looks in."""
        solved = "solved" if any(strip.correct for strip in self.strips) else "unsolved"
        return " ".join((self.name, f"level{self.level}", self.family, self.admission, solved)).lower()


def html(findings: Findings, made: str, *, code: bool, advance: Callable[[str], Any] = str) -> str:
    """The whole page.

    Args:
        findings: what it shows.
        made: with what and when, in one line.
        code: False for a page with nothing that a model wrote.
        advance: told the name of each task of each run as it is done.
    """
    style, script = (_asset(name) for name in ("report.css", "report.js"))
    environment = Environment(
        loader=PackageLoader("musacoder.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html.j2")
    return template.render(
        title=" and ".join(one_line(run.label, 60) for run in findings.runs[:3]),
        made=made,
        sections=[_with_markup(section) for section in sections(findings)],
        tasks=task_rows(findings, code=code, advance=advance),
        legend=_legend(),
        code=code,
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
    )


def task_rows(findings: Findings, *, code: bool, advance: Callable[[str], Any] = str) -> list[TaskRow]:
    """Tasks in the order of the first run that has them; a task of several runs stands once."""
    contents = {run.label: opened(run, code=code, advance=advance) for run in findings.runs}
    runs_of: dict[tuple[str, str], list[ReadRun]] = {}
    for run in findings.runs:
        for task in run.run.manifest.tasks:
            runs_of.setdefault((task.name, task.hash), []).append(run)
    return [
        _row(number, key, [(run, contents[run.label][key[0]]) for run in runs], findings, code=code)
        for number, (key, runs) in enumerate(runs_of.items())
    ]


def _row(
    number: int, key: tuple[str, str], here: list[tuple[ReadRun, Opened]], findings: Findings, *, code: bool
) -> TaskRow:
    """A task, by its name and hash, with the runs that have it."""
    name = key[0]
    results = [t for p in findings.parts for t in p.metrics.tasks if (t.name, t.hash) == key]
    sources = (run.sources[name] for run, _ in here if name in run.sources)
    data = {
        "source": visible(source) if code and (source := next(sources, None)) is not None else None,
        "runs": [{"label": one_line(run.label), "candidates": content.candidates} for run, content in here],
    }
    return TaskRow(
        number=number,
        name=one_line(name),
        level=one_line(results[0].level or NOTHING, 20),
        family=one_line(results[0].family, 20),
        admission=next((t.admission for t in results if t.admission not in (None, "admitted")), ""),
        strips=tuple(_strip(content) for _, content in here),
        packed=packed(data),
    )


def _strip(content: Opened) -> Strip:
    outcomes = [Outcome(mark.outcome) for mark in content.marks]
    speeds = [mark.speedup for mark in content.marks if mark.speedup is not None]
    return Strip(
        label=one_line(content.label, 60),
        marks=tuple((_css(m.outcome), GLYPHS.get(Outcome(m.outcome), NOTHING), m.told) for m in content.marks),
        correct=outcomes.count(Outcome.CORRECT),
        scored=sum(outcome not in UNSCORED for outcome in outcomes),
        speedup=times(max(speeds)) if speeds else "",
    )


def _legend() -> Sequence[tuple[str, str, str]]:
    known = [(_css(outcome.value), glyph, spoken(outcome.value)) for outcome, glyph in GLYPHS.items()]
    return [*known, (_css(Outcome.NOT_JUDGED.value), NOTHING, "not scored")]


def _css(outcome: str) -> str:
    return f"o-{outcome.replace('_', '-')}"


def _with_markup(section: Section) -> tuple[Section, list[tuple[Figure, Markup]], list[tuple[str, Markup]]]:
    """Its charts are markup of ours, with all foreign words escaped."""
    figures = [(figure, Markup(figure.svg)) for figure in section.figures]
    return section, figures, [(window, Markup(svg)) for window, svg in section.bars]


def _asset(name: str) -> str:
    return (resources.files("musacoder.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
