"""Who has the device: one verdict alone while it is timed, several while their values are computed.

    slot 0 .. slot 7    a file each; sharing takes one of the first few, being alone takes all
    want                held together by those who wait to be alone; while somebody does, no more come to share

So those who are to be timed follow one another, and the others come in company. Over all threads and processes that
share a cache; what a process held is free when it ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from mooreeval.cache import FileCache

MOST_SHARING = 8
_LOOK_SECONDS = 0.005


class DeviceTurns:
    """Turns on one device. `sharing`: how many may have it together, at most `MOST_SHARING`."""

    def __init__(self, cache: FileCache, name: str, sharing: int) -> None:
        if not 1 <= sharing <= MOST_SHARING:
            raise ValueError(f"between 1 and {MOST_SHARING} can share a device, not {sharing}")
        self._cache, self._want = cache, f"{name}-want"
        self._slots = [f"{name}-{number}" for number in range(MOST_SHARING)]
        self._shared = self._slots[:sharing]

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """Nobody else has it. Raises NotJudged where the cache is closed while this waits."""
        with contextlib.ExitStack() as held:
            with self._cache.lock(self._want, shared=True):
                for slot in self._slots:
                    held.enter_context(self._cache.lock(slot))
            yield

    @contextlib.contextmanager
    def shared(self) -> Generator[None]:
        """A few others may have it too, but nobody who is to be alone. Raises NotJudged as `alone` does."""
        with contextlib.ExitStack() as held:
            while not self._take_one(held):
                self._cache.wait(_LOOK_SECONDS)
            yield

    def is_idle(self) -> bool:
        """Whether nobody has it now."""
        return not any(self._cache.is_locked(slot) for slot in self._slots)

    def _take_one(self, held: contextlib.ExitStack) -> bool:
        with self._cache.lock_if_free(self._want) as nobody_waits:
            if not nobody_waits:
                return False
            for slot in self._shared:
                with contextlib.ExitStack() as trying:
                    if trying.enter_context(self._cache.lock_if_free(slot)):
                        held.push(trying.pop_all())
                        return True
        return False
