"""Real builds: what PyTorch would build is built, runs, and tells lines; what it would refuse is told."""

import json
import tempfile
import uuid
from pathlib import Path

import pytest
from support.simulator_build import DECLARATION, HEAD, KERNEL, PLAIN, extension, run

from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Recording, Source
from mooreeval.toolchains.record import extension_from_load
from mooreeval.toolchains.simulator import SimulatorToolchain

FILES = {
    "kernel.cu": '#include "sub/one.cuh"\n#include <two.cuh>\n'
    "__global__ void k(float* x) { x[threadIdx.x] += ONE * TWO; }\n"
    "void launch(float* x, int n) { k<<<1, n>>>(x); }\n",
    "bind.cpp": "#include <torch/extension.h>\nvoid launch(float* x, int n);\n"
    "torch::Tensor f(torch::Tensor x) { launch(x.data_ptr<float>(), x.numel()); return x; }\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n',
    "sub/one.cuh": '#include "value.h"\n#define ONE VALUE\n',
    "sub/value.h": "#pragma once\n#define VALUE 1.0f\n",
    "inc/two.cuh": "#define TWO 2.0f\n",
}


@pytest.fixture(scope="module")
def toolchain() -> SimulatorToolchain:
    return SimulatorToolchain()


def test_an_extension_runs_and_its_findings_have_lines(toolchain: SimulatorToolchain, tmp_path: Path) -> None:
    source = HEAD + KERNEL
    recorded = extension(source)
    built = toolchain.build(recorded, 600)
    assert isinstance(built, Artefact), built
    again = toolchain.build(recorded, 600)
    assert isinstance(again, Artefact)
    assert (again.path, again.seconds) == (built.path, 0.0)
    said = run(toolchain, built, 128, tmp_path / "good")
    assert "[127.0, 125.0, 123.0]" in said
    assert "f(): incompatible function arguments" in said
    assert json.loads((tmp_path / "good").read_text())["launches"][0]["kernel"] == "reversed<scalar_t>"
    run(toolchain, built, 100, tmp_path / "bad")
    candidate = f'import torch\nsource = """{source}"""\n'
    found = toolchain.findings(json.loads((tmp_path / "bad").read_text()), [built], candidate, Recording((recorded,)))
    told = found[0].place
    assert told is not None
    assert (found[0].kind, told.file) == ("out_of_bounds", "candidate")
    assert "one too many" in candidate.split("\n")[(told.line or 0) - 1]


def test_a_function_that_is_never_defined_is_a_compile_error_by_name(toolchain: SimulatorToolchain) -> None:
    text = (
        HEAD
        + "void launch_it(float*);\ntorch::Tensor f(torch::Tensor x) { launch_it(x.data_ptr<float>()); return x; }\n"
    )
    failed = toolchain.build(extension(text), 600)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "compile_error"
    assert "launch_it" in failed.reason
    assert toolchain.build(extension(text), 600) == failed  # from the cache, with all it says


def test_what_is_illegal_needs_no_compiler(tmp_path: Path) -> None:
    toolchain = SimulatorToolchain(tmp_path)
    for cuda, more, rule in (
        (PLAIN, {"cuda_cflags": ("-include /etc/passwd",)}, "compiler_flag"),
        ('#include "/etc/passwd"\n', {}, "include_path"),
        ("__attribute__((no_sanitize_thread)) void g();\n", {}, "simulator_tampering"),
    ):
        failed = toolchain.build(extension(cuda, **more), 600)
        assert isinstance(failed, BuildFailure)
        assert (failed.kind, failed.rule) == ("illegal", rule)
    failed = toolchain.build(extension("void g() { cublasCreate(nullptr); }"), 600)
    assert isinstance(failed, BuildFailure)
    assert (failed.kind, failed.feature) == ("unsupported", "cuBLAS")
    assert list((tmp_path / "entries").iterdir()) == []


