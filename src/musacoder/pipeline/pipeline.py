"""`Pipeline`: completes what a run misses, in threads that ask and threads that judge."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, TaskError
from mooreeval.extract import extract
from mooreeval.feedback import feedback
from mooreeval.reward import reward
from mooreeval.verdict import Verdict
from mooreeval.verify import Verifier
from musacoder.config import SamplingConfig, WorkConfig
from musacoder.models import Completion, Failure, FailureKind, Message, Model
from musacoder.pipeline.desk import Ask, Desk, Waiting
from musacoder.pipeline.ledger import REPAIRABLE, Ledger
from musacoder.pipeline.outage import NoMoreAnswers, Outage, told_failure
from musacoder.prompts import PromptTooLong
from musacoder.runlog import FailureTold, Judged, Key, MessageTold, RunFolder, Sample, TokensTold
from musacoder.suites import SuiteTask

_LOOK_SECONDS = 0.2  # how soon an interrupt is seen
_MOST_UNWRITTEN = 4  # judgements, before judges wait for the disk
_END_SECONDS = 60.0  # for threads to end once model and verifier are closed


class Prompt(Protocol):
    """What is asked, and what of it was shortened."""

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def shortened(self) -> Sequence[str]: ...


class Prompts(Protocol):
    """Makes prompts; safe for several threads. Both raise PromptTooLong where no prompt of the task fits."""

    def first(self, task: SuiteTask) -> Prompt:
        """The first prompt of a task."""
        ...

    def next(self, task: SuiteTask, history: Sequence[tuple[Sample, Judged]]) -> Prompt:
        """The prompt that follows the last of these judged answers."""
        ...


@dataclass(frozen=True)
class _NoPrompt:
    messages: tuple[Message, ...] = ()
    shortened: tuple[str, ...] = ()


_NO_PROMPT = _NoPrompt()


@dataclass(frozen=True)
class Told:
    """What has just happened."""

    key: Key
    how: str  # a status, "not_judged", or the class of a failure
    is_last: bool  # that answer needs nothing more
    detail: str = ""  # one line


@dataclass(frozen=True)
class Parts:
    """What a pipeline works with. `close` frees whatever waits for model or verifier."""

    run: RunFolder
    model: Model
    verifier: Verifier
    prompts: Prompts
    sampling: SamplingConfig
    verify: VerifyConfig
    work: WorkConfig
    close: Callable[[], None]


class Pipeline:
    """Completes a run. One at a time for a run folder."""

    def __init__(self, parts: Parts, tasks: Sequence[SuiteTask], ledger: Ledger) -> None:
        self._parts, self._run, self._ledger = parts, parts.run, ledger
        self._tasks = {t.task.task_id: t for t in tasks}
        self._told: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self._turns = 1
        self._fault: BaseException | None = None
        self._outage = Outage(parts.work.failing)
        self._judged: queue.Queue[Judged | None] = queue.Queue()
        self._records = False

    def unfinished(self, samples: int, turns: int) -> int:
        """How many of the answers need something."""
        return sum(1 for _ in self._steps(samples, turns))

    def complete(self, samples: int, turns: int, on_told: Callable[[Told], None]) -> None:
        """Ask and judge until every answer is right, has as many turns, or can't go on.

        `on_told` is called in the caller's thread. An interrupt closes model and verifier; what is recorded stays.
        Raises NoMoreAnswers where the model gives none, after what it has given is judged.
        """
        self._work(self._planned(samples, turns), turns, on_told)

    def one_more(self, key: Key, on_told: Callable[[Told], None]) -> None:
        """Ask for one turn of one answer, whatever the turns before it were, and judge it; what is there stays."""
        asks, answers = ([], [key]) if self._run.has_sample(key) else ([Ask(key.task, key.index, 1, key.turn)], [])
        self._work(Desk(asks, answers, unfinished=1, most_waiting=1), key.turn, on_told)

    def _work(self, desk: Desk, turns: int, on_told: Callable[[Told], None]) -> None:
        self._desk, self._turns = desk, turns
        self._judged = queue.Queue(_MOST_UNWRITTEN)
        self._records = True
        threads = [
            *self._threads("ask", self._parts.work.asking, self._ask_all),
            *self._threads("judge", self._parts.work.judging, self._judge_all),
            *self._threads("record", 1, self._record_all),
        ]
        try:
            self._watch(threads, on_told)
        except BaseException:
            self._desk.stop()
            self._parts.close()
            raise
        finally:
            _join(threads)
        if self._fault is not None:
            raise self._fault

    # ------------------------------------------------------------------------------------------------------------- plan
    def _steps(self, samples: int, turns: int) -> Iterator[tuple[Key, str]]:
        for task in self._tasks:
            for index in range(samples):
                if step := self._ledger.next_step(task, index, turns):
                    yield Key(task, index, step.turn), step.what

    def _planned(self, samples: int, turns: int) -> Desk:
        steps = list(self._steps(samples, turns))
        asked = [key for key, what in steps if what == "ask"]
        repairs = [Ask(key.task, key.index, 1, key.turn) for key in asked if key.turn > 1]
        firsts = list(_neighbours([key for key in asked if key.turn == 1]))
        answers = [key for key, what in steps if what == "judge"]
        return Desk([*repairs, *firsts], answers, unfinished=len(steps), most_waiting=self._parts.work.waiting)

    # ---------------------------------------------------------------------------------------------------------- threads
    def _threads(self, name: str, number: int, work: Callable[[], None]) -> list[threading.Thread]:
        threads = [
            threading.Thread(target=self._guarded, args=(work,), name=f"{name}-{i}", daemon=True) for i in range(number)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _guarded(self, work: Callable[[], None]) -> None:
        """A fault in one thread ends them all, and is raised in the caller's."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by `complete`
            if not self._desk.stopped:
                self._fault = error
                self._desk.stop()
                self._parts.close()

    def _watch(self, threads: Sequence[threading.Thread], on_told: Callable[[Told], None]) -> None:
        while any(thread.is_alive() for thread in threads) or not self._told.empty():
            try:
                told = self._told.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            on_told(told)

    def _ask_all(self) -> None:
        while ask := self._desk.take_ask():
            try:
                self._ask(ask)
            except NoMoreAnswers as error:
                self._end_asking(error)
            finally:
                self._desk.asked()

    def _end_asking(self, error: NoMoreAnswers) -> None:
        """Judge what is there, and no more; what others wait for meanwhile ends with the model."""
        if not self._desk.asking_ended:
            self._fault = error
            self._desk.end_asking()
            self._parts.model.close()

    def _judge_all(self) -> None:
        try:
            while waiting := self._desk.take_answer():
                if judged := self._judge(waiting):
                    self._hand_over(judged)
        finally:
            self._hand_over(None)

    def _record_all(self) -> None:
        """A judge goes on at once with the next answer: what it found is written by this thread."""
        judging = self._parts.work.judging
        try:
            while judging:
                judged = self._judged.get()
                if judged is None:
                    judging -= 1
                else:
                    self._record(judged)
        finally:
            self._records = False

    def _hand_over(self, judged: Judged | None) -> None:
        """To the thread that records, while there is one; `None`: this judge has ended."""
        while self._records:
            with contextlib.suppress(queue.Full):
                self._judged.put(judged, timeout=_LOOK_SECONDS)
                return

    # -------------------------------------------------------------------------------------------------------------- ask
    def _ask(self, ask: Ask) -> None:
        task, asked_at, seen = self._tasks[ask.task], time.time(), set()
        try:
            prompt = self._prompt(task, ask)
        except PromptTooLong as error:
            for number in range(ask.count):
                self._answered(Key(ask.task, ask.index + number, ask.turn), _NO_PROMPT, _too_long(error), asked_at)
            return
        sampling = self._parts.sampling.of(task.task.task_hash, ask.index, ask.turn)

        def note(number: int, completion: Completion) -> None:
            seen.add(number)
            self._answered(Key(ask.task, ask.index + number, ask.turn), prompt, completion, asked_at)

        completions = self._parts.model.sample(prompt.messages, ask.count, sampling, on_completion=note)
        for number, completion in enumerate(completions):
            if number not in seen:
                note(number, completion)
        self._outage.note(completions)

    def _prompt(self, task: SuiteTask, ask: Ask) -> Prompt:
        if ask.turn == 1:
            return self._parts.prompts.first(task)
        turns = (Key(ask.task, ask.index, turn) for turn in range(1, ask.turn))
        before = [key for key in turns if self._run.has_verdict(key)]  # one without an answer has nothing to show
        return self._parts.prompts.next(task, [(self._run.sample(key), self._run.verdict(key)) for key in before])

    def _answered(self, key: Key, prompt: Prompt, completion: Completion, asked_at: float) -> None:
        failure = completion.failure
        if self._desk.stopped or (failure and self._desk.asking_ended):
            return  # cut short by us: not the model's answer
        if failure and failure.is_for_all:
            raise NoMoreAnswers(told_failure(failure))  # no failure of this answer, which is asked for again
        sample = sample_of(key, prompt, completion, asked_at, keep_tokens=self._parts.sampling.logprobs)
        self._run.add_sample(sample)
        self._ledger.note_sample(sample)
        if sample.failure is None:
            self._desk.put_answer(key)
        else:
            self._told.put(Told(key, sample.failure.kind, is_last=True, detail=sample.failure.message))
            self._desk.finish()

    # ------------------------------------------------------------------------------------------------------------ judge
    def _judge(self, waiting: Waiting) -> Judged | None:
        """The judgement; None where it was cut short by us, to be made when the run goes on."""
        started_at = time.time()
        verdict, why, text = self._verdict(self._run.sample(waiting.key))
        if verdict is None and self._desk.stopped:
            return None
        scored, why = _scored(verdict, why, self._parts.verify)
        return Judged(
            **waiting.key._asdict(),
            verdict=verdict if why is None else None,
            not_judged=why,
            reward=scored,
            feedback=text,
            queued_at=waiting.since,
            started_at=started_at,
            ended_at=time.time(),
        )

    def _record(self, judged: Judged) -> None:
        self._run.add_verdict(judged)
        self._ledger.note_verdict(judged)
        self._go_on(judged)

    def _verdict(self, sample: Sample) -> tuple[Verdict | None, str | None, str | None]:
        """The verdict on an answer with its feedback, or why there is none."""
        task = self._tasks[sample.task].task
        try:
            candidate = extract(sample.answer or "", finish_reason=sample.finish_reason)
            verdict = self._parts.verifier.verify(task, candidate)
            code = candidate.code if isinstance(candidate, Candidate) else None
            return verdict, None, feedback(verdict, code, self._parts.verify.feedback)
        except (NotJudged, TaskError) as error:
            return None, str(error), None
        except Exception as error:  # noqa: BLE001 - a fault of ours with one answer must not keep a run from its end
            return None, " ".join(f"internal error: {type(error).__name__}: {error}".split()), None

    def _go_on(self, judged: Judged) -> None:
        how = self._ledger.ended[judged.key]
        is_last = how not in REPAIRABLE or judged.turn >= self._turns
        detail = judged.not_judged or (judged.verdict.reason if judged.verdict else "")
        self._told.put(Told(judged.key, how, is_last, detail))
        if is_last:
            self._desk.finish()
        else:
            self._desk.put_repair(Ask(judged.task, judged.index, 1, judged.turn + 1))


