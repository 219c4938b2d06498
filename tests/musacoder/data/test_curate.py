"""What is left to train on is verified, apart from the tests, no benchmark's task, and there once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
from support.mutation_specimens import SOFTMAX, TASK
from support.programs import gallery_programs

from mooreeval.errors import UsageError
from musacoder.data import author, splits
from musacoder.data.asking import Asking, row
from musacoder.data.curate import Curated, CurationConfig, curate
from musacoder.data.dataset import COLUMNS, load_split, read_dataset, write_dataset
from musacoder.data.records import Program, Row, RowKind, Split, Turn
from musacoder.prompts import PromptConfig

ASKING = Asking(PromptConfig(templates=Path("compact")))
NOTHING = CurationConfig(references=(), test_sets=False)
FUSED = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.tanh(x * y).sum(dim=1)


def get_inputs():
    return [torch.randn(64, 300), torch.randn(64, 300)]
"""


def program(task: str = TASK, code: str = SOFTMAX, **fields: Any) -> Program:
    known: dict[str, Any] = {"family": "softmax", "operators": ("softmax",), "source": "author", "status": "correct",
                             "licence": "Apache-2.0", "judged_by": "trusted batch"}  # fmt: skip
    return Program(task_code=task, candidate_code=code, **{**known, **fields})


def generation(made: Program, **facts: Any) -> Row:
    return row(RowKind.GENERATION, made, ASKING.first(made), ASKING.answer(made.candidate_code), facts)


def curated(programs: list[Program], config: CurationConfig = NOTHING) -> Curated:
    return curate([generation(p) for p in programs], programs, config)


def test_answers_that_nothing_verified_are_dropped_and_counted():
    unjudged, wrong = program(status=None, judged_by=None), program(status="incorrect", code=f"# wrong\n{SOFTMAX}")
    found = curated([unjudged, wrong, program(code=f"# right\n{SOFTMAX}")])
    assert len(found.rows) == 1 and found.dropped["its answer is not verified"] == 2


def test_a_row_of_an_unknown_program_is_dropped():
    assert curate([generation(program())], [], NOTHING).dropped == {"its program is not among the programs": 1}


def test_the_same_row_twice_is_one():
    made = program()
    found = curate([generation(made), generation(made)], [made], NOTHING)
    assert len(found.rows) == 1 and found.dropped == {"the same row twice": 1}


def test_near_duplicates_are_one_whatever_their_names_values_and_layout():
    other = SOFTMAX.replace("best", "greatest").replace("softmax<<<", "softmax <<<").replace("256", "128")
    other = other.replace("# if (i < n)", "# another remark")
    found = curated([program(), program(task=TASK.replace("333", "334"), code=other)])
    assert len(found.rows) == 1
    assert found.dropped == {"its answer differs from another's in names, values or layout alone": 1}


def test_answers_that_are_nearly_alike_are_one_and_others_are_not():
    nearly = SOFTMAX.replace("sum += expf(", "sum += 1.0f * expf(")
    assert curated(
        [program(), program(code=nearly)], CurationConfig(references=(), test_sets=False, similar=0.9)
    ).dropped == {"its answer is nearly another's": 1}
    assert (
        len(curated([program(), program(code=nearly)], CurationConfig(references=(), test_sets=False, similar=1)).rows)
        == 2
    )
    both = gallery_programs("row_softmax", "matmul")
    assert len(curated(both).rows) == 2


def test_the_same_fault_in_two_and_in_three_turns_is_two_rows():
    made = program()
    asked = ASKING.first(made)
    rows = [
        row(RowKind.REPAIR, made, (*asked[:-1], Turn(role="user", content=f"{turns}")), ASKING.answer(SOFTMAX),
            {"mutation": "guard_removed", "turns": turns})
        for turns in (2, 3)
    ]  # fmt: skip
    assert len(curate(rows, [made], NOTHING).rows) == 2
    again = rows[0].model_copy(update={"prompt": (Turn(role="user", content="in other words"),)})
    assert len(curate([*rows, again], [made], NOTHING).rows) == 2


