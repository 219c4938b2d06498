"""The device is one verdict's alone while it is timed, and a few verdicts' while their values are computed."""

from __future__ import annotations

import threading
import time

import pytest

from mooreeval.cache import FileCache
from mooreeval.errors import NotJudged
from mooreeval.toolchains.device_turns import MOST_SHARING, DeviceTurns


class Watched:
    """Many threads on one device, and what each saw of the others while it had it."""

    def __init__(self, turns: DeviceTurns) -> None:
        self.turns, self._guard = turns, threading.Lock()
        self.sharing = self.alone = self.most_sharing = 0
        self.wrong: list[str] = []
        self.order: list[str] = []

    def share(self, seconds: float = 0.02) -> None:
        with self.turns.shared():
            with self._guard:
                self.sharing += 1
                self.most_sharing = max(self.most_sharing, self.sharing)
                self.order.append("shared")
                self.wrong += ["shared beside one who is alone"] * self.alone
            time.sleep(seconds)
            with self._guard:
                self.sharing -= 1

    def be_alone(self, seconds: float = 0.02) -> None:
        with self.turns.alone():
            with self._guard:
                self.wrong += ["alone beside others"] * (self.sharing + self.alone)
                self.alone += 1
                self.order.append("alone")
            time.sleep(seconds)
            with self._guard:
                self.alone -= 1


def run(*jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)


@pytest.fixture
def watched(tmp_path):
    return Watched(DeviceTurns(FileCache(tmp_path), "device", 3))


def test_who_is_alone_is_alone_and_no_more_share_than_may(watched):
    run(*[watched.share] * 20, *[watched.be_alone] * 10)
    assert not watched.wrong
    assert len(watched.order) == 30
    assert 1 < watched.most_sharing <= 3


def test_no_more_come_to_share_while_somebody_waits_to_be_alone(watched):
    first = threading.Thread(target=lambda: watched.share(0.6))
    first.start()
    while not watched.sharing:
        time.sleep(0.01)
    waiting = threading.Thread(target=watched.be_alone)
    waiting.start()
    time.sleep(0.2)  # it waits for the first by now
    run(watched.share)
    first.join()
    waiting.join()
    assert watched.order == ["shared", "alone", "shared"]


def test_two_verifiers_with_other_numbers_of_sharers_keep_out_of_each_others_way(tmp_path):
    wide = Watched(DeviceTurns(FileCache(tmp_path), "device", MOST_SHARING))
    narrow = DeviceTurns(FileCache(tmp_path), "device", 1)
    with narrow.alone():
        late = threading.Thread(target=wide.share)
        late.start()
        time.sleep(0.2)
        assert not wide.order
    late.join()
    assert wide.order == ["shared"]


def test_closing_ends_all_waiting(tmp_path):
    cache = FileCache(tmp_path)
    turns, errors = DeviceTurns(cache, "device", 2), []

    def wait(turn):
        with pytest.raises(NotJudged) as raised, turn():
            pass
        errors.append(raised.value)

    other = DeviceTurns(FileCache(tmp_path), "device", 2)
    with other.alone():
        threads = [threading.Thread(target=wait, args=[turn]) for turn in (turns.alone, turns.shared)]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        cache.close()
        for thread in threads:
            thread.join(timeout=60)
    assert len(errors) == 2


def test_it_is_idle_while_nobody_has_it(tmp_path):
    turns = DeviceTurns(FileCache(tmp_path), "device", 2)
    assert turns.is_idle()
    with turns.shared():
        assert not turns.is_idle()
    with turns.alone():
        assert not turns.is_idle()
    assert turns.is_idle()


@pytest.mark.parametrize("sharing", [0, MOST_SHARING + 1])
def test_an_impossible_number_of_sharers_is_refused(tmp_path, sharing):
    with pytest.raises(ValueError, match="can share a device"):
        DeviceTurns(FileCache(tmp_path), "device", sharing)
