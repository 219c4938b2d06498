"""Right kernels for tasks of the suite are judged correct, and the same kernels with one mistake are not."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.selection import selected

from mooreeval.candidate import Candidate, candidate_from_code
from mooreeval.config import load_config
from mooreeval.task import load_task
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier, Outcome
from musacoder.suite import bundled_tasks

HERE = Path(__file__).parent
MISTAKES = tomllib.loads((HERE / "mistakes.toml").read_text(encoding="utf-8"))
TASKS = {task.name: task for task in bundled_tasks()}
CASES = [(name, way) for name in MISTAKES for way in ("right", "wrong")]
WORKERS = 2


def _id(case: tuple[str, str]) -> str:
    return "-".join(case)


def _code(case: tuple[str, str]) -> str:
    name, way = case
    code = (HERE / "candidates" / f"{name}.py").read_text(encoding="utf-8")
    return code if way == "right" else code.replace(MISTAKES[name]["right"], MISTAKES[name]["wrong"])


def test_every_level_has_candidates_and_every_candidate_a_mistake() -> None:
    assert {file.stem for file in (HERE / "candidates").glob("*.py")} == set(MISTAKES)
    counts = {level: sum(TASKS[name].level == level for name in MISTAKES) for level in (1, 2, 3)}
    assert min(counts.values()) >= 4
    assert sum(counts.values()) >= 12


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_changes_one_place(name: str) -> None:
    code = _code((name, "right"))
    assert code.count(MISTAKES[name]["right"]) == 1
    assert _code((name, "wrong")) != code


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Mapping[tuple[str, str], Outcome]:
    """The outcomes of all cases that this run selects, judged by one verifier."""
    cases = selected(request, "case")
    pairs = [(load_task(TASKS[name].path), _candidate((name, way))) for name, way in cases]
    with LocalVerifier(load_config(settings=["backend=simulator"])) as verifier:
        judged = verifier.verify_many(pairs, WORKERS)
    return dict(zip(cases, judged, strict=True))


def _candidate(case: tuple[str, str]) -> Candidate:
    candidate = candidate_from_code(_code(case))
    assert isinstance(candidate, Candidate)
    return candidate


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=_id)
def test_right_is_told_from_wrong(outcomes: Mapping[tuple[str, str], Outcome], case: tuple[str, str]) -> None:
    name, way = case
    verdict = outcomes[case].verdict
    assert verdict is not None, outcomes[case].error
    expected = Status.CORRECT if way == "right" else Status(MISTAKES[name]["status"])
    assert verdict.status is expected, verdict.reason
