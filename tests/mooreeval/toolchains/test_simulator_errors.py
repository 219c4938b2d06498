"""g++'s refusals: the candidate's own faults are compile errors, what may be ours is unsupported."""

import shutil
import subprocess
from pathlib import Path

import pytest

import mooreeval.simulator
from mooreeval.simulator.rewrite import rewrite
from mooreeval.toolchains.simulator_errors import blame, failure, is_of_a_merge
from mooreeval.toolchains.simulator_messages import Message, parse
from mooreeval.toolchains.simulator_parts import CANDIDATE_FLAGS

INCLUDE = Path(mooreeval.simulator.__file__).parent / "include"
HEAD = "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <vector>\n"


def compile_text(text: str, folder: Path) -> tuple[list[Message], str]:
    (folder / "unit.cpp").write_text(f'{HEAD}#line 1 "cuda_sources[0]"\n{rewrite(text)}\n')
    command = [str(shutil.which("g++")), *CANDIDATE_FLAGS, f"-isystem{INCLUDE}", "-c", "unit.cpp", "-o", "/dev/null"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    )
    assert done.returncode != 0, "this text must not compile"
    return parse(done.stderr, {"cuda_sources[0]": text}), done.stderr


OWN_FAULTS = {
    "missing semicolon": "void f() {\n  int a = 1\n  a = 2; // HERE\n}",
    "undeclared name": "__global__ void k(float* x, int n) {\n  int i = 1;\n  if (i < stride) x[i] = n; // HERE\n}",
    "undeclared call": "void f(float* x) { launch_it(x, 3); } // HERE",
    "too few arguments": "__global__ void k(float* x, int n) {}\nvoid f(float* x) { k<<<1, 2>>>(x); } // HERE",
    "wrong argument": "__global__ void k(float* x, int n) {}\nvoid f(float* x) { k<<<1, 2>>>(3.5, x); } // HERE",
    "const": "void f() {\n  const int a = 1;\n  a = 2; // HERE\n}",
    "redefinition": "void f() { int a = 1;\n  int a = 2; } // HERE",
    "unknown type": "tensor_t f(); // HERE",
    "no template": "template <class T> void g(T a, T b);\nvoid f() { g(1, 2.0); } // HERE",
    "missing brace": "void f() {\n  if (true) {\n",
    "no return value": "int* f() { return 3.5; } // HERE",
    "own member": "struct P { int a; };\nint f(P p) { return p.b; } // HERE",
    "unknown member of std": "#include <vector>\nstd::vectr<int> v; // HERE",
    "own header": '#include "helpers.h" // HERE',
    "initialised shared": "__global__ void k() {\n  __shared__ int a = 3; // HERE\n}",
    "duplicate function": "void f(int a) {}\nvoid f(int b) {} // HERE",
    "lambda": "void f() { auto g = [](int a) { return a; };\n  g(1, 2); } // HERE",
    "misspelt barrier": "__global__ void k() { __syncthread(); } // HERE",
    "misspelt qualifier": "__globl__ void k() {} // HERE",
    "misspelt intrinsic": "__global__ void k(float* x) { x[0] = __fmaxx(x[0], 1.f); } // HERE",
    "misspelt runtime call": "void f(float** p) { cudaMaloc(p, 4); } // HERE",
    "misspelt header": "#include <cuda_runtme.h> // HERE",
    "misspelt torch header": "#include <ATen/cuda/CUDAContxt.h> // HERE",
    "no such type": "__global__ void k(__nv_bfloat168 x) {} // HERE",
    "no such macro": "void f(int e) { CUDA_CHECK(e); } // HERE",
    "shuffle without mask": "__global__ void k(float* x) { x[0] += __shfl_down_sync(x[0], 16); } // HERE",
    "barrier with argument": "__global__ void k(float* x) { __syncthreads(1); } // HERE",
    "atomic of four arguments": "__global__ void k(char* x) { atomicAdd(x, 'a', 3, 4); } // HERE",
    "atomic maximum of floats": "__global__ void k(float* x) { atomicMax(x, 1.0f); } // HERE",
    "compare-and-swap of floats": "__global__ void k(float* x) { atomicCAS(x, 1.0f, 2.0f); } // HERE",
    "copy of too few arguments": "void f(float* a, float* b) { cudaMemcpy(a, b, 4); } // HERE",
    "maximum of three": "__global__ void k(long* x) { x[0] = max(x[0], 1l, 3l); } // HERE",
    "no operator on vectors": "__global__ void k(float4* x) { x[0] = x[0] + x[1]; } // HERE",
    "vector as number": "__global__ void k(float4* x, float* y) { y[0] = x[0]; } // HERE",
    "no such component": "__global__ void k(float4* x, float* y) { y[0] = x[0].q; } // HERE",
    "stream without its header": "void f() { at::cuda::getCurrentCUDAStream(); } // HERE",
    "macro without its header": "void f() { C10_CUDA_KERNEL_LAUNCH_CHECK(); } // HERE",
}

