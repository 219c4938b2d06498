"""What a run of reinforcement learning writes down, and what it is watched for."""

from pathlib import Path

import pytest
from support.verdicts import verdict

from mooreeval.errors import UsageError
from mooreeval.task import make_task
from mooreeval.verdict import RuleHit, Status
from musacoder.rollout.driver import Span
from musacoder.rollout.trajectory import FirstTurn, Group, GroupAsk, JudgedTurn, Trajectory
from musacoder.runlog.lines import Lines
from musacoder.train.hack_watch import HackWatch, WatchConfig
from musacoder.train.rollout_records import AnswerTold, RolloutTold, read, told, write
from musacoder.train.timeline import Timeline, busy_share, read_spans

TASK = make_task("t", "import torch\nclass Model(torch.nn.Module):\n    pass\n\ndef get_inputs():\n    return []\n")


def _rollout(
    score: float | None, rules: tuple[str, ...] = (), code: str = "code", step: int = 0, index: int = 0
) -> RolloutTold:
    answer = AnswerTold(code=code, status="illegal", reason="", rules=rules, score=score, feedback="")
    return RolloutTold(
        step=step, group=0, rank=0, index=index, task_hash="t" * 64, task_id="t", repairs=False, policy_version=0,
        tokens=3, reward=score, turns=(answer,),
    )  # fmt: skip


def test_the_first_answer_that_breaks_a_rule_is_kept_with_its_code_and_the_second_is_not() -> None:
    watch = HackWatch()
    (alarm,) = watch.look(3, [_rollout(-1, ("reads_the_clock",), code="sleeps"), _rollout(1)])
    assert (alarm.kind, alarm.step, alarm.code) == ("new_rule", 3, "sleeps") and "reads_the_clock" in alarm.what
    assert watch.look(4, [_rollout(-1, ("reads_the_clock",))]) == []


def test_a_reward_that_jumps_beyond_the_runs_noise_is_told() -> None:
    watch = HackWatch(WatchConfig(window=10, fewest=5, deviations=5, least=0.3))
    for step in range(8):
        assert watch.look(step, [_rollout(-0.8 + 0.05 * (step % 3))]) == []
    (alarm,) = watch.look(8, [_rollout(1.0, code="too good"), _rollout(-0.7)])
    assert alarm.kind == "reward_jump" and alarm.code == "too good" and "-0.75 to 0.15" in alarm.what


def test_a_slow_rise_is_no_jump() -> None:
    watch = HackWatch()
    assert [a for step in range(60) for a in watch.look(step, [_rollout(-1 + step / 30)])] == []


def test_a_speed_that_is_hard_to_believe_is_told() -> None:
    watch = HackWatch()
    assert watch.look(0, [_rollout(1.0)]) == [] and watch.look(1, [_rollout(1.2)]) == []
    (alarm,) = watch.look(2, [_rollout(2.0, code="replays"), _rollout(1.1)])
    assert alarm.kind == "record_score" and alarm.code == "replays"


def test_what_was_not_judged_is_no_sign_of_anything() -> None:
    assert HackWatch().look(0, [_rollout(None)]) == []


def _group() -> Group:
    hit = RuleHit(rule="host_compute", message="it computes on the host")
    wrong = JudgedTurn("a", "code", verdict(Status.ILLEGAL, rules=(hit, hit)), "feedback", -1.0)
    lost = JudgedTurn("b", None, None, "", None, not_judged="the disk is full")
    first = FirstTurn((1,), (2, 3), (-0.1, -0.2), policy_version=4)
    return Group(GroupAsk(TASK), (), (Trajectory(first, (wrong,)), Trajectory(first, (wrong, lost))))


def test_rollouts_are_told_turn_by_turn() -> None:
    one, other = told(5, 1, [None, _group()], lambda trajectory: 0.25)
    assert (one.step, one.rank, one.group, one.index, one.policy_version, one.tokens) == (5, 1, 1, 0, 4, 2)
    assert one.reward == 0.25 and one.turns[0].rules == ("host_compute",) and one.turns[0].status == "illegal"
    assert other.reward is None and other.turns[1].reason == "the disk is full" and other.turns[1].status is None


def test_of_a_step_that_was_done_twice_the_later_rollouts_are_read(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "rollouts.jsonl")
    write(lines, [_rollout(-1, step=1), _rollout(-1, step=2), _rollout(-1, step=2, index=1)])
    write(lines, [_rollout(1, step=2), _rollout(1, step=2, index=1), _rollout(1, step=3)])
    lines.close()
    assert [(r.step, r.reward) for r in read(tmp_path / "rollouts.jsonl")] == [(1, -1), (2, 1), (2, 1), (3, 1)]
    assert [r.step for r in read(tmp_path / "rollouts.jsonl", before=3)] == [1, 2, 2]
    (tmp_path / "rollouts.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(UsageError, match="line 1 is no rollout"):
        list(read(tmp_path / "rollouts.jsonl"))


def test_idle_is_what_no_span_covers(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "timeline.jsonl")
    spans = [Span("sample", 0, 4), Span("sample", 3, 5), Span("judge", 4, 9), Span("sample", 8, 20)]
    timeline.add(7, spans)
    timeline.close()
    assert timeline.idle(0, 10) == pytest.approx({"sample": 0.3, "judge": 0.5, "train": 1.0})
    assert busy_share(spans, "judge", 5, 5) == 0.0
    assert read_spans(tmp_path / "timeline.jsonl") == [(7, span) for span in spans]
