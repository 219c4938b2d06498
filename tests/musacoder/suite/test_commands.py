"""`bundled:NAME` and `bundled:` on the command line."""

from __future__ import annotations

from pathlib import Path

from support.cli import candidate, musacoder

from mooreeval.task import load_task
from musacoder.cli_inputs import load_tasks_named
from musacoder.suite import bundled_tasks


def test_verify_takes_a_task_of_the_suite_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(candidate("verdict: correct"))
    done = musacoder("verify", "bundled:rms_norm", "answer.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_one_line_with_names_like_it(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(candidate("verdict: correct"))
    done = musacoder("verify", "bundled:rms_norn", "answer.py", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no task 'rms_norn'" in done.stderr
    assert "rms_norm" in done.stderr


def test_the_whole_suite_has_one_name() -> None:
    tasks = bundled_tasks()
    assert load_tasks_named("bundled:") == [load_task(task.path) for task in tasks]
    assert load_tasks_named(f"bundled:{tasks[0].name}") == [load_task(tasks[0].path)]