def test_rows_get_the_cluster_of_their_answer():
    found = curated(gallery_programs("row_softmax", "matmul", "relu"))
    assert len({r.cluster for r in found.rows}) == 3 and all(r.cluster for r in found.rows)


def test_training_never_holds_what_a_test_split_computes():
    tested = program(task=FUSED, split=Split.UNSEEN_COMBO)
    same = program(task=FUSED.replace("x, y", "a, b").replace("x * y", "a * b").replace("300", "77"))
    other = program(task=FUSED.replace("torch.tanh", "torch.sigmoid"), code=SOFTMAX.replace("fmaxf", "fminf"))
    found = curated([tested, same, other])
    assert {r.task_hash for r in found.rows} == {tested.task_hash, other.task_hash}
    assert found.dropped == {"its task is one of a test split": 1}
    assert set(found.splits) == {Split.TRAIN, Split.UNSEEN_COMBO}


def test_the_authors_graphs_are_trained_on_only_where_their_split_says_so():
    made = [author.write(seed, Split.LONG_CHAIN) for seed in range(2)]
    trained = [author.write(seed, length=3) for seed in range(2)]
    verified = {"status": "correct", "judged_by": "trusted batch"}
    mislabelled = [p.model_copy(update={**verified, "split": Split.TRAIN}) for p in made]
    honest = [p.model_copy(update=verified) for p in trained]
    found = curated([*mislabelled, *honest], CurationConfig(references=()))
    assert {r.task_hash for r in found.rows} == {p.task_hash for p in honest}
    assert found.dropped == {"its graph is none to train on": 2}


@pytest.mark.slow
def test_a_task_that_computes_what_a_fixed_test_sets_does_is_not_trained_on():
    tested = next(p for p in author.test_set(Split.LONG_CHAIN))
    other = program(task=tested.task_code.replace("import torch.nn as nn", "import torch.nn as nn  # mine"))
    assert other.graph is None and other.task_hash not in splits.test_tasks()
    found = curated([other, program()], CurationConfig(references=()))
    assert [r.task_hash for r in found.rows] == [program().task_hash]
    assert found.dropped == {"its task is one of a test split": 1}


# -------------------------------------------------------------------------------------------------------------- leaks
def planted(tmp_path: Path) -> tuple[list[Program], CurationConfig]:
    """One clean program, and one leak of each kind of a benchmark of one task."""
    folder = tmp_path / "KernelBench"
    (folder / "level2").mkdir(parents=True)
    (folder / "level2" / "5_Gated_Tanh_RowSum.py").write_text(FUSED + LONG, encoding="utf-8")
    paraphrased = program(task=f'"""Row sum of a gated tanh."""\n{TASK}', code=SOFTMAX + "# name\n")
    renamed = program(task=(FUSED + LONG).replace("x, y", "p, q").replace("x * y", "p * q").replace("= x", "= p"),
                      code=SOFTMAX.replace("fmaxf", "fminf"))  # fmt: skip
    quoted = program(task=TASK.replace("333", "335"), source="teacher:m", code=SOFTMAX.replace("expf", "__expf"))
    clean = program(code=SOFTMAX.replace(">>= 1", "/= 2"))
    return [paraphrased, renamed, quoted, clean], CurationConfig(references=(str(folder),), test_sets=False)


LONG = """

class Unused(nn.Module):
    pass
"""


def test_a_planted_leak_of_each_kind_is_found_dropped_and_named(tmp_path: Path):
    programs, config = planted(tmp_path)
    paraphrased, renamed, quoted, clean = programs
    reference = FUSED.replace("torch.tanh(x * y).sum(dim=1)", "torch.tanh(x * y).add(torch.sigmoid(y)).mul(x).sum(1)")
    (tmp_path / "KernelBench" / "level2" / "6_Other.py").write_text(reference, encoding="utf-8")
    rows = [generation(p) for p in (paraphrased, renamed, clean)]
    words = f"Like this one:\n{reference}\n{ASKING.answer(quoted.candidate_code)}"
    rows.append(row(RowKind.GENERATION, quoted, ASKING.first(quoted), words, {}))
    found = curate(rows, programs, config)
    assert [r.task_hash for r in found.rows] == [clean.task_hash]
    by_task = {f.task_hash: f.leak.by for f in found.leaks}
    assert by_task == {paraphrased.task_hash: "name", renamed.task_hash: "signature", quoted.task_hash: "n-gram"}
    assert found.dropped.total() == 3 and found.references == 2


