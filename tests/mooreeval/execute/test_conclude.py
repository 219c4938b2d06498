"""Reasons: what they say, where, and in how many words."""

from __future__ import annotations

import pytest

from mooreeval.execute import conclude
from mooreeval.execute.answers import ErrorClaim
from mooreeval.verdict import Mismatch, Status, Trial

WRONG = Mismatch(output="output", kind="values", message="3 of 4 elements are wrong.")


def trials(passed: str) -> list[Trial]:
    """One trial for each character; `x` fails."""
    return [Trial(index=i, seed=i, passed=c != "x", mismatch=WRONG if c == "x" else None) for i, c in enumerate(passed)]


@pytest.mark.parametrize(
    ("passed", "reason"),
    [
        (".....", "all 5 trials agree with the reference"),
        (".", "the only trial agrees with the reference"),
        ("x", "the only trial fails; output: 3 of 4 elements are wrong."),
        ("xx", "0 of 2 trials pass; output: 3 of 4 elements are wrong."),
        ("..x..", "4 of 5 trials pass, trial 2 fails; output: 3 of 4 elements are wrong."),
        ("xx..x", "2 of 5 trials pass, trials 0, 1 and 4 fail; output: 3 of 4 elements are wrong."),
    ],
)
def test_the_reason_says_which_trials_failed(passed, reason):
    assert conclude.trials(trials(passed)).reason == reason


def test_the_reason_of_a_syntax_error_begins_with_its_place():
    error = ErrorClaim(kind="syntax", type="SyntaxError", message="'(' was never closed", line=2)
    conclusion = conclude.load_error(error, "x = 1\ny = (\n", final=False)
    assert conclusion.status is Status.COMPILE_ERROR
    assert conclusion.reason == "candidate:2: the candidate is not valid Python: '(' was never closed"
    assert conclusion.diagnostics[0].place.text == "y = ("
