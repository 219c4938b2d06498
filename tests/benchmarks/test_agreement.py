"""Candidates are drawn alike each time, runs are listed and taken up again, and the report counts by its own rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agreement
import pytest
from agreement_report import cases, report


def manifest(folder: Path, seed: int) -> list[dict[str, Any]]:
    agreement.write_candidates(folder, seed, None)
    return agreement.read_lines(folder / "manifest.jsonl")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("drawn")
    return folder, manifest(folder, 1)


def test_the_same_seed_draws_the_same_candidates(drawn, tmp_path):
    _, rows = drawn
    assert manifest(tmp_path / "again", 1) == rows
    assert {row["id"] for row in manifest(tmp_path / "other", 2)} != {row["id"] for row in rows}


def test_the_folder_holds_all_that_judging_needs(drawn):
    folder, rows = drawn
    assert len({row["id"] for row in rows}) == len(rows) > 120
    for row in rows:
        assert "class Model(" in (folder / row["task_file"]).read_text()
        assert row["planted"] == "no_candidate" or "load_inline" in (folder / row["candidate_file"]).read_text()


def test_a_mutant_differs_from_its_base_in_the_line_that_is_named(drawn):
    folder, rows = drawn
    files = {row["id"]: (folder / row["candidate_file"]).read_text().splitlines() for row in rows}
    for row in (row for row in rows if row["source"] == "mutant"):
        mutant, base = files[row["id"]], files[row["base"]]
        assert (base[row["line"] - 1].strip(), mutant[row["line"] - 1].strip()) == (row["was"], row["now"])


# ------------------------------------------------------------------------------------------------------------- counting
def row(name: str, planted: str = "wrong_values", shown: bool = False, **more: Any) -> dict[str, Any]:
    mutation = {"mutation": "some_rule", "line": 3, "now": "y[i] = 0;"} if "base" in more else {}
    return {"id": name, "source": "mutant", "planted": planted, "shown": shown, **mutation, **more}


def said(**statuses: str) -> list[dict[str, Any]]:
    return [{"id": name, "status": status, "reason": f"{name} is {status}"} for name, status in statuses.items()]


def truth(one: dict[str, Any], on_gpu: str, of_base: str = "correct") -> str:
    (case,) = cases([one], [], said(base=of_base, a=on_gpu))
    return case.truth


def test_what_fails_on_the_gpu_is_wrong_whatever_was_planted():
    assert truth(row("a", "nothing"), "incorrect") == "wrong"
    assert truth(row("a", "race", True, base="base"), "runtime_error", of_base="incorrect") == "wrong"


def test_a_planted_race_is_wrong_although_the_gpu_calls_it_correct():
    assert truth(row("a", "race", True, base="base"), "correct") == "wrong"


def test_a_race_planted_in_what_the_gpu_rejects_counts_by_the_gpu():
    assert truth(row("a", "race", True, base="base"), "correct", of_base="incorrect") == "right"


def test_a_mutant_of_values_that_passes_on_the_gpu_is_right():
    assert truth(row("a", base="base"), "correct") == "right"


def test_what_the_gpu_did_not_judge_is_in_neither_rate():
    assert truth(row("a"), "not_judged") == "unknown"
    assert truth(row("a"), "unsupported") == "unknown"


def test_the_report_has_both_rates_and_every_disagreement_with_both_reasons():
    rows = [row(name) for name in ("hit", "miss", "alarm", "fine", "out")]
    simulator = said(hit="runtime_error", miss="correct", alarm="incorrect", fine="correct", out="unsupported")
    cuda = said(hit="incorrect", miss="incorrect", alarm="correct", fine="correct", out="correct")
    text = report(rows, simulator, cuda)
    assert "| sensitivity | 2 | 1 | 50.0 % |" in text and "| specificity | 2 | 1 | 50.0 % |" in text
    assert "`unsupported` on the simulator: 1 of 5 (20.0 %)." in text and "Failing on the GPU: 2 of 5 (40.0 %)." in text
    disagreements, left_out = text.split("Disagreements:")[1].split("In neither rate:")
    assert "miss is correct" in disagreements and "miss is incorrect" in disagreements
    assert "**alarm**" in disagreements and "**hit**" not in disagreements and "**fine**" not in disagreements
    assert "**out**" in left_out and "**alarm**" not in left_out


# -------------------------------------------------------------------------------------------------------------- judging
class Counting:
    """Stands in for the verifier: what it was asked, and a failure of the judge where one is wanted."""

    def __init__(self, _config: Any) -> None:
        self.asked: list[str] = []

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def judged(drawn, tmp_path, monkeypatch):
    """Judge some of the drawn candidates with a verdict that is made up; returns the log's lines."""
    folder, rows = drawn
    monkeypatch.setattr(agreement, "LocalVerifier", Counting)
    log = agreement.Log(tmp_path / "log.jsonl")

    def run(
        names: list[str], statuses: dict[str, str], minutes: float = 1.0, again: tuple[str, ...] = ()
    ) -> list[dict[str, Any]]:
        def verdict(_verifier: Any, _folder: Path, row: dict[str, Any]) -> dict[str, Any]:
            return {"id": row["id"], "status": statuses.get(row["id"], "correct"), "reason": "", "seconds": 0.0}

        monkeypatch.setattr(agreement, "_verdict", verdict)
        chosen = [row for row in rows if row["id"] in names]
        agreement.judge(folder, chosen, log, ["backend=simulator"], 1, minutes, again)
        return agreement.read_lines(log.path)

    return run


def test_a_run_is_listed_as_it_starts_and_as_it_ends(judged):
    first, second = judged(["relu-plain"], {})
    assert first["id"] == second["id"] == "relu-plain"
    assert "started" in first and "status" not in first and second["status"] == "correct"


def test_what_has_a_verdict_is_not_judged_again_but_what_was_not_judged_is(judged):
    names = ["relu-plain", "relu-grid_stride"]
    judged(names, {"relu-plain": "not_judged"})
    lines = judged(names, {})
    started = [line["id"] for line in lines if "started" in line]
    assert started.count("relu-plain") == 2 and started.count("relu-grid_stride") == 1


def test_a_status_may_be_judged_again_and_the_last_verdict_counts(judged):
    judged(["relu-plain"], {"relu-plain": "unsupported"})
    assert len(judged(["relu-plain"], {}, again=("incorrect",))) == 2
    lines = judged(["relu-plain"], {}, again=("unsupported",))
    (case,) = cases([row("relu-plain")], lines, [])
    assert [line.get("status") for line in lines] == [None, "unsupported", None, "correct"] and case.told == "right"


def test_a_run_that_was_cut_off_is_listed_and_taken_up_again(judged, tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps({"id": "relu-plain", "started": 1.0}) + "\n")
    assert [line.get("status") for line in judged(["relu-plain"], {})] == [None, None, "correct"]


def test_no_verdict_is_begun_when_the_time_is_over(judged):
    assert judged(["relu-plain"], {}, minutes=-1.0) == []
