"""Second answers to the author's tasks, in fewer or more kernels than the first: what rows of rewrites are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mooreeval.verdict import Status
from musacoder.data import author
from musacoder.data.io import Judgement
from musacoder.data.records import Program

_TRIES = 48  # seeds of the author for one task
_OF_TWO = "two kernels"  # a kind that the author writes as two


def second_answers(programs: Iterable[Program]) -> Iterator[Program]:
    """For each of the author's programs an answer with another number of kernels, where its author finds one.

    None of them is verified yet.
    """
    for program in programs:
        if program.graph is None or "task_seed" not in program.style:
            continue
        mine = kernels(program)
        others = (author.rewrite(program, seed) for seed in range(_TRIES))
        if (found := next((o for o in others if (kernels(o) == 1) != (mine == 1)), None)) is not None:
            yield found


def kernels(program: Program) -> int:
    """How many kernels the author says to have written."""
    kinds = str(program.style.get("kernels", "")).split(" + ")
    return len(kinds) + kinds.count(_OF_TWO)


def verified(programs: Iterable[Program], judgements: Mapping[str, Judgement]) -> Iterator[Program]:
    """Those of which the judge said that they are correct, by program hash, marked as such."""
    for program in programs:
        judgement = judgements.get(program.program_hash)
        if judgement is not None and judgement.verdict.status is Status.CORRECT:
            by = {"status": Status.CORRECT.value, "judged_by": judgement.verdict.backend}
            yield program.model_copy(update=by)
