"""Rows to train on, made of the gallery's tasks and candidates: real code, of two kinds of rows."""

from __future__ import annotations

from pathlib import Path

from mooreeval import gallery
from mooreeval.verdict import Status
from musacoder.data.records import Row, RowKind, Split, Turn

ASK = "\nModelNew in CUDA C++, one ```python fence:"


def gallery_rows(count: int, *, split: Split = Split.TRAIN) -> list[Row]:
    """Rows of generation, every third one a repair with an earlier answer in its prompt."""
    entries = [e for e in gallery.load() if e.expected.status is Status.CORRECT]
    return [_row(entries[i % len(entries)], i, split) for i in range(count)]


def write_rows(folder: Path, rows: list[Row]) -> Path:
    """The folder, with one parquet file as `datasets` writes it."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    table = pyarrow.Table.from_pylist([r.model_dump(mode="json", exclude={"facts"}) for r in rows])
    pyarrow.parquet.write_table(table, folder / "train-00000-of-00001.parquet")
    return folder


def _row(entry: gallery.GalleryEntry, number: int, split: Split) -> Row:
    task = entry.task_path.read_text(encoding="utf-8")
    code = entry.candidate_path.read_text(encoding="utf-8")
    answer = Turn(role="assistant", content=f"```python\n# {number}\n{code}```")
    first = Turn(role="user", content=f"```python\n{task}```{ASK}")
    repair = number % 3 == 2
    wrong = Turn(role="assistant", content="```python\nclass ModelNew:\n    pass\n```")
    said = Turn(role="user", content="Illegal: no kernel ran.\nThe whole file again, one ```python fence:")
    return Row(
        kind=RowKind.REPAIR if repair else RowKind.GENERATION,
        prompt=(first, wrong, said) if repair else (first,),
        completion=(answer,),
        task_hash=entry.task_name,
        family="reduction" if number % 2 else "elementwise",
        split=split,
        source="gallery",
        licence="Apache-2.0",
    )
