"""The CSV that `ncu --csv --page raw` prints: one row for each launch, one column for each metric, a row of units.

What stands around the table is skipped, a second header begins another table, and a cell that is no number is no
metric. Newer versions have more columns and older ones fewer: whoever reads a metric must do without.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_COLUMNS, MAX_ROWS = 5000, 1000
_FIRST = '"ID"'
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?([eE][+-]?\d+)?")
_TRIPLE = re.compile(r"\((\d{1,10}), *(\d{1,10}), *(\d{1,10})\)")
# Prefixes of units that a version may print although base units were asked for.
_PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNITS = {"byte": 1.0, "byte/s": 1.0, "byte/second": 1.0, "hz": 1.0, "Hz": 1.0, "s": 1.0, "second": 1.0}


@dataclass(frozen=True)
class LaunchRow:
    """One launch: its kernel's name, its shape and its metrics, in seconds, bytes, hertz and percent."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    metrics: dict[str, float]


def read_table(text: str) -> list[LaunchRow]:
    """Every launch in what ncu printed, in order; empty where there is no table."""
    rows: list[LaunchRow] = []
    header: list[str] = []
    units: list[str] = []
    for cells in _cells(text):
        if cells[0] == "ID":
            header, units = cells, []
        elif not header or len(cells) != len(header):
            continue
        elif not cells[0]:
            units = cells
        elif (row := _row(dict(zip(header, cells, strict=True)), dict(zip(header, units, strict=False)))) is not None:
            rows.append(row)
        if len(rows) >= MAX_ROWS:
            break
    return rows


def _cells(text: str) -> Iterator[list[str]]:
    """The rows of the table's lines; anything else that was printed is left out."""
    begin = text.find(_FIRST)
    if begin < 0:
        return
    lines = (line for line in text[begin:].splitlines() if line.startswith('"'))
    reader = csv.reader(lines)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if cells and len(cells) <= MAX_COLUMNS:
            yield cells


def _row(cells: dict[str, str], units: dict[str, str]) -> LaunchRow | None:
    name, grid, block = cells.get("Kernel Name", ""), cells.get("Grid Size", ""), cells.get("Block Size", "")
    if not name:
        return None
    metrics = {}
    for column, cell in cells.items():
        value = number(cell)
        if value is not None and "_" in column:
            metrics[column] = value * _scale(units.get(column, ""))
    return LaunchRow(name, _triple(grid), _triple(block), metrics)


def number(cell: str) -> float | None:
    """The number in a cell, with or without separators of thousands; None for "no data", "n/a", "nan" and the like."""
    if not _NUMBER.fullmatch(cell.strip()):
        return None
    value = float(cell.replace(",", ""))
    return value if math.isfinite(value) else None


def _scale(unit: str) -> float:
    """What turns a number of this unit into seconds, bytes or hertz; 1 for every other unit."""
    if unit in _UNITS:
        return 1.0
    return _PREFIXES.get(unit[:1], 1.0) if unit[1:] in _UNITS else 1.0


def _triple(text: str) -> tuple[int, int, int]:
    found = _TRIPLE.fullmatch(text.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def short_name(kernel: str) -> str:
    """A demangled name without its return type, its parameters and what its templates were given.

    `void softmax<float, 256>(const float *, int)` is `softmax`.
    """
    plain = kernel.replace("(anonymous namespace)", "{anonymous}")
    depth, out = 0, ""
    for character in plain:
        if character == "(" and depth == 0:
            break
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            out += character
    out = out.strip().rpartition(" ")[2] or plain.strip()
    return printable(out.replace("{anonymous}::", ""))[:120]


def printable(text: str) -> str:
    """Text of unknown origin as one line."""
    return "".join(c if c.isprintable() else "?" for c in text)
