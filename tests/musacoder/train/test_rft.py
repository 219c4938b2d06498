"""`musacoder rft` as a shell sees it: a run folder, rows to train on, and a run that goes on after a crash."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from support.cli import SCRIPTED, environment, musacoder
from support.programs import gallery_programs
from support.rft_work import save_work
from support.scripted_cli import ScriptedJudge

from mooreeval.render import strict_json
from musacoder import cli
from musacoder.data.io import read_rows
from musacoder.data.records import Row, Split
from musacoder.runlog import RunFolder
from musacoder.train.pool import read_pool

COMMAND = ("rft", "--suite", "tasks", "--model", "scripted:script.json", "--samples", "6", "--run", "first")


class QuietJudge(ScriptedJudge):
    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def work(tmp_path) -> Path:
    return save_work(tmp_path)


@pytest.fixture
def rft(work, monkeypatch, capfd):
    """The command in this process, in `work`: nothing but the judge is scripted."""
    monkeypatch.chdir(work)
    monkeypatch.setattr("musacoder.train.rft.LocalVerifier", QuietJudge)

    def run(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = cli.run(list(arguments))
        return code, *capfd.readouterr()

    return run


def _rows(work: Path, name: str = "rows", run: str = "first") -> list[Row]:
    lines = (work / "runs" / run / name / "rows.jsonl").read_text().splitlines()
    return [Row.model_validate_json(line) for line in lines]


def test_rows_are_visits_of_tasks_with_right_answers_whose_targets_change(rft, work):
    code, out, err = rft(*COMMAND, "--epochs", "6", "--per-cluster", "1")
    assert code == 0, err
    rows, fixed = _rows(work), _rows(work, "rows_best_of_one")
    tasks = {row.task_hash for row in rows}
    assert Counter(row.task_hash for row in rows) == Counter(row.task_hash for row in fixed) == dict.fromkeys(tasks, 6)
    assert all(len({r.row_hash for r in fixed if r.task_hash == task}) == 1 for task in tasks)
    assert any(len({r.cluster for r in rows if r.task_hash == task}) > 1 for task in tasks)
    assert all("# verdict: correct" in row.completion[0].content for row in (*rows, *fixed))
    assert all(row.split is Split.TRAIN and row.source == "policy:scripted:script.json" for row in rows)
    assert "3 tasks, 6 answers each" in out
    assert list(read_rows(work / "runs" / "first" / "rows" / "rows.jsonl"))


def test_failures_stay_in_the_run_folder(rft, work):
    assert rft(*COMMAND)[0] == 0
    run = RunFolder.open(work / "runs" / "first")
    verdicts = Counter(v.verdict.status.value for v in run.verdicts() if v.verdict)
    assert run.manifest.kind == "rft"
    assert verdicts["incorrect"] + verdicts["runtime_error"] > 0
    assert verdicts["correct"] == len(list(read_pool(work / "runs" / "first" / "pool.jsonl")))


def test_figures_are_strict_json_and_in_the_run_folder(rft, work):
    code, out, _ = rft(*COMMAND, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["answers"]["tasks"] == 3
    assert told["rows_best_of_one"]["targets"]["clusters"] == 1
    assert told["rows"]["targets"]["clusters"] == told["answers"]["clusters"] > 1
    (noted,) = RunFolder.open(work / "runs" / "first").metrics()
    assert noted["rft"]["rows"] == told["rows"]


def test_a_finished_run_that_goes_on_writes_the_same_rows(rft, work):
    rft(*COMMAND)
    before = _rows(work), _rows(work, "rows_best_of_one")
    assert rft("rft", "--run", "first")[0] == 0
    assert (_rows(work), _rows(work, "rows_best_of_one")) == before


def test_going_on_with_another_configuration_is_refused_with_its_keys(rft):
    rft(*COMMAND)
    code, _, err = rft("rft", "--run", "first", "--per-cluster", "5", "--temperature", "0.3")
    assert code == 2
    assert "pool.per_cluster: 2 -> 5" in err
    assert "sampling.temperature: 1.0 -> 0.3" in err


def test_tasks_of_programs_are_those_of_the_training_split(rft, work):
    programs = gallery_programs("relu", "matmul", "row_softmax")
    programs[1] = programs[1].model_copy(update={"split": Split.UNSEEN_OP})
    (work / "programs.jsonl").write_text("".join(strict_json(p) + "\n" for p in programs))
    command = ("rft", "--programs", "programs.jsonl", "--model", "scripted:script.json", "--samples", "4", "--run", "a")
    code, _, err = rft(*command)
    assert code == 0, err
    rows = _rows(work, run="a")
    assert {row.task_hash for row in rows} == {programs[0].task_hash, programs[2].task_hash}
    assert {(row.family, row.operators, row.licence) for row in rows} == {
        ("matmul", ("matmul",), "Apache-2.0"),
        ("softmax", ("row_softmax",), "Apache-2.0"),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rft", "--suite", "tasks", "--run", "x"), "name the model"),
        ((*COMMAND, "--set", "verify.protocol=kernelbench"), "rft judges by protocol ours"),
        ((*COMMAND, "--programs", "script.json"), "name programs or a suite, not both"),
        (("rft", "--programs", "none.jsonl", "--model", "scripted:script.json"), "none.jsonl: no such file"),
        (("rft", "--model", "scripted:script.json"), "name the suite"),
    ],
)
def test_bad_usage_is_one_line_and_begins_no_run(rft, work, arguments, said):
    code, out, err = rft(*arguments)
    assert code == 2
    assert said in err
    assert (out, len(err.splitlines())) == ("", 1)
    assert not (work / "runs" / "first").exists()


def test_without_a_right_answer_there_is_nothing_to_train_on(rft, work):
    script = json.loads((work / "script.json").read_text())
    wrong = {name: [a.replace("verdict: correct", "verdict: illegal") for a in of] for name, of in script.items()}
    (work / "script.json").write_text(json.dumps(wrong))
    code, _, err = rft(*COMMAND)
    assert code == 3
    assert "nothing to train on" in err
    assert _rows(work) == []


@pytest.mark.slow
def test_killed_at_random_points_a_run_ends_with_exactly_the_same_rows(work):
    assert musacoder(*COMMAND[:-1], "whole", cwd=work).returncode == 0
    lucky, verdicts = random.Random(7), work / "runs" / "first" / "verdicts.jsonl"
    for wanted in (1, 7, 14):
        process = subprocess.Popen(
            [sys.executable, str(SCRIPTED), *COMMAND], cwd=work, env=environment(TEST_SECONDS="0.2"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None and _lines(verdicts) < wanted:
            time.sleep(0.02)
        time.sleep(lucky.random() * 0.1)
        process.kill()
        process.wait()
    assert _lines(verdicts) < 18  # it was cut short each time
    resumed = musacoder("rft", "--run", "first", cwd=work)
    assert resumed.returncode == 0, resumed.stderr
    for name in ("rows", "rows_best_of_one"):
        assert _rows(work, name) == _rows(work, name, run="whole")


def _lines(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.exists() else 0
