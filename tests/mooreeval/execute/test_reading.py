"""A candidate's source is read by a child: what it says is believed by its form, and its end is an answer."""

from collections.abc import Iterator

import pytest

from mooreeval.config import load_config
from mooreeval.errors import NotJudged
from mooreeval.execute.children import Launcher
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.processes import Processes
from mooreeval.execute.reading import kinds_of, read_source
from mooreeval.toolchains.base import Extension, Recording, Source


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher()
    yield launcher
    launcher.close()


def read(launcher: Launcher, code: str, *sources: str, native: bool = True, child_mib: int = 4096):
    config = load_config(settings=["backend=simulator", f"memory.child_mib={child_mib}"])
    evidence = Evidence(input_kinds=["tensor"], init_kinds=[], single_precision=True)
    texts = tuple(Source(f"cuda_sources[{k}]", "cuda", text) for k, text in enumerate(sources))
    evidence.recording = Recording((Extension("e", texts, (("run", "run"),)),) if texts else ())
    return read_source(Processes(config, launcher, None, evidence), code, evidence, native)  # ty: ignore[invalid-argument-type]


COMPUTES = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x @ x\n"


def test_what_is_found_comes_back_with_its_place(launcher):
    (hit,) = read(launcher, COMPUTES)
    assert (hit.rule, hit.place.file, hit.place.line, hit.place.text) == (
        "torch_compute",
        "candidate",
        4,
        "return x @ x",
    )
    assert read(launcher, COMPUTES, native=False) == []


def test_a_text_that_ends_whatever_reads_it_breaks_a_rule_itself(launcher):
    (hit,) = read(launcher, COMPUTES, "a<" * 100_000, child_mib=300)
    assert hit.rule == "unreadable_source"


def test_brackets_too_deep_for_any_compiler_are_left_to_the_builder(launcher, monkeypatch):
    monkeypatch.setattr("mooreeval.execute.reading.READ_SECONDS", 20)
    deep = f"int n = {'(' * 100_000}1{')' * 100_000};"
    assert [hit.rule for hit in read(launcher, COMPUTES, deep)] == ["torch_compute"]


def test_a_fault_of_the_rules_is_not_the_candidates(launcher):
    evidence = Evidence(init_kinds=[["no kind"]])  # ty: ignore[invalid-argument-type]
    processes = Processes(load_config(settings=["backend=simulator"]), launcher, None, evidence)  # ty: ignore[invalid-argument-type]
    with pytest.raises(NotJudged, match="rules of legality failed"):
        read_source(processes, COMPUTES, evidence, True)


def test_more_text_than_anyone_reads_breaks_a_rule_and_more_than_is_built_is_left_to_the_builder(launcher):
    half = "int a;" * 100_000
    assert [hit.rule for hit in read(launcher, COMPUTES, half, half)] == ["torch_compute"]
    recording = [Extension(str(k), (Source("k", "cuda", half),), None) for k in range(2)]
    evidence = Evidence(recording=Recording(tuple(recording)))
    processes = Processes(load_config(settings=["backend=simulator"]), launcher, None, evidence)  # ty: ignore[invalid-argument-type]
    assert [hit.rule for hit in read_source(processes, COMPUTES, evidence, True)] == ["unreadable_source"]


def test_kinds_of_arguments_are_believed_by_their_form():
    assert kinds_of(["tensor", 3]) == ["tensor", "other"]
    assert kinds_of(None) is kinds_of("tensor") is kinds_of(["data"] * 5000) is None
