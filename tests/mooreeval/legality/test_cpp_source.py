# ruff: noqa: E501  a specimen stands on one line, however long
"""A candidate's C++ and CUDA sources: what breaks a rule is accused, and its honest twin is not."""

import pytest

from mooreeval.legality.cpp_source import read_cpp
from mooreeval.legality.source import broken_rules
from mooreeval.toolchains.base import Extension, Source

from .reading import HOST, KERNEL, SOURCE, cpp, host

COMPUTES = {
    "a function of at": "y = at::relu(y);",
    "a function of torch": "y = torch::matmul(x, y);",
    "a function of a namespace below": "y = torch::nn::functional::relu(y);",
    "a native function": "y = at::native::relu(y);",
    "an operator by its struct": "y = at::_ops::relu::call(y);",
    "a global name": "y = ::at::relu(y);",
    "a method": "y = y.mul(2.0);",
    "a method in place": "y.add_(x);",
    "a chain of methods": "auto m = x.contiguous().view({-1}).mean();",
    "a method of a result": "auto m = torch::empty({3}).sum();",
    "an operator": "y = x + y;",
    "an operator with a number": "y = y * 2.0f;",
    "an operator in place": "y /= 3;",
    "a negation": "y = -y;",
    "an alias of a namespace": "namespace N = at; y = N::relu(y);",
    "using a namespace": "using namespace at; y = softmax(y, 1);",
    "using a name": "using at::relu; y = relu(y);",
    "found by its argument": "y = relu(y);",
    "a lambda": "auto f = [&](torch::Tensor t) { return t.sigmoid(); }; y = f(y);",
    "an element of a vector": "std::vector<torch::Tensor> v{x, y}; y = v[0].exp();",
    "a loop over a list": "for (auto t : y.split(2)) t.relu_();",
    "auto of a conversion": "auto z = y.to(torch::kFloat64); z = z.tanh();",
    "another name of the type": "using T = at::Tensor; T t = y; t = t + t;",
    "the result of a helper": "y = helper(y).relu();",
}


@pytest.mark.parametrize("body", COMPUTES.values(), ids=COMPUTES)
def test_what_pytorch_computes_in_the_host_code_is_accused(body):
    before = "torch::Tensor helper(torch::Tensor t) { return t.contiguous(); }\n"
    assert set(host(body, before=before)) == {"cpp_torch_compute"}
    assert host(body, before=before, native=False) == {}


PLUMBING = {
    "views and moves": "y = y.contiguous().view({-1}).reshape({n}).unsqueeze(0).squeeze(0).to(x.device()).clone();",
    "allocation": "auto z = torch::zeros({n, 4}, x.options()); z.zero_(); z.fill_(1); z.copy_(x); auto w = at::empty_like(x);",
    "sizes": "int64_t a = x.size(0) * x.size(1) + x.numel() / 2 - x.dim() % 3; if (a > x.stride(0)) n = a;",
    "checks": 'TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be on CUDA"); TORCH_CHECK(x.dtype() == torch::kFloat32);',
    "an item": "float s = x.item<float>() * 2.0f; s = std::sqrt(s) + sqrtf(s); n += s > 0;",
    "pointers": "float* p = x.data_ptr<float>() + 4 * n; const float* q = p + 1; n = q - p;",
    "accessors": "auto a = x.packed_accessor32<float, 2, torch::RestrictPtrTraits>();",
    "a vector's own methods": "std::vector<int> v; v.push_back(3); int s = v.size() * 2; std::sort(v.begin(), v.end());",
    "a comparison with nothing": "if (!y.defined() || y.data_ptr() == nullptr) return x;",
    "indexing by a number": "y = y[0]; auto z = x.index({0}).select(0, 1);",
    "a stream and a guard": (
        "const at::cuda::OptionalCUDAGuard guard(device_of(x)); cudaStream_t s = at::cuda::getCurrentCUDAStream();"
        "scale<<<1, 256, 0, s>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); C10_CUDA_KERNEL_LAUNCH_CHECK();"
    ),
    "errors": 'cudaError_t e = cudaGetLastError(); if (e != cudaSuccess) { printf("%s", cudaGetErrorString(e)); exit(1); }',
    "run-time calls": (
        "cudaDeviceSynchronize(); cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);"
        "int d; cudaGetDevice(&d); cudaDeviceProp p; cudaGetDeviceProperties(&p, d); float* t; cudaMalloc(&t, 4); cudaFree(t);"
    ),
    "a type of one's own": "struct Acc { float sum; float mean() { return sum; } }; Acc a; float m = a.mean() * 2;",
    "dispatch": 'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", ([&] { auto p = x.data_ptr<scalar_t>(); (void)p; }));',
    "numbers": "auto grid = dim3((n + 255) / 256); auto scale_ = 1.0 / n; auto k = scale_ * 2; int m = max(n, 3);",
    "words in comments and strings": '// at::matmul(x, y) dlopen("a") __tsan_read4\n /* system("ls") y.relu() */ const char* s = "at::relu(y); system(0)";',
    "a fallback that never runs": "if (!x.is_cuda()) { y = at::relu(x); return y; } else { n = 1; }",
    "a fallback on the other side": "if (x.is_cuda()) { n = 1; } else { y = y * 2; }",
    "a dead branch": "#if 0\n    y = at::relu(y);\n    system(\"ls\");\n#endif",
    "a macro that is not used": "#define MM(a, b) at::matmul(a, b)",
}  # fmt: skip


