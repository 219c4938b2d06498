"""Flags by allow-list: what tunes is dropped, what defines is kept, what reaches out is illegal."""

import pytest

from mooreeval.simulator.rewrite import Tokens, join_lines
from mooreeval.toolchains.simulator_compile import lifts_half_flags
from mooreeval.toolchains.simulator_flags import foreign_includes, sort_flags


@pytest.mark.parametrize(
    "flags",
    [
        ["-O3"],
        ["-O2 -std=c++17"],
        ["--use_fast_math", "-lineinfo"],
        ["-arch=sm_80"],
        ["-gencode=arch=compute_80,code=sm_80"],
        ["-gencode", "arch=compute_90a,code=sm_90a"],
        ["-Xptxas", "-O3,-v"],
        ["-Xptxas=-v"],
        ["--expt-relaxed-constexpr"],
        ["--expt-extended-lambda", "-Wno-deprecated"],
        ["-Xcompiler", "-fPIC"],
        ["", " "],
        ["-march=native", "-ffast-math", "-fopenmp"],
        ["--maxrregcount=64"],
        ["-Xcompiler", "-O3,-Wall"],
        ["-w"],
        ["--ptxas-options=-v"],
        ["-G", "-g"],
        ["-fno-math-errno"],
        ["--threads", "4"],
        ["-diag-suppress", "177"],
    ],
    ids=str,
)
def test_harmless_flags_vanish(flags: list[str]) -> None:
    found = sort_flags(flags, flags, [])
    assert found.illegal == []
    assert found.defines == []


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("-DBLOCK=128", "#define BLOCK 128"),
        ("-DFAST", "#define FAST 1"),
        ("-D EMPTY=", "#define EMPTY "),
        ("-UOLD", "#undef OLD"),
        ("-DMAX(a,b)=((a)>(b)?(a):(b))", "#define MAX(a,b) ((a)>(b)?(a):(b))"),
        ('-DNAME=\\"x\\"', '#define NAME "x"'),
    ],
)
def test_definitions_are_kept(flag: str, line: str) -> None:
    found = sort_flags([flag], [], [])
    assert found.illegal == []
    assert found.defines == [line]


@pytest.mark.parametrize(
    "flag",
    [
        "-fplugin=x.so",
        "-include",
        "-include /etc/passwd",
        "-x c",
        "@file",
        "-Wl,-rpath,/",
        "-Wp,-MD,x",
        "-Wa,-a",
        "-B/tmp",
        "-specs=x",
        "-wrapper sh,-c",
        "-o /tmp/x",
        "-fno-sanitize=all",
        "-fsanitize=address",
        "-no_sanitize",
        "-S",
        "-E",
        "-c",
        "-imacros x",
        "-iquote /",
        "-Xlinker -z",
        "-fdump-tree-all",
        "-save-temps",
        "-DMOORE_SIM_X",
        "-Dmoore_sim=x",
        "-D__tsan_read4=f",
        "-U__CUDA_ARCH__",
        "-D__GNUC__=3",
        "kernel.cu",
        "/etc/passwd",
        "-ccbin x",
        "--compiler-bindir=/x",
        "-Xcompiler -fplugin=x",
        "-Xcompiler=-B/tmp",
        "-march=x;y",
        "-D'A\nB'=1",
        "-fprofile-use=x",
        "-finstrument-functions",
    ],
)
def test_other_flags_are_illegal(flag: str) -> None:
    assert sort_flags([flag], [], []).illegal
    assert sort_flags([], [flag], []).illegal


def test_libraries_are_ignored_with_a_word_and_paths_are_not_followed() -> None:
    found = sort_flags(
        ["-I/opt/cutlass/include"], [], ["-lcublas", "-lcuda", "-L/usr/local/cuda/lib64", "-lcudart", ""]
    )
    assert found.illegal == []
    assert [w for w in found.warnings if "-lcublas" in w]
    assert [w for w in found.warnings if "/opt/cutlass" in w]
    in_the_wrong_list = sort_flags([], ["-O3", "-lcublas"], [])
    assert in_the_wrong_list.illegal == []
    assert [w for w in in_the_wrong_list.warnings if "-lcublas" in w]


@pytest.mark.parametrize(
    "flag", ["-Wl,--wrap=free", "-L/tmp/mine", "-l:evil.so", "x.o", "/lib/x.so", "-Wl,-T,script", "-B."]
)
def test_other_linker_flags_are_illegal(flag: str) -> None:
    assert sort_flags([], [], [flag]).illegal


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        ("#include <vector>", False),
        ('#include "my.h"', False),
        ("#include <ATen/cuda/CUDAContext.h>", False),
        ('#include "/etc/passwd"', True),
        ("#include <../../x>", True),
        ('#include "a/../../b.h"', True),
        ("#include NAME", True),
        ('%:include "/x"', True),
        ("# include  </root/x>", True),
        ('#inc\\\nlude "/etc/passwd"', True),
        ('// #include "/etc/passwd"', False),
        ('const char* s = "#include </etc/passwd>";', False),
        ('#if 0\n#include "/x"\n#endif', True),
        ('#include "~/x"', True),
    ],
)
def test_includes_stay_inside(line: str, foreign: bool) -> None:
    assert bool(foreign_includes(Tokens(join_lines(f"\n{line}\n")))) is foreign


def test_taking_back_a_flag_against_half_operators_reaches_the_unit() -> None:
    found = sort_flags([], ["-U__CUDA_NO_HALF_OPERATORS__"], [])
    assert found.defines == ["#undef __CUDA_NO_HALF_OPERATORS__"]
    assert lifts_half_flags(found.defines)
    assert not lifts_half_flags(["#define N 4", "#undef M"])
