"""Rollouts as lines of a training run's folder: what was asked, answered and judged, for people and for reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from mooreeval.errors import UsageError
from mooreeval.verdict import Record
from musacoder.rollout.trajectory import Group, JudgedTurn, Trajectory
from musacoder.runlog.lines import Lines, read_lines

ROLLOUTS = "rollouts.jsonl"


class AnswerTold(Record):
    """One turn."""

    code: str | None
    status: str | None  # of the verdict; None where there is none
    reason: str  # of the verdict, or why there is none
    rules: tuple[str, ...] = ()  # ids of the rules that it broke
    score: float | None
    feedback: str


class RolloutTold(Record):
    """One trajectory."""

    schema_version: Literal[1] = 1
    step: int
    group: int  # of its process
    rank: int
    index: int  # within its group
    task_hash: str
    task_id: str
    repairs: bool  # whether its prompt was a failure that came back
    policy_version: int
    tokens: int  # of the first turn
    reward: float | None  # None: not judged
    turns: tuple[AnswerTold, ...]


def told(
    step: int, rank: int, groups: Sequence[Group | None], reward: Callable[[Trajectory], float]
) -> list[RolloutTold]:
    """A batch's trajectories. `reward` is asked of those that were judged."""
    return [
        RolloutTold(
            step=step,
            group=number,
            rank=rank,
            index=index,
            task_hash=group.ask.task.task_hash,
            task_id=group.ask.task.task_id,
            repairs=group.ask.repaired is not None,
            policy_version=trajectory.first.policy_version,
            tokens=len(trajectory.first.completion_ids),
            reward=reward(trajectory) if trajectory.judged else None,
            turns=tuple(_answer(turn) for turn in trajectory.turns),
        )
        for number, group in enumerate(groups)
        if group is not None
        for index, trajectory in enumerate(group.trajectories)
    ]


def _answer(turn: JudgedTurn) -> AnswerTold:
    verdict = turn.verdict
    return AnswerTold(
        code=turn.code,
        status=None if verdict is None else verdict.status.value,
        reason=(turn.not_judged or "") if verdict is None else verdict.reason,
        rules=() if verdict is None else tuple(sorted({hit.rule for hit in verdict.rules})),
        score=turn.score,
        feedback=turn.feedback,
    )


def write(lines: Lines, rollouts: Sequence[RolloutTold]) -> None:
    """Append them in one go."""
    if rollouts:
        lines.append("\n".join(rollout.model_dump_json() for rollout in rollouts))


def read(path: Path, before: int | None = None) -> Iterator[RolloutTold]:
    """Rollouts of steps below `before`, by step; of a step that was done twice, after a crash, the later ones.

    Raises UsageError for a line that is no rollout.
    """
    found: dict[tuple[int, int, int, int], RolloutTold] = {}
    for _, place, data in read_lines(path):
        try:
            rollout = RolloutTold.model_validate(data)
        except ValueError:
            raise UsageError(f"{place} is no rollout") from None
        if before is None or rollout.step < before:
            found[rollout.step, rollout.rank, rollout.group, rollout.index] = rollout
    for key in sorted(found):
        yield found[key]
