"""One end of one limit is left out, and nothing else."""

import pytest
import torch

from mooreeval.execute.without_limits import without_limit

X = torch.linspace(-3, 3, 13)


def forward(model, inputs):
    with torch.no_grad():
        return model(*inputs)


@pytest.mark.parametrize(
    "limited",
    [
        lambda x: torch.clamp(x, -1.0, 2.0),
        lambda x: x.clip(min=-1.0, max=2.0),
        lambda x: x.clone().clamp_(max=2.0, min=-1.0),
        lambda x: torch.nn.functional.hardtanh(x, -1.0, 2.0),
        lambda x: torch.clamp(x, torch.tensor(-1.0), torch.tensor(2.0)),
    ],
)
def test_either_end_is_left_out_however_the_limit_is_written(limited):
    assert torch.equal(without_limit(limited, [X], forward, 0, "lower"), X.clamp(max=2.0))
    assert torch.equal(without_limit(limited, [X], forward, 0, "upper"), X.clamp(min=-1.0))
    assert without_limit(limited, [X], forward, 1, "lower") is None


def test_an_end_that_a_limit_does_not_have_is_none():
    assert without_limit(lambda x: x.clamp(min=0.5), [X], forward, 0, "upper") is None
    assert torch.equal(without_limit(lambda x: x.clamp(min=0.5), [X], forward, 0, "lower"), X)
    assert torch.equal(without_limit(lambda x: x.clamp_max(0.5), [X], forward, 0, "upper"), X)


def test_limits_are_counted_in_the_order_of_a_forward_pass():
    def twice(x):
        return torch.nn.functional.relu6(x.clamp(-1.0, 1.0) * 10)

    assert torch.equal(without_limit(twice, [X], forward, 1, "upper"), (X.clamp(-1.0, 1.0) * 10).clamp(min=0.0))
    assert torch.equal(without_limit(twice, [X], forward, 0, "lower"), (X.clamp(max=1.0) * 10).clamp(0.0, 6.0))
