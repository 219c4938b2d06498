"""What a teacher says is judged before it is used; nonsense and silence are counted, named, and cost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.model_server import Reply, chat, refusal, serving
from support.programs import gallery_programs

from mooreeval.config import load_config
from mooreeval.task import make_task
from mooreeval.task_metadata import Leaf, TaskMetadata, TensorMetadata
from mooreeval.verify import LocalVerifier
from musacoder.config import BenchConfig
from musacoder.data.asking import Asking
from musacoder.data.io import read_records
from musacoder.data.repair import rows_of_run
from musacoder.data.teacher import (
    FILE,
    Reason,
    ReasonConfig,
    programs_of_run,
    read_reasons,
    why_refused,
    write_answers,
    write_reasons,
)
from musacoder.models import Model, ModelConfig, open_model
from musacoder.runlog import RunFolder
from musacoder.suites import SuiteTask

PROGRAMS = gallery_programs("relu", "matmul", "row_softmax")
GOOD = """1. Semantic decomposition: a maximum with zero.
2. Scalar mathematics: out[i] = max(x[i], 0).
3. Shape computation: x and the output are (64, 300).
4. Index mapping: thread i computes element i.
5. Boundary handling: threads past the end leave.
6. Error pre-analysis: nothing is shared."""


def opened(url: str, **server: Any) -> Model:
    quick = {"attempts": 1, "first_seconds": 0.01}
    return open_model("wise", ModelConfig.model_validate({"server": {"base_url": url, "retry": quick, **server}}))


def outputs(*shape: int) -> TaskMetadata:
    tensor = TensorMetadata(shape=shape, stride=None, dtype="float32")
    return TaskMetadata(
        init_inputs=(), inputs=(), parameters=(), buffers=(), outputs=(Leaf(path="", tensor=tensor),), elements=0,
        flops=0, bytes=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shape", "why"),
    [
        (GOOD, (64, 300), None),
        (GOOD, (64, 301), "its output shapes are not the task's"),
        (GOOD.replace("(64, 300)", "what it has to be"), (64, 300), "its output shapes are not the task's"),
        (GOOD.replace("4. ", "7. "), (64, 300), "it is not six numbered steps"),
        (f"Sure! Here you go:\n{GOOD}", (64, 300), "it is not six numbered steps"),
        (GOOD + " And so on." * 200, (64, 300), "it is too long"),
        (GOOD + "\n```cpp\nint x;\n```", (64, 300), "it holds code"),
        ("I am a teapot.", (64, 300), "it is not six numbered steps"),
    ],
)
def test_reasoning_is_held_against_its_form_and_the_tasks_shapes(text: str, shape: tuple[int, ...], why: str | None):
    assert why_refused(text, outputs(*shape), ReasonConfig()) == why


def test_nonsense_and_silence_are_counted_named_and_only_good_reasoning_is_kept(tmp_path: Path):
    said = iter([GOOD, "I am a teapot.", ""])
    with serving(lambda _request, _number: chat(next(said))) as server, opened(server.url) as model:
        report = write_reasons(PROGRAMS, tmp_path, model, ReasonConfig(asking=1))
    assert (report.asked, report.usable) == (3, 1)
    assert report.outcomes == {"usable": 1, "refused": 1, "no answer": 1}
    assert any("it is not six numbered steps" in line for line in report.named)
    assert any("empty" in line for line in report.named)
    reason = read_reasons(tmp_path)
    assert sorted(filter(None, map(reason, PROGRAMS))) == [GOOD]


def test_what_was_said_is_not_asked_for_again_and_what_was_not_is(tmp_path: Path):
    said = iter([GOOD, "I am a teapot.", ""])
    with serving(lambda _request, _number: chat(next(said))) as server, opened(server.url) as model:
        write_reasons(PROGRAMS, tmp_path, model, ReasonConfig(asking=1))
    with serving(lambda _request, _number: chat(GOOD)) as server, opened(server.url) as model:
        report = write_reasons(PROGRAMS, tmp_path, model, ReasonConfig())
        assert len(server.requests) == 1 and report.usable == 1
    assert len(list(read_records(Reason, tmp_path / FILE))) == 3


def test_a_server_that_refuses_everything_is_given_up_and_nothing_is_lost(tmp_path: Path):
    def script(_request: dict[str, Any], number: int) -> Reply:
        return chat(GOOD) if number == 0 else refusal(500, "out of chalk")

    with serving(script) as server, opened(server.url) as model:
        report = write_reasons(PROGRAMS, tmp_path, model, ReasonConfig(asking=1, failing=2))
    assert report.named[0].startswith("stopped: 2 prompts in a row got no answer") and "out of chalk" in report.named[0]
    assert report.usable == 1 and [r.text for r in read_records(Reason, tmp_path / FILE)] == [GOOD]


def test_a_rows_reasoning_is_the_teachers_where_prompts_ask_for_steps(tmp_path: Path):
    with serving(lambda _request, _number: chat(GOOD)) as server, opened(server.url) as model:
        write_reasons(PROGRAMS[:1], tmp_path, model, ReasonConfig())
    asking = Asking(reason=read_reasons(tmp_path))
    thought = asking.reason(PROGRAMS[0])
    assert asking.answer("x = 1", thought).startswith(f"<think>\n{GOOD}\n</think>\n\n```python\nx = 1")


# ------------------------------------------------------------------------------------------------------------- answers
@pytest.mark.slow
def test_answers_are_judged_by_the_simulator_and_only_right_ones_become_programs(tmp_path: Path):
    (relu,) = gallery_programs("relu")
    right = f"Here:\n```python\n{relu.candidate_code}\n```"
    wrong = right.replace("fmaxf", "fminf")
    said = {0: right, 1: wrong, 2: "I am a teapot.", 3: ""}
    config = BenchConfig.model_validate({
        "samples": 4, "verify": load_config(settings=["backend=simulator", "seed=5"]).model_dump(),
        "model": {"name": "wise"}, "prompt": {"metadata": False}, "work": {"asking": 1},
    })  # fmt: skip
    task = SuiteTask(make_task("relu", relu.task_code))

    def script(request: dict[str, Any], _number: int) -> Reply:
        first = request["seed"] - seed  # an answer that is asked for alone has a seed of its own
        return chat(*(said[first + i] for i in range(request.get("n", 1))))

    seed = config.sampling.of(task.task.task_hash, 0, 1).seed or 0
    with serving(script) as server, opened(server.url) as model, LocalVerifier(config.verify) as verifier:
        report = write_answers([task], tmp_path / "run", config, model, verifier)
        asked = len(server.requests)
        again = write_answers([task], tmp_path / "run", config, model, verifier)
        assert len(server.requests) == asked and again.outcomes == report.outcomes
    assert report.outcomes == {"correct": 1, "incorrect": 1, "no_candidate": 1, "empty": 1}
    assert report.usable == 1 and len(report.named) == 3
    run = RunFolder.open(tmp_path / "run")
    known = {relu.task_hash: relu}
    (program,) = programs_of_run(run, known, "CC-BY-4.0")
    assert program.candidate_code.strip() == relu.candidate_code.strip() and program.source == "teacher:wise"
    assert (program.status, program.judged_by, program.licence) == ("correct", "simulator", "CC-BY-4.0")
    (repair,) = rows_of_run(run, {relu.task_hash: [program]}, Asking())
    assert "fminf" in repair.prompt[-2].content and "fmaxf" in repair.completion[0].content
