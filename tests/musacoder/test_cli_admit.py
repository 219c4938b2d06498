"""`musacoder admit` as a shell sees it: exit codes, a table, strict JSON, appended records, one line for errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import SRC, environment

from mooreeval.admission import Admission

GOOD = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.randn(20, 30)]
"""
RANDOM = GOOD.replace("x * 2", "torch.dropout(x, 0.5, True)")
WEAK = GOOD.replace("x * 2", "(x * x).mean()").replace("20, 30", "200, 300")


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name, code in (("good", GOOD), ("chance", RANDOM), ("weak", WEAK), ("broken", "x = 1\n")):
        (tmp_path / f"{name}.py").write_text(code)
    return tmp_path


def admit(work: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "musacoder", "admit", *arguments, "--seed", "5eed", "--backend", "simulator"]
    env = environment(MOOREEVAL_CACHE=str(cache), PYTHONPATH=str(SRC))
    return subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=300, check=False)


def test_the_exit_code_tells_whether_one_is_refused_and_a_weak_one_is_not(work, cache):
    done = admit(work, cache, "good.py", "weak.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "admitted  good"
    assert "weak      weak" in done.stdout
    assert "half_inputs  inputs and weights rounded to float16 would pass" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("1 admitted, 1 weak, 0 refused")
    done = admit(work, cache, "good.py", "chance.py")
    assert done.returncode == 1
    assert "random  its output follows the random generator" in done.stdout


def test_json_is_strict_and_its_admissions_can_be_read_back(work, cache):
    done = admit(work, cache, "good.py", "chance.py", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    data = json.loads(done.stdout)
    assert {k: data[k] for k in ("total", "admitted", "weak", "refused")} == {
        "total": 2, "admitted": 1, "weak": 0, "refused": 1,
    }  # fmt: skip
    first, second = (Admission.model_validate(a) for a in data["admissions"])
    assert (first.task_id, first.outcome, second.reasons[0].kind) == ("good", "admitted", "random")
    assert first.seed == "5eed"


def test_admissions_are_appended_to_a_record_one_line_each(work, cache):
    for _ in range(2):
        assert admit(work, cache, "good.py", "weak.py", "--record", "record.jsonl").returncode == 0
    records = [Admission.model_validate_json(line) for line in (work / "record.jsonl").read_text().splitlines()]
    assert sorted(r.task_id for r in records) == ["good", "good", "weak", "weak"]


def test_verbose_names_every_impostor_and_what_told_it(work, cache):
    shown = admit(work, cache, "weak.py", "-v").stdout
    for words in ("impostor", "told by", "half_inputs", "nothing", "inputs signs: not allowed", "seed 5eed"):
        assert words in shown


@pytest.mark.parametrize("name", ["broken.py", "missing.py", "gallery:nothing"])
def test_a_file_that_is_no_task_is_one_line_and_exit_2(work, cache, name):
    done = admit(work, cache, "good.py", name)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("musacoder: ")


def test_a_folder_of_tasks_and_the_gallery_can_be_named(work, cache):
    (work / "broken.py").unlink()
    done = admit(work, cache, ".", "gallery:relu")
    assert done.returncode == 1
    assert [line.split()[1] for line in done.stdout.splitlines() if line[:1].isalpha()] == [
        "chance", "good", "weak", "gallery:relu",
    ]  # fmt: skip


def test_an_interrupt_tells_what_was_found_until_then_and_the_rest_is_taken_up_again(work, cache):
    (work / "slow.py").write_text(GOOD.replace("x * 2", "__import__('time').sleep(600)"))
    command = [sys.executable, "-m", "musacoder", "admit", "good.py", "slow.py", "--record", "record.jsonl"]
    command += ["--seed", "5eed", "--backend", "simulator", "--workers", "1"]
    env = environment(MOOREEVAL_CACHE=str(cache), PYTHONPATH=str(SRC))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=work, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        until = time.monotonic() + 120
        while not (work / "record.jsonl").exists() and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "admitted  good" in out
    assert "1 of 2 tasks" in out
    assert err.splitlines()[-1] == "musacoder: interrupted"
    assert "Traceback" not in err
