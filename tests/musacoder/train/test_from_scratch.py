"""Models from nothing: the sizes that their names promise, by the seed alone, and open to whoever reads checkpoints."""

import pytest
from support.training_rows import gallery_rows

from mooreeval.errors import UsageError
from musacoder.models import Message, Sampling
from musacoder.models.local import LocalModel
from musacoder.models.tokens import load_tokenizer
from musacoder.train.tokenizer import make_tokenizer, saved

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    texts = [turn.content for row in gallery_rows(10) for turn in (*row.prompt, *row.completion)]
    return load_tokenizer(str(saved(make_tokenizer(texts, 1024), tmp_path_factory.mktemp("tokenizer"))))


@pytest.mark.parametrize(("size", "millions"), [("nano", 2.6), ("small", 26)])
def test_a_size_has_the_parameters_that_it_says(tokenizer, size, millions):
    import torch
    from transformers import Qwen3ForCausalLM

    from musacoder.train.from_scratch import config_of

    with torch.device("meta"):
        model = Qwen3ForCausalLM(config_of(size, tokenizer, 2048))
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, rel=0.03)


def test_the_same_seed_gives_the_same_weights_and_leaves_other_draws_alone(tokenizer, tmp_path):
    import torch
    from safetensors.torch import load_file

    from musacoder.train.from_scratch import create

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (create("nano", tokenizer, 2048, seed, tmp_path / str(i)) for i, seed in enumerate((1, 1, 2)))
    assert torch.equal(torch.rand(3), expected)
    a, b, c = (load_file(folder / "model.safetensors") for folder in (first, again, other))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["model.embed_tokens.weight"], c["model.embed_tokens.weight"])


def test_a_model_from_nothing_answers_as_any_checkpoint_does(tokenizer, tmp_path):
    from musacoder.train.from_scratch import create

    with LocalModel(str(create("nano", tokenizer, 2048, 0, tmp_path / "nano"))) as model:
        found = model.sample([Message("user", "x")], 2, Sampling(temperature=1.0, max_tokens=8, seed=0))
    assert all(c.failure is None and c.completion_tokens for c in found)


def test_a_size_that_is_none_is_told(tokenizer, tmp_path):
    from musacoder.train.from_scratch import create

    with pytest.raises(UsageError, match="there is no huge; there are nano, small"):
        create("huge", tokenizer, 2048, 0, tmp_path)
