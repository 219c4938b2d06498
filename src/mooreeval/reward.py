"""The reward of one verdict: the formula of MusaCoder (arXiv 2606.04847), with q the fraction of trials passed and v
the speed-up over the PyTorch baseline:

    s = -1                                        nothing to extract, does not compile, does not run, cheats, or q = 0
    s = -0.5 + 0.5 q                              0 < q < 1
    s = 1 + lambda * min(max(v - 1, 0), v_max)    q = 1 and legal

Values say nothing on a task that its admission refuses, so what rests on them alone, correct and incorrect, has no
reward there.
"""

from __future__ import annotations

from mooreeval.config import Baseline, RewardConfig
from mooreeval.verdict import Status, Timing, Verdict

WORST = -1.0
FASTER = 1.1  # what counts as faster than a baseline, in the paper's Faster Rate


def reward(verdict: Verdict | None, config: RewardConfig | None = None) -> float | None:
    """The score s, or None where there is nothing to score: no verdict, a backend that cannot judge the candidate, or
    values on a task that can't be judged by.

    Unscored is not zero: a trainer leaves such a sample out. Without a timing v = 1: right earns 1, never more.
    """
    config = config or RewardConfig()
    if verdict is None or verdict.status is Status.UNSUPPORTED or _rests_on_a_refused_task(verdict):
        return None
    if verdict.status is Status.CORRECT:
        gain = max(speedup(verdict.timing, config.baseline) - 1, 0.0)
        return 1 + config.lambda_speedup * min(gain, config.v_max)
    if verdict.status is Status.INCORRECT and verdict.q:
        return -0.5 + 0.5 * verdict.q
    return WORST


def _rests_on_a_refused_task(verdict: Verdict) -> bool:
    refused = verdict.admission is not None and verdict.admission.outcome == "refused"
    return refused and verdict.status in (Status.CORRECT, Status.INCORRECT)


def speedup(timing: Timing | None, baseline: Baseline) -> float:
    """v, baseline time over candidate time; 1 where that baseline was not measured.

    Raises ValueError for times that no clock gives: a reward must not come out of them.
    """
    baseline_ms = None if timing is None else getattr(timing, f"{baseline}_ms")
    if timing is None or baseline_ms is None:
        return 1.0
    v = baseline_ms / timing.candidate_ms if timing.candidate_ms > 0 else float("nan")
    if not 0 < v < float("inf"):
        raise ValueError(f"no speed-up from {baseline_ms} ms over {timing.candidate_ms} ms")
    return v


def faster(verdict: Verdict, baseline: Baseline) -> bool | None:
    """Whether a candidate counts for the Faster Rate; None where this baseline was not measured.

    By the point estimate, as the paper does. What is not right is not faster.
    """
    if verdict.status is not Status.CORRECT:
        return False
    timed = verdict.timing is not None and getattr(verdict.timing, f"{baseline}_ms") is not None
    return speedup(verdict.timing, baseline) > FASTER if timed else None


def faster_confirmed(verdict: Verdict, baseline: Baseline) -> bool | None:
    """As `faster`, by the lower end of the speed-up's 95 % interval."""
    if verdict.status is not Status.CORRECT:
        return False
    low = None if verdict.timing is None else getattr(verdict.timing, f"{baseline}_speedup_low")
    return None if low is None else low > FASTER
