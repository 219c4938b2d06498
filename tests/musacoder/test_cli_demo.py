"""`musacoder demo`: every verdict is held against its expectation, and the exit code tells whether all agreed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import SCRIPTED, TASK, candidate, environment, musacoder
from support.verdicts import PLACE, out_of_bounds, verdict

from mooreeval.gallery import Expected
from mooreeval.verdict import Diagnostic, FindingKind, Mismatch, Place, Status, Trial
from musacoder.demo import surprise


@pytest.fixture
def gallery(tmp_path: Path):
    """Makes a gallery of one task: candidates by name, each (what the judge says, what is expected)."""

    def make(**candidates: tuple[str, str]) -> Path:
        folder = tmp_path / "gallery" / "toy"
        (folder / "candidates").mkdir(parents=True)
        (folder / "task.py").write_text(TASK)
        tables = []
        for name, (says, expected) in candidates.items():
            (folder / "candidates" / f"{name}.py").write_text(candidate(says))
            tables.append(f'[{name}]\ndescription = "The {name} one."\nstatus = "{expected}"\n')
        (folder / "expected.toml").write_text("\n".join(tables))
        return folder.parent

    return make


def test_all_as_expected_exits_0_with_a_table(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"), bad=("verdict: illegal", "illegal"))
    done = musacoder("demo", cwd=tmp_path, TEST_GALLERY=str(folder), COLUMNS="120")
    assert done.returncode == 0, done.stderr
    assert "2 of 2 verdicts as expected" in done.stdout
    assert "The good one." in done.stdout
    assert "toy/bad: illegal" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_every_line_of_the_demo_is_whole_where_it_goes_to_a_file(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"), wrong=("verdict: incorrect", "incorrect"))
    long = " ".join(["word"] * 30)
    (folder / "toy" / "expected.toml").write_text(
        f'[good]\ndescription = "{long}."\nstatus = "correct"\n[wrong]\ndescription = "No."\nstatus = "incorrect"\n'
    )
    lines = musacoder("demo", cwd=tmp_path, TEST_GALLERY=str(folder), COLUMNS="80").stdout.splitlines()
    assert lines[0] == "toy"
    assert lines[1].split() == ["good", "correct"]
    assert lines[2].strip() == f"{long}."
    assert lines[3].split()[:2] == ["wrong", "incorrect:"]


def test_a_long_preparation_is_announced(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"))
    done = musacoder("demo", "--json", cwd=tmp_path, TEST_GALLERY=str(folder), TEST_UNPREPARED="1")
    assert json.loads(done.stdout)["total"] == 1
    assert "preparing backend" in done.stderr


def test_one_verdict_that_differs_exits_1_and_is_named(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"), bad=("verdict: correct", "illegal"))
    done = musacoder("demo", cwd=tmp_path, TEST_GALLERY=str(folder), COLUMNS="120")
    assert done.returncode == 1
    assert "1 of 2 verdicts as expected" in done.stdout
    assert "toy/bad: correct (expected illegal)" in done.stdout.splitlines()[-1]


def test_one_that_could_not_be_judged_exits_3(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"), lost=("raise: NotJudged no space left", "correct"))
    done = musacoder("demo", cwd=tmp_path, TEST_GALLERY=str(folder), COLUMNS="160")
    assert done.returncode == 3
    assert "not judged: no space left" in done.stdout


def test_json_holds_every_verdict_and_is_alone_on_standard_output(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"), bad=("verdict: incorrect", "illegal"))
    done = musacoder("demo", "--json", cwd=tmp_path, TEST_GALLERY=str(folder))
    data = json.loads(done.stdout)
    assert (done.returncode, data["total"], data["judged"], data["as_expected"]) == (1, 2, 2, 1)
    assert [e["verdict"]["status"] for e in data["entries"]] == ["correct", "incorrect"]
    assert data["entries"][1]["surprise"] == "expected illegal"


def test_only_one_tasks_candidates_may_be_asked_for(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"))
    assert musacoder("demo", "--only", "toy", cwd=tmp_path, TEST_GALLERY=str(folder)).returncode == 0
    assert musacoder("demo", "--only", "other", cwd=tmp_path, TEST_GALLERY=str(folder)).returncode == 2


def test_a_demo_that_cannot_start_prints_one_line_and_no_table(gallery, tmp_path):
    folder = gallery(good=("raise: UsageError backend cuda is not available here", "correct"))
    done = musacoder("demo", cwd=tmp_path, TEST_GALLERY=str(folder))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "musacoder: backend cuda is not available here"


def test_an_interrupted_demo_shows_what_it_has_found_and_exits_130(gallery, tmp_path):
    folder = gallery(good=("verdict: correct", "correct"), stuck=("hang", "correct"))
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTED), "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(TEST_GALLERY=str(folder), COLUMNS="120"),
    )
    assert process.stderr is not None
    assert "toy/good: correct" in process.stderr.readline()
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 of 2 verdicts as expected" in out
    assert err.splitlines()[-1] == "musacoder: interrupted"


RUNTIME = verdict(Status.RUNTIME_ERROR, findings=(out_of_bounds(),))
RACE = out_of_bounds(
    kind=FindingKind.RACE, place=Place(file="candidate", line=3), other=Place(file="candidate", line=9)
)


@pytest.mark.parametrize(
    ("judged", "expected", "told"),
    [
        (RUNTIME, {"status": Status.RUNTIME_ERROR}, ""),
        (RUNTIME, {"status": Status.CORRECT}, "expected correct"),
        (RUNTIME, {"status": Status.RUNTIME_ERROR, "kinds": (FindingKind.OUT_OF_BOUNDS,), "lines": (7,)}, ""),
        (RUNTIME, {"status": Status.RUNTIME_ERROR, "kinds": (FindingKind.RACE,)}, "expected finding race"),
        (RUNTIME, {"status": Status.RUNTIME_ERROR, "lines": (6, 8)}, "expected line 6 or 8"),
        (
            verdict(Status.RUNTIME_ERROR, findings=(RACE, out_of_bounds())),
            {"status": Status.RUNTIME_ERROR, "kinds": (FindingKind.RACE,), "lines": (9,)},
            "",
        ),
        (
            verdict(Status.RUNTIME_ERROR, findings=(RACE, out_of_bounds())),
            {"status": Status.RUNTIME_ERROR, "kinds": (FindingKind.RACE,), "lines": (7,)},
            "expected line 7",
        ),
        (
            verdict(Status.COMPILE_ERROR, diagnostics=(Diagnostic(severity="error", message="m", place=PLACE),)),
            {"status": Status.COMPILE_ERROR, "lines": (7,)},
            "",
        ),
        (
            verdict(
                Status.INCORRECT,
                trials=(
                    Trial(index=0, seed=0, passed=False, mismatch=Mismatch(output="o", kind="shape", message="m")),
                ),
            ),
            {"status": Status.INCORRECT, "mismatch": "dtype"},
            "expected mismatch of dtype",
        ),
        (verdict(Status.ILLEGAL), {"status": Status.ILLEGAL, "rule": "no_kernel_launched"}, ""),
        (verdict(Status.ILLEGAL), {"status": Status.ILLEGAL, "rule": "other"}, "expected rule other"),
        (verdict(Status.UNSUPPORTED), {"status": Status.UNSUPPORTED, "feature": "wmma"}, ""),
        (verdict(Status.UNSUPPORTED), {"status": Status.UNSUPPORTED, "feature": "ptx"}, "expected feature ptx"),
    ],
)
def test_a_verdict_is_held_against_every_part_of_its_expectation(judged, expected, told):
    assert surprise(judged, Expected(**expected)) == told
