"""A checkpoint of a few kilobytes with random weights and a small tokenizer, as transformers saves one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

END = "<|end|>"
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|end|>{% endfor %}[assistant]"


def save_tiny_model(
    folder: Path, *, context: int = 512, template: str | None = TEMPLATE, trained_on: Sequence[Path] = ()
) -> Path:
    """A random model that answers anything: one token in a few hundred or thousand ends the answer.

    Its tokens are bytes, or, where there are texts for a tokenizer to be trained on, 2048 pieces of these.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    if trained_on:
        trainer = trainers.BpeTrainer(vocab_size=2048, initial_alphabet=alphabet, show_progress=False)
        raw.train([str(file) for file in trained_on], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END, pad_token="<|pad|>")
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=context,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    model.generation_config.do_sample = True  # else `transformers serve` takes no notice of a temperature
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
