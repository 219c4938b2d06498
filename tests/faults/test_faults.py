"""Every planted fault is found for what it is, at its line, and no corrected twin is accused."""

from collections.abc import Mapping

import pytest
from support.selection import selected

from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier, Outcome

from .index import Fault, cases
from .judging import config, found, judge_all

WORKERS = 2
CASES = cases()
QUICK = (
    "divergent_barrier/barrier_in_both_branches",
    "host_memory/pointer_to_a_vector",
    "misaligned/pairs_of_an_odd_row",
    "out_of_bounds/axpy_inclusive_double",
    "race/halo_loaded_after_the_barrier",
    "shared_out_of_bounds/depth_loop_inclusive",
    "wrong_values/output_transposed",
)
# Faults that are not found, and why not. A miss that is found after all fails here, and leaves this list.
KNOWN_MISSES = {
    "deadlock/shuffle_waits_for_absent_lanes": (
        "a shuffle goes on without the lanes that it names and that never come, with a warning and wrong values: "
        "hardware may do either, and much code that works rests on it"
    ),
}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Mapping[str, Mapping[str, Outcome]]:
    """The outcomes of all cases that this run selects, judged by one verifier."""
    with LocalVerifier(config()) as verifier:
        return judge_all(verifier, selected(request, "case"), WORKERS)


def _param(case: Fault, misses: Mapping[str, str]):
    marks = [] if case.key in QUICK else [pytest.mark.slow]
    if case.key in misses:
        marks.append(pytest.mark.xfail(strict=True, raises=AssertionError, reason=misses[case.key]))
    return pytest.param(case, id=f"{case.group}-{case.name}", marks=marks)


def _verdict(outcome: Outcome) -> Verdict:
    if outcome.verdict is None:
        raise RuntimeError(f"not judged: {outcome.error}")  # no assertion: it must never pass for a known miss
    return outcome.verdict


def test_the_lists_name_cases_that_exist() -> None:
    assert {*QUICK, *KNOWN_MISSES} <= {case.key for case in CASES}


@pytest.mark.parametrize("case", [_param(case, KNOWN_MISSES) for case in CASES])
def test_a_planted_fault_is_found_at_its_line(outcomes: Mapping[str, Mapping[str, Outcome]], case: Fault) -> None:
    verdict = _verdict(outcomes[case.key]["faulty"])
    assert verdict.status is case.status, verdict.reason
    assert found(case, verdict) == (True, True), verdict.findings
    assert case.mismatch in (None, *(t.mismatch.kind for t in verdict.trials if t.mismatch))
    assert case.rule in (None, *(hit.rule for hit in verdict.rules))


@pytest.mark.parametrize("case", [_param(case, {}) for case in CASES])
def test_a_corrected_twin_is_not_accused(outcomes: Mapping[str, Mapping[str, Outcome]], case: Fault) -> None:
    verdict = _verdict(outcomes[case.key]["fixed"])
    assert verdict.status is Status.CORRECT, verdict.reason
    assert not [finding for finding in verdict.findings if finding.severity == "error"]
