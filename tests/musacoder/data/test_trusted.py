"""Only our own author's programs are checked many at a time, and the judge has the last word on some of them."""

import pytest
from support.gallery_author import gallery_program
from support.verdicts import verdict

from mooreeval.batch import BatchVerifier
from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.errors import UsageError
from mooreeval.verdict import Status
from mooreeval.verify import ScriptedVerifier
from musacoder.data.trusted import (
    Disagreement,
    audited,
    check_programs,
    drawn_for_audit,
    require_agreement,
    verified,
)


def test_a_program_of_anybody_else_is_refused_before_anything_runs():
    theirs = gallery_program("relu/plain", source="teacher:gpt")
    with (
        BatchVerifier(load_config()) as verifier,
        pytest.raises(UsageError, match="of 'teacher:gpt': only programs of"),
    ):
        next(check_programs(verifier, [[gallery_program("relu/plain"), theirs]], 1))


def test_who_called_a_program_correct_is_kept_with_it():
    program = verified(gallery_program("relu/plain"))
    assert (program.status, program.judged_by) == ("correct", "trusted batch")
    assert program.program_hash == gallery_program("relu/plain").program_hash


def test_lots_are_drawn_alike_whatever_else_there_is():
    programs = [gallery_program("relu/plain", seed) for seed in range(3000)]
    drawn = drawn_for_audit(programs, 0.01, 0)
    assert 15 <= len(drawn) <= 50
    some = programs[1000:2000]
    assert drawn_for_audit(some[::-1], 0.01, 0)[::-1] == [p for p in drawn if p in some]
    assert len(drawn_for_audit(programs[:3], 0.01, 0)) == 1
    assert drawn_for_audit(programs, 0.01, 1) != drawn


@pytest.mark.parametrize("status", [Status.INCORRECT, Status.RUNTIME_ERROR, Status.UNSUPPORTED])
def test_one_disagreement_is_an_error_that_names_the_program(status):
    right, wrong = gallery_program("relu/plain", 7), gallery_program("relu/missing_tail", 8)
    said = {Candidate(right.candidate_code).candidate_hash: verdict(Status.CORRECT)}
    said[Candidate(wrong.candidate_code).candidate_hash] = verdict(status)
    entries = [audited(program, ScriptedVerifier(said)) for program in (right, wrong)]
    require_agreement(entries[:1])
    with pytest.raises(
        Disagreement, match=rf"program {wrong.program_hash[:12]} \(family relu, seed 8\).*: {status.value}"
    ):
        require_agreement(entries)
