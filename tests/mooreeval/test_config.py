"""The configuration: one default in one place, clear one-line errors, a hash of what changes a verdict."""

from __future__ import annotations

import json

import pytest

from mooreeval.config import VerifyConfig, load_config
from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record


def error_of(path=None, settings=()) -> str:
    with pytest.raises(UsageError) as caught:
        load_config(path, settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_defaults_are_the_documented_ones():
    config = load_config()
    assert (config.backend, config.policy, config.protocol, config.trials, config.seed) == (
        "auto",
        "native",
        "ours",
        5,
        None,
    )
    assert (config.deadlines.build_seconds, config.deadlines.run_seconds) == (600, 120)
    assert (config.reward.lambda_speedup, config.reward.v_max) == (0.5, 4)
    assert (config.tolerance.float32, config.tolerance.half) == (1e-4, 1e-2)


def test_a_file_and_settings_are_merged_and_the_last_setting_wins(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("trials: 3\ndeadlines:\n  run_seconds: 10\n  build_seconds: 20\n")
    config = load_config(file, ["deadlines.run_seconds=30", "deadlines.run_seconds=40"])
    assert (config.trials, config.deadlines.run_seconds, config.deadlines.build_seconds) == (3, 40, 20)


def test_an_empty_file_means_the_defaults(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("# nothing yet\n")
    assert load_config(file) == VerifyConfig()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("trials=0", ["trials must be more than 0, not 0"]),
        ("trials=many", ["trials must be a whole number, not 'many'"]),
        ("trials=2.5", ["trials must be a whole number, not 2.5"]),
        ("trials=1e-3", ["trials must be a whole number, not '1e-3'"]),
        ("trials=yes", ["trials must be a whole number, not True"]),
        ("trials=[3]", ["trials must be a whole number, not [3]"]),
        ("trials=", ["trials must be a whole number, not None"]),
        ("trials=1e30", ["trials must be 1e+18 or less"]),
        ("trials=.inf", ["trials must be a finite number, not inf"]),
        ("deadlines.run_seconds=soon", ["deadlines.run_seconds must be a number, not 'soon'"]),
        ("feedback.characters=3", ["feedback.characters must be 200 or more, not 3"]),
        ("seed=", ["seed", "hexadecimal"]),
        ("protocol=theirs", ["protocol must be 'ours' or 'kernelbench', not 'theirs'"]),
        ("backend=cpu", ["backend", "'simulator'", "'cpu'"]),
        ("deadlines.run_second=5", ["no field deadlines.run_second", "run_seconds"]),
        ("tolerance.float32=.nan", ["tolerance.float32", "finite"]),
        ("seed=xyz", ["seed", "hexadecimal", "'xyz'"]),
        ("trials", ["a.b=c"]),
        ("=3", ["a.b=c"]),
        ("trials.x=3", ["trials"]),
        ("trials=[", ["not YAML"]),
    ],
)
def test_a_bad_setting_is_one_line_that_names_field_and_value(setting, words):
    message = error_of(settings=[setting])
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"- 1\n- 2\n", ["mapping", "list"]),
        (b"trials: [1\n", ["not YAML"]),
        (b"\xff\xfe\x00", ["not YAML"]),
        (b"trails: 5\n", ["no field trails", "trials"]),
        (b"deadlines: 5\n", ["deadlines has fields of its own and must be a mapping of them, not 5"]),
        (b"seed: 12\n", ["seed must be text, not 12"]),
    ],
)
def test_a_bad_file_is_one_line_that_names_the_file(tmp_path, content, words):
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    message = error_of(file)
    assert str(file) in message
    assert all(word in message for word in words), message


def test_a_missing_file_is_one_line_that_names_it(tmp_path):
    assert "absent.yaml" in error_of(tmp_path / "absent.yaml")


def test_a_seed_of_digits_stays_text():
    assert load_config(settings=["seed=0123"]).seed == "0123"
    assert load_config(settings=["seed=1E5"]).seed == "1e5"


@pytest.mark.parametrize("text", ["1e12", "1E+12", "1000000000000", "1.0e+12", "1000000000000.0"])
def test_a_whole_number_may_be_written_with_an_exponent_or_a_point(text):
    budget = load_config(settings=[f"simulator.check_budget={text}"]).simulator.check_budget
    assert (budget, type(budget)) == (10**12, int)


def test_the_hash_is_that_of_the_fields_a_verdict_carries_and_they_can_be_read_back(tmp_path):
    config = load_config(settings=["seed=ab", "trials=3", "simulator.check_budget=1e9", "reward.v_max=2"])
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config.of_the_verdict()))
    assert content_hash(config.of_the_verdict()) == config.config_hash()
    again = load_config(file)
    assert again.of_the_verdict() == config.of_the_verdict()
    assert again.config_hash() == config.config_hash()


def test_every_field_says_what_it_means():
    parts = [VerifyConfig, *(type(v) for v in VerifyConfig().__dict__.values() if isinstance(v, Record))]
    fields = [(part, name, f) for part in parts for name, f in part.model_fields.items()]
    undescribed = [(p.__name__, n) for p, n, f in fields if not f.description and not isinstance(f.default, Record)]
    assert len(parts) >= 7
    assert not undescribed


def test_the_hash_follows_what_changes_a_verdict_and_nothing_else():
    base = load_config().config_hash()
    for setting in ("trials=4", "policy=mixed", "deadlines.run_seconds=1", "tolerance.half=0.1", "simulator.flops=9"):
        assert load_config(settings=[setting]).config_hash() != base, setting
    for setting in ("seed=ab", "reward.v_max=2", "feedback.characters=900", "simulator.threads=1", "profile.seconds=9"):
        assert load_config(settings=[setting]).config_hash() == base, setting
    assert (
        load_config(settings=["backend=simulator"]).config_hash()
        == VerifyConfig().with_backend("simulator").config_hash()
    )


def test_protocol_kernelbench_brings_its_own_tolerance_rule():
    assert load_config().effective_tolerance().rule == "scaled"
    assert load_config(settings=["protocol=kernelbench"]).effective_tolerance().rule == "allclose"
