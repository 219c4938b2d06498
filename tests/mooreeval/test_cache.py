"""The cache: whole entries or none, whoever writes, dies or runs out of space."""

import errno
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from mooreeval.cache import FileCache, cache_error, default_cache_dir
from mooreeval.errors import NotJudged, UsageError

OLD = time.time() - 7200


def write_bytes(count: int):
    return lambda folder: (folder / "data").write_bytes(b"x" * count) and None


def test_what_is_put_is_got_until_it_is_damaged(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)
    assert cache.get("a") is None
    folder = cache.put("a", write_bytes(10))
    assert cache.get("a") == folder
    (folder / "data").write_bytes(b"short")
    assert cache.get("a") is None
    assert cache.get_or_make("a", write_bytes(10)) == folder
    assert (folder / "data").read_bytes() == b"x" * 10


@pytest.mark.parametrize("size", [1, 100_000, 40 << 20])
def test_files_that_a_power_loss_filled_with_zeros_are_made_anew(tmp_path: Path, size: int) -> None:
    folder = FileCache(tmp_path).put("a", write_bytes(size))
    assert FileCache(tmp_path).get("a") == folder
    for name in ("data", "manifest.json", "sums.json"):
        path = folder / name
        with path.open("r+b") as stream:
            stream.write(bytes(path.stat().st_size))
        cache = FileCache(tmp_path)
        assert cache.get("a") is None, name
        assert cache.get_or_make("a", write_bytes(size)) == folder
        assert (folder / "data").read_bytes() == b"x" * size


def test_one_lost_byte_of_a_large_file_is_found_by_who_has_reason_for_doubt(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)
    for key in ("good", "bad"):
        cache.put(key, write_bytes(20 << 20))
    with (tmp_path / "entries" / "bad" / "data").open("r+b") as stream:
        stream.seek(200_000)  # between two of the blocks that are always read
        stream.write(b"y")
    assert FileCache(tmp_path).get("bad") is not None
    assert FileCache(tmp_path).drop_damaged() == ["bad"]
    assert FileCache(tmp_path).get("bad") is None
    assert FileCache(tmp_path).get("good") is not None
    assert FileCache(tmp_path).drop_damaged() == []


def test_a_file_in_a_folder_of_an_entry_is_checked_too(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "include").mkdir()
        (folder / "include" / "a.h").write_text("text")

    path = FileCache(tmp_path).put("a", write) / "include" / "a.h"
    assert FileCache(tmp_path).get("a")
    path.write_text("tex!")
    assert FileCache(tmp_path).get("a") is None


