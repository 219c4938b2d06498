"""`musacoder generate`: the best right kernel is kept whatever comes after it, and a run goes on as it would have."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.cli import TASK, environment
from support.verdicts import verdict
from support.writing import answer

from mooreeval import errors
from mooreeval.candidate import NoCandidate
from mooreeval.task import load_task
from mooreeval.verdict import Profile, Status, Timing, Verdict
from musacoder import cli, kernel_file
from musacoder.config import SamplingConfig
from musacoder.runlog import RunFolder


class TimedJudge:
    """Judges by the candidate's first line, "# STATUS SPEEDUP"; on a device where `device_name` says so."""

    device_name: str | None = None
    falls_after: int | None = None  # verdicts, before an interrupt

    def __init__(self, config: Any) -> None:
        self.config = config

    def __enter__(self) -> TimedJudge:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def needs_preparation(self) -> bool:
        return False

    def describe(self, task: Any) -> Any:
        raise errors.TaskError("it is not described here")

    def verify(self, task: Any, candidate: Any) -> Verdict:
        cls = type(self)
        if cls.falls_after is not None:
            cls.falls_after -= 1
            if cls.falls_after < 0:
                raise KeyboardInterrupt
        hashes = {"task_hash": task.task_hash, "candidate_hash": candidate.candidate_hash}
        if isinstance(candidate, NoCandidate):
            return verdict(Status.NO_CANDIDATE, **hashes)
        _, status, *speedup = candidate.code.split("\n", 1)[0].split()
        if status == "lost":
            raise errors.NotJudged("the disk is full")
        is_timed = status == "correct" and speedup
        timing = Timing(candidate_ms=1.0, eager_ms=float(speedup[0])) if is_timed else None
        advice = f"Profiled at {speedup[0]}: load four floats at once." if is_timed else ""
        profile = Profile(advice=(advice,)) if is_timed and self.config.profile.enabled else None
        evidence = "device" if cls.device_name else "emulation"
        return verdict(Status(status), timing=timing, profile=profile, evidence=evidence, **hashes)


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def generate(tmp_path, monkeypatch, capfd) -> Callable[..., Done]:
    """`musacoder generate task.py` with a model that gives these answers in order: sample by sample, turn by turn."""
    judge = type("Judge", (TimedJudge,), {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("musacoder.generate.LocalVerifier", judge)
    (tmp_path / "task.py").write_text(TASK)

    def run(*arguments: str, answers: Sequence[str] = (), device: str | None = None, falls: int | None = None) -> Done:
        judge.device_name, judge.falls_after = device, falls
        if answers:
            start = SamplingConfig().of(load_task("task.py").task_hash, 0, 1).seed % len(answers)
            told = [answer(answers[(i - start) % len(answers)]) for i in range(len(answers))]
            (tmp_path / "script.json").write_text(json.dumps({"task.py": told}))
        capfd.readouterr()
        model = ["--model", "scripted:script.json"]
        code = cli.run(["generate", "task.py", *model, *arguments])
        return Done(code, *capfd.readouterr())

    return run


def ends(run: Path) -> list[tuple[int, int, str]]:
    folder = RunFolder.open(run)
    judged = {v.key: v.verdict.status.value if v.verdict else "not_judged" for v in folder.verdicts()}
    return sorted((s.index, s.turn, judged.get(s.key, "?")) for s in folder.samples())


def first_line(file: Path) -> str:
    return file.read_text().splitlines()[0]


def test_without_a_gpu_a_right_kernel_is_written_and_its_speed_is_said_to_be_unknown(generate, tmp_path):
    done = generate("-n", "3", "--run", "a", answers=["incorrect", "correct", "illegal"])
    assert done.returncode == 0, done.stderr
    assert "its speed is unknown: judged by emulation, without a GPU" in done.stdout
    assert "runs/a/task.py is right" in done.stdout
    assert first_line(tmp_path / "runs/a/task.py") == "# correct"
    told = json.loads((tmp_path / "runs/a/task.json").read_text())
    assert (told["status"], told["reward"]) == ("correct", 1.0)
    assert len(ends(tmp_path / "runs/a")) == 3  # no repair and no optimisation


def test_while_none_is_right_every_answer_is_repaired_in_rounds(generate, tmp_path):
    answers = ["incorrect a", "incorrect b", "compile_error", "runtime_error", "correct", "illegal"]
    done = generate("-n", "2", "--repairs", "5", "--run", "a", answers=answers)
    assert done.returncode == 0
    turns = ends(tmp_path / "runs/a")
    # the second answer is right in its fourth turn, and the round is completed before that counts
    assert [(i, t) for i, t, status in turns if status == "correct"] == [(1, 4)]
    assert [(i, t) for i, t, _ in turns] == [(i, t) for i in (0, 1) for t in (1, 2, 3, 4)]


def test_where_none_is_right_nothing_is_written(generate, tmp_path):
    done = generate("-n", "2", "--repairs", "1", "--run", "a", answers=["incorrect"])
    assert done.returncode == 1
    assert "none of 4 answers is right" in done.stdout
    assert not (tmp_path / "runs/a/task.py").exists()


def test_where_nothing_is_judged_the_exit_code_says_so(generate):
    assert generate("-n", "2", "--run", "a", answers=["lost"]).returncode == 3


def test_on_a_device_the_fastest_is_kept_and_not_the_last(generate, tmp_path):
    answers = ["correct 1.2", "correct 2.5", "runtime_error", "correct 0.7"]
    options = ("-n", "1", "--optimise", "3", "--run", "a")
    done = generate(*options, answers=answers, device="A GPU")
    assert done.returncode == 0, done.stderr
    assert len(ends(tmp_path / "runs/a")) == 4
    best = max(
        float(v.verdict.timing.eager_ms) for v in RunFolder.open(tmp_path / "runs/a").verdicts() if v.verdict.timing
    )
    assert first_line(tmp_path / "runs/a/task.py") == f"# correct {best}"
    assert f"{best:.2f} times as fast as eager" in done.stdout
    assert json.loads((tmp_path / "runs/a/task.json").read_text())["timing"]["eager_ms"] == best


def test_what_is_improved_is_the_best_so_far_after_one_repair_of_what_failed(generate, tmp_path):
    answers = ["correct 1.5", "runtime_error", "compile_error", "illegal"]
    generate("-n", "1", "--optimise", "3", "--run", "a", answers=answers, device="A GPU")
    samples = {s.turn: s for s in RunFolder.open(tmp_path / "runs/a").samples()}
    said = {turn: [m.content for m in s.messages if m.role == "assistant"] for turn, s in samples.items()}
    first, second = samples[1].answer, samples[2].answer
    assert said == {1: [], 2: [first], 3: [first, second], 4: [first]}
    assert "1.5" in samples[2].messages[-1].content  # the times are told


def last_prompts(run: Path) -> dict[int, str]:
    """What the model was asked last, by turn."""
    return {s.turn: s.messages[-1].content for s in RunFolder.open(run).samples()}


def test_on_a_device_every_optimisation_turn_tells_times_and_profile_of_the_kernel_it_goes_on_from(
    generate, tmp_path, monkeypatch
):
    monkeypatch.setattr("musacoder.session.choose_backend", lambda _name: "cuda")
    answers = ["correct 1.5", "incorrect", "correct 2.25", "correct 0.75", "correct 1.25"]
    done = generate("-n", "1", "--repairs", "4", "--optimise", "4", "--run", "a", answers=answers, device="A GPU")
    assert done.returncode == 0, done.stderr
    asked = last_prompts(tmp_path / "runs/a")
    assert "Profiled" not in asked[1]
    judged = {v.turn: v.verdict for v in RunFolder.open(tmp_path / "runs/a").verdicts()}
    optimised = [turn for turn in asked if turn > 1 and judged[turn - 1].status is Status.CORRECT]
    assert len(optimised) >= 3
    for turn in optimised:
        told = asked[turn]
        shown = [
            v.timing.eager_ms for v in judged.values() if v.timing and f"Profiled at {v.timing.eager_ms}: " in told
        ]
        assert len(shown) == 1  # of one kernel, with the times of the same
        assert f"PyTorch eager: {shown[0]:.4g} ms, so yours is {shown[0]:.3g} times as fast" in told
    assert first_line(tmp_path / "runs/a/task.py") == "# correct 2.25"


def test_without_a_profile_the_times_alone_are_told(generate, tmp_path, monkeypatch):
    monkeypatch.setattr("musacoder.session.choose_backend", lambda _name: "cuda")
    options = ("-n", "1", "--optimise", "1", "--run", "a", "--set", "profile=false")
    generate(*options, answers=["correct 1.5", "correct 1.2"], device="A GPU")
    assert "PyTorch eager: 1.5 ms" in last_prompts(tmp_path / "runs/a")[2]
    assert "Profiled" not in last_prompts(tmp_path / "runs/a")[2]


@pytest.mark.parametrize(
    ("bound", "turns"),
    [(("--optimise", "2"), 3), (("--optimise", "0"), 1), (("--tokens", "1"), 1), (("--seconds", "1e-9"), 1)],
)
def test_optimisation_ends_with_its_budget(generate, tmp_path, bound, turns):
    generate("-n", "1", *bound, "--run", "a", answers=["correct 1.5", "correct 1.4"], device="A GPU")
    assert len(ends(tmp_path / "runs/a")) == turns


def test_a_run_that_falls_again_and_again_ends_with_the_same_kernel(generate, tmp_path):
    answers = ["incorrect", "illegal", "correct 1.1", "runtime_error", "correct 1.9", "compile_error", "correct 1.4"]
    options = ("-n", "3", "--repairs", "2", "--optimise", "5")
    whole = generate(*options, "--run", "whole", answers=answers, device="A GPU")
    assert whole.returncode == 0
    lucky = random.Random(3)
    for _ in range(40):
        done = generate(*options, "--run", "cut", device="A GPU", falls=lucky.randint(0, 3))
        if done.returncode == 0:
            break
        assert (done.returncode, done.stdout) == (130, "")
        assert "go on with: musacoder generate --run cut" in done.stderr
    assert done.stdout.replace("runs/cut", "runs/whole") == whole.stdout
    assert ends(tmp_path / "runs/cut") == ends(tmp_path / "runs/whole")
    assert (tmp_path / "runs/cut/task.py").read_text() == (tmp_path / "runs/whole/task.py").read_text()


def test_a_run_that_was_cut_short_leaves_the_best_so_far(generate, tmp_path):
    answers = ["correct 1.5", "correct 1.2"]
    done = generate("-n", "1", "--optimise", "4", "--run", "a", answers=answers, device="A GPU", falls=2)
    assert done.returncode == 130
    assert first_line(tmp_path / "runs/a/task.py") == "# correct 1.5"


def test_the_json_names_the_kernel_and_every_answer(generate):
    done = generate("-n", "2", "--run", "a", "--json", answers=["incorrect", "correct"])
    document = json.loads(done.stdout)
    assert document["kernel"] == "runs/a/task.py"
    assert document["speed_is_known"] is False
    assert sorted(a["how"] for a in document["answers"]) == ["correct", "incorrect"]


def test_a_kernel_is_written_where_it_is_wanted_and_never_over_another_file(generate, tmp_path):
    done = generate("-n", "1", "--run", "a", "--out", "kernels", answers=["correct"])
    assert done.returncode == 0
    assert (tmp_path / "kernels/task.py").exists()
    refused = generate("-n", "1", "--run", "b", "--out", ".")
    assert refused.returncode == 2
    assert "task.py is there already, and no kernel for this task" in refused.stderr
    assert (tmp_path / "task.py").read_text() == TASK
    assert generate("-n", "1", "--run", "c", "--out", "kernels").returncode == 0  # a later kernel for the same task


def test_a_run_without_a_name_is_called_after_its_task_and_model(generate, tmp_path):
    assert generate("-n", "1", answers=["correct"]).returncode == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"task-scripted-script\.json-\d{8}-\d{6}", run.name)


def test_a_kernel_that_was_changed_by_hand_is_never_written_over(generate, tmp_path):
    assert generate("-n", "1", "--run", "a", "--out", "k", answers=["correct"]).returncode == 0
    kernel = tmp_path / "k/task.py"
    kernel.write_text(kernel.read_text() + "# mine\n")
    kept = [(f.name, f.read_bytes()) for f in sorted((tmp_path / "k").iterdir())]
    for run in ("a", "b"):
        refused = generate("-n", "1", "--run", run, "--out", "k")
        assert refused.returncode == 2
        assert "k/task.py was changed since it was written: move it away, or choose another --out" in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
    assert [(f.name, f.read_bytes()) for f in sorted((tmp_path / "k").iterdir())] == kept
    kernel.unlink()
    assert generate("-n", "1", "--run", "b", "--out", "k").returncode == 0
    assert first_line(kernel) == "# correct"


@pytest.mark.parametrize("end", ["", "\n\n\n", "  \n \n"])
def test_a_kernel_is_what_was_judged_to_its_last_blank_line_and_so_no_changed_one(generate, tmp_path, end):
    text = answer("correct").replace("\n```\n", f"{end}\n```\n")
    (tmp_path / "script.json").write_text(json.dumps({"task.py": [text]}))
    for _ in range(2):
        done = generate("-n", "1", "--run", "a", "--out", "k")
        assert done.returncode == 0, done.stderr
    assert generate("-n", "1", "--run", "b", "--out", "k").returncode == 0


def test_a_kernel_whose_writing_was_cut_short_after_its_verdict_is_no_changed_one(generate, tmp_path, monkeypatch):
    replace = kernel_file._replace

    def cut_short(path: Path, text: str) -> None:
        if path.suffix == ".py":
            raise KeyboardInterrupt
        replace(path, text)

    assert generate("-n", "1", "--run", "a", "--out", "k", answers=["correct 1"]).returncode == 0
    with monkeypatch.context() as patched:
        patched.setattr(kernel_file, "_replace", cut_short)
        assert generate("-n", "1", "--run", "b", "--out", "k", answers=["correct 2"]).returncode == 130
    assert first_line(tmp_path / "k/task.py") == "# correct 1"
    assert generate("--run", "b").returncode == 0
    assert first_line(tmp_path / "k/task.py") == "# correct 2"


def test_a_run_that_goes_on_remembers_where_its_kernel_goes(generate, tmp_path):
    assert generate("-n", "1", "--run", "a", "--out", "k", answers=["correct"]).returncode == 0
    (tmp_path / "k/task.py").unlink()
    done = generate("--run", "a")
    assert done.returncode == 0, done.stderr
    assert "k/task.py is right" in done.stdout
    assert first_line(tmp_path / "k/task.py") == "# correct"
    assert not (tmp_path / "runs/a/task.py").exists()
    assert generate("--run", "a", "--out", "other").returncode == 0  # where it goes may change
    assert (tmp_path / "other/task.py").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name the task"),
        (["nowhere.py", "--run", "x"], "nowhere.py"),
        (["task.py", "--run", "x", "--set", "budget.turn=1"], "there is no field budget.turn; known here: "),
    ],
)
def test_bad_usage_is_one_line(tmp_path, monkeypatch, capfd, arguments, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.py").write_text(TASK)
    assert cli.run(["generate", "--model", "scripted:gallery", *arguments]) == 2
    out, err = capfd.readouterr()
    assert told in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "runs").exists()


def test_going_on_with_another_task_or_number_is_refused(generate, tmp_path):
    generate("-n", "1", "--run", "a", answers=["correct"])
    refused = generate("-n", "2", "--run", "a")
    assert refused.returncode == 2
    assert "samples: 1 -> 2" in refused.stderr
    assert cli.run(["bench", "--run", "a"]) == 2  # which is another command's


@pytest.mark.slow
def test_the_kernel_that_the_real_simulator_found_right_is_right_when_it_is_judged_again(tmp_path):
    def musacoder(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "musacoder", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)

    done = musacoder("generate", "gallery:relu", "--model", "scripted:gallery", "-n", "3", "--run", "a", "--out", "k")
    assert done.returncode == 0, done.stderr
    assert "k/relu.py is right; its speed is unknown" in done.stdout
    again = musacoder("verify", "gallery:relu", "k/relu.py", "--json")
    assert again.returncode == 0, again.stdout
    kept = json.loads((tmp_path / "k" / "relu.json").read_text())
    assert json.loads(again.stdout)["candidate_hash"] == kept["candidate_hash"]
