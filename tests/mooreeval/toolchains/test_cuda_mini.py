"""The small tensor header takes only what it knows, and never what it could read otherwise than PyTorch's own."""

import re
from pathlib import Path

import pytest

from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.cuda_mini import _HEADERS, INCLUDES, reason_against
from mooreeval.toolchains.cuda_slim import Index

INDEX = Index(functions={"relu": [], "softmax": []})
ORDINARY = """
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
#include <cub/cub.cuh>
__global__ void relu(const float* x, float* y, int n) {}
torch::Tensor my_relu(const torch::Tensor& x, c10::optional<at::Tensor> bias) {
  TORCH_CHECK(x.dim() == 2, "two, not ", x.dim());  // TORCH_VERSION_MAJOR
  const c10::cuda::CUDAGuard guard(x.device());
  auto y = torch::zeros({x.size(0)}, torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA));
  relu<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), 1);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""


def reason(text: str) -> str | None:
    return reason_against(Extension("k", (Source("cuda_sources[0]", "cuda", text),), None), INDEX)


def test_ordinary_code_is_taken() -> None:
    assert reason(ORDINARY) is None


@pytest.mark.parametrize(
    "line",
    [
        "torch::Tensor relu(torch::Tensor x) { return x; }",
        "std::vector<torch::Tensor> softmax(torch::Tensor x);",
        "torch::Tensor softmax(torch::Tensor x) { return x.softmax(0); }",
    ],
)
def test_a_function_that_is_named_as_pytorchs_and_only_bound_is_taken(line: str) -> None:
    assert reason(f"{ORDINARY}\n{line}\n") is None


@pytest.mark.parametrize(
    "line",
    [
        "auto y = torch::softmax(x, 0);",
        "auto s = c10::cuda::getStreamFromPool();",
        "c10::SmallVector<int, 4> v;",
        "#if TORCH_VERSION_MAJOR < 2\n#endif",
        "AT_DISPATCH_ALL_TYPES_AND2(a, b, c, d, [&] {});",
        "#include <ATen/AccumulateType.h>",
        "#include <torch/script.h>",
        "torch::Tensor relu(torch::Tensor x) { return x; }\ntorch::Tensor g(torch::Tensor x) { return relu(x); }",
        "torch::Tensor relu(torch::Tensor x) { return x; }\n#define TWICE(x) relu(relu(x))",
        "at::Half h = 0; float f = at::opmath_type<at::Half>(h);",
    ],
)
def test_what_it_does_not_know_is_left_to_pytorchs_own_headers(line: str) -> None:
    assert reason(f"{ORDINARY}\n{line}\n") is not None


PAGE = Path(__file__).parents[3] / "docs" / "verdict.md"


def bullet(name: str) -> tuple[list[str], list[str]]:
    """Names that the page says the smallest tier has, and those it says it has not."""
    text = re.search(rf"^- \*\*{name}\*\*: (.*?)(?=^- |^$)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert text
    has, _, lacks = re.sub(r"; no |\. No ", "\0", text[1]).partition("\0")
    return re.findall(r"`([\w./]+)`", has), re.findall(r"`([\w./]+)`", lacks)


@pytest.mark.parametrize("name", ["Tensors", "Types", "CUDA"])
def test_the_page_says_what_the_small_header_has_and_lacks(name: str) -> None:
    headers = "\n".join(path.read_text() for path in (INCLUDES / "moore_mini").glob("*.h"))
    has, lacks = bullet(name)
    assert has
    for word in has:
        assert re.search(rf"{word}\b" if word == "_like" else rf"\b{word}\b", headers, re.IGNORECASE), word
    for word in lacks:
        assert not re.search(rf"\b{word}\b", headers), word


def test_the_page_names_the_headers_that_the_small_one_stands_for() -> None:
    named, _ = bullet("Headers of PyTorch")
    assert {path.rpartition("/")[2] for path in named} == {path.rpartition("/")[2] for path in _HEADERS}
