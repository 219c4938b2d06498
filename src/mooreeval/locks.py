"""Locks on files, held across threads and processes; one dies with its process, however that ends.

Who waits may be told to leave: the waiting is done by a thread of its own, in the kernel's queue, so that a lock is
handed over at once and in the order in which it was asked for.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from pathlib import Path

_LOOK_SECONDS = 0.1  # how soon somebody who waits notices that he should not
_STALE_SECONDS = 24 * 3600.0


def locked_file(path: Path, closed: threading.Event, *, shared: bool = False) -> int | None:
    """The file, made where it is missing, open and locked; None where `closed` was set before it could be.

    `shared`: with others that hold it so, too.
    """
    while not closed.is_set():
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _lock(handle, closed, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            return None
        if _is_at(path, handle):
            os.utime(handle)
            return handle
        unlock(handle)  # removed as stale while we waited: a lock on it keeps nobody out
    return None


def lock_if_free(path: Path) -> int | None:
    """The file, made where it is missing, open and locked; None where somebody holds it now."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    if not _is_at(path, handle):  # removed as stale meanwhile
        unlock(handle)
        return None
    os.utime(handle)
    return handle


def is_locked(path: Path) -> bool:
    """Does somebody hold it now?"""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        unlock(handle)
    return False


def unlock(handle: int) -> None:
    """Give a lock back, also where a process that was forked meanwhile still has the file open."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def remove_if_stale(path: Path) -> None:
    """Remove the file of a lock that nobody holds and nobody asked for in a day."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime < _STALE_SECONDS:
            return
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, handle):
                path.unlink()
        finally:
            unlock(handle)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _lock(handle: int, closed: threading.Event, kind: int) -> bool:
    """Lock it; otherwise it is closed, now or when the kernel lets go of it."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return _Waiting(handle, kind).end_by(closed)
    except OSError:
        os.close(handle)
        raise


class _Waiting:
    """Waits for a lock in a thread. Exactly one of the two, who asked or the thread, has the handle in the end."""

    def __init__(self, handle: int, kind: int) -> None:
        self._handle, self._kind, self._guard = handle, kind, threading.Lock()
        self._locked, self._left = threading.Event(), False
        threading.Thread(target=self._wait, name="lock", daemon=True).start()

    def end_by(self, closed: threading.Event) -> bool:
        got = False
        try:
            while not self._locked.wait(_LOOK_SECONDS) and not closed.is_set():
                pass
            got = not closed.is_set()
        finally:
            if not got:
                self._leave()
        return got

    def _leave(self) -> None:
        with self._guard:
            self._left = True
            if self._locked.is_set():
                unlock(self._handle)

    def _wait(self) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._handle, self._kind)
        with self._guard:
            if self._left:
                unlock(self._handle)
            else:
                self._locked.set()
