from collections import Counter

import pytest

from musacoder.data import author, splits
from musacoder.data.graph import Graph, Node, TensorSpec
from musacoder.data.records import Split

TESTS = [split for split in Split if split is not Split.TRAIN]


def _chain(*operators: str) -> Graph:
    names = ["x", *(f"t{k}" for k in range(1, len(operators) + 1))]
    nodes = [
        Node(operator=key, inputs=(before,), output=TensorSpec(name=after, shape=(8,)))
        for key, before, after in zip(operators, names, names[1:], strict=False)
    ]
    return Graph(inputs=(TensorSpec(name="x", shape=(8,)),), nodes=tuple(nodes), outputs=(names[-1],))


def test_a_held_out_operator_is_enough_for_a_test() -> None:
    held = min(splits.HELD_OUT_OPERATORS)
    assert splits.split_of(_chain(held)) is Split.UNSEEN_OP
    assert splits.split_of(_chain("relu", held, "tanh")) is Split.UNSEEN_OP
    assert splits.split_of(_chain(*["relu"] * 6, held)) is None


def test_a_graph_with_seen_and_unseen_pairs_belongs_nowhere() -> None:
    keys = ["relu", "tanh", "abs", "sin", "neg", "silu", "elu", "mish", "softmax", "amax"]
    held = [(a, b) for a in keys for b in keys if splits.is_held_pair(a, b)]
    a, b = held[0]
    c = next(key for key in keys if not splits.is_held_pair(b, key))
    assert splits.split_of(_chain(a, b)) is Split.UNSEEN_COMBO
    assert splits.split_of(_chain(a, b, c)) is None


def test_chains_longer_than_any_in_training_are_a_test_of_their_own() -> None:
    a, b = next((a, b) for a in ("relu", "tanh") for b in ("abs", "sin", "neg")
                if not splits.is_held_pair(a, b) and not splits.is_held_pair(b, a))  # fmt: skip
    assert splits.split_of(_chain(*[a, b] * 2)) is Split.TRAIN
    assert splits.split_of(_chain(*[a, b] * 3)) is Split.LONG_CHAIN
    assert splits.split_of(_chain(*[a, b] * 5)) is None


@pytest.mark.parametrize("split", TESTS)
def test_the_committed_test_set_is_the_one_that_is_drawn(split: Split) -> None:
    drawn = [program.task_hash for program, _ in zip(author.test_set(split), range(10), strict=False)]
    assert drawn == list(splits.hashes()[split][:10])


@pytest.mark.parametrize("split", TESTS)
def test_a_test_set_has_at_least_a_hundred_tasks(split: Split) -> None:
    assert len(set(splits.hashes()[split])) >= 100


@pytest.mark.slow
def test_unseen_combinations_are_of_all_lengths_evenly_and_unseen() -> None:
    graphs = [p.graph for p in author.test_set(Split.UNSEEN_COMBO) if p.graph is not None]
    counts = Counter(len(graph.nodes) for graph in graphs)
    assert set(counts) == {1, 2, 3, 4, 5}
    assert max(counts.values()) == min(counts.values())
    assert all(splits.is_held_pair(*pair) for graph in graphs for pair in graph.pairs)


@pytest.mark.slow
def test_training_never_draws_from_a_test() -> None:
    tests = [p.graph for split in TESTS for p in author.test_set(split) if p.graph is not None]
    signatures, unseen = {g.signature for g in tests}, set()
    for graph in tests:
        if splits.split_of(graph) is Split.UNSEEN_COMBO:
            unseen |= graph.pairs
    for seed in range(2000):
        program = author.write(seed)
        graph = program.graph
        assert graph is not None
        assert not set(graph.operators) & splits.HELD_OUT_OPERATORS
        assert len(graph.nodes) <= splits.LONGEST_IN_TRAINING
        assert not graph.pairs & unseen
        assert graph.signature not in signatures
        assert program.task_hash not in splits.test_tasks()
