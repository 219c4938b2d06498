"""Whether the server is there at all, and lets us in: what all requests of a model have seen of it together."""

from __future__ import annotations

import logging
import time

from musacoder.models.config import RetryConfig
from musacoder.models.faults import Fault
from musacoder.models.types import FailureKind

_LOG = logging.getLogger(__name__)  # a warning reaches standard error wherever nobody has set up anything else
LOOK_SECONDS = 15.0  # most between two looks for a server that is gone


class Reach:
    """For the tasks of one event loop.

    A server that has never answered is given up soon: its address is wrong, or it was not started. One that has
    answered is being started again, perhaps, which takes minutes.
    """

    def __init__(self, config: RetryConfig) -> None:
        self._config = config
        self._has_answered = self._has_let_in = False
        self._gone_since: float | None = None  # no request has got through since then

    def note(self, fault: Fault | None) -> None:
        """What a request has just come to; None: an answer."""
        if fault is not None and fault.is_absence:
            self._miss(fault)
            return
        if self._has_answered and self._gone_since is not None:
            _LOG.warning("musacoder: the server is there again, after %.0f s", self.gone_seconds)
        self._has_answered, self._gone_since = True, None
        self._has_let_in = self._has_let_in or fault is None or fault.kind is not FailureKind.UNAUTHORISED

    def _miss(self, fault: Fault) -> None:
        if self._gone_since is not None:
            return
        self._gone_since = time.monotonic()
        if self._has_answered:
            _LOG.warning("musacoder: %s; waiting for it, %.0f s at most", fault, self._config.restart_seconds)

    @property
    def gone_seconds(self) -> float:
        """For how long no connection was made."""
        return 0.0 if self._gone_since is None else time.monotonic() - self._gone_since

    @property
    def is_given_up(self) -> bool:
        """Whether a server that is gone has been waited for long enough."""
        most = self._config.restart_seconds if self._has_answered else self._config.start_seconds
        return self.gone_seconds >= most

    def is_the_end(self, fault: Fault) -> bool:
        """Whether whatever else is asked would fail as this did."""
        return fault.is_absence or (fault.kind is FailureKind.UNAUTHORISED and not self._has_let_in)
