"""A lock is handed on at once, can be given up waiting for, and is never two people's."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mooreeval.locks import locked_file, remove_if_stale, unlock


def test_who_waits_gets_the_lock_or_leaves_when_told_to(tmp_path: Path) -> None:
    never, closed = threading.Event(), threading.Event()
    first = locked_file(tmp_path / "lock", never)
    assert first is not None
    with ThreadPoolExecutor(3) as pool:
        leaving, staying = pool.submit(locked_file, tmp_path / "lock", closed), None
        time.sleep(0.1)
        staying = pool.submit(locked_file, tmp_path / "lock", never)
        closed.set()
        assert leaving.result(30) is None
        assert not staying.done()
        unlock(first)
        second = staying.result(30)
        assert second is not None
        unlock(second)
    third = locked_file(tmp_path / "lock", never)  # the one who left has it no more
    assert third is not None
    unlock(third)


def test_a_lock_is_given_back_although_a_child_has_the_file_open(tmp_path: Path) -> None:
    never = threading.Event()
    handle = locked_file(tmp_path / "lock", never)
    assert handle is not None
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # holds what it inherited until the pipe is closed
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    unlock(handle)
    again = locked_file(tmp_path / "lock", never)
    assert again is not None
    unlock(again)
    os.close(writing)
    os.waitpid(child, 0)
    os.close(reading)


def test_only_a_stale_lock_that_nobody_holds_is_removed(tmp_path: Path) -> None:
    path, never, old = tmp_path / "lock", threading.Event(), time.time() - 90000
    handle = locked_file(path, never)
    assert handle is not None
    os.utime(path, (old, old))
    remove_if_stale(path)
    assert path.exists()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(locked_file, path, never)
        time.sleep(0.1)
        path.unlink()  # as if it had been removed between opening and locking
        unlock(handle)
        again = waiting.result(30)
        assert again is not None
        assert os.path.samestat(os.fstat(again), path.stat())
        unlock(again)
    os.utime(path, (old, old))
    remove_if_stale(path)
    assert not path.exists()


def test_nobody_is_inside_together_while_files_are_removed(tmp_path: Path) -> None:
    path, never, inside, worst = tmp_path / "lock", threading.Event(), [], [0]

    def visit(_: int) -> None:
        for _ in range(40):
            handle = locked_file(path, never)
            assert handle is not None
            inside.append(1)
            worst[0] = max(worst[0], len(inside))
            os.utime(path, (1, 1))
            inside.pop()
            unlock(handle)
            remove_if_stale(path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))
    assert worst == [1]
