"""What can go wrong with a request, by class: what helps against it, and in which words it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import openai

from musacoder.models.pace import retry_after_seconds
from musacoder.models.replies import MalformedReply, one_line
from musacoder.models.types import Failure, FailureKind

_BY_STATUS = {
    401: FailureKind.UNAUTHORISED,
    403: FailureKind.UNAUTHORISED,
    408: FailureKind.TIMED_OUT,
    429: FailureKind.RATE_LIMITED,
    504: FailureKind.TIMED_OUT,
}
_MAY_PASS = {409, 425}  # beside time-outs, rate limits and what is the server's own fault
_SPENT = {"insufficient_quota", "billing_hard_limit_reached"}  # waiting brings no money
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|(maximum|max).{0,40}context|(prompt|input).{0,20}too long|too many tokens",
    re.IGNORECASE,
)


class Fault(Exception):
    """A request that gave no answer.

    `passing`: another one may; `pause_seconds`: what the server asks to wait; `is_costly`: it took all of its time;
    `is_absence`: no connection was made, so that no request is to blame.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        passing: bool = False,
        pause_seconds: float | None = None,
        is_costly: bool = False,
        is_absence: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.passing = passing
        self.pause_seconds = pause_seconds
        self.is_costly = is_costly
        self.is_absence = is_absence

    def failure(self, attempts: int, *, is_for_all: bool = False) -> Failure:
        """As it is told after so many requests."""
        after = f" (after {attempts} requests)" if attempts > 1 else ""
        return Failure(self.kind, f"{self}{after}", is_for_all)


class ReplyTooLarge(Exception):
    """A reply was larger than it may be; the rest of it was not read."""


def fault_of(error: Exception, secret: str | None) -> Fault:
    """The class of whatever a request raised; `secret` is kept out of the words."""
    chain = list(_chain(error))
    if large := next((each for each in chain if isinstance(each, ReplyTooLarge)), None):
        return Fault(FailureKind.MALFORMED, str(large))
    if any(isinstance(each, httpx2.ConnectTimeout) for each in chain):
        words = f"no connection to {_address(error)} within the time"
        return Fault(FailureKind.UNREACHABLE, words, passing=True, is_absence=True)
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Fault(FailureKind.TIMED_OUT, "no answer within the time", passing=True, is_costly=True)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, secret)
    if isinstance(error, openai.APIConnectionError):
        is_absence = any(isinstance(each, httpx2.ConnectError) for each in chain)
        what = f"no connection to {_address(error)}: " if is_absence else ""
        words = one_line(f"{what}{type(chain[-1]).__name__}: {chain[-1]}")
        return Fault(FailureKind.UNREACHABLE, words, passing=True, is_absence=is_absence)
    what = error if isinstance(error, MalformedReply) else f"{type(error).__name__}: {error}"
    return Fault(FailureKind.MALFORMED, one_line(_without(f"no answer in the reply: {what}", secret)), passing=True)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it, the last of them first in time."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _address(error: Exception) -> str:
    """Of the server that was asked, without what a key could hide in."""
    request = getattr(error, "request", None)
    return "the server" if request is None else request.url.netloc.decode(errors="replace").rpartition("@")[2]


def _of_status(error: openai.APIStatusError, secret: str | None) -> Fault:
    status = error.status_code
    words = one_line(_without(f"HTTP {status}: {_message(error)}", secret))
    if status in (400, 413, 422) and (error.code == "context_length_exceeded" or _TOO_LONG.search(words)):
        return Fault(FailureKind.PROMPT_TOO_LONG, words)
    kind = _BY_STATUS.get(status, FailureKind.SERVER_ERROR if status >= 500 else FailureKind.REFUSED)
    retried = kind in (FailureKind.RATE_LIMITED, FailureKind.TIMED_OUT, FailureKind.SERVER_ERROR)
    passing = (retried and error.code not in _SPENT) or status in _MAY_PASS
    headers = {name.lower(): value for name, value in error.response.headers.items()}
    return Fault(kind, words, passing=passing, pause_seconds=retry_after_seconds(headers) if passing else None)


def _message(error: openai.APIStatusError) -> str:
    """The server's own words, wherever it puts them."""
    body = error.body
    for name in ("message", "detail", "error"):
        if isinstance(body, dict) and body.get(name):
            return str(body[name])
    return str(body) if body else error.response.reason_phrase


def _without(text: str, secret: str | None) -> str:
    return text.replace(secret, "***") if secret else text
