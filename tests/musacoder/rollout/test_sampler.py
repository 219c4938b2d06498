from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from support.random_models import END, random_model

from mooreeval.errors import UsageError
from musacoder.rollout.draw import draw, plain_logprobs, uniform
from musacoder.rollout.sampler import BatchSampler, SamplerOptions
from musacoder.rollout.types import Drawing, Sample

_PROMPTS = [[5, 6, 7], [9], list(range(10, 30)), [8, 8], [11, 12, 13, 14], [40, 4]]


def _sampled(model, prompts=_PROMPTS, n: int = 2, batch: int = 4096, **fields) -> list[list[Sample]]:
    drawing = Drawing(**{"max_tokens": 16, "temperature": 0.9, "seed": 1, **fields})
    return BatchSampler(model, [END], SamplerOptions(batch=batch)).sample(prompts, n, drawing)


def _deviations(model, found: list[list[Sample]], temperature: float) -> list[float]:
    deviations: list[float] = []
    for prompt, samples in zip(_PROMPTS, found, strict=True):
        for sample in samples:
            plain = plain_logprobs(model, prompt, list(sample.token_ids), temperature)
            deviations += (plain - torch.tensor(sample.logprobs)).abs().tolist()
    return deviations


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
@pytest.mark.parametrize("batch", [4096, 5])
@pytest.mark.parametrize("temperature", [0.7, 1.0, 0])
def test_logprobs_are_those_of_a_plain_forward_pass(kind: str, batch: int, temperature: float) -> None:
    model = random_model(kind)
    found = _sampled(model, batch=batch, temperature=temperature)
    assert max(_deviations(model, found, temperature)) < 1e-4


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_logprobs_in_bfloat16_are_near_those_of_a_plain_forward_pass(kind: str) -> None:
    model = random_model(kind, dtype="bfloat16", spread=0.05)
    deviations = _deviations(model, _sampled(model, n=4), 0.9)
    assert sum(deviations) / len(deviations) < 1e-3
    assert max(deviations) < 0.02


def test_an_answer_is_the_same_whatever_is_in_its_batch() -> None:
    model = random_model()
    together = _sampled(model)
    for batch in (1, 5):
        alone = _sampled(model, batch=batch)
        assert [[s.token_ids for s in of] for of in alone] == [[s.token_ids for s in of] for of in together]


def test_other_seeds_prompts_and_places_draw_otherwise() -> None:
    model = random_model()
    found = _sampled(model, prompts=[[5, 6, 7], [5, 6, 7]], n=4)
    others = _sampled(model, prompts=[[5, 6, 7]], n=4, seed=2)
    answers = [s.token_ids for of in (*found, *others) for s in of]
    assert len(set(answers)) == len(answers)


def test_an_answer_ends_with_its_end_token_or_its_room() -> None:
    found = [s for of in _sampled(random_model(), n=20) for s in of]
    reasons = {s.finish_reason for s in found}
    assert reasons == {"stop", "length"}
    for sample in found:
        assert len(sample.logprobs) == len(sample.token_ids) <= 16
        assert END not in sample.token_ids[:-1]
        assert (sample.token_ids[-1] == END) == (sample.finish_reason == "stop")
        assert sample.finish_reason == "stop" or len(sample.token_ids) == 16


def test_an_answer_stays_within_the_models_context() -> None:
    found = _sampled(random_model(context=32), n=20, max_tokens=200)
    for prompt, samples in zip(_PROMPTS, found, strict=True):
        assert max(len(s.token_ids) for s in samples) <= 32 - len(prompt)
    assert any(len(s.token_ids) == 32 - len(_PROMPTS[2]) for s in found[2])


def test_tokens_are_drawn_by_their_probabilities() -> None:
    model = random_model()
    count = 4000
    (samples,) = _sampled(model, prompts=[[5, 6, 7]], n=count, max_tokens=1, temperature=1.3)
    with torch.inference_mode():
        expected = torch.softmax(model(torch.tensor([[5, 6, 7]])).logits[0, -1] / 1.3, -1)
    drawn = torch.bincount(torch.tensor([s.token_ids[0] for s in samples]), minlength=len(expected))
    spread = (count * expected * (1 - expected)).sqrt()
    assert bool(((drawn - count * expected).abs() <= 4.5 * spread + 1).all())


def test_top_p_leaves_out_the_tail_and_tells_the_whole_distribution() -> None:
    model = random_model()
    (samples,) = _sampled(model, prompts=[[5, 6, 7]], n=400, max_tokens=1, top_p=0.5, temperature=1.0)
    with torch.inference_mode():
        logprobs = torch.log_softmax(model(torch.tensor([[5, 6, 7]])).logits[0, -1], -1)
    ranked = logprobs.exp().sort(descending=True)
    kept = int((ranked.values.cumsum(0) - ranked.values < 0.5).sum())
    assert {s.token_ids[0] for s in samples} == set(ranked.indices[:kept].tolist())
    assert all(abs(s.logprobs[0] - logprobs[s.token_ids[0]]) < 1e-4 for s in samples)


