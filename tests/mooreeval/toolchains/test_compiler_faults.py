"""A compiler that fails by itself is known by the form of what it writes, and a candidate's words are not."""

import pytest

from mooreeval.toolchains.compiler_faults import fault_of


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("killed", "g++: fatal error: Killed signal terminated program cc1plus"),
        ("killed", "g++: fatal error: Terminated signal terminated program as"),
        ("killed", "collect2: fatal error: ld terminated with signal 9 [Killed]"),
        ("killed", "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"),
        ("killed", "Killed"),
        ("crashed", "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)"),
        ("crashed", "g++: internal compiler error: Segmentation fault signal terminated program cc1plus"),
        ("crashed", "x86_64-linux-gnu-g++-12: internal compiler error: Aborted (program cc1plus)"),
        ("crashed", "cuda.cu:1:1: internal compiler error: in gimplify, at gimplify.cc:1"),
        ("crashed", "cuda.cu(3): internal error: assertion failed at: expr.c"),
        ("crashed", "collect2: fatal error: ld terminated with signal 11 [Segmentation fault], core dumped"),
        ("crashed", "unit0.cpp: internal compiler error: Segmentation fault"),
        ("crashed", "<built-in>: internal compiler error: Segmentation fault"),
        ("crashed", "Segmentation fault"),
        ("crashed", "<command-line>: sorry, unimplemented: PCH allocation failure"),
        ("crashed", "<command-line>: fatal error: cannot read PCH file: Success"),
        ("crashed", "prelude.h:1: error: while reading precompiled header: Bad address"),
        ("exhausted", "cc1plus: out of memory allocating 65536 bytes"),
        ("exhausted", "virtual memory exhausted: Cannot allocate memory"),
        ("exhausted", "/usr/include/c++/12/bits/stl_pair.h(204): catastrophic error: out of memory"),
        (
            "exhausted",
            "{standard input}: Fatal error: can't write 12 bytes to section .text of a.o: No space left on device",
        ),
        ("exhausted", "Cannot create temporary file in /tmp/: No space left on device"),
        ("incomplete", "g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory"),
        ("incomplete", "g++: error while loading shared libraries: libmpc.so.3: cannot open shared object file"),
        ("incomplete", "cc1plus: fatal error: /cache/entries/prelude-1/prelude.h: No such file or directory"),
        (
            "incomplete",
            "/usr/bin/ld.gold: error: cannot open /cache/entries/libmoore_sim.so: No such file or directory",
        ),
        ("incomplete", "<command-line>: fatal error: /cache/entries/prelude-1/prelude.h: No such file or directory"),
        ("incomplete", "sh: 1: cicc: not found"),
    ],
)
def test_a_compiler_that_gives_up_is_noticed(kind: str, line: str) -> None:
    found = fault_of(1, f"some text\n{line}\n")
    assert found is not None
    assert (found.kind, found.line) == (kind, line)
    assert fault_of(0, line) is None


@pytest.mark.parametrize(("returncode", "kind"), [(-9, "killed"), (137, "killed"), (-11, "crashed"), (134, "crashed")])
def test_a_signal_shows_in_the_status_alone(returncode: int, kind: str) -> None:
    found = fault_of(returncode, "")
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "line",
    [
        '  12 | #error "internal compiler error: out of memory allocating 1 bytes"',
        "cuda_sources[0](1): error: #error virtual memory exhausted",
        'k.cu(2): error: static assertion failed with "died due to signal 11"',
        "cuda_sources[0]:3:2: error: #error internal compiler error: in gimplify",
        "cuda_sources[0]:3:2: error: #error g++: fatal error: Killed signal terminated program cc1plus",
        "cuda_sources[0]:3:2: error: 'Bus_error' was not declared in this scope",
        "cuda_sources[0]:3:10: fatal error: mine.h: No such file or directory",
        "/usr/bin/ld: cannot find -lmine: No such file or directory",
    ],
)
def test_a_candidates_own_words_are_no_fault_of_the_compilers(line: str) -> None:
    assert fault_of(1, line) is None
