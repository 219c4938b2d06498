"""A bounded cache of files, addressed by content, that many processes share.

    ROOT/entries/KEY/      the files of one entry and its manifest; renamed into place when complete
    ROOT/staging/          entries being written; what a killed writer leaves here is swept later
    ROOT/locks/KEY         one writer at a time for one key; a lock dies with its process

An entry whose files do not have the sizes in its manifest is dropped and made anew. The least recently used goes
first when the cache outgrows its limit; what was used in the last minutes stays, somebody may be reading it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from mooreeval.errors import NotJudged, UsageError
from mooreeval.space import is_no_space, no_space, require_space

DEFAULT_LIMIT_BYTES = 10 << 30
CACHE_REMEDY = "set MOOREEVAL_CACHE to another folder"
_MANIFEST = "manifest.json"
_IN_USE_SECONDS = 600.0  # an entry used this recently is never evicted
_STALE_SECONDS = 6 * 3600.0  # a staging folder this old has no writer any more


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
        self.limit_bytes = limit_bytes
        with self._told_clearly():
            for name in ("entries", "staging", "locks"):
                (self.root / name).mkdir(parents=True, exist_ok=True)

    def require_space(self) -> None:
        """NotJudged where next to nothing more can be kept."""
        require_space(self.root, CACHE_REMEDY)

    def get(self, key: str) -> Path | None:
        """The folder of an entry, now the most recently used; None where there is none (or only a damaged one)."""
        folder = self.root / "entries" / key
        if not folder.is_dir():
            return None
        if not _is_complete(folder):
            self._drop(folder)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return folder

    def put(self, key: str, write: Callable[[Path], None]) -> Path:
        """Let `write` fill a folder and make it the entry; a complete one that is there already wins."""
        with self.scratch(f"{key[:16]}-") as staging, self._told_clearly():
            write(staging)
            _write_manifest(staging)
            self._publish(staging, self.root / "entries" / key)
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
    def lock(self, key: str) -> Generator[None]:
        """Hold the key alone; released when the process ends, however it ends."""
        with self._told_clearly():
            handle = os.open(self.root / "locks" / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def scratch(self, prefix: str) -> Generator[Path]:
        """A folder beside the entries, removed afterwards; what a killed process leaves is swept as in `evict`."""
        with self._told_clearly():
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self.root / "staging"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def evict(self) -> None:
        """Drop the least recently used entries beyond the limit, and what dead writers left."""
        now = time.time()
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        for used, size, folder in entries:
            if total <= self.limit_bytes:
                break
            if now - used > _IN_USE_SECONDS:
                self._drop(folder)
                total -= size
        for folder in _listing(self.root / "staging"):
            with contextlib.suppress(OSError):
                if now - folder.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        for folder in _listing(self.root / "entries"):
            with contextlib.suppress(OSError):
                yield folder.stat().st_mtime, sum(f.stat().st_size for f in folder.iterdir()), folder

    def _publish(self, staging: Path, final: Path) -> None:
        for _ in range(3):
            try:
                staging.rename(final)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if _is_complete(final):
                    return
                self._drop(final)

    def _drop(self, folder: Path) -> None:
        """Remove an entry in one step, so that nobody finds half of it."""
        grave = self.root / "staging" / f"dropped-{os.getpid()}-{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            folder.rename(grave)
        shutil.rmtree(grave, ignore_errors=True)

    @contextlib.contextmanager
    def _told_clearly(self) -> Generator[None]:
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


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _write_manifest(folder: Path) -> None:
    sizes = {f.name: f.stat().st_size for f in folder.iterdir()}
    with (folder / _MANIFEST).open("w", encoding="utf-8") as stream:
        json.dump(sizes, stream)
        stream.flush()
        os.fsync(stream.fileno())


def _is_complete(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False
