"""Answers to questions are what a run, PyTorch or the judge's own formula confirm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from support.programs import gallery_programs
from support.verdicts import verdict

from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.reward import reward
from mooreeval.verdict import Launch, Shape, Status, Trial
from mooreeval.verify import LocalVerifier
from musacoder.data.asking import Asking, task_of
from musacoder.data.graph import Graph, Node, TensorSpec
from musacoder.data.io import Judgement
from musacoder.data.questions import Question, questions, rows_of_questions
from musacoder.data.records import Program, RowKind
from musacoder.prompts import PromptConfig

RELU = gallery_programs("relu")[0]
PLAIN = RELU.model_copy(
    update={
        "candidate_code": '''source = """
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
"""
class ModelNew: pass
'''
    }
)
SHAPES = (
    Shape(name="input[0]", shape=(7, 300), dtype="float32"),
    Shape(name="output", shape=(7, 300), dtype="float32"),
)
LAUNCH = Launch(kernel="relu", grid=(9, 1, 1), block=(256, 1, 1), shared_bytes=0, count=5)


def own(**fields: Any) -> Judgement:
    known = {"shapes": SHAPES, "launches": (LAUNCH,), **fields}
    return Judgement(
        program_hash=PLAIN.program_hash, code=PLAIN.candidate_code, verdict=verdict(Status.CORRECT, **known)
    )


def asked(name: str, *judgements: Judgement, program: Program = PLAIN) -> Question:
    return next(q for q in questions(program, judgements) if q.name == name)


def test_a_launch_is_told_in_blocks_and_threads():
    question = asked("launch", own())
    assert "input[0] 7x300 float32" in question.text and PLAIN.candidate_code.strip() in question.text
    assert question.answer == "relu: grid 9x1x1, 9 blocks; block 256x1x1, 256 threads; 2304 threads in all."


def test_a_threads_number_is_computed_from_the_launch_as_it_ran():
    question = asked("thread", own())
    found = re.search(r"in thread (\d+) of block (\d+)", question.text)
    assert found
    thread, block = map(int, found.groups())
    assert 0 <= thread < 256 and 0 <= block < 9
    assert question.answer.endswith(f"{block} * 256 + {thread} = {block * 256 + thread}.")


def test_threads_beyond_the_output_are_counted():
    assert asked("surplus", own()).answer.endswith("the output has 2100 elements: 204 more threads than elements.")
    exact = own(launches=(LAUNCH.model_copy(update={"grid": (7, 1, 1), "block": (300, 1, 1)}),))
    assert asked("surplus", exact).answer.endswith("2100 elements: as many.")


def test_a_kernel_that_numbers_its_threads_in_another_way_is_not_asked_about():
    other = PLAIN.model_copy(update={"candidate_code": PLAIN.candidate_code.replace("blockIdx.x * ", "blockIdx.y * ")})
    assert not any(q.name == "thread" for q in questions(other, [own()]))


def test_offsets_are_those_of_pytorch():
    question = asked("offset", own())
    index = tuple(map(int, re.findall(r"\d+", question.text.split("element [")[1])))
    place = torch.arange(2100).reshape(7, 300)[index]
    assert question.answer.endswith(f"= {int(place)}.")


def test_bytes_are_those_of_the_tensors():
    assert asked("bytes", own()).answer == "2100 * 4 + 2100 * 4 = 16800 bytes."


@pytest.mark.parametrize("q", [0.0, 0.4])
def test_a_verdict_is_explained_with_its_own_reward(q: float):
    trials = tuple(Trial(index=i, seed=i, passed=i < q * 5) for i in range(5))
    wrong = verdict(Status.INCORRECT, q=q, trials=trials)
    mutant = Judgement(program_hash=PLAIN.program_hash, rules=("bound_dropped",), code="x", verdict=wrong)
    answer = asked("verdict", mutant).answer
    assert f"{round(q * 5)} of 5 trials pass, q = {q:g}" in answer
    assert f"Reward {reward(wrong):g}" in answer and ("0.5 q" in answer) == (q > 0)


def test_shapes_of_intermediates_are_the_graphs():
    x, y = TensorSpec(name="x", shape=(7, 300)), TensorSpec(name="y", shape=(7,))
    graph = Graph(inputs=(x,), nodes=(Node(operator="row_sum", inputs=("x",), output=y),), outputs=("y",))
    assert asked("shapes", program=PLAIN.model_copy(update={"graph": graph})).answer == "row_sum: (7,)"


def test_a_wrong_program_is_asked_nothing_about_its_run():
    assert not list(questions(PLAIN, [own().model_copy(update={"verdict": verdict(Status.INCORRECT)})]))


def test_rows_say_that_they_are_computed_and_differ_in_kind():
    rows = list(rows_of_questions(PLAIN, [own()], Asking(PromptConfig(templates=Path("compact"))), most=3))
    assert len({r.facts["question"] for r in rows}) == 3 and all(r.kind == RowKind.QUESTION for r in rows)
    assert all(r.facts["verified_by"] == "computed" and r.source == "computed" for r in rows)


@pytest.mark.slow
def test_the_launch_that_is_told_is_the_one_that_ran():
    plain = PLAIN.model_copy(update={"candidate_code": RELU.candidate_code})
    with LocalVerifier(load_config(settings=["backend=simulator", "seed=5"])) as verifier:
        found = verifier.verify(task_of(plain), Candidate(plain.candidate_code))
    judgement = Judgement(program_hash=plain.program_hash, code=plain.candidate_code, verdict=found)
    (launch,) = found.launches
    question = asked("launch", judgement, program=plain)
    assert f"grid {launch.grid[0]}x" in question.answer and f"{launch.block[0]} threads;" in question.answer
    assert all(str(s) in question.text for s in found.shapes if s.name.startswith("input"))
