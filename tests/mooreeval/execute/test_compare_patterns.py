"""The description of a mismatch: where, how far, what pattern; and no story that is false."""

from __future__ import annotations

import pytest
import torch

from mooreeval.execute.compare import compare_outputs
from mooreeval.verdict import Mismatch


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def fault(got, expected, wide=None, **more) -> Mismatch:
    result = compare_outputs(got, expected, wide, **more)
    assert result is not None
    return result


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """The same form, every byte 0xFF, as fresh device memory is."""
    return (
        torch.full((tensor.numel() * tensor.element_size(),), 255, dtype=torch.uint8)
        .view(tensor.dtype)
        .reshape(tensor.shape)
    )


def with_wrong(shape, place) -> tuple[torch.Tensor, torch.Tensor]:
    """A random output and the same with other values at one place."""
    want = randn(*shape)
    got = want.clone()
    got[place] = randn(*shape, seed=5)[place] + 10
    return got, want


@pytest.mark.parametrize(
    ("got", "pattern", "words"),
    [
        (lambda x: torch.zeros_like(x), "all_zero", "zero"),
        (lambda x: torch.full_like(x, float("nan")), "nan", "NaN"),
        (lambda x: poison(x), "unwritten", "never written"),
        (lambda x: torch.full_like(x, 0.25), "constant", "0.25"),
        (lambda x: -x, "negated", "opposite sign"),
        (lambda x: x * 0.5, "factor", "times 0.5"),
        (lambda x: x * 96, "factor", "the size of dimension 1"),
        (lambda x: x / 40, "factor", "1 over the size of dimension 0"),
        (lambda x: x + 0.75, "offset", "plus 0.75"),
        (lambda x: x - 3, "offset", "minus 3"),
        (lambda x: x.roll(1, 1), "shifted", "shifted by 1 along dimension 1"),
        (lambda x: x.roll(-1, 0), "shifted", "shifted by -1 along dimension 0"),
        (lambda x: x.t().contiguous().reshape(x.shape), "transposed", "dimensions 0 and 1 transposed"),
        (lambda x: x.reshape(-1)[torch.randperm(x.numel())].reshape(x.shape), "permuted", "another order"),
    ],
)
def test_what_the_wrong_values_have_in_common_is_told(got, pattern, words):
    want = randn(40, 96)
    result = fault(got(want), want, want.double())
    assert result.patterns[0] == pattern, result.message
    assert words in result.message


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_unwritten_memory_is_told_in_every_floating_dtype(dtype):
    want = randn(64).to(dtype)
    got = want.clone()
    got[-9:] = poison(want)[-9:]
    result = fault(got, want)
    assert result.patterns == ("unwritten", "tail")
    assert result.max_abs_error is None
    assert "the last 9 of 64 (from 55 on)" in result.message


def test_a_square_output_may_be_transposed():
    want = randn(64, 64)
    assert fault(want.t(), want).patterns[0] == "transposed"


def test_an_input_handed_back_is_told():
    x, want = randn(40), randn(40, seed=1)
    result = fault(x.clone(), want, inputs=[("input[1]", want * 2), ("input[0]", x)])
    assert result.patterns[0] == "equals_input"
    assert "input[0], unchanged" in result.message


def test_swapped_outputs_are_told_by_value_and_by_shape():
    a, b, wide = randn(40), randn(40, seed=1), randn(3, 50)
    assert fault((b, a), (a, b)).patterns[0] == "swapped"
    by_shape = fault((wide, a), (a, wide))
    assert (by_shape.kind, by_shape.patterns) == ("shape", ("swapped",))


def test_a_missing_clamp_shows_as_wrong_only_where_zero_is_expected():
    x = randn(500)
    result = fault(x, x.relu())
    assert "expected_zero" in result.patterns
    assert "0 is expected" in result.message


@pytest.mark.parametrize(
    ("shape", "place", "pattern", "words"),
    [
        ((1000,), slice(976, None), "tail", "the last 24 of 1000 (from 976 on)"),
        ((1000,), slice(0, 3), "head", "the first 3 of 1000"),
        ((1000,), slice(3, None, 4), "every_nth", "every 4th index (from 3 on)"),
        ((1000,), slice(512, 768), "range", "indices 512 to 767"),
        ((50, 70), slice(48, None), "tail", "the last 2 of 50 (from 48 on) of dimension 0"),
        ((50, 70), (slice(None), slice(64, None)), "tail", "the last 6 of 70 (from 64 on) of dimension 1"),
        ((50, 70), (slice(None), slice(0, None, 2)), "every_nth", "every 2nd index (from 0 on) of dimension 1"),
        ((50, 70), 7, "single_index", "index 7 of dimension 0"),
        ((50, 70), (slice(16, 32), slice(32, 48)), "block", "indices 16 to 31 of dimension 0 in indices 32 to 47"),
        ((4, 6, 8), (slice(None), 3), "single_index", "index 3 of dimension 1"),
        ((50, 70), (3, 4), "single", "one element, [3, 4]"),
    ],
)
def test_where_the_wrong_elements_lie_is_told(shape, place, pattern, words):
    result = fault(*with_wrong(shape, place))
    assert result.patterns[-1] == pattern, result.message
    assert words in result.message


def test_a_tail_in_memory_order_across_rows_is_told():
    got, want = with_wrong((30, 50), slice(0, 0))
    got.view(-1)[1024:] = 9
    result = fault(got, want)
    assert result.patterns[-1] == "tail"
    assert "the last 476, from [20, 24] to the end" in result.message


