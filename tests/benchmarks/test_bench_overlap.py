"""The benchmark of overlap: what it computes from the times of a run, and that a small run goes through."""

from __future__ import annotations

import re

import pytest
from bench_overlap import main, overlap
from support.runs import judged


def at(index: int, queued: float, started: float, ended: float):
    return judged(index=index, queued_at=queued, started_at=started, ended_at=ended)


def test_a_judge_that_goes_from_one_waiting_answer_to_the_next_at_once_is_never_idle():
    found = overlap([at(0, 0, 0, 2), at(1, 0, 2, 4), at(2, 0, 4, 6)], judges=1)
    assert (found.idle_share, found.waiting_seconds, found.judged, found.wall_seconds) == (0, 4, 3, 6)


def test_time_between_two_answers_while_one_waits_is_idle():
    found = overlap([at(0, 0, 0, 2), at(1, 1, 3, 4)], judges=1)
    assert found.waiting_seconds == 2  # from 1 to 3
    assert found.idle_share == pytest.approx(0.5)  # of these, from 2 to 3


def test_a_judge_without_anything_to_judge_is_not_idle():
    found = overlap([at(0, 0, 0, 1), at(1, 100, 100, 101)], judges=1)
    assert (found.waiting_seconds, found.idle_share) == (0, 0)


def test_one_of_two_judges_that_waits_is_half_of_their_time():
    found = overlap([at(0, 0, 0, 10), at(1, 0, 10, 12)], judges=2)
    assert found.idle_share == pytest.approx(0.5)


def test_a_small_run_tells_its_overlap_and_its_memory(capsys):
    assert main(["--tasks", "5", "--samples", "4", "--judges", "2", "--judge-seconds", "0.01", "--turns", "2"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"\d+ answers judged in [\d.]+ s; some waited for [\d.]+ s, in which judges were idle", out)
    assert len(re.search(r"memory at each tenth, MiB: ([\d ]+);", out)[1].split()) == 10
