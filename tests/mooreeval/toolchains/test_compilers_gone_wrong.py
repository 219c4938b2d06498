"""A compiler that is killed, crashes, hangs or is missing, and a cache that is full, evicted or spoilt: judged again or
not judged, and never held against the candidate. Real compilers, really ended."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.builds import GOOD, WRONG, becomes, extension, falling_gxx, prepared_cache, scripted_gxx, working_in

from mooreeval.cache import _BLOCK_BYTES, _BLOCKS, FileCache
from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.errors import NotJudged, Transient
from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.task import make_task
from mooreeval.toolchains.base import Artefact, BuildFailure
from mooreeval.toolchains.build_pool import CompilerCrashed
from mooreeval.toolchains.simulator import SimulatorToolchain
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier


@pytest.fixture(autouse=True)
def compilers_may_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers that fail here count their calls, which no compiler could do within its walls."""
    monkeypatch.setattr(ProgramWalls, "writable", (str(tmp_path / "bin"),))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return prepared_cache(tmp_path / "cache")


def is_clean(cache: Path) -> bool:
    """Nothing but the shared parts is kept, nothing lies about and nothing runs."""
    modules = list((cache / "entries").glob("module-*"))
    nothing_runs = becomes(lambda: not working_in(cache), seconds=10)  # what was killed takes a moment to go
    return not modules and not list((cache / "staging").iterdir()) and nothing_runs


@pytest.mark.parametrize("program", ["cc1plus", "as"])
def test_a_compiler_killed_for_want_of_memory_is_tried_again_later(
    program: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", program, signal.SIGKILL, 1))
    toolchain = SimulatorToolchain(cache)
    with pytest.raises(Transient, match=f"terminated program {program}"):
        toolchain.build(extension(GOOD % 1), 600)
    assert is_clean(cache)
    assert isinstance(toolchain.build(extension(GOOD % 1), 600), Artefact)


def test_a_linker_that_is_killed_is_not_the_candidates_fault(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        'case "$*" in *-shared*) echo "collect2: fatal error: ld terminated with signal 9 [Killed]"; exit 1;; esac\n'
        'exec $REAL "$@"'
    )
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", script))
    with pytest.raises(Transient, match="ld terminated"):
        SimulatorToolchain(cache).build(extension(GOOD % 1), 600)
    assert is_clean(cache)


def test_a_compiler_that_crashes_once_is_tried_again_at_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", "cc1plus", signal.SIGSEGV, 1))
    toolchain = SimulatorToolchain(cache)
    assert isinstance(toolchain.build(extension(GOOD % 1), 600), Artefact)
    failed = toolchain.build(extension(WRONG % 1), 600)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "compile_error"


def test_a_compiler_that_crashes_twice_gives_no_verdict(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", "cc1plus", signal.SIGSEGV, 2))
    toolchain = SimulatorToolchain(cache)
    for text in (GOOD, WRONG):
        (tmp_path / "bin" / "g++.count").write_text("2")
        with pytest.raises(CompilerCrashed, match="crashed twice"):
            toolchain.build(extension(text % 1), 600)
        assert is_clean(cache)


def test_a_compiler_that_hangs_is_ended_and_nothing_is_kept(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", "sleep 600 & wait"))
    failed = SimulatorToolchain(cache).build(extension(GOOD % 1), 1)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "timeout"
    assert is_clean(cache)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo \"g++: fatal error: cannot execute 'cc1plus': execvp: No such file\" >&2; exit 1", "cannot execute"),
        ('case "$*" in *" -c "*) echo "sh: 1: as: not found" >&2; exit 1;; esac; exec $REAL "$@"', "as: not found"),
        ("exit 1", "without an error message"),
    ],
)  # fmt: skip
def test_a_compiler_of_which_a_part_is_missing_is_told_in_one_line(
    script: str, told: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", script))
    with pytest.raises(NotJudged, match=told) as error:
        SimulatorToolchain(cache).build(extension(GOOD % 1), 600)
    assert "\n" not in str(error.value)
    assert is_clean(cache)


def test_a_compiler_that_vanishes_is_told_in_one_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", 'exec $REAL "$@"'))
    toolchain = SimulatorToolchain(cache)
    (tmp_path / "bin" / "g++").unlink()
    with pytest.raises(NotJudged, match="cannot be started"):
        toolchain.build(extension(GOOD % 1), 600)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotJudged, match=r"no g\+\+ on PATH"):
        SimulatorToolchain(cache)


