"""The gallery is complete and says nothing that its files contradict."""

import ast
import subprocess
import sys

import pytest

from mooreeval.gallery import FOLDER, GalleryEntry, load
from mooreeval.verdict import FindingKind, Status

ENTRIES = load()


def _id(entry: GalleryEntry) -> str:
    return f"{entry.task_name}-{entry.candidate_name}"


def test_it_is_large_and_holds_every_status() -> None:
    assert len({entry.task_name for entry in ENTRIES}) >= 10
    assert len(ENTRIES) >= 30
    assert sum(entry.expected.status is Status.CORRECT for entry in ENTRIES) >= 12
    assert {entry.expected.status for entry in ENTRIES} == set(Status)


def test_every_candidate_file_is_listed_once() -> None:
    listed = [entry.candidate_path for entry in ENTRIES]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(FOLDER.glob("*/candidates/*.py"))


def test_it_loads_without_torch() -> None:
    code = "import sys, mooreeval.gallery as g; g.load(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("entry", ENTRIES, ids=_id)
def test_task_and_candidate_have_what_their_status_needs(entry: GalleryEntry) -> None:
    task = _defined(entry.task_path)
    assert {"Model", "get_inputs", "get_init_inputs"} <= task
    assert ("ModelNew" in _defined(entry.candidate_path)) == (entry.expected.status is not Status.NO_CANDIDATE)


@pytest.mark.parametrize("entry", ENTRIES, ids=_id)
def test_expectation_is_consistent(entry: GalleryEntry) -> None:
    expected = entry.expected
    assert entry.description.endswith(".")
    assert "\n" not in entry.description
    assert (expected.mismatch is not None) == (expected.status is Status.INCORRECT)
    assert (expected.rule is not None) == (expected.status is Status.ILLEGAL)
    assert (expected.feature is not None) == (expected.status is Status.UNSUPPORTED)
    assert not expected.kinds or expected.status is Status.RUNTIME_ERROR
    lines = entry.candidate_path.read_text(encoding="utf-8").splitlines()
    for number in expected.lines:
        code = lines[number - 1].strip()
        assert code
        assert not code.startswith(("//", "#"))


def test_memory_faults_and_races_name_their_lines() -> None:
    for kind in (FindingKind.OUT_OF_BOUNDS, FindingKind.SHARED_OUT_OF_BOUNDS, FindingKind.RACE):
        found = [entry for entry in ENTRIES if kind in entry.expected.kinds]
        assert found
        assert all(entry.expected.lines for entry in found)


def _defined(path) -> set[str]:
    """Names of the classes and functions at the top of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
