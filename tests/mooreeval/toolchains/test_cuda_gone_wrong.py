"""nvcc that is killed, crashes, hangs or is missing, and shared parts that are spoilt: built again or not judged, and
never held against the candidate. Real compilers, really ended. Part of `make test-cuda-build`."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support import cuda_build
from support.builds import becomes, falling_gxx, scripted_gxx, working_in
from support.cuda_build import KERNEL, inline

from mooreeval.cache import FileCache
from mooreeval.errors import NotJudged, Transient
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension
from mooreeval.toolchains.build_pool import CompilerCrashed
from mooreeval.toolchains.cuda import CudaToolchain

pytestmark = [pytest.mark.cuda_build, pytest.mark.skipif(not cuda_build.can_build(), reason=cuda_build.MISSING)]


@pytest.fixture
def cache(cuda_cache: Path) -> Path:
    """One that holds the shared parts."""
    toolchain(cuda_cache).prepare()
    return cuda_cache


def toolchain(cache: Path, *tiers: str) -> CudaToolchain:
    return CudaToolchain(cache, cuda_build.torch_dir(), tiers=tiers or ("mini",))


def source(number: int, broken: bool = False) -> Extension:
    text = KERNEL.replace("2 * x[i]", f"{number} * x[i]")
    return inline(text.replace("return y;", "return z;") if broken else text)


def is_clean(cache: Path, modules: int) -> bool:
    """No further module is kept, nothing lies about and nothing runs."""
    nothing_runs = becomes(lambda: not working_in(cache), seconds=10)
    kept = len(list((cache / "entries").glob("cuda-module-*")))
    return kept == modules and not list((cache / "staging").iterdir()) and nothing_runs


def modules(cache: Path) -> int:
    return len(list((cache / "entries").glob("cuda-module-*")))


@pytest.mark.parametrize("program", ["cudafe++", "cicc", "ptxas"])
def test_an_nvcc_that_is_killed_is_tried_again_later(
    program: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", program, signal.SIGKILL, 1, "nvcc"))
    builder, before = toolchain(cache), modules(cache)
    with pytest.raises(Transient, match="was killed"):
        builder.build(source(10), 900)
    assert is_clean(cache, before)


def test_an_nvcc_that_crashes_once_is_tried_again_at_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", "cicc", signal.SIGSEGV, 1, "nvcc"))
    assert isinstance(toolchain(cache).build(source(11), 900), Artefact)


@pytest.mark.parametrize("broken", [False, True])
def test_an_nvcc_that_crashes_twice_gives_no_verdict(
    broken: bool, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", "cudafe++", signal.SIGSEGV, 2, "nvcc"))
    before = modules(cache)
    with pytest.raises(CompilerCrashed, match="crashed twice"):
        toolchain(cache).build(source(12, broken), 900)
    assert is_clean(cache, before)


def test_an_nvcc_that_crashes_over_one_way_to_build_is_led_another(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", falling_gxx(tmp_path / "bin", "cicc", signal.SIGSEGV, 2, "nvcc"))
    built = toolchain(cache, "mini", "slim").build(source(13), 900)
    assert isinstance(built, Artefact)
    assert built.tier == "slim"


def test_an_nvcc_that_hangs_is_ended_and_nothing_is_kept(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", "sleep 600 & wait", "nvcc"))
    builder, before = toolchain(cache, "mini", "slim", "full"), modules(cache)
    failed = builder.build(source(14), 20)
    assert isinstance(failed, BuildFailure)
    assert failed.kind == "timeout"
    assert is_clean(cache, before)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ('echo "sh: 1: cicc: not found" >&2; exit 127', "cicc: not found"),
        ('echo "sh: 1: cudafe++: Permission denied" >&2; exit 126', "cudafe\\+\\+: Permission denied"),
        ("exit 1", "without an error message"),
        ('rm "$0"; kill -9 $$', "killed"),
    ],
)
def test_an_nvcc_of_which_a_part_is_missing_is_told_in_one_line(
    script: str, told: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", script, "nvcc"))
    builder, before = toolchain(cache), modules(cache)
    with pytest.raises(NotJudged, match=told) as error:
        builder.build(source(15), 900)
    assert "\n" not in str(error.value)
    assert is_clean(cache, before)


def test_an_nvcc_that_vanishes_is_told_in_one_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", scripted_gxx(tmp_path / "bin", 'exec $REAL "$@"', "nvcc"))
    builder = toolchain(cache)
    builder.prepare()
    (tmp_path / "bin" / "nvcc").unlink()
    with pytest.raises(NotJudged, match="cannot be started"):
        builder.build(source(16), 900)


def garbage(path: Path) -> None:
    path.write_bytes(b"\x5a" * path.stat().st_size)


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def other_bytes_behind_the_head(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x5a" * (len(whole) - 4096))


@pytest.mark.parametrize("spoil", [garbage, half, other_bytes_behind_the_head, Path.unlink])
@pytest.mark.parametrize("part", ["cuda-mini-prelude-*/prelude.h.gch", "cuda-mini-headers-*/manifest.json"])
def test_shared_parts_that_are_spoilt_are_made_again(part: str, spoil: Callable[[Path], None], cache: Path) -> None:
    path = next((cache / "entries").glob(part))
    spoil(path)
    spoilt = path.read_bytes() if path.exists() else b""
    assert isinstance(toolchain(cache).build(source(100 + modules(cache)), 900), Artefact)
    assert path.read_bytes() != spoilt
    assert FileCache(cache).get(path.parent.name) == path.parent


def test_parts_that_vanish_while_they_are_used_accuse_nobody(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = toolchain(cache)
    builder.prepare()
    prelude = next((cache / "entries").glob("cuda-mini-prelude-*"))
    monkeypatch.setattr(builder.tiers[0], "prepare", dict)  # gone between the look and the compiler
    shutil.move(prelude, cache / "moved")
    before = modules(cache)
    with pytest.raises(NotJudged, match="not completely installed"):
        builder.build(source(17), 900)
    shutil.move(cache / "moved", prelude)
    assert is_clean(cache, before)
