"""Rows as conversations: prompts are those that a model is asked later, answers have the one form that is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mooreeval.feedback import feedback
from mooreeval.task import Task, make_task
from mooreeval.task_metadata import TaskMetadata
from mooreeval.verdict import Verdict
from musacoder.data.records import Program, Row, RowKind, Turn
from musacoder.models.tokens import CountTokens, estimated_tokens
from musacoder.models.types import Message
from musacoder.prompts import Prompt, PromptConfig, Target, Templates, build_first, build_optimise, build_repair
from musacoder.prompts import Turn as Answered
from musacoder.prompts.templates import fence

Describe = Callable[[Program], TaskMetadata | None]
Reason = Callable[[Program], str | None]


def _nothing(_program: Program) -> None:
    return None


@dataclass(frozen=True)
class Asking:
    """How rows ask and answer.

    `describe` tells a task's tensors where they are known; `reason` writes what is thought before an answer, and None
    where nothing is. Reasoning is written only where prompts ask for it (`prompt.steps`).
    """

    prompt: PromptConfig = field(default_factory=PromptConfig)
    target: Target = field(default_factory=Target)
    count_tokens: CountTokens = estimated_tokens
    describe: Describe = _nothing
    reason: Reason = _nothing

    def first(self, program: Program) -> tuple[Turn, ...]:
        """The first turn. Raises PromptTooLong, as the others do."""
        return _turns(build_first(*self._about(program), count_tokens=self.count_tokens))

    def repair(self, program: Program, failed: Sequence[tuple[str, Verdict]]) -> tuple[Turn, ...]:
        """The conversation after these answers (their code) and verdicts, the last of which is not `correct`."""
        return self._followed(build_repair, program, failed)

    def optimise(self, program: Program, answered: Sequence[tuple[str, Verdict]]) -> tuple[Turn, ...]:
        """The conversation after these answers and verdicts, the last of which is `correct`."""
        return self._followed(build_optimise, program, answered)

    def own(self, text: str) -> tuple[Turn, ...] | None:
        """A question of ours, under the system message where prompts have one; None where it is too long."""
        system = Templates(self.prompt.templates).render("system.md.j2", target=self.target)
        head = [Message("system", system)] if self.prompt.system and system else []
        messages = [*head, Message("user", text)]
        if self.count_tokens(messages) > self.prompt.tokens:
            return None
        return tuple(Turn(role=m.role, content=m.content) for m in messages)

    def answer(self, code: str, thought: str | None = None) -> str:
        """The whole file in a fence, after what was thought of it where prompts ask for steps."""
        shown = fence(code, "python")
        return f"<think>\n{thought}\n</think>\n\n{shown}" if thought and self.thinks else shown

    @property
    def thinks(self) -> bool:
        """Whether answers think first: where prompts ask for the steps of it."""
        return self.prompt.steps and not self.prompt.is_compact

    def _followed(
        self, build: Callable[..., Prompt], program: Program, turns: Sequence[tuple[str, Verdict]]
    ) -> tuple[Turn, ...]:
        history = [Answered(fence(code, "python"), verdict, feedback(verdict, code)) for code, verdict in turns]
        task, config, target, metadata = self._about(program)
        return _turns(build(task, history, config, target, metadata, count_tokens=self.count_tokens))

    def _about(self, program: Program) -> tuple[Task, PromptConfig, Target, TaskMetadata | None]:
        metadata = self.describe(program) if self.prompt.shows_metadata else None
        return task_of(program), self.prompt, self.target, metadata


def task_of(program: Program) -> Task:
    """The program's task as the judge takes it. TaskError where it is none."""
    return make_task(program.task_hash[:12], program.task_code, source="a program")


def row(
    kind: RowKind,
    program: Program,
    prompt: tuple[Turn, ...],
    answer: str,
    facts: Mapping[str, str | int | float | bool | None],
    *,
    source: str | None = None,
) -> Row:
    """A row about a program, with its provenance; `verified_by` says what judged the answer, if anything did."""
    verified = program.judged_by if program.status == "correct" else None
    return Row(
        kind=kind,
        prompt=prompt,
        completion=(Turn(role="assistant", content=answer),),
        task_hash=program.task_hash,
        family=program.family,
        operators=program.operators,
        split=program.split,
        source=source or program.source,
        licence=program.licence,
        facts={"program": program.program_hash, "verified_by": verified, **facts},
    )


def judged_by(verdict: Verdict) -> dict[str, str]:
    """Facts that each row made of a verdict holds: what judged, by which kind of evidence, and what came out."""
    where = {"device": verdict.device} if verdict.device else {}
    return {"status": verdict.status.value, "backend": verdict.backend, "evidence": verdict.evidence or "none", **where}


def _turns(prompt: Prompt) -> tuple[Turn, ...]:
    return tuple(Turn(role=m.role, content=m.content) for m in prompt.messages)
