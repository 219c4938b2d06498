"""What every model keeps, be it behind a server, in this process or a script."""

import threading

import pytest
from support.model_server import chat, refusal, serving
from support.tiny_model import save_tiny_model

from mooreeval import gallery
from musacoder.models import FailureKind, Message, ModelConfig, Sampling, open_model

TASK = gallery.load()[0].task_path.read_text()
PROMPT = [Message("system", "Be brief."), Message("user", f"The task:\n```python\n{TASK}```\n")]
SAMPLING = Sampling(max_tokens=24, seed=3)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny-model", context=4096)


def _answers(request, number):
    """Every answer is one of its own."""
    del number
    return chat(*(f"answer {request.get('seed')} {i}" for i in range(request.get("n", 1))))


@pytest.fixture(params=["server", "local", "together", "scripted"])
def model(request, checkpoint):
    if request.param == "server":
        with serving(_answers) as seen:
            config = ModelConfig.model_validate({"server": {"base_url": seen.url}})
            with open_model("openai:tiny", config) as opened:
                yield opened
        return
    spec = "scripted:gallery" if request.param == "scripted" else f"hf:{checkpoint}"
    together = ModelConfig.model_validate({"local": {"together": request.param == "together"}})
    with open_model(spec, together) as opened:
        yield opened


def test_there_are_always_n_completions_each_told_once_and_in_the_callers_thread(model):
    told = {}

    def note(index, completion):
        assert index not in told
        assert threading.current_thread() is threading.main_thread()
        told[index] = completion

    found = model.sample(PROMPT, 5, SAMPLING, on_completion=note)
    assert [told[i] for i in range(5)] == found
    for completion in found:
        assert (completion.text is None) == (completion.failure is not None)
        assert completion.attempts == 1
        assert completion.seconds >= 0
        assert completion.model
    assert any(c.text for c in found)


def test_different_answers_differ_and_the_same_seed_draws_the_same(model):
    first, second = (model.sample(PROMPT, 3, SAMPLING) for _ in range(2))
    assert [(c.text, c.failure) for c in first] == [(c.text, c.failure) for c in second]
    assert len({(c.text, c.reasoning) for c in first}) > 1


def test_tokens_are_counted_of_prompt_and_answer(model):
    (found,) = model.sample(PROMPT, 1, SAMPLING)
    assert found.prompt_tokens > 0
    assert found.completion_tokens > 0
    count = model.count_tokens(PROMPT)
    assert count > model.count_tokens(PROMPT[1:]) > 0


def test_none_wanted_are_none(model):
    assert model.sample(PROMPT, 0, SAMPLING) == []


def test_several_threads_may_ask_at_once(model):
    found = []

    def ask():
        found.extend(model.sample(PROMPT, 2, SAMPLING))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8


def test_a_closed_model_says_so_in_every_completion(model):
    model.close()
    model.close()
    found = model.sample(PROMPT, 2, SAMPLING)
    assert [c.failure.kind for c in found] == [FailureKind.CLOSED] * 2


def test_a_failure_is_among_the_completions_and_raises_nothing():
    def script(request, number):
        return refusal(400, "no") if number == 1 else chat("fine")

    with serving(script) as seen:
        config = ModelConfig.model_validate({"server": {"base_url": seen.url, "answers_per_request": 1}})
        with open_model("tiny", config) as opened:
            found = opened.sample(PROMPT, 3, SAMPLING)
    assert sorted(c.text or c.failure.kind for c in found) == ["fine", "fine", "refused"]
