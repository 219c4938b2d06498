"""What the benchmarks of times and of verdicts a minute make of their runs; the runs themselves need a GPU."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import timing
import verdicts
from run_list import RunList


def test_a_run_list_is_taken_up_again_with_what_had_begun(tmp_path: Path) -> None:
    first = RunList(tmp_path / "runs.json", {"seed": 1})
    first.end(first.start(case="a"), {"status": "correct"})
    first.start(case="b")
    again = RunList(tmp_path / "runs.json", {"seed": 1})
    assert [row["case"] for row in again.ended()] == ["a"]
    assert [row["case"] for row in again.runs] == ["a", "b"]


def test_a_run_list_refuses_another_plan_and_names_what_differs(tmp_path: Path) -> None:
    RunList(tmp_path / "runs.json", {"seed": 1, "workers": 2})
    with pytest.raises(SystemExit, match="another seed:"):
        RunList(tmp_path / "runs.json", {"seed": 2, "workers": 2})


def _answers(folder: Path) -> list[dict[str, str]]:
    rows = []
    for number in range(9):
        answer = folder / f"{number}.py"
        answer.write_text("load_inline __global__" if number else "triton")
        rows.append({"name": f"{number // 3}_t", "level": "1", "task": f"task{number // 3}", "answer": str(answer)})
    return rows


def test_answers_are_drawn_by_the_seed_with_distinct_tasks_first(tmp_path: Path) -> None:
    pool = _answers(tmp_path)
    chosen = verdicts.chosen_answers(pool, None, 6, seed=1)
    assert chosen == verdicts.chosen_answers(pool, None, 6, seed=1)
    assert [len({row["task"] for row in chosen[i : i + 3]}) for i in (0, 3)] == [3, 3]
    assert not any(row["answer"].endswith("/0.py") for row in verdicts.chosen_answers(pool, None, 99, seed=1))


def test_quantiles_are_values_that_were_measured() -> None:
    assert verdicts.quantile([3, 1, 2, 4], 0.9) == 4
    assert verdicts.quantile(list(range(1, 11)), 0.9) == 9
    assert verdicts.quantile([1, 2], 0.5) == 1.5


def test_a_decision_is_wrong_where_the_error_is_larger_than_the_margin() -> None:
    speedups = [1.0] * 16 + [0.97, 0.96, 1.05, 1.01]
    assert timing.wrong_decisions(speedups, 0.02) == (2 / 20, 1 / 20)
    assert timing.wrong_decisions(speedups, 0.08) == (0, 0)


def test_the_table_of_times_tells_spread_and_decisions(tmp_path: Path) -> None:
    runs = RunList(tmp_path / "runs.json", {})
    for repeat, ratio in enumerate((1.0, 1.01, 0.99, 1.1)):
        times = {"candidate_ms": 0.01, "eager_ms": 0.01 * ratio, "eager_speedup_low": 0.9, "eager_speedup_high": 1.0}
        told = {**times, "sm_clock_mhz": 1980, "throttled": None}
        runs.end(runs.start(case="relu_10us", repeat=repeat), _judged(timing=told))
    runs.end(runs.start(case="relu_10us", repeat=4), {"status": "not_judged", "reason": "gone", "wall_seconds": 1.0})
    text = timing.report(runs, timing.CASES)
    assert "| relu_10us | 224 x 16384 | 5 | 1 | 10.0 us | 1.0050 | 10.95 % |" in text
    assert "| 0 % (8 % away) | 25 % (8 % away) | 1.50 s |" in text
    assert "relu_10us, repeat 4: not_judged: gone" in text


def _judged(**more: Any) -> dict[str, Any]:
    fixed = {"status": "correct", "reason": "", "device_seconds": 1.5, "wall_seconds": 4.0, "device": "a GPU"}
    fixed["shared_device_seconds"] = 0.5
    return {**fixed, "stage_seconds": {"build": 2.0}, "versions": {"driver": "580"}, "warnings": [], **more}


def test_rates_are_compared_on_what_the_peer_judged(tmp_path: Path) -> None:
    plan = {"sample": ["a", "b"], "peer_commit": "0123"}
    runs = RunList(tmp_path / "runs.json", plan)
    for answer, status in (("a", "correct"), ("b", "none")):
        runs.end(runs.start(which="cold sample", id=answer), _judged())
        theirs = {"status": status, "wall_seconds": 60.0, "build_seconds": 50.0}
        runs.end(runs.start(which="peer cold", id=answer), theirs)
    sums = {"verdicts": 2, "wall_seconds": 6.0, "cpu_seconds": 20.0, "idle_seconds": 3.0}
    runs.segment(which="cold sample", **sums)
    text = verdicts.report(runs)
    assert "| cold sample | 2 | 6 | 20.0 | 1.00 | 1.00 | 0.50 | 50 % | 4.00 | 2.00 | 10.0 | correct 2 |" in text
    assert "| cold sample | 20.0 | 1 | 60.0 | 60.00 | 1.00 | 20.0 |" in text
    assert "| b | 4.0, correct | - | 60.0, none | - | 50.0 |" in text


def test_a_run_whose_builds_are_gone_is_not_taken_up_again(tmp_path: Path) -> None:
    runs = RunList(tmp_path / "runs.json", {})
    runs.start(which="cold", id="a")
    with pytest.raises(SystemExit, match="the builds of this run are not in"):
        verdicts._claim(tmp_path / "cache", runs)


def test_a_peer_that_writes_no_result_has_crashed_and_one_that_hangs_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = SimpleNamespace(peer=tmp_path, peer_arch="Hopper", dry_run=False, peer_seconds=20.0)
    row = {"task": "t.py", "answer": "a.py"}
    script = tmp_path / "peer.py"
    monkeypatch.setattr(verdicts, "PEER", script)
    script.write_text("raise SystemExit('no GPU')")
    assert verdicts._peer_run(row, tmp_path, args) | {"wall_seconds": 0} == {
        "status": "crashed", "reason": "no GPU\n", "exit_code": 1, "wall_seconds": 0,
    }  # fmt: skip
    script.write_text("import sys, json; open(sys.argv[5], 'w').write(json.dumps({'status': 'incorrect'}))")
    assert verdicts._peer_run(row, tmp_path, args)["status"] == "incorrect"
    script.write_text("import time; time.sleep(60)")
    args.peer_seconds = 1.0
    assert verdicts._peer_run(row, tmp_path, args)["status"] == "timed_out"
    assert not (tmp_path / "result.json").exists()
