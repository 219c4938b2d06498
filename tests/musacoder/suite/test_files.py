"""The files of the bundled suite: complete tasks, all of them different, found without torch and in a wheel."""

from __future__ import annotations

import ast
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tokenize
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooreeval.task import load_task
from mooreeval.task_sources import load_tasks
from musacoder.suite import FOLDER, LEVELS, BundledTask, bundled_tasks

ROOT = Path(__file__).parents[3]
TASKS = bundled_tasks()
NEAR_COPY = 0.5  # of the telling shingles of both: a renamed copy has more than 0.9
SHINGLE = 4  # tokens
COMMON = 5  # tasks that have a shingle from which on it tells nothing
RANDOM = ("torch.rand", "dropout", "bernoulli", "multinomial", "normal_", "uniform_")


def _id(task: BundledTask) -> str:
    return task.name


def test_every_level_has_its_tasks() -> None:
    counts = [sum(task.level == level for task in TASKS) for level in LEVELS]
    assert counts[0] >= 20
    assert counts[1] >= 15
    assert counts[2] >= 10
    assert {task.path for task in TASKS} == set(FOLDER.glob("level*/*.py"))


def test_names_are_unique_and_are_those_that_a_folder_gives() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS)
    assert {f"level{task.level}/{task.name}" for task in TASKS} == {task.task_id for task in load_tasks(FOLDER)}


@pytest.mark.parametrize("bundled", TASKS, ids=_id)
def test_a_task_has_the_whole_format(bundled: BundledTask) -> None:
    task = load_task(bundled.path)
    assert task.task_id == f"level{bundled.level}/{bundled.name}"
    assert task.level == bundled.level
    tree = ast.parse(task.code)
    defined = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert set(defined) >= {"Model", "get_inputs", "get_init_inputs"}
    said = ast.get_docstring(defined["Model"]) or ""
    assert 2 <= len([line for line in said.splitlines() if line]) <= 3, "what it is, and where it is met"
    assert said.endswith(".")


@pytest.mark.parametrize("bundled", TASKS, ids=_id)
def test_a_task_rests_on_nothing_but_its_arguments(bundled: BundledTask) -> None:
    code = bundled.path.read_text(encoding="utf-8")
    imported = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node) for node in imported} <= {
        "import torch",
        "import torch.nn as nn",
        "import torch.nn.functional as F",
    }
    assert "manual_seed" not in code
    assert ".cuda" not in code
    forward = code.partition("def forward")[2].partition("\ndef ")[0]
    assert not [word for word in RANDOM if word in forward]


def test_no_two_tasks_are_near_copies() -> None:
    assert not _near_copies({task.name: task.path.read_text(encoding="utf-8") for task in TASKS})


@pytest.mark.parametrize("bundled", TASKS, ids=_id)
def test_a_copy_with_other_names_and_sizes_would_be_seen(bundled: BundledTask) -> None:
    codes = {task.name: task.path.read_text(encoding="utf-8") for task in TASKS}
    tree = ast.parse(codes[bundled.name])
    renamed = _Renamed(_chosen(tree)).visit(tree)
    assert ast.unparse(renamed) != ast.unparse(ast.parse(codes[bundled.name]))
    assert ("copy", bundled.name) in _near_copies({"copy": ast.unparse(renamed), **codes})


def test_the_list_is_made_without_torch() -> None:
    assert _listed(ROOT / "src") == [task.name for task in TASKS]


@pytest.mark.slow
def test_the_list_is_the_same_from_a_wheel(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path]
    source = tmp_path / "source"
    _copy_of_the_project(source)
    subprocess.run([*command, source], check=True, capture_output=True)
    installed = tmp_path / "installed"
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(installed)
    assert _listed(installed) == [task.name for task in TASKS]


def _copy_of_the_project(folder: Path) -> None:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)


def _listed(packages: Path) -> list[str]:
    """Names of the suite in a fresh interpreter in which torch cannot be imported; each file must be there."""
    program = (
        "import sys, json; sys.modules['torch'] = None; from musacoder.suite import bundled_tasks as b;"
        "print(json.dumps([t.name for t in b() if t.path.read_bytes()]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, check=True)
    return json.loads(done.stdout)


def _near_copies(codes: dict[str, str]) -> list[tuple[str, str]]:
    """Pairs of files that compute nearly the same, by the runs of tokens that few of them have."""
    all_of = {name: _shingles(code) for name, code in codes.items()}
    counts = Counter(shingle for shingles in all_of.values() for shingle in shingles)
    telling = {name: {s for s in shingles if counts[s] < COMMON} for name, shingles in all_of.items()}
    return [
        (first, second)
        for first, second in itertools.combinations(codes, 2)
        if _shared(telling[first], telling[second]) > NEAR_COPY
    ]


def _shared(first: set[tuple[str, ...]], second: set[tuple[str, ...]]) -> float:
    return len(first & second) / max(len(first | second), 1)


def _shingles(code: str) -> set[tuple[str, ...]]:
    """Runs of tokens of what is computed: constants and names that the file itself chose are alike."""
    tree = ast.parse(code)
    tokens = list(_tokens(ast.unparse(_computing(tree)), _chosen(tree)))
    return set(zip(*(tokens[start:] for start in range(SHINGLE)), strict=False))


def _chosen(tree: ast.AST) -> set[str]:
    """Names of variables, arguments and attributes that a file gives."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    return names - {"self"}


def _computing(tree: ast.Module) -> ast.Module:
    """The model without its docstring, and what makes the inputs."""
    kept = [node for node in tree.body if getattr(node, "name", "") in ("Model", "get_inputs")]
    for node in kept:
        if isinstance(node, ast.ClassDef):
            node.body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return ast.Module(body=kept, type_ignores=[])


def _tokens(code: str, chosen: set[str]) -> Iterator[str]:
    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NUMBER:
            yield "number"
        elif token.type not in layout:
            yield "name" if token.string in chosen else token.string


class _Renamed(ast.NodeTransformer):
    """The file with other names where it chose them, and other numbers."""

    def __init__(self, chosen: set[str]) -> None:
        self.chosen = chosen

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._other(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._other(node.arg), node.annotation)

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        return ast.Attribute(self.visit(node.value), self._other(node.attr), node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(node.value * 3 + 1) if type(node.value) in (int, float) else node

    def _other(self, name: str) -> str:
        return f"other_{name}" if name in self.chosen else name
