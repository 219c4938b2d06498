"""Comparison of outputs: what passes, what does not, in which order, and what an input may look like afterwards."""

from __future__ import annotations

import resource

import pytest
import torch

from mooreeval.config import Tolerance
from mooreeval.execute.compare import compare_inputs, compare_outputs
from mooreeval.execute.compare_values import CHUNK, Reference, boxes, tally
from mooreeval.execute.wire import DTYPES, Opaque


def randn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def kind(got, expected, wide=None, **more) -> str | None:
    fault = compare_outputs(got, expected, wide, **more)
    return None if fault is None else fault.kind


@pytest.mark.parametrize("shape", [(), (1,), (31,), (1000,), (4, 7), (64, 33), (3, 5, 40), (0,), (4, 0, 3)])
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int32,
        torch.uint8,
        torch.bool,
        torch.complex64,
        torch.complex128,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.float8_e4m3fnuz,
        torch.float8_e5m2fnuz,
    ],
)
def test_an_output_equals_itself_whatever_its_shape_and_dtype(shape, dtype):
    value = (randn(*shape) * 3).to(dtype)
    assert compare_outputs(value.clone(), value) is None


@pytest.mark.parametrize(
    ("dtype", "inside", "outside"),
    [
        (torch.float32, 1e-4, 4e-4),
        (torch.float16, 1e-2, 4e-2),
        (torch.bfloat16, 1e-2, 4e-2),
        (torch.float64, 1e-9, 4e-9),
    ],
)
def test_the_tolerance_follows_the_dtype_and_the_scale_of_the_line(dtype, inside, outside):
    for scale in (1e-3, 1.0, 1e3):
        want = torch.full((4, 64), scale, dtype=dtype)
        ref = want.double()
        assert compare_outputs((ref + scale * inside).to(dtype), want, ref) is None
        assert kind((ref + scale * outside).to(dtype), want, ref) == "values"


def test_scale_is_taken_per_line_so_that_a_small_line_is_not_hidden_by_a_large_one():
    want = torch.cat([torch.full((1, 64), 1e6), torch.full((1, 64), 1e-3)])
    got = want.clone()
    got[1] = 0
    fault = compare_outputs(got, want)
    assert fault is not None
    assert (fault.wrong, fault.first) == (64, (1, 0))


def test_short_lines_take_the_scale_of_the_whole_output():
    want = torch.tensor([[1.0, 1.0], [1e-6, 1e-6]])
    assert compare_outputs(want + 1e-5, want) is None


def test_the_references_own_rounding_error_widens_the_tolerance_of_its_line_only():
    wide = randn(2, 64, dtype=torch.float64)
    own = wide.float()
    own[0, 3] += 0.01
    got = wide.float()
    got[0] += 0.03
    assert compare_outputs(got, own, wide) is None
    got[1] += 0.03
    fault = compare_outputs(got, own, wide)
    assert fault is not None
    assert fault.first is not None
    assert fault.first[0] == 1


