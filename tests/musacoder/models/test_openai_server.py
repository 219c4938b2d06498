"""What a server does wrong is counted, waited out where that helps, and told by class; no run ends with it."""

import json
import math
import random
import re
import threading
import time
from contextlib import contextmanager

import pytest
from support.model_server import Reply, chat, json_reply, refusal, serving

from mooreeval.errors import UsageError
from musacoder.models import FailureKind, Message, ModelConfig, Sampling
from musacoder.models.openai_server import OpenAIServer

PROMPT = [Message("user", "Write a kernel.")]
SAMPLING = Sampling(max_tokens=64, seed=5)


@contextmanager
def model(script, **server):
    """A server with this script, and the model behind it; waits are a hundredth of the usual ones."""
    retry = {"attempts": 4, "first_seconds": 0.01, "longest_seconds": 0.5, **server.pop("retry", {})}
    with serving(script) as seen:
        config = ModelConfig.model_validate({"server": {"base_url": seen.url, "retry": retry, **server}})
        with OpenAIServer("tiny", config) as opened:
            yield opened, seen


def one(script, **server):
    """The one completion of a prompt, and how many requests arrived."""
    with model(script, **server) as (opened, seen):
        (found,) = opened.sample(PROMPT, 1, SAMPLING)
        return found, len(seen.requests)


def after(*first: Reply, then: Reply | None = None):
    """A script: these replies, and from then on a good one."""
    return lambda _request, number: first[number] if number < len(first) else then or chat("good")


def test_n_answers_come_with_one_request_that_says_all_that_was_asked():
    with model(lambda _request, _number: chat("a", "b", "c"), extra_body={"top_k": 20}) as (opened, seen):
        order = []
        found = opened.sample(
            [Message("system", "s"), *PROMPT],
            3,
            Sampling(temperature=0.5, top_p=0.9, max_tokens=10, seed=7, stop=("END",), logprobs=True),
            on_completion=lambda index, completion: order.append((index, completion.text)),
        )
    assert [c.text for c in found] == ["a", "b", "c"]
    assert sorted(order) == [(0, "a"), (1, "b"), (2, "c")]
    (request,) = seen.requests
    assert request == {
        "model": "tiny", "n": 3, "temperature": 0.5, "top_p": 0.9, "max_tokens": 10, "seed": 7, "stop": ["END"],
        "logprobs": True, "top_k": 20,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Write a kernel."}],
    }  # fmt: skip
    assert [(c.prompt_tokens, c.attempts, c.model, c.finish_reason) for c in found] == [(11, 1, "tiny", "stop")] * 3
    assert sum(c.completion_tokens for c in found) == 21


def test_what_is_left_open_is_not_sent():
    with model(after(), max_tokens_field="max_completion_tokens") as (opened, seen):
        opened.sample(PROMPT, 1, Sampling(temperature=None, top_p=None, max_tokens=9))
        opened.sample(PROMPT, 1, Sampling(temperature=None, top_p=None, max_tokens=None))
    assert [sorted(r) for r in seen.requests] == [["max_completion_tokens", "messages", "model"], ["messages", "model"]]


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_several_answers_is_asked_for_each_and_not_tried_again(status):
    def script(request, _number):
        return refusal(status, "n must be 1") if "n" in request else chat(f"seed {request['seed']}")

    with model(script) as (opened, seen):
        assert [c.text for c in opened.sample(PROMPT, 3, SAMPLING)] == ["seed 5", "seed 6", "seed 7"]
        assert len(seen.requests) == 4
        opened.sample(PROMPT, 3, SAMPLING)
        assert len(seen.requests) == 7


def test_a_server_that_gives_one_answer_where_several_were_asked_is_asked_for_the_others():
    with model(lambda request, _number: chat(f"seed {request['seed']}")) as (opened, seen):
        assert [c.text for c in opened.sample(PROMPT, 3, SAMPLING)] == ["seed 5", "seed 6", "seed 7"]
        assert len(seen.requests) == 3


def test_more_answers_than_asked_for_are_left_alone():
    assert one(lambda _request, _number: chat("a", "b"))[0].text == "a"


