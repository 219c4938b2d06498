"""The page needs nothing else, holds every answer, and lets nothing that a model wrote be markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from support.report_pages import QUICK, opened_tasks, page_of
from support.report_runs import HOSTILE, task_code, write_hostile_run, write_run
from support.small_runs import small_run

from mooreeval.verdict import Verdict
from musacoder.evaluate import Run
from musacoder.report.command import document
from musacoder.report.gather import gather
from musacoder.report.markdown import markdown
from musacoder.runlog import RunFolder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    write_run(root / "base", tasks=6, samples=3, turns=3, skill=0.3, seed=1)
    write_run(root / "trained", tasks=6, samples=3, turns=3, skill=0.7, seed=2)
    write_hostile_run(root / "hostile")
    return root


@pytest.fixture(scope="module")
def page(folder) -> str:
    return page_of([folder / "base", folder / "trained"])


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_loads_nothing(page):
    places = [
        value
        for _tag, attributes in Elements(page).found
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "data", "action", "poster")
    ]
    assert places
    assert all(place is not None and (place.startswith("#") or place == "data:,") for place in places)
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_lets_this_pages_own_script_and_style_run_and_nothing_else(page):
    policy = next(a["content"] for t, a in Elements(page).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("script", "style"):
        text = re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        assert len(text) == 1
        digest = base64.b64encode(hashlib.sha256(text[0].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_no_element_has_a_style_or_a_handler_of_its_own(page):
    for _tag, attributes in Elements(page).found:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_a_task_opens_to_source_code_changes_verdict_and_feedback(page, folder):
    tasks = opened_tasks(page)
    assert len(tasks) == 6
    assert [task["source"] for task in tasks] == [task_code(number) for number in range(6)]
    answers = {(s.task, s.index, s.turn): s for s in RunFolder.open(folder / "base").samples()}
    turns = [turn for candidate in tasks[0]["runs"][0]["candidates"] for turn in candidate["turns"]]
    entry = RunFolder.open(folder / "base").manifest.tasks[0]
    assert len(turns) == sum(key[0] == entry.name for key in answers)
    assert all(turn["code"] in answers[entry.name, 0, 1].answer for turn in turns[:1])
    repaired = [t for task in tasks for r in task["runs"] for c in r["candidates"] for t in c["turns"] if "diff" in t]
    assert any(line.startswith("+    if (i <") for turn in repaired for line in turn["diff"])
    assert all(turn["verdict"] and turn["feedback"] for turn in repaired)
    assert turns[0]["answer"] == "Each thread computes one element.\n\n```python\n[the code above]\n```\n"


def test_every_sample_of_every_run_is_there(page):
    for task in opened_tasks(page):
        assert [run["label"] for run in task["runs"]] == ["base", "trained"]
        assert all([c["index"] for c in run["candidates"]] == [1, 2, 3] for run in task["runs"])


def test_hostile_words_add_no_element_and_no_attribute(folder):
    hostile, tame = page_of([folder / "hostile"]), page_of([folder / "base"])
    elements = {tag for tag, _ in Elements(hostile).found}
    assert elements <= {tag for tag, _ in Elements(tame).found}
    assert not elements & {"img", "iframe", "a href"}
    names = {name for _, attributes in Elements(hostile).found for name in attributes}
    assert names <= {name for _, attributes in Elements(tame).found for name in attributes}
    assert HOSTILE not in hostile
    assert "{{ 7*7 }}" in json.dumps(opened_tasks(hostile))  # shown as it is: no template read it


def test_what_cannot_be_seen_is_made_visible(folder):
    (task,) = opened_tasks(page_of([folder / "hostile"]))
    (turn, _) = task["runs"][0]["candidates"][0]["turns"]
    assert "<U+202E>gnp.exe<U+001B>[31m" in turn["reasoning"]
    assert not any(character in json.dumps(task, ensure_ascii=False) for character in "\u202e\x1b")


CANARY = "CanaryThatAModelWrote"


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A run in which every text field that a model can reach holds a canary, in samples and in whole verdicts."""
    source = write_run(tmp_path_factory.mktemp("marked") / "source", tasks=6, samples=4, turns=2, skill=0.2)
    path = source.path.with_name("marked")
    with RunFolder.create(path, source.manifest, {}) as run:
        for sample in RunFolder.open(source.path).samples():
            answer = sample.answer and sample.answer.replace("extension", CANARY)
            words = {"answer": answer and f"{CANARY} {answer}", "reasoning": CANARY, "shortened": (CANARY,)}
            run.add_sample(sample.model_copy(update=words))
        for judged in RunFolder.open(source.path).verdicts():
            verdict = judged.verdict and Verdict.model_validate(_canaries(judged.verdict.model_dump(mode="json")))
            run.add_verdict(judged.model_copy(update={"verdict": verdict, "feedback": CANARY}))
    return path


