"""The report as Markdown: tables only, and nothing that a model wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator

from musacoder.report.gather import Findings
from musacoder.report.sections import Section, sections
from musacoder.report.tables import Cell, Row, Table, tasks_table

_MEANS_SOMETHING = re.compile(r"([\\`*_\[\]|~#!])")


def markdown(findings: Findings, made: str) -> str:
    """The whole document. `made`: with what and when, in one line."""
    blocks = ["# MusaCoder report", escaped(made)]
    for section in sections(findings):
        blocks += _section(section)
    blocks += ["## Tasks", table(tasks_table([part for _, parts in findings.by_evidence() for part in parts]))]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"{'#' * section.level} {escaped(section.title)}"
    yield from (escaped(line) for line in section.text)
    if section.warnings:
        yield "\n".join(f"- **{escaped(line)}**" for line in section.warnings)
    for content in section.tables:
        yield table(content)


def table(content: Table) -> str:
    """A table with its notes."""
    head = [f"| {' | '.join(escaped(c) for c in content.columns)} |", f"|---|{'---:|' * (len(content.columns) - 1)}"]
    rows = [_row(row, len(content.columns)) for row in content.rows]
    notes = "\n".join(f"- {escaped(note)}" for note in content.notes)
    caption = f"*{escaped(content.caption)}*\n\n" if content.caption else ""
    return caption + "\n".join(head + rows) + (f"\n\n{notes}" if notes else "")


def _row(row: Row, columns: int) -> str:
    cells = [_cell(cell, emphasised=row.heading) for cell in row.cells]
    return f"| {' | '.join(cells + [''] * (columns - len(cells)))} |"


def _cell(cell: Cell, *, emphasised: bool) -> str:
    text = f"{escaped(cell.text)} ({escaped(cell.small)})" if cell.small else escaped(cell.text)
    return f"*{text}*" if emphasised else text


def escaped(text: str) -> str:
    """Text that stays text: no markup, no HTML, one line."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MEANS_SOMETHING.sub(r"\\\1", line)
