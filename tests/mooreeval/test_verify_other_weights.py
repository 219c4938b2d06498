"""Right candidates are tried once more with other weights than a model begins with, where they can be given them."""

import pytest
from exploits.index import FOLDER

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.feedback import feedback
from mooreeval.task import load_task, make_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier

pytestmark = pytest.mark.slow
W8 = FOLDER / "W8_right_for_the_sampled_alone"
TASK = load_task(W8 / "task_norm.py")


def candidate(name: str):
    return load_candidate(W8 / f"{name}.py")


def verdict_on(name: str, *settings: str, task=TASK) -> Verdict:
    with LocalVerifier(load_config(settings=["backend=simulator", "simulator.audit_share=0", *settings])) as verifier:
        return verifier.verify(task, candidate(name))


def test_weights_that_are_left_out_are_missed_in_one_more_trial_and_a_model_is_told_so():
    verdict = verdict_on("bias_forgotten")
    assert verdict.status is Status.INCORRECT
    assert [(t.weights, t.passed) for t in verdict.trials] == [("own", True)] * 5 + [("other", False)]
    assert "other weights than a model begins with" in feedback(verdict, candidate("bias_forgotten").code)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize("setting", ["weight_variation=none", "protocol=kernelbench"])
def test_there_is_no_such_trial_where_it_is_not_wanted(setting):
    verdict = verdict_on("bias_forgotten", setting)
    assert verdict.status is Status.CORRECT, verdict.reason
    assert {t.weights for t in verdict.trials} == {"own"}


def test_a_candidate_without_a_place_for_a_weight_is_not_tried_and_its_verdict_says_so_and_no_model():
    verdict = verdict_on("norm_in_one_table")
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.weights_not_varied == "the candidate has no place for norm.weight, norm.bias"
    assert "no place" not in feedback(verdict, candidate("norm_in_one_table").code)


def test_a_task_that_says_nothing_with_other_weights_accuses_nobody():
    code = TASK.code.replace("self.norm(x)", "self.norm(x) + torch.log(2 * self.norm.weight[0] - 1) * 0")
    code = code.replace("- 1)", "- 1 - 10 * (self.norm.weight[0] - 1).abs())")
    verdict = verdict_on("weights_forgotten", task=make_task("narrow", code))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.weights_not_varied == "the reference is not finite with them"
