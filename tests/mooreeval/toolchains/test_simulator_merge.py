"""Sources are read as one unit only where each means in it what it means alone."""

import pytest

from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.simulator_merge import macros
from mooreeval.toolchains.simulator_units import Headers, compose, is_mergeable

CUDA = """
#include <cuda_runtime.h>
#define BLOCK 256
__global__ void k(const float* x, float* y, int n) {}
torch::Tensor f(torch::Tensor input, double s) { k<<<1, BLOCK>>>(nullptr, nullptr, 0); return input; }
static int cdiv(long a, long b) { return (a + b - 1) / b; }
"""


def extension(cpp: str, cuda: str = CUDA, **more) -> Extension:
    sources = (Source("cpp_sources[0]", "cpp", cpp), Source("cuda_sources[0]", "cuda", cuda))
    return Extension("m", sources, None, **more)


MERGED = {
    "a declaration": "torch::Tensor f(torch::Tensor x, double s);",
    "another name of a parameter and none": "torch::Tensor f(torch::Tensor, double scale);",
    "a default that nobody uses": "torch::Tensor f(torch::Tensor x, double s = 2.0);",
    "a wrapper, its macro and its module": """
#include <torch/extension.h>
#include <vector>
#define CHECK(x) TORCH_CHECK(x.is_cuda(), #x)
torch::Tensor f(torch::Tensor x, double s);
std::vector<torch::Tensor> wrapper(const torch::Tensor& x) { CHECK(x); static int n = 0; return {f(x, 1.0)}; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &wrapper); }
""",
    "a macro of both": "#define BLOCK 128\nint g();",
    "a helper that is not mentioned": "static int other(int a) { return a; }",
}
APART = {
    "another overload": "static int cdiv(int a, int b) { return a / b; }",
    "the same helper": "static int cdiv(long a, long b) { return a / b; }",
    "another type of a parameter": "torch::Tensor f(torch::Tensor x, float s);",
    "a name that is not declared again": "void k(int);",
    "a directive for all that follows": "#pragma pack(push, 1)\nint g();",
    "the same as an operator": '_Pragma("pack(1)") int g();',
    "names of a namespace": "using namespace std;",
    "one name of a namespace": "using std::max;",
    "a type": "struct P { int n; };",
    "a type without a name": "enum { A, B };",
    "an unnamed namespace": "namespace { int n; }",
    "a variable": "static int n = 1;",
    "a template": "template <class T> T g(T x) { return x; }",
    "an operator": "torch::Tensor operator<<(torch::Tensor x, int n) { return x; }",
    "C linkage": 'extern "C" int g();',
    "a macro in place of a declaration": "#define DECLARE(n) int n();\nDECLARE(g)",
    "a macro in place of a type": "#define T double\ntorch::Tensor f(torch::Tensor x, T s);",
    "an unclosed bracket": "void g() {",
    "a bracket too many": "void g() {} }",
    "an unclosed condition": "#if 1\nint g();",
    "a condition that ends twice": "#if 1\nint g();\n#endif\n#endif",
    "an unclosed comment": "int g(); /* and",
    "an unclosed string": 'const char* g(int a = sizeof R"(',
}


@pytest.mark.parametrize("cpp", MERGED.values(), ids=MERGED.keys())
def test_what_cannot_leak_is_merged(cpp: str) -> None:
    assert is_mergeable(extension(cpp))


@pytest.mark.parametrize("cpp", APART.values(), ids=APART.keys())
def test_what_could_leak_is_compiled_apart(cpp: str) -> None:
    assert not is_mergeable(extension(cpp))


def test_what_the_last_source_holds_is_of_no_matter() -> None:
    assert all(is_mergeable(extension("int g2();", CUDA + text)) for text in APART.values())


def test_a_default_that_a_later_source_could_use_is_not_shared() -> None:
    used = CUDA + "torch::Tensor h(torch::Tensor x) { return f(x); }"
    assert not is_mergeable(extension("torch::Tensor f(torch::Tensor x, double s = 2.0);", used))


def test_names_that_a_macro_puts_together_are_not_seen() -> None:
    pasted = "#define MAKE(n) torch::Tensor n##_cuda(torch::Tensor x, int s) { return x; }\nMAKE(f)"
    assert not is_mergeable(extension("torch::Tensor f_cuda(torch::Tensor x, float s);", pasted))


def test_headers_of_the_candidate_are_read_under_each_sources_own_macros() -> None:
    header = Source("a.h", "cpp", "#pragma once\n#ifndef N\n#define N 1\n#endif\n")
    assert not is_mergeable(extension('#include "a.h"', headers=(header,)))


@pytest.mark.parametrize(("own", "merged"), [("", False), ("#include <torch/extension.h>\n", True)])
def test_names_of_pybind11_are_not_lent(own: str, merged: bool) -> None:
    assert is_mergeable(extension("int g();", own + CUDA + "void h(py::module m) {}")) is merged


def test_macros_are_restored_behind_each_source() -> None:
    cpp = "#define SCALE 3\n#  define TWICE(x) \\\n  x\n/* #define NOT 1 */\n#undef assert\nint g();"
    assert macros(cpp) == ["SCALE", "TWICE", "assert"]
    (unit,) = compose(extension(cpp, cflags=("-DHOST=1",)), merged=True, headers=Headers.LIGHT)
    first, second = unit.text.index("int g();"), unit.text.index('#line 1 "cuda_sources[0]"')
    for name in ("SCALE", "TWICE", "assert", "HOST", "__CUDACC__"):
        assert unit.text.index(f'#pragma push_macro("{name}")') < first
        assert first < unit.text.index(f'#pragma pop_macro("{name}")') < second
