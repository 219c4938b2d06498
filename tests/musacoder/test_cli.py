"""The command line as a shell sees it: exit codes, one clear line for every error, strict JSON, nothing left behind."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import SCRIPTED, TASK, candidate, environment, musacoder

from mooreeval.verdict import Status, Verdict

CORRECT = candidate("verdict: correct").encode()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a task and nothing else; it must still hold nothing else afterwards, whatever the command did."""
    (tmp_path / "task.py").write_text(TASK)
    return tmp_path


def verify(work: Path, first_line: str, *options: object) -> subprocess.CompletedProcess[str]:
    (work / "candidate.py").write_text(candidate(first_line))
    done = musacoder("verify", "task.py", "candidate.py", *options, cwd=work)
    assert sorted(p.name for p in work.iterdir() if not p.name.endswith(".yaml")) == ["candidate.py", "task.py"]
    return done


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of an error; the judge's own `closed` aside."""
    lines = [line for line in done.stderr.splitlines() if line != "closed"]
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    assert lines[0].startswith("musacoder: ")
    return lines[0]


@pytest.mark.parametrize("status", Status)
def test_the_exit_code_tells_the_verdict(work, status):
    expected = {Status.CORRECT: 0, Status.UNSUPPORTED: 3}.get(status, 1)
    done = verify(work, f"verdict: {status.value}")
    assert done.returncode == expected, done.stderr
    assert status.value.replace("_", " ").upper() in done.stdout


def test_the_readable_report_has_no_colour_when_piped_and_no_traceback(work):
    done = verify(work, "verdict: incorrect")
    assert "\x1b" not in done.stdout
    assert "output" in done.stdout
    assert "the last 24 of 1000" in done.stdout
    assert not any(line != "closed" for line in done.stderr.splitlines())


def test_json_is_strict_and_alone_on_standard_output(work):
    done = verify(work, "verdict: incorrect", "--json", "-v")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    data = json.loads(done.stdout, parse_constant=refuse)
    assert data["status"] == "incorrect"
    assert data["reward"] == -1.0
    assert data["feedback"].startswith("Incorrect: ")
    assert "the last 24 of 1000" in data["feedback"]
    got = data["trials"][1]["mismatch"]["examples"][0][1]
    assert got == "NaN"
    assert Verdict.model_validate(data).status is Status.INCORRECT


@pytest.mark.parametrize("status", [Status.CORRECT, Status.UNSUPPORTED])
def test_the_json_holds_the_reward_also_where_there_is_none(work, status):
    data = json.loads(verify(work, f"verdict: {status.value}", "--json").stdout)
    assert data["reward"] == {Status.CORRECT: 1.0}.get(status)
    assert data["feedback"]


def test_reward_and_feedback_follow_the_configuration(work):
    data = json.loads(verify(work, "verdict: incorrect", "--json", "--set", "feedback.characters=200").stdout)
    assert len(data["feedback"]) <= 200


def test_the_time_shown_is_that_of_the_command(work):
    begin = time.monotonic()
    data = json.loads(verify(work, "verdict: correct", "--json").stdout)
    around = time.monotonic() - begin
    assert 0 < sum(data["stage_seconds"].values()) <= around + 0.05  # the system counts a start in hundredths


def test_a_long_preparation_is_announced_beside_the_json(work):
    done = musacoder("verify", "task.py", "-", "--json", cwd=work, stdin=CORRECT, TEST_UNPREPARED="1")
    assert json.loads(done.stdout)["status"] == "correct"
    assert "preparing backend" in done.stderr
    assert "preparing" not in musacoder("verify", "task.py", "-", cwd=work, stdin=CORRECT).stderr
    assert (
        "preparing" not in musacoder("verify", "task.py", "-", cwd=work, TEST_UNPREPARED="1").stderr
    )  # nothing to judge


