"""Every shipped recipe is read; the large ones say what the paper says."""

from pathlib import Path

import pytest
import yaml

from mooreeval.errors import UsageError
from musacoder.train.config import read_recipe

RECIPES = Path(__file__).parents[3] / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_recipe_is_a_configuration(path):
    config = read_recipe(path)
    assert (config.model.name is None) != (config.model.size is None)
    assert config.train.batch % config.train.device_batch == 0


def test_there_is_a_recipe_for_each_size():
    assert {p.stem for p in RECIPES.glob("*.yaml")} >= {"nano", "small", "9b", "27b"}


@pytest.mark.parametrize(("name", "model"), [("9b", "Qwen/Qwen3.5-9B"), ("27b", "Qwen/Qwen3.6-27B")])
def test_the_large_recipes_have_the_papers_settings(name, model):
    config = read_recipe(RECIPES / f"{name}.yaml")
    train = config.train
    assert config.model.name == model
    assert (train.learning_rate, train.warmup, train.weight_decay) == (1e-5, 0.03, 0.01)
    assert (train.sequence_tokens, train.batch, train.epochs, train.bf16) == (40960, 256, 1, True)
    assert train.deepspeed["zero_optimization"]["stage"] == 3
    assert "optimizer" not in train.deepspeed


@pytest.mark.parametrize("path", sorted(RECIPES.glob("accelerate/*.yaml")), ids=lambda p: p.stem)
def test_every_accelerate_configuration_is_one_of_accelerates_own(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == 8 * config.num_machines
    assert yaml.safe_load(path.read_text())["mixed_precision"] == "bf16"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("train.epoch=3", "train.epoch"),
        ("train.learning_rate=-1", "train.learning_rate"),
        ("train.deepspeed=none.json", "train.deepspeed: cannot read"),
        ("train.flat=true", "train.flat is True"),
        ("model.size=huge", "model.size"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_field(setting, words):
    with pytest.raises(UsageError, match=words) as error:
        read_recipe(RECIPES / "nano.yaml", [setting])
    assert "\n" not in str(error.value)