def of_cancelled_sums(offset: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """min(x + y, 0) summed in two orders in float32, and once in float64; a share of the elements is not 0."""
    x, y, z = (randn(20000, 64, dtype=torch.float64, seed=seed) for seed in (1, 2, 3))
    x += offset
    narrow = x.float(), y.float(), z.float()
    x, y, z = (t.double() for t in narrow)
    first = ((narrow[0] + narrow[1]) + narrow[2]).clamp(max=0)
    second = (narrow[0] + (narrow[1] + narrow[2])).clamp(max=0)
    return second, first, (x + y + z).clamp(max=0)


@pytest.mark.parametrize("offset", [0.0, 4.0, 5.5])
def test_a_line_of_almost_only_zeros_has_the_rounding_error_of_the_whole_output(offset):
    got, own, wide = of_cancelled_sums(offset)
    assert compare_outputs(got, own, wide) is None
    sparse = int((wide != 0).sum(-1).argmin())
    got[sparse, 5] -= 1e-4
    fault = compare_outputs(got, own, wide)
    assert fault is not None
    assert fault.wrong == 1


def test_values_are_measured_from_the_float64_reference():
    wide = torch.full((64,), 1.0, dtype=torch.float64)
    own = wide.float() + 1e-3
    assert compare_outputs(wide.float(), own, wide) is None
    assert kind(wide.float(), own) == "values"


def test_zero_expected_everywhere_admits_no_small_number():
    assert kind(torch.full((100,), 1e-6), torch.zeros(100), torch.zeros(100).double()) == "values"


def test_nan_and_infinity_must_stand_where_the_reference_has_them():
    want = torch.tensor([1.0, float("nan"), float("inf"), float("-inf"), 2.0] * 10)
    assert compare_outputs(want.clone(), want, want.double()) is None
    for place, value in [
        (0, "nan"),
        (0, "inf"),
        (1, "0"),
        (1, "inf"),
        (2, "nan"),
        (2, "-inf"),
        (2, "3e38"),
        (3, "nan"),
    ]:
        got = want.clone()
        got[place] = float(value)
        fault = compare_outputs(got, want, want.double())
        assert fault is not None, (place, value)
        assert (fault.wrong, fault.first) == (1, (place,))


def test_an_infinite_float32_reference_is_not_excused_by_a_finite_float64_one():
    want, wide = torch.tensor([float("inf")] * 4), torch.full((4,), 1e39, dtype=torch.float64)
    assert compare_outputs(want.clone(), want, wide) is None
    assert kind(torch.full((4,), 3e38), want, wide) == "values"


def test_integers_and_bool_are_exact():
    want = torch.arange(1000, dtype=torch.int64) + (1 << 60)
    got = want.clone()
    got[7] += 1
    fault = compare_outputs(got, want)
    assert fault is not None
    assert (fault.wrong, fault.first) == (1, (7,))
    assert fault.examples == (((7,), (1 << 60) + 8, (1 << 60) + 7),)
    assert f"got {(1 << 60) + 8}, expected {(1 << 60) + 7}" in fault.message
    flags = torch.zeros(50, dtype=torch.bool)
    junk = torch.full((50,), 2, dtype=torch.uint8).view(torch.bool)
    assert kind(flags.logical_not(), flags) == "values"
    assert kind(junk, torch.ones(50, dtype=torch.bool)) == "values"


def test_a_byte_of_a_bool_that_is_neither_0_nor_1_equals_nothing_whatever_its_strides():
    unwritten = torch.full((40, 50), 255, dtype=torch.uint8)
    want = torch.ones(40, 50, dtype=torch.bool)
    for got, expected in [
        (unwritten.view(torch.bool), want),
        (unwritten.t().view(torch.bool), want.t()),
        (unwritten.view(torch.bool)[:, ::2], want[:, ::2]),
    ]:
        fault = compare_outputs(got, expected)
        assert fault is not None
        assert fault.wrong == fault.total
        assert "never written" in fault.message
    one = torch.ones(9, dtype=torch.uint8)
    one[4] = 2
    assert compare_inputs([one.gt(0)], [one.gt(0)], [one.view(torch.bool)]) is not None


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_float8_may_be_off_by_its_last_digit_and_no_more(dtype):
    want = (randn(4, 64).abs() + 1).to(dtype)
    step = (want.view(torch.uint8) + 1).view(dtype)
    assert compare_outputs(step, want, want) is None
    far = want.clone()
    far.view(torch.uint8)[2, 5] += 16
    fault = compare_outputs(far, want, randn(4, 64).to(dtype))
    assert fault is not None
    assert (fault.wrong, fault.first) == (1, (2, 5))
    assert kind(torch.zeros_like(want.float()).to(dtype), want) == "values"
    assert compare_inputs([want], [want], [step]) is not None


def test_large_float64_values_do_not_overflow_the_scale():
    want = torch.full((2, 64), 1e300, dtype=torch.float64)
    assert compare_outputs(want * (1 + 1e-10), want, want) is None
    assert kind(want * 1.1, want, want) == "values"
    largest = torch.full((2, 64), 1.7e308, dtype=torch.float64)
    assert compare_outputs(largest.clone(), largest, largest) is None
    assert kind(largest * 0.9, largest, largest) == "values"


def test_small_float64_values_are_not_lost_in_float32s_denormals():
    want = torch.full((2, 64), 1e-60, dtype=torch.float64)
    assert kind(want * 2, want, want) == "values"


def test_each_part_of_a_complex_number_that_is_not_finite_is_compared():
    nan, inf = float("nan"), float("inf")
    want = torch.tensor([complex(nan, 2), complex(inf, -3), complex(1, nan), complex(nan, nan), 1 + 1j] * 10)
    wide = want.to(torch.complex128)
    assert compare_outputs(want.clone(), want, wide) is None
    for place, value in [
        (0, complex(nan, 3)), (0, complex(nan, nan)), (0, 2j), (1, complex(inf, 3)), (1, complex(-inf, -3)),
        (2, complex(2, nan)), (3, complex(nan, 0)), (4, complex(1, nan)), (4, complex(inf, 1)),
    ]:  # fmt: skip
        got = want.clone()
        got[place] = value
        fault = compare_outputs(got, want, wide)
        assert fault is not None, (place, value)
        assert (fault.wrong, fault.first) == (1, (place,))


def test_complex_outputs_are_compared_as_complex_numbers():
    want = torch.complex(randn(3, 40), randn(3, 40, seed=1))
    got = want.clone()
    got[1, 1] += 0.1j
    fault = compare_outputs(got, want)
    assert fault is not None
    assert (fault.wrong, fault.first) == (1, (1, 1))


@pytest.mark.parametrize("dtype", [getattr(torch, name) for name in DTYPES], ids=str)
def test_a_difference_is_described_in_every_dtype(dtype):
    base = torch.randint(0, 2 if dtype is torch.bool else 100, (16, 48)).to(dtype)
    unwritten = torch.full((16, 48 * dtype.itemsize), 255, dtype=torch.uint8).view(dtype)
    last = base.clone()
    last.view(torch.uint8)[-1, -8 * dtype.itemsize :] = 255
    for got in (base.flip(0), torch.zeros_like(base), base.roll(1, 1), unwritten, last):
        assert kind(got, base, inputs=[("input[0]", got.clone())]) == "values"
        assert kind((got, base), (base, got)) == "values"
        assert compare_inputs([base], [base], [got]) is not None


def test_strides_do_not_matter_to_values():
    want = randn(48, 64)
    assert compare_outputs(want.t().contiguous().t(), want) is None
    assert compare_outputs(want, want.t().contiguous().t(), want.double().t().contiguous().t()) is None
    assert compare_outputs(want[:1].expand(48, 64), want[:1].repeat(48, 1)) is None
    assert kind(torch.conj(torch.complex(want, want)), torch.complex(want, want)) == "values"


@pytest.mark.parametrize(
    ("got", "expected", "fault"),
    [
        ((randn(3), randn(3)), randn(3), "structure"),
        (randn(3), (randn(3),), "structure"),
        ((randn(3),), (randn(3), randn(3)), "structure"),
        ({"a": randn(3)}, {"b": randn(3)}, "structure"),
        ({"a": randn(3)}, (randn(3),), "structure"),
        (None, randn(3), "type"),
        (randn(3), None, "type"),
        (3, 3.0, "type"),
        (True, 1, "type"),
        (object(), randn(3), "type"),
        (randn(3), randn(4), "shape"),
        (randn(3, 1), randn(3), "shape"),
        (randn(3).half(), randn(3), "dtype"),
        (randn(3).long(), randn(3), "dtype"),
        (3, 4, "values"),
        (0.5, 0.6, "values"),
        ("a", "b", "values"),
    ],
)
def test_form_is_judged_before_values(got, expected, fault):
    assert kind(got, expected) == fault


def test_a_list_in_place_of_a_tuple_passes():
    assert compare_outputs([randn(3), None, 2], (randn(3), None, 2)) is None


def test_a_float_is_judged_like_a_float32_result():
    assert compare_outputs(1.00001, 1.0, 1.0) is None
    assert kind(float("nan"), 1.0) == "values"
    assert compare_outputs(float("nan"), float("nan")) is None
    assert compare_outputs(1.00001 + 2j, 1 + 2j, 1 + 2j) is None
    assert kind(1 + 2.01j, 1 + 2j) == "values"
    assert kind(complex(float("nan"), 2), complex(float("nan"), 1)) == "values"
    assert kind(1.0, 1 + 0j) == "type"


def test_a_float_beyond_float32_keeps_its_size_and_infinity_equals_only_itself():
    inf = float("inf")
    assert compare_outputs(1e300 * (1 + 1e-6), 1e300) is None
    for got, expected in [(2e300, 1e300), (2e-300, 1e-300), (1e39, inf), (inf, 1e39), (-inf, inf), (0.0, 1e-60)]:
        assert kind(got, expected) == "values", (got, expected)
    assert kind(complex(2e300, 1), complex(1e300, 1)) == "values"
    assert compare_outputs(inf, inf) is None
    assert compare_outputs(0.0, 1e-40) is None  # a float32's denormal may be flushed


def test_what_did_not_cross_equals_nothing():
    assert kind((randn(3), Opaque("Out")), (randn(3), Opaque("Out"))) == "type"
    assert kind(Opaque("Out"), randn(3)) == "type"


def test_dicts_have_tuples_as_keys():
    want = {(0, 1): randn(3), (1, 2): randn(3, seed=1)}
    assert compare_outputs(dict(reversed(want.items())), want) is None
    assert kind({(0, 1): randn(3)}, want) == "structure"
    assert kind({(0, 1): randn(3), (1, 2): randn(3)}, want) == "values"


def test_the_first_wrong_output_is_named_by_its_path():
    good, bad = randn(40), randn(40, seed=1)
    fault = compare_outputs({"x": (good, good), "y": good}, {"x": (good, bad), "y": bad})
    assert fault is not None
    assert fault.output == "output['x'][1]"


def test_devices_are_compared_before_values_and_after_dtype():
    want, other = (randn(3), randn(3, seed=1)), (randn(3, seed=2), randn(3, seed=3))
    where = {"expected_devices": ["cuda:0", "cuda:0"]}
    assert kind(want, want, devices=["cuda:0", "cuda:0"], **where) is None
    assert kind(other, want, devices=["cuda:0", "cpu"], **where) == "device"
    assert kind((randn(3), randn(3).half()), want, devices=["cpu", "cpu"], **where) == "dtype"


def test_devices_follow_the_order_of_the_candidates_own_dict():
    a, b = randn(3), randn(3, seed=1)
    devices = {"devices": ["cpu", "cuda:0"], "expected_devices": ["cuda:0", "cuda:0"]}
    fault = compare_outputs({"b": b, "a": a}, {"a": a, "b": b}, **devices)
    assert fault is not None
    assert (fault.kind, fault.output) == ("device", "output['b']")


def test_each_output_belongs_where_the_reference_has_it():
    a, b = randn(3), randn(3, seed=1)
    want, places = {"a": a, "b": b}, ["cuda:0", "cpu"]
    assert kind({"b": b, "a": a}, want, devices=["cpu", "cuda:0"], expected_devices=places) is None
    fault = compare_outputs({"b": b, "a": a}, want, devices=["cuda:0", "cuda:0"], expected_devices=places)
    assert fault is not None
    assert fault.message == "output['b'] is on cuda:0; expected on cpu."


@pytest.mark.parametrize("devices", [[], ["cuda:0"], ["cuda:0"] * 3])
def test_a_wrong_number_of_devices_is_a_mismatch_and_no_crash(devices):
    pair = (randn(3), randn(3))
    assert kind(pair, pair, devices=devices, expected_devices=["cuda:0"] * 2) == "device"


def test_allclose_is_kernelbenchs_rule():
    rule = Tolerance(rule="allclose", float32=1e-2)
    want = torch.tensor([0.0, 10.0])
    assert compare_outputs(torch.tensor([0.009, 10.1]), want, None, rule) is None
    assert kind(torch.tensor([0.011, 10.0]), want, tolerance=rule) == "values"


@pytest.mark.parametrize("shape", [(), (5,), (7, 3), (2, 3, 4, 5), (1, 1, 50), (0, 4), (100,)])
@pytest.mark.parametrize("limit", [1, 3, 7, 1000])
def test_boxes_cover_every_element_once_in_row_major_order(shape, limit):
    values = torch.arange(torch.Size(shape).numel()).reshape(shape)
    parts = [values[box] for box in boxes(shape, limit)]
    assert all(part.numel() <= limit for part in parts)
    assert torch.cat([part.reshape(-1) for part in parts] or [torch.empty(0)]).tolist() == values.reshape(-1).tolist()


@pytest.mark.parametrize("shape", [(3 * CHUNK + 5,), (3, CHUNK + 7), (CHUNK, 2), (5, CHUNK // 2)])
def test_outputs_of_many_chunks_are_counted_as_a_whole(shape):
    want = torch.ones(shape)
    got = want.clone()
    got.view(-1)[-4:] = 0
    fault = compare_outputs(got, want, want.double())
    assert fault is not None
    assert (fault.wrong, fault.total) == (4, want.numel())
    assert fault.max_abs_error == 1
    assert "tail" in fault.patterns or "block" in fault.patterns


def test_extra_memory_stays_bounded_while_a_large_output_is_compared():
    want = torch.zeros(1 << 25, dtype=torch.float16)  # one float64 temporary of all of it would be 256 MiB
    got = want.clone()
    got[-1] = 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert tally(got, Reference(want), Tolerance()).wrong == 1
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mib < 224


def test_inputs_that_nobody_changes_pass():
    x = randn(50)
    x[3] = float("nan")
    assert compare_inputs((x, 3, None), (x.clone(), 3, None), (x.clone(), 3, None)) is None


def test_a_changed_input_is_told_exactly():
    x = randn(50)
    changed = x.clone()
    changed[7] += 1e-7
    fault = compare_inputs([x], [x], [changed])
    assert fault is not None
    assert (fault.kind, fault.output, fault.wrong) == ("mutated_input", "input[0]", 1)
    assert "leaves" in fault.message


def test_an_in_place_reference_asks_for_the_same_change_within_the_tolerance():
    x = randn(50)
    after = x.relu()
    assert compare_inputs([x], [after], [after + 1e-6]) is None
    untouched = compare_inputs([x], [after], [x])
    other = compare_inputs([x], [after], [-after])
    assert untouched is not None
    assert other is not None
    assert "leaves it as it was" in untouched.message
    assert "differently" in other.message


def test_a_resized_input_is_a_mutation():
    fault = compare_inputs([randn(5)], [randn(5)], [randn(6)])
    assert fault is not None
    assert fault.kind == "mutated_input"
