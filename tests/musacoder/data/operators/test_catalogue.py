from collections import Counter

import pytest

from musacoder.data.operators import CATALOGUE, FAMILIES, Gathered, Pointwise, Sliced


def test_every_family_has_operators() -> None:
    counts = Counter(operator.family for operator in CATALOGUE.values())
    assert set(counts) == set(FAMILIES)
    assert min(counts.values()) >= 10


def test_every_spelling_names_the_input_and_every_operand() -> None:
    for operator in CATALOGUE.values():
        assert operator.spellings
        for spelling in operator.spellings:
            assert "{x}" in spelling
            assert all(f"{{{operand.role}}}" in spelling for operand in operator.operands), spelling


@pytest.mark.parametrize("key", [key for key, operator in CATALOGUE.items() if operator.constants])
def test_every_constant_is_used_by_the_spelling_and_by_the_kernel(key: str) -> None:
    operator = CATALOGUE[key]
    for name in operator.constants:
        assert all(f"{{{name}}}" in s for s in operator.spellings)
        if isinstance(operator, Pointwise):
            assert f"{{{name}}}" in operator.device
        if isinstance(operator, Sliced):
            assert f"{{{name}}}" in " ".join([operator.result, operator.each, *(p.term for p in operator.passes)])
        if isinstance(operator, Gathered):
            assert f"<{name}>" in " ".join(operator.body({}))


def test_a_module_that_stands_for_weights_says_where_it_holds_each() -> None:
    for operator in CATALOGUE.values():
        if operator.module and operator.operands:
            assert set(operator.held) == {operand.role for operand in operator.operands if operand.is_weight}
