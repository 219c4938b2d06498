"""When the next request may leave: at most so many at once, at most so many a minute, and none while a server asks for
a pause."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC
from email.utils import parsedate_to_datetime

from musacoder.models.config import RetryConfig, ServerConfig


class Pace:
    """For the tasks of one event loop."""

    def __init__(self, config: ServerConfig) -> None:
        self._slots = asyncio.Semaphore(config.concurrency)
        self._interval = 60 / config.requests_per_minute if config.requests_per_minute else 0.0
        self._next = 0.0  # the earliest moment of the next request, on the loop's clock

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """The right to one request; waits for it."""
        async with self._slots:
            await self._wait()
            yield

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        while (left := self._next - loop.time()) > 0:  # a pause may have grown meanwhile
            await asyncio.sleep(left)
        self._next = max(self._next, loop.time()) + self._interval

    def pause(self, seconds: float) -> None:
        """No request of this model leaves for so long: a server that is over its limit speaks to all of them."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


def backoff_seconds(config: RetryConfig, attempt: int, draw: random.Random) -> float:
    """How long to wait after attempt 1, 2, ...: anything below a bound that doubles, so that many spread out."""
    return draw.uniform(0, min(config.longest_seconds, config.first_seconds * 2.0 ** min(attempt - 1, 60)))


def retry_after_seconds(headers: dict[str, str]) -> float | None:
    """What a reply's headers (names in lower case) ask to wait: seconds, milliseconds or a date; None: nothing."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    return _until(headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - time.time())
