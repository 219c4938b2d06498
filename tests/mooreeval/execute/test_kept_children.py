"""Children that outlive a verdict, with real processes and no device."""

import os
import signal
import time

import pytest

from mooreeval.execute.children import Launcher
from mooreeval.execute.kept_children import MOST_IDLE


@pytest.fixture(scope="module")
def launcher():
    launcher = Launcher()
    yield launcher
    launcher.close()


def test_a_child_is_taken_once_and_under_its_own_key(launcher):
    child = launcher.spawn("reference", {})
    launcher.kept.give("reference", "a task", child)
    assert launcher.kept.take("reference", "another") is None
    assert launcher.kept.take("compare", "a task") is None
    assert launcher.kept.take("reference", "a task") is child
    assert launcher.kept.take("reference", "a task") is None
    child.ask("rest", {}, {}, 20)
    child.close()


def test_one_that_died_while_it_was_idle_is_not_handed_out(launcher):
    child = launcher.spawn("compare", {})
    child.ask("rest", {}, {}, 20)
    launcher.kept.give("compare", "", child)
    os.kill(child.pid, signal.SIGKILL)
    until = time.monotonic() + 10
    while child.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    assert launcher.kept.take("compare", "") is None


def test_the_longest_idle_goes_first(launcher):
    children = [launcher.spawn("reference", {}) for _ in range(MOST_IDLE["reference"] + 1)]
    for number, child in enumerate(children):
        launcher.kept.give("reference", str(number), child)
    assert [child.is_alive() for child in children] == [False, True, True, True, True]
    assert launcher.kept.take("reference", "0") is None
    kept = [launcher.kept.take("reference", str(n)) for n in range(1, len(children))]
    assert kept == children[1:]
    for child in kept:
        child.close()


def test_closing_ends_what_is_idle_and_what_comes_back_later():
    launcher = Launcher()
    idle, late = (launcher.spawn("compare", {}) for _ in range(2))
    launcher.kept.give("compare", "", idle)
    launcher.kept.close()
    launcher.kept.give("compare", "", late)
    assert not idle.is_alive()
    assert not late.is_alive()
    assert not idle.scratch.exists()
    launcher.close()
