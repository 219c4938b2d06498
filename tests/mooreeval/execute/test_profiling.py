"""Profiles made by a real child process that runs an executable named ncu, which answers as the real one does or worse.

What the table means is tested beside the reader; here it is who runs, for how long, and what is left of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mooreeval.candidate import Candidate
from mooreeval.config import ProfileConfig, load_config
from mooreeval.errors import NotJudged
from mooreeval.execute.children import Launcher
from mooreeval.execute.evidence import Evidence
from mooreeval.execute.profiling import NO_NCU, make_profile
from mooreeval.profile.ncu import find_ncu
from mooreeval.reward import reward
from mooreeval.task import make_task
from mooreeval.verdict import Status, Timing, Verdict
from mooreeval.verify import LocalVerifier

from ..conftest import changed

DATA = Path(__file__).parents[1] / "profile" / "data"
RECORDED = DATA / "two_kernels.csv"
PROGRAM = "-P -m mooreeval.execute.profile_child request.json"
TOOLCHAIN = SimpleNamespace(
    device_options=dict, shown_to_children=list, device_turn=lambda *, shared: contextlib.nullcontext()
)
TASK = make_task("t", "class Model: pass\ndef get_inputs(): pass\n")


@pytest.fixture(scope="module")
def launcher():
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture
def profile_by(tmp_path, monkeypatch, launcher):
    """A function that makes a profile with this script as ncu."""
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    beside = shutil.copytree(DATA, tmp_path / "data")  # within its walls ncu reads what is beside it, and not the tests

    def run(script: str, *settings: str, evidence: Evidence | None = None):
        ncu = tmp_path / "ncu"
        ncu.write_text(f"#!/bin/bash\n{script.replace(str(DATA), str(beside))}\n")
        ncu.chmod(0o755)
        return made(launcher, *settings, evidence=evidence)

    return run


def made(launcher, *settings: str, backend: str = "cuda", evidence: Evidence | None = None):
    config = load_config(settings=settings).model_copy(update={"backend": backend})
    parts = TASK, Candidate("x = 1"), config, "5eed", launcher, TOOLCHAIN, lambda _stage: None
    return make_profile(*parts, evidence or Evidence())


def processes_with(word: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and word in (folder / "cmdline").read_text(errors="replace"):
                found.append(int(folder.name))
    return found


def test_ncu_is_asked_for_one_call_of_the_candidate_and_its_table_is_read(profile_by):
    evidence = Evidence(timing=Timing(candidate_ms=5.0))
    profile = profile_by(
        f'case "$*" in *"--profile-from-start off "*"{PROGRAM}") cat {RECORDED} ;; *) echo "$*" ;; esac',
        evidence=evidence,
    )
    assert profile.missing is None
    assert [k.kernel for k in profile.kernels] == ["mm", "saxpy"]
    assert profile.advice[0].startswith("a call takes 5000 us")
    assert evidence.stage_seconds["profile"] > 0
    assert evidence.device_seconds > 0


def test_the_profiled_program_gets_the_request_and_none_of_the_judges_secrets(profile_by, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    checks = [
        '[ "$HOME" = "$PWD" ]',
        '[ "$TMPDIR" = "$PWD" ]',
        '[ -z "$SECRET_TOKEN" ]',
        '[ "$CUDA_VISIBLE_DEVICES" = 3 ]',
        """grep -q '"candidate": "x = 1"' request.json""",
        """grep -q '"input_seed": [0-9]' request.json""",
    ]
    profile = profile_by(
        " && ".join([*checks, f"cat {RECORDED}"]),
        "cuda.device='3'",
    )
    assert profile.missing is None


def test_without_ncu_one_line_says_so(tmp_path, monkeypatch, launcher):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    if find_ncu() is not None:
        pytest.skip("ncu stands in /usr/local/cuda")
    assert made(launcher).missing == NO_NCU


def test_on_the_simulator_nothing_is_started(profile_by, launcher, monkeypatch):
    assert profile_by(f"cat {RECORDED}").missing is None
    monkeypatch.setattr(launcher, "spawn", lambda *_a, **_k: pytest.fail("a child was started"))
    profile = made(launcher, backend="simulator")
    assert profile.missing == "backend simulator has no performance counters of a GPU; a profile needs backend cuda"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1",
            "lets only administrators read performance counters (ERR_NVGPUCTRPERM)",
        ),
        (f"cat {DATA / 'no_kernels.txt'}", "ncu saw no kernel of the candidate's forward pass"),
        (
            "echo 'Traceback' >&2; echo 'RuntimeError: the model is gone' >&2; "
            "echo '==ERROR== The application returned an error code (1).'",
            "ncu: The application returned an error code (1). (RuntimeError: the model is gone)",
        ),
        ("exit 0", "ncu printed nothing"),
        ("kill -SEGV $$", "ncu printed nothing"),
        ("head -c 300000 /dev/urandom", "what ncu printed can't be read"),
        ("yes 'nothing but words' | head -c 40000000", "what ncu printed can't be read (nothing but words)"),
        ("exec /nowhere/ncu", "ncu printed nothing"),
    ],
)
def test_why_there_is_no_profile_is_one_line(profile_by, script, words):
    profile = profile_by(script)
    assert profile.kernels == ()
    assert words in profile.missing
    assert "\n" not in profile.missing


def test_a_table_before_an_endless_output_is_still_read(profile_by):
    profile = profile_by(f"cat {RECORDED}; yes 'more and more' | head -c 40000000")
    assert [k.kernel for k in profile.kernels] == ["mm", "saxpy"]


def test_an_ncu_that_cannot_be_started_is_told(profile_by, launcher, tmp_path):
    assert profile_by("exit 0").missing == "ncu printed nothing"
    (tmp_path / "ncu").write_bytes(b"\x7fELF, and no more of it")
    assert "ncu could not be started: Exec format error" in made(launcher).missing


@pytest.mark.parametrize("left", ["sleep 611.25", "setsid sleep 611.25", "(setsid sleep 611.25 &) ; sleep 611.25"])
def test_a_hang_ends_at_the_deadline_with_all_that_it_started(profile_by, left):
    start = time.monotonic()
    profile = profile_by(f"sleep 611.25 & {left} & wait", "profile.seconds=0.5")
    assert profile.missing == "ncu did not finish within 0.5 s; profile.seconds allows it more"
    assert time.monotonic() - start < 60
    assert processes_with("611.25") == []


def test_what_an_ended_ncu_leaves_behind_is_ended_too(profile_by):
    profile = profile_by(f"setsid sleep 612.25 & cat {RECORDED}")
    assert profile.missing is None
    assert processes_with("612.25") == []


def test_a_lost_launcher_costs_the_profile_and_nothing_else(profile_by, monkeypatch, launcher):
    def lost(*_: object, **__: object) -> None:
        raise NotJudged("the launcher process died")

    monkeypatch.setattr(Launcher, "spawn", lost)
    assert profile_by("exit 0").missing == "the profiler's process was lost (the launcher process died)"


# ---------------------------------------------------------------------------------------------------------- the verdict
def test_a_verdict_is_the_same_with_a_profile_and_only_a_correct_one_has_one(verifier, scale_task):
    right, wrong = changed(), changed(("x[i] * factor", "x[i] * factor + 1"))
    config = verifier.config.model_copy(update={"profile": ProfileConfig(enabled=True)})
    with LocalVerifier(config) as other:
        profiled, incorrect = other.verify(scale_task, right), other.verify(scale_task, wrong)
    assert profiled.profile is not None
    assert profiled.profile.missing.startswith("backend simulator has no performance counters")
    assert incorrect.status is Status.INCORRECT
    assert incorrect.profile is None
    plain = verifier.verify(scale_task, right)
    assert plain.profile is None
    drop = {"profile", "stage_seconds"}
    assert profiled.model_dump(exclude=drop) == plain.model_dump(exclude=drop)
    assert reward(profiled) == reward(plain)
    with pytest.raises(ValueError, match="a profile exists only on a correct verdict"):
        Verdict(**{**incorrect.model_dump(), "profile": profiled.profile})


# ------------------------------------------------------------------------------------------------- the profiled program
def program(tmp_path: Path, request: dict) -> subprocess.CompletedProcess[str]:
    (tmp_path / "request.json").write_text(json.dumps(request))
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-P", "-m", "mooreeval.execute.profile_child", "request.json"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def request_of(verifier, scale_task):
    """A function that gives the request for a candidate, with its artefacts built for the simulator."""
    from mooreeval.execute.case import Case
    from mooreeval.execute.judge import Judgement
    from mooreeval.execute.profiling import _request

    def make(candidate: Candidate) -> dict:
        toolchain, launcher = verifier._toolchain, verifier._launcher
        toolchain.prepare()
        parts = scale_task, candidate, verifier.config, verifier.secret, launcher, toolchain, lambda _stage: None
        judgement = Judgement(Case(*parts))
        assert judgement.conclude().status == "correct"
        options = {**toolchain.device_options(), "memory_bytes": 1 << 28, "threads": 1}
        return _request(scale_task, candidate, verifier.config, verifier.secret, options, judgement.evidence)

    return make


@pytest.mark.slow  # builds a candidate
def test_the_program_calls_the_built_candidate_and_keeps_its_output_apart(tmp_path, request_of):
    told = "    def forward(self, x):\n        print('called', tuple(x.shape), x.device, float(self.bias[0]))\n"
    request = request_of(changed(("    def forward(self, x):\n", told)))
    done = program(tmp_path, request)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("called (32, 64) cuda:0")]
    assert len(lines) == 3  # two to warm up
    assert len(set(lines)) == 1

    request["candidate"] += "\nraise ValueError('not today')\n"
    done = program(tmp_path, request)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("the candidate could not be loaded: ValueError: not today")
    assert done.stdout == ""


# ------------------------------------------------------------------------------------------------------------- a device
SQUARES = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * x
def get_inputs():
    return [torch.randn(4096, 4096)]
"""
SQUARE = """
import torch
from torch.utils.cpp_extension import load_inline

source = '''
__global__ void square(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = INDEX;
    y[k] = x[k] * x[k];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    square<<<4096 * 4096 / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
'''
ext = load_inline("square", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.run(x)
"""


