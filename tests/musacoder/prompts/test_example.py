"""The worked example is judged like any answer: what a prompt shows as right is right."""

import pytest

from mooreeval.extract import extract
from mooreeval.task import make_task
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier
from musacoder.prompts import Target, Templates


@pytest.mark.slow
def test_the_worked_example_is_correct_and_legal():
    example = Templates().example(Target())
    with LocalVerifier() as verifier:
        verdict = verifier.verify(make_task("example", example["task"]), extract(example["answer"]))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.policy == "native"
    assert verdict.warnings == ()
