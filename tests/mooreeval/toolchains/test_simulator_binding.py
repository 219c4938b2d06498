"""Bindings without pybind11 in the candidate's unit behave as pybind11's own do: the same calls, the same answers."""

import json
import subprocess
import sys
from typing import Any

import pytest

from mooreeval.toolchains.base import Artefact, Extension, Source
from mooreeval.toolchains.simulator import SimulatorToolchain
from mooreeval.toolchains.simulator_units import Headers, headers_of

SOURCE = """
#include <torch/extension.h>
#include <cstdio>
std::string f(torch::Tensor x, c10::optional<torch::Tensor> w, double eps, float scale, int64_t n, bool flag,
              const std::string& mode, std::vector<int64_t> sizes) {
  char text[200];
  std::snprintf(text, sizeof text, "%d %d %g %g %d %d %s %d", int(x.numel()), w ? int(w->numel()) : -1, eps, scale,
                int(n), int(flag), mode.c_str(), int(sizes.size()));
  return text;
}
int64_t plain(int64_t a, double b) { return a + int64_t(b); }
int64_t thrown(int64_t a) { TORCH_CHECK(a > 0, "too small: ", a); throw std::invalid_argument("always"); }
void nothing() {}
torch::Tensor twice(torch::Tensor x) { return x; }
std::string twice(torch::Tensor x, float s) { return "two"; }
template <class T> std::string show(const T& value) { std::ostringstream text; text << value; return text.str(); }
template <class T> std::string show(const std::optional<T>& value) { return value.has_value() ? show(*value) : "none"; }
template <class T> std::string show(const std::vector<T>& value) { return show(value.size()) + "x" + show(value[0]); }
std::string show(const torch::Tensor& value) { return value.defined() ? "tensor" : "undefined"; }
#define DEFAULT(NAME, TYPE, VALUE) m.def(NAME, [](TYPE v) { return show(v); }, py::arg("v") = VALUE)
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "all kinds";
  m.def("f", &f, "as named", py::arg("x"), py::arg("w") = c10::nullopt, py::arg("eps") = 1e-5, py::arg("scale") = 2,
        pybind11::arg("n") = int64_t(1), py::arg("flag") = true, py::arg("mode") = "sum",
        py::arg("sizes") = std::vector<int64_t>{1, 2}, py::call_guard<py::gil_scoped_release>());
  m.def("plain", plain);
  m.def("named", [](int64_t a, double b) { return a - int64_t(b); }, py::arg("a"), py::arg("b") = 3);
  m.def("thrown", &thrown, py::arg("a"));
  m.def("nothing", &nothing);
  m.def("over", [](int64_t a) { return std::string("integer"); }, "first");
  m.def("over", [](double a) { return std::string("real"); });
  m.def("over", [](const std::string& a) { return "text " + a; }, py::arg("name"));
  m.def("over", [](torch::Tensor x, double s) { return "tensor " + show(s); }, py::arg("x"), py::arg("s") = 3.5);
  m.def("over", [] { return std::string("nothing"); }, "last");
  m.def("twice", static_cast<torch::Tensor (*)(torch::Tensor)>(&twice), "one");
  m.def("twice", static_cast<std::string (*)(torch::Tensor, float)>(&twice), py::arg("x"), py::arg("s") = 3.0f);
  DEFAULT("d0", c10::optional<torch::Tensor>, nullptr);
  DEFAULT("d1", c10::optional<torch::Tensor>, py::none());
  DEFAULT("d2", std::optional<torch::Tensor>, std::nullopt);
  DEFAULT("d3", c10::optional<double>, c10::nullopt);
  DEFAULT("d4", std::optional<torch::Tensor>, std::optional<torch::Tensor>());
  DEFAULT("d5", std::optional<torch::Tensor>, NULL);
  DEFAULT("d6", std::optional<double>, static_cast<const char*>(nullptr));
  DEFAULT("d7", bool, false);
  DEFAULT("d8", bool, 1);
  DEFAULT("d9", int64_t, 1);
  DEFAULT("d10", double, 1.5);
  DEFAULT("d11", float, 1.5f);
  DEFAULT("d12", int64_t, 1.5);
  DEFAULT("d13", std::string, "text");
  DEFAULT("d14", std::string, std::string("text"));
  DEFAULT("d15", std::string, static_cast<const char*>("text"));
  DEFAULT("d16", torch::Dtype, torch::kFloat);
  DEFAULT("d17", std::optional<torch::Dtype>, torch::kInt64);
  DEFAULT("d18", torch::Device, torch::Device(torch::kCPU));
  DEFAULT("d19", torch::Tensor, torch::Tensor());
  DEFAULT("d20", torch::Tensor, torch::ones({2}));
  DEFAULT("d21", std::vector<double>, (std::vector<double>{1.5, 2}));
  DEFAULT("d22", std::vector<int64_t>, (std::vector<int>{1, 2, 3}));
  DEFAULT("d23", size_t, size_t(3));
  DEFAULT("d24", at::Scalar, at::Scalar(2.5));
  DEFAULT("d25", std::optional<std::vector<int64_t>>, py::none());
}
"""
DEFAULTS = 26
CALLS = [
    "f(x)",
    "f(x, x)",
    "f(x, None, 0.5, 3, 4, False, 'max', [1])",
    "f(x, eps=0.25, sizes=[1, 2, 3])",
    "f(x=x, mode='min')",
    "f(mode='min', x=x, w=x)",
    "f()",
    "f(w=x)",
    "f(x, x=x)",
    "f(x, unknown=1)",
    "f(x, eps='no')",
    "f(x, None, 1, 2, 3, 4, '5', [6], 7)",
    "plain(1, 2)",
    "plain(1, b=2)",
    "plain(1)",
    "plain(2.5, 1)",
    "named(5)",
    "named(b=1, a=2)",
    "named(5, 'x')",
    "thrown(0)",
    "thrown(a=1)",
    "nothing()",
    "nothing(1)",
    "over(1)",
    "over(1.5)",
    "over(True)",
    "over('a')",
    "over(name='b')",
    "over(x)",
    "over(x, 2)",
    "over(s=1, x=x)",
    "over()",
    "over(None)",
    "over(1, 2)",
    "type(twice(x)).__name__",
    "twice(x, 1)",
    "twice(x, s=1.5)",
    "twice(s=1.5)",
    *(f"d{k}()" for k in range(DEFAULTS)),
    *(f"d{k}.__doc__" for k in range(DEFAULTS)),
    *(f"{name}.__doc__" for name in ("f", "plain", "named", "thrown", "nothing", "over", "twice")),
    "[f.__name__, over.__name__, f.__module__, over.__module__]",
    "__doc__",
    "__name__",
]
ASK = """
import importlib.machinery, importlib.util, json, sys
import torch
name, path, calls = sys.argv[1:]
loader = importlib.machinery.ExtensionFileLoader(name, path)
try:
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
    loader.exec_module(module)
except ImportError as error:
    print(json.dumps(str(error).splitlines()[0]))
    sys.exit()
names = {**vars(module), "x": torch.ones(3)}
answers = []
for call in json.loads(calls):
    try:
        answers.append(eval(call, names))
    except Exception as error:
        told = str(error).partition("Invoked with")[0].partition("Exception raised")[0]
        answers.append([type(error).__name__, told])
print(json.dumps(answers))
"""


