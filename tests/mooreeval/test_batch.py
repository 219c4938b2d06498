"""Programs of a trusted author, many in one build: each is told right from wrong, and a bad one costs only itself."""

from pathlib import Path

import pytest

from mooreeval import gallery
from mooreeval.batch import BatchLimits, BatchVerifier
from mooreeval.candidate import Candidate, load_candidate
from mooreeval.config import load_config
from mooreeval.errors import UsageError
from mooreeval.task import load_task, make_task
from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.simulator_batch import unit_of
from mooreeval.verdict import Status

FOLDER = Path(gallery.__file__).parent
# What a batch does not take, right as it is: sources that are asked for in the constructor, a method of tensors that
# the small header lacks.
NOT_IN_A_BATCH = {"max_pool/one_thread_per_output", "relu/float4_with_tail", "linear_gelu/warp_dot"}

WEIGHTED = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(100007))

    def forward(self, x):
        return torch.relu(x * self.weight)


def get_inputs():
    return [torch.randn(100007)]
"""


def program(name, replaced=("", "")):
    """Task and candidate of the gallery, with one piece of its text replaced."""
    task, _, candidate = name.partition("/")
    code = load_candidate(FOLDER / task / "candidates" / f"{candidate}.py").code
    assert replaced[0] in code
    return load_task(FOLDER / task / "task.py"), Candidate(code.replace(*replaced))


@pytest.fixture(scope="module")
def verifier():
    with BatchVerifier(load_config(settings=["seed=5eed"]), BatchLimits(program_seconds=6)) as verifier:
        yield verifier


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_the_gallery_is_told_right_from_wrong(verifier, right):
    pairs = {
        f"{e.task_name}/{e.candidate_name}": (load_task(e.task_path), load_candidate(e.candidate_path))
        for e in gallery.load()
        if (e.expected.status is Status.CORRECT) is right and e.expected.ends_by_itself
    }
    pairs = {name: pair for name, pair in pairs.items() if isinstance(pair[1], Candidate)}
    report = verifier.check(list(pairs.values()))
    accepted = {name for name, outcome in zip(pairs, report.outcomes, strict=True) if outcome.status is Status.CORRECT}
    assert accepted == (pairs.keys() - NOT_IN_A_BATCH if right else set())


@pytest.mark.slow
def test_a_weight_of_ones_that_is_left_out_is_missed(verifier):
    ones = "\n        self.weight = nn.Parameter(torch.ones(100007))"
    code = program("relu/plain")[1].code.replace("super().__init__()", "super().__init__()" + ones)
    right = code.replace("self.relu.relu_cuda(x)", "self.relu.relu_cuda(x, self.weight)")
    right = right.replace("torch::Tensor x)", "torch::Tensor x, torch::Tensor w)").replace(
        "float* x,", "float* x, const float* w,"
    )
    right = right.replace("fmaxf(x[i], 0.0f)", "fmaxf(x[i] * w[i], 0.0f)").replace(
        "x.data_ptr<float>(),", "x.data_ptr<float>(), w.data_ptr<float>(),"
    )
    weighted = make_task("weighted", WEIGHTED)
    outcomes = verifier.check([(weighted, Candidate(right)), (weighted, Candidate(code))]).outcomes
    assert [outcome.status for outcome in outcomes] == [Status.CORRECT, Status.INCORRECT]


@pytest.mark.slow
def test_programs_with_the_same_names_are_built_in_one_run_of_the_compiler(verifier):
    grid = program("relu/grid_stride")
    report = verifier.check([grid, program("relu/plain"), grid, program("row_softmax/warp_per_row")])
    assert [outcome.status for outcome in report.outcomes] == [Status.CORRECT] * 4
    assert report.compiler_runs == 1


@pytest.mark.slow
def test_one_that_does_not_compile_costs_two_more_runs_and_only_itself(verifier):
    bad = program("relu/missing_semicolon")
    report = verifier.check([program("relu/plain"), bad, program("matmul/tiled")])
    assert [outcome.status for outcome in report.outcomes] == [Status.CORRECT, Status.COMPILE_ERROR, Status.CORRECT]
    assert report.compiler_runs == 3  # all, the one that the compiler names, the others
    assert "expected ',' or ';'" in report.outcomes[1].reason


@pytest.mark.slow
def test_an_open_bracket_does_not_reach_the_next_program(verifier):
    bad = program("relu/plain", ("fmaxf(x[i], 0.0f);\n    }", "fmaxf(x[i], 0.0f);\n"))
    report = verifier.check([program("matmul/tiled"), bad, program("relu/grid_stride")])
    assert [outcome.status for outcome in report.outcomes] == [Status.CORRECT, Status.COMPILE_ERROR, Status.CORRECT]


@pytest.mark.slow
def test_a_crash_an_exit_and_a_hang_cost_only_their_program(verifier):
    names = ["matmul/unguarded_edges", "relu/exits", "relu/plain", "cumulative_sum/never_returns", "matmul/tiled"]
    outcomes = verifier.check([program(name) for name in names]).outcomes
    assert [outcome.status is Status.CORRECT for outcome in outcomes] == [False, False, True, False, True]
    assert outcomes[0].reason.startswith("out of bounds at candidate:")
    assert "exited with code 0" in outcomes[1].reason


def test_a_module_is_named_for_its_place_and_macros_end_with_it():
    source = Source("cuda_sources[0]", "cuda", "#include <cuda_runtime.h>\n#define T 4\n__global__ void k() {}\n")
    text = unit_of({3: Extension("same", (source,), functions=()), 5: Extension("same", (source,), functions=())})
    assert text.rindex("#include") < text.index("namespace moore_batch_3")
    assert "PyInit_b3_" in text and "PyInit_b5_" in text
    assert text.count('push_macro("T")') == text.count('pop_macro("T")') > 1
    assert '#line 1 "program5/cuda_sources[0]"' in text


def test_a_batch_needs_the_small_tensor_header():
    with pytest.raises(UsageError, match="tier mini"):
        BatchVerifier(load_config(settings=["simulator.tiers=[full]"]))
