"""What a server's reply holds, believed only as far as it can be read.

    {"model", "usage", "choices": [{"index", "finish_reason", "message": {"content", "reasoning_content"}, "logprobs"}]}

Servers differ in what they leave out and in where they put the reasoning; whatever is missing is None.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

from mooreeval.extract import split_thinking
from musacoder.models.types import Completion, Failure, FailureKind

MAX_MESSAGE = 500  # characters of a failure's line
_REASONING = ("reasoning_content", "reasoning")
_MOST_ID, _MOST_LOG = 1 << 32, 1e30  # what is larger is no token's
_TOKEN_ID = re.compile(r"token_id:(\d+)")


class MalformedReply(Exception):
    """A reply that is not the protocol's; its text is one line."""


def read_reply(body: bytes, asked: str, most: int) -> list[Completion]:
    """At least one and at most `most` completions of a reply to a question to the model `asked`.

    Raises MalformedReply.
    """
    reply = _json(body)
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        error = reply.get("error")
        raise MalformedReply(f"the server told an error: {one_line(_words(error))}" if error else "no choices")
    if not all(isinstance(choice, dict) for choice in choices):
        raise MalformedReply("a choice that is no object")
    model = reply["model"] if isinstance(reply.get("model"), str) else ""
    warnings = () if not model or model.startswith(asked) else (f"asked {asked}, answered by {one_line(model)}",)
    usage = reply["usage"] if isinstance(reply.get("usage"), dict) else {}
    found = [_completion(choice, model or asked, _count(usage, "prompt_tokens"), warnings) for choice in choices]
    return _with_shares(found, _count(usage, "completion_tokens"))[:most]


def completion_of(text: str, reasoning: str | None, finish_reason: str | None, **fields: Any) -> Completion:
    """An answer, its thinking taken out of the text; a failure where nothing but thinking is there."""
    if not reasoning:
        thought, answer = split_thinking(text)
        reasoning = thought.strip() or None
        answer = answer.lstrip("\n") if answer and reasoning else answer
    else:
        answer = text
    failure = None
    if not (answer or "").strip():
        answer, failure = None, _nothing_said(reasoning, finish_reason)
    return Completion(text=answer, reasoning=reasoning, finish_reason=finish_reason, failure=failure, **fields)


def one_line(text: str) -> str:
    """Text of a server as one bounded line that a terminal may print."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text[: 4 * MAX_MESSAGE].split()))
    return line if len(line) <= MAX_MESSAGE else line[:MAX_MESSAGE] + " [...]"


def _nothing_said(reasoning: str | None, finish_reason: str | None) -> Failure:
    if finish_reason == "content_filter":
        return Failure(FailureKind.FILTERED, "the provider's filter removed the answer")
    if not reasoning:
        return Failure(FailureKind.EMPTY, f"an empty answer (finish_reason {finish_reason})")
    why = "its tokens were spent" if finish_reason == "length" else f"finish_reason {finish_reason}"
    return Failure(FailureKind.ONLY_REASONING, f"{len(reasoning)} characters of reasoning and no answer: {why}")


def _json(body: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        what = f"{len(body)} bytes that are not JSON" if body.strip() else "an empty reply"
        raise MalformedReply(what) from None
    if not isinstance(reply, dict):
        raise MalformedReply("JSON that is no object")
    return reply


def _completion(choice: dict[str, Any], model: str, prompt_tokens: int | None, warnings: tuple[str, ...]) -> Completion:
    message = choice["message"] if isinstance(choice.get("message"), dict) else {}
    reason = choice["finish_reason"] if isinstance(choice.get("finish_reason"), str) else None
    fields: dict[str, Any] = {"model": model, "prompt_tokens": prompt_tokens, "warnings": warnings}
    if isinstance(message.get("refusal"), str) and not message.get("content"):
        failure = Failure(FailureKind.FILTERED, f"the model declined: {one_line(message['refusal'])}")
        return Completion(finish_reason=reason, failure=failure, **fields)
    token_ids, logprobs = _tokens(choice)
    reasoning = next((text for name in _REASONING if (text := _text(message.get(name)))), None)
    return completion_of(
        _text(message.get("content")), reasoning, reason, token_ids=token_ids, logprobs=logprobs, **fields
    )


def _text(content: Any) -> str:
    """A string, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "".join(texts)


def _tokens(choice: dict[str, Any]) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    """Ids and log-probabilities of what was generated; None where they are not given for every token."""
    told = choice["logprobs"] if isinstance(choice.get("logprobs"), dict) else {}
    entries = told["content"] if isinstance(told.get("content"), list) else []
    entries = [entry for entry in entries if isinstance(entry, dict)]
    ids = choice.get("token_ids")
    ids = ids if isinstance(ids, list) else [_token_id(entry) for entry in entries]
    logprobs = [entry.get("logprob") for entry in entries]
    whole = tuple(i for i in ids if type(i) is int and 0 <= i < _MOST_ID)
    numbers = tuple(float(p) for p in logprobs if type(p) in (int, float) and math.isfinite(p) and abs(p) < _MOST_LOG)
    whole_ids = whole if whole and len(whole) == len(ids) else None
    if not numbers or len(numbers) != len(logprobs) or (whole_ids and len(whole_ids) != len(numbers)):
        return whole_ids, None
    return whole_ids, numbers


def _token_id(entry: dict[str, Any]) -> int | None:
    """vLLM names tokens `token_id:N` where it is told to."""
    if isinstance(entry.get("token_id"), int):
        return entry["token_id"]
    match = _TOKEN_ID.fullmatch(str(entry.get("token", "")))
    return int(match[1]) if match else None


def _count(usage: dict[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if type(value) is int and value >= 0 else None


def _with_shares(found: list[Completion], total: int | None) -> list[Completion]:
    """Each with its part of the tokens of all: what its ids count, else by its length; the parts add up."""
    if total is None:
        return [_with_tokens(c, len(c.token_ids) if c.token_ids else None) for c in found]
    if len(found) > 1 and all(c.token_ids for c in found):
        return [_with_tokens(c, len(c.token_ids or ())) for c in found]
    sizes = [len(c.text or "") + len(c.reasoning or "") + 1 for c in found]
    done = before = 0
    shared = []
    for completion, size in zip(found, sizes, strict=True):
        done += size
        until = round(total * done / sum(sizes))
        shared.append(_with_tokens(completion, until - before))
        before = until
    return shared


def _with_tokens(completion: Completion, count: int | None) -> Completion:
    return replace(completion, completion_tokens=count)


def _words(error: Any) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return error["message"]
    return str(error)
