"""Any file gives a candidate or a reason; only a file that is not there is an error."""

import os
from pathlib import Path

import pytest

from mooreeval.candidate import Candidate, NoCandidate, load_candidate
from mooreeval.errors import UsageError

CODE = 'SOURCE = "__global__ void k() {}"\n\n\nclass ModelNew:\n    pass\n'


def loaded(tmp_path: Path, data: bytes, name: str = "c.py") -> Candidate | NoCandidate:
    (tmp_path / name).write_bytes(data)
    found = load_candidate(tmp_path / name)
    assert len(found.candidate_hash) == 64
    return found


def code_of(found: Candidate | NoCandidate) -> str:
    assert isinstance(found, Candidate), found.reason
    return found.code


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_python_source_is_taken_as_it_is(tmp_path: Path, mark: bytes, line_end: str) -> None:
    found = loaded(tmp_path, mark + CODE.replace("\n", line_end).encode())
    assert code_of(found) == CODE
    assert found.origin == "file"


def test_source_in_another_encoding_is_read(tmp_path: Path) -> None:
    assert code_of(loaded(tmp_path, CODE.encode("utf-16"))) == CODE
    declared = "# -*- coding: latin-1 -*-\nx = 'é'\n" + CODE
    assert code_of(loaded(tmp_path, declared.encode("latin-1"))) == declared
    assert "ModelNew" in code_of(loaded(tmp_path, b"# caf\xe9\n" + CODE.encode()))


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.py", "a"])
def test_a_raw_answer_is_recognised_whatever_its_name(tmp_path: Path, name: str) -> None:
    found = loaded(tmp_path, f"<think>hm</think>Here:\n```python\n{CODE}```<|im_end|>".encode(), name)
    assert code_of(found) == CODE
    assert found.origin == "answer"


def test_python_with_fences_in_its_strings_is_no_answer(tmp_path: Path) -> None:
    code = '"""Doc.\n```python\nx = 1\n```\n"""\n' + CODE
    assert code_of(loaded(tmp_path, code.encode())) == code


def test_a_syntax_error_is_left_to_the_compiler(tmp_path: Path) -> None:
    assert code_of(loaded(tmp_path, (CODE + "x = (\n").encode())) == CODE + "x = (\n"


JUNK = {
    "empty": b"",
    "blank": b" \n\t\n",
    "binary": bytes(range(256)) * 4,
    "bytes that are no text": b"\xff\xfe\xfd" * 1000,
    "zeros": b"\0" * 10_000_000,
    "10 MB of one line": b"x" * 10_000_000,
    "10 MB with the class": CODE.encode() * 130_000,
    "20 MB": b"# class ModelNew\n" * 1_300_000,
    "no class": b"x = 1\n",
    "another class": b"class ModelNewer: pass\n",
    "the class in a comment": b"# class ModelNew\nx = 1\n",
    "the class in a string": b'x = """\nclass ModelNew:\n    pass\n"""\n',
    "an object": b"PK\x03\x04" + bytes(range(256)) * 50,
    "deep nesting": b"(" * 200_000,
}


@pytest.mark.parametrize("data", JUNK.values(), ids=JUNK.keys())
@pytest.mark.parametrize("name", ["c.py", "c.md"])
def test_junk_is_no_candidate_with_a_reason_of_one_line(tmp_path: Path, name: str, data: bytes) -> None:
    found = loaded(tmp_path, data, name)
    assert isinstance(found, NoCandidate)
    assert found.reason
    assert "\n" not in found.reason


def test_only_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing.py", tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError) as error:
            load_candidate(path)
        assert str(path) in str(error.value)


def test_the_hash_is_of_the_code_alone(tmp_path: Path) -> None:
    plain, answer = loaded(tmp_path, CODE.encode()), loaded(tmp_path, f"```\n{CODE}```\n".encode())
    assert plain.candidate_hash == answer.candidate_hash
    assert plain.candidate_hash != loaded(tmp_path, (CODE + "x = 1\n").encode()).candidate_hash