def test_no_more_requests_run_at_once_than_configured():
    def script(_request, _number):
        time.sleep(0.02)
        return chat("x")

    with model(script, concurrency=3, answers_per_request=1) as (opened, seen):
        assert len(opened.sample(PROMPT, 12, SAMPLING)) == 12
    assert seen.most_at_once == 3


def test_requests_a_minute_are_bounded():
    start = time.monotonic()
    with model(after(), requests_per_minute=1200, answers_per_request=1) as (opened, _seen):
        opened.sample(PROMPT, 5, SAMPLING)
    assert time.monotonic() - start >= 4 * 0.05


def test_several_threads_share_one_model():
    with model(lambda request, _number: chat(request["messages"][0]["content"])) as (opened, _seen):
        found = {}

        def ask(text):
            found[text] = opened.sample([Message("user", text)], 1, SAMPLING)[0].text

        threads = [threading.Thread(target=ask, args=(f"prompt {i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {f"prompt {i}": f"prompt {i}" for i in range(8)}


PASSING = {
    "429": refusal(429, "slow down"),
    "500": refusal(500),
    "503": refusal(503),
    "408": refusal(408),
    "409": refusal(409),
    "not JSON in a 502": Reply(b"<html>bad gateway</html>", 502, {"Content-Type": "text/html"}),
    "half a JSON": Reply(chat("good").body[:40]),
    "a broken connection": Reply(chat("good").body, cut=30),
    "nothing": Reply(b""),
    "no choices": json_reply({"model": "tiny", "choices": []}),
    "choices that are null": json_reply({"model": "tiny", "choices": None}),
    "choices that are text": json_reply({"choices": ["hello"]}),
    "a list": json_reply([1, 2]),
    "an error within a 200": json_reply({"error": {"message": "overloaded"}}),
    "deep nesting": Reply(b"[" * 100_000),
    "bytes that are no text": Reply(b"\xff\xfe\x00{"),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_tried_again(fault):
    found, requests = one(after(fault, fault))
    assert (found.text, found.attempts, requests) == ("good", 3, 3)


KINDS = {
    "429": FailureKind.RATE_LIMITED,
    "500": FailureKind.SERVER_ERROR,
    "503": FailureKind.SERVER_ERROR,
    "408": FailureKind.TIMED_OUT,
    "409": FailureKind.REFUSED,
    "not JSON in a 502": FailureKind.SERVER_ERROR,
    "a broken connection": FailureKind.UNREACHABLE,
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_stays_is_told_by_class_after_all_attempts(name):
    found, requests = one(lambda _request, _number: PASSING[name])
    assert found.text is None
    assert found.failure.kind is KINDS.get(name, FailureKind.MALFORMED)
    assert (found.attempts, requests) == (4, 4)
    assert "after 4 requests" in found.failure.message
    assert "\n" not in found.failure.message


def test_among_random_faults_every_answer_comes_or_is_told_and_every_request_is_counted():
    draw, lock = random.Random(4), threading.Lock()
    faults = [*PASSING.values(), refusal(400, "not this one")]

    def script(_request, _number):
        with lock:
            return draw.choice(faults) if draw.random() < 0.4 else chat("good")

    with model(script, answers_per_request=1, retry={"first_seconds": 0.001}) as (opened, seen):
        found = [c for _ in range(8) for c in opened.sample(PROMPT, 8, SAMPLING)]
    assert len(found) == 64
    assert {c.text for c in found} == {"good", None}
    assert sum(c.attempts for c in found) == len(seen.requests) > 64
    assert all(c.attempts == 4 or c.failure.kind is FailureKind.REFUSED for c in found if c.failure)


def test_retry_after_is_waited_for():
    start = time.monotonic()
    found, _requests = one(after(refusal(429, Retry_After="0.3")))
    assert found.text == "good"
    assert time.monotonic() - start >= 0.3
    assert found.seconds >= 0.3


def test_a_retry_after_of_an_hour_is_bounded():
    assert one(after(refusal(503, Retry_After="3600")), retry={"longest_seconds": 0.1})[0].text == "good"


def test_a_rate_limit_holds_back_the_other_requests_too():
    moments = []

    def script(_request, number):
        moments.append(time.monotonic())
        return refusal(429, Retry_After="0.3") if number == 0 else chat("good")

    with model(script, concurrency=1, answers_per_request=1) as (opened, _seen):
        opened.sample(PROMPT, 3, SAMPLING)
    assert min(later - moments[0] for later in moments[1:]) >= 0.29


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (refusal(400, "temperature must be below 2"), FailureKind.REFUSED),
        (refusal(404, "no such model"), FailureKind.REFUSED),
        (refusal(401, "bad key"), FailureKind.UNAUTHORISED),
        (refusal(403), FailureKind.UNAUTHORISED),
        (refusal(400, "This model's maximum context length is 4096 tokens"), FailureKind.PROMPT_TOO_LONG),
        (refusal(400, "request (900 tokens) exceeds the available context size"), FailureKind.PROMPT_TOO_LONG),
        (json_reply({"error": {"message": "x", "code": "context_length_exceeded"}}, 400), FailureKind.PROMPT_TOO_LONG),
        (json_reply({"error": {"message": "pay", "code": "insufficient_quota"}}, 429), FailureKind.RATE_LIMITED),
    ],
)
def test_a_fault_that_does_not_pass_is_told_at_once(reply, kind):
    found, requests = one(lambda _request, _number: reply)
    assert (found.failure.kind, found.attempts, requests) == (kind, 1, 1)


def test_a_request_that_is_refused_either_way_costs_two_requests_and_not_n():
    with model(lambda _request, _number: refusal(404, "no such model")) as (opened, seen):
        found = opened.sample(PROMPT, 8, SAMPLING)
    assert [c.failure.kind for c in found] == [FailureKind.REFUSED] * 8
    assert len(seen.requests) == 2


def behind(url: str, **retry: float) -> OpenAIServer:
    """The model at that address, waits a hundredth of the usual ones."""
    server = {"base_url": url, "retry": {"attempts": 2, "first_seconds": 0.01, **retry}}
    return OpenAIServer("tiny", ModelConfig.model_validate({"server": server}))


def test_a_server_that_is_not_there_is_looked_for_as_long_as_it_is_told_and_fails_every_answer():
    with behind("http://127.0.0.1:9/v1", start_seconds=0.2, longest_seconds=0.05) as opened:
        start = time.monotonic()
        found = opened.sample(PROMPT, 2, SAMPLING)
        assert time.monotonic() - start >= 0.2
    assert {(c.failure.kind, c.failure.is_for_all) for c in found} == {(FailureKind.UNREACHABLE, True)}
    assert all(c.attempts > 2 for c in found)  # to look for it is no attempt
    assert "no connection to 127.0.0.1:9: " in found[0].failure.message


def test_a_server_that_is_started_again_answers_what_was_asked_meanwhile(caplog):
    with serving(after()) as first:
        port = int(first.url.split(":")[2].removesuffix("/v1"))
        opened = behind(first.url, start_seconds=0.01, restart_seconds=20, longest_seconds=0.05)
        with opened:
            assert opened.sample(PROMPT, 1, SAMPLING)[0].text == "good"
            found = []
            thread = threading.Thread(target=lambda: found.extend(opened.sample(PROMPT, 1, SAMPLING)))
            first.close()
            thread.start()
            time.sleep(0.4)  # longer than all attempts, and than one that never answered is waited for
            assert not found
            with serving(after(then=chat("again")), port):
                thread.join(10)
            assert [c.text for c in found] == ["again"]
    gone, back = (record.getMessage() for record in caplog.records)
    assert re.fullmatch(r"musacoder: no connection to 127\.0\.0\.1:\d+: .*; waiting for it, 20 s at most", gone)
    assert re.fullmatch(r"musacoder: the server is there again, after \d+ s", back)


def test_a_server_that_stays_away_after_it_has_answered_fails_every_answer():
    with serving(after()) as server, behind(server.url, restart_seconds=0.2, longest_seconds=0.05) as opened:
        assert opened.sample(PROMPT, 1, SAMPLING)[0].text == "good"
        server.close()
        (found,) = opened.sample(PROMPT, 1, SAMPLING)
    assert (found.failure.kind, found.failure.is_for_all) == (FailureKind.UNREACHABLE, True)


def test_a_key_that_was_never_taken_fails_every_answer_and_one_that_was_only_this():
    with model(after(refusal(401), chat("good"), refusal(401))) as (opened, _seen):
        found = [opened.sample(PROMPT, 1, SAMPLING)[0] for _ in range(3)]
    assert [c.failure and c.failure.is_for_all for c in found] == [True, None, False]


def test_an_answer_that_takes_too_long_is_given_up_after_few_attempts():
    def script(_request, _number):
        time.sleep(1)
        return chat("late")

    found, requests = one(script, answer_seconds=0.1)
    assert (found.failure.kind, found.attempts, requests) == (FailureKind.TIMED_OUT, 2, 2)


def test_a_reply_that_is_too_large_is_not_read():
    found, requests = one(lambda _request, _number: chat("x" * (3 << 20)), answer_mib=2)
    assert (found.failure.kind, requests) == (FailureKind.MALFORMED, 1)
    assert "larger than 2 MiB" in found.failure.message


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own_is_kept_apart(field):
    found, _requests = one(lambda _request, _number: chat("code", **{field: "because"}))
    assert (found.text, found.reasoning) == ("code", "because")


@pytest.mark.parametrize(
    "content", ["<think>because</think>code", "because</think>code", "<think>\nbecause\n</think>\ncode"]
)
def test_reasoning_in_the_text_is_kept_apart(content):
    found, _requests = one(lambda _request, _number: chat(content))
    assert (found.text, found.reasoning) == ("code", "because")


@pytest.mark.parametrize("content", [None, "", "   \n"])
def test_200_kb_of_reasoning_without_an_answer_are_a_failure_that_is_not_tried_again(content):
    found, requests = one(lambda _request, _number: chat(content, reason="length", reasoning_content="so " * 70_000))
    assert (found.failure.kind, requests) == (FailureKind.ONLY_REASONING, 1)
    assert found.failure.kind.is_an_answer
    assert len(found.reasoning) == 210_000
    assert found.completion_tokens == 7


def test_thinking_that_never_ends_is_no_answer():
    found, _requests = one(lambda _request, _number: chat("<think>\n" + "so " * 70_000, reason="length"))
    assert found.failure.kind is FailureKind.ONLY_REASONING
    assert len(found.reasoning) > 200_000


def test_an_empty_choice_is_told_and_not_drawn_again():
    found, requests = one(lambda _request, _number: chat(""))
    assert (found.failure.kind, requests) == (FailureKind.EMPTY, 1)


def test_an_answer_that_was_cut_off_is_an_answer():
    found, _requests = one(lambda _request, _number: chat("half a ker", reason="length"))
    assert (found.text, found.finish_reason) == ("half a ker", "length")


def test_a_refusal_is_told_as_filtered():
    assert one(lambda _r, _n: chat(None, refusal="I would rather not"))[0].failure.kind is FailureKind.FILTERED
    assert one(lambda _r, _n: chat("", reason="content_filter"))[0].failure.kind is FailureKind.FILTERED


def test_another_models_name_in_the_reply_is_a_warning():
    found, _requests = one(lambda _request, _number: chat("x", model="other\n\x1b[31m"))
    assert found.text == "x"
    assert found.warnings == ("asked tiny, answered by other ?[31m",)
    assert one(lambda _request, _number: chat("x", model="tiny-2026-01-01"))[0].warnings == ()


def test_log_probabilities_and_token_ids_are_read_where_they_are_given():
    def reply(logprobs, **choice):
        choice = {"message": {"content": "x"}, "finish_reason": "stop", "logprobs": logprobs, **choice}
        return json_reply({"model": "tiny", "choices": [choice]})

    entries = [{"token": "token_id:3", "logprob": -0.5}, {"token": "token_id:9", "logprob": -2}]
    found, _requests = one(lambda _r, _n: reply({"content": entries}))
    assert (found.token_ids, found.logprobs, found.completion_tokens) == ((3, 9), (-0.5, -2.0), 2)
    named = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -2}]
    assert one(lambda _r, _n: reply({"content": named}, token_ids=[4, 5]))[0].token_ids == (4, 5)
    assert one(lambda _r, _n: reply({"content": named}))[0].token_ids is None


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"content": None},
        {"content": [{"token": "a", "logprob": None}]},
        {"content": [{"logprob": math.nan}]},
        [],
    ],
)
def test_without_log_probabilities_there_is_an_answer_all_the_same(logprobs):
    choice = {"message": {"content": "x"}, "logprobs": logprobs}
    found, _requests = one(lambda _r, _n: json_reply({"choices": [choice]}))
    assert (found.text, found.logprobs, found.token_ids, found.prompt_tokens) == ("x", None, None, None)


