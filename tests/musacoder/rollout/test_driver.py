from collections.abc import Callable, Sequence

import pytest
from support.verdicts import verdict

from mooreeval.candidate import candidate_from_code
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged
from mooreeval.task import Task, make_task
from mooreeval.task_metadata import TaskMetadata
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import ScriptedVerifier
from musacoder.models.types import Message
from musacoder.prompts import PromptConfig, PromptTooLong, target_of
from musacoder.rollout.driver import Answers, Driver, RolloutConfig, Sampled
from musacoder.rollout.task_prompts import TaskPrompts
from musacoder.rollout.trajectory import FirstTurn, Group, GroupAsk, Trajectory
from musacoder.train.retry_buffer import Failure

CODE = "import torch\nclass ModelNew(torch.nn.Module):\n    mark = {!r}\n"
TASK = "import torch\nclass Model(torch.nn.Module):\n    mark = {}\n\ndef get_inputs():\n    return []\n"
RIGHT = verdict(Status.CORRECT)
HALF = verdict(Status.INCORRECT, q=0.5)
WRONG = verdict(Status.RUNTIME_ERROR)


def _task(mark: int = 0) -> Task:
    return make_task(f"task{mark}", TASK.format(mark))


def _code(mark: str) -> str:
    return CODE.format(mark)


def _hash(mark: str) -> str:
    candidate = candidate_from_code(_code(mark))
    return candidate.candidate_hash


def _not_described(task: Task) -> TaskMetadata:
    pytest.fail(f"{task.task_id} is described although no prompt tells its tensors")


class _Sampler:
    """Answers in turn from a list of marks, and remembers what it was asked."""

    def __init__(self, *marks: str) -> None:
        self._marks = list(marks)
        self.asked: list[tuple[str, int]] = []

    def answers(self, prompts: Sequence[Sequence[Message]], n: int) -> Answers:
        self.asked += [(prompt[-1].content, n) for prompt in prompts]
        return Answers(7, [[self._answer() for _ in range(n)] for _ in prompts])

    def _answer(self) -> Sampled:
        text = f"```python\n{_code(self._marks.pop(0))}```"
        return Sampled(text, (1, 2), (3, 4, 5), (-0.1, -0.2, -0.3), "stop")


def _driver(
    sampler: _Sampler,
    verdicts: dict[str, Verdict | NotJudged],
    answers: int = 2,
    turns: int = 3,
    tokens: Callable[[Sequence[Message]], int] = lambda messages: 0,
) -> Driver:
    verifier = ScriptedVerifier({_hash(mark): v for mark, v in verdicts.items()})
    prompts = TaskPrompts(PromptConfig(metadata=False), target_of("simulator"), tokens, _not_described)
    return Driver(prompts, sampler, verifier, RolloutConfig(answers=answers, turns=turns), VerifyConfig())


def _group(driver: Driver, ask: GroupAsk | None = None) -> Group:
    (group,) = driver.groups([ask or GroupAsk(_task())])
    assert group is not None
    return group


def test_a_trajectory_ends_at_its_first_pass_or_after_its_last_turn() -> None:
    sampler = _Sampler("right", "wrong1", "wrong2", "half")
    driver = _driver(sampler, {"right": RIGHT, "wrong1": WRONG, "wrong2": WRONG, "half": HALF})
    one, other = _group(driver).trajectories
    assert one.scores == (1.0,) and one.passed == (True,)
    assert other.scores == (-1.0, -1.0, -0.25) and other.passed == (False, False, False)
    assert [n for _, n in sampler.asked] == [2, 1, 1]
    assert driver.figures.answers == 4 and driver.figures.tokens == 12


def test_a_repair_that_passes_ends_it_too() -> None:
    driver = _driver(_Sampler("a", "b", "c", "d"), {"a": WRONG, "b": WRONG, "c": RIGHT, "d": RIGHT})
    assert [t.passed for t in _group(driver).trajectories] == [(False, True), (False, True)]


def test_the_first_turns_ids_are_those_that_were_sampled() -> None:
    trajectory = _group(_driver(_Sampler("a", "b"), {"a": RIGHT, "b": RIGHT})).trajectories[0]
    assert trajectory.first == FirstTurn((1, 2), (3, 4, 5), (-0.1, -0.2, -0.3), policy_version=7)


def test_a_repair_is_asked_with_the_failed_answer_and_its_feedback() -> None:
    sampler = _Sampler("a", "b", "c")
    _group(_driver(sampler, {"a": RIGHT, "b": WRONG, "c": RIGHT}))
    assert "Your answer was judged: runtime error" in sampler.asked[1][0]