def test_a_branch_on_the_device_is_followed_where_it_runs():
    assert set(host("if (x.is_cuda()) { y = at::relu(x); }")) == {"cpp_torch_compute"}
    assert set(host("if (!x.is_cuda()) { n = 1; } else { y = y * 2; }")) == {"cpp_torch_compute"}


@pytest.mark.parametrize("body", PLUMBING.values(), ids=PLUMBING)
def test_what_only_moves_allocates_or_launches_is_not_accused(body):
    assert host(body) == {}
    assert host(body, single=True) == {}


MACROS = {
    "an object": ("#define MM at::matmul\n", "y = MM(x, y);"),
    "a function": ("#define MM(a, b) at::matmul(a, b)\n", "y = MM(x, y);"),
    "pasted": ("#define CALL(a, b) at::a##b\n", "y = CALL(mat, mul)(x, y);"),
    "pasted twice": ("#define P(a, b) a##b\n#define Q(a, b) P(a, b)\n", "y = at::Q(mat, mul)(x, y);"),
    "pasted without a blank": ("#define P(a,b,c) a##b##c\n", "y = P(so,ft,max)(y, 1);"),
    "a method": ("#define OP .relu\n", "y = y OP();"),
    "variadic": ("#define V(...) at::__VA_ARGS__\n", "y = V(relu(y));"),
    "cut by a backslash": ("", "y = at::mat\\\nmul(x, y);"),
    "cut by a comment": ("", "y = at::/* x */relu(y);"),
    "by a macro of a macro": ("#define A at\n#define B A::relu\n", "y = B(y);"),
}


@pytest.mark.parametrize(("before", "body"), MACROS.values(), ids=MACROS)
def test_names_that_macros_make_are_read(before, body):
    assert set(host(body, before=before)) == {"cpp_torch_compute"}


def test_names_that_flags_make_are_read():
    assert set(host("y = MM(x, y);", flags=("-DMM=at::matmul",))) == {"cpp_torch_compute"}
    assert set(host('S("ls");', flags=("-DS=system",))) == {"process"}
    assert host("int z = WIDTH;", flags=("-DWIDTH=4", "-O3")) == {}


def test_only_what_the_forward_path_calls_must_be_native():
    spare = "torch::Tensor spare(torch::Tensor x) { return at::relu(x); }\n"
    assert cpp(KERNEL + spare + HOST) == {}
    assert set(cpp(KERNEL + spare + HOST.replace("return y", "return spare(y)"))) == {"cpp_torch_compute"}
    assert set(cpp(KERNEL + spare + HOST, kernels="ext.spare(x)")) == {"cpp_torch_compute"}


