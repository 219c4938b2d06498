"""The stage that has programs written and checked: right ones are kept in the order of their seeds, whoever kills."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from support.gallery_author import gallery_program
from support.synth_runs import opened, programs_made, small_config

from mooreeval.errors import UsageError
from musacoder.data.records import Program
from musacoder.synth.folder import BATCHES, PROGRAMS
from musacoder.synth.programs import BatchDone, select


def of_family(family, seed):
    return gallery_program("relu/plain", seed).model_copy(update={"family": family})


def test_no_family_has_more_than_its_share_and_the_first_seeds_go_first():
    programs = [of_family("ab"[seed % 10 == 0], seed) for seed in range(100)]
    found = select(reversed(programs), 20, 0.8)
    assert Counter(p.family for p in found.kept) == {"a": 16, "b": 4}
    assert [p.seed for p in found.kept] == sorted(p.seed for p in found.kept)
    assert found.dropped == {("a", "its family has its share"): 11}


def test_a_program_that_is_written_twice_is_kept_once():
    twice = gallery_program("relu/plain", 1).model_copy(update={"seed": 2})
    found = select([gallery_program("relu/plain", 1), twice, gallery_program("relu/plain", 3)], 5, 1)
    assert [p.seed for p in found.kept] == [1, 3]
    assert found.dropped == {("relu", "the same program again"): 1}


@pytest.mark.slow
def test_what_is_wrong_is_refused_with_its_reason_and_what_is_right_is_kept(tmp_path):
    facts = programs_made(tmp_path)
    with opened(tmp_path) as folder:
        kept = list(folder.read(PROGRAMS, Program))
        batches = list(folder.read(BATCHES, BatchDone))
    assert [p.seed for p in kept] == [0, 1, 2, 3, 4, 5, 7, 8]
    assert {p.judged_by for p in kept} == {"trusted batch"}
    refused = [each for batch in batches for each in batch.refused]
    assert [(each.seed, each.status) for each in refused][:1] == [(6, "incorrect")]
    assert "elements of output are wrong" in refused[0].reason
    assert facts["dropped"]["relu"]["incorrect"] == len(refused)
    assert facts["programs"] == sum(facts["families"].values()) == 8


@pytest.mark.slow
def test_a_kill_loses_the_batches_in_the_works_and_the_run_ends_as_if_there_had_been_none(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-m", "support.synth_runs", str(killed)], env=environment)
    batches, until = killed / BATCHES, time.monotonic() + 120
    while not (batches.exists() and batches.read_bytes().count(b"\n") >= 1) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / PROGRAMS).exists()
    before = batches.read_bytes().count(b"\n")
    with batches.open("ab") as file:
        file.write(b'{"torn')
    programs_made(killed, small_config(count=4))
    programs_made(whole, small_config(count=4))
    assert before >= 1 and batches.read_bytes().count(b"\n") > before
    assert (killed / PROGRAMS).read_bytes() == (whole / PROGRAMS).read_bytes()


@pytest.mark.slow
def test_seeds_that_end_too_soon_are_told_and_nothing_is_lost(tmp_path):
    config = small_config(most_seeds=4)
    with pytest.raises(UsageError, match=r"4 seeds gave 4 of 8 programs: raise programs\.most_seeds"):
        programs_made(tmp_path, config)
    with opened(tmp_path, config) as folder:
        assert [batch.correct for batch in folder.read(BATCHES, BatchDone)] == [2, 2]
