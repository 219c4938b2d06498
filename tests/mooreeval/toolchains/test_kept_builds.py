"""Builds in the cache are as they were made, or made again."""

from pathlib import Path

import pytest

from mooreeval.cache import FileCache
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Source
from mooreeval.toolchains.kept_builds import Built, KeptBuilds

EXTENSION = Extension("m", (Source("cuda_sources[0]", "cuda", "int f();"),), None)
FAILURE = BuildFailure("compile_error", "cuda_sources[0]:1: expected ';'", log_tail="text")


def built(tmp_path: Path) -> Built:
    library = tmp_path / "module.so"
    library.write_bytes(b"\x7fELF" + b"x" * 5000)
    return Built(library, 1.5, ("a warning",))


@pytest.mark.parametrize("name", ["module.so", "build.json", "sums.json", "manifest.json"])
def test_a_build_whose_files_lost_their_bytes_is_made_again(tmp_path: Path, name: str) -> None:
    kept = KeptBuilds(FileCache(tmp_path / "cache"))
    first = kept.put("key", EXTENSION, "m", built(tmp_path))
    assert isinstance(first, Artefact)
    path = first.path.parent / name
    path.write_bytes(bytes(path.stat().st_size))
    again = KeptBuilds(FileCache(tmp_path / "cache"))
    assert again.get("key", EXTENSION, "m") is None
    again.put("key", EXTENSION, "m", built(tmp_path))
    found = again.get("key", EXTENSION, "m")
    assert isinstance(found, Artefact)
    assert found.path.read_bytes().startswith(b"\x7fELF")
    assert found.warnings == ("a warning",)


def test_a_failure_whose_record_is_lost_is_found_out_again(tmp_path: Path) -> None:
    kept = KeptBuilds(FileCache(tmp_path))
    kept.put("key", EXTENSION, "m", FAILURE)
    assert kept.get("key", EXTENSION, "m") == FAILURE
    for text in ("[]", "null", '{"failure": {"kind": 1}}', "\0\0"):
        kept.put("key", EXTENSION, "m", FAILURE)
        folder = tmp_path / "entries" / "key"
        (folder / "sums.json").unlink()  # as in an entry from before there were sums
        (folder / "build.json").write_text(text)
        (folder / "manifest.json").write_text(f'{{"build.json": {len(text)}}}')
        assert kept.get("key", EXTENSION, "m") is None, text
