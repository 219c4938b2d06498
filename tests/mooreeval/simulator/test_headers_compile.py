"""What compiles under nvcc compiles here; what is out of scope says so; what nvcc refuses is refused."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from support.simulator_headers import INCLUDE, KERNELS

# PyTorch compiles extensions with these, and candidates' sources depend on them.
NO_HALF = [
    f"-D__CUDA_NO_{n}__" for n in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
]


def check(source: Path, *flags: str) -> str:
    """The compiler's complaints about a file, empty when there are none."""
    command = ["g++", "-std=c++20", "-fsyntax-only", "-fmax-errors=0", *flags, "-I", str(INCLUDE), str(source)]
    return subprocess.run(command, capture_output=True, text=True).stderr


def errors_by_line(complaints: str, source: Path) -> dict[int, str]:
    """All errors whose place, or a place they were required from, is a line of the source."""
    found: dict[int, str] = {}
    for line in complaints.split("\n"):
        if match := re.match(rf"{re.escape(str(source))}:(\d+):(?:\d+:)? error: (.*)", line):
            found[int(match[1])] = found.get(int(match[1]), "") + match[2] + "\n"
    return found


def test_code_in_the_usual_styles_compiles() -> None:
    assert "error" not in check(KERNELS / "styles.cpp")


@pytest.mark.parametrize(
    "header",
    [
        "cooperative_groups/reduce.h",
        "cub/cub.cuh",
        "cublas_v2.h",
        "cuda.h",
        "cuda_bf16.h",
        "cuda_fp16.h",
        "cuda_runtime_api.h",
        "curand_kernel.h",
        "device_launch_parameters.h",
        "math_constants.h",
        "vector_types.h",
    ],
)
def test_a_header_can_be_included_alone_and_twice(header: str, tmp_path: Path) -> None:
    source = tmp_path / "alone.cpp"
    source.write_text(f"#include <{header}>\n#include <{header}>\n")
    assert check(source, "-Wall", "-Wextra") == ""


PROLOGUE = """#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cublasLt.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <cufft.h>
#include <curand_kernel.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <mma.h>
#include <nvrtc.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
namespace cg = cooperative_groups;
void f(float* x, int n) {
"""
OUT_OF_SCOPE = {
    "cublasHandle_t handle;": "cuBLAS",
    "cublasSgemm(0, 0, 0, n, n, n, x, x, n, x, n, x, x, n);": "cuBLAS",
    "cublasLtMatmul(x, n);": "cuBLASLt",
    "cudnnHandle_t h;": "cuDNN",
    "cudnnConvolutionForward(x, n);": "cuDNN",
    "curandState state;": "cuRAND",
    "x[0] = curand_uniform(x);": "cuRAND",
    "cusparseCreate(x);": "cuSPARSE",
    "cusolverDnCreate(x);": "cuSOLVER",
    "cufftExecC2C(n, x, x, 1);": "cuFFT",
    "cub::BlockReduce<float, 256>(x).Sum(x[0]);": "CUB",
    "cub::DeviceReduce::Sum(x, n);": "CUB",
    "thrust::device_vector<float> v(n);": "Thrust",
    "thrust::sort(x, x + n);": "Thrust",
    "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;": "tensor cores",
    "cuda::barrier<cuda::thread_scope_block> b;": "cuda::barrier",
    "cuda::pipeline<cuda::thread_scope_thread> p;": "asynchronous copies",
    "cg::this_grid().sync();": "grid-wide synchronisation",
    "cg::memcpy_async(x, n);": "asynchronous copies",
    "cudaLaunchCooperativeKernel(x, n, n, 0);": "cooperative launch",
    "cudaGraph_t graph;": "CUDA graphs",
    "cudaStreamBeginCapture(0, 0);": "CUDA graphs",
    "cudaTextureObject_t texture;": "textures",
    "tex2D<float>(n, 0, 0);": "textures",
    "cuLaunchKernel(x, n);": "CUDA driver API",
    "nvrtcProgram program;": "NVRTC",
    "__nv_fp8_e4m3 small;": "FP8",
    "__shared__ float left_over[32];": "__shared__",
}


def test_every_use_of_what_is_out_of_scope_names_the_feature(tmp_path: Path) -> None:
    source = tmp_path / "uses.cpp"
    source.write_text(PROLOGUE + "\n".join(OUT_OF_SCOPE) + "\n}\n")
    errors = errors_by_line(check(source), source)
    first = PROLOGUE.count("\n") + 1
    for line, (use, feature) in enumerate(OUT_OF_SCOPE.items(), first):
        assert re.search(rf"MOORE_SIM_UNSUPPORTED: [^\n]*{re.escape(feature)}", errors.get(line, "")), use
    assert set(errors) == set(range(first, first + len(OUT_OF_SCOPE)))


REFUSED = {
    "x[0] = __shfl_down(x[0], 1);": "__shfl_down_sync",
    "x[0] = max(0, x[0]);": "ambiguous",
    "long long a = 1; int b = 2; n = min(a, b);": "ambiguous",
    "threadIdx.x = 3;": "read-only",
    "atomicAdd((short*)x, (short)1);": "no matching function",
    "half h = x[0];": "conversion",
    "half g = __float2half(1.f); x[0] = g;": "cannot convert",
    "half k = __float2half(1.f); k = k * k;": "no match for",
    "float4 v = {}; v = v + v;": "no match for",
    "x[0] = __ldg(n);": "no matching function",
}


def test_what_nvcc_refuses_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "refused.cpp"
    source.write_text(PROLOGUE + "".join(f"{{ {use} }}\n" for use in REFUSED) + "}\n")
    errors = errors_by_line(check(source, *NO_HALF), source)
    for line, (use, complaint) in enumerate(REFUSED.items(), PROLOGUE.count("\n") + 1):
        assert complaint in errors.get(line, ""), use


def test_no_macro_has_the_name_of_a_function(tmp_path: Path) -> None:
    """Lower-case macros would change the meaning of headers that a candidate includes later."""
    source = tmp_path / "macros.cpp"
    source.write_text("#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n")
    standard = tmp_path / "standard.cpp"
    names = ("cmath", "cfloat", "chrono", "algorithm", "tuple", "cassert", "cstring")
    standard.write_text("".join(f"#include <{n}>\n" for n in names))

    def macros(path: Path) -> set[str]:
        command = ["g++", "-std=c++20", "-dM", "-E", "-I", str(INCLUDE), str(path)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {line.split()[1].split("(")[0] for line in text.split("\n") if line}

    ours = {m for m in macros(source) - macros(standard) if not m.startswith(("MOORE_SIM_", "_"))}
    assert not [m for m in ours if m.islower()]


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True], ids=["slim", "whole"])
def test_extensions_in_the_usual_styles_compile_with_pytorchs_headers(whole: bool) -> None:
    spec = importlib.util.find_spec("torch")
    assert spec and spec.origin
    torch = Path(spec.origin).parent / "include"
    paths = [torch, torch / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_paths()["include"])]
    flags = [*NO_HALF, "-DTORCH_EXTENSION_NAME=styles", *(f"-isystem{p}" for p in paths)]
    flags += ["-include", "moore_sim/prelude.h", *(["-DMOORE_SIM_WHOLE_TORCH"] if whole else [])]
    assert "error" not in check(KERNELS / "torch_styles.cpp", *flags)
