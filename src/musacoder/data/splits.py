"""Which graphs are for training and which are for tests, told by the graph alone.

Some operators, some pairs of adjacent operators, and some operators on their own are held out by name; what is held
out is never in a training task, whoever made it. The tasks of the fixed test sets are committed by hash.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files

from mooreeval.hashing import content_hash
from musacoder.data.graph import Graph
from musacoder.data.records import Split

LONGEST_IN_TRAINING = 5  # operators
LONGEST = 8
HELD_OUT_OPERATORS = frozenset(
    "atan squared_relu abs_difference maximum_column abs_max max_abs_normalize softmax_weighted matmul_nt lp_pool2d "
    "depthwise_conv1d rotate90 add_reversed hinge_loss".split()
)
_ONE_PAIR_IN = 6
_ONE_SINGLE_IN = 8


def is_held_pair(first: str, second: str) -> bool:
    """Whether no training task has the second operator read what the first made."""
    return int(content_hash(["pair", first, second])[:8], 16) % _ONE_PAIR_IN == 0


def is_held_single(operator: str) -> bool:
    """Whether no training task consists of this operator alone."""
    return int(content_hash(["single", operator])[:8], 16) % _ONE_SINGLE_IN == 0


def split_of(graph: Graph) -> Split | None:
    """The split that a graph belongs to; None where it belongs nowhere, such as with seen and unseen pairs."""
    length, operators = len(graph.nodes), set(graph.operators)
    held = [is_held_pair(*pair) for pair in graph.pairs]
    if operators & HELD_OUT_OPERATORS:
        return Split.UNSEEN_OP if length <= LONGEST_IN_TRAINING else None
    if length > LONGEST_IN_TRAINING:
        return Split.LONG_CHAIN if length <= LONGEST and not any(held) else None
    if not held:
        held = [all(map(is_held_single, operators))]
    if all(held):
        return Split.UNSEEN_COMBO
    return None if any(held) else Split.TRAIN


@functools.cache
def hashes() -> Mapping[Split, tuple[str, ...]]:
    """Hashes of the tasks (`Program.task_hash`) of the fixed test sets."""
    text = files("musacoder.data").joinpath("test_sets.json").read_text(encoding="utf-8")
    return {Split(name): tuple(tasks) for name, tasks in json.loads(text).items()}


@functools.cache
def test_tasks() -> frozenset[str]:
    """All of those hashes; a task that is among them is never trained on."""
    return frozenset(task for tasks in hashes().values() for task in tasks)
