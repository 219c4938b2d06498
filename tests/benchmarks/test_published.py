"""The public answers as a scripted model's, from a leaderboard of our own making to the table."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import published
import pytest

from mooreeval import gallery

ROOT = Path(__file__).parents[2]


def leaderboard(folder: Path) -> Path:
    """Two tasks of the gallery with an answer or two each, and one whose answer is not there."""
    tasks = {"1_ReLU_": ("relu", ["plain", "missing_tail"]), "2_Softmax": ("row_softmax", ["missing_barrier_in_tree"])}
    paths = {(e.task_name, e.candidate_name): e for e in gallery.load()}
    (folder / "solutions").mkdir(parents=True)
    (folder / "problems").mkdir()
    table = {"Level 1: 3_Gone": [{"display_name": "m", "torch_speedup": 9.0, "file": "gone"}]}
    for title, (task, candidates) in tasks.items():
        number = title.partition("_")[0]
        (folder / "problems" / f"l1_p{number}.py").write_text(paths[task, candidates[0]].task_path.read_text())
        for name in candidates:
            (folder / "solutions" / f"{name}.py").write_text(paths[task, name].candidate_path.read_text())
        rows = [{"display_name": "m", "torch_speedup": 2.0 - k, "file": name} for k, name in enumerate(candidates)]
        table[f"Level 1: {title}"] = rows
    (folder / "data.json").write_text(json.dumps(table))
    return folder


def test_the_fastest_answer_that_is_there_is_taken(tmp_path):
    best = published.best_answers(leaderboard(tmp_path / "data"))
    assert [(row.name, Path(row.answer).stem, row.speedup) for row in best] == [
        ("1_ReLU_", "plain", 2.0),
        ("2_Softmax", "missing_barrier_in_tree", 2.0),
    ]


def test_far_apart_is_told_by_the_ratio_of_the_two_speedups():
    rows = [published.Row(f"t{k}", "correct", ours, None, 2.0, "") for k, ours in enumerate((2.0, 1.2, 3.1, None))]
    assert [row.is_far for row in rows] == [False, True, True, False]
    told = "\n".join(published.summary([*rows, published.Row("t9", "illegal", None, None, 1.0, "")]))
    assert "5 answers: 4 correct, 1 illegal" in told
    assert "over eager: 3 timed, median 2.00, 3 above 1.1" in told
    assert "2 of 3 are far apart" in told


@pytest.mark.slow
def test_what_is_drawn_can_be_judged_by_bench_and_shown(tmp_path):
    def ran(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    program = [sys.executable, str(ROOT / "benchmarks/published.py")]
    data = leaderboard(tmp_path / "data")
    ran(*program, "draw", "--data", str(data), "--count", "2", "--compiled", "1", "--out", "drawn")
    shutil.rmtree(data)  # what is drawn needs nothing beside it
    judge = [*program, "judge", "--backend", "simulator", "--workers", "1"]
    ran(*judge, "--out", "drawn", "--results", "first", "--minutes", "0")  # no time: nothing is judged, and it goes on
    told = ran(*judge, "--out", "moved", "--results", "second", "--minutes", "5", "--state", "first/state.tar.gz")
    assert "| level1/1_ReLU | correct |  |  | 2.00 |  |" in told
    assert "| level1/2_Softmax | runtime_error |" in told
    assert "2 answers: " in told
    results = {file.name: file.read_bytes() for file in (tmp_path / "second").iterdir()}
    assert set(results) == {"published.md", "report.html", "report.md", "bench.log", "state.tar.gz"}
    results.pop("state.tar.gz")  # which holds the answers
    assert all(b"__global__" not in text and b"load_inline" not in text for text in results.values())