def test_tokens_of_several_answers_are_shared_by_their_lengths_and_add_up():
    with model(lambda _request, _number: chat("a" * 99, "b", "c" * 50)) as (opened, _seen):
        counts = [c.completion_tokens for c in opened.sample(PROMPT, 3, SAMPLING)]
    assert sum(counts) == 21
    assert counts[0] > counts[2] > counts[1]


def test_the_key_comes_from_the_environment_and_is_told_to_the_server_alone(monkeypatch, capfd):
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("A_KEY", key)
    with model(lambda _request, _number: refusal(401, f"wrong key {key}"), api_key_env="A_KEY") as (opened, seen):
        (found,) = opened.sample(PROMPT, 1, SAMPLING)
        assert key not in repr(vars(opened)["_config"])
    assert seen.headers[0]["authorization"] == f"Bearer {key}"
    assert found.failure.message == "HTTP 401: wrong key ***"
    assert key not in "".join(capfd.readouterr())


def test_no_key_of_the_environment_goes_to_a_server_that_was_not_given_it(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-mine")
    with model(after()) as (opened, seen):
        opened.sample(PROMPT, 1, SAMPLING)
    assert "sk-mine" not in json.dumps(seen.headers)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({}, "OPENAI_API_KEY"),
        ({"base_url": "http://localhost:1/v1", "api_key_env": "NOT_SET"}, "NOT_SET"),
        ({"base_url": "localhost:8000"}, "no address"),
        ({"base_url": "http://localhost:port"}, "no address"),
        ({"base_url": "file:///etc/passwd"}, "no address"),
    ],
)
def test_a_wrong_address_or_a_missing_key_is_a_usage_error(server, words, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=words):
        OpenAIServer("tiny", ModelConfig.model_validate({"server": server}))