# Names that CUDA or PyTorch have and the simulator has not. One that it learns is to be replaced by another.
OUR_GAPS = {
    "runtime call": ("void f() { cudaGraphicsMapResources(3); }", "cudaGraphicsMapResources"),
    "intrinsic": ("__global__ void k(int* x) { x[0] = __viaddmax_s32(3, 4, 5); }", "__viaddmax_s32"),
    "type": ("__global__ void k(__nv_fp6_e2m3 x) {}", "__nv_fp6_e2m3"),
    "property": ("int f(cudaDeviceProp p) { return p.newProperty; }", "cudaDeviceProp::newProperty"),
    "header": ("#include <cuda_awbarrier.h>\n", "cuda_awbarrier.h"),
    "torch header": ("#include <ATen/cuda/PeerToPeerAccess.h>\n", "ATen/cuda/PeerToPeerAccess.h"),
    "library header": ("#include <cutlass/newest.h>\n", "cutlass/newest.h"),
    "ambiguous maths": ("__global__ void k(long* x) { x[0] = max(x[0], 1u); }", "these arguments of max"),
    "atomic on vectors": ("__global__ void k(float4* x) { atomicAdd(x, x[1]); }", "these arguments of atomicAdd"),
    "conversion": ("struct S {}; __global__ void k(half h) { S s = h; }", "half"),
    "unavailable": ("#include <cublas_v2.h>\nvoid f() { cublasCreate(nullptr); }", "cuBLAS"),
    "old shuffle": ("__global__ void k(float* x) { x[0] = __shfl_down(x[0], 3); }", None),
    "null": ("__global__ void k(float* x) {}\nvoid f() { k<<<1, 2>>>(0); }", "0 as a pointer in a launch"),
}


@pytest.mark.parametrize("text", OWN_FAULTS.values(), ids=OWN_FAULTS.keys())
def test_faults_of_the_candidate_are_compile_errors_at_their_line(text: str, tmp_path: Path) -> None:
    messages, log = compile_text(text, tmp_path)
    failed = failure(messages, log)
    assert (failed.kind, failed.feature) == ("compile_error", None), failed.reason
    assert failed.diagnostics
    if "// HERE" in text:
        line = next(k for k, row in enumerate(text.split("\n"), 1) if "// HERE" in row)
        assert line - 1 <= (failed.diagnostics[0].place.line or 0) <= line
    assert "moore_sim" not in failed.reason.lower()


@pytest.mark.parametrize(("text", "feature"), OUR_GAPS.values(), ids=OUR_GAPS.keys())
def test_gaps_of_the_simulator_are_unsupported_and_named(text: str, feature: str | None, tmp_path: Path) -> None:
    messages, log = compile_text(text, tmp_path)
    failed = failure(messages, log)
    assert failed.kind == "unsupported", failed.reason
    assert failed.feature
    assert feature is None or feature in failed.feature


@pytest.mark.parametrize(
    ("text", "merge"),
    [
        ("int f(int a = 1);\nint f(int a = 1);", True),
        ("static int g() { return 1; }\nstatic int g() { return 2; }", True),
        ("namespace a { struct S {}; } namespace b { struct S {}; }\nusing namespace a; using namespace b; S s;", True),
        ("void f() { int a = 1\n }", False),
        ("void f() { undeclared = 1; }", False),
    ],
)
def test_what_joining_sources_can_cause_is_told_from_the_errors(text: str, merge: bool, tmp_path: Path) -> None:
    assert is_of_a_merge(compile_text(text, tmp_path)[0]) is merge


def test_template_noise_leads_to_the_line_that_caused_it(tmp_path: Path) -> None:
    text = (
        "#include <algorithm>\n#include <vector>\nstruct S {};\n"
        "void f(std::vector<S>& v) {\n  std::sort(v.begin(), v.end());\n}\n"
    )
    failed = failure(*compile_text(text, tmp_path))
    assert failed.kind == "compile_error"
    assert {d.place.line for d in failed.diagnostics} == {5}
    assert len(failed.diagnostics) <= 20


def test_a_silent_failure_is_not_the_candidates() -> None:
    assert blame([]).kind == "unsupported"
