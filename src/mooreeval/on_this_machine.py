"""What judges on this machine, a candidate or a task: its secret, the launcher of its children, a toolchain."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from mooreeval.backends import choose_backend
from mooreeval.cache import CLOSED
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, TaskError, Transient
from mooreeval.execute.children import take_launcher
from mooreeval.execute.seeds import new_secret
from mooreeval.space import is_no_space, no_space, require_space

T = TypeVar("T")
_TRIES = 2
_SCRATCH_REMEDY = "set TMPDIR to another folder"


class OnThisMachine:
    """A context manager: leaving it ends every process and removes every scratch folder. Safe for several threads."""

    def __init__(self, config: VerifyConfig | None, toolchain: Callable[[VerifyConfig], Any]) -> None:
        config = config or VerifyConfig()
        self.config = config.with_backend(choose_backend(config.backend))
        self.secret = self.config.seed or new_secret()
        self._closed = threading.Event()
        self._toolchain = toolchain(self.config)
        with told_where_space_ends(Path(tempfile.gettempdir())):
            self._launcher = take_launcher()
        self._launcher.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of this object, compilers too, and whatever waits for one; idempotent."""
        self._closed.set()  # first: what is lost now is not tried again
        self._toolchain.close()
        self._launcher.close()

    def _require_space(self) -> None:
        with told_where_space_ends(self._launcher.root):
            require_space(self._launcher.root, _SCRATCH_REMEDY)
            self._toolchain.cache.require_space()

    def _tried(self, job: Callable[[], T]) -> T:
        """What the job gives, after one more try where that may help.

        What is lost because this was closed is nobody's fault, and not tried again: NotJudged.
        """
        with told_where_space_ends(self._launcher.root):
            for _attempt in range(1, _TRIES):
                with contextlib.suppress(Transient):
                    return self._unless_closed(job)
            return self._unless_closed(job)

    def _unless_closed(self, job: Callable[[], T]) -> T:
        try:
            return job()
        except (Transient, TaskError) as error:
            if self._closed.is_set():
                raise NotJudged(CLOSED) from error
            raise


@contextlib.contextmanager
def told_where_space_ends(scratch: Path) -> Generator[None]:
    """NotJudged with a remedy where a folder's disk is full."""
    try:
        yield
    except OSError as error:
        if is_no_space(error):
            raise no_space(scratch, _SCRATCH_REMEDY) from error
        raise