def answers(toolchain: SimulatorToolchain, text: str, calls: list[str] = CALLS) -> Any:
    recorded = Extension("bound", (Source("cuda_sources[0]", "cuda", text),), None)
    built = toolchain.build(recorded, 600)
    assert isinstance(built, Artefact), built
    environment = toolchain.device_options()
    command = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({environment['runtime_lib']!r}, 256)\n{ASK}"]
    done = subprocess.run(
        [*command, built.module_name, str(built.path), json.dumps(calls)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_light_bindings_answer_as_pybind11_does() -> None:
    toolchain = SimulatorToolchain()
    whole = SOURCE.replace("void nothing() {}", "void nothing() { (void)sizeof(py::object); }")
    light = Extension("bound", (Source("cuda_sources[0]", "cuda", SOURCE),), None)
    assert headers_of(light) is Headers.LIGHT
    mine, theirs = answers(toolchain, SOURCE), answers(toolchain, whole)
    for call, got, expected in zip(CALLS, mine, theirs, strict=True):
        assert got == expected, call


@pytest.mark.slow
def test_a_default_that_pybind11_alone_can_keep_is_bound_by_it() -> None:
    text = """
#include <torch/extension.h>
int64_t f(at::IntArrayRef v) { return v.size() * 100 + v[0]; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("v") = at::IntArrayRef({3, 4})); }
"""
    assert answers(SimulatorToolchain(), text, ["f()", "f([5])"]) == [203, 105]


@pytest.mark.slow
def test_what_a_module_throws_while_it_is_made_is_an_import_error() -> None:
    text = """
#include <torch/extension.h>
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { throw std::runtime_error("not today"); }
"""
    assert answers(SimulatorToolchain(), text, []) == "not today"
