"""`musacoder bench` as a shell sees it: a run folder, a table, and a run that goes on after whatever ended it."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.cli import SCRIPTED, TASK, environment, musacoder
from support.model_server import Reply, chat, json_reply, refusal, serving
from support.scripted_cli import ScriptedJudge
from support.verdicts import verdict
from support.writing import answer

from mooreeval import gallery
from mooreeval.verdict import Status
from musacoder import cli
from musacoder.runlog import RunFolder

STATUSES = ("correct", "incorrect", "illegal", "compile_error", "runtime_error", "unsupported")
SMALL = ("bench", "--suite", "tasks", "--model", "scripted:script.json")


@dataclass(frozen=True)
class Done:
    """What a command in this process left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def bench(work, monkeypatch, capfd) -> Callable[..., Done]:
    """The command in this process, in `work`: nothing but the judge is scripted."""
    monkeypatch.chdir(work)
    monkeypatch.setattr("musacoder.bench.LocalVerifier", QuietJudge)

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        code = cli.run(list(arguments))
        return Done(code, *capfd.readouterr())

    return run


class QuietJudge(ScriptedJudge):
    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def work(tmp_path) -> Path:
    """Four tasks in two levels, and a script with other answers for each."""
    script = {}
    for number in range(4):
        file = tmp_path / "tasks" / f"level{number % 2 + 1}" / f"{number}_task.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# task {number}\n{TASK}")
        lines = [f"verdict: {STATUSES[(number + i) % len(STATUSES)]}" for i in range(len(STATUSES))]
        script[str(file.relative_to(tmp_path))] = [answer(line) for line in lines] + ["I can't do that."]
    (tmp_path / "script.json").write_text(json.dumps(script))
    return tmp_path


def test_a_run_ends_with_a_table_and_its_place_and_everything_is_in_its_folder(bench, work):
    done = bench(*SMALL, "--samples", "3", "--run", "first")
    assert done.returncode == 0, done.stderr
    assert "scripted:script.json on tasks · 4 tasks, 3 answers each · backend simulator" in done.stdout
    table = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert table[1:] == [
        *("", "turn", "1", "", "", "tasks", "answers scored", "Pass@1", "Pass@2", "Pass@3", "Avg@3", "score", ""),
        "judged by emulation: it refutes, and says nothing about speed",
        "in no rate: 2 unsupported",
    ]
    assert re.search(r"^ +level 1 +level 2 +all$", done.stdout, re.MULTILINE)
    assert re.search(r"^tasks +2 +2 +4$", done.stdout, re.MULTILINE)
    assert "all of it is in runs/first" in done.stderr
    assert "12 of 12 answers to ask or judge" in done.stderr
    run = RunFolder.open(work / "runs" / "first")
    assert len(list(run.samples())) == len(list(run.verdicts())) == 12
    assert {t.level for t in run.manifest.tasks} == {"1", "2"}
    assert len(list(run.metrics())) == 1
    assert all(s.messages[-1].content.count("class Model") for s in run.samples())


def test_the_json_is_strict_and_alone_on_standard_output(bench, work):
    done = bench(*SMALL, "--samples", "2", "--run", "first", "--json")
    document = json.loads(done.stdout)
    assert document["run"] == "runs/first"
    assert document["metrics"]["coverage"]["asked"] == 8


def test_repair_turns_end_when_the_answer_is_right(bench, work):
    done = bench(*SMALL, "--samples", "2", "--turns", "4", "--run", "first")
    assert "up to 4 turns" in done.stdout
    run = RunFolder.open(work / "runs" / "first")
    by_chain: dict[tuple[str, int], list[str]] = {}
    for judged in sorted(run.verdicts(), key=lambda v: v.key):
        by_chain.setdefault(judged.key[:2], []).append(judged.verdict.status.value)
    assert len(by_chain) == 8
    assert max(map(len, by_chain.values())) > 1
    for statuses in by_chain.values():
        assert not {"correct", "unsupported"} & set(statuses[:-1])
        assert statuses[-1] in ("correct", "unsupported") or len(statuses) == 4