def test_a_failure_that_came_back_is_shown_to_the_whole_group_and_to_later_turns() -> None:
    failure = Failure(
        task_hash=_task().task_hash, code=_code("old"), verdict=WRONG, feedback="it crashed", reward=-1, step=0
    )
    sampler = _Sampler("a", "b", "c")
    group = _group(_driver(sampler, {"a": RIGHT, "b": HALF, "c": RIGHT}), GroupAsk(_task(), failure))
    assert _code("old") in group.prompt[-2].content and "it crashed" in group.prompt[-1].content
    assert [n for _, n in sampler.asked] == [2, 1]


def test_what_was_not_judged_leaves_its_group_at_any_turn() -> None:
    lost = NotJudged("the judge's disk is full")
    driver = _driver(_Sampler("a", "b", "c", "d"), {"a": RIGHT, "b": lost, "c": WRONG, "d": lost}, answers=3)
    assert driver.groups([GroupAsk(_task())]) == [None], "one judged trajectory of three is too few"
    driver = _driver(
        _Sampler("a", "b", "c", "d", "e"), {"a": RIGHT, "b": lost, "c": WRONG, "d": RIGHT, "e": lost}, answers=4
    )
    group = _group(driver)
    assert [t.judged for t in group.trajectories] == [True, False, False, True]
    assert group.trajectories[1].last.not_judged == "the judge's disk is full"
    assert len(group.judged) == 2 and driver.figures.counts["not_judged"] == 2


def test_unsupported_is_not_scored() -> None:
    driver = _driver(_Sampler("a", "b", "c"), {"a": verdict(Status.UNSUPPORTED), "b": RIGHT, "c": RIGHT}, answers=3)
    trajectory = _group(driver).trajectories[0]
    assert not trajectory.judged and trajectory.last.not_judged == "unsupported: wmma"


def test_a_fault_of_the_judge_is_no_score() -> None:
    driver = _driver(_Sampler("a", "b", "c"), {"b": RIGHT, "c": RIGHT}, answers=3)
    assert _group(driver).trajectories[0].last.not_judged == "the script has no verdict for this candidate"


def test_a_group_that_is_too_small_is_replaced_by_another_task() -> None:
    lost, tasks = NotJudged("gone"), iter([GroupAsk(_task(5))])
    sampler = _Sampler("a", "b", "c", "d")
    driver = _driver(sampler, {"a": lost, "b": lost, "c": RIGHT, "d": WRONG}, turns=1)
    (group,) = driver.groups([GroupAsk(_task(1))], fresh=lambda: next(tasks))
    assert group is not None and group.ask.task == _task(5)
    assert driver.figures.counts["dropped_groups"] == 1 == driver.figures.counts["replaced_groups"]


def test_groups_stay_in_their_places() -> None:
    lost = NotJudged("gone")
    driver = _driver(
        _Sampler(*"abcdef"), {"a": RIGHT, "b": WRONG, "c": lost, "d": lost, "e": WRONG, "f": RIGHT}, turns=1
    )
    groups = driver.groups([GroupAsk(_task(i)) for i in range(3)])
    assert [group and group.ask.task.task_id for group in groups] == ["task0", None, "task2"]


def test_a_prompt_that_is_too_long_costs_its_group_or_its_further_turns_alone() -> None:
    def tokens(messages: Sequence[Message]) -> int:
        return 10**6 if len(messages) > 2 or "mark = 1" in messages[-1].content else 10

    driver = _driver(_Sampler("a", "b"), {"a": RIGHT, "b": WRONG}, tokens=tokens)
    long, short = driver.groups([GroupAsk(_task(1)), GroupAsk(_task(0))])
    assert long is None and short is not None
    assert [t.scores for t in short.trajectories] == [(1.0,), (-1.0,)]
    assert driver.figures.counts["long_prompts"] == 2
    with pytest.raises(PromptTooLong):
        driver._prompts.first(_task(1))


def test_the_buffer_is_offered_every_judged_turn() -> None:
    group = _group(_driver(_Sampler("a", "b", "c"), {"a": RIGHT, "b": WRONG, "c": HALF}, turns=2))
    assert [(a.reward, a.passed) for a in group.attempts()] == [(1.0, True), (-1.0, False), (-0.25, False)]


def test_tokens_without_log_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="3 tokens have 1 log-probabilities"):
        FirstTurn((1,), (2, 3, 4), (-0.5,), 0)


def test_a_trajectory_without_a_score_is_not_judged() -> None:
    group = _group(_driver(_Sampler("a", "b"), {"a": RIGHT, "b": WRONG}, turns=1))
    assert all(isinstance(t, Trajectory) and t.judged for t in group.trajectories)