def test_a_binding_of_its_own_leads_to_what_it_binds():
    module = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &go); m.def("spare", &run); }\n'
    slow = "torch::Tensor go(torch::Tensor x) { return x.relu(); }\n"
    assert set(cpp(SOURCE + slow + module)) == {"cpp_torch_compute"}
    assert (
        cpp(SOURCE + slow + module.replace('"run", &go', '"other", &go').replace('"spare", &run', '"run", &run')) == {}
    )
    in_place = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", [](torch::Tensor x) { return x.relu(); }); }\n'
    assert set(cpp(KERNEL + in_place)) == {"cpp_torch_compute"}


LIBRARIES = {
    "cuBLAS": "cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, 0, 0, n, 0, n, 0, 0, n);",
    "cuBLAS of PyTorch": "auto h = at::cuda::getCurrentCUDABlasHandle();",
    "gemm of PyTorch": "at::cuda::blas::gemm<float>('n', 'n', n, n, n, 1.f, 0, n, 0, n, 0.f, 0, n);",
    "cuDNN": "cudnnConvolutionForward(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);",
    "cuSPARSE": "cusparseSpMM(0);",
    "CUB on the device": "cub::DeviceReduce::Sum(nullptr, bytes, x.data_ptr<float>(), y.data_ptr<float>(), n);",
    "Thrust": "thrust::transform(thrust::device, a, b, c, f);",
    "CUTLASS": "cutlass::gemm::device::Gemm<float>::run();",
    "BLAS of the host": "cblas_sgemm(1);",
}


@pytest.mark.parametrize("body", LIBRARIES.values(), ids=LIBRARIES)
def test_a_call_of_a_library_is_accused_and_its_header_is_not(body):
    assert set(host(body)) == {"library_call"}
    assert host(body, native=False) == {}
    includes = "#include <cublas_v2.h>\n#include <cub/cub.cuh>\n#include <thrust/device_vector.h>\n"
    types = "static cublasHandle_t handle = nullptr;\n"
    assert cpp(includes + types + SOURCE) == {}


def test_building_blocks_within_a_block_are_ones_own_kernel():
    kernel = "__global__ void k(float* x) { typedef cub::BlockReduce<float, 256> R; __shared__ R::TempStorage t; x[0] = R(t).Sum(x[1]); }\n"
    assert host("k<<<1, 256>>>(y.data_ptr<float>());", before=kernel) == {}