def test_closing_ends_what_is_awaited():
    asked, free = threading.Event(), threading.Event()

    def script(_request, _number):
        asked.set()
        free.wait(10)
        return chat("late")

    with model(script) as (opened, _seen):
        found = []
        thread = threading.Thread(target=lambda: found.extend(opened.sample(PROMPT, 2, SAMPLING)))
        thread.start()
        assert asked.wait(5)
        opened.close()
        thread.join(5)
        free.set()
        assert [c.failure.kind for c in found] == [FailureKind.CLOSED] * 2
        assert [c.failure.kind for c in opened.sample(PROMPT, 1, SAMPLING)] == [FailureKind.CLOSED]


def test_an_error_of_the_caller_reaches_the_caller_and_ends_the_requests():
    def stop(_index, _completion):
        raise KeyboardInterrupt

    with model(after(), answers_per_request=1) as (opened, _seen):
        with pytest.raises(KeyboardInterrupt):
            opened.sample(PROMPT, 3, SAMPLING, on_completion=stop)
        assert opened.sample(PROMPT, 1, SAMPLING)[0].text == "good"


@pytest.mark.parametrize(("context", "sent"), [(None, 64), (100, 64), (60, 46), (14, None)])
def test_an_answer_is_bounded_by_the_context_where_that_is_known(context, sent):
    with serving(after()) as seen:
        config = ModelConfig.model_validate({"context_tokens": context, "server": {"base_url": seen.url}})
        with OpenAIServer("tiny", config) as opened:
            assert opened.count_tokens(PROMPT) == 14
            (found,) = opened.sample(PROMPT, 1, SAMPLING)
    assert [r["max_tokens"] for r in seen.requests] == ([sent] if sent else [])
    assert (found.failure is None) == (sent is not None)
    assert sent or found.failure.kind is FailureKind.PROMPT_TOO_LONG


def test_a_prompt_with_half_a_character_is_sent_all_the_same():
    with model(lambda request, _number: chat(request["messages"][0]["content"])) as (opened, _seen):
        assert opened.sample([Message("user", "a\ud800b")], 1, SAMPLING)[0].text == "a?b"