def test_a_finished_run_is_only_summed_up_again(bench, work):
    first = bench(*SMALL, "--samples", "2", "--run", "first")
    again = bench("bench", "--run", "first")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    assert "0 of 8 answers to ask or judge" in again.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--samples", "4"], "samples: 2 -> 4"),
        (["--turns", "2"], "turns: 1 -> 2"),
        (["--temperature", "1"], "sampling.temperature: 0.7 -> 1.0"),
        (
            ["--set", "verify.trials=3", "--set", "prompt.steps=false"],
            "prompt.steps: True -> False; verify.trials: 5 -> 3",
        ),
        (["--policy", "mixed"], "verify.policy: native -> mixed"),
        (["--level", "1"], "suite.levels: [] -> ['1']"),
        (["--model", "scripted:gallery"], "model.name: scripted:script.json -> scripted:gallery"),
    ],
)
def test_going_on_with_a_changed_configuration_is_refused_with_its_keys_named(bench, work, options, told):
    assert bench(*SMALL, "--samples", "2", "--run", "first").returncode == 0
    before = sorted((f.name, f.read_bytes()) for f in (work / "runs" / "first").iterdir())
    refused = bench("bench", "--run", "first", *options)
    assert refused.returncode == 2
    assert told in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert sorted((f.name, f.read_bytes()) for f in (work / "runs" / "first").iterdir()) == before


def test_going_on_with_an_edited_task_or_template_is_refused(bench, work):
    (work / "texts").mkdir()
    (work / "texts" / "steps.md.j2").write_text("Think.\n")
    options = ["--samples", "2", "--run", "first", "--set", "prompt.templates=texts"]
    assert bench(*SMALL, *options).returncode == 0
    (work / "texts" / "steps.md.j2").write_text("Think twice.\n")
    refused = bench("bench", "--run", "first")
    assert refused.returncode == 2
    assert "versions.prompts: " in refused.stderr
    (work / "texts" / "steps.md.j2").write_text("Think.\n")
    (work / "tasks" / "level1" / "0_task.py").write_text(f"# another task\n{TASK}")
    refused = bench("bench", "--run", "first")
    assert "tasks.level1/0_task.hash: " in refused.stderr


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("first.md.j2", "{{ task }", "first.md.j2, line 1: "),
        ("repair.md.j2", "{{ status }}\n{{ unheard }}", "repair.md.j2: 'unheard' is undefined"),
        ("optimise.md.j2", "{% for t in times %}{{ t.unheard }}{% endfor %}", "optimise.md.j2: "),
    ],
)
def test_a_template_that_is_wrong_in_any_kind_of_turn_begins_no_run(bench, work, name, text, told):
    (work / "texts").mkdir()
    (work / "texts" / name).write_text(text)
    done = bench(*SMALL, "--samples", "2", "--run", "first", "--set", f"prompt.templates={work}/texts")
    assert done.returncode == 2
    assert f"texts/{told}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (work / "runs").exists()


def test_what_changes_no_result_may_change_on_the_way(bench, work):
    assert bench(*SMALL, "--samples", "2", "--run", "first").returncode == 0
    assert bench("bench", "--run", "first", "--workers", "5", "--set", "work.asking=1").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "scripted:script.json"], "name the suite"),
        (["--suite", "tasks"], "name the model"),
        (["--suite", "nowhere", "--model", "scripted:gallery"], "no such file or folder: nowhere"),
        (["--suite", "tasks", "--model", "scripted:nowhere"], "scripted:nowhere"),
        ([*SMALL[1:], "--set", "verify.unheard=1"], "there is no field verify.unheard; known here: "),
        ([*SMALL[1:], "--set", "sampling.top_p=2"], "sampling.top_p must be 1 or less, not 2"),
        ([*SMALL[1:], "--draw", "9"], "9 tasks are to be drawn, but only 4"),
        ([*SMALL[1:], "--run", ""], "names no folder"),
        ([*SMALL[1:], "--config", "nowhere.yaml"], "cannot read the configuration nowhere.yaml"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing(bench, work, arguments, told):
    done = bench("bench", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (work / "runs").exists()


def test_files_that_are_no_tasks_are_named_and_the_run_goes_on(bench, work):
    (work / "tasks" / "notes.py").write_text("x = 1\n")
    done = bench(*SMALL, "--samples", "1", "--run", "first")
    assert done.returncode == 0
    assert "tasks/notes.py is left out: defines no Model" in done.stderr


def test_answers_that_did_not_come_are_counted_by_class_in_the_table(bench, work):
    script = json.loads((work / "script.json").read_text())
    script.pop("tasks/level1/0_task.py")
    (work / "script.json").write_text(json.dumps(script))
    done = bench(*SMALL, "--samples", "2", "--run", "first")
    assert done.returncode == 0
    assert "in no rate: 2 unsupported, 2 not answered" in done.stdout
    told = "not answered: unknown task 2, e.g. no task of the script has its source in this prompt"
    assert told in done.stdout.splitlines()


def test_each_way_in_which_answers_failed_is_told_with_an_example(bench, work):
    def reply(_request: dict[str, Any], number: int) -> Reply:
        return chat("", reason="stop") if number == 0 else refusal(404, f"no such model: {number}")

    with serving(reply) as server:
        options = ("--model", "tiny", "--base-url", server.url, "--samples", "1", "--run", "first")
        done = bench("bench", "--suite", "tasks", *options, "--set", "work.asking=1")
    told = done.stdout.splitlines()
    assert "not answered: refused 3, e.g. HTTP 404: no such model: 1" in told
    assert any(line.startswith("no answer: empty 1, e.g. ") for line in told)


def with_tokens(_request: dict[str, Any], _number: int) -> Reply:
    reply = json.loads(chat(answer("verdict: correct")).body)
    told = {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -0.25}]}
    reply["choices"][0].update(logprobs=told, token_ids=[7, 8])
    return json_reply(reply)


