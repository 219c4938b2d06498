"""How fast answers are drawn, and how far their log-probabilities are from a plain forward pass.

    python benchmarks/sampling.py --model PATH --data rows.jsonl          # a trained checkpoint on its own prompts
    python benchmarks/sampling.py --size small --answers 8192             # random weights of that size, made-up prompts

Tokens a second count tokens of answers up to and with the one that ends them, over the whole time from the first prompt
to the last answer, preparation included. `--end-share` lets random weights end: so many of the vocabulary end an
answer, that its mean length is 1 / share. Beside it transformers' own `generate` draws the same numbers of answers in
batches of `--batch`, each of which ends with its longest answer. Writes one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM

from musacoder.models.tokens import load_tokenizer, prompt_ids
from musacoder.models.types import Message
from musacoder.rollout.draw import plain_logprobs
from musacoder.rollout.sampler import BatchSampler, SamplerOptions
from musacoder.rollout.types import Drawing, Sample

_SIZES = {  # hidden, layers, heads, key-value heads, size of a head, inner
    "nano": (192, 6, 6, 3, 32, 512),
    "small": (512, 8, 8, 4, 64, 1536),
}
_VOCABULARY, _CONTEXT = 1024, 2048


def main() -> int:
    """Measure; the exit code."""
    options = _options()
    model, prompts, ends = _subject(options)
    drawing = Drawing(temperature=options.temperature, max_tokens=options.max_tokens, seed=options.seed)
    sampler = BatchSampler(model, ends, SamplerOptions(batch=options.batch, cuda_graphs=not options.no_graphs))
    each = max(options.answers // len(prompts), 1)
    if options.warm_up:
        sampler.sample(prompts, each, drawing)
    seconds, found = _timed(model, lambda: sampler.sample(prompts, each, drawing))
    result = {
        "model": options.model or f"{options.size}, random weights",
        "parameters": sum(p.numel() for p in model.parameters()),
        "dtype": options.dtype,
        "device": torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "batch": options.batch,
        "prompts": len(prompts),
        "prompt_tokens_mean": round(sum(map(len, prompts)) / len(prompts), 1),
        **_figures(seconds, [s for of in found for s in of]),
        "logprobs": _deviations(model, prompts, found, drawing.temperature, options.checked),
    }
    if not options.no_generate:
        result["generate"] = _generate(model, prompts, each, drawing, ends, options.batch)
    print(json.dumps(result, indent=2))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="folder of a checkpoint; else random weights of --size")
    parser.add_argument("--size", choices=sorted(_SIZES), default="small")
    parser.add_argument("--data", type=Path, help="rows.jsonl whose prompts are asked; needs --model")
    parser.add_argument("--prompts", type=int, default=512, help="different ones")
    parser.add_argument("--prompt-tokens", type=int, default=132, help="of a made-up prompt")
    parser.add_argument("--answers", type=int, default=8192, help="in all")
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--end-share", type=float, default=1 / 450, help="of the vocabulary, for random weights")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checked", type=int, default=64, help="answers whose log-probabilities are computed again")
    parser.add_argument("--warm-up", action="store_true", help="draw everything once before the time is taken")
    parser.add_argument("--no-graphs", action="store_true")
    parser.add_argument("--no-generate", action="store_true")
    return parser.parse_args()


def _subject(options: argparse.Namespace) -> tuple[Any, list[list[int]], list[int]]:
    """The model, prompts, and the tokens that end an answer."""
    dtype = getattr(torch, options.dtype)
    if options.model is None:
        return _random(options, dtype)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype).to(options.device).eval()
    tokenizer = load_tokenizer(options.model)
    if options.data is None:
        sys.exit("name the rows whose prompts are asked: --data rows.jsonl")
    lines = options.data.read_text(encoding="utf-8").splitlines()[: options.prompts]
    turns = [[Message(t["role"], t["content"]) for t in json.loads(line)["prompt"]] for line in lines]
    return model, [prompt_ids(tokenizer, messages) for messages in turns], [tokenizer.eos_token_id]


def _random(options: argparse.Namespace, dtype: torch.dtype) -> tuple[Any, list[list[int]], list[int]]:
    hidden, layers, heads, pairs, head, inner = _SIZES[options.size]
    config = Qwen3Config(
        vocab_size=_VOCABULARY, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=pairs, head_dim=head, intermediate_size=inner, max_position_embeddings=_CONTEXT,
        tie_word_embeddings=True, eos_token_id=0, bos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(options.seed)
    model = Qwen3ForCausalLM(config).to(options.device, dtype).eval()
    shape = (options.prompts, options.prompt_tokens)
    prompts = torch.randint(_VOCABULARY // 2, _VOCABULARY, shape).tolist()
    return model, prompts, list(range(max(round(options.end_share * _VOCABULARY), 1)))


def _timed(model: Any, work: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = work()
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin, found


def _figures(seconds: float, samples: Sequence[Sample]) -> dict[str, Any]:
    tokens = sum(len(s.token_ids) for s in samples)
    return {
        "answers": len(samples),
        "ended_share": round(sum(s.finish_reason == "stop" for s in samples) / len(samples), 4),
        "answer_tokens_mean": round(tokens / len(samples), 1),
        "seconds": round(seconds, 2),
        "tokens_per_second": round(tokens / seconds),
    }


def _deviations(
    model: Any, prompts: list[list[int]], found: list[list[Sample]], temperature: float, checked: int
) -> dict[str, Any]:
    """|sampler - plain forward| over the first answer of the first prompts."""
    apart: list[float] = []
    for prompt, samples in list(zip(prompts, found, strict=True))[:checked]:
        plain = plain_logprobs(model, prompt, list(samples[0].token_ids), temperature).cpu()
        apart += (plain - torch.tensor(samples[0].logprobs)).abs().tolist()
    return {"tokens": len(apart), "mean": sum(apart) / len(apart), "maximum": max(apart)}


def _generate(
    model: Any, prompts: list[list[int]], each: int, drawing: Drawing, ends: list[int], batch: int
) -> dict[str, Any]:
    """The same by transformers: prompts padded at the left, a batch after the other."""
    rows = [ids for ids in prompts for _ in range(each)]
    longest = max(map(len, rows))
    made = 0

    def work() -> None:
        nonlocal made
        for begin in range(0, len(rows), batch):
            part = rows[begin : begin + batch]
            ids = torch.tensor([[0] * (longest - len(r)) + r for r in part], device=model.device)
            mask = torch.tensor([[0] * (longest - len(r)) + [1] * len(r) for r in part], device=model.device)
            out = model.generate(
                ids, attention_mask=mask, do_sample=True, temperature=drawing.temperature, top_k=0, top_p=1.0,
                max_new_tokens=drawing.max_tokens, eos_token_id=ends, pad_token_id=0,
            )  # fmt: skip
            made += _counted(out[:, longest:], ends)

    with torch.inference_mode():
        seconds, _ = _timed(model, work)
    return {"tokens": made, "seconds": round(seconds, 2), "tokens_per_second": round(made / seconds)}


def _counted(answers: torch.Tensor, ends: list[int]) -> int:
    """Tokens up to and with each answer's first end."""
    ended = torch.isin(answers, torch.tensor(ends, device=answers.device))
    before = ended.cumsum(1) - ended.long()
    return int((before == 0).sum())


if __name__ == "__main__":
    sys.exit(main())
