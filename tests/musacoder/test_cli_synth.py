"""`musacoder synth` as a shell sees it: bad usage is one line, and seeds become a data set with a card."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import environment

from musacoder.data.dataset import read_dataset
from musacoder.data.io import read_programs


def synth(*arguments: object, cwd: Path, seconds: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "musacoder", "synth", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=cwd,
        env=environment(OMP_NUM_THREADS="1"),
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "programs.size=3"], "there is no field programs.size; known here: batch, check_budget, count"),
        (["--set", "programs.batch=0"], "programs.batch must be more than 0, not 0"),
        (["--run", " "], "--run ' ' names no folder"),
    ],
)
def test_bad_usage_is_one_line_and_begins_no_run(tmp_path, arguments, told):
    done = synth(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_seeds_become_programs_rows_and_a_data_set_with_a_card(tmp_path):
    settings = ["programs.batch=3", "programs.family_most=1", "rows.judging.programs=1", "rows.judging.mutants=1"]
    settings += ["rows.rewrites=false", "mixture.least=0", "mixture.family_most=1"]
    options = ["--run", "one", "-n", 3, "--json", *(word for each in settings for word in ("--set", each))]
    done = synth(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    facts = {stage["stage"]: stage["facts"] for stage in told["stages"]}
    assert list(facts) == ["tasks", "programs", "audit", "rows", "dataset"]
    assert facts["programs"]["programs"] == 3 and facts["audit"]["agree"] == 1
    run = tmp_path / "runs" / "one"
    assert {p.judged_by for p in read_programs(run / "programs.jsonl")} == {"trusted batch"}
    assert len(read_dataset(run / "dataset")) == facts["dataset"]["rows"] >= 3
    assert (run / "dataset" / "README.md").is_file()
    again = synth("--run", "one", "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == told
    other = synth("--run", "one", "-n", 4, cwd=tmp_path)
    assert other.returncode == 2 and "programs.count: 3 -> 4" in other.stderr