def test_tokens_and_their_log_probabilities_are_asked_for_and_kept_where_that_is_wanted(bench, work):
    tables = []
    for wanted in (False, True):
        with serving(with_tokens) as server:
            options = ("--model", "tiny", "--base-url", server.url, "--samples", "1", "--run", f"wanted-{wanted}")
            done = bench("bench", "--suite", "tasks", *options, "--set", f"sampling.logprobs={str(wanted).lower()}")
            asked = {request.get("logprobs") for request in server.requests}
        tables.append(done.stdout)
        kept = [s.tokens for s in RunFolder.open(work / "runs" / f"wanted-{wanted}").samples()]
        found = {(t.token_ids, t.log_probabilities) for t in kept if t}
        assert (asked, found) == (({True}, {((7, 8), (-0.5, -0.25))}) if wanted else ({None}, set()))
    assert tables[0] == tables[1]  # no figure is made of them


def test_a_run_that_knew_a_field_less_goes_on(bench, work):
    assert bench(*SMALL, "--samples", "2", "--run", "first").returncode == 0
    file = work / "runs" / "first" / "config.yaml"
    config = yaml.safe_load(file.read_text())
    del config["sampling"]["logprobs"]
    file.write_text(yaml.safe_dump(config))
    done = bench("bench", "--run", "first")
    assert done.returncode == 0, done.stderr
    refused = bench("bench", "--run", "first", "--set", "sampling.logprobs=true")
    assert "sampling.logprobs: False -> True" in refused.stderr


def test_a_server_that_is_not_there_ends_the_run_with_one_line_and_another_address_goes_on_with_it(bench, work):
    quick = ("--set", "model.server.retry.start_seconds=0.1", "--set", "model.server.retry.first_seconds=0.01")
    options = ("--model", "tiny", "--base-url", "http://127.0.0.1:9/v1", "--samples", "3", "--run", "first", *quick)
    done = bench("bench", "--suite", "tasks", *options)
    assert (done.returncode, done.stdout) == (3, "")
    told = done.stderr.strip().splitlines()
    assert [line for line in told if "stopped" in line] == told[-1:]
    assert "unreachable: no connection to 127.0.0.1:9" in told[-1]
    assert told[-1].endswith("go on with: musacoder bench --run first (--again asks for what failed too)")
    with serving(lambda _request, _number: chat(answer("verdict: correct"))) as server:
        done = bench("bench", "--run", "first", "--base-url", server.url)
    assert done.returncode == 0, done.stderr
    assert len(list(RunFolder.open(work / "runs" / "first").verdicts())) == 12


def test_a_key_that_is_refused_ends_the_run_with_one_line(bench):
    with serving(lambda _request, _number: refusal(401, "no such key")) as server:
        done = bench("bench", "--suite", "tasks", "--model", "tiny", "--base-url", server.url, "--run", "first")
        requests = len(server.requests)
    assert done.returncode == 3
    assert "stopped: unauthorised: HTTP 401: no such key; go on with: " in done.stderr
    assert requests <= 4  # one for each prompt that was under way


def test_the_gallerys_answers_need_no_suite_but_the_gallery(bench, work, monkeypatch):
    monkeypatch.setattr(QuietJudge, "verify", lambda _self, _task, _candidate: verdict(Status.CORRECT))
    done = bench("bench", "--model", "scripted:gallery", "--id", "relu", "--samples", "1", "--run", "first")
    assert done.returncode == 0, done.stderr
    assert "scripted:gallery on gallery · 1 task, 1 answer each" in done.stdout
    assert bench("bench", "--run", "first").stdout == done.stdout


