"""Slim headers hold PyTorch's own declarations of what a source names; what they could change is left to full."""

import re
import subprocess
from pathlib import Path

import pytest
from support.cuda_build import other_torches

from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.cuda_flags import CudaFlags
from mooreeval.toolchains.cuda_slim import Index, make_index, render, words_of
from mooreeval.toolchains.cuda_slim_rules import plain, reason_for_full
from mooreeval.toolchains.simulator_parts import find_compiler, find_torch

HEAD = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"
ORDINARY = (
    HEAD
    + """
#include <c10/cuda/CUDAGuard.h>
#include <ATen/cuda/CUDAContext.h>
// torch::nn and autograd in a comment mean nothing
template <typename T> __global__ void relu(const T* x, T* y, int n) { if (threadIdx.x < n) y[0] = max(x[0], T(0)); }
std::vector<torch::Tensor> run(torch::Tensor x, c10::optional<at::Tensor> bias) {
  TORCH_CHECK(x.is_cuda(), "requires_grad() in a text means nothing");
  const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
  auto y = torch::empty_like(x), z = torch::zeros({x.size(0)}, torch::TensorOptions().dtype(torch::kFloat32));
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "relu", ([&] {
    relu<scalar_t><<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 1);
  }));
  return {y, at::softmax(z, 0).contiguous()};
}
"""
)


OTHERS = [pytest.param(p, id=p.parent.name, marks=pytest.mark.cuda_build) for p in other_torches()]


@pytest.fixture(scope="module", params=[None, *OTHERS])
def torch_dir(request: pytest.FixtureRequest) -> Path:
    """Each release of PyTorch whose headers are here: this Python's, and those that are named."""
    return request.param or find_torch()


@pytest.fixture(scope="module")
def index(torch_dir: Path) -> Index:
    return make_index(torch_dir / "include")


def reason(text: str, index: Index, flags: CudaFlags | None = None) -> str | None:
    extension = Extension("k", (Source("cuda_sources[0]", "cuda", text),), (("run", "run"),))
    return reason_for_full(extension, flags.defined if flags else (), index)


def test_ordinary_code_is_taken(index: Index) -> None:
    assert reason(ORDINARY, index) is None


@pytest.mark.parametrize(
    "line",
    [
        "auto y = x.requires_grad_(true);",
        "auto y = torch::empty({1}, torch::TensorOptions().requires_grad(true));",
        "struct F : torch::autograd::Function<F> {};",
        "torch::nn::Linear layer(3, 4);",
        "auto y = torch::tensor({1.0f, 2.0f});",
        "auto y = torch::from_blob(p, {1});",
        "using namespace torch;",
        "using namespace at;",
        "namespace t = torch;",
        "namespace torch { int mine; }",
        "Wrapper<torch::Tensor> w;",
        "static_assert(std::is_convertible_v<torch::Tensor, int>);",
        "#define OP(x) torch::x##_like(y)",
        "#define AT_PARALLEL_OPENMP 1",
        "#define Tensor Other",
        "#include <torch/script.h>",
        '#include "ATen/ops/add.h"',
        "#include <pybind11/numpy.h>",
        "#include <Python.h>",
        "TORCH_LIBRARY(mine, m) {}",
        "py::list f(py::dict d);",
        "auto h = at::cuda::getCurrentCUDABlasHandle();",
        "auto s = torch::cuda::synchronize();",
        "c10::IValue v;",
        "torch::NoGradGuard guard;",
        "auto v = x.index({torch::indexing::Slice()});",
        "torch::misspelt_function(x);",
    ],
)
def test_what_slim_headers_could_change_is_left_to_the_full_build(line: str, index: Index) -> None:
    assert reason(f"{HEAD}\n{line}\n", index) is not None


def test_a_flag_that_steers_pytorchs_headers_is_left_to_the_full_build(index: Index) -> None:
    assert reason(ORDINARY, index, CudaFlags(defined={"USE_ROCM"})) is not None
    assert reason(ORDINARY, index, CudaFlags(defined={"N", "__CUDA_NO_HALF_OPERATORS__"})) is None


def test_own_headers_are_known(index: Index) -> None:
    source = Source("k.cu", "cuda", '#include "torch/mine.h"\n')
    header = Source("torch/mine.h", "cuda", "int x;\n")
    assert reason_for_full(Extension("k", (source,), None), (), index) is not None
    assert reason_for_full(Extension("k", (source,), None, headers=(header,)), (), index) is None


def test_comments_and_literals_are_left_out() -> None:
    text = 'a /* torch::nn\n */ b // autograd\nc "x\\"autograd" \'"\' R"(a\nb)" d'
    assert plain(text) == 'a  \n b  \nc "" "" ""\n d'


def test_each_operator_comes_with_all_its_overloads(index: Index) -> None:
    files = render(index, {"cumprod"})
    without = render(index, set())
    assert files["torch_slim/core.h"].count("at::Tensor cumprod(") == len(index.functions["cumprod"])
    assert " cumprod(" not in without["torch_slim/core.h"]
    assert "Tensor::cumprod(" in files["ATen/core/TensorBody.h"]
    assert "Tensor cumprod(" not in without["ATen/core/TensorBody.h"]


def test_the_index_survives_being_kept(index: Index) -> None:
    assert Index.from_json(index.to_json()) == index


@pytest.mark.slow
@pytest.mark.parametrize("more", ["x.add(1)", "torch::cat({x, x}).sum() * 2", "torch::rand({3}) / x.cumprod(0)"])
def test_what_is_rendered_compiles_against_the_rest_of_pytorch(
    more: str, torch_dir: Path, index: Index, tmp_path: Path
) -> None:
    text = f"#include <torch/types.h>\ntorch::Tensor f(torch::Tensor x) {{ return {more}; }}\n"
    for name, header in render(index, words_of([text])).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(header)
    (tmp_path / "unit.cpp").write_text(text)
    folders = [tmp_path, torch_dir / "include"]
    standard = re.search(r"'(-std=c\+\+\d+)'", (torch_dir / "utils" / "cpp_extension.py").read_text())
    assert standard
    command = [find_compiler(), standard[1], "-fsyntax-only", *(f"-isystem{folder}" for folder in folders), "unit.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
