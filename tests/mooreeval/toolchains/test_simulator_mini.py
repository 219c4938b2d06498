"""Modules that are built against the small tensor header do what those behind PyTorch's own do, or fall back."""

import json

import pytest
from support.simulator_build import KERNEL, extension, run

from mooreeval.errors import UsageError
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Source
from mooreeval.toolchains.simulator import SimulatorToolchain

pytestmark = pytest.mark.slow
HEAD = "#include <torch/extension.h>\n#include <c10/cuda/CUDAGuard.h>\n#include <c10/cuda/CUDAException.h>\n"


@pytest.fixture(scope="module")
def both() -> SimulatorToolchain:
    toolchain = SimulatorToolchain(tiers=("mini", "full"))
    toolchain.prepare()
    return toolchain


@pytest.fixture(scope="module")
def full() -> SimulatorToolchain:
    return SimulatorToolchain()


def of_one(body: str, head: str = HEAD, **more) -> Extension:
    return extension(f"{head}\n{body}", **more)


def test_a_usual_candidate_is_built_small_and_reports_what_the_other_way_reports(both, full, tmp_path):
    small, whole = (each.build(of_one(KERNEL), 600) for each in (both, full))
    assert isinstance(small, Artefact)
    assert isinstance(whole, Artefact)
    assert (small.tier, whole.tier) == ("mini", "full")
    said = [run(tool, built, 100, tmp_path / built.tier) for tool, built in ((both, small), (full, whole))]
    assert said[0] == said[1]
    report, expected = (json.loads((tmp_path / tier).read_text()) for tier in ("mini", "full"))
    for launch in (*report["launches"], *expected["launches"]):
        del launch["module"]
    assert report["launches"] == expected["launches"]
    kinds = [[(f["kind"], f["severity"], f["kernel"], f["thread"]) for f in r["findings"]] for r in (report, expected)]
    assert kinds[0] == kinds[1]
    assert "out_of_bounds" in {kind for kind, *_ in kinds[0]}


def test_what_the_small_header_lacks_is_built_behind_pytorchs_own(both):
    for call in ("torch::softmax(x, 0)", "x.mul_(2)", "x.index({0})"):
        built = both.build(of_one(f"torch::Tensor f(torch::Tensor x) {{ return {call}; }}"), 600)
        assert isinstance(built, Artefact)
        assert built.tier == "full"


@pytest.mark.parametrize(
    "line",
    [
        "int g() { return missing_semicolon }",
        "int g() { return unknown_name; }",
        "void g() { C10_CUDA_CHECK(7); }",
        "void g(torch::Tensor x) { x.data_ptr<unsigned>(); x.no_such_method(); }",
    ],
)
def test_a_failure_is_told_by_pytorchs_headers_alone(both, full, line):
    source = of_one(f"{line}\ntorch::Tensor f(torch::Tensor x) {{ return x; }}")
    small, whole = both.build(source, 600), full.build(source, 600)
    assert isinstance(small, BuildFailure)
    assert isinstance(whole, BuildFailure)
    assert small.tier == "full"
    for name in ("kind", "reason", "feature", "diagnostics"):
        assert getattr(small, name) == getattr(whole, name)


def test_candidates_that_take_back_pytorchs_flags_against_half_operators_are_not_taken(both):
    flags = ("-U__CUDA_NO_HALF_OPERATORS__",)
    built = both.build(of_one("torch::Tensor f(torch::Tensor x) { return x; }", cuda_cflags=flags), 600)
    assert isinstance(built, Artefact)
    assert built.tier == "full"


def test_several_extensions_of_both_kinds_live_in_one_process(both, tmp_path):
    """Each kind of module has bindings of its own, which must not be taken for the other's."""
    small = both.build(of_one(KERNEL), 600)
    other = both.build(Extension("other", (Source("a.cu", "cuda", f"{HEAD}{_OWN}"),), None), 600)
    assert isinstance(small, Artefact)
    assert isinstance(other, Artefact)
    assert (small.tier, other.tier) == ("mini", "full")
    said = run(both, small, 128, tmp_path / "report", first=other)
    assert "[127.0, 125.0, 123.0]" in said
    assert "f(): incompatible function arguments" in said


_OWN = """
torch::Tensor g(torch::Tensor x) { return torch::softmax(x, 0); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("g", &g, py::arg("x")); }
"""


def test_tiers_that_leave_nobody_to_accuse_are_refused(tmp_path):
    with pytest.raises(UsageError, match="full"):
        SimulatorToolchain(tmp_path, tiers=("mini",))