@pytest.mark.parametrize(
    ("first_line", "code", "words"),
    [
        ("raise: NotJudged no space left on the device", 3, "no space left"),
        ("raise: TaskError the task defines no Model", 2, "no Model"),
        ("raise: UsageError backend cuda is not available here", 2, "cuda"),
        ("raise: RuntimeError the sky fell", 3, "internal error, not judged: RuntimeError: the sky fell"),
    ],
)
def test_an_error_is_one_line_and_a_traceback_only_under_v(work, first_line, code, words):
    done = verify(work, first_line)
    assert done.returncode == code
    assert words in only_line(done)
    assert "closed" in done.stderr
    loud = verify(work, first_line, "-v")
    assert loud.returncode == code
    assert "Traceback" in loud.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Usage"),
        (("frobnicate",), "frobnicate"),
        (("verify",), "TASK"),
        (("verify", "task.py"), "CANDIDATE"),
        (("verify", "task.py", "x", "--bakend", "cuda"), "--bakend"),
        (("verify", "task.py", "x", "--bakend", "cuda"), "(see musacoder verify --help)"),
        (("frobnicate",), "(see musacoder --help)"),
        (("verify", "-", "task.py"), "only CANDIDATE may be -"),
        (("verify", "absent.py", "task.py"), "absent.py"),
        (("verify", "task.py", "absent.py"), "absent.py"),
        (("verify", "task.py", "."), "."),
        (("verify", "gallery:absent", "task.py"), "relu"),
        (("verify", "task.py", "gallery:relu/absent"), "relu/plain"),
        (("verify", "task.py", "gallery:absent"), "gallery:TASK/NAME"),
        (("verify", "task.py", "task.py", "--backend", "abacus"), "simulator"),
        (("verify", "task.py", "task.py", "--policy", "any"), "native"),
        (("verify", "task.py", "task.py", "--protocol", "theirs"), "kernelbench"),
        (("verify", "task.py", "task.py", "--seed", "secret"), "hexadecimal"),
        (("verify", "task.py", "task.py", "--set", "trials=none"), "trials"),
        (("verify", "task.py", "task.py", "--set", "tries=3"), "trials"),
        (("verify", "task.py", "task.py", "--config", "absent.yaml"), "absent.yaml"),
        (("demo", "--only", "absent"), "relu"),
        (("demo", "--workers", "0"), "workers"),
    ],
)
def test_bad_usage_exits_2_with_what_to_do(work, arguments, words):
    done = musacoder(*arguments, cwd=work)
    assert done.returncode == 2, done.stderr
    if arguments:
        assert words in only_line(done)
    else:
        assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("verify", "--json"), 2),
        (("verify", "absent.py", "task.py", "--json"), 2),
        (("verify", "task.py", "task.py", "--json", "--set", "trials=x"), 2),
        (("demo", "--only", "absent", "--json"), 2),
        (("verify", "task.py", "candidate.py", "--json"), 3),
    ],
)
def test_with_json_an_error_is_an_object_too(work, arguments, code):
    (work / "candidate.py").write_text(candidate("raise: NotJudged no space left on the device"))
    done = musacoder(*arguments, cwd=work)
    data = json.loads(done.stdout)
    assert (done.returncode, data["exit_code"]) == (code, code)
    assert done.stderr.splitlines()[-1] == f"musacoder: {data['error']}"


@pytest.mark.parametrize("name", ["kernel.cu", "kernel.txt", "-"])
def test_cuda_source_alone_is_no_candidate_and_told_what_is_missing(work, name):
    source = "__global__ void k(float* x) { x[threadIdx.x] = 0; }\n"
    if name != "-":
        (work / name).write_text(source)
    done = musacoder("verify", "task.py", name, "--json", cwd=work, stdin=source.encode())
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["status"] == "no_candidate"
    assert "load_inline" in data["reason"]


def test_an_answer_that_was_cut_off_is_not_taken_for_cuda_source_alone(work):
    answer = '```python\nsource = """__global__ void k(float* x) {}"""\nclass ModelNew(torch.nn.Module):\n    def forw'
    done = musacoder("verify", "task.py", "-", "--json", cwd=work, stdin=answer.encode())
    data = json.loads(done.stdout)
    assert data["status"] == "no_candidate"
    assert "Python file" not in data["reason"]


def test_a_bad_task_exits_2(work):
    (work / "task.py").write_text("def broken(:\n")
    (work / "candidate.py").write_text(candidate("verdict: correct"))
    done = musacoder("verify", "task.py", "candidate.py", cwd=work)
    assert done.returncode == 2
    assert "not valid Python" in only_line(done)


def test_places_are_told_by_the_name_of_the_candidates_file(work):
    (work / "mine.py").write_text(candidate("verdict: runtime_error"))
    assert "mine.py:7" in musacoder("verify", "task.py", "mine.py", cwd=work).stdout
    assert (
        "candidate:7"
        in musacoder("verify", "task.py", "-", cwd=work, stdin=b"# verdict: runtime_error\nclass ModelNew: 0").stdout
    )


def test_a_candidate_may_come_from_standard_input(work):
    done = musacoder("verify", "task.py", "-", cwd=work, stdin=candidate("verdict: illegal").encode())
    assert done.returncode == 1
    assert "ILLEGAL" in done.stdout


@pytest.mark.parametrize("junk", [b"", b"\x00\xff\xfe" * 50, b"x = 1\n", b"# " + b"a" * 10_000_000])
def test_a_bad_candidate_is_a_verdict_and_never_bad_usage(work, junk):
    done = musacoder("verify", "task.py", "-", cwd=work, stdin=junk)
    assert done.returncode == 1, done.stderr
    assert "NO CANDIDATE" in done.stdout


