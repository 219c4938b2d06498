"""Reading tasks, and refusing what is none with one clear line. Nothing of a task is ever executed here."""

import json
from pathlib import Path

import pytest

from mooreeval.errors import TaskError, UsageError
from mooreeval.task import Task, load_task, make_task
from mooreeval.task_sources import load_tasks

CODE = "class Model:\n    pass\n\ndef get_inputs():\n    return []\n\ndef get_init_inputs():\n    return []\n"
KERNELBENCH = Path(__file__).parents[2] / ".data/kernelbench/KernelBench"


def tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CODE)
    return root


def one_line(error: pytest.ExceptionInfo[Exception]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_task_is_its_code_whatever_its_line_ends() -> None:
    unix, windows = make_task("a", CODE), make_task("b", "\ufeff" + CODE.replace("\n", "\r\n"))
    assert unix.task_hash == windows.task_hash
    assert unix.code == windows.code
    assert unix.task_hash != make_task("a", CODE + "x = 1\n").task_hash


def test_init_inputs_are_optional() -> None:
    assert make_task("a", CODE).has_init_inputs
    assert not make_task("a", CODE.replace("get_init_inputs", "other")).has_init_inputs


def test_names_may_be_bound_in_any_ordinary_way() -> None:
    code = "from nets import Net as Model\ntry:\n    get_inputs = lambda: []\nexcept ImportError:\n    pass\n"
    assert not make_task("a", code).has_init_inputs


def test_code_is_never_executed() -> None:
    assert make_task("a", "raise SystemExit('executed')\n" + CODE).task_id == "a"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("", "empty"),
        ("def f(:\n", "line 1"),
        ("x = 1\0", "not valid Python"),
        ("(" * 5000, "not valid Python"),
        ("-" * 200_000 + "1", "not valid Python"),
        (CODE.replace("class Model", "class Net"), "no Model"),
        (CODE.replace("get_inputs", "make"), "no get_inputs"),
        ("class ModelNew:\n    pass\n", "candidate"),
        ("x" * 2_000_000, "longer"),
    ],
)
def test_a_bad_task_is_refused_with_its_name_and_the_fault(code: str, words: str) -> None:
    with pytest.raises(TaskError) as error:
        make_task("some/task", code, source="there.py")
    assert words in one_line(error)
    assert "some/task" in one_line(error)
    assert "there.py" in one_line(error)


def test_a_file_in_a_level_folder_is_named_after_both(tmp_path: Path) -> None:
    tree(tmp_path, "level2/7_Net.py", "plain.py")
    task = load_task(tmp_path / "level2/7_Net.py")
    assert (task.task_id, task.level) == ("level2/7_Net", 2)
    plain = load_task(tmp_path / "plain.py")
    assert (plain.task_id, plain.level) == ("plain", None)


@pytest.mark.parametrize("name", ["missing.py", "folder", "nul\0.py"])
def test_no_such_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError) as error:
        load_task(f"{tmp_path}/{name}")
    one_line(error)


