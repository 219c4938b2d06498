"""Small models with random weights, of architectures as transformers has them."""

from __future__ import annotations

from typing import Any

END = 3  # the token that ends an answer
VOCABULARY = 64


def random_model(
    kind: str = "llama", *, seed: int = 0, dtype: str = "float32", context: int = 128, spread: float = 0.2
) -> Any:
    """A model of two layers, in evaluation mode. The larger the spread of its weights, the less even what it says."""
    import torch
    import transformers

    names = {"llama": ("LlamaConfig", "LlamaForCausalLM"), "qwen3": ("Qwen3Config", "Qwen3ForCausalLM")}
    of_config, of_model = (getattr(transformers, name) for name in names[kind])
    config = of_config(
        vocab_size=VOCABULARY,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=context,
        eos_token_id=END,
        bos_token_id=None,
        pad_token_id=0,
        initializer_range=spread,
    )
    torch.manual_seed(seed)
    return of_model(config).to(getattr(torch, dtype)).eval()
