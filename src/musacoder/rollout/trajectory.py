"""What a rollout leaves: a first answer as the policy sampled it, and every turn's judgement. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mooreeval.task import Task
from mooreeval.verdict import Status, Verdict
from musacoder.models.types import Message
from musacoder.train.retry_buffer import Attempt, Failure


@dataclass(frozen=True)
class FirstTurn:
    """The turn that is trained on: ids as they were sampled, never text that was encoded again."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]  # of each completion id, under the policy and temperature that drew it
    policy_version: int  # optimisation steps that the policy had taken when it drew the answer

    def __post_init__(self) -> None:
        if len(self.completion_ids) != len(self.logprobs):
            raise ValueError(f"{len(self.completion_ids)} tokens have {len(self.logprobs)} log-probabilities")


@dataclass(frozen=True)
class JudgedTurn:
    """One answer and what became of it. `score` is None where it was not judged, and `not_judged` says why."""

    answer: str
    code: str | None
    verdict: Verdict | None
    feedback: str
    score: float | None
    not_judged: str | None = None

    @property
    def passed(self) -> bool:
        """Right and legal."""
        return self.verdict is not None and self.verdict.status is Status.CORRECT


@dataclass(frozen=True)
class Trajectory:
    """One conversation: the first turn, and all turns that were taken."""

    first: FirstTurn
    turns: tuple[JudgedTurn, ...]

    @property
    def judged(self) -> bool:
        """Whether every turn has a score: without one the trajectory has no reward and leaves its group."""
        return all(turn.score is not None for turn in self.turns)

    @property
    def scores(self) -> tuple[float, ...]:
        """s_k of every turn; only where all are judged."""
        return tuple(turn.score for turn in self.turns if turn.score is not None)

    @property
    def passed(self) -> tuple[bool, ...]:
        return tuple(turn.passed for turn in self.turns)

    @property
    def last(self) -> JudgedTurn:
        return self.turns[-1]

    def with_turn(self, turn: JudgedTurn) -> Trajectory:
        return replace(self, turns=(*self.turns, turn))


@dataclass(frozen=True)
class GroupAsk:
    """A task to be answered by a whole group; `repaired` where it is a failure that came back."""

    task: Task
    repaired: Failure | None = None


@dataclass(frozen=True)
class Group:
    """All answers to one prompt."""

    ask: GroupAsk
    prompt: tuple[Message, ...]
    trajectories: tuple[Trajectory, ...]

    @property
    def judged(self) -> Sequence[Trajectory]:
        return [t for t in self.trajectories if t.judged]

    def attempts(self) -> list[Attempt]:
        """Every judged turn, as the retry buffer wants it."""
        return [
            Attempt(code=turn.code, verdict=turn.verdict, feedback=turn.feedback, reward=turn.score)
            for trajectory in self.trajectories
            for turn in trajectory.turns
            if turn.verdict is not None and turn.score is not None
        ]
