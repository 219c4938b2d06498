"""The README and docs/ say what is so: examples are run, fields are those of the code, links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import util
from pathlib import Path

import pytest
import yaml

from mooreeval.config import load_config, validated
from musacoder.config import BenchConfig, GenerateConfig, RftConfig, read_config
from musacoder.synth.config import SynthConfig
from musacoder.train.rl_config import RlConfig

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
RUNS = {"bench": BenchConfig, "generate": GenerateConfig, "rft": RftConfig, "synth": SynthConfig, "rl": RlConfig}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("COLUMNS", None)  # test runners set it, and what goes to a pipe is folded then
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=900, check=False
    )


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    """A folder with the README's task and candidate."""
    folder = tmp_path_factory.mktemp("example")
    task, candidate, _ = blocks(README, "python")
    (folder / "task.py").write_text(task)
    (folder / "candidate.py").write_text(candidate)
    return folder


def test_the_readmes_task_and_candidate_are_judged_correct(example):
    assert "musacoder verify task.py candidate.py --json" in README
    done = run("-m", "musacoder", "verify", "task.py", "candidate.py", "--json", cwd=example)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["status"], verdict["reward"], verdict["warnings"]) == ("correct", 1.0, [])


def test_the_readmes_python_example_prints_verdicts_and_rewards(example):
    done = run("-c", blocks(README, "python")[2], cwd=example)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("correct 1.0 Correct: ")
    assert done.stdout.splitlines()[-1] == "[1.0, 1.0, 1.0]"


def test_the_verdict_in_the_readme_is_what_its_command_prints(tmp_path):
    found = re.search(r"^    \$ musacoder (verify gallery:.*)\n((?:    .*\n)+)", README, re.MULTILINE)
    assert found is not None
    done = run("-m", "musacoder", *found[1].split(), cwd=tmp_path)
    assert _words(done.stdout) == _words(found[2])


def test_the_admissions_in_the_readme_are_what_its_command_prints(tmp_path):
    found = re.search(r"^    \$ musacoder (admit .*)\n((?:    .*\n|\n(?=    ))+)", README, re.MULTILINE)
    assert found is not None
    done = run("-m", "musacoder", *found[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown, printed = (re.sub(r"in \d+ s:", "in 0 s:", text) for text in (found[2], done.stdout))
    assert _words(printed) == _words(shown)


@pytest.mark.slow
def test_the_table_of_a_run_in_the_readme_is_what_its_command_prints(tmp_path):
    found = re.search(r"^    \$ musacoder (bench .*)\n((?:    .*\n|\n(?=    ))+)", README, re.MULTILINE)
    assert found is not None
    done = run("-m", "musacoder", *found[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Whether a task is known to be weak depends on what was admitted on this machine before.
    lines = [line for line in done.stdout.splitlines() if not line.startswith("tasks that can't tell")]
    assert " ".join(lines).split() == found[2].split()


def _words(text: str) -> str:
    """Without line breaks, which depend on the terminal, and the time."""
    return re.sub(r"\d+\.\d s\b", "0.0 s", " ".join(text.split()))


def test_the_tables_of_fields_are_those_of_the_code():
    spec = util.spec_from_file_location("configuration_page", ROOT / "scripts" / "configuration_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page in module.PAGES:
        assert module.updated(page) == page.read_text(), "run: python scripts/configuration_page.py"


def test_the_yaml_example_is_a_configuration():
    (text,) = blocks((ROOT / "docs" / "configuration.md").read_text(), "yaml")
    config = validated(yaml.safe_load(text), origin="docs/configuration.md")
    assert config.simulator.check_budget == 10**9


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        name, _, heading = target.partition("#")
        if "://" in name:
            continue
        file = (page.parent / name) if name else page
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)", file.read_text(), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}, target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_setting_named_in_a_command_exists(page):
    for line in page.read_text().splitlines():
        for setting in re.findall(r"--set ([a-z_.]+=\S*[\w.])", line):
            kind = next((kind for command, kind in RUNS.items() if f"musacoder {command} " in line), None)
            load_config(settings=[setting]) if kind is None else read_config(kind, settings=[setting])


def test_every_kind_of_exploit_has_a_section_on_threats_and_the_other_way_round():
    page = (ROOT / "docs" / "threats.md").read_text()
    told = re.findall(r"^### ([A-Z]\d) ", page, re.MULTILINE)
    linked = re.findall(r"^\[Candidates\]\(\.\./tests/exploits/(\w+)\)", page, re.MULTILINE)
    folders = sorted(path.name for path in (ROOT / "tests" / "exploits").glob("[A-Z][0-9]_*"))
    assert sorted(linked) == folders
    assert [name.partition("_")[0] for name in linked] == told


def test_every_exploit_that_is_not_caught_is_told_of_by_name():
    page = (ROOT / "docs" / "threats.md").read_text()
    sections = {text[:2]: text for text in re.split(r"^### ", page, flags=re.MULTILINE)[1:]}
    for path in (ROOT / "tests" / "exploits").glob("*/expected.toml"):
        for name, table in tomllib.loads(path.read_text()).items():
            if "open" in table:
                assert f"`{name}`" in sections[path.parent.name[:2]], f"{path.parent.name}: {name}"
