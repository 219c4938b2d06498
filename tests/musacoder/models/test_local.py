"""A checkpoint in this process: its own tokens, their probabilities, and the ways in which it can fail."""

import subprocess
import sys

import pytest
import torch
from support.cli import environment
from support.tiny_model import END, save_tiny_model
from transformers import AutoModelForCausalLM

from mooreeval.errors import UsageError
from musacoder.models import FailureKind, Message, ModelConfig, Sampling
from musacoder.models.generation import Checkpoint
from musacoder.models.local import LocalModel

PROMPT = [Message("user", "Write.")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny-model")


@pytest.fixture(scope="module")
def model(folder):
    with LocalModel(str(folder)) as opened:
        yield opened


def test_log_probabilities_are_those_of_a_forward_pass_over_what_was_generated(model, folder):
    found = model.sample(PROMPT, 3, Sampling(temperature=1.3, top_p=0.9, max_tokens=20, seed=1, logprobs=True))
    prompt = model._tokenizer.apply_chat_template(
        [{"role": "user", "content": "Write."}], add_generation_prompt=True, tokenize=True, return_dict=True
    )["input_ids"]
    reference = AutoModelForCausalLM.from_pretrained(folder)
    for completion in found:
        assert len(completion.token_ids) == len(completion.logprobs) == completion.completion_tokens
        with torch.no_grad():
            logits = reference(torch.tensor([[*prompt, *completion.token_ids]])).logits[0]
        expected = torch.log_softmax(logits[len(prompt) - 1 : -1], dim=-1)
        taken = expected.gather(1, torch.tensor(completion.token_ids)[:, None])[:, 0]
        assert torch.allclose(torch.tensor(completion.logprobs), taken, atol=1e-4)


@pytest.mark.slow
def test_where_no_terminal_is_loading_a_checkpoint_says_nothing(folder):
    load = "import sys; from musacoder.models.local import LocalModel; LocalModel(sys.argv[1]).close()"
    command = [sys.executable, "-c", load, str(folder)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_prompt_is_what_the_chat_template_makes_of_it(model):
    assert model.count_tokens(PROMPT) == len("[user]Write.") + 1 + len("[assistant]")
    (found,) = model.sample(PROMPT, 1, Sampling(max_tokens=4))
    assert found.prompt_tokens == model.count_tokens(PROMPT)


def test_a_model_without_a_chat_template_gets_the_texts_with_their_roles(tmp_path):
    with LocalModel(str(save_tiny_model(tmp_path / "plain", template=None))) as plain:
        assert plain.count_tokens(PROMPT) == len("user: Write.\n\nassistant: ")
        assert plain.sample(PROMPT, 1, Sampling(max_tokens=4, seed=0))[0].completion_tokens > 0


def test_an_answer_ends_at_its_bound_or_at_its_end_mark(model):
    found = model.sample(PROMPT, 8, Sampling(temperature=1.0, max_tokens=400, seed=0))
    reasons = {c.finish_reason for c in found}
    assert reasons == {"stop", "length"}
    for completion in found:
        ended = completion.token_ids[-1] == model._tokenizer.eos_token_id
        assert ended == (completion.finish_reason == "stop")
        assert completion.completion_tokens == 400 or ended
        assert END not in (completion.text or "")


def test_a_stop_text_ends_the_answer_and_is_no_part_of_it(model):
    whole = model.sample(PROMPT, 1, Sampling(temperature=0, max_tokens=40))[0]
    stop = whole.text[10:12]
    (found,) = model.sample(PROMPT, 1, Sampling(temperature=0, max_tokens=40, stop=(stop,)))
    assert found.finish_reason == "stop"
    assert found.text == whole.text.partition(stop)[0]
    assert found.completion_tokens < whole.completion_tokens


def test_at_temperature_0_all_answers_are_the_most_likely_one(model):
    found = model.sample(PROMPT, 3, Sampling(temperature=0, max_tokens=10))
    assert len({c.token_ids for c in found}) == 1


def test_a_seed_leaves_the_callers_own_draws_alone(model):
    torch.manual_seed(9)
    expected = torch.rand(3)
    torch.manual_seed(9)
    model.sample(PROMPT, 1, Sampling(max_tokens=4, seed=1))
    assert torch.equal(torch.rand(3), expected)


def test_more_answers_than_fit_into_a_batch_come_in_several(folder):
    config = ModelConfig.model_validate({"local": {"batch": 2}})
    with LocalModel(str(folder), config) as opened:
        found = opened.sample(PROMPT, 5, Sampling(max_tokens=6, seed=1))
    assert len({c.token_ids for c in found}) == 5


def test_a_prompt_without_room_for_an_answer_is_told(model):
    found = model.sample([Message("user", "x" * 600)], 2, Sampling(max_tokens=4))
    assert [c.failure.kind for c in found] == [FailureKind.PROMPT_TOO_LONG] * 2
    assert "512" in found[0].failure.message


def test_an_answer_never_grows_beyond_the_context(model):
    (found,) = model.sample([Message("user", "x" * 480)], 1, Sampling(temperature=1.0, max_tokens=None, seed=1))
    assert found.prompt_tokens + found.completion_tokens <= 512


def test_where_memory_does_not_suffice_fewer_are_drawn_at_once(folder, monkeypatch):
    sizes, real = [], Checkpoint.generate

    def generate(self, ids, n, *rest):
        sizes.append(n)
        if n > 2:
            raise torch.OutOfMemoryError("out of memory")
        return real(self, ids, n, *rest)

    monkeypatch.setattr(Checkpoint, "generate", generate)
    with LocalModel(str(folder)) as opened:
        found = opened.sample(PROMPT, 8, Sampling(max_tokens=4, seed=1))
    assert sizes == [8, 4, 2, 2, 2, 2]
    assert all(c.completion_tokens for c in found)


def test_what_a_model_raises_is_a_failure_of_these_answers(folder, monkeypatch):
    def generate(*_):
        raise RuntimeError("probability tensor contains nan\nand more")

    monkeypatch.setattr(Checkpoint, "generate", generate)
    with LocalModel(str(folder)) as opened:
        found = opened.sample(PROMPT, 2, Sampling(max_tokens=4))
    assert [c.failure.kind for c in found] == [FailureKind.MODEL_ERROR] * 2
    assert found[0].failure.message == "RuntimeError: probability tensor contains nan and more"


def test_thinking_that_the_template_opened_is_told_from_the_answer(tmp_path):
    template = "[user]{{ messages[-1].content }}[assistant]<think>\n"
    with LocalModel(str(save_tiny_model(tmp_path / "thinks", template=template))) as opened:
        (found,) = opened.sample(PROMPT, 1, Sampling(max_tokens=10, seed=1))
    assert found.failure.kind is FailureKind.ONLY_REASONING
    assert found.reasoning


NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}[user]"
    "{{ messages[-1].content }}[assistant]"
)


def test_a_template_without_system_messages_gets_their_text_in_the_first_turn(tmp_path):
    with LocalModel(str(save_tiny_model(tmp_path / "no-system", template=NO_SYSTEM))) as opened:
        (found,) = opened.sample([Message("system", "Be brief."), *PROMPT], 1, Sampling(max_tokens=4, seed=1))
        assert found.failure is None
        assert found.prompt_tokens == len("[user]Be brief.\n\nWrite.[assistant]")
        (refused,) = opened.sample([Message("system", "Be brief.")], 1, Sampling(max_tokens=4, seed=1))
        assert opened.count_tokens([Message("system", "Be brief.")]) > 0
    assert refused.failure.kind is FailureKind.MODEL_ERROR
    assert "the chat template refuses the prompt" in refused.failure.message
    assert "no system role" in refused.failure.message


@pytest.mark.parametrize("content", [None, "config.json"])
def test_a_folder_that_is_no_checkpoint_is_one_line(tmp_path, content):
    if content:
        (tmp_path / content).write_text("{}")
    with pytest.raises(UsageError) as error:
        LocalModel(str(tmp_path))
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)
