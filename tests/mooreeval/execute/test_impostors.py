"""Impostors: each is made where it is one, is left out where it would be right, and is told by the comparison."""

import pytest
import torch

from mooreeval.config import Tolerance
from mooreeval.execute.impostors import HeldOutputs, told
from mooreeval.execute.lower_precision import LOWERED, is_full_precision, rounded_to_tf32
from mooreeval.execute.vary_inputs import flooded, is_magnitude, perturbed, varied, without_last

TOLERANCE = Tolerance()


def held(*outputs: torch.Tensor) -> HeldOutputs:
    value = outputs[0] if len(outputs) == 1 else list(outputs)
    wide = [o.double() if o.is_floating_point() else o for o in outputs]
    return HeldOutputs(value, wide[0] if len(outputs) == 1 else wide, TOLERANCE)


def answers(output: torch.Tensor, before: torch.Tensor | None = None, inputs=()) -> dict[tuple[str, str], bool | None]:
    found = told(held(output), None if before is None else held(before), list(inputs), None)
    return {(a["name"], a["at"]): a["told"] for a in found}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(5)


def test_random_values_tell_every_impostor():
    x = torch.randn(30, 40)
    found = answers(torch.relu(x) + 0.1 * x, torch.randn(30, 40), [("input[0]", x)])
    names = {"zeros", "constant", "stale", "input", "tail", "mean", "permuted", "dropped"}
    assert {name for name, _ in found} == names
    assert set(found.values()) == {True}


def test_an_identity_takes_its_input_for_right():
    x = torch.rand(30, 40)
    assert answers(torch.relu(x), inputs=[("input[0]", x)])["input", "input[0] as output"] is False


def test_an_input_is_tried_in_the_outputs_shape_where_it_can_be():
    out = torch.rand(6, 4)
    inputs = [("flat", torch.rand(24)), ("row", torch.rand(4)), ("other", torch.rand(5))]
    assert {at for name, at in answers(out, inputs=inputs) if name == "input"} == {"flat as output", "row as output"}


def test_zeros_pass_where_float32s_own_noise_is_all_there_is():
    wide = torch.randn(8, 64).double() * 1e-12
    noisy = HeldOutputs(torch.randn(8, 64) * 1e-7, wide, TOLERANCE)
    assert {a["name"]: a["told"] for a in told(noisy, None, [], None)}["zeros"] is False
    assert noisy.facts()[0]["noise"] > 1000
    assert noisy.without_float64().agrees(torch.zeros(8, 64)) is False


def test_the_constant_and_the_stale_one_come_from_an_earlier_run():
    nearly = 0.5 + 1e-6 * torch.randn(30, 40)
    found = answers(nearly, 0.5 + 1e-6 * torch.randn(30, 40))
    assert (found["constant", "output"], found["stale", "output"]) == (False, False)
    assert answers(nearly)["constant", "output"] is None


def test_what_is_equal_along_a_dimension_is_not_blamed_for_it():
    found = answers(torch.randn(30, 1).expand(30, 40).contiguous())
    assert found["permuted", "output, dimension 1"] is None
    assert found["mean", "output, dimension 1"] is None
    assert found["permuted", "output, dimension 0"] is True


def test_a_last_slice_that_is_zero_anyway_is_not_blamed():
    out = torch.randn(30, 40)
    out[:, -1] = 0
    found = answers(out)
    assert found["dropped", "output, dimension 1"] is None
    assert found["dropped", "output, dimension 0"] is True


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool, torch.float16, torch.bfloat16, torch.complex64])
def test_every_dtype_has_impostors_and_tells_them(dtype):
    out = (torch.rand(20, 33) * 9).to(dtype) if dtype is not torch.bool else torch.rand(20, 33) > 0.5
    found = answers(out, out.flip(0))
    assert found["zeros", "output"] is True
    assert found["stale", "output"] is True
    assert False not in found.values()


def test_a_single_number_and_an_empty_output_are_no_trouble():
    assert {name for name, _ in answers(torch.tensor(3.0), torch.tensor(4.0))} == {"zeros", "constant", "stale"}
    assert answers(torch.empty(0, 4)) == {}


def test_whole_outputs_are_compared_in_structure_type_and_values():
    a, b = torch.randn(4, 40), torch.randn(3)
    both = held(a, b)
    assert both.agrees([a.clone(), b.clone()])
    assert both.agrees([a * (1 + 1e-7), b])
    assert not both.is_same([a * (1 + 1e-6), b])
    for wrong in ([a], [a, b.double()], [a, b[:2]], [a, None], [a + 1, b], {"a": a, "b": b}):
        assert not both.agrees(wrong)