def test_rows_that_are_right_only_every_nth_time_are_told():
    got, want = with_wrong((40, 64), slice(None))
    got[::8] = want[::8]
    assert fault(got, want).patterns[-1] == "all_but_every_nth"


def test_borders_of_images_are_told():
    want = randn(2, 3, 32, 32)
    got = torch.zeros_like(want)
    got[..., 1:-1, 1:-1] = want[..., 1:-1, 1:-1]
    result = fault(got, want)
    assert result.patterns[-1] == "borders"
    assert "at most 1 from an edge" in result.message


def test_triangles_are_told():
    want = randn(40, 40)
    assert fault(want.tril(), want).patterns[-1] == "triangle"
    assert "above the diagonal" in fault(want.tril(), want).message


def test_tiles_of_a_grid_of_blocks_are_told():
    got, want = with_wrong((96, 64), slice(0, 0))
    for row, column in ((0, 1), (2, 0)):
        got[32 * row : 32 * row + 32, 32 * column : 32 * column + 32] = 7
    result = fault(got, want)
    assert result.patterns[-1] == "tiles"
    assert "2 of 6 tiles of 32 x 32" in result.message


def test_blocks_and_periods_of_a_one_dimensional_grid_are_told():
    got, want = with_wrong((64, 64), slice(0, 0))
    flat = got.view(-1)
    flat[256:512] = flat[1024:1280] = 7
    assert "whole runs of 256 elements" in fault(got, want).message
    got, want = with_wrong((8192,), slice(0, 0))
    got.view(-1, 64)[:, 32:] = 7
    result = fault(got, want)
    assert result.patterns[-1] == "periodic"
    assert "in every 64 elements" in result.message


def test_elements_at_random_places_are_scattered():
    got, want = with_wrong((4096,), slice(0, 0))
    got[torch.randperm(4096, generator=torch.Generator().manual_seed(1))[:300]] = 7.5
    assert fault(got, want).patterns[-1] == "scattered"


@pytest.mark.parametrize("shape", [(4096,), (64, 64), (8, 4, 20, 20), (5,), (2, 2)])
@pytest.mark.parametrize("seed", range(5))
def test_unrelated_values_get_no_story(shape, seed):
    result = fault(randn(*shape, seed=seed + 50), randn(*shape, seed=seed + 100))
    stories = set(result.patterns) - {"everywhere", "scattered", "single", "range", "head", "tail", "single_index"}
    assert stories <= {"block", "some_indices"}, result.message


def test_noise_is_neither_a_factor_nor_an_offset():
    want = randn(64, 64)
    noise = torch.rand(64, 64, generator=torch.Generator().manual_seed(3)) * 3e-4
    assert not {"factor", "offset"} & set(fault(want + noise, want).patterns)


def test_uniform_samples_are_no_permutation_of_each_other():
    a, b = (torch.rand(60000, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert "permuted" not in fault(a.to(dtype), b.to(dtype)).patterns


def test_a_constant_reference_tells_no_factor_from_an_offset():
    result = fault(torch.full((100,), 2.0), torch.full((100,), 1.0))
    assert result.patterns[0] == "constant"


def test_two_wrong_values_are_too_few_for_a_factor():
    want = randn(64)
    got = want.clone()
    got[10], got[40] = want[10] * 2, want[40] * 2
    assert "factor" not in fault(got, want).patterns


def test_counts_errors_and_examples_are_given():
    want = torch.ones(10, 10)
    got = want.clone()
    got[2, 3], got[7, 7] = 3.0, 1.5
    result = fault(got, want)
    assert (result.wrong, result.total, result.first) == (2, 100, (2, 3))
    assert (result.max_abs_error, result.max_rel_error) == (2.0, 2.0)
    assert result.examples == (((2, 3), 3.0, 1.0), ((7, 7), 1.5, 1.0))
    assert "First at [2, 3]: got 3, expected 1." in result.message


def test_messages_stay_short_whatever_the_output():
    for shape in [(1,), (7, 9, 11), (2, 3, 4, 5, 6)]:
        result = fault(randn(*shape, seed=1), randn(*shape, seed=2))
        assert len(result.message) < 400


def test_integer_outputs_get_the_same_descriptions():
    want = torch.arange(1, 513, dtype=torch.int32).reshape(8, 64)
    got = want.clone()
    got[-1] = -1
    assert fault(got, want).patterns == ("unwritten", "tail")
    assert fault(want.roll(1, 1), want).patterns[0] == "shifted"


def test_a_hint_names_what_a_wrong_shape_has_in_common_with_the_right_one():
    assert "keepdim" in fault(randn(4, 1), randn(4)).message
    assert "transposed" in fault(randn(3, 4), randn(4, 3)).message
    assert "reshape" in fault(randn(12), randn(4, 3)).message


def test_a_constant_is_told_though_a_few_elements_expect_it():
    expected = torch.arange(1000, dtype=torch.float32).reshape(10, 100)
    mismatch = compare_outputs(torch.full_like(expected, 3.0), expected)
    assert "the whole output is 3" in mismatch.message
    assert "999 of 1000" in mismatch.message


def test_a_hundred_per_cent_are_all():
    expected = torch.arange(100_000, dtype=torch.float32)
    got = expected + 5000
    got[7] = 7.0
    assert "(over 99.9 %)" in compare_outputs(got, expected).message
    assert "(100 %)" in compare_outputs(expected + 5000, expected).message
