from pathlib import Path

import pytest
from support.verdicts import verdict

from mooreeval.errors import UsageError
from mooreeval.verdict import Status
from musacoder.train.retry_buffer import Attempt, Entry, Failure, RetryBuffer, RetryConfig

ALWAYS = RetryConfig(capacity=4, probability=1.0, oldest=10)


def _attempt(code: str | None = "code", reward: float = -1.0, passed: bool = False) -> Attempt:
    status = Status.CORRECT if passed else Status.RUNTIME_ERROR
    return Attempt(code=code, verdict=verdict(status), feedback=f"what was wrong with {code}", reward=reward)


def _filled(count: int, config: RetryConfig = ALWAYS) -> RetryBuffer:
    buffer = RetryBuffer(config)
    for i in range(count):
        assert buffer.offer(f"task{i}", [_attempt(f"code{i}")], step=i) is Entry.ENTERED
    return buffer


def _drawn(buffer: RetryBuffer, step: int, groups: int) -> list[str | None]:
    return [failure and failure.code for failure in buffer.draw(step, groups)]


def test_a_group_enters_with_its_best_failed_code_and_what_was_said_of_it() -> None:
    buffer = RetryBuffer(ALWAYS)
    attempts = [_attempt("a", -1.0), _attempt("b", -0.2), _attempt(None, 0.0), _attempt("c", -0.5)]
    assert buffer.offer("task", attempts, step=3) is Entry.ENTERED
    (failure,) = buffer.draw(4, 1)
    assert failure is not None
    assert (failure.task_hash, failure.code, failure.reward, failure.step) == ("task", "b", -0.2, 3)
    assert failure.feedback == "what was wrong with b" and failure.verdict.status is Status.RUNTIME_ERROR


def test_a_group_with_one_turn_that_passed_does_not_enter() -> None:
    buffer = RetryBuffer(ALWAYS)
    assert buffer.offer("task", [_attempt("a"), _attempt("b", 1.0, passed=True)], step=0) is Entry.SOLVED
    assert len(buffer) == 0


def test_what_held_no_code_cannot_be_repaired() -> None:
    assert RetryBuffer(ALWAYS).offer("task", [_attempt(None)], step=0) is Entry.NO_CODE


def test_first_in_first_out_and_the_oldest_is_pushed_out() -> None:
    buffer = _filled(6)
    assert len(buffer) == 4 and buffer.counts["pushed_out"] == 2
    assert _drawn(buffer, 6, 6) == ["code2", "code3", "code4", "code5", None, None]


def test_the_same_failure_waits_once() -> None:
    buffer = _filled(1)
    assert buffer.offer("task0", [_attempt("code0")], step=5) is Entry.KNOWN
    assert buffer.offer("task1", [_attempt("code0")], step=5) is Entry.ENTERED
    assert buffer.offer("task0", [_attempt("other")], step=5) is Entry.ENTERED


def test_a_repair_that_fails_comes_back_once_and_no_more() -> None:
    buffer = _filled(1)
    (first,) = buffer.draw(1, 1)
    assert buffer.offer("task0", [_attempt("second")], step=1, repaired=first) is Entry.ENTERED
    (second,) = buffer.draw(2, 1)
    assert second is not None and second.reentries == 1
    assert buffer.offer("task0", [_attempt("third")], step=2, repaired=second) is Entry.GIVEN_UP
    assert len(buffer) == 0


def test_old_failures_are_forgotten() -> None:
    buffer = _filled(3)
    assert _drawn(buffer, 12, 3) == ["code2", None, None]
    assert buffer.counts["too_old"] == 2


def test_groups_are_repair_tasks_as_often_as_configured() -> None:
    buffer = _filled(0, RetryConfig(capacity=4000, probability=0.1, oldest=10_000))
    for i in range(4000):
        buffer.offer(f"task{i}", [_attempt(f"code{i}")], step=0)
    drawn = sum(failure is not None for step in range(100) for failure in buffer.draw(step, 64))
    assert 570 < drawn < 710  # 6400 groups, a tenth of them: three deviations are 72


def test_without_capacity_nothing_enters_and_nothing_is_drawn() -> None:
    buffer = RetryBuffer(RetryConfig(capacity=0, probability=1.0))
    assert buffer.offer("task", [_attempt()], step=0) is Entry.OFF
    assert buffer.draw(1, 3) == [None, None, None]


def test_processes_that_are_told_the_same_decide_the_same() -> None:
    config = RetryConfig(capacity=50, probability=0.5)
    one, other = _filled(40, config), _filled(40, config)
    assert [_drawn(one, step, 8) for step in range(40, 46)] == [_drawn(other, step, 8) for step in range(40, 46)]


def test_a_saved_buffer_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    config = RetryConfig(capacity=50, probability=0.5)
    buffer = _filled(40, config)
    buffer.draw(40, 8)
    buffer.save(tmp_path / "retry.json")
    again = RetryBuffer.load(tmp_path / "retry.json", config)
    assert again.state() == buffer.state()
    assert _drawn(again, 41, 16) == _drawn(buffer, 41, 16)
    assert [p.name for p in tmp_path.iterdir()] == ["retry.json"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"waiting": [{"task_hash": 1}], "counts": {}}', '{"waiting": 3, "counts": 4}']
)
def test_a_file_that_holds_no_buffer_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "retry.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="holds no retry buffer"):
        RetryBuffer.load(path, ALWAYS)
    with pytest.raises(UsageError, match=r"cannot read .*No such file"):
        RetryBuffer.load(tmp_path / "other.json", ALWAYS)


def test_a_smaller_buffer_keeps_the_newest(tmp_path: Path) -> None:
    _filled(4).save(tmp_path / "retry.json")
    smaller = RetryBuffer.load(tmp_path / "retry.json", ALWAYS.model_copy(update={"capacity": 2}))
    assert _drawn(smaller, 4, 3) == ["code2", "code3", None]


def test_a_failure_is_known_by_task_and_code() -> None:
    one = Failure(task_hash="t", code="c", verdict=verdict(Status.ILLEGAL), feedback="f", reward=-1, step=0)
    assert one.key == one.model_copy(update={"feedback": "g", "step": 9, "reentries": 1}).key
    assert one.key != one.model_copy(update={"code": "d"}).key
