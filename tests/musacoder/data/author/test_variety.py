import pytest

from musacoder.data import author
from musacoder.data.operators import FAMILIES
from musacoder.data.structure import structure_of


def test_a_task_has_answers_of_several_structures() -> None:
    program = author.write(5, family="softmax", length=2)
    found = {structure_of(author.rewrite(program, seed).candidate_code).cluster_key for seed in range(12)}
    assert len(found) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_at_least_twenty_clusters(family: str) -> None:
    found: set[str] = set()
    for seed in range(60):
        structure = structure_of(author.write(seed, family=family).candidate_code)
        assert structure.is_whole
        found.add(structure.cluster_key)
    assert len(found) >= 20