def test_a_configuration_file_says_it_all(bench, work):
    config = {"suite": {"source": "tasks", "ids": [0]}, "model": {"name": "scripted:script.json"}, "samples": 1}
    (work / "bench.yaml").write_text(yaml.safe_dump(config))
    done = bench("bench", "--config", "bench.yaml", "--run", "first")
    assert done.returncode == 0, done.stderr
    assert "1 task, 1 answer each" in done.stdout


def test_where_nothing_could_be_judged_the_exit_code_says_so_and_again_tries_once_more(bench, work):
    script = {f"tasks/level1/{n}_task.py": [answer("raise: NotJudged the disk is full")] for n in (0, 2)}
    (work / "script.json").write_text(json.dumps(script))
    options = (*SMALL, "--level", "1", "--samples", "1", "--run", "first")
    done = bench(*options)
    assert done.returncode == 3
    assert "in no rate: 2 not judged" in done.stdout
    assert "not judged 2, e.g. the disk is full" in done.stdout.splitlines()
    assert "2 answers are asked for or judged again" in bench(*options, "--again").stderr


def begun(work: Path, *options: str, **env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPTED), *SMALL, "--run", "first", *options],
        cwd=work,
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_verdicts(run: Path, count: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if (run / "verdicts.jsonl").exists() and len((run / "verdicts.jsonl").read_bytes().splitlines()) >= count:
            return
        time.sleep(0.01)
    raise AssertionError("no verdict came")


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(work):
    process = begun(work, "--samples", "50", TEST_SECONDS="0.05")
    wait_for_verdicts(work / "runs" / "first", 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    last = err.decode().strip().splitlines()[-3:]
    assert "musacoder: go on with: musacoder bench --run first" in last
    assert last[-1] == "musacoder: interrupted" or "closed" in last
    assert musacoder("bench", "--run", "first", cwd=work).returncode == 0
    assert len(list(RunFolder.open(work / "runs" / "first").verdicts())) == 200


def test_two_processes_never_work_on_one_run(work):
    process = begun(work, "--samples", "50", TEST_SECONDS="0.05")
    try:
        wait_for_verdicts(work / "runs" / "first", 1)
        second = musacoder("bench", "--run", "first", cwd=work)
    finally:
        process.kill()
        process.wait()
    assert second.returncode == 2
    assert "another process is writing to runs/first" in second.stderr


@pytest.mark.slow
def test_the_gallerys_answers_are_judged_by_the_real_simulator(tmp_path):
    """The scripted model's answers are the gallery's candidates, whose verdicts are known."""
    command = ["-m", "musacoder", "bench", "--suite", "gallery", "--id", "relu", "--samples", "4", "--run", "real"]
    done = subprocess.run(
        [sys.executable, *command, "--model", "scripted:gallery"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = {e.candidate_path.read_text().strip(): e.expected.status for e in gallery.load()}
    run = RunFolder.open(tmp_path / "runs" / "real")
    wanted = {s.key: next(how for code, how in expected.items() if code in s.answer) for s in run.samples()}
    verdicts = {v.key: v.verdict for v in run.verdicts()}
    assert len(verdicts) == 4
    assert {key: v.status for key, v in verdicts.items()} == wanted
    assert len({v.status for v in verdicts.values()}) > 1
    assert {v.evidence for v in verdicts.values() if v.evidence} == {"emulation"}


@pytest.mark.slow
def test_killed_at_ten_random_points_a_run_ends_with_exactly_the_same_table(work):
    options = ("--samples", "12", "--turns", "3")
    expected = musacoder(*SMALL, *options, "--run", "whole", cwd=work)
    assert expected.returncode == 0
    lucky, kills = random.Random(5), 0
    while kills < 10:
        before = _lines(work / "runs" / "first")
        process = begun(work, *options, TEST_SECONDS="0.02")
        wait_for_verdicts(work / "runs" / "first", min(before + lucky.randint(0, 6), 60))
        time.sleep(lucky.random() * 0.05)
        process.kill()
        process.communicate()
        kills += 1
    assert _lines(work / "runs" / "first") < 80  # it was cut short each time
    resumed = musacoder("bench", "--run", "first", cwd=work)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == expected.stdout
    ends = [{v.key: v.verdict.status for v in RunFolder.open(work / "runs" / n).verdicts()} for n in ("whole", "first")]
    assert ends[0] == ends[1]


def _lines(run: Path) -> int:
    file = run / "verdicts.jsonl"
    return len(file.read_bytes().splitlines()) if file.exists() else 0
