"""When sampler, judge and trainer were at work: lines of a run's folder, and how idle each was. No torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from musacoder.rollout.driver import Span
from musacoder.runlog.lines import Lines, read_lines

TIMELINE = "timeline.jsonl"
WORKERS = ("sample", "judge", "train")


class Timeline:
    """Spans of one process, kept and written as they come."""

    def __init__(self, path: Path | None) -> None:
        """`path`: where they are written; none: nowhere."""
        self._lines = None if path is None else Lines(path)
        self._spans: list[Span] = []

    def add(self, step: int, spans: Iterable[Span]) -> None:
        """What was done for that step."""
        new = list(spans)
        self._spans = [*self._spans, *new][-4096:]
        if self._lines is not None and new:
            self._lines.append("\n".join(json.dumps({"step": step, **vars(span)}) for span in new))

    def idle(self, begun: float, ended: float) -> dict[str, float]:
        """Share of that time in which each of `WORKERS` did nothing."""
        return {what: 1 - busy_share(self._spans, what, begun, ended) for what in WORKERS}

    def close(self) -> None:
        """Idempotent."""
        if self._lines is not None:
            self._lines.close()


def busy_share(spans: Sequence[Span], what: str, begun: float, ended: float) -> float:
    """Share of the time from `begun` to `ended` that spans of one kind cover; those that overlap count once."""
    inside = sorted(
        (max(span.begun, begun), min(span.ended, ended))
        for span in spans
        if span.what == what and span.ended > begun and span.begun < ended
    )
    covered, until = 0.0, begun
    for first, last in inside:
        covered += max(0.0, last - max(first, until))
        until = max(until, last)
    return covered / (ended - begun) if ended > begun else 0.0


def read_spans(path: Path) -> list[tuple[int, Span]]:
    """(step, span) of every line. Raises UsageError for a line that is no JSON."""
    return [
        (int(data["step"]), Span(str(data["what"]), float(data["begun"]), float(data["ended"])))
        for _, _, data in read_lines(path)
    ]
