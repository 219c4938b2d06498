"""What nvcc's programs and the linker write is read as messages at lines of the candidate's own sources."""

import pytest

from mooreeval.toolchains.cuda_messages import errors_of, parse, undefined_names

SOURCES = {"cuda_sources[0]": "\n".join(f"line {n};" for n in range(1, 60)), "cpp_sources[0]": "void f();\n"}

EDG = """\
cuda_sources[0](4): warning #177-D: variable "u" was declared but never referenced
  line 4;
      ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

cuda_sources[0](7): error: identifier "undefined_name" is undefined
  line 7;
  ^

/usr/include/c++/12/bits/new_allocator.h(175): error: function "N::N(const N &)" cannot be referenced
   { ::new((void *)__p) _Up(std::forward<_Args>(__args)...); }
                           ^
          detected during:
            instantiation of "void A::construct(_Up *) [with _Up=N]" at line 516 of /usr/include/alloc_traits.h
            instantiation of "void std::vector<N>::push_back(const N &)" at line 12 of cuda_sources[0]

3 errors detected in the compilation of "cuda.cu".
"""
IN_ONE_FILE = """\
cuda_sources[0](3): error: no operator "+" matches these operands
  line 3;
          detected during instantiation of "void k(T *) [with T=S]" at line 20
"""


def test_a_front_end_error_has_its_place_and_text() -> None:
    first = errors_of(parse(EDG, SOURCES))[0]
    assert (str(first.place), first.text) == ("cuda_sources[0]:7", 'identifier "undefined_name" is undefined')
    assert first.is_own


def test_an_error_in_a_header_is_told_at_the_line_that_led_to_it() -> None:
    second = errors_of(parse(EDG, SOURCES))[1]
    assert str(second.place) == "cuda_sources[0]:12"
    assert not second.is_own


def test_warnings_are_no_errors() -> None:
    messages = parse(EDG, SOURCES)
    assert [m.severity for m in messages] == ["warning", "error", "error"]


def test_an_error_in_an_own_template_is_told_where_it_stands() -> None:
    assert str(errors_of(parse(IN_ONE_FILE, SOURCES))[0].place) == "cuda_sources[0]:3"


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (
            "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x3a980 bytes, 0xc000 max)",
            "uses too much shared data (0x3a980 bytes, 0xc000 max)",
        ),
        (
            "ptxas /tmp/x.ptx, line 54; error   : Not a name of any known instruction: 'badop'\n"
            "ptxas fatal   : Ptx assembly aborted due to errors",
            "Not a name of any known instruction: 'badop'",
        ),
        ("nvcc fatal   : Unknown option '-march=native'", "Unknown option '-march=native'"),
        ("nvlink error   : Undefined reference to '_Z1fv' in 'cuda.cu.o'", "Undefined reference to"),
        ("/usr/bin/ld: cannot find -lcublasXt: No such file", "cannot find -lcublasXt"),
        (
            "/usr/bin/ld: cuda.cu.o: in function `f()':\n(.text+0x0): multiple definition of `f()'; main.cpp.o: first"
            "\ncollect2: error: ld returned 1 exit status",
            "multiple definition of `f()'",
        ),
        ("cpp_sources[0]:1:6: error: expected ';' at end of input", "expected ';' at end of input"),
    ],
)
def test_the_other_programs_are_read_too(log: str, text: str) -> None:
    assert text in errors_of(parse(log, SOURCES))[0].text


def test_what_the_linker_misses_is_listed_once() -> None:
    log = (
        "/usr/bin/ld: main.cpp.o: in function `PyInit_k':\n"
        "main.cpp:(.text+0x12): warning: undefined reference to `run(at::Tensor)'\n"
        "main.cpp:(.text+0x34): undefined reference to `run(at::Tensor)'\n"
        "cuda.cu:8: error: undefined reference to 'other(int)'\n"
    )
    assert undefined_names(log) == ["run(at::Tensor)", "other(int)"]
