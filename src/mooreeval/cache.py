"""A bounded cache of files, addressed by content, that many processes share.

    ROOT/entries/KEY/      the files of one entry, their sizes and sums; renamed into place when complete
    ROOT/staging/          entries being written, each locked by its writer; what a killed one leaves is swept
    ROOT/locks/KEY         one writer at a time for one key; a lock dies with its process

Entries are on the disk before they are in place. One whose files have other sizes or sums is dropped and made anew: a
machine that lost power may leave files of zeros. The least recently used goes first when the cache outgrows its limit;
what was used in the last minutes stays, somebody may be reading it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

from mooreeval.errors import NotJudged, UsageError
from mooreeval.locks import is_locked, lock_if_free, locked_file, remove_if_stale, unlock
from mooreeval.space import is_no_space, no_space, require_space

DEFAULT_LIMIT_BYTES = 10 << 30
CACHE_REMEDY = "set MOOREEVAL_CACHE to another folder"
CLOSED = "this verifier was closed"
_MANIFEST, _SUMS, _WHOLE = "manifest.json", "sums.json", "whole.json"
_IN_USE_SECONDS = 600.0  # an entry used this recently is never evicted
_NO_PATH_OF_A_LIBRARY = re.compile(r":|\$\{?(?:ORIGIN|LIB|PLATFORM)\b")  # see ld.so(8)
_DROPPED = "dropped-"  # begins the name of an entry on its way out
_HELD = ".held"  # ends the name of a staging folder that its owner has locked
_CLOCK_SECONDS = 60.0  # clocks of machines that share a folder differ by so much
_QUICK_SECONDS = 0.05
_STALE_SECONDS = 6 * 3600.0  # a staging folder without a lock that is this old has no writer any more
# Sums are to find what a disk lost, at 2 GB/s. Of a file beyond the first size, a precompiled header of 400 MB, blocks
# at even distances are read: what power loss leaves as zeros is seldom a single block. Who finds reason for doubt has
# all of it read, see `drop_damaged`.
_SUMMED_WHOLE_BYTES = 16 << 20
_BLOCK_BYTES, _BLOCKS = 1 << 16, 64


def default_cache_dir() -> Path:
    """`$MOOREEVAL_CACHE`, else `mooreeval` in the XDG cache folder."""
    if own := os.environ.get("MOOREEVAL_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mooreeval"


class FileCache:
    """Entries are folders of files. All methods may be called from many processes at once.

    Raises UsageError where the folder cannot be used at all, NotJudged where there is no space left.
    """

    def __init__(self, root: Path | None = None, limit_bytes: int = DEFAULT_LIMIT_BYTES):
        self.root = (root or default_cache_dir()).absolute()
        if found := _NO_PATH_OF_A_LIBRARY.search(str(self.root)):
            reason = f"the loader would not find libraries in a folder with {found[0]!r} in its path"
            raise UsageError(f"the cache folder {str(self.root)!r} cannot be used ({reason}): {CACHE_REMEDY}")
        self.limit_bytes = limit_bytes
        self._looked: tuple[float, float] | None = None  # how long the last look at all entries took, and its end
        self._closed = threading.Event()
        self._verified: dict[Path, tuple[int, ...]] = {}  # files whose sums this process has seen to be right
        with self.told_clearly():
            for name in ("entries", "staging", "locks"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
        self._sweep()

    def require_space(self) -> None:
        """NotJudged where next to nothing more can be kept."""
        require_space(self.root, CACHE_REMEDY)

    def get(self, key: str) -> Path | None:
        """The folder of an entry, now the most recently used; None where there is none (or only a damaged one)."""
        folder = self.root / "entries" / key
        if not folder.is_dir():
            return None
        if not self._is_complete(folder):
            self._drop(folder)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return folder

    def put(self, key: str, write: Callable[[Path], None]) -> Path:
        """Let `write` fill a folder and make it the entry; a complete one that is there already wins."""
        with self.scratch(f"{key[:16]}-") as staging, self.told_clearly():
            write(staging)
            _write_manifest(staging)
            self._publish(staging, self.root / "entries" / key)
            _sync(self.root / "entries")
        self.evict()
        return self.root / "entries" / key

    def get_or_make(self, key: str, write: Callable[[Path], None]) -> Path:
        """The entry, made by one process while the others that want it wait."""
        found = self.get(key)
        if found:
            return found
        with self.lock(key):
            return self.get(key) or self.put(key, write)

    @contextlib.contextmanager
    def lock(self, key: str, *, shared: bool = False) -> Generator[None]:
        """Hold the key, alone or with others that share it; released when the process ends, however it ends.

        Raises NotJudged where `close` ends waiting.
        """
        with self.told_clearly():
            handle = locked_file(self.root / "locks" / key, self._closed, shared=shared)
        if handle is None:
            raise NotJudged(CLOSED)
        try:
            yield
        finally:
            unlock(handle)

    @contextlib.contextmanager
    def lock_if_free(self, key: str) -> Generator[bool]:
        """Hold the key alone if nobody has it now; tells whether it is held."""
        with self.told_clearly():
            handle = lock_if_free(self.root / "locks" / key)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                unlock(handle)

    def is_locked(self, key: str) -> bool:
        """Does anybody hold the key now?"""
        return is_locked(self.root / "locks" / key)

    def entries_in(self, words: Iterable[str]) -> list[str]:
        """The folders of the entries that words, of a command, lead to."""
        begin = f"{self.root}/entries/"
        keys = {re.split("[/,:]", rest)[0] for word in words for rest in word.split(begin)[1:]}
        return sorted(begin + key for key in keys if key)

    def close(self) -> None:
        """End all waiting for locks through this object, for good; entries can still be had."""
        self._closed.set()

    def wait(self, seconds: float) -> None:
        """Sleep; NotJudged once this object is closed."""
        if self._closed.wait(seconds):
            raise NotJudged(CLOSED)

    @contextlib.contextmanager
    def scratch(self, prefix: str) -> Generator[Path]:
        """A folder beside the entries, removed afterwards; what a killed process leaves is swept by the next one."""
        with self.told_clearly():
            folder, handle = self._held_folder(prefix)
        try:
            yield folder
        except OSError as error:
            if is_no_space(error):
                raise cache_error(error, self.root) from error
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            unlock(handle)

    def _held_folder(self, prefix: str) -> tuple[Path, int]:
        """A new staging folder, locked; who sweeps waits until it is."""
        staging = self.root / "staging"
        with _locked(staging, fcntl.LOCK_SH):
            folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=_HELD, dir=staging))
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(handle, fcntl.LOCK_EX)
        return folder, handle

    def _sweep(self) -> None:
        """Remove staging folders without an owner."""
        staging = self.root / "staging"
        with contextlib.suppress(OSError), _locked(staging, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for folder in _listing(staging):
                with contextlib.suppress(OSError):
                    if _is_abandoned(folder):
                        shutil.rmtree(folder, ignore_errors=True)

    def drop(self, key: str) -> None:
        """Remove an entry."""
        self._drop(self.root / "entries" / key)

    def drop_damaged(self) -> list[str]:
        """Read every byte of large files; the keys of entries where one is not as it was written, which are dropped."""
        damaged = []
        for folder in _listing(self.root / "entries"):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                sums = json.loads((folder / _WHOLE).read_text(encoding="utf-8"))
                if any(_whole_sum(folder / name) != total for name, total in sums.items()):
                    damaged.append(folder.name)
                    self._drop(folder)
        return damaged

    def evict(self) -> None:
        """Drop the least recently used entries beyond the limit, and what dead writers left.

        Looking at a large cache takes a while: no more than a fiftieth of a process's time is spent on it.
        """
        start = time.monotonic()
        if self._looked and start - self._looked[1] < 50 * self._looked[0]:
            return
        self._evict()
        end = time.monotonic()
        self._looked = (end - start, end) if end - start > _QUICK_SECONDS else None

    def _evict(self) -> None:
        now = time.time()
        entries = sorted(self._entries(now))
        total = sum(size for _, size, _ in entries)
        for used, size, folder in entries:
            if total <= self.limit_bytes:
                break
            if now - used > _IN_USE_SECONDS:
                self._drop(folder)
                total -= size
        self._sweep()
        for lock in _listing(self.root / "locks"):
            remove_if_stale(lock)

    def _entries(self, now: float) -> Iterator[tuple[float, int, Path]]:
        """When each was last used, its size, and its folder. What was used before the clock was set back counts as used
        now: it would else stay until the clock is there again, and newer entries would go in its place."""
        for folder in _listing(self.root / "entries"):
            with contextlib.suppress(OSError):
                used = folder.stat().st_mtime
                if used > now + _CLOCK_SECONDS:
                    os.utime(folder, (now, now))
                yield min(used, now), _bytes_on_disk(folder), folder

    def _publish(self, staging: Path, final: Path) -> None:
        for _ in range(3):
            try:
                staging.rename(final)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if self._is_complete(final):
                    return
                self._drop(final)
        raise OSError(errno.EEXIST, f"{final.name} is damaged and cannot be replaced")

    def _is_complete(self, folder: Path) -> bool:
        """Are all files there with their sizes, and, seen once by each process, their sums?"""
        try:
            sizes = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
            if any((folder / name).stat().st_size != size for name, size in sizes.items()):
                return False
            if _SUMS not in sizes:  # an entry from before there were sums
                return True
            sums = json.loads((folder / _SUMS).read_text(encoding="utf-8"))
            return all(self._has_sum(folder / name, total) for name, total in sums.items())
        except (OSError, ValueError, AttributeError):
            return False

    def _has_sum(self, path: Path, total: int) -> bool:
        now = path.stat()
        mark = (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns, total)
        if self._verified.get(path) != mark:
            if _sum(path) != total:
                return False
            self._verified[path] = mark
        return True

    def _drop(self, folder: Path) -> None:
        """Remove an entry in one step, so that nobody finds half of it."""
        grave = self.root / "staging" / f"{_DROPPED}{os.getpid()}-{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            folder.rename(grave)
        shutil.rmtree(grave, ignore_errors=True)

    @contextlib.contextmanager
    def told_clearly(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise cache_error(error, self.root) from error


def cache_error(error: OSError, root: Path) -> NotJudged | UsageError:
    """One clear line about a cache folder that failed us."""
    if is_no_space(error):
        return no_space(root, CACHE_REMEDY)
    reason = os.strerror(error.errno) if error.errno else str(error)
    return UsageError(f"the cache folder {root} cannot be written ({reason}): {CACHE_REMEDY}")


def _bytes_on_disk(folder: Path) -> int:
    """What an entry takes; a small file takes a block."""
    files = (path.stat() for path in folder.rglob("*"))
    return folder.stat().st_blocks * 512 + sum(max(f.st_size, f.st_blocks * 512) for f in files)


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Generator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def _is_abandoned(folder: Path) -> bool:
    """Has a staging folder lost its owner? Raises OSError where that is held."""
    if folder.name.endswith(_HELD):
        with _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
    return folder.name.startswith(_DROPPED) or time.time() - folder.stat().st_mtime > _STALE_SECONDS


def _write_manifest(folder: Path) -> None:
    """Sizes and sums of all files, which are on the disk afterwards."""
    paths = sorted(folder.rglob("*"))
    for path in paths:
        _sync(path)
    names = [path.relative_to(folder).as_posix() for path in paths if path.is_file()]
    _write(folder / _SUMS, {name: _sum(folder / name) for name in names})
    large = [name for name in names if (folder / name).stat().st_size > _SUMMED_WHOLE_BYTES]
    if large:
        _write(folder / _WHOLE, {name: _whole_sum(folder / name) for name in large})
    own = [_SUMS, *([_WHOLE] if large else [])]
    _write(folder / _MANIFEST, {name: (folder / name).stat().st_size for name in [*names, *own]})
    _sync(folder)


def _write(path: Path, marks: dict[str, int]) -> None:
    path.write_text(json.dumps(marks), encoding="utf-8")
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:  # some file systems of networks know no such thing for folders
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _sum(path: Path) -> int:
    """A checksum of a file's bytes, of a large file's blocks."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= _SUMMED_WHOLE_BYTES:
            return zlib.crc32(stream.read())
        total = 0
        for k in range(_BLOCKS):
            stream.seek((size - _BLOCK_BYTES) * k // (_BLOCKS - 1))
            total = zlib.crc32(stream.read(_BLOCK_BYTES), total)
        return total


def _whole_sum(path: Path) -> int:
    total = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            total = zlib.crc32(block, total)
    return total
