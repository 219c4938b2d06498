"""The set of planted faults is what it claims to be. Nothing is compiled or judged here."""

import ast
import difflib
from collections import Counter

import pytest

from mooreeval.verdict import Status

from .index import FOLDER, Fault, cases

CASES = cases()


def _id(fault: Fault) -> str:
    return f"{fault.group}-{fault.name}"


def test_there_are_enough_faults_of_enough_groups() -> None:
    groups = Counter(fault.group for fault in CASES)
    assert groups.total() >= 44
    assert len(groups) >= 10
    assert groups["out_of_bounds"] >= 14
    assert groups["race"] >= 14


def test_no_folder_is_forgotten() -> None:
    assert {path.parent for path in FOLDER.glob("*/*/*.py")} == {fault.folder for fault in CASES}


@pytest.mark.parametrize("fault", CASES, ids=_id)
def test_task_and_twins_are_complete(fault: Fault) -> None:
    assert {"Model", "get_inputs", "get_init_inputs"} <= _defined(fault.task)
    assert "ModelNew" in _defined(fault.faulty)
    assert "ModelNew" in _defined(fault.fixed)


@pytest.mark.parametrize("fault", CASES, ids=_id)
def test_the_twin_differs_in_a_few_lines(fault: Fault) -> None:
    changed = [
        line
        for line in difflib.unified_diff(_lines(fault.faulty), _lines(fault.fixed), n=0, lineterm="")
        if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert 1 <= len(changed) <= 10


@pytest.mark.parametrize("fault", CASES, ids=_id)
def test_the_expectation_is_consistent(fault: Fault) -> None:
    assert fault.status is not Status.CORRECT
    assert (fault.mismatch is not None) == (fault.status is Status.INCORRECT)
    assert (fault.rule is not None) == (fault.status is Status.ILLEGAL)
    assert fault.note.endswith(".")
    if fault.group in ("out_of_bounds", "shared_out_of_bounds", "race", "misaligned"):
        assert [kind.value for kind in fault.kinds] == [fault.group]
        assert fault.lines


@pytest.mark.parametrize("fault", CASES, ids=_id)
def test_expected_lines_are_code_of_the_extension(fault: Fault) -> None:
    lines = _lines(fault.faulty)
    for number in fault.lines:
        code = lines[number - 1].strip()
        assert code not in ("", "{", "}")
        assert not code.startswith(("//", "#", "import ", '"""'))


def _defined(path) -> set[str]:
    """Names of the classes and functions at the top of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def _lines(path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
