"""A data set of rows: a folder that the `datasets` library loads, parquet by split, and a card that says what is in it.

FOLDER/README.md                              the card
FOLDER/data/SPLIT-00000-of-00001.parquet      the rows of a split
FOLDER/decontamination.json                   what was looked for, and every leak that was found
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mooreeval.errors import UsageError
from musacoder.data.curate import Curated
from musacoder.data.mixture import shares
from musacoder.data.records import Row, Split

COLUMNS = (
    "prompt", "completion", "kind", "task_hash", "family", "operators", "cluster", "split", "source", "licence",
    "facts", "schema_version",
)  # fmt: skip
REPORT = "decontamination.json"
_CARD_LEAKS = 20  # that the card lists; the report has all


def write_dataset(curated: Curated, folder: Path, name: str, how: Mapping[str, str] | None = None) -> None:
    """Write the folder; what stood in it is replaced as a whole or not at all.

    Args:
        how: facts for the card, such as the command and the versions that made it.

    Raises UsageError where there are no rows, the folder is no data set, or it can't be written.
    """
    if not curated.rows:
        raise UsageError(f"nothing is left to write to {folder}: {_reasons(curated) or 'there were no rows'}")
    if folder.exists() and any(folder.iterdir()) and not (folder / REPORT).exists():
        raise UsageError(f"{folder} is not empty and no data set of rows: name another folder")
    made = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(made, ignore_errors=True)
        (made / "data").mkdir(parents=True)
        for split, rows in curated.splits.items():
            _write_parquet(rows, made / "data" / f"{split.value}-00000-of-00001.parquet")
        (made / REPORT).write_text(json.dumps(_report(curated), indent=2) + "\n", encoding="utf-8")
        (made / "README.md").write_text(card(curated, name, how or {}), encoding="utf-8")
        _replace(made, folder)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None


def _replace(made: Path, folder: Path) -> None:
    """One folder takes another's place."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    made.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def read_dataset(folder: Path, split: Split | str = Split.TRAIN) -> list[Row]:
    """The rows of a split. UsageError, one line: no such data set or split, missing columns, or rows that are none."""
    return list(_rows(load_split(folder, split), folder))


def load_split(folder: Path, split: Split | str = Split.TRAIN, needed: Sequence[str] = COLUMNS) -> Any:
    """A `datasets.Dataset` that has the needed columns. UsageError as `read_dataset`."""
    import datasets
    from pyarrow import parquet

    files = sorted(str(path) for path in (folder / "data").glob(f"{split}-*.parquet"))
    if not files:
        there = sorted(path.name.rsplit("-", 3)[0] for path in (folder / "data").glob("*.parquet"))
        known = f"it has {', '.join(there)}" if there else "it has no parquet files under data/"
        raise UsageError(f"{folder} is no data set with a split {split}: {known}")
    try:
        found = datasets.Dataset(parquet.read_table(files))
    except Exception as error:  # noqa: BLE001  a damaged file raises what its reader likes
        raise UsageError(f"{folder}, split {split}, can't be read: {_first_line(error)}") from None
    require_columns(found.column_names, str(folder), needed)
    return found


def require_columns(found: Sequence[str], where: str, needed: Sequence[str] = COLUMNS) -> None:
    """UsageError, one line, that names what is missing and what is there."""
    if missing := [column for column in needed if column not in found]:
        has = ", ".join(found) or "none"
        raise UsageError(f"{where} lacks the columns {', '.join(missing)} of a data set of rows; it has {has}")


def _rows(found: Any, folder: Path) -> Iterator[Row]:
    for number, data in enumerate(found):
        try:
            yield Row.model_validate({**{k: data[k] for k in COLUMNS}, "facts": json.loads(data["facts"])})
        except (ValidationError, TypeError, ValueError) as error:
            raise UsageError(f"{folder}, row {number}, is no row to train on: {_first_line(error)}") from None


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    import datasets
    from pyarrow import parquet

    columns = {name: [] for name in COLUMNS}
    for row in rows:
        data = row.model_dump(mode="json")
        data["facts"] = json.dumps(data["facts"], sort_keys=True)
        for name in COLUMNS:
            columns[name].append(data[name])
    made = datasets.Dataset.from_dict(columns, features=_features())
    schema = made.features.arrow_schema  # its metadata tell `datasets` the features
    parquet.write_table(made.data.table.replace_schema_metadata(schema.metadata), path)