def test_shared_parts_that_were_evicted_are_made_again_and_accuse_nobody(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = SimulatorToolchain(cache)
    assert toolchain.prepare()
    prelude = next((cache / "entries").glob("prelude-*"))
    monkeypatch.setattr(toolchain._parts, "are_there", lambda _: True)  # gone between the look and the compiler
    shutil.rmtree(prelude)
    with pytest.raises(NotJudged, match=r"not completely installed.*prelude\.h"):
        toolchain.build(extension(GOOD % 1), 600)
    assert is_clean(cache)
    monkeypatch.undo()
    assert not toolchain._parts.are_there(toolchain._prepared)


def test_a_build_whose_library_was_spoilt_is_made_again(cache: Path) -> None:
    built = SimulatorToolchain(cache).build(extension(GOOD % 1), 600)
    assert isinstance(built, Artefact)
    whole = built.path.read_bytes()
    for spoilt in (b"", whole[: len(whole) // 2], bytes(len(whole))):
        built.path.write_bytes(spoilt)
        again = SimulatorToolchain(cache).build(extension(GOOD % 1), 600)
        assert isinstance(again, Artefact)
        assert again.seconds > 0
        assert again.path.read_bytes().startswith(b"\x7fELF")


TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.randn(64)]
"""
CANDIDATE = """
import torch
from torch.utils.cpp_extension import load_inline

source = '__global__ void k(float* x) { x[threadIdx.x] += 1; }' \\
    'torch::Tensor f(torch::Tensor x) { auto y = x.clone(); k<<<1, 64>>>(y.data_ptr<float>()); return y; }'
ext = load_inline("ext", "torch::Tensor f(torch::Tensor x);", source, functions=["f"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.f(x)
"""


def test_a_candidate_whose_compiler_was_killed_is_judged_again_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOREEVAL_CACHE", str(cache))
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", "cc1plus", signal.SIGKILL, 2))
    task, candidate = make_task("plus", TASK), Candidate(CANDIDATE)
    with LocalVerifier(load_config(settings=["backend=simulator", "trials=1"])) as verifier:
        with pytest.raises(NotJudged, match="was killed"):
            verifier.verify(task, candidate)
        (tmp_path / "bin" / "g++.count").write_text("1")
        verdict = verifier.verify(task, candidate)
        assert (verdict.status, verdict.q) == (Status.CORRECT, 1), verdict.reason


def test_a_precompiled_header_that_is_damaged_within_is_made_again(cache: Path) -> None:
    """Where the sums of a few blocks show nothing; the compiler crashes over it."""
    path = next((cache / "entries").glob("mini-lean-*/*.gch"))
    files = {name: (path.parent / name).read_bytes() for name in ("prelude.h", "prelude.h.gch")}
    FileCache(cache).drop(path.parent.name)
    FileCache(cache).put(
        path.parent.name, lambda folder: [(folder / n).write_bytes(b) for n, b in files.items()] and None
    )
    whole = path.read_bytes()
    kept = {(len(whole) - _BLOCK_BYTES) * k // (_BLOCKS - 1) for k in range(_BLOCKS)}
    spoilt = bytearray(b"\x5a" * len(whole))
    for start in kept:
        spoilt[start : start + _BLOCK_BYTES] = whole[start : start + _BLOCK_BYTES]
    path.write_bytes(spoilt)
    toolchain = SimulatorToolchain(cache, tiers=("mini", "full"))
    with pytest.raises(Transient, match="crashed over a shared part"):
        toolchain.build(extension(GOOD % 1), 600)
    assert isinstance(toolchain.build(extension(GOOD % 1), 600), Artefact)
    assert FileCache(cache).drop_damaged() == []
    assert FileCache(cache).get(path.parent.name) == path.parent


def spoil(cache: Path, how: str) -> None:
    """What power loss, a full disk, or somebody who clears the cache leaves of modules."""
    for library in (cache / "entries").glob("module-*/module.so"):
        whole = library.read_bytes()
        if how == "gone":
            shutil.rmtree(library.parent)
        else:
            library.write_bytes(bytes(len(whole)) if how == "zeros" else whole[:4096])


@pytest.mark.parametrize(("when", "how"), [("load", "gone"), ("load", "head"), ("load", "zeros"), ("legality", "head")])
def test_a_module_that_is_lost_before_it_is_loaded_is_built_and_judged_again(
    when: str, how: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOREEVAL_CACHE", str(cache))
    task, candidate = make_task("plus", TASK), Candidate(CANDIDATE)
    reached = []

    def spoil_the_first(stage: str) -> None:
        reached.extend([stage] if stage == when else [])
        if stage == when and len(reached) == 1:
            spoil(cache, how)

    with LocalVerifier(load_config(settings=["backend=simulator", "trials=1", "simulator.audit_share=0"])) as verifier:
        verdict = verifier.verify(task, candidate, spoil_the_first)
        assert (verdict.status, len(reached)) == (Status.CORRECT, 2), verdict.reason


def test_a_module_that_is_lost_each_time_is_not_judged(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOREEVAL_CACHE", str(cache))
    settings = ["backend=simulator", "trials=1"]
    with (
        LocalVerifier(load_config(settings=settings)) as verifier,
        pytest.raises(Transient, match="lost from the cache"),
    ):
        verifier.verify(
            make_task("plus", TASK),
            Candidate(CANDIDATE),
            lambda stage: spoil(cache, "gone") if stage == "load" else None,
        )


FULL = """
import contextlib, json, os, shutil, sys
from pathlib import Path
from mooreeval.cache import FileCache
from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.errors import NotJudged
from mooreeval.toolchains.build_pool import BuildClock, BuildPool

root, told = Path(sys.argv[1]), []
cache = FileCache(root)

def attempt(work):
    try:
        work()
        told.append("done")
    except NotJudged as error:
        told.append(str(error))

def fill(folder):
    with (folder / "data").open("wb") as stream:
        for _ in range(64):
            stream.write(bytes(1 << 20))

attempt(lambda: cache.put("large", fill))

def compile_it():
    with cache.scratch("build-") as folder:
        (folder / "a.cpp").write_text("#include <regex>\\nstd::regex r(\\"a\\");\\n")
        with contextlib.suppress(OSError):
            fill(folder)
        BuildPool(cache).run(["/usr/bin/env", "g++", "-g", "-c", "a.cpp", "-o", "a.o"], folder, BuildClock(600))

attempt(compile_it)

def compile_cuda():
    with cache.scratch("build-") as folder:
        (folder / "a.cu").write_text("__global__ void k() {}\\n")
        with contextlib.suppress(OSError):
            fill(folder)
        BuildPool(cache).run(["/usr/bin/env", "nvcc", "-c", "a.cu", "-o", "a.o"], folder, BuildClock(600))

if shutil.which("nvcc"):
    attempt(compile_cuda)
else:
    told.append("no space left in ")

def write_more():
    with cache.scratch("build-") as folder:
        fill(folder)

attempt(write_more)
left = [p.name for p in (root / "staging").iterdir()]
attempt(lambda: cache.put("small", lambda folder: (folder / "data").write_bytes(b"x") and None))
print(json.dumps([told, left, cache.get("large") is None, cache.get("small") is not None]))
"""


def test_a_disk_that_is_full_in_the_middle_is_the_judges_failure(tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=8m none {tmp_path} && exec "$@"'
    inside = ["unshare", "--user", "--mount", "--map-root-user", "/bin/sh", "-c", mount, "sh"]
    with contextlib.suppress(OSError):
        if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode == 0:
            done = subprocess.run(
                [*inside, sys.executable, "-c", FULL, str(tmp_path / "cache")],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr[-2000:]
            told, left, dropped, kept = json.loads(done.stdout)
            assert [text.startswith("no space left in ") for text in told] == [True] * 4 + [False]
            assert told[4] == "done"
            assert (left, dropped, kept) == ([], True, True)
            return
    pytest.skip("no user namespaces here")