def test_the_deadline_ends_the_compiler_and_is_not_remembered(
    toolchain: SimulatorToolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain.prepare()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recorded = extension(HEAD + PLAIN + f"// {uuid.uuid4()}: in no cache\n")
    failed = toolchain.build(recorded, 0.2)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "timeout"
    assert isinstance(toolchain.build(recorded, 600), Artefact)
    assert list(tmp_path.iterdir()) == []


BUILDS = {
    "one module by the candidate itself": (
        HEAD + PLAIN + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("x"), "doc"); }\n',
        "",
        None,
    ),
    "names, defaults and a guard": (
        HEAD
        + "torch::Tensor f(torch::Tensor x, c10::optional<torch::Tensor> w, double eps, float s, int64_t n, bool b,"
        " const std::string& mode, std::vector<int64_t> v) { return x; }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.doc() = "text"; m.def("f", &f, "doc", py::arg("x"),\n'
        '  py::arg("w") = c10::nullopt, py::arg("eps") = 1e-5, py::arg("s") = 2, pybind11::arg("n") = int64_t(1),\n'
        '  py::arg("b") = true, py::arg("mode") = "sum", py::arg("v") = std::vector<int64_t>{1, 2},\n'
        '  py::call_guard<py::gil_scoped_release>()).def("g", [](torch::Tensor x) { return x; }, py::arg("x")); }\n',
        "",
        None,
    ),
    "annotations that only pybind11 understands": (
        HEAD + "torch::Tensor f(torch::Tensor x, double s) { return x; }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("x").noconvert(), py::kw_only(), '
        'py::arg("s") = 1.0); }\n',
        "",
        None,
    ),
    "a named argument of another type": (
        HEAD + "torch::Tensor f(torch::Tensor x, std::complex<double> s) { return x; }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("x"), py::arg("s")); }\n',
        "",
        None,
    ),
    "tensors of every making": (
        HEAD + "torch::Tensor f(torch::Tensor x) { \n"
        "  auto o = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA);\n"
        "  auto a = torch::zeros({2, 3}, o) + torch::ones({2, 3}, torch::kF32) + torch::full({2, 3}, 1.0, o);\n"
        "  auto b = torch::arange(0, 6, o).reshape({2, 3}) + torch::randn({2, 3}, o) + torch::eye(3, o)[0];\n"
        "  auto c = torch::tensor({1.0f, 2.0f}, o) + torch::empty({2}, o.requires_grad(false)).fill_(2);\n"
        "  auto d = torch::from_blob(c.data_ptr(), {2}, o) + torch::linspace(0, 1, 2, o); torch::NoGradGuard guard;\n"
        '  using namespace torch::indexing; auto e = x.index({Slice(), "..."}); torch::Dtype t = torch::kInt64;\n'
        "  return torch::cat({a.sum().view({1}), b.to(t).sum().view({1}), d}); }\n",
        DECLARATION,
        ("f",),
    ),
    "a gradient": (
        HEAD
        + "torch::Tensor f(torch::Tensor x) { return torch::ones({2}, torch::TensorOptions().requires_grad(true)); }\n",
        DECLARATION,
        ("f",),
    ),
    "operators in a library": (
        HEAD
        + PLAIN
        + 'TORCH_LIBRARY(my_ext, m) { m.def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CUDA, &f); }\n',
        "",
        None,
    ),
    "repeated default arguments": (
        HEAD + "torch::Tensor f(torch::Tensor x, double s = 1.0) { return x; }\n",
        "torch::Tensor f(torch::Tensor x, double s = 1.0);",
        ("f",),
    ),
    "helpers of one name": (
        HEAD + "static int helper() { return 2; }\n" + PLAIN,
        DECLARATION + "\nstatic int helper() { return 1; }",
        ("f",),
    ),
    "arguments of every kind": (
        HEAD + "at::Tensor f(const at::Tensor& x, int64_t a, int b, bool c, double d, float e, const std::string& s,"
        " c10::optional<at::Tensor> t, std::vector<int64_t> v, at::IntArrayRef r, at::Scalar q, std::vector<float> w)"
        " { return x; }\n",
        "at::Tensor f(const at::Tensor& x, int64_t a, int b, bool c, double d, float e, const std::string& s,"
        " c10::optional<at::Tensor> t, std::vector<int64_t> v, at::IntArrayRef r, at::Scalar q, std::vector<float> w);",
        ("f",),
    ),
    "a type that only pybind11 converts": (
        HEAD + "#include <map>\nint f(std::map<std::string, double> m) { return 1; }\n",
        "#include <map>\nint f(std::map<std::string, double> m);",
        ("f",),
    ),
    "modules of PyTorch": (
        HEAD + "torch::Tensor f(torch::Tensor x) { return torch::nn::functional::relu(x); }\n",
        DECLARATION,
        ("f",),
    ),
    "a name that torch/extension.h alone takes": (
        "#include <torch/types.h>\n#include <cuda_runtime.h>\n__constant__ float px[2], py[2];\n" + PLAIN,
        DECLARATION,
        ("f",),
    ),
    "the same name beside a binding by pybind11": (
        "__constant__ float px[2], py[2];\ntorch::Tensor f_cuda(torch::Tensor x) { return x; }\n",
        "torch::Tensor f_cuda(torch::Tensor x);\n"
        "torch::Tensor f(py::object x) { return f_cuda(x.cast<at::Tensor>()); }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n',
        None,
    ),
    "the same name beside all of PyTorch": (
        "#include <torch/types.h>\n__constant__ float px[2], py[2];\n"
        "torch::Tensor f_cuda(torch::Tensor x) { return x; }\n",
        "torch::Tensor f_cuda(torch::Tensor x);\n"
        "torch::Tensor f(torch::Tensor x) { return torch::nn::functional::relu(f_cuda(x)); }\n"
        "py::object g() { return py::none(); }\n",
        ("f", "g"),
    ),
    "what the host's compiler defines in a C++ source": (
        HEAD + "#ifndef __CUDACC__\n#error not nvcc\n#endif\n" + PLAIN,
        DECLARATION + "\n#if defined(__CUDACC__) || defined(__CUDA_ARCH__)\n#error nvcc\n#endif\n",
        ("f",),
    ),
    "streams and guards": (
        HEAD + "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>\n__global__ void k() {}\n"
        "torch::Tensor f(torch::Tensor x) { const at::cuda::OptionalCUDAGuard guard(x.device());\n"
        "  k<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(); C10_CUDA_KERNEL_LAUNCH_CHECK(); return x; }\n",
        DECLARATION,
        ("f",),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BUILDS.values(), ids=BUILDS.keys())