def test_numbers_beside_tensors_count():
    value = HeldOutputs([torch.ones(3), 2.5, "name", 7], None, TOLERANCE)
    assert value.agrees([torch.ones(3), 2.5, "name", 7])
    assert not value.agrees([torch.ones(3), 2.6, "name", 7])
    assert not value.agrees([torch.ones(3), 2.5, "other", 7])


# ------------------------------------------------------------------------------------------------------------- inputs
def test_only_magnitudes_are_varied():
    assert is_magnitude(torch.rand(40))
    mask, labels, signs = (torch.rand(40) > 0.5).float(), torch.arange(40.0), torch.randint(0, 2, (40,)) * 2.0 - 1
    for other in (mask, labels, signs, torch.arange(40), mask.bool(), torch.tensor(0.5), mask * 0.7):
        assert not is_magnitude(other), other


def test_signs_are_varied_only_where_all_are_alike_and_independently():
    one, both = torch.rand(1000) + 0.01, torch.randn(1000)
    (changed, same), count = varied([one, both], "signs", 3)
    assert count == 1
    assert torch.equal(changed.abs(), one)
    assert 400 < int((changed < 0).sum()) < 600
    assert same is both
    assert torch.equal(varied([one], "signs", 3)[0][0], changed)


def test_scales_are_those_that_they_are_called():
    x = torch.rand(50)
    assert torch.equal(varied([x], "tenfold", 0)[0][0], x * 10)
    assert torch.equal(varied([{"a": x}], "tenth", 0)[0][0]["a"], x * 0.1)
    assert varied([x], "plain", 0) == ([x], 0)


def test_another_value_of_an_input_is_always_another():
    for tensor in (torch.rand(9), torch.arange(9), torch.rand(9) > 0.5, torch.zeros(9), torch.rand(1), torch.ones(())):
        assert not torch.equal(perturbed(tensor, tensor.clone(), 1), tensor), tensor
    assert torch.equal(perturbed(torch.arange(9), None, 1).sort().values, torch.arange(9))  # an index stays valid


def test_the_last_slice_is_left_out_or_flooded_and_nothing_else():
    x = torch.rand(5, 6)
    assert torch.equal(without_last(x, 1), torch.cat([x[:, :5], torch.zeros(5, 1)], 1))
    assert torch.equal(flooded(x, 0, 1)[:4], x[:4])
    assert (flooded(x, 0, 1)[4] - x[4]).abs().max() > 100
    index = torch.arange(1, 7)
    assert without_last(index, 0).tolist() == [1, 2, 3, 4, 5, 1]
    assert without_last(torch.rand(1, 4), 0) is None


# ---------------------------------------------------------------------------------------------------------- precision
def test_tf32_keeps_ten_bits_and_rounds_to_the_nearest():
    x = torch.randn(10000)
    rounded = rounded_to_tf32(x)
    assert float(((rounded - x) / x).abs().max()) <= 2**-11
    assert float(((rounded - x) / x).abs().max()) > 2**-12
    assert not (rounded.view(torch.int32) & 0x1FFF).any()
    assert torch.equal(rounded_to_tf32(rounded), rounded)
    assert rounded_to_tf32(torch.arange(5)).dtype is torch.int64


def _forward(model, inputs):
    with torch.no_grad():
        return model(*inputs)


def test_operands_are_rounded_and_addends_are_not():
    class Sum(torch.nn.Module):
        def forward(self, a, x, y):
            return torch.addmm(a, x, y)

    a, x, y = torch.randn(5, 5), torch.randn(5, 7), torch.randn(7, 5)
    got = LOWERED["tf32"](Sum(), [a, x, y], _forward)
    assert torch.allclose(got, torch.addmm(a, rounded_to_tf32(x), rounded_to_tf32(y)), atol=1e-6)
    assert LOWERED["tf32"](torch.nn.ReLU(), [x], _forward) is None


def test_a_whole_module_and_its_inputs_can_be_lowered():
    linear = torch.nn.Linear(30, 20)
    x = torch.randn(10, 30)
    exact = _forward(linear, [x])
    for kind, dtype in (("half", torch.float16), ("bfloat16", torch.bfloat16), ("half_inputs", torch.float32)):
        got = LOWERED[kind](torch.nn.Linear(30, 20).requires_grad_(False), [x], _forward)
        assert got.dtype is dtype
        own = torch.nn.Linear(30, 20)
        own.load_state_dict(linear.state_dict())
        error = float((LOWERED[kind](own, [x], _forward).float() - exact).abs().max())
        assert 1e-6 < error < 0.1, kind


def test_full_precision_is_that_of_all_floats():
    assert is_full_precision([torch.ones(2), torch.ones(2).double(), torch.arange(2)])
    assert not is_full_precision([torch.ones(2), torch.ones(2).half()])
    assert not is_full_precision([torch.arange(2)])
