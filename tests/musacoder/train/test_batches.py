"""Rows that share a sequence see nothing of each other: what a model makes of each is what it makes of it alone."""

import numpy as np
import pytest
from support.miniature import short_rows
from support.tiny_model import save_tiny_model

pytestmark = pytest.mark.slow

LENGTH = 96


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from musacoder.train.packing import plan_of
    from musacoder.train.rows import read_rows
    from musacoder.train.tokens import tokenised

    folder = tmp_path_factory.mktemp("batches")
    name = save_tiny_model(folder / "tiny")
    tokens = tokenised(read_rows([str(short_rows(folder / "rows"))]), AutoTokenizer.from_pretrained(name))
    plan = plan_of(tokens.lengths, np.ones(24), 1, 0, LENGTH)
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa").eval()
    torch.manual_seed(0)
    return model, tokens, plan


def alone(model, ids):
    import torch

    with torch.no_grad():
        return model(input_ids=torch.from_numpy(ids)[None]).logits[0]


@pytest.mark.parametrize("form", ["rows", "flat"])
def test_logits_of_packed_rows_are_those_of_each_alone(parts, form):
    import torch

    from musacoder.train.batches import FlatBatches, RowBatches

    model, tokens, plan = parts
    batches = RowBatches(plan, tokens, LENGTH, 0) if form == "rows" else FlatBatches(plan, tokens, 0)
    numbers = [0, 1]
    batch = batches([{"sequence": number} for number in numbers])
    assert max(len(plan[number]) for number in numbers) > 1
    with torch.no_grad():
        logits = model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False).logits
    flat, at = logits.reshape(-1, logits.shape[-1]), 0
    for number in numbers:
        for row in plan[number]:
            ids, labels = tokens.row(row)
            assert torch.allclose(flat[at : at + len(ids)], alone(model, ids), atol=1e-5)
            assert batch["labels"].reshape(-1)[at : at + len(ids)].tolist() == labels.tolist()
            at += len(ids)
        if form == "rows":
            assert (batch["labels"].reshape(-1)[at : (number + 1) * LENGTH] == -100).all()
            at = (number + 1) * LENGTH


def test_batches_of_rows_have_one_shape_and_flat_ones_no_padding(parts):
    from musacoder.train.batches import FlatBatches, RowBatches

    _, tokens, plan = parts
    rows, flat = RowBatches(plan, tokens, LENGTH, 0), FlatBatches(plan, tokens, 0)
    for number in range(len(plan)):
        assert tuple(rows([{"sequence": number}])["input_ids"].shape) == (1, LENGTH)
        assert flat([{"sequence": number}])["input_ids"].shape[1] == tokens.lengths[plan[number]].sum()


def test_samples_that_are_not_packed_are_filled_up_behind_their_end(parts):
    import torch

    from musacoder.train.batches import PaddedBatches
    from musacoder.train.packing import plan_of

    model, tokens, _ = parts
    plan = plan_of(tokens.lengths, np.ones(24), 1, 0, LENGTH, packing=False)
    batch = PaddedBatches(plan, tokens, 0)([{"sequence": 0}, {"sequence": 1}, {"sequence": 2}])
    with torch.no_grad():
        logits = model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False).logits
    for number in range(3):
        ids, labels = tokens.row(int(plan[number][0]))
        assert torch.allclose(logits[number, : len(ids)], alone(model, ids), atol=1e-5)
        assert batch["labels"][number].tolist() == [*labels, *[-100] * (batch["labels"].shape[1] - len(ids))]
