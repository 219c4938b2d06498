"""Many jobs in a few threads, their results as they come; an interrupt ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def as_completed(jobs: Iterable[Callable[[], T]], workers: int, close: Callable[[], None]) -> Iterator[T]:
    """Results in the order in which they are known. `close` frees the threads where the caller is interrupted."""
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="judge")
    pending: set[Future[T]] = set()
    try:
        for job in jobs:
            pending.add(pool.submit(job))
            if len(pending) >= 2 * workers:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (f.result() for f in done)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (f.result() for f in done)
    except BaseException:
        close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
