"""The loop for reading, and the trainer, are one algorithm."""

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from support import tiny_rl
from support.tiny_model import save_tiny_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from musacoder.prompts import PromptConfig
from musacoder.train.grpo_trainer import Answer
from musacoder.train.objective import group_advantages, prime_echo
from musacoder.train.rl_config import ObjectiveConfig

FILE = Path(__file__).parents[3] / "recipes" / "rl_loop.py"


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rl_loop", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_tiny_model(tmp_path_factory.mktemp("tiny") / "model", context=8192)


@pytest.fixture
def loop(recipe: ModuleType, checkpoint: Path) -> Any:
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    config = PromptConfig(templates=Path("compact"))
    return recipe.Loop(model, tokenizer, tiny_rl.tasks(), tiny_rl.HashVerifier(), config)


def test_it_can_be_read_at_one_sitting() -> None:
    assert len(FILE.read_text().splitlines()) < 300


def _answers(recipe: ModuleType, loop: Any) -> list[Any]:
    """A fixed batch: random tokens, log-probabilities near the model's and far from it, and a moved model."""
    torch.manual_seed(1)
    answers = []
    for row in range(8):
        prompt, tokens = torch.randint(250, (5 + row,)).tolist(), torch.randint(250, (4 + 3 * row,)).tolist()
        answer = recipe.Answer(prompt, tokens, [], advantage=float(torch.randn(())))
        with torch.no_grad():
            logprobs = loop.logprobs(loop.model, answer)
        answer.logprobs = (logprobs + torch.randn(len(tokens)) * 0.02 * row).tolist()
        answers.append(answer)
    with torch.no_grad():
        for parameter in loop.reference.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.02)
    return answers


def test_both_give_the_same_loss_and_gradient_on_a_fixed_batch(
    recipe: ModuleType, loop: Any, checkpoint: Path, tmp_path: Path
) -> None:
    answers = _answers(recipe, loop)
    value, kept = loop.loss(answers)
    value.backward()
    args = tiny_rl.arguments(
        tmp_path, beta=recipe.BETA, gradient_accumulation_steps=1, per_device_train_batch_size=8, num_generations=4
    )
    objective = ObjectiveConfig(
        delta=recipe.DELTA, beta=recipe.BETA, clip_low=recipe.CLIP_LOW, clip_high=recipe.CLIP_HIGH
    )
    trainer = tiny_rl.trainer_of(checkpoint, args, objective=objective)
    trainer.ref_model.load_state_dict(loop.reference.state_dict())
    trainer.current_gradient_accumulation_steps = 1
    rows = [Answer(a.prompt, a.tokens, a.logprobs, a.advantage, counts=True) for a in answers]
    loss = trainer._compute_loss(trainer.model, trainer._batch(rows))
    loss.backward()
    assert 1 < kept < 8
    assert float(loss.detach()) == pytest.approx(float(value.detach()), abs=1e-6)
    for mine, theirs in zip(loop.model.parameters(), trainer.model.parameters(), strict=True):
        assert mine.grad is not None and theirs.grad is not None
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-6, rtol=1e-4)


def test_both_give_the_same_advantages(recipe: ModuleType) -> None:
    random.seed(2)
    answers, rewards = [], []
    for _ in range(8):
        statuses = [random.choice(list(tiny_rl.Status)) for _ in range(3)]
        turns = [recipe.Turn("", tiny_rl.verdict(status), "") for status in statuses]
        scores = [random.choice([-1.0, -0.25, 1.0, 1.3]) for _ in turns]
        answers.append(recipe.Answer([1], [2], [0.0], turns, list(scores)))
        rewards.append(prime_echo(scores, answers[-1].passed, recipe.ALPHA, recipe.EARLY))
    recipe.advantages(answers)
    expected = group_advantages(torch.tensor([rewards]))[0]
    torch.testing.assert_close(torch.tensor([a.advantage for a in answers]), expected)


def test_it_takes_a_step_with_real_rollouts(recipe: ModuleType, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "MOST_TOKENS", 12)
    torch.manual_seed(0)
    random.seed(0)
    before = [p.detach().clone() for p in loop.model.parameters()]
    figures = loop.step()
    assert set(figures) == {"first", "best", "loss", "kept"} and figures["kept"] == 1.0
    assert any(not torch.equal(a, b) for a, b in zip(before, loop.model.parameters(), strict=True))
