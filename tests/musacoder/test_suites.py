"""A suite is what its source says, and the same tasks are chosen wherever it is asked for again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import TASK, candidate, environment

from mooreeval import gallery
from mooreeval.errors import TaskError, UsageError
from musacoder.data import author
from musacoder.data.records import Split
from musacoder.data.splits import hashes
from musacoder.suite import bundled_tasks
from musacoder.suites import SuiteConfig, load_suite

NAMES = {1: ["1_Square_matmul", "2_Standard_matmul", "10_Conv", "19_ReLU"], 2: ["1_Conv_ReLU", "2_Gemm_GELU"]}


@pytest.fixture
def checkout(tmp_path) -> Path:
    """Laid out as KernelBench is, with programs around the tasks."""
    for level, names in NAMES.items():
        folder = tmp_path / "checkout" / "KernelBench" / f"level{level}"
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}.py").write_text(f"# {level} {name}\n{TASK}")
    (tmp_path / "checkout" / "src").mkdir()
    (tmp_path / "checkout" / "src" / "eval.py").write_text("def main(): ...\n")
    return tmp_path / "checkout"


def ids(**fields: object) -> list[str]:
    return [t.task.task_id for t in load_suite(SuiteConfig.model_validate(fields)).tasks]


def test_the_gallery_is_a_suite():
    suite = load_suite(SuiteConfig(source="gallery"))
    names = {entry.task_name for entry in gallery.load()}
    assert {t.task.task_id for t in suite.tasks} == {f"gallery:{name}" for name in names}
    assert suite.left_out == ()


def test_the_bundled_suite_is_told_by_level():
    suite = load_suite(SuiteConfig(source="bundled"))
    assert [t.task.task_id for t in suite.tasks] == sorted(f"level{b.level}/{b.name}" for b in bundled_tasks())
    assert all(t.task.task_id.startswith(f"level{t.level}/") for t in suite.tasks)


def test_a_fixed_test_set_is_a_suite_whose_levels_are_operators():
    suite = load_suite(SuiteConfig(source="split:long_chain"))
    assert {t.task.task_hash for t in suite.tasks} == set(hashes()[Split.LONG_CHAIN])
    assert {t.level for t in suite.tasks} == {"6", "7", "8"}
    assert ids(source="split:unseen_combo", levels=["2"], draw=2)[0].startswith("unseen_combo/2-")
    with pytest.raises(UsageError, match="split:train is no test set; there are split:unseen_op, "):
        load_suite(SuiteConfig(source="split:train"))


def test_the_training_tasks_of_programs_are_a_suite(tmp_path):
    programs = [author.write(seed, split) for split in (Split.TRAIN, Split.UNSEEN_OP) for seed in (1, 2)]
    again = author.rewrite(programs[0], seed=1)
    path = tmp_path / "programs.jsonl"
    path.write_text("".join(p.model_dump_json() + "\n" for p in (*programs, again)))
    suite = load_suite(SuiteConfig(source=f"programs:{path}"))
    assert {t.task.task_hash for t in suite.tasks} == {p.task_hash for p in programs[:2]}
    path.write_text("".join(p.model_dump_json() + "\n" for p in programs[2:]))
    with pytest.raises(UsageError, match="holds no program of the training split"):
        load_suite(SuiteConfig(source=f"programs:{path}"))


def test_a_checkout_of_kernelbench_gives_its_tasks_in_natural_order_and_none_of_its_programs(checkout):
    suite = load_suite(SuiteConfig(source=str(checkout)))
    assert [t.task.task_id for t in suite.tasks] == [f"level{n}/{name}" for n in (1, 2) for name in NAMES[n]]
    assert [t.level for t in suite.tasks] == ["1"] * 4 + ["2"] * 2
    assert suite.left_out == ()
    assert ids(source=str(checkout / "KernelBench" / "level2")) == ["level2/1_Conv_ReLU", "level2/2_Gemm_GELU"]


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ({"levels": 2}, ["level2/1_Conv_ReLU", "level2/2_Gemm_GELU"]),
        ({"ids": 19}, ["level1/19_ReLU"]),
        ({"ids": [1], "levels": ["2"]}, ["level2/1_Conv_ReLU"]),
        ({"ids": ["level1/2", "level1/19_ReLU"]}, ["level1/2_Standard_matmul", "level1/19_ReLU"]),
        ({"ids": "2_Gemm_GELU"}, ["level2/2_Gemm_GELU"]),
        ({"names": "*MATMUL*"}, ["level1/1_Square_matmul", "level1/2_Standard_matmul"]),
        ({"names": ["*conv*", "level2/*"], "levels": "1"}, ["level1/10_Conv"]),
    ],
)
def test_tasks_are_chosen_by_level_id_and_name(checkout, choice, found):
    assert ids(source=str(checkout), **choice) == found


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"levels": 7}, "no level 7; it has e.g. 1, 2"),
        ({"ids": ["19", "99", "relu"]}, "no task 99, relu; it has e.g. level1/1_Square_matmul"),
        ({"names": "*softmax*"}, "none of the 6 tasks"),
        ({"ids": 19, "levels": 2}, "none of the 6 tasks"),
        ({"draw": 7}, "7 tasks are to be drawn, but only 6"),
        ({"source": "no/such/folder"}, "no such file or folder"),
        ({"source": None}, "name the suite: gallery, bundled"),
    ],
)
def test_a_choice_that_is_not_there_is_one_clear_line(checkout, choice, told):
    with pytest.raises(UsageError, match=told) as refused:
        ids(**{"source": str(checkout), **choice})
    assert "\n" not in str(refused.value)


def test_a_draw_depends_on_its_seed_and_the_ids_alone(checkout):
    first = ids(source=str(checkout), draw=3)
    assert len(first) == 3
    assert first == ids(source=str(checkout), draw=3)
    assert set(ids(source=str(checkout), draw=2)) < set(first)
    assert {tuple(ids(source=str(checkout), draw=3, seed=seed)) for seed in range(8)} != {tuple(first)}
    copy = checkout.parent / "tasks.jsonl"  # the same tasks in another order, from another kind of source
    rows = [(f"level{n}/{name}", n) for n in (2, 1) for name in reversed(NAMES[n])]
    copy.write_text("".join(json.dumps({"task_id": i, "level": n, "code": TASK}) + "\n" for i, n in rows))
    assert ids(source=str(copy), draw=3) == first


@pytest.fixture
def with_level_4(checkout) -> Path:
    for name in ("1_opt", "19_gpt2"):
        file = checkout / "KernelBench" / "level4" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# 4 {name}\n{TASK}")
    return checkout


USUAL = [f"level{level}/{name}" for level, names in NAMES.items() for name in names]


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ({}, USUAL),
        ({"levels": [4]}, ["level4/1_opt", "level4/19_gpt2"]),
        ({"levels": [2, 4], "ids": [1]}, ["level2/1_Conv_ReLU", "level4/1_opt"]),
        ({"ids": [19]}, ["level1/19_ReLU"]),
        ({"ids": ["19_gpt2", "level1/19"]}, ["level1/19_ReLU", "level4/19_gpt2"]),
        ({"names": ["*gpt*"]}, ["level4/19_gpt2"]),
    ],
)
def test_of_kernelbench_level_4_is_taken_where_it_is_asked_for(with_level_4, choice, found):
    assert ids(source=str(with_level_4), **choice) == found


def test_that_level_4_is_left_out_is_one_line(with_level_4, tmp_path):
    told = ("KernelBench's level 4 (2 tasks) is left out, as in its paper: --level 4 takes it",)
    for source in (with_level_4, with_level_4 / "KernelBench"):
        assert load_suite(SuiteConfig(source=str(source))).left_out == told
    rows = [{"task_id": f"{level}", "level": level, "code": TASK} for level in (1, 4)]
    (tmp_path / "KernelBench.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load_suite(SuiteConfig(source=str(tmp_path / "KernelBench.jsonl"))).left_out
    (tmp_path / "other.jsonl").write_text((tmp_path / "KernelBench.jsonl").read_text())
    assert ids(source=str(tmp_path / "other.jsonl")) == ["1", "4"]  # another suite's levels mean something else


def test_files_that_are_no_tasks_are_named_and_left_out(tmp_path):
    (tmp_path / "good.py").write_text(TASK)
    (tmp_path / "answer.py").write_text(candidate("verdict: correct"))
    (tmp_path / "broken.py").write_text("def (\n")
    (tmp_path / "bytes.py").write_bytes(b"\x7fELF\x00\x01")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "README.md").write_text("no Python at all")
    suite = load_suite(SuiteConfig(source=str(tmp_path)))
    assert [t.task.task_id for t in suite.tasks] == ["good"]
    told = "\n".join(suite.left_out)
    assert [line.split(" is left out: ")[0].rpartition("/")[2] for line in suite.left_out] == [
        "answer.py",
        "broken.py",
        "bytes.py",
        "empty.py",
    ]
    for words in ("defines no Model", "not valid Python", "not text", "it is empty"):
        assert words in told
    assert told.count(str(tmp_path)) == 4  # each once


def test_a_folder_with_no_task_at_all_says_what_it_has(tmp_path):
    (tmp_path / "answer.py").write_text(candidate("verdict: correct"))
    with pytest.raises(UsageError, match=r"no tasks in .*; 1 file is no task: .*answer\.py is left out"):
        ids(source=str(tmp_path))
    for number in range(6):
        (tmp_path / f"empty{number}.py").write_text("")
    with pytest.raises(UsageError) as refused:
        ids(source=str(tmp_path))
    told = str(refused.value)
    assert "; 7 files are no tasks: " in told
    assert told.endswith("; and 2 more")
    assert told.count(" is left out: ") == 5
    assert "\n" not in told


def test_a_link_that_leads_nowhere_and_a_pipe_are_left_out_as_other_files_are(tmp_path):
    (tmp_path / "good.py").write_text(TASK)
    (tmp_path / "link.py").symlink_to("nowhere.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    os.mkfifo(tmp_path / "pipe.py")
    suite = load_suite(SuiteConfig(source=str(tmp_path)))
    assert [t.task.task_id for t in suite.tasks] == ["good"]
    assert [line.removeprefix(f"{tmp_path}/") for line in suite.left_out] == [
        "link.py is left out: it is a link that leads nowhere",
        "loop.py is left out: Too many levels of symbolic links",
        "pipe.py is left out: it is not a regular file",
    ]
    (tmp_path / "good.py").unlink()
    with pytest.raises(UsageError, match=r"no tasks in .*3 files are no tasks: .*link\.py.*loop\.py.*pipe\.py"):
        ids(source=str(tmp_path))


@pytest.mark.parametrize("source", ["./owner/name", "owner/name/", "/owner/name", "here/name"])
def test_a_path_that_is_not_there_is_not_looked_for_on_the_hub(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.setattr("mooreeval.task_sources.import_module", lambda name: pytest.fail(f"{name} is imported"))
    with pytest.raises(UsageError, match=f"^no such file or folder: {source} "):
        ids(source=source)


def test_two_tasks_of_one_name_are_refused(tmp_path):
    rows = [{"task_id": "a", "code": TASK}] * 2
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(TaskError, match="two tasks are named a"):
        ids(source=str(tmp_path / "tasks.jsonl"))


def test_a_parquet_file_of_kernelbenchs_columns_is_a_suite(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    columns = {"problem_id": [19, 3], "name": ["19_ReLU", "3_Max"], "level": [1, 2], "code": [TASK, TASK]}
    parquet.write_table(arrow.table(columns), tmp_path / "tasks.parquet")
    assert ids(source=str(tmp_path / "tasks.parquet")) == ["level1/19_ReLU", "level2/3_Max"]
    assert ids(source=str(tmp_path / "tasks.parquet"), levels=[2]) == ["level2/3_Max"]


@pytest.mark.parametrize("fields", [{"draw": 0}, {"ids": [" "]}, {"levels": [True]}, {"unheard": 1}, {"seed": -1}])
def test_a_choice_that_means_nothing_is_refused(fields):
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's own
        SuiteConfig.model_validate(fields)


def offline(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command where nothing answers for the hub, whose cache is in `folder`.

    It ends before the hub's libraries by themselves would have done with looking, which takes them 26 to 51 seconds.
    """
    env = environment(HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(folder / "home"))
    command = [sys.executable, "-m", "musacoder", "bench", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=25, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--suite", "no/such", "--model", "scripted:gallery"),
            "no/such: no such file, the Hugging Face hub is out of reach, and its cache has no such data set",
        ),
        (
            ("--suite", "gallery", "--model", "hf:no/such"),
            "no tokenizer at no/such: no such folder, the Hugging Face hub is out of reach",
        ),
    ],
)
def test_what_only_the_hub_could_have_is_one_line_and_not_waited_for(tmp_path, arguments, told):
    pytest.importorskip("datasets")
    done = offline(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"musacoder: {told}")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["snapshot", "prepared"])
def test_a_data_set_in_the_hubs_cache_is_read_where_the_hub_is_out_of_reach(tmp_path, place):
    datasets = pytest.importorskip("datasets")
    rows = tmp_path / "train.jsonl"
    rows.write_text(json.dumps({"task_id": "a", "code": TASK}) + "\n")
    cache = tmp_path / "home" / "datasets"
    if place == "snapshot":
        (folder := tmp_path / "home/hub/datasets--owner--some/snapshots" / ("0" * 40)).mkdir(parents=True)
        (folder.parents[1] / "refs").mkdir()
        (folder.parents[1] / "refs/main").write_text(40 * "0")
        rows.rename(folder / "train.jsonl")
    else:
        (tmp_path / "some").mkdir()
        rows.rename(tmp_path / "some" / "train.jsonl")
        datasets.load_dataset(str(tmp_path / "some"), cache_dir=str(cache))
        (cache / "some").rename(cache / "owner___some")
    done = offline(tmp_path, "--suite", "owner/some", "--id", "b", "--model", "scripted:gallery")
    assert done.stderr == "musacoder: the suite has no task b; it has e.g. a\n"
