"""Bindings without pybind11 in the candidate's unit behave as pybind11's own do: the same calls, the same answers."""

import json
import subprocess
import sys

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
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "all kinds";
  m.def("f", &f, "as named", py::arg("x"), py::arg("w") = c10::nullopt, py::arg("eps") = 1e-5, py::arg("scale") = 2,
        pybind11::arg("n") = int64_t(1), py::arg("flag") = true, py::arg("mode") = "sum",
        py::arg("sizes") = std::vector<int64_t>{1, 2}, py::call_guard<py::gil_scoped_release>());
  m.def("plain", plain);
  m.def("named", [](int64_t a, double b) { return a - int64_t(b); }, py::arg("a"), py::arg("b") = 3);
  m.def("thrown", &thrown, py::arg("a"));
  m.def("nothing", &nothing);
}
"""
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
    "f.__doc__.split()[-2:]",
    "named.__doc__.split(chr(40))[0]",
]
ASK = """
import importlib.machinery, importlib.util, json, sys
import torch
name, path, calls = sys.argv[1:]
loader = importlib.machinery.ExtensionFileLoader(name, path)
module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
loader.exec_module(module)
names = {**vars(module), "x": torch.ones(3)}
answers = []
for call in json.loads(calls):
    try:
        answers.append(eval(call, names))
    except Exception as error:
        told = str(error).splitlines()
        answers.append([type(error).__name__, told[:1]])
print(json.dumps(answers))
"""


def answers(toolchain: SimulatorToolchain, text: str) -> list[object]:
    recorded = Extension("bound", (Source("cuda_sources[0]", "cuda", text),), None)
    built = toolchain.build(recorded, 600)
    assert isinstance(built, Artefact), built
    environment = toolchain.device_options()
    command = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({environment['runtime_lib']!r}, 256)\n{ASK}"]
    done = subprocess.run(
        [*command, built.module_name, str(built.path), json.dumps(CALLS)],
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
