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
}

OUR_GAPS = {
    "runtime call": ("void f() { cudaSomethingNew(3); }", "cudaSomethingNew"),
    "intrinsic": ("__global__ void k(int* x) { x[0] = __new_intrinsic(3); }", "__new_intrinsic"),
    "type": ("__global__ void k(__nv_bfloat168 x) {}", "__nv_bfloat168"),
    "property": ("int f(cudaDeviceProp p) { return p.newProperty; }", "cudaDeviceProp::newProperty"),
    "header": ("#include <cuda_newest.h>\n", "cuda_newest.h"),
    "torch header": ("#include <ATen/cuda/NoSuchThing.cuh>\n", "ATen/cuda/NoSuchThing.cuh"),
    "atomic": ("__global__ void k(char* x) { atomicAdd(x, 'a', 3, 4); }", "these arguments of atomicAdd"),
    "ambiguous maths": ("__global__ void k(long* x) { x[0] = max(x[0], 1u, 3); }", "these arguments of max"),
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
