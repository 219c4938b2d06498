"""The end of a bench run says of its records what the report says of them."""

from __future__ import annotations

import io

from rich.console import Console
from support.report_runs import write_run
from support.runs import judged, manifest, sample
from support.verdicts import out_of_bounds, verdict

from mooreeval.verdict import Mismatch, Status, Trial
from musacoder.evaluate import evaluate
from musacoder.runlog import RunFolder
from musacoder.summary import metrics_of, print_metrics


def wrong_trial(index: int, kind: str) -> Trial:
    return Trial(index=index, seed=1, passed=False, mismatch=Mismatch(output="output", kind=kind, message="all of it"))


def written(path, **fields) -> RunFolder:
    """A run with two answers: wrong in three trials by two ways, and out of bounds."""
    trials = (wrong_trial(0, "values"), wrong_trial(1, "values"), wrong_trial(2, "shape"))
    found = (
        verdict(Status.INCORRECT, q=0.0, trials=trials),
        verdict(Status.RUNTIME_ERROR, findings=(out_of_bounds(),)),
    )
    with RunFolder.create(path, manifest(), {}) as run:
        for index, one in enumerate(found):
            run.add_sample(sample(index=index, **fields))
            run.add_verdict(judged(index=index, verdict=one))
    return run


def in_full(run: RunFolder):
    return evaluate(run.manifest, run.samples(), run.verdicts())


def test_causes_are_those_of_the_whole_records(tmp_path):
    metrics = metrics_of(written(tmp_path / "a"), {})
    assert {c.name: c.count for c in metrics.causes} == {
        "incorrect: shape": 1,
        "incorrect: values": 1,
        "runtime_error: out_of_bounds": 1,
    }
    assert metrics == in_full(RunFolder.open(tmp_path / "a"))


def test_what_is_left_out_of_a_record_changes_no_figure(tmp_path):
    run = write_run(tmp_path / "b", tasks=6, samples=4, turns=3, skill=0.5)
    assert metrics_of(run, {}) == in_full(run)


def test_another_model_than_was_asked_is_told_of_at_the_end(tmp_path):
    run = written(tmp_path / "a", warnings=("asked m, answered by gpt-\x1b[31mevil",))
    console = Console(file=io.StringIO(), width=100, color_system=None)
    with console.capture() as captured:
        print_metrics(console, metrics_of(run, {}))
    told = captured.get()
    assert "2 answers: asked m, answered by gpt-" in told
    assert "\x1b" not in told
