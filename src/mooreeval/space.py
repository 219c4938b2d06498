"""Disk space: told in one clear line before and when it runs out, and never held against a candidate."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path

from mooreeval.errors import NotJudged

NEEDED_BYTES = 32 << 20  # of one judgement: logs, a module, what a candidate writes
SCARCE_BYTES = 512 << 20  # with more than this free, "no space left" is somebody's own words
_NOTHING_BYTES = 1 << 20  # with less than this free, even the words may be missing
_SAID = re.compile(r"No space left on device|Disk quota exceeded")


def require_space(folder: Path, remedy: str, needed: int = NEEDED_BYTES) -> None:
    """NotJudged where the file system of `folder` has less than `needed` bytes free. `remedy`: what else to do."""
    if shutil.disk_usage(folder).free < needed:
        raise no_space(folder, remedy)


def no_space(folder: Path, remedy: str) -> NotJudged:
    return NotJudged(f"no space left in {folder}: free some, or {remedy}")


def is_no_space(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def ran_out(log: str, folder: Path) -> bool:
    """Whether a program that failed in `folder` did so for want of space. Its words alone could be a candidate's."""
    free = shutil.disk_usage(folder).free
    return free < _NOTHING_BYTES or (free < SCARCE_BYTES and bool(_SAID.search(log)))
