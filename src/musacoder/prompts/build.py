"""Prompts: the first turn, a repair after a verdict, a faster version of what is right. Never longer than the budget.

    task, metadata, turns ──> Draft (what is shown, how long) ──> messages ──> counted ──> the first draft that fits

Drafts go from everything to the least, see `_stages`; what a draft left out is told in `Prompt.shortened`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from mooreeval.candidate import Candidate
from mooreeval.extract import extract
from mooreeval.task import Task
from mooreeval.task_metadata import TaskMetadata
from mooreeval.verdict import Status
from musacoder.models.tokens import CountTokens, estimated_tokens
from musacoder.models.types import Message
from musacoder.prompts import facts
from musacoder.prompts.config import PromptConfig
from musacoder.prompts.cutting import cut_in_the_middle
from musacoder.prompts.target import Target
from musacoder.prompts.templates import Templates, fence
from musacoder.prompts.types import Prompt, PromptTooLong, Turn

_FEW = 4  # tensors of one kind, where even `listed` are too many
_CODE_MARK = "# [... {} characters left out ...]"


@dataclass(frozen=True)
class Draft:
    """How much is shown. None: whole."""

    listed: int
    example: bool
    metadata: bool
    steps: bool
    turns: int
    prose: bool = True  # of earlier answers, beside their code
    feedback: int | None = None  # characters of the last one
    answer: int | None = None  # characters of the last one's code


def build_first(
    task: Task,
    config: PromptConfig,
    target: Target,
    metadata: TaskMetadata | None = None,
    *,
    count_tokens: CountTokens = estimated_tokens,
) -> Prompt:
    """The first turn of a conversation. Raises PromptTooLong, or UsageError for a template that is wrong."""
    return _Builder(task, (), config, target, metadata, count_tokens).build()


def build_repair(
    task: Task,
    history: Sequence[Turn],
    config: PromptConfig,
    target: Target,
    metadata: TaskMetadata | None = None,
    *,
    count_tokens: CountTokens = estimated_tokens,
) -> Prompt:
    """The turn after a last answer that is not right. Raises as `build_first`."""
    return _Builder(task, history, config, target, metadata, count_tokens, last="repair").build()


def build_optimise(
    task: Task,
    history: Sequence[Turn],
    config: PromptConfig,
    target: Target,
    metadata: TaskMetadata | None = None,
    *,
    count_tokens: CountTokens = estimated_tokens,
) -> Prompt:
    """The turn after a last answer that is right: its times and its profile. Raises as `build_first`."""
    return _Builder(task, history, config, target, metadata, count_tokens, last="optimise").build()


class _Builder:
    """One prompt."""

    def __init__(
        self,
        task: Task,
        history: Sequence[Turn],
        config: PromptConfig,
        target: Target,
        metadata: TaskMetadata | None,
        count_tokens: CountTokens,
        last: str = "",
    ) -> None:
        if last and not history:
            raise ValueError("a turn that follows needs the turns before it")
        self._task, self._history, self._last = task, tuple(history), last
        self._config, self._target, self._count = config, target, count_tokens
        self._metadata = metadata if config.shows_metadata else None
        self._templates = Templates(config.templates)
        self._codes = [_code(turn.answer) for turn in self._history]

    def build(self) -> Prompt:
        """The first draft that fits, with as much as fits of what was cut in it."""
        whole = self._whole()
        for draft in self._stages(whole):
            if self._fits(draft):
                draft = self._grown(draft)
                messages = self._messages(draft)
                return Prompt(messages, tuple(self._told(whole, draft)), self._count(messages))
        least = self._count(self._messages(draft))
        raise PromptTooLong(
            f"task {self._task.task_id}: its shortest prompt has {least} tokens, the budget is {self._config.tokens} "
            "(prompt.tokens)"
        )

    def _whole(self) -> Draft:
        config, full = self._config, not self._config.is_compact
        example, steps = config.example and full, config.steps and full
        return Draft(config.listed, example, self._metadata is not None, steps, config.turns)

    def _stages(self, whole: Draft) -> Iterator[Draft]:
        """From everything to the least that still makes sense; each leaves out one more thing."""
        config, draft = self._config, whole
        yield draft
        changes: list[dict[str, int | bool]] = []
        if self._history:
            changes += [{"prose": False}]
            changes += [{"turns": turns} for turns in range(min(whole.turns, len(self._history)) - 1, 0, -1)]
        changes += [{"listed": min(_FEW, whole.listed)}, {"example": False}]
        if self._history:
            changes += [{"feedback": config.feedback_characters}]
        changes += [{"steps": False}, {"metadata": False}]
        if self._history:
            changes += [{"answer": config.answer_characters}]
        for change in changes:
            draft = replace(draft, **change)
            yield draft

    def _fits(self, draft: Draft) -> bool:
        return self._count(self._messages(draft)) <= self._config.tokens

    def _grown(self, draft: Draft) -> Draft:
        """Cut texts with as many characters as there is room for: the answer first, which is to be worked on."""
        if draft.answer is not None:
            most = len(self._codes[-1])
            draft = replace(draft, answer=self._most(draft.answer, most, lambda n: replace(draft, answer=n)))
        if draft.feedback is not None:
            most = len(self._history[-1].feedback)
            draft = replace(draft, feedback=self._most(draft.feedback, most, lambda n: replace(draft, feedback=n)))
        return draft

    def _most(self, least: int, most: int, made: Callable[[int], Draft]) -> int:
        """The largest number between the two whose draft fits, `least` being one that does."""
        while least < most:
            middle = (least + most + 1) // 2
            if self._fits(made(middle)):
                least = middle
            else:
                most = middle - 1
        return least

    def _told(self, whole: Draft, draft: Draft) -> Iterator[str]:
        """What a draft shows less of than the whole one would."""
        if (dropped := len(self._history) - draft.turns) > 0:
            yield f"{dropped} of {len(self._history)} earlier turns left out, the oldest"
        if not draft.prose and any(c != t.answer for c, t in zip(self._codes, self._history, strict=True)):
            yield "of earlier answers only the code is shown"
        if self._metadata and draft.metadata and self._left_out(draft) > self._left_out(whole):
            yield f"{self._left_out(draft)} tensors of the metadata left out"
        for name, words in (
            ("example", "the worked example left out"),
            ("steps", "the six steps left out"),
            ("metadata", "the metadata left out"),
        ):
            if getattr(whole, name) and not getattr(draft, name):
                yield words
        for limit, text, what in (
            (draft.feedback, self._history[-1].feedback if self._history else "", "the feedback"),
            (draft.answer, self._codes[-1] if self._codes else "", "the last answer"),
        ):
            if limit is not None and limit < len(text):
                yield f"{what} cut in the middle, to {limit} of {len(text)} characters"

    def _left_out(self, draft: Draft) -> int:
        assert self._metadata is not None
        return facts.metadata_facts(self._metadata, draft.listed).left_out

    def _messages(self, draft: Draft) -> tuple[Message, ...]:
        system = self._templates.render("system.md.j2", target=self._target)
        first = self._first(draft)
        if system and not self._config.system:
            first = f"{system}\n\n{first}"
        head = [Message("system", system)] if system and self._config.system else []
        return (*head, Message("user", first), *self._following(draft))

    def _first(self, draft: Draft) -> str:
        metadata = facts.metadata_facts(self._metadata, draft.listed) if self._metadata and draft.metadata else None
        return self._templates.render(
            "first.md.j2",
            task=self._task.code,
            target=self._target,
            metadata=metadata,
            steps=draft.steps,
            example=self._templates.example(self._target) if draft.example else None,
        )

    def _following(self, draft: Draft) -> Iterator[Message]:
        """Earlier answers and what was said of each; what the model is asked now comes last."""
        shown = min(draft.turns, len(self._history))
        for number in range(len(self._history) - shown, len(self._history)):
            is_last = number == len(self._history) - 1
            yield Message("assistant", self._answer(number, draft, is_last))
            left_out = len(self._history) - shown if is_last else 0
            yield Message("user", self._said(self._history[number], draft, is_last, left_out))

    def _answer(self, number: int, draft: Draft, is_last: bool) -> str:
        answer, code = self._history[number].answer, self._codes[number]
        if is_last and draft.answer is not None:
            code = cut_in_the_middle(code, draft.answer, mark=_CODE_MARK)
        elif draft.prose or code == answer:
            return answer
        return fence(code, "python")

    def _said(self, turn: Turn, draft: Draft, is_last: bool, left_out: int) -> str:
        kind = self._last if is_last else "optimise" if turn.verdict.status is Status.CORRECT else "repair"
        if kind == "optimise":
            return self._templates.render(
                "optimise.md.j2",
                target=self._target,
                times=facts.times(turn.verdict.timing),
                profile=facts.profile(turn.verdict.profile),
                best_ms=self._best_ms(turn) if is_last else None,
                left_out=left_out,
            )
        feedback = turn.feedback
        if is_last and draft.feedback is not None:
            feedback = cut_in_the_middle(feedback, draft.feedback)
        status = turn.verdict.status.value.replace("_", " ")
        return self._templates.render(
            "repair.md.j2", target=self._target, status=status, feedback=feedback, left_out=left_out
        )

    def _best_ms(self, turn: Turn) -> str | None:
        """The least time of an answer of this conversation, where it is not the last one's."""
        timed = [t.verdict.timing.candidate_ms for t in self._history if t.verdict.timing]
        last = turn.verdict.timing
        return f"{min(timed):.4g}" if timed and (last is None or min(timed) < last.candidate_ms) else None


def _code(answer: str) -> str:
    """The code in an answer; all of it where there is none."""
    found = extract(answer)
    return found.code if isinstance(found, Candidate) else answer
