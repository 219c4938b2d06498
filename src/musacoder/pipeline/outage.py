"""When a run stops to ask: nothing more comes from its model, and two thousand prompts would not change that."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from mooreeval.errors import MooreError
from musacoder.models import Completion, Failure, FailureKind

# What says nothing about the prompt, or may not.
_OF_THE_MODEL = frozenset(
    (
        FailureKind.RATE_LIMITED,
        FailureKind.SERVER_ERROR,
        FailureKind.TIMED_OUT,
        FailureKind.UNREACHABLE,
        FailureKind.UNAUTHORISED,
        FailureKind.REFUSED,
        FailureKind.MALFORMED,
        FailureKind.MODEL_ERROR,
    )
)


class NoMoreAnswers(MooreError):
    """The model gives none, to whatever is asked; the run is whole and can go on."""


class Outage:
    """Counts the prompts in a row that the model left without any answer. Safe for several threads."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._row = 0
        self._guard = threading.Lock()

    def note(self, completions: Iterable[Completion]) -> None:
        """All that came of one prompt. Raises NoMoreAnswers where that was one too many."""
        failures = [completion.failure for completion in completions]
        lost = [failure for failure in failures if failure and failure.kind in _OF_THE_MODEL]
        with self._guard:
            self._row = self._row + 1 if lost and len(lost) == len(failures) else 0
            is_over = self._most is not None and self._row >= self._most
        if is_over:
            raise NoMoreAnswers(f"{self._row} prompts in a row got no answer, the last: {told_failure(lost[-1])}")


def told_failure(failure: Failure) -> str:
    """Its class and its words."""
    return f"{failure.kind.replace('_', ' ')}: {failure.message}"
