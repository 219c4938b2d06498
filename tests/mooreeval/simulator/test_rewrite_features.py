"""Features out of scope are named where they are used, and nobody else is accused."""

import pytest

from mooreeval.simulator.rewrite import Tokens, tampering, unsupported_features


def features(text: str) -> list[tuple[str, int]]:
    return unsupported_features(Tokens(text))


USES = [
    ('__global__ void k() { asm volatile("mov.u32 %0, %laneid;" : "=r"(x)); }', "inline PTX"),
    ("nvcuda::wmma::fragment<a> f;", "wmma"),
    ("using namespace nvcuda;", "wmma"),
    ("cublasHandle_t h; cublasCreate(&h);", "cuBLAS"),
    ("auto h = at::cuda::getCurrentCUDABlasHandle();", "cuBLAS"),
    ("cudnnConvolutionForward(h);", "cuDNN"),
    ("curandState s; curand_init(1, 2, 3, &s);", "cuRAND"),
    ("cusparseCreate(&h);", "cuSPARSE"),
    ("cub::BlockReduce<float, 3> r;", "CUB"),
    ("thrust::device_vector<int> v;", "Thrust"),
    ("cutlass::gemm::device::Gemm g;", "CUTLASS"),
    ("using namespace cute;", "CuTe"),
    ("float f = tex2D<float>(t, x, y);", "textures"),
    ("cudaTextureObject_t t;", "textures"),
    ("auto g = cooperative_groups::this_grid();", "cooperative grid launch"),
    ("cudaLaunchCooperativeKernel(f, a, b, c);", "cooperative grid launch"),
    ("cg::memcpy_async(block, a, b, 16);", "async copy pipeline"),
    ("__pipeline_memcpy_async(a, b, 16);", "async copy pipeline"),
    ("cuda::pipeline<cuda::thread_scope_thread> p;", "async copy pipeline"),
    ("cuda::barrier<cuda::thread_scope_block> b;", "async copy pipeline"),
    ("cudaGraphLaunch(g, s);", "CUDA graphs"),
    ("cudaStreamBeginCapture(s, m);", "CUDA graphs"),
    ("cuLaunchKernel(f, 1);", "driver API"),
    ("CUmodule m;", "driver API"),
    ("nvrtcProgram p;", "NVRTC"),
    ("auto c = cg::this_cluster();", "thread-block clusters"),
    ("__nv_fp8_e4m3 x;", "fp8"),
]


@pytest.mark.parametrize(("text", "feature"), USES, ids=[text[:30] for text, _ in USES])
def test_a_use_is_named_with_its_line(text: str, feature: str) -> None:
    assert (feature, 3) in features(f"// one\n/* two */\n{text}\n")


@pytest.mark.parametrize(("text", "_"), USES, ids=[text[:30] for text, _ in USES])
def test_comments_strings_and_dead_code_are_no_uses(text: str, _: str) -> None:
    assert features(f"// {text}\n/* {text} */\n") == []
    assert features(f'const char* s = R"x({text})x";') == []
    assert (
        features(f"#if 0\n{text}\n#endif\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n{text}\n#endif\n") == []
    )
    assert features(f"#if __CUDA_ARCH__ < 900\nint a;\n#else\n{text}\n#endif\n") == []
    assert features(f"#ifndef __CUDACC__\n{text}\n#endif\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "#include <cublas_v2.h>\n#include <cub/cub.cuh>\n#include <mma.h>\n#include <thrust/sort.h>\n",
        "float cub_x = 1; int thrust = 2; thrust += cub_x; float cute = 1;",
        "namespace cub { int f(); }  int a = cub::f();",
        "void cublasStyleGemm(float* a) { a[0] = 1; } void g(float* a) { cublasStyleGemm(a); }",
        "int curand_seed = 1; int curand = 2; object.curand(3);",
        'asm volatile("" ::: "memory");',
        "auto block = cooperative_groups::this_thread_block(); auto t = cg::tiled_partition<32>(block); cg::sync(t);",
        "int current = cuStride; float custom(int); float y = custom(3); cuda::std::array<int, 3> a;",
        "int pipeline = 3; float barrier = 1; x.memcpy_async = 1; int graph; int tex2D = 1;",
        "cudaMemcpyAsync(a, b, 3, cudaMemcpyDeviceToDevice, s); cudaStreamSynchronize(s);",
    ],
)
def test_honest_code_is_not_accused(text: str) -> None:
    assert features(text) == []


def test_an_unknown_condition_leaves_both_branches_live() -> None:
    assert features("#ifdef USE_IT\ncublasCreate(&h);\n#endif\n") == [("cuBLAS", 2)]


TAMPERING = [
    "__attribute__((no_sanitize_thread)) void f();",
    '__attribute__((no_sanitize("thread"))) void f();',
    "[[gnu::no_sanitize_thread]] void f();",
    'extern "C" void __tsan_read4(void*);',
    'void* p = dlsym(nullptr, "moore_sim_configure");',
    "::moore_sim::report(a, b);",
    '#pragma GCC optimize("O0")',
    "#pragma GCC push_options",
    '_Pragma("GCC optimize(\\"O3\\")") void f();',
    '__attribute__((optimize("O0"))) void f();',
    "#ifdef __GNUC__\n#endif",
    "#if defined(__SANITIZE_THREAD__)\n#endif",
    "const char* v = __VERSION__;",
    "%:pragma GCC optimize(3)",
    "#define MOORE_SIM_X 1",
]


@pytest.mark.parametrize("text", TAMPERING)
def test_words_against_the_simulator_are_illegal_with_their_line(text: str) -> None:
    hits = tampering(Tokens(f"\n{text}\n"), "cuda_sources[0]")
    assert hits
    assert hits[0].rule == "simulator_tampering"
    assert hits[0].place is not None
    assert (hits[0].place.file, hits[0].place.line) == ("cuda_sources[0]", 2)


@pytest.mark.parametrize(
    "text",
    [
        "// no_sanitize, __tsan_read4, __GNUC__\n",
        'const char* s = "gcc optimize";',
        "#pragma unroll\n#pragma GCC ivdep\n#pragma GCC diagnostic push\n",
        "__attribute__((aligned(16))) float x; __attribute__((always_inline)) int f();",
        "void optimize(float* target) { target[0] = 1; }",
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700\n#endif\n#ifdef __CUDACC__\n#endif\n",
    ],
)
def test_honest_words_are_legal(text: str) -> None:
    assert tampering(Tokens(text)) == []
