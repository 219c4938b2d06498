"""A real server end to end: a prompt as it is built, answers of a random model, every HTTP request counted."""

import pytest
from support.tiny_model import save_tiny_model
from support.transformers_serve import transformers_serve

from mooreeval import gallery
from mooreeval.candidate import NoCandidate
from mooreeval.extract import extract
from mooreeval.task import load_task
from musacoder.models import ModelConfig, Sampling, open_model
from musacoder.prompts import PromptConfig, Target, build_first

pytestmark = pytest.mark.slow
SAMPLING = Sampling(temperature=1.0, max_tokens=24, seed=1)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with transformers_serve(save_tiny_model(tmp_path_factory.mktemp("serve") / "tiny-model", context=16384)) as found:
        yield found


@pytest.fixture
def model(served):
    config = {
        "tokenizer": served.model,
        # It draws by one seed for the whole process: requests at the same time would change each other's draws.
        "server": {"base_url": served.seen.url, "concurrency": 1},
    }
    with open_model(served.model, ModelConfig.model_validate(config)) as opened:
        yield opened


def messages(model):
    task = load_task(gallery.load()[0].task_path)
    return build_first(task, PromptConfig(), Target(), count_tokens=model.count_tokens).messages


def test_n_answers_cost_n_requests_because_this_server_gives_one_at_a_time(served, model):
    before = len(served.seen.requests)
    prompt = messages(model)
    found = model.sample(prompt, 3, SAMPLING)
    assert len(served.seen.requests) - before == 3
    assert [r.get("n") for r in served.seen.requests[before:]] == [3, None, None]
    assert [r["seed"] for r in served.seen.requests[before:]] == [1, 2, 3]
    model.sample(prompt, 2, SAMPLING)
    assert len(served.seen.requests) - before == 5
    for completion in found:
        assert completion.failure is None or completion.failure.kind.is_an_answer
        assert completion.finish_reason in ("length", "stop")
        assert completion.completion_tokens <= 24
        assert completion.prompt_tokens == model.count_tokens(prompt)
        assert (completion.model, completion.warnings, completion.logprobs) == (served.model, (), None)
        assert isinstance(extract(completion.text or ""), NoCandidate)


def test_the_same_seed_gives_the_same_answers(model):
    prompt = messages(model)
    first, second = (model.sample(prompt, 2, SAMPLING) for _ in range(2))
    assert [c.text for c in first] == [c.text for c in second]
    assert first[0].text != first[1].text
