"""The folder that holds all scratch folders of one launcher, and what killed judges have left of theirs.

A judge that is killed removes nothing. Its folder holds a locked file, and the lock goes with the process however it
ends: so the next judge can tell whose owner is gone, and removes those alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from mooreeval.execute.remove_tree import remove_tree

PREFIX = "mooreeval-"
OWNER = "owner.lock"


class ScratchRoot:
    """A new folder in `parent`, or in the system's for temporary files; ours until it is removed or we end."""

    def __init__(self, parent: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        # Locked before it has its name: who finds it by that can't be faster than we.
        handle, made = tempfile.mkstemp(dir=self.path)
        fcntl.flock(handle, fcntl.LOCK_EX)
        Path(made).rename(self.path / OWNER)
        self._handle: int | None = handle

    def remove(self) -> None:
        """The folder with all that is in it; idempotent."""
        remove_tree(self.path)
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def sweep(parent: Path | None = None) -> int:
    """Remove folders of this user's whose owner is gone; how many there were."""
    count = 0
    with contextlib.suppress(OSError):
        for folder in (parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                count += _swept(folder)
    return count


def _swept(folder: Path) -> bool:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return False
    try:
        handle = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False  # of somebody who is making it, or no judge's
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        remove_tree(folder)
        return True
    finally:
        os.close(handle)
