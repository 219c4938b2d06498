"""The benchmark of builds: what is drawn, what is taken up again, and what the table says of it."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from build import Log, Queue, Run, make_all, planned
from build_table import differences, false_failures, print_table
from build_ways import PLAIN
from spoilt import spoilt

from mooreeval.toolchains.base import Extension, Source

KERNEL = """
__global__ void twice(float* x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = 2 * x[i];
}
torch::Tensor run(torch::Tensor x) {
  twice<<<1, 64>>>(x.data_ptr<float>(), x.numel());
  return x;
}
"""
TOOLKIT: Any = SimpleNamespace(versions={"torch": "2.14.1", "folders": "here"})


def extension(number: int) -> Extension:
    sources = (Source("cpp_sources[0]", "cpp", "//"), Source("cuda_sources[0]", "cuda", f"{KERNEL}// {number}\n"))
    return Extension("mine", sources, (("run", "run"),))


def plan(number: int, **options: int | None) -> list[Run]:
    args = Namespace(**{"plain": None, "spoil": 0, "seed": 0, "tiers": ["mini+full", "full"], **options})
    return list(planned([(f"c{k}", [extension(k)]) for k in range(number)], args))


def row(number: int, way: str, result: str = "built", **fields: Any) -> dict[str, Any]:
    names = {"candidate": f"c{number}", "kind": "answer", "hash": extension(number).content_hash()}
    return {**names, "way": way, "result": result, "wall_seconds": 1.0, "cpu_seconds": 2.0, **fields}


def test_plain_builds_are_spread_evenly_and_ways_alternate() -> None:
    runs = plan(12, plain=3)
    assert [run.candidate for run in runs if run.way == PLAIN] == ["c0", "c4", "c8"]
    assert [run.way for run in runs if run.candidate in ("c4", "c5")] == [
        PLAIN,
        "mini+full",
        "full",
        "full",
        "mini+full",
    ]
    assert len(runs) == 2 * 12 + 3


def test_spoilt_ones_are_other_sources_of_the_same_seed() -> None:
    runs = [run for run in plan(8, plain=0, spoil=2) if run.kind == "spoilt"]
    assert {run.candidate for run in runs} == {"c0", "c4"}
    assert [run.key for run in runs] == [run.key for run in plan(8, plain=0, spoil=2) if run.kind == "spoilt"]
    assert all(run.extension.sources[0].text == "//" for run in runs)


@pytest.mark.parametrize("seed", range(12))
def test_one_thing_is_broken(seed: int) -> None:
    broken = spoilt(extension(1), seed)
    assert broken is not None
    before, after = extension(1).sources[1].text, broken.sources[1].text
    assert len(after) in (len(before) - 1, len(before) + 2)
    assert broken.content_hash() != extension(1).content_hash()
    assert broken == spoilt(extension(1), seed)


def test_what_has_no_cuda_is_not_spoilt() -> None:
    assert spoilt(Extension("mine", (Source("cpp_sources[0]", "cpp", "int x;"),), None), 0) is None


def test_what_is_there_is_not_made_again_and_what_was_cut_is(tmp_path: Path) -> None:
    runs, made = plan(3, plain=1), []

    def make(run: Run) -> dict[str, Any]:
        made.append(run.key)
        return {"result": "cut" if len(made) == 2 else "built", "wall_seconds": 0.0, "cpu_seconds": 1.0}

    for _ in range(3):
        log = Log(tmp_path / "log.jsonl", [], TOOLKIT)
        log.begin({})
        make_all([run for run in runs if run.key not in log.known], make, log, 1, None, None)
    assert len(made) == len(runs) + 1
    assert len(set(made)) == len(runs)
    other = Log(tmp_path / "other.jsonl", [tmp_path / "log.jsonl"], TOOLKIT)
    assert other.known == {run.key for run in runs}


def test_runs_of_another_release_are_not_added_to(tmp_path: Path) -> None:
    head = {"head": {"versions": {"torch": "2.11.0", "folders": "there"}}}
    (tmp_path / "log.jsonl").write_text(json.dumps(head))
    with pytest.raises(SystemExit, match="another torch"):
        Log(tmp_path / "log.jsonl", [], TOOLKIT)


def test_near_the_end_only_short_builds_are_begun() -> None:
    queue = Queue(plan(4), time.monotonic() + 60)
    left = []
    while run := queue.next():
        left.append(run.way)
    assert PLAIN not in left
    assert len(left) == 8
    assert Queue(plan(4), time.monotonic() - 1).next() is None


def test_the_table_counts_false_failures_and_differences(capsys: pytest.CaptureFixture[str]) -> None:
    attempts = [["mini", "failed: cuda: no sum", 1.0], ["slim", "built", 7.0]]
    runs = [
        row(0, PLAIN, cpu_seconds=60.0),
        row(0, "mini+slim+full", cpu_seconds=2.0, tier="mini", attempts=[["mini", "built", 2.0]]),
        row(1, PLAIN, cpu_seconds=80.0),
        row(1, "mini+slim+full", cpu_seconds=8.0, tier="slim", attempts=attempts),
        row(2, PLAIN, "compile_error", cpu_seconds=18.0, error="no such function"),
        row(2, "mini+slim+full", cpu_seconds=2.0, tier="mini", attempts=[["mini", "built", 2.0]]),
    ]
    lines = false_failures(runs, "mini+slim+full")
    assert lines[0].endswith("mini was tried on 3, failed on 1, on 1 of them although a fuller tier builds")
    assert lines[1] == "  c1: failed: cuda: no sum"
    (line,) = differences(runs)
    assert "load_inline compile_error, mini+slim+full built: no such function" in line
    print_table(runs)
    told = capsys.readouterr().out
    assert "20.0, 70.0 / 5.0 = 14.0 (2)" in told  # of ratios 30 and 10; of the medians
    assert "by mini: 2 (67 %)" in told