def test_configuration_comes_from_file_settings_and_options_in_this_order(work):
    (work / "c.yaml").write_text("seed: '01'\nbackend: cuda\n")
    plain = verify(work, "verdict: correct", "--json", "--config", "c.yaml")
    set_ = verify(work, "verdict: correct", "--json", "--config", "c.yaml", "--set", "seed=02", "--set", "backend=musa")
    option = verify(work, "verdict: correct", "--json", "--set", "seed=02", "--seed", "03", "--backend", "simulator")
    seen = [(v["seed"], v["backend"]) for v in (json.loads(d.stdout) for d in (plain, set_, option))]
    assert seen == [("01", "cuda"), ("02", "musa"), ("03", "simulator")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_closes_the_judge_and_exits_130(work, number):
    (work / "candidate.py").write_text(candidate("hang"))
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTED), "verify", "task.py", "candidate.py", "-v"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=work,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    seen = ""
    while "hanging" not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err.splitlines()) == ("", ["closed", "musacoder: interrupted"])


def test_a_reader_that_leaves_early_causes_no_traceback(work):
    (work / "candidate.py").write_text(candidate("verdict: incorrect"))
    command = f"{sys.executable} {SCRIPTED} verify task.py candidate.py --json | true"
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_narrow_terminal_shows_everything_within_its_width(work):
    (work / "candidate.py").write_text(candidate("verdict: incorrect"))
    done = musacoder("verify", "task.py", "candidate.py", cwd=work, COLUMNS="40")
    assert max(map(len, done.stdout.splitlines())) <= 40
    assert "1000" in done.stdout


def test_help_names_the_arguments_as_the_readme_does(work):
    assert "verify [OPTIONS] TASK CANDIDATE\n" in musacoder("verify", "--help", cwd=work).stdout


def test_help_and_version_need_no_torch(work):
    for arguments in (("--help",), ("verify", "--help"), ("--version",)):
        code = (
            "import sys; sys.modules['torch'] = None\n"
            f"from musacoder.cli import run\nsys.exit(run({list(arguments)!r}))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_a_profile_is_asked_for_by_its_option_alone(work):
    assert "no profile" not in verify(work, "verdict: correct").stdout
    asked = verify(work, "verdict: correct", "--profile", "--set", "profile.seconds=5")
    assert asked.returncode == 0
    assert "no profile  no counters here" in asked.stdout
    data = json.loads(verify(work, "verdict: correct", "--profile", "--json").stdout)
    assert (data["profile"]["missing"], data["reward"]) == ("no counters here", 1.0)


def test_doctor_names_every_backend_and_prints_strict_json(work):
    done = musacoder("doctor", "--json", cwd=work)
    data = json.loads(done.stdout)
    assert {b["name"] for b in data["backends"]} == {"cuda", "musa", "musa-shim", "simulator"}
    assert done.returncode == (0 if data["auto"] else 3)
    assert all(c["ok"] or c["how_to_get"] for c in data["checks"])
    assert {"g++", "torch", "nvcc", "gpu", "sandbox", "cache", "memory"} <= {c["name"] for c in data["checks"]}
    assert re.search(r"simulator +(yes|no)", musacoder("doctor", cwd=work).stdout)


@pytest.mark.parametrize("width", ["80", "60"])
def test_doctor_fits_a_terminal_and_folds_only_between_words(work, width):
    out = musacoder("doctor", cwd=work, COLUMNS=width, MOOREEVAL_CACHE=str(work / "c")).stdout
    assert max(map(len, out.splitlines())) <= int(width)
    words = " ".join(out.split())
    assert "not to be had: this version does not judge on it" in words


def test_doctor_does_not_send_anybody_after_a_backend_that_is_not_written(work):
    data = json.loads(musacoder("doctor", "--json", cwd=work).stdout)
    told = {b["name"]: b["how_to_get"] for b in data["backends"]}
    assert told["musa"] == told["musa-shim"] == "not to be had: this version does not judge on it"


def test_doctor_leaves_no_cache_folder_behind(work):
    done = musacoder("doctor", "--json", cwd=work, MOOREEVAL_CACHE=str(work / "new" / "cache"))
    cache = next(c for c in json.loads(done.stdout)["checks"] if c["name"] == "cache")
    assert cache["ok"]
    assert "not there yet" in cache["detail"]
    assert [p.name for p in work.iterdir()] == ["task.py"]


def test_doctor_tells_how_to_get_a_compiler_that_is_missing(work):
    done = musacoder("doctor", cwd=work, PATH=str(work), COLUMNS="200")
    assert "apt-get install g++" in done.stdout
    assert done.returncode == 3


def test_doctor_tells_of_a_cache_that_cannot_be_written(work):
    (work / "file").write_text("")
    done = musacoder("doctor", "--json", cwd=work, MOOREEVAL_CACHE=str(work / "file" / "cache"))
    cache = next(c for c in json.loads(done.stdout)["checks"] if c["name"] == "cache")
    assert not cache["ok"]
    assert "MOOREEVAL_CACHE" in cache["how_to_get"]
