"""Rows of a data set as training reads them: conversations, and what the mixture weighs. No torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mooreeval.errors import UsageError
from musacoder.data.records import Split
from musacoder.models.types import Message

NEEDED = ("prompt", "completion", "kind", "family")
_EXTRA = "pip install 'musacoder[train]'"


@dataclass
class Rows:
    """Rows of the training split, by column. `held_out`: rows of other splits, which nobody trains on."""

    prompts: list[tuple[Message, ...]] = field(default_factory=list)
    completions: list[Message] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    held_out: int = 0

    def __len__(self) -> int:
        return len(self.prompts)


def read_rows(sources: Sequence[str]) -> Rows:
    """The rows of folders of parquet files, of single parquet files and of JSON lines, in that order.

    Raises UsageError, one line: nothing there, a file that can't be read, a missing column, no rows to train on.
    """
    rows = Rows()
    for path in files_of(sources):
        for place, record in _records(path):
            _add(rows, record, place)
    if not len(rows):
        others = f", {rows.held_out} of other splits" if rows.held_out else ""
        raise UsageError(f"{', '.join(sources)}: no rows to train on{others}")
    return rows


def files_of(sources: Sequence[str]) -> list[Path]:
    """The files that hold rows. UsageError where a source has none."""
    if not sources:
        raise UsageError("name the rows to train on: --data PATH")
    found: list[Path] = []
    for source in sources:
        path = Path(source)
        if not path.exists():
            raise UsageError(f"there are no rows in {source}: no such file or folder")
        here = sorted(path.rglob("*.parquet")) or sorted(path.glob("rows*.jsonl")) if path.is_dir() else [path]
        if not here:
            raise UsageError(f"{source} holds no parquet file and no rows.jsonl")
        found += here
    return found


def content_of(sources: Sequence[str]) -> str:
    """SHA-256 (hex) over the bytes of all files: what a run that goes on compares."""
    digest = hashlib.sha256()
    for path in files_of(sources):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each record with its place in words."""
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            place = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except ValueError:
                raise UsageError(f"{place} is no JSON") from None
            if not isinstance(record, dict):
                raise UsageError(f"{place} is no row")
            _require(record, place)
            yield place, record


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise UsageError(f"parquet files need pyarrow: {_EXTRA}") from None
    try:
        table = parquet.ParquetFile(path)
        names = table.schema_arrow.names
        _require(names, str(path))
        wanted = [*NEEDED, *({"split"} & set(names))]
        for batch in table.iter_batches(batch_size=1024, columns=wanted):
            yield from ((str(path), record) for record in batch.to_pylist())
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these kinds
        raise UsageError(f"{path} is no parquet file that can be read: {' '.join(str(error).split())[:200]}") from None


def _require(names: Iterable[str], place: str) -> None:
    if missing := [name for name in NEEDED if name not in names]:
        raise UsageError(f"{place} has no column {', '.join(missing)}: rows need {', '.join(NEEDED)}")


def _add(rows: Rows, record: dict[str, Any], place: str) -> None:
    if record.get("split", Split.TRAIN) != Split.TRAIN:
        rows.held_out += 1
        return
    prompt, completion = (_messages(record[name], name, place) for name in ("prompt", "completion"))
    if [m.role for m in completion] != ["assistant"] or not prompt:
        raise UsageError(f"{place}: a row is a prompt and one assistant's turn, which is what it trains")
    rows.prompts.append(prompt)
    rows.completions.append(completion[0])
    rows.kinds.append(str(record["kind"]))
    rows.families.append(str(record["family"]))


def _messages(turns: Any, name: str, place: str) -> tuple[Message, ...]:
    try:
        return tuple(Message(turn["role"], turn["content"]) for turn in turns)
    except (TypeError, KeyError):
        raise UsageError(f"{place}: {name} is no list of turns with role and content") from None
