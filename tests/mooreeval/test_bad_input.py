"""Input that breaks readers, parsers, compilers or memory: a verdict of the right kind, and the judge stays small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.builds import extension

from mooreeval.candidate import load_candidate
from mooreeval.config import load_config
from mooreeval.task import Task, make_task
from mooreeval.toolchains.base import BuildFailure
from mooreeval.toolchains.simulator import SimulatorToolchain
from mooreeval.verdict import Verdict
from mooreeval.verify import LocalVerifier

from .conftest import SCALE_CANDIDATE

SETTINGS = (
    "backend=simulator", "seed=5eed", "trials=2", "memory.child_mib=3072", "simulator.audit_share=0",
    "deadlines.run_seconds=60", "deadlines.record_seconds=60", "deadlines.build_seconds=120",
)  # fmt: skip
JUDGE_MIB = 600  # what it may take more for any of these

pytestmark = pytest.mark.slow

TWO_OUTPUTS = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.0, x * 2.0

def get_inputs():
    return [torch.randn(32, 64)]
"""
DOUBLES = '''
import torch
from torch.utils.cpp_extension import load_inline

cpp = "torch::Tensor run(torch::Tensor x);"
ext = load_inline(name="doubles", cpp_sources=cpp, functions=["run"], cuda_sources=r"""
#include <torch/extension.h>
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    twice<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
""")

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = ext.run(x)
        return RESULT
'''


@pytest.fixture(scope="module")
def verifier() -> Iterator[LocalVerifier]:
    with LocalVerifier(load_config(settings=SETTINGS)) as verifier:
        yield verifier


@pytest.fixture
def judge(verifier: LocalVerifier, scale_task: Task, tmp_path: Path):
    """Judges a file of these bytes; fails where the judge itself came to take much memory."""

    def judge(content: bytes, task: Task = scale_task) -> Verdict:
        file = tmp_path / "candidate.py"
        file.write_bytes(content)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from now on
        before = _kib("VmRSS")
        verdict = verifier.verify(task, load_candidate(file))
        assert _kib("VmHWM") - before < JUDGE_MIB << 10
        return verdict

    return judge


def _kib(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def with_kernel(cuda: str) -> bytes:
    """The honest candidate with more CUDA in front of its kernel."""
    return SCALE_CANDIDATE.replace("__global__ void scale", f"{cuda}\n__global__ void scale", 1).encode()


@pytest.mark.parametrize(
    "content",
    [b"x = 1\n" * (50 << 18), SCALE_CANDIDATE.encode() + b"\0"],
    ids=["of 78 MB", "with a NUL byte"],
)  # fmt: skip
def test_a_file_that_is_no_source_is_no_candidate(judge, content):
    assert judge(content).status.value == "no_candidate"


def test_bytes_that_are_no_utf_8_are_read_as_what_they_can_be(judge):
    assert judge(SCALE_CANDIDATE.encode().replace(b"self.factor", b"self.f\xff\xfe", 1)).status.value == "compile_error"
    assert judge(b"\xff\xfe" + SCALE_CANDIDATE.encode("utf-16-le")).status.value == "correct"


@pytest.mark.parametrize(
    "nested",
    ["(" * 100_000 + ")" * 100_000, "-" * 300_000 + "1", "[" * 90 + "]" * 90 + "+ f'{" * 200, "x" + ".a" * 200_000,
     "lambda: " * 60_000 + "0", "x" + "()" * 150_000, "1" + "+1" * 200_000, "9" * 900_000],
    ids=["brackets", "signs", "f-strings", "attributes", "lambdas", "calls", "sums", "a long number"],
)  # fmt: skip
def test_nesting_that_breaks_parsers_is_a_verdict(judge, nested):
    verdict = judge(SCALE_CANDIDATE.encode() + f"\nwhatever = {nested}\n".encode())
    assert verdict.status.value in ("compile_error", "runtime_error", "illegal", "correct")


@pytest.mark.parametrize(
    "cuda",
    ["int f() { return " + "(" * 50_000 + "1" + ")" * 50_000 + "; }",
     "void f() { " + "{" * 30_000 + "}" * 30_000 + " }",
     "#define A(x) x x\n#define B A(A(A(A(A(A(A(A(A(A(A(A(A(A(A(A(1))))))))))))))))\nint f() { return B B B B; }",
     "template <int N> struct S { static const int v = S<N + 1>::v; }; int f() { return S<0>::v; }"],
    ids=["parentheses", "blocks", "macros", "templates"],
)  # fmt: skip
def test_cuda_that_breaks_compilers_is_a_verdict(judge, cuda):
    assert judge(with_kernel(cuda)).status.value in ("illegal", "compile_error", "unsupported", "correct")


def test_hundreds_of_thousands_of_errors_are_a_compile_error_of_bounded_size():
    errors = "a;" * 450_000
    failed = SimulatorToolchain().build(extension(f"torch::Tensor f(torch::Tensor x) {{ {errors} return x; }}"), 300)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "compile_error"
    assert len(str(failed)) < 200_000


@pytest.mark.parametrize(
    "result",
    ["torch.zeros(10**9, device=x.device)", "y[0, 0].expand(10**9)", "y.new_zeros(1).expand(32, 10**8)",
     "[y.new_zeros(1)] * 10**6", "{i: i for i in range(10**6)}", "'x' * 10**9"],
    ids=["a billion elements", "a billion times one", "many rows", "a million tensors", "a million keys", "text"],
)  # fmt: skip
def test_an_output_without_measure_is_the_candidates_trouble(judge, result):
    task = make_task("doubles", TWO_OUTPUTS.replace("x * 2.0, x * 2.0", "x * 2.0"))
    verdict = judge(DOUBLES.replace("RESULT", result).encode(), task)
    assert verdict.status.value in ("incorrect", "runtime_error")


@pytest.mark.parametrize(
    ("result", "status"),
    [("y, y", "correct"), ("y, y.clone().t().contiguous().t()", "correct"), ("y, y.expand(1, 32, 64)[0]", "correct"),
     ("y, y[:1].expand(32, 64)", "incorrect"), ("y, y[:, :1].expand(32, 64)", "incorrect")],
    ids=["one tensor twice", "other strides", "a view", "rows of stride 0", "columns of stride 0"],
)  # fmt: skip
def test_shared_and_strided_outputs_are_judged_by_their_values(judge, result, status):
    verdict = judge(DOUBLES.replace("RESULT", result).encode(), make_task("two", TWO_OUTPUTS))
    assert verdict.status.value == status, verdict.reason
