"""What is counted besides rates: outcomes, their causes, turns, tokens and seconds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from mooreeval.verdict import Verdict
from musacoder.evaluate.metrics import Cost, Count, FailureCount, OutcomeCount, Spread, Turns
from musacoder.evaluate.outcomes import Attempt, Candidate, Outcome
from musacoder.runlog import Judged, Key, Sample

CAUSES_SHOWN = 40
WARNINGS_SHOWN = 8  # texts; a server may give a new one with every answer
OTHER_WARNINGS = "other warnings"


def outcome_counts(candidates: Iterable[Candidate]) -> tuple[OutcomeCount, ...]:
    """Attempts by turn and outcome, in the order of turns and of `Outcome`."""
    counts = Counter((a.turn, a.outcome) for c in candidates for a in c.attempts)
    order = list(Outcome)
    keys = sorted(counts, key=lambda key: (key[0], order.index(key[1])))
    return tuple(OutcomeCount(turn=t, outcome=o.value, count=counts[t, o]) for t, o in keys)


def causes(candidates: Iterable[Candidate]) -> tuple[Count, ...]:
    """What stands behind failures and gaps, the commonest first: "illegal: no_kernel_launched", ..."""
    counts = Counter(
        f"{a.outcome.value}: {cause}" for c in candidates for a in c.attempts for cause in dict.fromkeys(_causes(a))
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Count(name=name, count=count) for name, count in ordered[:CAUSES_SHOWN])


def failures(candidates: Iterable[Candidate], samples: Iterable[Sample]) -> tuple[FailureCount, ...]:
    """In which ways answers failed to come or to be judged, the commonest first, each with what the first one told."""
    told = {s.key: s.failure.message for s in samples if s.failure}
    examples: dict[str, list[str]] = defaultdict(list)
    for attempt in (a for c in candidates for a in c.attempts):
        if attempt.outcome is Outcome.NOT_JUDGED:
            examples[attempt.outcome.value].append(attempt.detail or "")
        elif attempt.outcome in (Outcome.NOT_ANSWERED, Outcome.NO_ANSWER):
            message = told.get(Key(attempt.task, attempt.index, attempt.turn), "")
            examples[f"{attempt.outcome.value}: {attempt.detail}"].append(message)
    ordered = sorted(examples.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(FailureCount(name=name, count=len(texts), example=texts[0]) for name, texts in ordered)


def warnings(samples: Iterable[Sample]) -> tuple[Count, ...]:
    """What a reader should know of answers, by text and how many have it, the commonest first; the rest together."""
    last = {s.key: s for s in samples}
    counts = Counter(text for s in last.values() for text in dict.fromkeys(s.warnings))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [Count(name=text, count=count) for text, count in ordered[:WARNINGS_SHOWN]]
    others = sum(count for _, count in ordered[WARNINGS_SHOWN:])
    return (*shown, Count(name=OTHER_WARNINGS, count=others)) if others else tuple(shown)


def _causes(attempt: Attempt) -> Iterator[str]:
    if attempt.outcome is Outcome.NOT_JUDGED:
        return  # words of the moment, each its own; the table of tasks has them
    if attempt.detail is not None:
        yield attempt.detail
    elif attempt.verdict is not None and attempt.outcome is not Outcome.CORRECT:
        yield from _causes_in(attempt.verdict)


def _causes_in(verdict: Verdict) -> Iterator[str]:
    """Words of the judge's own: rules, kinds of findings and of mismatches."""
    yield from (hit.rule for hit in verdict.rules)
    yield from (f.kind.value for f in verdict.findings if f.severity == "error")
    if verdict.status.value == "incorrect":
        yield from (t.mismatch.kind for t in verdict.trials if t.mismatch)


def turns_to_success(candidates: Sequence[Candidate]) -> Turns:
    """At which turn candidates became correct."""
    won = Counter(c.turn_of_success for c in candidates)
    scored = sum(any(a.scored for a in c.attempts) for c in candidates)
    succeeded = sum(count for turn, count in won.items() if turn is not None)
    return Turns(
        succeeded=tuple(
            OutcomeCount(turn=turn, outcome=Outcome.CORRECT.value, count=won[turn])
            for turn in sorted(t for t in won if t is not None)
        ),
        failed=scored - succeeded,
        unscored=len(candidates) - scored,
    )


def cost(samples: Sequence[Sample], verdicts: Sequence[Judged]) -> Cost:
    """Tokens and seconds of all records, those of answers that were asked for again included."""
    begins = [s.asked_at for s in samples if s.asked_at is not None]
    ends = [s.answered_at for s in samples if s.answered_at is not None]
    ends += [v.ended_at for v in verdicts if v.ended_at is not None]
    return Cost(
        prompt_tokens=spread(s.prompt_tokens for s in samples),
        completion_tokens=spread(s.completion_tokens for s in samples),
        answer_seconds=spread(s.seconds for s in samples),
        judge_seconds=spread(_between(v.started_at, v.ended_at) for v in verdicts),
        queue_seconds=spread(_between(v.queued_at, v.started_at) for v in verdicts),
        wall_seconds=max(ends) - min(begins) if begins and ends else None,
    )


def spread(values: Iterable[float | None]) -> Spread:
    """Total, mean, median and 90th percentile of what is known."""
    known = np.array([v for v in values if v is not None], dtype=np.float64)
    if not len(known):
        return Spread(known=0)
    median, p90 = np.percentile(known, (50, 90))
    return Spread(
        known=len(known), total=float(known.sum()), mean=float(known.mean()), median=float(median), p90=float(p90)
    )


def _between(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else max(end - begin, 0.0)
