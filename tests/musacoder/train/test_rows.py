"""Rows are read as they were written, held-out ones never; what is wrong with them is one line."""

import json

import pytest
from support.training_rows import gallery_rows, write_rows

from mooreeval.errors import UsageError
from musacoder.data.records import Split
from musacoder.train.rows import NEEDED, content_of, read_rows


def test_rows_of_parquet_and_of_json_lines_are_the_same(tmp_path):
    rows = gallery_rows(5)
    (tmp_path / "rows.jsonl").write_text("".join(r.model_dump_json() + "\n" for r in rows))
    lines, parquet = read_rows([str(tmp_path / "rows.jsonl")]), read_rows([str(write_rows(tmp_path / "p", rows))])
    assert lines == parquet
    assert [p[-1].content for p in lines.prompts] == [r.prompt[-1].content for r in rows]
    assert [c.content for c in lines.completions] == [r.completion[0].content for r in rows]
    assert lines.kinds == [r.kind for r in rows]
    assert lines.families == [r.family for r in rows]


def test_rows_of_other_splits_are_never_trained_on(tmp_path):
    mixed = [*gallery_rows(3), *gallery_rows(2, split=Split.UNSEEN_COMBO)]
    found = read_rows([str(write_rows(tmp_path, mixed))])
    assert (len(found), found.held_out) == (3, 2)
    with pytest.raises(UsageError, match="no rows to train on, 4 of other splits"):
        read_rows([str(write_rows(tmp_path / "held", gallery_rows(4, split=Split.LONG_CHAIN)))])


@pytest.mark.parametrize("column", NEEDED)
def test_a_missing_column_is_named(tmp_path, column):
    import pyarrow
    import pyarrow.parquet

    row = {k: v for k, v in json.loads(gallery_rows(1)[0].model_dump_json(exclude={"facts"})).items() if k != column}
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    for name in ("a.parquet", "a.jsonl"):
        with pytest.raises(UsageError, match=f"has no column {column}: rows need prompt, completion, kind, family"):
            read_rows([str(tmp_path / name)])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.jsonl", "{", "line 1 is no JSON"),
        ("a.jsonl", "[]", "line 1 is no row"),
        ("a.jsonl", '{"prompt": 1, "completion": [], "kind": "k", "family": "f"}', "prompt is no list of turns"),
        ("a.jsonl", '{"prompt": [], "completion": [], "kind": "k", "family": "f"}', "one assistant's turn"),
        ("a.parquet", "no parquet", "is no parquet file that can be read"),
    ],
)
def test_what_is_no_row_is_one_line_that_names_the_place(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=words) as error:
        read_rows([str(tmp_path / name)])
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_nothing_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="name the rows to train on"):
        read_rows([])
    with pytest.raises(UsageError, match="no such file or folder"):
        read_rows([str(tmp_path / "missing")])
    with pytest.raises(UsageError, match="holds no parquet file"):
        read_rows([str(tmp_path)])


def test_the_content_of_data_is_its_bytes(tmp_path):
    first, second = (str(write_rows(tmp_path / n, gallery_rows(3))) for n in "ab")
    assert content_of([first]) == content_of([second])
    write_rows(tmp_path / "b", gallery_rows(4))
    assert content_of([first]) != content_of([second])