@pytest.mark.parametrize("data", [b"\x7fELF\0\0\0", b"\xff\xfe\0", bytes(range(128, 256)) * 10, b"#" * 3_000_000])
def test_a_file_that_is_no_text_is_a_bad_task(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.py").write_bytes(data)
    with pytest.raises(TaskError) as error:
        load_task(tmp_path / "a.py")
    one_line(error)


def test_a_folder_tree_is_read_in_natural_order(tmp_path: Path) -> None:
    tree(tmp_path, "level1/10_b.py", "level1/2_a.py", "level2/1_c.py", "level1/__init__.py", ".git/hook.py")
    tasks = load_tasks(tmp_path)
    assert [task.task_id for task in tasks] == ["level1/2_a", "level1/10_b", "level2/1_c"]
    assert [task.task_id for task in load_tasks(tmp_path / "level1")] == ["level1/2_a", "level1/10_b"]
    assert [task.task_id for task in load_tasks(tmp_path, levels=[2])] == ["level2/1_c"]
    assert [task.task_id for task in load_tasks(tmp_path, ids=["level1/10_b"])] == ["level1/10_b"]


def test_what_is_asked_for_and_not_there_is_said(tmp_path: Path) -> None:
    tree(tmp_path, "level1/1_a.py")
    with pytest.raises(UsageError, match="level9/x"):
        load_tasks(tmp_path, ids=["level9/x"])
    with pytest.raises(UsageError, match="level"):
        load_tasks(tmp_path, levels=[4])
    with pytest.raises(UsageError, match="no tasks"):
        load_tasks(tree(tmp_path / "empty", "level1/_x.py"))
    with pytest.raises(UsageError, match="no such file or folder"):
        load_tasks(tmp_path / "nothing")
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(UsageError, match=r"not \.csv"):
        load_tasks(tmp_path / "a.csv")


def as_tuples(tasks: list[Task]) -> list[tuple[str, int | None, str]]:
    return [(task.task_id, task.level, task.code) for task in tasks]


OURS = [{"task_id": "x/1", "level": 1, "code": CODE}, {"task_id": "x/2", "level": None, "code": CODE}]
THEIRS = [
    {"problem_id": 19, "name": "19_ReLU", "level": 1, "code": CODE},
    {"problem_id": 3, "name": "B", "level": 2, "code": CODE},
]


def test_rows_have_our_columns_or_those_of_kernelbench(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    ours.write_text("\n".join(map(json.dumps, OURS)) + "\n\n")
    theirs.write_text("\n".join(map(json.dumps, THEIRS)))
    assert as_tuples(load_tasks(ours)) == [("x/1", 1, CODE), ("x/2", None, CODE)]
    assert as_tuples(load_tasks(theirs)) == [("level1/19_ReLU", 1, CODE), ("level2/3_B", 2, CODE)]


def test_parquet_rows_and_saved_data_sets_are_the_same_tasks(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(THEIRS)
    data.to_parquet(str(tmp_path / "rows.parquet"))
    data.save_to_disk(str(tmp_path / "one"))
    splits = datasets.DatasetDict({"level_1": data.select([0]).remove_columns("level"), "level_2": data.select([1])})
    splits.save_to_disk(str(tmp_path / "split"))
    expected = [("level1/19_ReLU", 1, CODE), ("level2/3_B", 2, CODE)]
    for name in ("rows.parquet", "one", "split"):
        assert as_tuples(load_tasks(tmp_path / name)) == expected


def test_a_folder_laid_out_as_on_the_hub_is_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    hub, lines, broken = tmp_path / "hub", tmp_path / "lines", tmp_path / "broken"
    for folder in (hub / "data", lines, broken):
        folder.mkdir(parents=True)
    data = datasets.Dataset.from_list(THEIRS)
    data.select([0]).remove_columns("level").to_parquet(str(hub / "data" / "level_1-00000-of-00001.parquet"))
    data.select([1]).remove_columns("level").to_parquet(str(hub / "data" / "level_2-00000-of-00001.parquet"))
    (hub / "README.md").write_text("a card")
    (lines / "train.jsonl").write_text("\n".join(map(json.dumps, OURS)))
    (broken / "train.parquet").write_text("no parquet")
    assert as_tuples(load_tasks(hub)) == [("level1/19_ReLU", 1, CODE), ("level2/3_B", 2, CODE)]
    assert as_tuples(load_tasks(lines)) == [("x/1", 1, CODE), ("x/2", None, CODE)]
    with pytest.raises(UsageError, match="not a readable data set"):
        load_tasks(broken)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "not valid JSON"),
        ("[1]", "an object"),
        ('{"task_id": "a"}', "`code`"),
        ('{"code": "x = 1"}', "`task_id`"),
        ('{"task_id": [], "code": "x"}', "`task_id`"),
        ('{"task_id": "a", "level": "easy", "code": "x"}', "`level`"),
        ('{"task_id": "a", "code": "x = 1"}', "no Model"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, row: str, words: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(OURS[0]) + "\n" + row + "\n")
    with pytest.raises(TaskError) as error:
        load_tasks(path)
    assert words in one_line(error)
    assert f"{path}, line 2" in one_line(error)


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(OURS[0])}\n{json.dumps(OURS[0])}\n")
    with pytest.raises(TaskError, match=r"line 1 and .*line 2"):
        load_tasks(path)


def test_a_broken_parquet_file_is_a_usage_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError) as error:
        load_tasks(tmp_path / "rows.parquet")
    one_line(error)


def test_a_missing_package_names_the_extra_that_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(UsageError, match=r"musacoder\[data\]"):
        load_tasks("owner/some-data")


@pytest.mark.skipif(not KERNELBENCH.is_dir(), reason="KernelBench is not here")
def test_every_task_of_kernelbench_is_read() -> None:
    tasks = load_tasks(KERNELBENCH)
    assert [sum(task.level == level for task in tasks) for level in (1, 2, 3, 4)] == [100, 100, 50, 20]
    assert tasks[0].task_id.startswith("level1/1_")