TAMPERING = {
    "system": ('system("ls");', "process"),
    "std::system": ('std::system("ls");', "process"),
    "::system": ('::system("ls");', "process"),
    "a pointer to system": ("auto f = &system; f(0);", "process"),
    "fork": ("if (fork() == 0) return x;", "process"),
    "kill": ("kill(getpid(), 9);", "process"),
    "_exit": ("_exit(0);", "process"),
    "ptrace": ("ptrace(PTRACE_ATTACH, 1, 0, 0);", "process"),
    "a system call": ("syscall(57);", "process"),
    "fopen": ('FILE* f = fopen("/proc/self/maps", "r");', "file_access"),
    "a stream of a file": ('std::ifstream f("/proc/self/mem");', "file_access"),
    "filesystem": ('std::filesystem::remove("a");', "file_access"),
    "write": ("write(3, p, 4);", "file_access"),
    "dup2": ("dup2(1, 200);", "file_access"),
    "a socket": ("int s = socket(2, 1, 0);", "network"),
    "dlopen": ('void* h = dlopen("libcublas.so", 2);', "dynamic_loading"),
    "dlsym": ('void* f = dlsym(RTLD_DEFAULT, "cudaEventElapsedTime");', "dynamic_loading"),
    "loaded objects": ("dl_iterate_phdr(nullptr, nullptr);", "dynamic_loading"),
    "mprotect": ("mprotect((void*)p, 4096, 7);", "memory_map"),
    "process_vm_readv": ("process_vm_readv(1, a, 1, b, 1, 0);", "memory_map"),
    "std::thread": ("std::thread t([] {}); t.detach();", "thread"),
    "std::async": ("auto f = std::async([] { return 1; });", "thread"),
    "pthread": ("pthread_create(&t, 0, f, 0);", "thread"),
    "a callback of the stream": ("cudaLaunchHostFunc(s, f, 0);", "thread"),
    "a side stream": ("cudaStream_t s; cudaStreamCreate(&s);", "side_stream"),
    "a stream of the pool": ("auto s = at::cuda::getStreamFromPool();", "side_stream"),
    "a graph": ("cudaGraph_t g; cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);", "cuda_graph"),
    "a graph of PyTorch": ("at::cuda::CUDAGraph g;", "cuda_graph"),
    "IPC": ("cudaIpcGetMemHandle(&h, p);", "ipc_handle"),
    "persistence": ("cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);", "l2_persistence"),
    "a window of the cache": ("cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v);", "l2_persistence"),
    "a reset": ("cudaDeviceReset();", "cuda_call"),
    "the driver": ("cuMemGetAddressRange(&b, &s, p);", "cuda_call"),
    "NVRTC": ("nvrtcCreateProgram(&p, s, 0, 0, 0, 0);", "runtime_compiler"),
    "an address": ("float* q = reinterpret_cast<float*>(0x7f0000000000ULL);", "address_from_integer"),
    "an address by a cast": ("float* q = (float*)0x7f0000000000;", "address_from_integer"),
    "assembler": ('asm volatile("syscall" ::: "memory");', "host_assembler"),
    "Python's eval": ('py::eval("torch.relu");', "python_from_cpp"),
    "Python's import": ('auto t = py::module_::import("torch");', "python_from_cpp"),
    "Python by another name": ('pybind11::module::import("torch");', "python_from_cpp"),
    "an attribute of Python": ('auto f = obj.attr("relu")(x);', "python_from_cpp"),
    "Python's C API": ('PyRun_SimpleString("x");', "python_from_cpp"),
    "the dispatcher": ("auto op = c10::Dispatcher::singleton().findSchemaOrThrow(\"aten::relu\", \"\");", "torch_internals"),
    "flags": ("at::globalContext().setBenchmarkCuDNN(true);", "backend_flags"),
    "the simulator": ("moore_sim_reset();", "simulator_tampering"),
    "the sanitizer": ("__tsan_read4(p);", "simulator_tampering"),
    "a script": ('auto m = torch::jit::load("a.pt");', "delegation"),
    "reading tensors": ('torch::load(x, "a.pt");', "file_access"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "rule"), TAMPERING.values(), ids=TAMPERING)
@pytest.mark.parametrize("native", [True, False], ids=["native", "mixed"])
def test_reaching_for_the_judge_or_the_machine_is_accused_called_or_not(body, rule, native):
    assert rule in host(body, native=native)
    spare = f"void spare(torch::Tensor x) {{ {body} }}\n"
    assert rule in cpp(KERNEL + spare + HOST, native=native)
    assert rule in cpp(
        KERNEL + f"#define DO {body}\n" + HOST.replace("    return y;", "    DO\n    return y;"), native=native
    )


AT_FILE_SCOPE = {
    "a constructor": ("__attribute__((constructor)) static void early() { }\n", "static_initialiser"),
    "a constructor in brackets": ("[[gnu::constructor]] static void early() { }\n", "static_initialiser"),
    "a value made by a function": ("int make() { return 1; }\nstatic int made = make();\n", "static_initialiser"),
    "a value made by a lambda": ("static int made = [] { return 1; }();\n", "static_initialiser"),
    "a section": ('__attribute__((section(".init_array"))) void (*p)() = 0;\n', "static_initialiser"),
    "assembler": ('asm(".globl x");\n', "host_assembler"),
    "an operator of PyTorch's": ("TORCH_LIBRARY_IMPL(aten, CUDA, m) { m.impl(\"relu\", f); }\n", "patching"),
    "no sanitizer": ("__attribute__((no_sanitize(\"thread\"))) void f() {}\n", "simulator_tampering"),
    "optimisation": ("#pragma GCC optimize(\"O0\")\n", "simulator_tampering"),
    "a test for the compiler": ("#ifdef __GNUC__\nint z;\n#endif\n", "simulator_tampering"),
    "a symbol of the judge's": ('extern "C" void moore_sim_reset();\n', "simulator_tampering"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "rule"), AT_FILE_SCOPE.values(), ids=AT_FILE_SCOPE)