def _features() -> Any:
    import datasets

    text = datasets.Value("string")
    turns = [{"role": text, "content": text}]
    columns: dict[str, Any] = dict.fromkeys(COLUMNS, text)
    columns |= {"prompt": turns, "completion": turns, "operators": [text], "schema_version": datasets.Value("int64")}
    return datasets.Features(columns)


def _report(curated: Curated) -> dict[str, Any]:
    leaks = [{"task_hash": f.task_hash, "rows": f.rows, **dataclasses.asdict(f.leak)} for f in curated.leaks]
    return {
        "schema_version": 1,
        "references": curated.references,
        "dropped": dict(curated.dropped),
        "leaks_by": dict(Counter(f.leak.by for f in curated.leaks)),
        "leaks": leaks,
    }


# ------------------------------------------------------------------------------------------------------------ the card
def card(curated: Curated, name: str, how: Mapping[str, str]) -> str:
    """The data set's card: YAML for the hub, then what a reader should know."""
    parts = [
        _front(curated, name),
        f"# {name}\n\nConversations about GPU kernels for PyTorch modules. The loss belongs on `completion` alone.",
        "\n".join(f"- {key}: {value}" for key, value in how.items()),
        _table("Classes", ("class", "rows", "share"), _class_rows(curated.rows)),
        _table("Splits", ("split", "rows", "tasks"), _split_rows(curated)),
        _table("Families", ("family", "rows", "share"), _share_rows(Counter(r.family for r in curated.rows))),
        _table("Sources and licences", ("source", "licence", "rows"), _source_rows(curated.rows)),
        _columns(),
        _decontamination(curated),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front(curated: Curated, name: str) -> str:
    licences = sorted({row.licence.lower() for row in curated.rows})
    files = "".join(f"  - split: {s.value}\n    path: data/{s.value}-*.parquet\n" for s in curated.splits)
    return (
        f"---\npretty_name: {json.dumps(name)}\nlicense: {licences[0] if len(licences) == 1 else 'other'}\n"
        f"task_categories:\n- text-generation\ntags:\n- code\n- cuda\n"
        f"size_categories:\n- {_size_class(len(curated.rows))}\n"
        f"configs:\n- config_name: default\n  data_files:\n{files}---"
    )


def _size_class(count: int) -> str:
    if count < 1000:
        return "n<1K"
    return next(word for most, word in ((1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e12, "n>100K")) if count < most)


def _class_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    counts = Counter(row.kind for row in rows)
    return [(kind.value, str(counts[kind]), f"{share:.1%}") for kind, share in shares(rows).items()]


def _split_rows(curated: Curated) -> list[tuple[str, ...]]:
    return [(s.value, str(len(rows)), str(len({r.task_hash for r in rows}))) for s, rows in curated.splits.items()]


def _share_rows(counts: Counter[str]) -> list[tuple[str, ...]]:
    total = counts.total()
    return [(_cell(name), str(count), f"{count / total:.1%}") for name, count in counts.most_common()]


def _source_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    counts = Counter((row.source, row.licence) for row in rows)
    return [(_cell(source), _cell(licence), str(count)) for (source, licence), count in counts.most_common()]


def _cell(text: str) -> str:
    """A model's or a licence's name within a table."""
    return " ".join(text.split()).replace("|", "/")[:80]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in rows)]
    return f"## {title}\n\n" + "\n".join(f"| {line} |" for line in lines)


def _columns() -> str:
    return (
        "## Columns\n\n"
        "`prompt` and `completion` are lists of `role` and `content`; `kind` is the class; `task_hash` the SHA-256 of "
        "the task; `family` and `operators` what it computes; `cluster` the structure of its answer; `source` and "
        "`licence` where the row is from; `facts` a JSON object of what was judged, measured or computed, with "
        "`program` (the hash of the verified program) and `verified_by` (what judged it)."
    )


def _decontamination(curated: Curated) -> str:
    by = Counter(found.leak.by for found in curated.leaks)
    found = ", ".join(f"{count} by {how}" for how, count in sorted(by.items())) or "none"
    lines = [
        f"- `{_cell(f.leak.reference)}` ({f.leak.by}: {_cell(f.leak.evidence)}), {f.rows} rows"
        for f in curated.leaks[:_CARD_LEAKS]
    ]
    return (
        f"## What was left out\n\n{_reasons(curated) or 'Nothing.'}\n\n"
        f"{curated.references} tasks of benchmarks were looked for; leaks found and dropped: {found}. "
        f"All are in `{REPORT}`.\n" + "\n".join(lines)
    ).rstrip()


def _reasons(curated: Curated) -> str:
    return "; ".join(f"{count} rows: {reason}" for reason, count in curated.dropped.most_common())


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
