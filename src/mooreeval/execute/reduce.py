"""Sizes that a CPU can run: a task with some of its integers made smaller.

    code -> sites -> sizes (equal integers move together) -> stages of floors: probe, plan, run -> code
            reduce_sites    reduce_search                    reduce_ladder, reduce_plan, fake_run
    candidate -> integers -> what a smaller size should have in common with the original
                 reduce_numbers, reduce_literals, reduce_wishes

Sizes that the candidate carries as literals are kept as long as the ceilings allow, because an honest kernel may be
written for them; others keep their residue modulo its tiles. What it may rest on is in part a guess: where a size was
changed against one, it is `doubtful`, and a failure should be confirmed at the sizes of a `careful` reduction.
Deterministic; executes task code, so for the reference child only.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooreeval.execute.fake_run import Cost, quick_run
from mooreeval.execute.reduce_literals import candidate_literals
from mooreeval.execute.reduce_plan import within
from mooreeval.execute.reduce_search import Search


@dataclass(frozen=True)
class Budget:
    """How much one forward pass of the task may cost (see `fake_run.Cost`)."""

    elements: int = 4_000_000  # the aim
    flops: int = 20_000_000  # the aim
    ceiling_elements: int = 64_000_000  # where sizes that the candidate carries as literals are given up
    ceiling_flops: int = 2_200_000_000  # a product of square matrices of 1024 is still below
    ceiling_bytes: int = 1536 << 20  # inputs, weights and all intermediate results

    def aim(self, factor: int = 1) -> Cost:
        """The cost to reach."""
        return Cost(self.elements * factor, self.flops * factor, self.ceiling_bytes)

    def ceiling(self) -> Cost:
        """The cost not to pass."""
        return Cost(self.ceiling_elements, self.ceiling_flops, self.ceiling_bytes)


@dataclass(frozen=True)
class Changed:
    """One integer of the task, as `verdict.Reduction` tells it. No pydantic here: the launcher starts without."""

    name: str
    original: int
    used: int
    line: int


@dataclass(frozen=True)
class ReducedTask:
    """The task as it is run."""

    code: str  # the same lines as the original's
    reductions: list[Changed]
    kept_literals: list[str]  # "dim=4096": kept at their size, because the candidate carries them
    # Sizes that the candidate carries, or whose residue modulo its tile it may rest on, reduced nonetheless: a failure
    # may be the reduction's fault.
    forced: list[str]
    doubtful: list[str]  # sizes reduced that the candidate may rest on by a guess; a careful reduction would heed it
    cost_before: Cost
    cost_after: Cost
    within_budget: bool  # whether the cost is below the aim; it may still be below the ceiling
    within_ceiling: bool
    assumptions: tuple[str, ...] = ()  # of the last fake run

    @property
    def shape_specialised_risk(self) -> bool:
        """Whether a size that the candidate may have been written for was changed."""
        return bool(self.forced)


def reduce_task(
    code: str, candidate_text: str, budget: Budget | None = None, *, name: str = "task", careful: bool = False
) -> ReducedTask:
    """The task with sizes that fit the budget as far as possible.

    Args:
        code: the task's source.
        candidate_text: the candidate's source, whatever it is; its integers are kept where possible.
        budget: what one forward pass may cost.
        name: what errors call the task.
        careful: keep whatever the candidate may rest on as long as the ceilings allow, and powers of two as such;
            no size becomes smaller than without.

    Raises:
        TaskError: the task does not run at its own sizes.
    """
    budget = budget or Budget()
    before = quick_run(code, name=name)
    search = Search(code, candidate_literals(candidate_text), before)
    if not within(before.cost, budget.aim()):
        search.reach(budget.aim, budget.ceiling())
    if careful and search.doubtful():
        second = Search(code, search.literals, before, search.written(search.values))
        second.reach(budget.aim, budget.ceiling())
        search = second if within(second.now.cost, budget.ceiling()) else search
    changed = [(site, used) for site, used in search.written(search.values).items() if site.value != used]
    changed.sort(key=lambda pair: (pair[0].line, pair[0].start))
    after = search.now.cost
    return ReducedTask(
        code=search.code_at(search.values),
        reductions=[Changed(name=s.name, original=s.value, used=used, line=s.line) for s, used in changed],
        kept_literals=[str(size) for size in search.sizes if size in search.kept],
        forced=[str(size) for size in search.forced()],
        doubtful=[str(size) for size in search.doubtful()],
        cost_before=before.cost,
        cost_after=after,
        within_budget=within(after, budget.aim()),
        within_ceiling=within(after, budget.ceiling()),
        assumptions=search.now.assumptions,
    )
