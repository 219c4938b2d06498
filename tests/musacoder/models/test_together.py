"""One checkpoint, many threads: their answers are in one batch and nobody sees it."""

import json
import shutil
import threading

import pytest
import torch
from support.tiny_model import save_tiny_model

from mooreeval.errors import UsageError
from musacoder.models import FailureKind, Message, ModelConfig, Sampling
from musacoder.models.local import TogetherModel

CONFIG = ModelConfig.model_validate({"local": {"batch": 32, "together": True}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny-model", context=128)


@pytest.fixture(scope="module")
def model(folder):
    with TogetherModel(str(folder), CONFIG) as opened:
        yield opened


def _asked(model, numbers, sampling=None) -> dict[int, list]:
    """What threads get that ask at the same time, each with a prompt of its own."""
    found = {}

    def ask(number):
        drawn = sampling or Sampling(temperature=1.0, max_tokens=30, seed=100 * number)
        found[number] = model.sample([Message("user", "Write " * (number % 5 + 1))], 3, drawn)

    threads = [threading.Thread(target=ask, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_answers_of_many_threads_are_those_that_each_gets_alone(model):
    rows = []
    hook = model._checkpoint.model.register_forward_pre_hook(
        lambda _module, _args, kwargs: rows.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    together = _asked(model, range(8))
    hook.remove()
    assert max(rows) > 3
    for number in range(8):
        alone = _asked(model, [number])[number]
        assert [c.token_ids for c in alone] == [c.token_ids for c in together[number]]


def test_answers_asked_for_one_by_one_are_those_asked_for_together(model):
    prompt = [Message("user", "Write.")]
    whole = model.sample(prompt, 3, Sampling(temperature=1.0, max_tokens=20, seed=7))
    alone = [model.sample(prompt, 1, Sampling(temperature=1.0, max_tokens=20, seed=7 + i))[0] for i in range(3)]
    assert [c.token_ids for c in whole] == [c.token_ids for c in alone]


def test_other_temperatures_wait_for_their_turn_and_are_answered(model):
    found = {}

    def ask(temperature):
        drawn = Sampling(temperature=temperature, max_tokens=12, seed=1, logprobs=True)
        found[temperature] = model.sample([Message("user", "Write.")], 2, drawn)

    threads = [threading.Thread(target=ask, args=(t,)) for t in (0, 0.5, 1.0, 1.5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(c.text is not None for of in found.values() for c in of)
    assert found[0][0].token_ids == found[0][1].token_ids
    assert sorted(t for t in found if found[t][0].logprobs is None) == [0.5, 1.5]


def test_a_prompt_without_room_fails_alone(model):
    sampling = Sampling(max_tokens=5, seed=0)
    (found,) = model.sample([Message("user", "x" * 500)], 1, sampling)
    assert found.failure.kind is FailureKind.PROMPT_TOO_LONG
    assert model.sample([Message("user", "x")], 1, sampling)[0].text is not None


def test_a_batch_that_fails_is_told_in_its_answers_and_the_next_one_works(model):
    checkpoint = model._checkpoint

    def fails(*_args, **_kwargs):
        raise torch.OutOfMemoryError("no memory for it")

    hook = checkpoint.model.register_forward_pre_hook(fails, with_kwargs=True)
    found = _asked(model, range(3))
    hook.remove()
    assert {c.failure.kind for of in found.values() for c in of} == {FailureKind.MODEL_ERROR}
    assert all(c.text is not None for c in _asked(model, [1])[1])


def test_closing_ends_what_is_awaited(folder):
    model = TogetherModel(str(folder), CONFIG)
    found = {}
    thread = threading.Thread(
        target=lambda: found.update(_asked(model, range(4), Sampling(temperature=1.0, max_tokens=100, seed=0)))
    )
    thread.start()
    model.close()
    thread.join(30)
    assert not thread.is_alive()
    kinds = {None if c.failure is None else c.failure.kind for of in found.values() for c in of}
    assert kinds <= {None, FailureKind.CLOSED}


def test_a_model_with_a_window_is_refused_when_it_is_opened(folder, tmp_path):
    windowed = tmp_path / "windowed"
    shutil.copytree(folder, windowed)
    config = json.loads((windowed / "config.json").read_text())
    (windowed / "config.json").write_text(json.dumps({**config, "layer_types": ["sliding_attention"] * 2}))
    with pytest.raises(UsageError, match="full attention"):
        TogetherModel(str(windowed), CONFIG)
