"""Runs are read whole: tasks' sources from their prompts, other evidence apart, every pair compared that may be."""

from __future__ import annotations

import pytest
from support.report_pages import QUICK
from support.report_runs import task_code, write_run

from mooreeval import gallery
from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.task import load_task
from musacoder.prompts import PromptConfig, Target, build_first
from musacoder.report.gather import gather, task_source
from musacoder.runlog import MessageTold

CODE = task_code(1)


def user(text: str) -> list[MessageTold]:
    return [MessageTold(role="user", content=text)]


@pytest.mark.parametrize(
    "prompt",
    [
        f"An example:\n```python\nclass Model: ...\n```\nThe task:\n\n```python\n{CODE}```\n",
        f"~~~~\n{CODE}~~~~\nNow write.",
        f"````python\r\n{CODE.replace(chr(10), chr(13) + chr(10))}````",
        f"```\n{CODE.rstrip()}\n```",
    ],
)
def test_the_source_of_a_task_is_the_block_of_its_hash(prompt):
    assert task_source(user(prompt), content_hash(CODE)) == CODE


@pytest.mark.parametrize("name", ["layer_norm", "relu", "cross_entropy"])
def test_the_source_is_found_in_the_prompts_that_models_are_asked(name):
    task = load_task(gallery.FOLDER / name / "task.py")
    prompt = build_first(task, PromptConfig(), Target())
    told = [MessageTold(role=message.role, content=message.content) for message in prompt.messages]
    assert task_source(told, task.task_hash) == task.code


def test_a_prompt_without_the_whole_source_gives_none():
    assert task_source(user(f"```python\n{CODE[:-40]}\n```"), content_hash(CODE)) is None
    assert task_source([], content_hash(CODE)) is None


def test_a_report_of_a_run_knows_families_and_compares_with_the_other(tmp_path):
    for seed, name in enumerate(("one", "two", "three")):
        write_run(tmp_path / name, tasks=6, samples=2, turns=1, skill=0.5, seed=seed)
    findings = gather([tmp_path / name for name in ("one", "two", "three")], QUICK)
    assert {g.name for g in findings.parts[0].metrics.families} == {
        "elementwise", "indexing", "matmul", "normalisation", "reduction", "softmax",
    }  # fmt: skip
    assert [(c.first, c.second) for c in findings.comparisons] == [("one", "two"), ("one", "three"), ("two", "three")]


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path):
    paths = [tmp_path / name / "run" for name in ("a", "b")]
    for path in paths:
        write_run(path, tasks=1, samples=1, turns=1, skill=1)
    assert [run.label for run in gather(paths, QUICK).runs] == [str(path) for path in paths]
    with pytest.raises(UsageError, match="named twice"):
        gather([paths[0], paths[0]], QUICK)