def _canaries(data):
    """A verdict with the canary in every text that quotes or describes a candidate."""
    free = {"reason", "message", "text", "kernel", "exception", "output_tail", "evidence_words", "name"}
    if isinstance(data, dict):
        return {k: CANARY if k in free and isinstance(v, str) else _canaries(v) for k, v in data.items()}
    return [_canaries(v) for v in data] if isinstance(data, list) else data


def test_without_code_nothing_that_a_model_wrote_is_in_any_form_of_the_report(marked):
    findings = gather([marked], QUICK)
    page = page_of([marked], code=False)
    opened = json.dumps(opened_tasks(page))
    for text in (page, opened, markdown(findings, "made"), json.dumps(document(findings))):
        assert CANARY not in text
        assert "__global__" not in text
    assert "out of bounds" in opened  # the judge's own words stay
    assert CANARY in json.dumps(opened_tasks(page_of([marked])))  # and with code all of it is there


def test_without_code_the_source_of_tasks_is_left_out_too(folder):
    tasks = opened_tasks(page_of([folder / "base"], code=False))
    assert all(task["source"] is None for task in tasks)


def test_very_long_texts_are_cut_and_say_so(tmp_path):
    with write_run(tmp_path / "one", tasks=1, samples=1, turns=1, skill=1) as run:
        pass
    (sample,) = RunFolder.open(run.path).samples()
    with RunFolder.create(tmp_path / "long", run.manifest, {}) as long:
        long.add_sample(sample.model_copy(update={"reasoning": "x" * 200_000}))
    (task,) = opened_tasks(page_of([tmp_path / "long"]))
    assert task["runs"][0]["candidates"][0]["turns"][0]["reasoning"].endswith("more characters are in the run folder]")
    assert len(json.dumps(task)) < 80_000


def written(path, run):
    """A run folder with the records of a small run."""
    with RunFolder.create(path, run.manifest, {}) as folder:
        for sample in run.samples:
            folder.add_sample(sample)
        for verdict in run.verdicts:
            folder.add_verdict(verdict)
    return path


def marks_of(page: str) -> list[str]:
    return re.findall(r'class="mark [\w-]+" role="img" aria-label="([^"]*)"', page)


def test_a_task_of_both_runs_stands_once_and_one_of_other_source_for_itself(tmp_path):
    first = small_run({"same": ["2.0/"], "changed": ["correct"]})
    second = small_run({"same": ["illegal"], "changed": ["wmma?"]})
    tasks = tuple(t.model_copy(update={"hash": "new"}) if t.name == "changed" else t for t in second.manifest.tasks)
    second = Run(second.manifest.model_copy(update={"tasks": tasks}), second.samples, second.verdicts)
    page = page_of([written(tmp_path / "first", first), written(tmp_path / "second", second)])
    assert [[run["label"] for run in task["runs"]] for task in opened_tasks(page)] == [
        ["first", "second"], ["first"], ["second"],
    ]  # fmt: skip
    assert marks_of(page) == [
        "sample 1: correct, 2.00× as fast as eager", "sample 1: illegal", "sample 1: correct", "sample 1: unsupported",
    ]  # fmt: skip


def test_a_candidate_counts_once_in_a_run_of_mixed_evidence(tmp_path):
    run = small_run({"a": ["correct", "compile_error", "correct"]})
    nothing_ran = run.verdicts[1].verdict.model_copy(update={"evidence": None})
    emulated = run.verdicts[2].verdict.model_copy(update={"evidence": "emulation"})
    verdicts = [
        run.verdicts[0],
        run.verdicts[1].model_copy(update={"verdict": nothing_ran}),
        run.verdicts[2].model_copy(update={"verdict": emulated}),
    ]
    page = page_of([written(tmp_path / "mixed", Run(run.manifest, run.samples, verdicts))])
    assert '<span class="share">2/3</span>' in page


def test_a_run_of_no_tasks_has_a_page(tmp_path):
    run = small_run({})
    assert opened_tasks(page_of([written(tmp_path / "none", run)])) == []