@pytest.mark.gpu
@pytest.mark.skipif(find_ncu() is None, reason="needs ncu")
def test_on_a_device_a_straight_kernel_is_memory_bound_and_a_strided_one_wastes_its_sectors():
    task = make_task("squares", SQUARES)
    with LocalVerifier(load_config(settings=["backend=cuda", "profile.enabled=true"])) as verifier:
        straight, strided = (
            verifier.verify(task, Candidate(SQUARE.replace("INDEX", index)))
            for index in ("i", "i % 4096 * 4096 + i / 4096")
        )
    for verdict in (straight, strided):
        assert verdict.status is Status.CORRECT, verdict.reason
        assert verdict.profile is not None
        assert verdict.profile.missing is None, verdict.profile.missing
        assert [(k.kernel, k.launches, k.grid, k.block) for k in verdict.profile.kernels] == [
            ("square", 1, (65536, 1, 1), (256, 1, 1))
        ]
        missing = {name for name, value in verdict.profile.kernels[0] if value is None}
        assert missing <= {"occupancy_limiter"}
    first, second = straight.profile.kernels[0], strided.profile.kernels[0]
    assert (first.limit, first.load_bytes_per_sector, second.load_bytes_per_sector) == ("memory", 32, 4)
    assert first.duration_us < second.duration_us
    assert any("loads use 4 of every 32 bytes" in sentence for sentence in strided.profile.advice)
