"""One file of JSON lines that is only ever appended to, by many threads of one process."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mooreeval.errors import NotJudged, UsageError

_BLOCK = 1 << 16


class Lines:
    """Appends lines, each whole or not at all. Opening cuts off what a crash has torn."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._handle: int | None = None
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._size = _end_of_whole_lines(self._handle)
            os.ftruncate(self._handle, self._size)
        except OSError as error:
            self.close()
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def append(self, text: str) -> int:
        """The offset of the line, which is on the disk when this returns.

        Raises NotJudged where it can't be written; the file then ends as before.
        """
        data = text.encode("utf-8") + b"\n"
        with self._guard:
            if self._handle is None:
                raise NotJudged(f"{self.path} is closed")
            start = self._size
            try:
                if os.write(self._handle, data) != len(data):
                    raise OSError("the disk is full")
                os.fdatasync(self._handle)
            except OSError as error:
                os.ftruncate(self._handle, start)
                raise NotJudged(f"cannot write {self.path}: {error.strerror or error}") from None
            self._size += len(data)
            return start

    def close(self) -> None:
        """Idempotent."""
        with self._guard:
            if self._handle is not None:
                os.close(self._handle)
            self._handle = None


def read_lines(path: Path) -> Iterator[tuple[int, str, Any]]:
    """(offset, place, data) of every whole line; a torn last one is left out. No file is no lines.

    Raises UsageError for a line that is no JSON, named.
    """
    try:
        with path.open("rb") as lines:
            offset = 0
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    return
                place = f"{path}, line {number}"
                yield offset, place, _parsed(line, place)
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def read_line(path: Path, offset: int) -> Any:
    """The data of the line that begins there."""
    try:
        with path.open("rb") as lines:
            lines.seek(offset)
            return _parsed(lines.readline(), f"{path}, at byte {offset}")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _parsed(line: bytes, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError(f"{place} is not valid JSON: the file is damaged") from None


def _end_of_whole_lines(handle: int) -> int:
    """How many bytes of the file end in a line break, read from its end."""
    end = os.fstat(handle).st_size
    while end > 0:
        start = max(end - _BLOCK, 0)
        newline = os.pread(handle, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
