"""Asking and judging overlap, nothing is lost or done twice, and a run that was cut short ends as it would have."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from support.writing import PlainPrompts, ToldJudge, ToldModel, Writing, answer, tasks

from mooreeval.errors import NotJudged, UsageError
from mooreeval.verdict import Status
from musacoder.config import SamplingConfig, WorkConfig
from musacoder.models import Failure, FailureKind
from musacoder.pipeline import NoMoreAnswers
from musacoder.prompts import PromptTooLong
from musacoder.runlog import Key, RunFolder

BY_SEED = (
    "verdict: correct",
    "verdict: incorrect",
    "verdict: illegal",
    "verdict: unsupported",
    "raise: NotJudged full",
)


def by_seed(messages, seed: int) -> str:
    """Another answer to each prompt and seed, the same each time."""
    return answer(f"{BY_SEED[(seed + len(messages)) % len(BY_SEED)]} by seed {seed}")


def always(line: str):
    return lambda _messages, _seed: answer(line)


def ends(run: RunFolder) -> dict[Key, object]:
    """How every turn ended, times aside."""
    judged = {v.key: v.not_judged or (v.verdict and v.verdict.status.value) for v in run.verdicts()}
    return {s.key: s.failure.kind if s.failure else (s.answer, judged[s.key]) for s in run.samples()}


def test_every_answer_is_recorded_and_judged(tmp_path):
    writing = Writing(tmp_path / "run", ToldModel(by_seed), tasks=tasks(5), samples=4)
    run = writing.complete()
    wanted = {Key(f"task{t}", i, 1) for t in range(5) for i in range(4)}
    assert {s.key for s in run.samples()} == {v.key for v in run.verdicts()} == wanted
    assert sum(told.is_last for told in writing.told) == 20
    assert {how for _answer, how in ends(run).values()} > {"correct", "incorrect", "illegal"}


def test_times_are_in_order_and_rewards_and_feedback_belong_to_the_verdict(tmp_path):
    run = Writing(tmp_path / "run", ToldModel(always("verdict: incorrect")), samples=1).complete()
    (sample, *_), (judged, *_) = run.samples(), run.verdicts()
    assert sample.asked_at <= sample.answered_at <= judged.ended_at
    assert judged.queued_at <= judged.started_at <= judged.ended_at
    assert judged.reward == -1.0
    assert judged.feedback.startswith("Incorrect: ")


def test_an_answer_that_is_wrong_is_told_so_until_it_is_right(tmp_path):
    def script(messages, _seed):
        return answer("verdict: correct" if len(messages) == 5 else "verdict: compile_error")

    run = Writing(tmp_path / "run", ToldModel(script), samples=2, turns=4).complete()
    assert [how for _answer, how in ends(run).values()].count("correct") == 6
    assert max(s.turn for s in run.samples()) == 3
    third = next(s for s in run.samples() if s.turn == 3)
    assert [m.role for m in third.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert third.messages[-1].content.startswith("Compile error: ")


@pytest.mark.parametrize(
    "line", ["verdict: unsupported", "raise: NotJudged full", "raise: TaskError no", "verdict: correct"]
)
def test_what_is_right_or_no_fault_of_the_answers_gets_no_further_turn(tmp_path, line):
    run = Writing(tmp_path / "run", ToldModel(always(line)), samples=1, turns=3).complete()
    assert {s.turn for s in run.samples()} == {1}


def test_every_class_of_failure_is_recorded_and_the_run_goes_on(tmp_path):
    kinds = list(FailureKind)
    base = SamplingConfig().of(tasks(1)[0].task.task_hash, 0, 1).seed

    def script(_messages, seed):
        number = seed - base
        return Failure(kinds[number], f"it was {kinds[number]}") if number < len(kinds) else answer("verdict: correct")

    writing = Writing(tmp_path / "run", ToldModel(script), tasks=tasks(1), samples=len(kinds) + 1, turns=2)
    run = writing.complete()
    failed = {s.failure.kind: s.failure.message for s in run.samples() if s.failure}
    assert failed == {kind.value: f"it was {kind}" for kind in kinds}
    assert [v.verdict.status for v in run.verdicts()] == [Status.CORRECT]
    assert sum(told.is_last for told in writing.told) == len(kinds) + 1


def test_an_answer_with_nothing_to_judge_is_a_verdict(tmp_path):
    run = Writing(tmp_path / "run", ToldModel(lambda _m, _s: "I can't."), samples=1).complete()
    assert {v.verdict.status for v in run.verdicts()} == {Status.NO_CANDIDATE}


def test_what_was_not_judged_says_why_and_has_no_reward(tmp_path):
    run = Writing(tmp_path / "run", ToldModel(always("raise: NotJudged the disk is full")), samples=1).complete()
    assert {(v.not_judged, v.reward, v.verdict) for v in run.verdicts()} == {("the disk is full", None, None)}


def test_again_asks_for_what_failed_and_judges_what_was_not_judged(tmp_path):
    answers = [Failure(FailureKind.UNREACHABLE, "down"), answer("raise: NotJudged full"), answer("verdict: correct")]
    model = ToldModel(lambda _m, _s: answers.pop(0))
    writing = Writing(tmp_path / "run", model, tasks=tasks(1), samples=3, work=WorkConfig(asking=1))
    first = writing.complete()
    assert [how if isinstance(how, str) else how[1] for how in ends(first).values()] == [
        "unreachable",
        "full",
        "correct",
    ]
    answers.append(answer("verdict: illegal"))
    again = writing.complete(again=True)
    assert ends(again)[Key("task0", 0, 1)][1] == "illegal"
    assert len(list(again.samples())) == len(list(again.verdicts())) == 3
    assert len(model.asked) == 2  # what was not judged is not asked for again


def test_a_resumed_run_asks_for_the_missing_answers_alone_and_ends_the_same(tmp_path):
    whole = Writing(tmp_path / "whole", ToldModel(by_seed), samples=6, turns=3)
    expected = ends(whole.complete())
    cut = Writing(tmp_path / "cut", ToldModel(by_seed), samples=6, turns=3)
    for _ in range(20):
        cut.model, cut.judge = ToldModel(by_seed), ToldJudge()
        try:
            cut.complete(stop_after(4))
        except KeyboardInterrupt:
            assert cut.model.closed
            assert cut.judge.closed
        else:
            break
    assert ends(RunFolder.open(cut.folder)) == expected


def stop_after(count: int):
    left = iter(range(count))

    def on_told(_told):
        if next(left, None) is None:
            raise KeyboardInterrupt

    return on_told


def test_neighbouring_answers_to_one_prompt_are_asked_for_together(tmp_path):
    writing = Writing(tmp_path / "run", ToldModel(always("verdict: correct")), tasks=tasks(2), samples=8)
    writing.complete()
    assert sorted(n for n, _seed in writing.model.asked) == [8, 8]
    assert len({seed for _n, seed in writing.model.asked}) == 2


def test_seeds_depend_on_task_index_and_turn_alone():
    sampling = SamplingConfig(seed=3)
    assert sampling.of("h", 5, 1).seed == sampling.of("h", 0, 1).seed + 5
    assert len({sampling.of("h", 0, 1).seed, sampling.of("h", 0, 2).seed, sampling.of("g", 0, 1).seed}) == 3
    assert SamplingConfig(seed=None).of("h", 5, 1).seed is None
    assert 0 <= sampling.of("h", 1023, 1).seed < 2**31


def test_asking_pauses_while_many_answers_wait(tmp_path):
    waiting, seen = 3, []

    class Watching(ToldJudge):
        def verify(self, *arguments, **named):
            answered = len(Path(tmp_path / "run" / "samples.jsonl").read_bytes().splitlines())
            judged = len(Path(tmp_path / "run" / "verdicts.jsonl").read_bytes().splitlines())
            seen.append(answered - judged)
            return super().verify(*arguments, **named)

    work = WorkConfig(asking=2, judging=1, waiting=waiting)
    Writing(
        tmp_path / "run", ToldModel(always("verdict: correct")), Watching(seconds=0.01), tasks(8), 8, work=work
    ).complete()
    assert len(seen) == 64
    # what waits, what is judged, one in the hands of each that asks, and what is on its way to the disk
    assert max(seen) <= waiting + work.judging + work.asking + 5


def test_several_answers_are_judged_at_once_and_no_more_than_allowed(tmp_path):
    judge = ToldJudge(seconds=0.02)
    Writing(tmp_path / "run", ToldModel(always("verdict: correct")), judge, samples=8).complete()
    assert judge.most_at_once == 2


def test_answers_are_judged_while_others_are_awaited(tmp_path):
    begun = threading.Event()

    class Signalling(ToldJudge):
        def verify(self, *arguments, **named):
            begun.set()
            return super().verify(*arguments, **named)

    def script(_messages, seed):
        if calls.append(seed) or len(calls) > 1:
            assert begun.wait(20)  # the second answer comes only once the first one is with the judge
        return answer("verdict: correct")

    calls: list[int] = []
    work = WorkConfig(asking=1, judging=1)
    run = Writing(tmp_path / "run", ToldModel(script), Signalling(), tasks(1), 3, work=work).complete()
    assert len(list(run.verdicts())) == 3


def test_a_fault_in_what_asks_ends_the_run_and_is_told_and_the_run_can_go_on(tmp_path):
    def broken(_messages, seed):
        return by_seed(_messages, seed) if seed % 3 else 1 / 0

    writing = Writing(tmp_path / "run", ToldModel(broken, seconds=0.001), samples=8)
    with pytest.raises(ZeroDivisionError):
        writing.complete()
    assert writing.model.closed
    writing.model, writing.judge = ToldModel(by_seed), ToldJudge()
    assert len(list(writing.complete().verdicts())) == 24


def test_a_fault_of_the_judges_with_one_answer_is_not_judged_and_the_run_goes_on(tmp_path):
    writing = Writing(tmp_path / "run", ToldModel(always("raise: ZeroDivisionError oh no")), samples=2)
    run = writing.complete()
    assert {v.not_judged for v in run.verdicts()} == {"internal error: RuntimeError: oh no"}
    assert len(list(run.verdicts())) == 6


@pytest.mark.parametrize("broken", ["add_sample", "add_verdict"])
def test_a_full_disk_ends_the_run_and_is_told_and_the_run_can_go_on(tmp_path, monkeypatch, broken):
    writing = Writing(tmp_path / "run", ToldModel(by_seed), samples=8)
    real, left = getattr(RunFolder, broken), iter(range(5))

    def full(run, record):
        if next(left, None) is None:
            raise NotJudged("cannot write: No space left on device")
        real(run, record)

    monkeypatch.setattr(RunFolder, broken, full)
    with pytest.raises(NotJudged, match="No space left"):
        writing.complete()
    monkeypatch.undo()
    writing.model, writing.judge = ToldModel(by_seed), ToldJudge()
    assert len(list(writing.complete().verdicts())) == 24


def test_a_prompt_that_cannot_be_made_ends_the_run_with_its_own_words(tmp_path, monkeypatch):
    def broken(_self, _task):
        raise UsageError("first.md.j2, line 3: there is no field x")

    monkeypatch.setattr(PlainPrompts, "first", broken)
    with pytest.raises(UsageError, match="line 3"):
        Writing(tmp_path / "run", ToldModel(by_seed)).complete()


def test_a_task_whose_prompt_does_not_fit_is_a_failure_and_the_others_go_on(tmp_path, monkeypatch):
    real = PlainPrompts.first

    def first(self, task):
        if task.task.task_id == "task1":
            raise PromptTooLong("task1: its shortest prompt has 9000 tokens")
        return real(self, task)

    monkeypatch.setattr(PlainPrompts, "first", first)
    run = Writing(tmp_path / "run", ToldModel(always("verdict: correct")), samples=3).complete()
    failed = [(s.task, s.failure.kind, s.messages, s.attempts) for s in run.samples() if s.failure]
    assert failed == [("task1", "prompt_too_long", (), 0)] * 3
    assert {v.task for v in run.verdicts()} == {"task0", "task2"}


GONE = Failure(FailureKind.UNREACHABLE, "no connection to here:1", is_for_all=True)


def test_where_no_answer_will_ever_come_the_run_stops_soon_judges_what_it_has_and_goes_on_later(tmp_path):
    asked = []

    def dying(messages, seed):
        asked.append(seed)
        return by_seed(messages, seed) if len(asked) <= 6 else GONE

    writing = Writing(tmp_path / "run", ToldModel(dying), ToldJudge(seconds=0.02), tasks(50), samples=2)
    with pytest.raises(NoMoreAnswers, match=r"^unreachable: no connection to here:1$"):
        writing.complete()
    assert len(asked) <= 6 + 2 * 2  # of 100; two were asking
    cut = RunFolder.open(writing.folder)
    assert {s.key for s in cut.samples()} == {v.key for v in cut.verdicts()}
    assert not [s for s in cut.samples() if s.failure]
    whole = Writing(tmp_path / "whole", ToldModel(by_seed), tasks=tasks(50), samples=2)
    writing.model, writing.judge = ToldModel(by_seed), ToldJudge()
    assert ends(writing.complete()) == ends(whole.complete())


def test_a_run_ends_after_so_many_prompts_in_a_row_that_the_server_refused(tmp_path):
    model = ToldModel(lambda _m, _s: Failure(FailureKind.REFUSED, "HTTP 404: no such model"))
    writing = Writing(tmp_path / "run", model, tasks=tasks(40), work=WorkConfig(asking=1, failing=5))
    with pytest.raises(NoMoreAnswers, match=r"^5 prompts in a row got no answer, the last: refused: HTTP 404"):
        writing.complete()
    assert len(model.asked) == 5
    assert len(list(RunFolder.open(writing.folder).samples())) == 10
    writing.model, writing.judge = ToldModel(always("verdict: correct")), ToldJudge()
    assert {v.verdict.status for v in writing.complete(again=True).verdicts()} == {Status.CORRECT}


@pytest.mark.parametrize("between", [FailureKind.EMPTY, FailureKind.PROMPT_TOO_LONG, None])
def test_what_a_prompt_or_the_model_is_to_blame_for_keeps_a_run_going(tmp_path, between):
    """Every third is an answer, or a failure that is not the server's."""

    def script(_messages, _seed):
        told = Failure(between, "so it is") if between else answer("verdict: correct")
        return Failure(FailureKind.SERVER_ERROR, "HTTP 500") if len(model.asked) % 3 else told

    model = ToldModel(script)
    writing = Writing(tmp_path / "run", model, tasks=tasks(12), samples=1, work=WorkConfig(asking=1, failing=3))
    assert len(list(writing.complete().samples())) == 12


def test_what_is_cut_short_by_an_interrupt_is_not_recorded_as_a_failure(tmp_path):
    writing = Writing(tmp_path / "run", ToldModel(by_seed, seconds=0.005), ToldJudge(seconds=0.05), samples=8)
    with pytest.raises(KeyboardInterrupt):
        writing.complete(stop_after(1))
    run = RunFolder.open(writing.folder)
    assert not [s for s in run.samples() if s.failure]
    assert not [v for v in run.verdicts() if v.not_judged == "the judge was closed"]
    assert time.time() - next(run.samples()).asked_at < 60
