"""Weights that begin as ones or zeros get other values: the same ones for whoever makes the same weights."""

import pytest
import torch
from torch import nn

from mooreeval.execute.neutral_weights import (
    LEAST,
    MOST,
    kinds_of,
    made_otherwise,
    neutral_names,
    says_nothing,
    surplus,
    vary,
    without_counterpart,
)

SEED = 5


class Reference(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 8)
        self.norm = nn.LayerNorm(8)
        self.batch = nn.BatchNorm1d(8)
        self.scale = nn.Parameter(torch.ones(8, 1))
        self.scratch = torch.zeros(8)


def made(kind, seed=SEED):
    torch.manual_seed(1)
    with made_otherwise(seed):
        return kind()


def test_the_weights_that_begin_as_ones_or_zeros_are_named_and_no_others():
    names = ["scale", "norm.weight", "norm.bias", "batch.weight", "batch.bias"]
    assert neutral_names(Reference()) == names
    assert neutral_names(made(Reference)) == []


def test_what_is_no_such_weight_is_made_as_ever():
    torch.manual_seed(1)
    plain = Reference()
    varied = made(Reference)
    assert torch.equal(varied.linear.weight, plain.linear.weight)
    assert torch.equal(varied.linear.bias, plain.linear.bias)
    assert torch.equal(varied.batch.running_var, torch.ones(8))
    assert torch.equal(varied.scratch, torch.zeros(8))


def test_values_are_away_from_where_they_begin_and_follow_the_seed():
    model = made(Reference)
    assert bool((((model.norm.weight - 1).abs() >= LEAST - 1e-6) & ((model.norm.weight - 1).abs() <= MOST)).all())
    assert bool((model.norm.bias.abs() >= LEAST - 1e-6).all())
    assert not torch.equal(model.norm.weight, made(Reference, SEED + 1).norm.weight)


WAYS = {
    "constructor": lambda: nn.Parameter(torch.ones(8)),
    "by another name of it": lambda: nn.parameter.Parameter(torch.full((8,), 1.0), requires_grad=False),
    "ones_": lambda: nn.init.ones_(nn.Parameter(torch.empty(8))),
    "constant_": lambda: nn.init.constant_(nn.Parameter(torch.empty(8)), 1.0),
    "fill_": lambda: nn.Parameter(torch.randn(8)).requires_grad_(False).fill_(1.0),
    "another shape": lambda: nn.Parameter(torch.ones(2, 1, 4)),
    "a layer": lambda: nn.GroupNorm(2, 8).weight,
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_makes_a_weight_makes_it_with_the_same_values(way):
    assert torch.equal(made(WAYS[way]).detach().reshape(-1), made(Reference).norm.weight)


def test_what_a_constructor_derives_from_its_weights_is_derived_from_the_values():
    class Folds(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(8)
            self.doubled = 2 * self.norm.weight.detach()

    model = made(Folds)
    assert torch.equal(model.doubled, 2 * model.norm.weight)


def test_parameters_are_themselves_again_afterwards_whatever_happens():
    kept = nn.Parameter.__dict__["__new__"]
    with pytest.raises(ZeroDivisionError), made_otherwise(SEED):
        1 / 0
    assert nn.Parameter.__dict__["__new__"] is kept
    assert torch.equal(nn.LayerNorm(4).weight, torch.ones(4))


def test_a_weight_that_was_filled_past_the_constructors_is_varied_afterwards():
    def filled():
        layer = nn.LayerNorm(8)
        layer.weight.data.fill_(1.0)
        return layer

    layer = made(filled)
    assert neutral_names(layer) == ["weight"]
    vary(layer.weight, SEED)
    assert torch.equal(layer.weight, made(Reference).norm.weight)


def test_a_place_is_one_of_the_same_name_and_shape_or_of_the_same_values():
    class OtherNames(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(1, 8))
            self.both = nn.Parameter(torch.cat([torch.ones(8), torch.zeros(8)]))

    wanted = {"norm.weight": made(Reference).norm.weight, "norm.bias": made(Reference).norm.bias}
    assert without_counterpart(made(OtherNames), wanted) == ["norm.bias"]
    assert without_counterpart(Reference(), wanted) == []  # it will be given them, by name
    assert without_counterpart(nn.Module(), wanted) == ["norm.weight", "norm.bias"]


def test_a_kind_that_the_reference_has_not_is_made_as_ever():
    class Helpers(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(8))
            self.none = nn.Parameter(torch.zeros(3))

    with made_otherwise(SEED, kinds_of(nn.LayerNorm(8))):
        model = Helpers()
    assert torch.equal(model.none, torch.zeros(3))
    assert torch.equal(model.gain, made(Reference).norm.weight)


def test_a_weight_more_than_the_reference_has_of_a_kind_is_surplus_and_the_same_number_is_not():
    class WithMean(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(8)
            self.mean = nn.Parameter(torch.zeros(8), requires_grad=False)

    wanted = {f"norm.{name}": weight for name, weight in made(lambda: nn.LayerNorm(8)).named_parameters()}
    assert surplus(made(WithMean), wanted) == ["mean"]
    assert surplus(made(lambda: nn.GroupNorm(2, 8)), wanted) == []


def test_a_reference_that_is_not_finite_or_far_from_its_float64_says_nothing():
    good = torch.rand(40)
    assert says_nothing([good], [good.double() + 1e-6]) == ""
    assert says_nothing([good], None) == ""
    assert "not finite" in says_nothing([good / 0], None)
    assert "ill-conditioned" in says_nothing([good], [good.double() + 0.1])
