"""What a person may call a model, and what is said where there is none."""

import pytest
from support.model_server import chat, serving
from support.tiny_model import save_tiny_model

from mooreeval.errors import UsageError
from musacoder.models import Message, ModelConfig, Sampling, open_model
from musacoder.models.tokens import estimated_tokens, token_counter

PROMPT = [Message("user", "Write.")]


@pytest.mark.parametrize("spec", ["openai:qwen:7b", "qwen:7b", "org/name"])
def test_any_other_name_is_one_of_the_server(spec):
    def script(request, _number):
        return chat(request["model"], model=request["model"])

    with serving(script) as seen:
        config = ModelConfig.model_validate({"server": {"base_url": seen.url}})
        with open_model(spec, config) as opened:
            (found,) = opened.sample(PROMPT, 1, Sampling())
    assert found.text == found.model == opened.name == spec.removeprefix("openai:")


@pytest.mark.parametrize("spec", ["", " ", "openai:", "hf: ", "scripted:"])
def test_no_name_is_told_with_what_there_is(spec):
    with pytest.raises(UsageError, match=r"names no model; it is NAME or openai:NAME .* scripted:FOLDER"):
        open_model(spec)


def test_the_configuration_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="temprature"):
        ModelConfig.model_validate({"temprature": 1})


def test_an_estimate_is_no_less_than_what_a_tokenizer_of_bytes_per_token_says():
    assert estimated_tokens([Message("user", "x" * 1000)]) >= 400
    assert estimated_tokens([Message("user", "é" * 1000)]) >= 800
    assert estimated_tokens([Message("user", "a\ud800b")]) > 0


def test_a_tokenizer_counts_exactly(tmp_path):
    folder = save_tiny_model(tmp_path / "tiny-model")
    count = token_counter(ModelConfig(tokenizer=str(folder)))
    assert count(PROMPT) == len("[user]Write.") + 1 + len("[assistant]")


def test_a_tokenizer_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="no tokenizer at") as error:
        token_counter(ModelConfig(tokenizer=str(tmp_path)))
    assert "\n" not in str(error.value)
