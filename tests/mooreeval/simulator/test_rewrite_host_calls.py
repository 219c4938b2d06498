# ruff: noqa: E501  a specimen stands on one line, however long
"""Functions of the host in device code are told, as nvcc tells them, and nothing else is."""

import pytest

from mooreeval.simulator.rewrite import Tokens, host_calls

HOST = "float work(float a) { return a + a; }\n"
KERNEL = "__global__ void k(float* p) { p[0] = work(p[0]); }\n"


def calls(*texts: str) -> list[tuple[str, str, int]]:
    return [(call.name, call.caller, call.line) for call in host_calls([Tokens(text) for text in texts])]


ACCUSED = {
    "a function": HOST + KERNEL,
    "a static function in a namespace": f"namespace n {{\nstatic {HOST}{KERNEL}}}",
    "a template": "template <typename T> T work(T a) { return a; }\n" + KERNEL,
    "behind a device function": HOST
    + "__device__ float d(float a) { return work(a); }\n__global__ void k(float* p) { *p = d(*p); }",
    "behind a macro": HOST + "#define W(x) work(x)\n__global__ void k(float* p) { p[0] = W(p[0]); }",
    "behind two macros": HOST + "#define V work\n#define W V\n__global__ void k(float* p) { p[0] = W(p[0]); }",
    "an algorithm": "__global__ void k(float* p) { std::stable_sort(p, p + 8); }",
    "a container": "__global__ void k(float* p) { std::map<int, float> m; m[0] = *p; }",
    "of namespace std": "using namespace std;\n__global__ void k(float* p) { inplace_merge(p, p + 4, p + 8); }",
    "of the C library": "int less(const void*, const void*);\n__global__ void k(float* p) { qsort(p, 8, 4, less); }",
    "with bounds of a launch": HOST + "__global__ void __launch_bounds__(256) k(float* p) {\n  p[0] = work(p[0]); }",
    "a lambda for a kernel": "void run(float* p) { k<<<1, 1>>>(p, [](float a) { return a; }); }",
    "a lambda with a name": "void run(float* p) { auto f = [=](float a) { return a; }; k<<<1, 1>>>(p, f); }",
    "a function for a kernel": HOST + "void run(float* p) { k<<<1, 1>>>(p, work); }",
    "a pointer to it": HOST + "void run(float* p) { auto f = &work; k<<<1, 1>>>(p, f); }",
}


@pytest.mark.parametrize("text", ACCUSED.values(), ids=ACCUSED)
def test_what_is_of_the_host_is_told_in_device_code(text):
    assert len(calls(text)) == 1


def test_the_function_its_caller_and_the_line_are_named_across_sources():
    assert calls(HOST, "\n\n" + KERNEL) == [("work", "k", 3)]
    (call,) = host_calls([Tokens(HOST + KERNEL)])
    assert call.message == 'calling a __host__ function ("work") from device code ("k") is not allowed'


HONEST = {
    "of the device": "__device__ " + HOST + KERNEL,
    "of both": "__host__ __device__ inline " + HOST + KERNEL,
    "constexpr": "constexpr " + HOST + KERNEL,
    "by a macro of its own": "#define DEVICE __device__ __forceinline__\nDEVICE " + HOST + KERNEL,
    "by a macro of PyTorch's": "C10_HOST_DEVICE " + HOST + KERNEL,
    "declared before": "__device__ float work(float a);\n" + HOST + KERNEL,
    "an overload of the device": "__device__ double work(double a) { return a; }\n" + HOST + KERNEL,
    "a template with a head of its own line": "template <typename T>\n__device__\nT work(T a) { return a; }\n" + KERNEL,
    "called by the host": HOST + "__global__ void k(float* p) {}\nvoid run(float* p) { k<<<1, 1>>>(p); work(1); }",
    "a variable of that name": HOST + "__global__ void k(float* p) { float work = p[0]; p[0] = work; }",
    "an object of that name": HOST + "struct S { int n; };\n__global__ void k(float* p) { S work(3); }",
    "a member of that name": HOST
    + "struct S { __device__ int work(int); };\n__device__ int d(S s) { return s.work(1); }",
    "a lambda in a kernel": "__global__ void k(float* p) { auto f = [&](float a) { return a; }; p[0] = f(p[0]); }",
    "a lambda of the device": "void run(float* p) { k<<<1, 1>>>(p, [=] __device__(float a) { return a; }); }",
    "algorithms that are constexpr": "__global__ void k(float* p) { p[0] = std::max(p[1], p[2]); std::swap(p[0], p[1]); std::sort(p, p + 4); }",
    "an argument called like a function": HOST + "void run(float* p, float work) { k<<<1, 1>>>(p, work); }",
    "another variable called like a lambda": "void a() { auto f = [](float v) { return v; }; }\nvoid run(float* p, float f) { k<<<1, 1>>>(p, f); }",
    "sizes in a launch": HOST + "void run(float* p) { int n = work(3); k<<<n, 1>>>(p, n); }",
    "in code that is left out": HOST + "#if 0\n" + KERNEL + "#endif\n",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_what_runs_on_the_device_is_not_accused(text):
    assert calls(text) == []


def test_any_text_is_looked_through_in_time():
    for text in (
        "namespace a {" * 8_000,
        "k<<<1, 1>>>(" * 4_000,
        "auto f = [" * 4_000,
        HOST + "T A " * 10_000 + KERNEL,
    ):
        assert calls(text) is not None
    body = "W(1); work(2); " * 4_000
    assert calls(f"#define W(x) work(x)\n{HOST}__global__ void k(float* p) {{ {body} }}") == [("work", "k", 3)]
