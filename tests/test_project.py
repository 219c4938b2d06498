"""The project around the code: pins, make targets, the proofs in scripts/, and what an installation contains."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements" / "pins.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def requirements() -> list[Requirement]:
    """What `make` installs: the judge, and the extras dev and data."""
    extras = PROJECT["optional-dependencies"]
    return [Requirement(text) for text in PROJECT["dependencies"] + extras["dev"] + extras["data"]]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_every_dependency_is_pinned_within_its_range(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_torch_and_python_are_in_the_ranges_that_the_documentation_names():
    torch = next(r for r in requirements() if r.name == "torch")
    assert [torch.specifier.contains(v) for v in ("2.10.9", "2.11.0", "2.14.1", "2.15.0")] == [False, True, True, False]
    assert PROJECT["requires-python"] == ">=3.11"


@pytest.mark.parametrize("target", ["demo", "test", "test-all", "check", "doctor", "format", "clean", "help"])
@pytest.mark.parametrize("index", ["", "https://example.invalid/cpu"])
def test_every_make_target_can_be_planned(target, index, tmp_path):
    command = ["make", "-n", target, f"TORCH_INDEX={index}", f"VENV={tmp_path / 'venv'}"]
    plan = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert plan.returncode == 0, plan.stderr
    if target in ("demo", "test", "test-all", "check"):
        assert ("--index-url https://example.invalid/cpu torch" in plan.stdout) == bool(index)
        assert "-c requirements/pins.txt" in plan.stdout


def test_make_says_in_one_line_that_python_is_too_old(tmp_path):
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    command = ["make", "demo", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_make_help_names_the_two_commands_of_the_readme():
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    readme = (ROOT / "README.md").read_text()
    for command in ("make demo", "make test"):
        assert command in shown
        assert command in readme


def test_ci_runs_every_step():
    text = (ROOT / ".ci" / "run").read_text()
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"], check=False).returncode == 0
    steps = [line.split()[1] for line in text.splitlines() if line.startswith("step ")]
    assert steps == ["check", "demo", "test", "test-all"]


def test_a_module_that_needs_torch_is_told_apart_from_one_that_does_not(tmp_path):
    check = script("nouns_without_torch")
    (tmp_path / "light.py").write_text("import json\n")
    (tmp_path / "heavy.py").write_text("import light\nfrom torch import nn\n")
    assert check.failure_of("light", tmp_path) == ""
    assert "torch" in check.failure_of("heavy", tmp_path)


def test_the_nouns_load_without_torch():
    assert script("nouns_without_torch").main() == 0


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.cuda.synchronize()",
        "import torch as t\nt.cuda.is_available()",
        "\nimport torch.cuda",
        "\nimport torch.cuda.amp as amp",
        "\nfrom torch import cuda as c",
        "\nfrom torch.cuda import Event",
        "import torch\ngetattr(torch, 'cuda')",
        "import torch\ndef f():\n    return torch.cuda",
    ],
)
def test_every_way_to_reach_torch_cuda_is_seen(source):
    assert script("torch_cuda_stays_in_device").uses(source) in ([2], [3])


@pytest.mark.parametrize(
    "source",
    [
        "# torch.cuda.synchronize()",
        "text = 'torch.cuda'",
        "import torch\nx = torch.version.cuda, torch.backends.cuda",
        "x = other.cuda",
        "import torch\ntorch.ones(1).cuda()",
    ],
)
def test_what_only_looks_like_torch_cuda_is_let_pass(source):
    assert script("torch_cuda_stays_in_device").uses(source) == []


def test_torch_cuda_is_kept_to_the_files_before_the_device(tmp_path):
    check = script("torch_cuda_stays_in_device")
    for name in ("src/mooreeval/execute/device.py", "src/mooreeval/gallery/relu/task.py", "src/mooreeval/other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import torch\n\ntorch.cuda.init()\n")
    assert [line.split(": ")[0] for line in check.offences(tmp_path)] == ["src/mooreeval/other.py:3"]
    assert list(check.offences(ROOT)) == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> list[str]:
    """Names in a wheel of the project, built from a copy so that the checkout stays clean."""
    work = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "src", work / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, work / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", work, work]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
        return archive.namelist()


DATA = [
    *(f"mooreeval/{name}" for name in ("simulator/include", "simulator/runtime", "simulator/device", "gallery")),
    *(f"musacoder/prompts/{name}" for name in ("templates", "compact")),
]


@pytest.mark.parametrize("folder", DATA)
def test_a_wheel_holds_all_that_is_compiled_judged_or_rendered_on_the_users_machine(wheel, folder):
    source = ROOT / "src" / folder
    files = [f for f in source.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    assert files
    absent = {f.relative_to(ROOT / "src").as_posix() for f in files} - set(wheel)
    assert not absent


def test_a_wheel_holds_every_module_and_the_command(wheel):
    modules = {f.relative_to(ROOT / "src").as_posix() for f in (ROOT / "src").rglob("*.py")}
    assert modules <= set(wheel)
    assert any(name.endswith("licenses/LICENSE") for name in wheel)