def test_what_runs_or_changes_things_when_it_is_loaded_is_accused(before, rule):
    assert set(cpp(KERNEL + before + HOST)) == {rule}


HONEST_SOURCES = {
    "constants": "static const int WIDTH = 16; constexpr int twice(int a) { return 2 * a; }\nstatic constexpr int W2 = twice(3);\n",
    "inline PTX": '__device__ float f(float x) { float y; asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }\n',
    "tests for CUDA": "#if defined(__CUDACC__) && __CUDA_ARCH__ >= 700\n__device__ int a;\n#endif\n",
    "unrolling": "#pragma unroll\n__device__ void g() {}\n#pragma nv_diag_suppress 177\n",
    "functions with names of the library": "__device__ float read(const float* p) { return *p; }\n__global__ void w(float* p) { p[0] = read(p); }\n",
    "members with names of the library": "struct S { int open; int close() { return open; } };\n__device__ int k(S s) { return s.open + s.close(); }\n",
    "variables with names of the library": "__device__ int h(int index, int select, int stat) { int link = index + select; return link * stat; }\n",
    "a cooperative group": "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__device__ void s() { auto b = cg::this_thread_block(); b.sync(); }\n",
    "curand in a kernel": "#include <curand_kernel.h>\n__global__ void r(float* p) { curandState s; curand_init(1, 0, 0, &s); p[0] = curand_uniform(&s); }\n",
    "half in a template": (
        "template <typename T> __device__ T from(float v);\n"
        "template <> __device__ __half from<__half>(float v) { return __float2half(v); }\n"
        "template <> __device__ float from<float>(float v) { return v; }\n"
    ),
    "half in an overload": (
        "__device__ void put(__half* p, float v) { *p = __float2half(v); }\n__device__ void put(float* p, float v) { *p = v; }\n"
    ),
    "a hash of bits": "__device__ float bits(unsigned u) { return __uint_as_float(0x3f800000u | u); }\n",
    "a macro for checks": (
        '#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")\n'
        "#define CHECK_INPUT(x) CHECK_CUDA(x); TORCH_CHECK(x.is_contiguous())\n"
        "void check(torch::Tensor t) { CHECK_INPUT(t); }\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("before", HONEST_SOURCES.values(), ids=HONEST_SOURCES)
def test_what_honest_sources_hold_is_not_accused(before):
    assert cpp(KERNEL + before + HOST, single=True) == {}


LOW = {
    "a conversion": "__device__ float f(float x) { return __half2float(__float2half(x)); }\n",
    "bfloat16": "__global__ void c(const float* x, __nv_bfloat16* y) { y[0] = __float2bfloat16(x[0]); }\n",
    "a cast": "__device__ float f(float x) { return static_cast<float>(static_cast<half>(x)); }\n",
    "TF32 fragments": "__global__ void t() { wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a; }\n",
    "half fragments": "__global__ void t() { nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a; }\n",
    "PTX": '__device__ unsigned f(float x) { unsigned y; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x)); return y; }\n',
    "a tensor": "torch::Tensor low(torch::Tensor t) { return t.to(torch::kHalf); }\n",
    "an allocation": "torch::Tensor low(torch::Tensor t) { return torch::empty({1}, t.options().dtype(torch::kBFloat16)); }\n",
}  # fmt: skip


@pytest.mark.parametrize("before", LOW.values(), ids=LOW)
def test_lower_precision_is_accused_where_the_task_asks_for_single(before):
    assert set(cpp(KERNEL + before + HOST, single=True)) == {"low_precision"}
    assert cpp(KERNEL + before + HOST, single=False) == {}


BROKEN = {
    "an open bracket": "void f() { if (((\n",
    "macros as statements": "#define BEGIN {\nvoid f() BEGIN }\n@@@ $$ ???\n",
    "a brace too many": "}}}}\n",
    "no C++ at all": "SELECT * FROM tensors WHERE 'x;\n",
}


@pytest.mark.parametrize("before", BROKEN.values(), ids=BROKEN)
def test_a_source_that_the_grammar_does_not_take_is_read_by_its_words(before):
    found = cpp(KERNEL + before + HOST.replace("return y;", 'system("ls"); return at::relu(y).softmax(1);'))
    assert {"process", "cpp_torch_compute"} <= set(found)


def test_an_accusation_names_the_line_in_the_candidates_own_file():
    code = f'class ModelNew:\n    pass\nsource = """{SOURCE.replace("return y;", "return y.relu();")}"""\n'
    source = code.split('"""')[1]
    hits = broken_rules(code, (Extension("e", (Source("cuda_sources[0]", "cuda", source),), (("run", "run"),)),))
    assert hits == ()  # nothing calls it
    called = code.replace("pass", "forward = lambda self, x: load_inline(name='e').run(x)")
    called = "from torch.utils.cpp_extension import load_inline\n" + called
    hits = broken_rules(called, (Extension("e", (Source("cuda_sources[0]", "cuda", source),), (("run", "run"),)),))
    assert [(h.rule, h.place.file, h.place.text) for h in hits] == [
        ("cpp_torch_compute", "candidate", "return y.relu();")
    ]


HOSTILE = {
    "brackets": "(" * 200_000,
    "braces": "{" * 200_000,
    "templates": "a<" * 100_000,
    "a chain": "x" + ".y()" * 100_000 + ";",
    "a sum": "int s = " + "1+" * 100_000 + "1;",
    "blocks": "void f() {" + "if (1) {" * 30_000,
    "lines": "\n" * 900_000,
    "a long line": "int " + "a" * 900_000 + ";",
    "NUL bytes": "int a;\0\0\0" * 1000,
    "surrogates": "int \udcff\ud800;" * 1000,
    "an explosion": "#define A0 x x\n"
    + "".join(f"#define A{i} A{i - 1} A{i - 1}\n" for i in range(1, 60))
    + "int A59;\n",
    "a macro of itself": "#define A(x) A(x) A(x)\nA(A(A(1)))\n",
    "a string without end": '"' + "x" * 500_000,
    "backslashes": "\\\n" * 300_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_to_an_end(text):
    found = cpp(KERNEL + HOST + text + "\n")
    assert set(found) <= {"unreadable_source", "cpp_torch_compute"}


STAYS_TOGETHER = "for (int k = 0; k < n; ++k) { m += k << 1; m <<= 1; m--; run_on<<<1, 32>>>(m, &k); }"


@pytest.mark.parametrize("before", ["", "#define PLACED(body) body\n"], ids=["plain", "through a macro"])
def test_operators_of_several_characters_stay_together_when_text_is_expanded(before):
    text = STAYS_TOGETHER if not before else f"PLACED({STAYS_TOGETHER})"
    source = f"{before}__global__ void run_on(int m, int* k) {{}}\nvoid run(int n, int m) {{ {text} }}\n"
    extension = Extension("e", (Source("cuda_sources[0]", "cuda", source),), (("run", "run"),))
    (tree,) = read_cpp([extension], single=False).program.trees
    assert tree.is_whole


@pytest.mark.parametrize("name", ["mm", "sum", "relu", "cublasFreeSum"])
def test_a_function_of_its_own_in_device_code_is_not_accused_whatever_it_is_called(name):
    body = "{ float s = 0; for (int k = 0; k < 4; ++k) s += a[k]; return s; }"
    tile = f"struct Tile {{ const float* a; __device__ float {name}() {body} }};\n"
    kernel = f"__global__ void use(const float* x, float* y) {{ Tile t{{x}}; y[0] = t.{name}(); }}\n"
    assert cpp(KERNEL + tile + kernel + HOST) == {}
