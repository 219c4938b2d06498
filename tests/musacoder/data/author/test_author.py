from collections import Counter

import pytest

from musacoder.data import author, splits
from musacoder.data.operators import FAMILIES
from musacoder.data.records import Program, Split

MANY = 120


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [author.write(seed) for seed in range(MANY)]


def test_a_program_follows_from_its_seed_alone(programs: list[Program]) -> None:
    assert [author.write(seed) for seed in range(10)] == programs[:10]


def test_every_family_is_drawn_and_none_too_often(programs: list[Program]) -> None:
    counts = Counter(program.family for program in programs)
    assert set(counts) == set(FAMILIES)
    assert max(counts.values()) <= 0.2 * MANY


def test_programs_differ(programs: list[Program]) -> None:
    assert len({program.program_hash for program in programs}) == MANY
    assert len({program.task_hash for program in programs}) == MANY


def test_answers_are_short(programs: list[Program]) -> None:
    lengths = [len(program.candidate_code) for program in programs]
    assert sum(lengths) / MANY < 1750
    assert max(lengths) < 4000


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_and_a_length_can_be_asked_for(family: str) -> None:
    for length in (2, 4):
        program = author.write(3, family=family, length=length)
        assert len(program.operators) == length
        assert program.family in FAMILIES


def test_a_program_can_be_written_in_another_way(programs: list[Program]) -> None:
    for program in programs[:30]:
        others = [author.rewrite(program, seed) for seed in range(1, 6)]
        assert {other.task_code for other in others} == {program.task_code}
        assert len({other.candidate_code for other in others}) > 2


def test_a_graph_alone_can_be_written(programs: list[Program]) -> None:
    graph = programs[0].graph
    assert graph is not None
    written = author.rewrite(graph, 5)
    assert written.graph == graph
    assert written.task_code == author.write_task(graph, 5)


def test_what_another_wrote_is_not_rewritten(programs: list[Program]) -> None:
    foreign = programs[0].model_copy(update={"graph": None, "source": "teacher:someone"})
    with pytest.raises(ValueError, match="only the author's own"):
        author.rewrite(foreign, 1)


def test_a_split_without_such_a_graph_is_told() -> None:
    with pytest.raises(author.NoGraphError, match="2 operators is of long_chain"):
        author.write(1, Split.LONG_CHAIN, family="matmul", length=2)


@pytest.mark.parametrize("split", Split)
def test_a_program_is_of_the_split_that_was_asked_for(split: Split) -> None:
    for seed in range(20):
        program = author.write(seed, split)
        assert program.split is split
        assert program.graph is not None
        assert splits.split_of(program.graph) is split