def test_what_pytorch_builds_is_built(case: tuple, toolchain: SimulatorToolchain) -> None:
    cuda, cpp, functions = case
    built = toolchain.build(extension(cuda, cpp, functions), 600)
    assert isinstance(built, Artefact), (built.reason, built.log_tail)


FAILURES = {
    "a module in a CUDA source that lacks torch/extension.h": (
        PLAIN + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n',
        "int unused();",
        None,
        "cuda_sources[0]:2: expected constructor",
    ),
    "an alias in a CUDA source that lacks torch/extension.h": (
        PLAIN + "void g(py::module m) {}\n",
        DECLARATION,
        ("f",),
        "'py' has not been declared",
    ),
    "binding what C++ cannot see": (HEAD + PLAIN, "", ("f",), "'f' was not declared"),
    "a launch in a C++ source": (
        HEAD,
        "void k(); torch::Tensor f(torch::Tensor x) { k<<<1, 2>>>(); return x; }",
        ("f",),
        "expected",
    ),
    "defined twice": (HEAD + PLAIN, PLAIN, ("f",), "multiple definition"),
    "no such function of PyTorch": (
        HEAD + "torch::Tensor f(torch::Tensor x) { return torch::no_such_function(x); }",
        DECLARATION,
        ("f",),
        "no_such_function",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES.keys())
def test_what_pytorch_refuses_is_a_compile_error(case: tuple, toolchain: SimulatorToolchain) -> None:
    cuda, cpp, functions, words = case
    failed = toolchain.build(extension(cuda, cpp, functions), 600)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "compile_error", failed.reason
    assert words in failed.reason


@pytest.mark.slow
def test_flags_reach_the_compiler_that_they_are_for(toolchain: SimulatorToolchain) -> None:
    cpp = DECLARATION + "\n#if defined(DEVICE) || HOST != 2\n#error flags\n#endif\n"
    cuda = HEAD + "#if defined(HOST) || DEVICE != 3\n#error flags\n#endif\n" + PLAIN
    built = toolchain.build(extension(cuda, cpp, cflags=("-DHOST=2",), cuda_cflags=("-DDEVICE=3",)), 600)
    assert isinstance(built, Artefact), built


HALF_SUM = """
__global__ void k(__half* x) { x[0] = x[0] + x[1]; }
torch::Tensor f(torch::Tensor x) { k<<<1, 1>>>(reinterpret_cast<__half*>(x.data_ptr<at::Half>())); return x; }
"""


@pytest.mark.slow
def test_half_operators_need_the_flag_that_load_inline_needs(toolchain: SimulatorToolchain) -> None:
    def built(flags: tuple[str, ...]) -> Artefact | BuildFailure:
        sources = (
            Source("cpp_sources[0]", "cpp", DECLARATION),
            Source("cuda_sources[0]", "cuda", HEAD + "#include <cuda_fp16.h>\n" + HALF_SUM),
        )
        return toolchain.build(Extension("halves", sources, (("f", "f"),), cuda_cflags=flags), 300)

    refused = built(())
    assert isinstance(refused, BuildFailure)
    assert refused.kind == "compile_error"
    assert "__hadd" in refused.reason
    assert isinstance(built(("-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__")), Artefact)


def test_files_with_headers_of_their_own_build_as_pytorchs_load_builds_them(
    toolchain: SimulatorToolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    call = {"name": "mine", "sources": ["bind.cpp", "kernel.cu"], "extra_include_paths": [str(tmp_path / "inc")]}
    built = toolchain.build(extension_from_load(call), 600)
    assert isinstance(built, Artefact), built
    assert "[2.0, 3.0, 4.0]" in run(toolchain, built, 8, tmp_path / "report")


def test_cuda_sources_without_cuda_are_refused_as_pytorch_cannot_build_them(toolchain: SimulatorToolchain) -> None:
    failed = toolchain.build(extension(HEAD + KERNEL, with_cuda=False), 600)
    assert isinstance(failed, BuildFailure)
    assert (failed.kind, "with_cuda=False" in failed.reason) == ("compile_error", True)
    assert isinstance(toolchain.build(extension(HEAD + PLAIN, with_cuda=True), 600), Artefact)
