"""What the author writes is right: judged on the simulator, many at a time, and some by the judge alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mooreeval.batch import BatchVerifier
from mooreeval.config import load_config
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier
from musacoder.data import author
from musacoder.data.operators import FAMILIES
from musacoder.data.records import Program, Split
from musacoder.data.trusted import pair_of


def _wrong(programs: Sequence[Program]) -> list[str]:
    with BatchVerifier() as verifier:
        outcomes = verifier.check([pair_of(program) for program in programs]).outcomes
    pairs = zip(programs, outcomes, strict=True)
    return [f"{p.operators} {dict(p.style)}: {o.reason}" for p, o in pairs if o.status is not Status.CORRECT]


@pytest.mark.slow
def test_a_handful_is_right_and_a_fault_among_them_is_seen() -> None:
    programs = [author.write(1, family=family, length=1) for family in ("loss", "softmax", "matmul", "pooling")]
    code = programs[0].candidate_code
    broken = code.replace("s += ", "s -= ", 1)
    assert broken != code
    wrong = _wrong([*programs, programs[0].model_copy(update={"candidate_code": broken})])
    assert len(wrong) == 1
    assert "opposite sign" in wrong[0]


@pytest.mark.slow
def test_every_family_is_right_in_all_splits() -> None:
    programs = [author.write(100 + k, family=family) for family in FAMILIES for k in range(5)]
    for split in (Split.UNSEEN_OP, Split.UNSEEN_COMBO, Split.LONG_CHAIN):
        programs += [author.write(seed, split) for seed in range(5)]
    assert not _wrong(programs)


@pytest.mark.slow
def test_other_candidates_for_a_task_are_right_too() -> None:
    programs = [author.write(seed, family=family) for seed, family in enumerate(FAMILIES)]
    assert not _wrong([author.rewrite(program, seed) for program in programs for seed in (1, 2)])


@pytest.mark.slow
def test_the_judge_alone_agrees() -> None:
    programs = [author.write(300, family=family) for family in FAMILIES[::3]]
    with LocalVerifier(load_config(settings=["backend=simulator"])) as verifier:
        outcomes = verifier.verify_many([pair_of(program) for program in programs], workers=2)
    assert [o.verdict and o.verdict.status for o in outcomes] == [Status.CORRECT] * len(programs)