def test_an_entry_from_before_there_were_sums_is_taken_by_its_sizes(tmp_path: Path) -> None:
    folder = FileCache(tmp_path).put("a", write_bytes(3))
    (folder / "sums.json").unlink()
    (folder / "manifest.json").write_text('{"data": 3}')
    assert FileCache(tmp_path).get("a") == folder


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "data").write_bytes(b"half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.put("a", fail)
    assert cache.get("a") is None
    assert list((tmp_path / "staging").iterdir()) == []


def _hang_while_writing(root: str, ready: "multiprocessing.synchronize.Event") -> None:
    def write(folder: Path) -> None:
        (folder / "data").write_bytes(b"half")
        ready.set()
        time.sleep(600)

    FileCache(Path(root)).get_or_make("a", write)


def test_a_killed_writer_neither_blocks_nor_spoils_the_key(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    writer = context.Process(target=_hang_while_writing, args=(str(tmp_path), ready))
    writer.start()
    assert ready.wait(60)
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join(60)
    cache = FileCache(tmp_path)
    assert (cache.get_or_make("a", write_bytes(7)) / "data").stat().st_size == 7
    assert list((tmp_path / "staging").iterdir()) == []


def _make_and_count(root: str, log: str) -> None:
    def write(folder: Path) -> None:
        with Path(log).open("a") as stream:
            stream.write("made\n")
        time.sleep(0.05)
        (folder / "data").write_bytes(b"x")

    FileCache(Path(root)).get_or_make("a", write)


def test_many_processes_make_one_entry_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    log = tmp_path / "log"
    makers = [context.Process(target=_make_and_count, args=(str(tmp_path / "c"), str(log))) for _ in range(6)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
        assert maker.exitcode == 0
    assert log.read_text() == "made\n"


def test_the_least_recently_used_goes_first_and_fresh_entries_stay(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit_bytes=300_000)
    for age, key in enumerate(("old", "older", "oldest")):
        cache.put(key, write_bytes(80_000))
        os.utime(tmp_path / "entries" / key, (OLD - age, OLD - age))
    assert cache.get("oldest") is not None  # now the most recently used
    os.utime(tmp_path / "entries" / "oldest", (OLD + 100, OLD + 100))
    cache.put("new", write_bytes(80_000))
    assert {p.name for p in (tmp_path / "entries").iterdir()} == {"old", "oldest", "new"}
    FileCache(tmp_path, limit_bytes=10).evict()
    assert {p.name for p in (tmp_path / "entries").iterdir()} == {"new"}


def test_entries_from_before_the_clock_was_set_back_go_in_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = FileCache(tmp_path, limit_bytes=200_000)
    for key in ("a", "b"):
        cache.put(key, write_bytes(80_000))
    before = time.time()
    monkeypatch.setattr(time, "time", lambda: before - 30 * 24 * 3600)
    cache.put("new", write_bytes(80_000))
    in_use = {p.name for p in (tmp_path / "entries").iterdir()}
    assert in_use == {"a", "b", "new"}  # all count as used in the last minutes
    monkeypatch.setattr(time, "time", lambda: before - 30 * 24 * 3600 + 3600)
    os.utime(tmp_path / "entries" / "new", (time.time(), time.time()))
    cache.put("newer", write_bytes(1000))
    left = {p.name for p in (tmp_path / "entries").iterdir()}
    assert "new" in left
    assert not {"a", "b"} <= left


def test_a_clock_that_jumps_ahead_takes_nothing_that_is_read_for_a_whole_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = FileCache(tmp_path, limit_bytes=100_000)
    first = cache.put("a", write_bytes(80_000))
    before = time.time()
    monkeypatch.setattr(time, "time", lambda: before + 30 * 24 * 3600)
    cache.put("b", write_bytes(80_000))
    assert not first.exists()  # as a whole, or not at all
    assert cache.get("a") is None
    assert (cache.get_or_make("a", write_bytes(7)) / "data").stat().st_size == 7


def test_the_folder_is_the_users_then_xdgs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOOREEVAL_CACHE", str(tmp_path / "own"))
    assert default_cache_dir() == tmp_path / "own"
    monkeypatch.delenv("MOOREEVAL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_dir() == tmp_path / "xdg" / "mooreeval"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_dir() == Path.home() / ".cache" / "mooreeval"


def test_a_folder_that_cannot_be_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be written.*MOOREEVAL_CACHE") as told:
        FileCache(tmp_path / "file" / "cache")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["a:b", "a$ORIGIN", "${LIB}"])
def test_a_folder_whose_libraries_would_not_be_found_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be used.*MOOREEVAL_CACHE"):
        FileCache(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_no_space_is_the_judges_failure(tmp_path: Path) -> None:
    """A real full device: writing to /dev/full gives ENOSPC."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError, match="space") as full:
        Path("/dev/full").write_text("x")
    assert full.value.errno == errno.ENOSPC
    told = cache_error(full.value, tmp_path)
    assert isinstance(told, NotJudged)
    assert "no space left" in str(told)


def test_scratch_of_a_killed_process_is_swept_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)
    old = cache.root / "staging" / "build-old"
    old.mkdir()
    os.utime(old, (time.time() - 24 * 3600,) * 2)
    (cache.root / "staging" / "dropped-1-2").mkdir()
    with cache.scratch("build-") as scratch:
        assert scratch.parent == old.parent
        os.utime(scratch, (OLD - 86400, OLD - 86400))
        cache.evict()
        FileCache(tmp_path)
        assert scratch.is_dir()
    assert list((tmp_path / "staging").iterdir()) == []
