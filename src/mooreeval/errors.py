"""Errors that are not verdicts.

    MooreError                 anything this package raises on purpose; its text is one clear line
    ├── UsageError             the caller asked for something impossible (exit 2)
    │   └── TaskError          the task is bad: not Python, no Model, raises, hangs, no tensors (exit 2)
    └── NotJudged              the judge itself failed (exit 3): no compiler, no space, a lost child of
        │                      ours. Never a verdict, never a reward.
        └── Transient          ... and another try may well succeed: a lost launcher
            └── WireError      a peer broke the wire format

What a candidate does wrong is never an exception here: it is a `Verdict`.
"""


class MooreError(Exception):
    """Base of all deliberate errors; `str(error)` is one line fit for a terminal."""


class UsageError(MooreError):
    """Bad usage: unknown backend, no such file, invalid configuration."""


class TaskError(UsageError):
    """The task cannot be used to judge anything."""


class NotJudged(MooreError):
    """The judge failed, not the candidate; there is no verdict and no reward."""


class Transient(NotJudged):
    """A failure of the judge that another try may not see."""


class WireError(Transient):
    """A message does not follow the wire format."""
