"""Candidates that try to be judged better than they are, and honest ones that look alike: each gets its status.

tests/redteam/NAME/task.py         the task, in the KernelBench format
tests/redteam/NAME/candidate.py    the attempt
tests/redteam/NAME/expected.json   {"status": what must be concluded, ...}, or
                                   {"error": what a task's refusal must say, ...};
                                   "behind": what must be concluded where the source, which breaks a rule, is not read
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.selection import selected

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.errors import TaskError
from mooreeval.task import load_task
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier, Outcome

WORKERS = 2
# No case is about time; a busy machine gets it.
SETTINGS = ("backend=simulator", "deadlines.run_seconds=120", "deadlines.record_seconds=60")
CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/candidate.py"))

pytestmark = pytest.mark.slow


def _expected(case: Path) -> dict[str, str]:
    return json.loads((case / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Mapping[str, Outcome]:
    """The outcomes of all cases that this run selects, judged by one verifier."""
    return _judged(selected(request, "case"))


@pytest.fixture(scope="module")
def behind(request: pytest.FixtureRequest) -> Mapping[str, Outcome]:
    """The same by the layers behind the source: what it breaks there must not be all that holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mooreeval.execute.judge.read_source", lambda *_arguments: [])
        return _judged(selected(request, "hostile"))


def _judged(cases: Sequence[Path]) -> Mapping[str, Outcome]:
    pairs = [(load_task(case / "task.py"), load_candidate(case / "candidate.py")) for case in cases]
    with LocalVerifier(load_config(settings=SETTINGS)) as verifier:
        judged = verifier.verify_many(pairs, WORKERS)
    return {case.name: outcome for case, outcome in zip(cases, judged, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_case_has_its_status(outcomes: Mapping[str, Outcome], case: Path) -> None:
    expected = _expected(case)
    outcome = outcomes[case.name]
    if "error" in expected:
        assert isinstance(outcome.error, TaskError)
        assert expected["error"] in str(outcome.error)
        return
    assert outcome.verdict is not None, outcome.error
    assert outcome.verdict.status is Status(expected["status"]), outcome.verdict.reason


@pytest.mark.parametrize("hostile", [c for c in CASES if _expected(c).get("behind")], ids=lambda case: case.name)
def test_the_layers_behind_the_source_hold_alone(behind: Mapping[str, Outcome], hostile: Path) -> None:
    outcome = behind[hostile.name]
    assert outcome.verdict is not None, outcome.error
    assert outcome.verdict.status is Status(_expected(hostile)["behind"]), outcome.verdict.reason
