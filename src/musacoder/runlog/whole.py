"""Files of a run's folder that are written whole or not at all, and who may write to it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mooreeval.errors import UsageError
from mooreeval.locks import lock_if_free


def write_whole(path: Path, text: str) -> int:
    """Put a file in its place in one step, on the disk; its size in bytes. Whoever is killed leaves the old one.

    Raises UsageError where it can't be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = text.encode("utf-8", "replace")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    return len(data)


def locked(folder: Path, name: str = ".lock") -> int:
    """The lock of a folder, which is made where it is not there; `mooreeval.locks.unlock` lets go of it.

    Raises UsageError where another process has it, or it can't be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = lock_if_free(folder / name)
    except OSError as error:
        raise UsageError(f"cannot write to the run folder {folder}: {error.strerror}") from None
    if lock is None:
        raise UsageError(f"another process is writing to {folder}")
    return lock
