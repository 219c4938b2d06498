"""A mixture has the shares that were asked for, or is refused in one line."""

from __future__ import annotations

import pytest

from mooreeval.errors import UsageError
from musacoder.data.mixture import MixtureConfig, mixture, shares
from musacoder.data.records import Row, RowKind, Turn

FAMILIES = ("elementwise", "softmax", "matmul", "pooling", "loss", "reduction")


def row(kind: RowKind, number: int, family: str) -> Row:
    return Row(
        kind=kind, prompt=(Turn(role="user", content=f"{kind} {number}"),),
        completion=(Turn(role="assistant", content="yes"),), task_hash="7" * 64, family=family, source="author",
        licence="Apache-2.0",
    )  # fmt: skip


def rows(**counts: int) -> list[Row]:
    return [row(RowKind[kind], i, FAMILIES[i % len(FAMILIES)]) for kind, n in counts.items() for i in range(n)]


ALL = {"GENERATION": 300, "REVIEWER": 30, "PROFILING": 30, "QUESTION": 30, "OPTIMISE": 30, "REPAIR": 30}


def test_shares_are_those_of_the_rows():
    found = shares(rows(**ALL))
    assert found[RowKind.GENERATION] == pytest.approx(300 / 450) and sum(found.values()) == pytest.approx(1)
    assert shares([]) == dict.fromkeys(RowKind, 0.0)


def test_what_has_enough_of_everything_stays_whole():
    assert mixture(rows(**ALL), MixtureConfig()) == rows(**ALL)


def test_every_class_that_is_too_rare_is_named_in_one_line():
    with pytest.raises(UsageError) as told:
        mixture(rows(**{**ALL, "REVIEWER": 1, "OPTIMISE": 0}), MixtureConfig())
    assert "reviewer 1 of 391 rows (0.3%), optimisation_rewrite 0 of 391 rows (0.0%)" in str(told.value)
    assert "\n" not in str(told.value) and "question" not in str(told.value)


def test_a_common_class_loses_rows_until_the_others_have_their_share():
    made = rows(**{**ALL, "GENERATION": 1300})
    kept = mixture(made, MixtureConfig(kept=0.6))
    assert len(kept) == 1000 and min(shares(kept).values()) == pytest.approx(0.03)
    assert [r for r in made if r in kept] == kept and sum(r.kind != RowKind.GENERATION for r in kept) == 150
    with pytest.raises(UsageError, match="reviewer 30 of 1450 rows"):
        mixture(made, MixtureConfig(kept=0.8))


def test_a_class_is_left_out_only_on_purpose():
    mixture(rows(**{**ALL, "OPTIMISE": 0}), MixtureConfig(without=(RowKind.OPTIMISE,)))


def test_of_profiling_a_number_of_rows_is_enough():
    assert MixtureConfig().enough == 300
    many = {**ALL, "GENERATION": 1500, "REVIEWER": 60, "QUESTION": 60, "OPTIMISE": 60, "REPAIR": 60}
    mixture(rows(**{**many, "PROFILING": 30}), MixtureConfig(enough=30))
    with pytest.raises(UsageError, match="profiling_analysis 29"):
        mixture(rows(**{**many, "PROFILING": 29}), MixtureConfig(enough=30, kept=1))


def test_rows_are_drawn_to_wanted_shares_and_none_twice():
    wanted = {RowKind.GENERATION: 0.5, RowKind.REVIEWER: 0.25, RowKind.REPAIR: 0.25}
    drawn = mixture(rows(**ALL), MixtureConfig(wanted=wanted))
    counts = [sum(r.kind == kind for r in drawn) for kind in (RowKind.GENERATION, RowKind.REVIEWER, RowKind.QUESTION)]
    assert counts == [60, 30, 30] and len({r.row_hash for r in drawn}) == len(drawn)


def test_a_draw_depends_on_its_seed_and_not_on_the_order():
    wanted = {RowKind.GENERATION: 0.5, RowKind.REVIEWER: 0.5}
    one, other, seeded = (
        {r.row_hash for r in mixture(made, MixtureConfig(wanted=wanted, seed=seed))}
        for made, seed in ((rows(**ALL), 0), (rows(**ALL)[::-1], 0), (rows(**ALL), 1))
    )
    assert one == other != seeded


def test_no_family_is_larger_than_it_may_be():
    more = [row(RowKind.GENERATION, 1000 + i, "elementwise") for i in range(400)]
    kept = mixture(rows(**ALL) + more, MixtureConfig())
    of_family = sum(r.family == "elementwise" for r in kept)
    assert 0.18 < of_family / len(kept) <= 0.2
    assert len(kept) - of_family == sum(r.family != "elementwise" for r in rows(**ALL))


def test_too_few_families_are_refused():
    with pytest.raises(UsageError, match="2 families"):
        mixture([r for r in rows(**ALL) if r.family in FAMILIES[:2]], MixtureConfig())
    mixture([r for r in rows(**ALL) if r.family in FAMILIES[:2]], MixtureConfig(family_most=0.6))
