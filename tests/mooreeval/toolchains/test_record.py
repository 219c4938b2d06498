"""What the recorder reads from a candidate's build calls."""

import pytest
import torch.utils.cpp_extension as cpp_extension

from mooreeval.toolchains import record
from mooreeval.toolchains.record import Interceptor, Refused, StandIn, extension_from_load, extension_from_load_inline

KERNEL = "__global__ void k() {}"


def inline(**call):
    return extension_from_load_inline({"name": "ext", "cuda_sources": KERNEL, **call})


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        ("f", (("f", "f"),)),
        (["f", "g"], (("f", "f"), ("g", "g"))),
        (("f",), (("f", "f"),)),
        ({"f": "adds"}, (("f", "adds"),)),
        (None, None),
    ],
)
def test_functions_may_be_a_string_a_list_or_a_dict(functions, expected):
    assert inline(functions=functions).functions == expected


def test_sources_keep_their_order_and_language_and_blank_ones_are_dropped():
    extension = inline(cpp_sources=["void f();", "  "], cuda_sources=[KERNEL, "// two"])
    assert [(s.name, s.language) for s in extension.sources] == [
        ("cpp_sources[0]", "cpp"),
        ("cuda_sources[0]", "cuda"),
        ("cuda_sources[1]", "cuda"),
    ]
    assert extension.with_cuda


def test_flags_and_include_paths_are_recorded_and_change_the_hash():
    plain, flagged = inline(), inline(extra_cuda_cflags=["-O3"], extra_include_paths=["inc"])
    assert flagged.cuda_cflags == ("-O3",)
    assert flagged.cflags == ("-Iinc",)
    assert plain.content_hash() != flagged.content_hash()
    assert plain.content_hash() == inline().content_hash()


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ({"cuda_sources": None}, "without sources"),
        ({"cuda_sources": 5}, "string or a list"),
        ({"cuda_sources": [b"x"]}, "string or a list"),
        ({"functions": 7}, "functions must be"),
        ({"name": ""}, "needs a name"),
        ({"cuda_sources": "x" * (record.MAX_SOURCE_BYTES + 1)}, "at most"),
    ],
)
def test_a_call_that_cannot_be_recorded_is_refused_with_a_reason(call, reason):
    with pytest.raises(Refused, match=reason):
        inline(**call)


def test_load_reads_files_that_the_candidate_wrote_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "bind.cpp").write_text("// b")
    extension = extension_from_load({"name": "e", "sources": ["bind.cpp", str(tmp_path / "kernel.cu")]})
    assert [(s.name, s.language, s.text) for s in extension.sources] == [
        ("bind.cpp", "cpp", "// b"),
        ("kernel.cu", "cuda", KERNEL),
    ]
    assert extension.functions is None


def test_load_of_a_file_outside_is_refused(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setattr(record.tempfile, "gettempdir", lambda: str(tmp_path / "mine"))
    for path in ("/etc/passwd", "../other.cu", "missing.cu"):
        with pytest.raises(Refused):
            extension_from_load({"name": "e", "sources": [path]})


@pytest.fixture
def patched(monkeypatch):
    """The interceptor patches for good, as a child serves one candidate; a test must put back what it replaced."""
    for name in ("load_inline", "load", "CUDA_HOME", "CUDNN_HOME", "CUDAExtension", "CppExtension", "BuildExtension",
                 "verify_ninja_availability", "is_ninja_available"):  # fmt: skip
        monkeypatch.setattr(cpp_extension, name, getattr(cpp_extension, name))
    interceptor = Interceptor(lambda extension: StandIn(extension, lambda args: args[0]))
    interceptor.install()
    return interceptor


def test_positional_arguments_several_extensions_and_equal_calls(patched):
    first = cpp_extension.load_inline("a", "", KERNEL, functions=["f"])
    cpp_extension.load_inline(name="a", cpp_sources="", cuda_sources=KERNEL, functions=["f"])
    cpp_extension.load_inline(name="a", cpp_sources="", cuda_sources=KERNEL + " ", functions=["f"])
    assert len(patched.extensions) == 2
    assert first.anything(3, k=4) == 3


def test_a_setuptools_build_and_a_non_module_are_refused_and_name_the_feature(patched):
    with pytest.raises(Refused):
        cpp_extension.CUDAExtension("x", ["x.cu"])
    with pytest.raises(Refused):
        cpp_extension.load_inline("a", "", KERNEL, ["f"], is_python_module=False)
    assert [r.feature for r in patched.refusals] == ["setuptools extensions", "is_python_module=False"]


def test_a_wrong_keyword_raises_what_torch_would_raise(patched):
    with pytest.raises(TypeError):
        cpp_extension.load_inline("a", "", KERNEL, nonsense=1)


def test_a_quoted_header_is_looked_for_beside_the_file_that_includes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("sub", "inc"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "b.h").write_text(f"// {folder}")
    (tmp_path / "k.cu").write_text('#include "sub/a.h"\n#include <b.h>\n')
    (tmp_path / "sub" / "a.h").write_text('#include "b.h"\n')
    extension = extension_from_load({"name": "e", "sources": ["k.cu"], "extra_include_paths": "inc"})
    assert {h.name: h.text for h in extension.headers} == {
        "b.h": "// inc",
        "sub/a.h": '#include "b.h"\n',
        "sub/b.h": "// sub",
    }


@pytest.mark.parametrize("given", ["extra_include_paths", "extra_cflags", "extra_cuda_cflags"])
def test_an_own_include_folder_is_known_by_what_is_in_it_and_not_by_its_name(tmp_path, monkeypatch, given):
    """Its name is another one each time where tempfile has made it; the sources are the same."""
    monkeypatch.chdir(tmp_path)
    hashes = []
    for name, text in (("one", "int x;"), ("two", "int x;"), ("three", "int y;")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.h").write_text(text)
        folder = str(tmp_path / name)
        extension = inline(
            cuda_sources='#include <mine.h>\n#include "mine.h"\n#include <cuda.h>\n',
            **{given: [folder] if given == "extra_include_paths" else ["-O3", f"-I{folder}"]},
        )
        assert [(h.name, h.text) for h in extension.headers] == [("mine.h", text)]
        assert folder not in str(extension)
        hashes.append(extension.content_hash())
    assert hashes[0] == hashes[1] != hashes[2]


def test_folders_of_the_machine_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.h").write_text("int secret;")
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setattr(record.tempfile, "gettempdir", lambda: str(tmp_path / "mine"))
    for folder in ("../other", str(tmp_path / "other"), "/usr/include"):
        extension = inline(cuda_sources="#include <secret.h>\n#include <stdio.h>\n", extra_include_paths=[folder])
        assert extension.headers == ()
        assert extension.cflags == (f"-I{folder}",)


def test_private_headers_are_recorded_with_their_own_and_nothing_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "k.cu").write_text('#include "a.cuh"\n#include "missing.h"\n#include "../up.h"\n#include <cuda.h>\n')
    (tmp_path / "a.cuh").write_text('#include "sub/b.h"\n#include "a.cuh"\n')
    (tmp_path / "sub" / "b.h").write_text("// b")
    (tmp_path.parent / "up.h").write_text("// outside")
    extension = extension_from_load({"name": "e", "sources": ["k.cu"]})
    assert [h.name for h in extension.headers] == ["a.cuh", "sub/b.h"]
    (tmp_path / "sub" / "b.h").write_text("// changed")
    assert extension_from_load({"name": "e", "sources": ["k.cu"]}).content_hash() != extension.content_hash()
