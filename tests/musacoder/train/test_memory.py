"""The table of memory: parameters as transformers counts them, and parts that shrink as they should."""

import pytest

from musacoder.train.memory import GIB, QWEN_9B, QWEN_27B, memory_of, processes_needed


@pytest.mark.slow
@pytest.mark.parametrize("shape", [QWEN_9B, QWEN_27B], ids=["9b", "27b"])
def test_parameters_are_those_of_the_architecture(shape):
    import torch
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    config = Qwen3_5TextConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        intermediate_size=shape.inner,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.head,
        linear_num_key_heads=shape.linear_key_heads,
        linear_num_value_heads=shape.linear_value_heads,
        linear_key_head_dim=shape.linear_head,
        linear_value_head_dim=shape.linear_head,
    )
    with torch.device("meta"):
        model = Qwen3_5ForCausalLM(config)
    assert shape.parameters == sum(p.numel() for p in model.parameters())


def test_the_large_recipes_have_the_sizes_of_their_names():
    assert round(QWEN_9B.parameters / 1e9) == 9
    assert round(QWEN_27B.parameters / 1e9) == 27


def test_states_are_spread_over_processes_and_activations_are_not():
    one, eight = (memory_of(QWEN_9B, 40960, n) for n in (1, 8))
    for name in ("weights", "gradients", "optimiser"):
        assert one[name] == pytest.approx(8 * eight[name])
    for name in ("gathered", "kept activations", "one layer"):
        assert one[name] == eight[name]
    assert one["weights"] + one["gradients"] + one["optimiser"] == pytest.approx(16 * QWEN_9B.parameters / GIB)


def test_activations_grow_with_the_tokens_of_a_device():
    short, long = (memory_of(QWEN_27B, tokens, 16) for tokens in (10_240, 40_960))
    assert long["kept activations"] == 4 * short["kept activations"]
    assert long["optimiser"] == short["optimiser"]


def test_smaller_devices_and_larger_models_need_more_of_them():
    large, small = 141e9 / GIB, 80e9 / GIB
    assert processes_needed(QWEN_9B, 40960, large) < processes_needed(QWEN_9B, 40960, small)
    assert processes_needed(QWEN_9B, 40960, large) < processes_needed(QWEN_27B, 40960, large)
    assert processes_needed(QWEN_27B, 40960, 16) is None
