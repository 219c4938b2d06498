"""Small candidates for the tests of legality by source: a frame around what is tried, and the rules that it breaks."""

from mooreeval.legality.source import broken_rules
from mooreeval.toolchains.base import Extension, Source

KERNEL = """
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""
HOST = """
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
SOURCE = KERNEL + HOST
PYTHON = '''import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline
{top}
source = """..."""
ext = load_inline(name="e", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])
class ModelNew(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.size = size
        {init}
    {methods}
    def forward(self, x, scale=2.0):
        {body}
'''


def python(
    body: str = "return ext.run(x)", *, top: str = "", init: str = "pass", methods: str = "", **options: object
) -> dict[str, list[int | None]]:
    """The rules that a candidate breaks by its Python, with their lines."""
    code = PYTHON
    for name, text, indent in (("top", top, 0), ("init", init, 8), ("methods", methods, 4), ("body", body, 8)):
        code = code.replace("{" + name + "}", text.strip("\n").replace("\n", "\n" + " " * indent))
    options = {"inputs": ["tensor", "data"], "init_inputs": ["data"], **options}
    return _rules(code, (Extension("e", (Source("cuda_sources[0]", "cuda", SOURCE),), (("run", "run"),)),), options)


def cpp(source: str = SOURCE, *, kernels: str = "ext.run(x)", flags: tuple[str, ...] = (), **options: object):
    """The rules that a candidate breaks by its C++, with their lines."""
    code = PYTHON.replace("{top}", "").replace("{init}", "pass").replace("{methods}", "")
    code = code.replace("{body}", f"return {kernels}")
    extension = Extension("e", (Source("cuda_sources[0]", "cuda", source),), (("run", "run"),), cuda_cflags=flags)
    return _rules(code, (extension,), {"inputs": ["tensor", "data"], "init_inputs": ["data"], **options})


def host(body: str, *, before: str = "", **options: object):
    """The same for a statement in the host function that the forward path calls."""
    return cpp(KERNEL + before + HOST.replace("    return y;", f"    {body}\n    return y;"), **options)


def _rules(code, extensions, options) -> dict[str, list[int | None]]:
    found: dict[str, list[int | None]] = {}
    for hit in broken_rules(code, extensions, **options):
        found.setdefault(hit.rule, []).append(hit.place.line if hit.place else None)
    return found
