"""What tests of real CUDA builds share: where a CUDA build of PyTorch is, and the gallery's honest extensions.

MOORE_CUDA_PYTHON   a Python with a CUDA build of PyTorch (`make test-cuda-build` makes one); nvcc is on PATH
MOORE_TORCHES       folders of other releases of PyTorch, built with CUDA (`make test-cuda-build CUDA_RELEASES=...`)
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mooreeval import gallery
from mooreeval.toolchains.base import Extension, Source

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("MOORE_CUDA_PYTHON", "")
MISSING = "needs nvcc and MOORE_CUDA_PYTHON, a Python with a CUDA build of PyTorch: make test-cuda-build"
_FIND = "import importlib.util as u; print(next(iter(u.find_spec('torch').submodule_search_locations)))"


KERNEL = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


def can_build() -> bool:
    return bool(PYTHON and shutil.which("nvcc"))


@functools.cache
def torch_dir() -> Path:
    done = subprocess.run([PYTHON, "-c", _FIND], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def other_torches() -> list[Path]:
    """Folders `torch` of releases that nothing runs with, only headers and libraries."""
    return [Path(folder) for folder in os.environ.get("MOORE_TORCHES", "").split(os.pathsep) if folder]


def honest() -> list[tuple[str, Path, Path]]:
    """(name, task, candidate) of what the gallery knows to be right."""
    entries = [entry for entry in gallery.load() if entry.expected.status == "correct"]
    return [(f"{e.task_name}-{e.candidate_name}", e.task_path, e.candidate_path) for e in entries]


def recorded(task: Path, candidate: Path) -> list[Extension]:
    """What a trusted candidate asks to have compiled."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from recorded import extensions_from
    finally:
        sys.path.pop(0)
    command = [sys.executable, str(ROOT / "benchmarks" / "recorded.py"), str(task), str(candidate)]
    return extensions_from(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def inline(cuda: str, cpp: str = "torch::Tensor run(torch::Tensor x);", **fields: tuple[str, ...]) -> Extension:
    """The extension of one load_inline call that binds `run`."""
    sources = (Source("cpp_sources[0]", "cpp", cpp), Source("cuda_sources[0]", "cuda", cuda))
    return Extension("mine", sources, (("run", "run"),), **fields)
