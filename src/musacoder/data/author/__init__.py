"""The rule-based author: graphs of operators, PyTorch references that spell them, CUDA candidates that compute them.

`write` gives a task and a correct answer, `rewrite` another answer to it; both follow from their arguments alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from musacoder.data import splits
from musacoder.data.author.candidate_text import candidate_text
from musacoder.data.author.sample import NoGraphError, draw_graph
from musacoder.data.author.task_text import task_text
from musacoder.data.graph import Graph
from musacoder.data.operators import CATALOGUE, FAMILIES
from musacoder.data.records import Program, Split

__all__ = ["NoGraphError", "family_of", "rewrite", "test_set", "write", "write_task"]

_LICENCE = "Apache-2.0"
_LENGTHS = {
    Split.TRAIN: (1, 2, 2, 3, 3, 3, 4, 4, 5),
    Split.UNSEEN_OP: (1, 2, 3, 4),
    Split.UNSEEN_COMBO: (1, 2, 3, 4, 5),
    Split.LONG_CHAIN: (6, 7, 8),
}
_SHORTEST = {split: splits.LONGEST_IN_TRAINING + 1 if split is Split.LONG_CHAIN else 1 for split in Split}
_LONGEST = {split: splits.LONGEST if split is Split.LONG_CHAIN else splits.LONGEST_IN_TRAINING for split in Split}
_TEST_TASKS = 120  # of each test set
_TEST_LENGTHS = {
    Split.UNSEEN_OP: (1, 2, 3, 4),
    Split.UNSEEN_COMBO: (1, 2, 3, 4, 5),
    Split.LONG_CHAIN: (6, 7, 8),
}
# Where several operators are not point-wise, the first of these names the family.
_WEIGHT = ("convolution", "matmul", "pooling", "loss", "softmax", "normalisation", "reduction", "indexing")


def write(seed: int, split: Split = Split.TRAIN, *, family: str | None = None, length: int | None = None) -> Program:
    """A task of the split and a correct candidate; `length` counts operators.

    Raises NoGraphError where the split has no such graph, such as a long chain of two operators.
    """
    if length is not None and not _SHORTEST[split] <= length <= _LONGEST[split]:
        raise NoGraphError(f"no graph of {length} operators is of {split}")
    for attempt in range(100):
        rng = random.Random(f"write/{seed}/{split}/{family}/{length}/{attempt}")
        chosen = family or rng.choice(FAMILIES)
        try:
            graph = draw_graph(rng, split, chosen, length or rng.choice(_LENGTHS[split]))
        except NoGraphError:
            if family and length:
                raise
            continue
        return _program(graph, split, task_seed=seed, candidate_seed=seed)
    raise NoGraphError(f"no graph of {family or 'any family'} for {split}")


def rewrite(task: Program | Graph, seed: int) -> Program:
    """Another candidate for a program's task or, of a graph alone, a task and a candidate."""
    if isinstance(task, Program):
        if task.graph is None or "task_seed" not in task.style:
            raise ValueError("only the author's own programs can be rewritten")
        return _program(task.graph, task.split, int(task.style["task_seed"]), seed)
    split = splits.split_of(task)
    if split is None:
        raise ValueError("the graph belongs to no split")
    return _program(task, split, seed, seed)


def write_task(graph: Graph, seed: int) -> str:
    """The PyTorch reference of a graph, in one of many spellings."""
    return task_text(graph, seed).code


def family_of(graph: Graph) -> str:
    """The family of the operator that decides a kernel's form."""
    families = {CATALOGUE[key].family for key in graph.operators}
    is_heavy = next((family for family in _WEIGHT if family in families), None)
    return is_heavy or ("broadcast" if "broadcast" in families else "elementwise")


def test_set(split: Split) -> Iterator[Program]:
    """The programs of a fixed test set, whose task hashes are committed; equally many of each length."""
    seen: set[str] = set()
    for length in _TEST_LENGTHS[split]:
        wanted, number = _TEST_TASKS // len(_TEST_LENGTHS[split]), 0
        while wanted:
            number += 1
            try:
                program = write(number, split, family=FAMILIES[number % len(FAMILIES)], length=length)
            except NoGraphError:
                continue
            if program.task_hash not in seen:
                seen.add(program.task_hash)
                wanted -= 1
                yield program


def _program(graph: Graph, split: Split, task_seed: int, candidate_seed: int) -> Program:
    family, task = family_of(graph), task_text(graph, task_seed)
    candidate = candidate_text(graph, task, family, candidate_seed)
    return Program(
        task_code=task.code,
        candidate_code=candidate.code,
        family=family,
        operators=graph.operators,
        split=split,
        source="author",
        licence=_LICENCE,
        seed=candidate_seed,
        style={**candidate.style, "task_seed": task_seed},
        graph=graph,
    )
