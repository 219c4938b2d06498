"""Programs and rows on the disk: JSON lines that are only appended to, so that whatever was interrupted goes on.

    programs.jsonl     one `Program` a line
    judgements.jsonl   one `Judgement` a line: what the judge said of a program, or of a mutant of it
    rows.jsonl         one `Row` a line

Each record says which version wrote it; a line that is none is named, with its file and number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from mooreeval.errors import UsageError
from mooreeval.render import strict_json
from mooreeval.verdict import Record, Verdict
from musacoder.data.records import SCHEMA_VERSION, Program, Row
from musacoder.runlog.lines import Lines, read_lines

R = TypeVar("R", bound=Record)


class Judgement(Record):
    """What the judge said of a program (`rules` is empty), or of a mutant in which these rules planted something."""

    schema_version: Literal[1] = SCHEMA_VERSION
    program_hash: str
    rules: tuple[str, ...] = ()  # names of `musacoder.data.mutations`
    code: str
    verdict: Verdict


def read_records(kind: type[R], path: Path) -> Iterator[R]:
    """Every record of a file; no file is none. UsageError, with file and line, for what is no such record."""
    for _, place, data in read_lines(path):
        version = data.get("schema_version") if isinstance(data, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise UsageError(f"{place} was written by a newer version (schema_version {version}): update musacoder")
        try:
            yield kind.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or "the record"
            raise UsageError(f"{place} is no {kind.__name__}: {field}: {first['msg']}") from None


def read_programs(path: Path) -> list[Program]:
    """The programs of a file, each once. UsageError where there is no file, or no program in it."""
    if not path.is_file():
        raise UsageError(f"there are no programs in {path}: no such file")
    programs = {p.program_hash: p for p in read_records(Program, path)}
    if not programs:
        raise UsageError(f"{path} holds no program")
    return list(programs.values())


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, each conversation once, in the order in which they were written."""
    seen: set[str] = set()
    for row in read_records(Row, path):
        if row.row_hash not in seen:
            seen.add(row.row_hash)
            yield row


def append(lines: Lines, records: Iterable[Record]) -> int:
    """Append each record as a line of its own; how many. Raises NotJudged where the disk takes no more."""
    count = 0
    for record in records:
        lines.append(strict_json(record))
        count += 1
    return count