# ----------------------------------------------------------------------------------------------------------- data sets
@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Curated]:
    programs = gallery_programs("row_softmax", "matmul", "relu")
    programs.append(program(task=FUSED, split=Split.LONG_CHAIN, licence="MIT", source="teacher:a|b"))
    found = curated(programs)
    write_dataset(found, tmp_path / "rows", "Kernels", {"command": "musacoder synth"})
    return tmp_path / "rows", found


def test_a_data_set_is_read_back_as_it_was(written: tuple[Path, Curated]):
    folder, found = written
    assert read_dataset(folder) == found.splits[Split.TRAIN]
    assert read_dataset(folder, Split.LONG_CHAIN) == found.splits[Split.LONG_CHAIN]


def test_the_datasets_library_loads_the_folder(written: tuple[Path, Curated], tmp_path: Path):
    folder, _ = written
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {name: len(part) for name, part in loaded.items()} == {"train": 3, "long_chain": 1}
    first = loaded["train"][0]
    assert first["prompt"][-1]["role"] == "user" and json.loads(first["facts"])["verified_by"] == "simulator"


def test_the_card_counts_classes_families_licences_and_sources(written: tuple[Path, Curated]):
    text = (written[0] / "README.md").read_text(encoding="utf-8")
    assert text.startswith('---\npretty_name: "Kernels"\nlicense: other\n') and "split: long_chain" in text
    for line in (
        "| kernel_generation | 4 | 100.0% |",
        "| train | 3 | 3 |",
        "| softmax | 2 | 50.0% |",
        "| teacher:a/b | MIT | 1 |",
        "| gallery | Apache-2.0 | 3 |",
        "- command: musacoder synth",
    ):
        assert line in text


def test_writing_again_replaces_the_whole_folder(written: tuple[Path, Curated]):
    folder, found = written
    found.rows = [r for r in found.rows if r.split is Split.TRAIN]
    write_dataset(found, folder, "Kernels")
    assert sorted(p.name for p in (folder / "data").iterdir()) == ["train-00000-of-00001.parquet"]
    assert sorted(p.name for p in folder.parent.iterdir()) == ["rows"]


def test_a_folder_with_something_else_in_it_is_left_alone(written: tuple[Path, Curated], tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty and no data set"):
        write_dataset(written[1], tmp_path / "mine", "Kernels")
    assert (tmp_path / "mine" / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_nothing_is_not_written_and_the_reasons_are_told(tmp_path: Path):
    with pytest.raises(UsageError, match=r"nothing is left to write.*1 rows: its answer is not verified"):
        write_dataset(curated([program(status=None, judged_by=None)]), tmp_path / "rows", "Kernels")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"prompt": ["hello"], "text": ["x"]}, "lacks the columns completion, kind, "),
        ({name: ["x"] for name in COLUMNS}, "row 0, is no row to train on"),
    ],
)
def test_a_data_set_without_what_rows_need_is_one_clear_line(tmp_path: Path, columns: dict[str, Any], told: str):
    (tmp_path / "data").mkdir()
    datasets.Dataset.from_dict(columns).to_parquet(str(tmp_path / "data" / "train-00000-of-00001.parquet"))
    with pytest.raises(UsageError) as refused:
        read_dataset(tmp_path)
    assert told in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_split_and_a_damaged_file_are_one_clear_line(written: tuple[Path, Curated]):
    folder, _ = written
    with pytest.raises(UsageError, match="no data set with a split unseen_op: it has long_chain, train"):
        load_split(folder, Split.UNSEEN_OP)
    (folder / "data" / "train-00000-of-00001.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(UsageError) as refused:
        load_split(folder)
    assert "can't be read" in str(refused.value) and "\n" not in str(refused.value)
