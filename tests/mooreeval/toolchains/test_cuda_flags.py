"""What a candidate asks of nvcc, g++ and the linker: passed on, replaced with a word about it, or illegal."""

from types import SimpleNamespace
from typing import Any

import pytest

from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.cuda_flags import CudaFlags, cuda_flags

TOOLKIT: Any = SimpleNamespace(
    arch="9.0", library=lambda name: ["-L/cuda/lib64", f"-l{name}"] if name == "cublas" else None
)


def flags(host: list[str] | None = None, device: list[str] | None = None, link: list[str] | None = None) -> CudaFlags:
    extension = Extension(
        "k", (), None, cflags=tuple(host or ()), cuda_cflags=tuple(device or ()), ldflags=tuple(link or ())
    )
    return cuda_flags(extension, TOOLKIT)


def test_what_tunes_and_defines_is_passed_on() -> None:
    found = flags(["-O3 -Wall"], ["-O3", "--use_fast_math", "-Xptxas", "-O3,-v", "-DN=4", "-UM", "-lineinfo"])
    assert found.host == ["-O3", "-Wall"]
    assert found.device == ["-O3", "--use_fast_math", "-Xptxas", "-O3,-v", "-DN=4", "-UM", "-lineinfo"]
    assert found.defined == {"N", "M"}
    assert not found.illegal
    assert not found.warnings


@pytest.mark.parametrize("flag", ["-arch=sm_80", "-gencode=arch=compute_80,code=sm_80", "-arch sm_75"])
def test_another_architecture_is_replaced_with_a_word(flag: str) -> None:
    found = flags(device=[flag])
    assert found.device == []
    assert "9.0" in found.warnings[0]


def test_the_targets_own_architecture_needs_no_word() -> None:
    assert not flags(device=["-arch=sm_90"]).warnings
    assert flags(device=["-gencode=arch=compute_90a,code=sm_90a"]).specific


@pytest.mark.parametrize("flag", ["-march=native", "-mtune=native"])
def test_code_for_the_machine_that_compiles_is_not_made(flag: str) -> None:
    found = flags(host=[flag])
    assert found.host == []
    assert flag in found.warnings[0]


def test_what_only_talks_or_takes_more_processors_is_dropped() -> None:
    found = flags(device=["--threads=8", "-t 4", "--keep", "-v", "--split-compile=4", "--resource-usage"])
    assert found.device == []
    assert not found.illegal


def test_libraries_of_the_toolkit_are_linked() -> None:
    found = flags(link=["-lcublas", "-lcudart", "-lm", "-L/usr/local/cuda/lib64", ""])
    assert found.link == ["-L/cuda/lib64", "-lcublas", "-lm"]
    assert flags(link=["-lcudnn"]).missing == ["-lcudnn"]
    assert "extra_ldflags" in flags(device=["-lcublas"]).warnings[0]


@pytest.mark.parametrize("flag", ["-L/tmp/mine", "-Wl,--wrap=free", "x.o", "-l:evil.so", "-Wl,-T,script"])
def test_paths_and_the_linkers_own_flags_are_illegal(flag: str) -> None:
    assert flags(link=[flag]).illegal


@pytest.mark.parametrize(
    "flag",
    ["-fplugin=x.so", "@file", "-include x", "-ccbin x", "-Xcompiler -B/tmp", "-o x", "-optf f", "-D__CUDACC__=1"],
)
def test_what_is_not_known_is_illegal(flag: str) -> None:
    assert flags([flag]).illegal
    assert flags(device=[flag]).illegal
