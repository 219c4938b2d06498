"""A small extension for the simulator, and a process of its own in which a build of it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mooreeval.toolchains.base import Artefact, Extension, Source
from mooreeval.toolchains.simulator import SimulatorToolchain

DECLARATION = "torch::Tensor f(torch::Tensor x);"
HEAD = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"
KERNEL = """
template <typename T> __global__ void reversed(const T* x, T* y, int n) {
  __shared__ T tile[64], one;
  extern __shared__ float doubled[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) one = 1;
  tile[threadIdx.x] = i < n ? x[i] : T(0);
  doubled[threadIdx.x] = 2;
  __syncthreads();
  if (i <= n) y[i] = tile[63 - threadIdx.x] * doubled[0] + one;  // one too many
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&] {
    reversed<scalar_t><<<(x.numel() + 63) / 64, 64, 64 * sizeof(float)>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  }));
  return y;
}
"""
PLAIN = "torch::Tensor f(torch::Tensor x) { return x; }\n"

RUN = """
import ctypes, importlib.machinery, importlib.util, os, sys
runtime, device, size, report, *modules = sys.argv[1:]
import torch
from pathlib import Path
from mooreeval.simulator import torch_device
library = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
library.moore_sim_report.restype = ctypes.c_char_p
torch_device.install(Path(runtime), Path(device))
for name, path in zip(modules[::2], modules[1::2]):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
    loader.exec_module(module)
library.moore_sim_install(os.open(report, os.O_RDWR | os.O_CREAT))
library.moore_sim_configure(0, ctypes.c_uint64(0), 0, 1, ctypes.c_uint64(0))
try:
    module.f("no tensor")
except TypeError as error:
    print(str(error).splitlines()[0], file=sys.stderr)
y = module.f(torch.arange(int(size), dtype=torch.float32, device="cuda"))
print(y[:3].tolist(), file=sys.stderr)
Path(report).write_bytes(library.moore_sim_report())
"""


def extension(cuda: str, cpp: str = DECLARATION, functions: tuple[str, ...] | None = ("f",), **more) -> Extension:
    sources = ([Source("cpp_sources[0]", "cpp", cpp)] if cpp else []) + [Source("cuda_sources[0]", "cuda", cuda)]
    return Extension("my_ext", tuple(sources), functions and tuple((f, f) for f in functions), **more)


def run(
    toolchain: SimulatorToolchain, built: Artefact, size: int, report: Path, *, first: Artefact | None = None
) -> str:
    """Call `f` of a build on 0, 1, 2, ...; what it printed. `first`: a module that is loaded before it."""
    options = toolchain.device_options()
    modules = [word for each in (first, built) if each for word in (each.module_name, str(each.path))]
    arguments = [options["runtime_lib"], options["device_lib"], str(size), str(report), *modules]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    return done.stderr