def test_temperature_zero_takes_the_likeliest() -> None:
    model = random_model()
    (samples,) = _sampled(model, prompts=[[5, 6, 7]], n=2, temperature=0, max_tokens=8)
    made = model.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=8, do_sample=False)[0, 3:].tolist()
    assert [list(s.token_ids) for s in samples] == [made, made]


def test_each_prompt_is_computed_once_for_all_its_answers() -> None:
    model = random_model()
    seen: list[torch.Size] = []
    model.register_forward_pre_hook(
        lambda _module, _args, kwargs: seen.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    _sampled(model, n=6, batch=4)
    assert sum(shape[0] for shape in seen if shape[1] > 1) <= len([p for p in _PROMPTS if len(p) > 1])


def test_answers_that_ended_leave_the_batch() -> None:
    model = random_model()
    rows: list[int] = []
    model.register_forward_pre_hook(
        lambda _module, _args, kwargs: rows.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    sampler = BatchSampler(model, [END, *range(20, 30)])
    found = sampler.sample([[5, 6, 7]], 64, Drawing(max_tokens=100))
    made = sum(len(s.token_ids) for s in found[0])
    assert rows[1] == 64
    assert min(rows[1:]) < 16
    assert made <= sum(rows[1:]) < 1.25 * made


def test_prompts_enter_as_rows_get_free() -> None:
    model = random_model()
    taken: list[int] = []

    def prompts() -> Iterator[list[int]]:
        for number in range(20):
            taken.append(number)
            yield [5 + number % 20, 7]

    sampler = BatchSampler(model, [END], SamplerOptions(batch=8))
    first = next(samples := sampler.stream(prompts(), 2, Drawing(max_tokens=30)))
    assert len(taken) < 12
    rest = list(samples)
    assert {(s.prompt, s.index) for s in (first, *rest)} == {(p, i) for p in range(20) for i in range(2)}


def test_a_prompt_longer_than_all_before_waits_for_its_own_batch() -> None:
    model = random_model()
    prompts = iter([[5, 6], [5, 7], list(range(4, 60))])
    found = list(BatchSampler(model, [END], SamplerOptions(batch=2)).stream(prompts, 2, Drawing(max_tokens=10)))
    assert len(found) == 6


def test_memory_bounds_the_batch() -> None:
    model = random_model()
    rows: list[int] = []
    model.register_forward_pre_hook(
        lambda _module, _args, kwargs: rows.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    a_token = 2 * 2 * 2 * 16 * 4
    options = SamplerOptions(memory_bytes=3 * a_token * (3 + 10))
    BatchSampler(model, [END], options).sample([[5, 6, 7]], 12, Drawing(max_tokens=10))
    assert max(rows) == 3


def test_dropout_is_off_while_sampling_and_on_again_afterwards() -> None:
    model = random_model()
    model.train()
    _sampled(model, n=1, max_tokens=2)
    assert model.training


@pytest.mark.parametrize("prompts", [[[]], [[5] * 128]])
def test_a_prompt_without_room_is_refused(prompts: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="prompt 0 has"):
        _sampled(random_model(), prompts=prompts)


def test_a_model_with_a_window_is_refused() -> None:
    model = random_model()
    model.config.layer_types = ["sliding_attention", "full_attention"]
    with pytest.raises(UsageError, match="sliding_attention"):
        BatchSampler(model, [END])


def test_uniform_numbers_are_uniform_and_independent() -> None:
    seeds, steps = torch.arange(200)[:, None].expand(200, 500).reshape(-1), torch.arange(500).repeat(200)
    numbers = uniform(seeds, steps).double()
    assert 0 < float(numbers.min()) < float(numbers.max()) < 1
    counts = torch.histc(numbers, 20, 0, 1)
    assert float(((counts - 5000) ** 2 / 5000).sum()) < 45  # chi square, 19 degrees of freedom: 1 in 1500
    rows = numbers.reshape(200, 500)
    for one, other in ((rows[:, :-1], rows[:, 1:]), (rows[:-1], rows[1:])):
        both = torch.stack([one.reshape(-1), other.reshape(-1)])
        assert abs(float(torch.corrcoef(both)[0, 1])) < 4 / math.sqrt(both.shape[1])


def test_the_number_picks_the_token_in_whose_share_it_falls() -> None:
    logits = torch.log(torch.tensor([[0.2, 0.0, 0.5, 0.3]])).expand(5, 4)
    tokens, logprobs = draw(logits, torch.tensor([0.1, 0.21, 0.69, 0.71, 0.999]), 1.0)
    assert tokens.tolist() == [0, 2, 2, 3, 3]
    assert logprobs.exp().tolist() == pytest.approx([0.2, 0.5, 0.5, 0.3, 0.3])