def _too_long(error: PromptTooLong) -> Completion:
    return Completion(failure=Failure(FailureKind.PROMPT_TOO_LONG, str(error)), attempts=0)


def sample_of(
    key: Key, prompt: Prompt, completion: Completion, asked_at: float, *, keep_tokens: bool = False
) -> Sample:
    """The record of one answer, or of its failure."""
    failure = completion.failure
    return Sample(
        **key._asdict(),
        messages=tuple(MessageTold(role=m.role, content=m.content) for m in prompt.messages),
        shortened=tuple(prompt.shortened),
        answer=completion.text,
        reasoning=completion.reasoning,
        failure=FailureTold(kind=failure.kind.value, message=failure.message) if failure else None,
        finish_reason=completion.finish_reason,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        tokens=TokensTold.of(completion.token_ids, completion.logprobs) if keep_tokens else None,
        attempts=completion.attempts,
        seconds=completion.seconds,
        answered_by=completion.model or None,
        warnings=completion.warnings,
        asked_at=asked_at,
        answered_at=time.time(),
    )


def _scored(verdict: Verdict | None, why: str | None, config: VerifyConfig) -> tuple[float | None, str | None]:
    """The reward, and why the answer counts as not judged, if it does: times that no clock gives are no measurement."""
    try:
        return reward(verdict, config.reward), why
    except ValueError as error:
        return None, f"{error}"


def _neighbours(keys: Sequence[Key]) -> Iterator[Ask]:
    """First turns as few requests: neighbouring indices of one task are asked together."""
    while keys:
        first = keys[0]
        together = [key for key, index in zip(keys, count(first.index), strict=False) if key[:2] == (first.task, index)]
        yield Ask(first.task, first.index, len(together), 1)
        keys = keys[len(together) :]


def _join(threads: Sequence[threading.Thread]) -> None:
    end = time.monotonic() + _END_SECONDS
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0.0))
