"""Each attempt has one outcome; what is not the model's doing is counted and is no failure."""

from __future__ import annotations

import pytest
from support.runs import judged, sample
from support.small_runs import metrics_of, small_run

from mooreeval.verdict import Status
from musacoder.evaluate import Run
from musacoder.evaluate.outcomes import UNSCORED, Outcome
from musacoder.evaluate.tallies import OTHER_WARNINGS, WARNINGS_SHOWN
from musacoder.models.types import FailureKind


def counted(metrics) -> dict[str, int]:
    return {c.outcome: c.count for c in metrics.outcomes if c.turn == 1}


def test_every_status_of_a_verdict_is_an_outcome_of_the_same_name():
    assert {status.value for status in Status} <= {outcome.value for outcome in Outcome}
    rows = {status.value: ["wmma?" if status is Status.UNSUPPORTED else status.value] for status in Status}
    assert counted(metrics_of(small_run(rows))) == {status.value: 1 for status in Status}


@pytest.mark.parametrize("kind", FailureKind)
def test_only_failures_of_the_model_itself_count_against_it(kind):
    metrics = metrics_of(small_run({"a": ["correct", f"~{kind.value}"]}))
    own = kind in ("empty", "only_reasoning", "filtered", "prompt_too_long")
    assert metrics.overall.first.avg.value == (0.5 if own else 1.0)
    assert counted(metrics) == {"correct": 1, "no_answer" if own else "not_answered": 1}
    assert metrics.causes[0].name == f"{'no_answer' if own else 'not_answered'}: {kind.value}"


def test_an_answer_that_the_model_did_not_give_scores_as_one_with_nothing_to_extract():
    metrics = metrics_of(small_run({"a": ["correct", "~only_reasoning"]}))
    assert metrics.overall.first.score.value == (1 - 1) / 2


def test_what_is_asked_for_and_not_there_is_missing_or_pending():
    metrics = metrics_of(small_run({"a": ["correct", "...", "-", "!disk"]}))
    assert counted(metrics) == {"correct": 1, "pending": 1, "missing": 1, "not_judged": 1}
    assert metrics.overall.first.avg.value == 1.0
    assert metrics.coverage.scored == 1


def test_an_empty_run_has_no_rates_and_says_that_all_is_missing():
    metrics = metrics_of(small_run({"a": ["-"], "b": ["-"]}))
    assert (metrics.overall.first.avg, metrics.overall.first.pass_at) == (None, ())
    assert counted(metrics) == {"missing": 2}
    assert metrics.cost.completion_tokens.known == 0
    assert metrics.cost.wall_seconds is None


def test_verdicts_of_other_evidence_are_set_aside_and_counted():
    run, other = small_run({"a": ["correct", "correct"]}), small_run({"a": ["-", "incorrect"]}, evidence="emulation")
    run.verdicts[1] = other.verdicts[0]
    device = metrics_of(run)
    assert counted(device) == {"correct": 1, "other_evidence": 1}
    assert device.overall.first.avg.value == 1.0
    emulation = metrics_of(run, evidence="emulation")
    assert counted(emulation) == {"incorrect": 1, "other_evidence": 1}
    assert (device.evidence, emulation.evidence) == ("device", "emulation")


def test_a_verdict_that_ran_nothing_is_evidence_of_either_kind():
    run = small_run({"a": ["compile_error"]})
    verdict = run.verdicts[0].verdict.model_copy(update={"evidence": None})
    run.verdicts[0] = run.verdicts[0].model_copy(update={"verdict": verdict})
    assert [counted(metrics_of(run, evidence=e)) for e in ("device", "emulation")] == [{"compile_error": 1}] * 2


def test_of_several_records_of_one_answer_the_last_counts():
    run = small_run({"a": ["!disk"]})
    run.verdicts.append(judged("a", status=Status.INCORRECT))
    assert counted(metrics_of(run)) == {"incorrect": 1}


def test_records_that_the_manifest_does_not_ask_for_are_counted_and_left_out():
    run = small_run({"a": ["correct"]})
    run.samples.extend((sample("b"), sample("a", index=5)))
    metrics = metrics_of(run)
    assert (metrics.coverage.outside, metrics.coverage.asked) == (2, 1)


def test_weak_and_refused_tasks_are_named_and_rates_are_given_without_them():
    rows = {"good": ["correct"], "weak": ["correct"], "bad": ["incorrect"]}
    metrics = metrics_of(small_run(rows, admissions={"weak": "weak", "bad": "refused"}))
    assert (metrics.coverage.weak_tasks, metrics.coverage.refused_tasks) == (("weak",), ("bad",))
    assert metrics.overall.first.avg.value == pytest.approx(2 / 3)
    assert metrics.admitted.first.avg.value == 1.0
    assert metrics_of(small_run(rows)).admitted is None


def test_causes_are_the_judges_words_the_commonest_first():
    metrics = metrics_of(small_run({"a": ["illegal", "illegal", "wmma?", "!reason"]}))
    assert [(c.name, c.count) for c in metrics.causes] == [("illegal: no_kernel_launched", 2), ("unsupported: wmma", 1)]


def test_unscored_outcomes_are_those_that_say_nothing_of_the_model():
    assert {o.value for o in UNSCORED} == {
        "unsupported", "not_judged", "not_answered", "other_evidence", "pending", "missing",
    }  # fmt: skip


def warned(*texts: str) -> list[tuple[str, int]]:
    """What is counted where each answer has one of these warnings."""
    run = small_run({"a": ["correct"] * len(texts)})
    samples = [s.model_copy(update={"warnings": (text,)}) for s, text in zip(run.samples, texts, strict=True)]
    return [(c.name, c.count) for c in metrics_of(Run(run.manifest, samples, run.verdicts)).warnings]


def test_warnings_of_answers_are_counted_by_their_text():
    evil = "asked m, answered by gpt-evil"
    assert warned("asked m, answered by n", evil, evil) == [(evil, 2), ("asked m, answered by n", 1)]


def test_a_server_with_a_new_name_for_every_answer_makes_no_long_list():
    found = warned(*(f"asked m, answered by {number:03}" for number in range(100)))
    assert len(found) == WARNINGS_SHOWN + 1
    assert found[-1] == (OTHER_WARNINGS, 100 - WARNINGS_SHOWN)
