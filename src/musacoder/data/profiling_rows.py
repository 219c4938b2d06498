"""Rows that rest on measurements: what limits a kernel, and a faster version of what is right.

    profiling_analysis     a verdict with a profile (`musacoder verify --profile`, on a GPU): counters ─> what they mean
    optimisation_rewrite   two verified answers to one task, the second better by what was found of both

Without a GPU nothing is known of time, and no row says anything of it: there an answer is better only if it launches
fewer kernels, and the row's `facts` say `measured: false`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooreeval.reward import FASTER
from mooreeval.verdict import KernelProfile, Verdict
from musacoder.data.asking import Asking, judged_by, row
from musacoder.data.records import Program, Row, RowKind
from musacoder.prompts import PromptTooLong
from musacoder.prompts.templates import fence

_CONCLUSIONS = ("limit",)  # of a kernel's profile: what the answer has to find
_MOST_KERNELS = 3


@dataclass(frozen=True)
class Measured:
    """A verified program and its verdict."""

    program: Program
    verdict: Verdict


def row_of_profile(measured: Measured, asking: Asking) -> Iterator[Row]:
    """What a profiler's counters mean, by the judge's own rules. Nothing without a profile that says something."""
    profile = measured.verdict.profile
    if profile is None or profile.missing is not None or not profile.kernels or not profile.advice:
        return
    program, device = measured.program, measured.verdict.device or "a GPU"
    counters = "\n".join(_counters(kernel) for kernel in profile.kernels[:_MOST_KERNELS])
    text = (
        f"{fence(program.task_code, 'python')}\nThis answer is right:\n{fence(program.candidate_code, 'python')}\n"
        f"Nsight Compute measured on {device}:\n{counters}\nWhat holds it back, and what would you change?"
    )
    facts = {"measured": True, "kernels": len(profile.kernels), "total_us": profile.total_us}
    answer = "\n".join(f"- {sentence}" for sentence in profile.advice)
    if (prompt := asking.own(text)) is not None:
        yield row(RowKind.PROFILING, program, prompt, answer, {**facts, **judged_by(measured.verdict)})


def _counters(kernel: KernelProfile) -> str:
    """A kernel's counters by their names, without what is concluded from them."""
    known = kernel.model_dump(exclude_none=True, exclude=set(_CONCLUSIONS))
    grid, block = ("x".join(map(str, known.pop(name))) for name in ("grid", "block"))
    values = "; ".join(f"{name.replace('_', ' ')} {value}" for name, value in known.items() if name != "kernel")
    return f"- {kernel.kernel}: grid {grid}; block {block}; {values}"


def rows_of_rewrites(answers: Sequence[Measured], asking: Asking) -> Iterator[Row]:
    """For each answer to one task the best of those that are clearly better. None where none is."""
    for slow in answers:
        better = [(gain, fast) for fast in answers if (gain := _gain(slow.verdict, fast.verdict)) is not None]
        if not better:
            continue
        gain, fast = max(better, key=lambda pair: (pair[0].ratio, pair[1].program.program_hash))
        try:
            prompt = asking.optimise(slow.program, [(slow.program.candidate_code, slow.verdict)])
        except PromptTooLong:
            continue
        answer = asking.answer(fast.program.candidate_code, gain.words)
        facts = {"measured": gain.measured, **gain.facts, **judged_by(fast.verdict)}
        yield row(RowKind.OPTIMISE, fast.program, prompt, answer, {**facts, "slow": slow.program.program_hash})


@dataclass(frozen=True)
class _Gain:
    """How much better an answer is: times as fast, or times fewer launches."""

    ratio: float
    words: str
    measured: bool
    facts: dict[str, str | int | float]


def _gain(slow: Verdict, fast: Verdict) -> _Gain | None:
    """By time where both were timed on one device; by launches where neither was timed; else None."""
    if slow.timing and fast.timing:
        ratio = slow.timing.candidate_ms / fast.timing.candidate_ms
        if slow.device != fast.device or ratio <= FASTER:
            return None
        before, after = slow.timing.candidate_ms, fast.timing.candidate_ms
        words = f"It takes {before:.4g} ms on {slow.device}; this one takes {after:.4g} ms, {ratio:.3g} times as fast."
        return _Gain(ratio, words, True, {"before_ms": before, "after_ms": after})
    if slow.timing or fast.timing:
        return None
    before, after = _launched(slow), _launched(fast)
    if not before or not after or sum(after.values()) >= sum(before.values()):
        return None
    return _fused(before, after)


def _launched(verdict: Verdict) -> Counter[str]:
    """Launches of one forward pass by kernel; empty where they can't be told from the sum over all trials."""
    trials = len(verdict.trials)
    counts: Counter[str] = Counter()
    for launch in verdict.launches:
        if not trials or launch.count % trials:
            return Counter()
        counts[launch.kernel] += launch.count // trials
    return counts


def _fused(before: Counter[str], after: Counter[str]) -> _Gain:
    was, now = before.total(), after.total()
    words = (
        f"It launches {was} kernels, and each after the first reads what another has written to memory. "
        f"{'One kernel' if now == 1 else f'{now} kernels'} can do it: values stay in registers between the operations."
    )
    return _Gain(was / now, words, False, {"launches_before": was, "launches_after": now})
