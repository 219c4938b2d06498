"""__half and __nv_bfloat16 must round as the hardware does, and compute as if with one rounding."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from support.simulator_headers import Kernels, build_kernels

ALL_BITS = np.arange(65536, dtype=np.uint16)
FINITE_HALVES = ALL_BITS[(ALL_BITS & 0x7C00) != 0x7C00]


@pytest.fixture(scope="module")
def kernels(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build_kernels("halves", runtime_library, tmp_path_factory.mktemp("halves"))


def interesting_floats() -> np.ndarray:
    """Random bits, every half, the ties between halves, and their float neighbours."""
    rng = np.random.default_rng(0)
    halves = FINITE_HALVES.view(np.float16).astype(np.float32)
    ordered = np.sort(halves)
    ties = (ordered[1:] + ordered[:-1]) / 2
    near = np.concatenate([np.nextafter(ties, np.float32(s)) for s in (-np.inf, np.inf)])
    edges = np.array([65504, 65519.996, 65520, 65536, 1e30, np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45], np.float32)
    random = rng.integers(0, 2**32, 40000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([halves, ties, near, edges, random]).astype(np.float32)


def same_or_both_nan(got: np.ndarray, want: np.ndarray) -> bool:
    return bool(np.all((got == want) | (np.isnan(got) & np.isnan(want))))


def neighbours_agree(x: np.ndarray, table: np.ndarray, to_float: np.ndarray) -> None:
    """Columns of `table` are bits rounded to nearest, to zero, down, up; `to_float` maps bits to values."""
    number = ~np.isnan(x)
    values_of_bits = np.where(np.isnan(to_float), np.inf, to_float).astype(np.float64)
    zero, down, up = (values_of_bits[table[number, k]] for k in (1, 2, 3))
    exact = x[number].astype(np.float64)
    assert np.all(down <= exact)
    assert np.all(up >= exact)
    assert np.all(np.where(exact > 0, zero == down, zero == up))
    # No representable value lies strictly between: the next one above `down` is `up`, unless the value is exact.
    values = np.unique(values_of_bits)
    step = values[np.minimum(np.searchsorted(values, down) + 1, len(values) - 1)]
    assert np.all((down == exact) | (step == up))


def test_float_to_half_rounds_to_nearest_even_and_in_the_other_modes(kernels: Kernels) -> None:
    x = interesting_floats()
    _, table = kernels.arrays("to_half", x, np.zeros(4 * len(x), np.uint16), len(x))
    table = table.reshape(-1, 4)
    with np.errstate(over="ignore"):
        assert same_or_both_nan(table[:, 0].view(np.float16), x.astype(np.float16))
    assert np.array_equal(np.signbit(table[:, 0].view(np.float16))[x == 0], np.signbit(x[x == 0]))
    assert set(table[np.isnan(x), 0]) == {0x7FFF}
    neighbours_agree(x, table, ALL_BITS.view(np.float16).astype(np.float32))


def test_float_to_bfloat16_rounds_to_nearest_even_and_in_the_other_modes(kernels: Kernels) -> None:
    x = interesting_floats()
    _, table = kernels.arrays("to_bfloat16", x, np.zeros(4 * len(x), np.uint16), len(x))
    table = table.reshape(-1, 4)
    want = torch.from_numpy(x).to(torch.bfloat16).float().numpy()
    widened = (ALL_BITS.astype(np.uint32) << 16).view(np.float32)
    assert same_or_both_nan(widened[table[:, 0]], want)
    neighbours_agree(x, table, widened)


def test_double_to_half_rounds_once(kernels: Kernels) -> None:
    """A value just above a tie: rounding to float first would fall onto the tie, and then to even, downwards."""
    x = np.array(
        [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-11 - 2.0**-40, 1e300, -1e-300, 2.0**-24 * 0.5], float
    )
    _, got = kernels.arrays("double_to_half", x, np.zeros(len(x), np.uint16), len(x))
    assert got.view(np.float16).tolist() == [1 + 2.0**-10, 1.0, 1.0, np.inf, -0.0, 0.0]


def test_every_half_and_bfloat16_widens_exactly(kernels: Kernels) -> None:
    _, half = kernels.arrays("from_half", ALL_BITS, np.zeros(65536, np.float32), 65536)
    assert same_or_both_nan(half, ALL_BITS.view(np.float16).astype(np.float32))
    _, brain = kernels.arrays("from_bfloat16", ALL_BITS, np.zeros(65536, np.float32), 65536)
    assert same_or_both_nan(brain, (ALL_BITS.astype(np.uint32) << 16).view(np.float32))


def random_halves(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(FINITE_HALVES, count)


def test_half_arithmetic_equals_numpys(kernels: Kernels) -> None:
    n = 20000
    a, b, c = (random_halves(n, s) for s in (1, 2, 3))
    *_, y = kernels.arrays("arithmetic", a, b, c, np.zeros(8 * n, np.uint16), n)
    got = y.view(np.float16).reshape(n, 8)
    x, z = a.view(np.float16), b.view(np.float16)
    with np.errstate(all="ignore"):
        expected = [x + z, x - z, x * z, x / z, None, np.sqrt(x), np.fmax(x, z), np.fmin(x, z)]
    for column, want in enumerate(expected):
        if want is not None:
            assert same_or_both_nan(got[:, column], want), column


def test_half_fma_rounds_once(kernels: Kernels) -> None:
    n = 4000
    a, b, c = (random_halves(n, s) for s in (4, 5, 6))
    *_, y = kernels.arrays("arithmetic", a, b, c, np.zeros(8 * n, np.uint16), n)
    got = y.view(np.float16).reshape(n, 8)[:, 4]
    values = [[Fraction(float(v)) for v in h.view(np.float16)] for h in (a, b, c)]
    for i, (p, q, r) in enumerate(zip(*values, strict=True)):
        exact = p * q + r
        if abs(exact) >= 65520:
            assert np.isinf(got[i])
            assert (got[i] > 0) == (exact > 0)
            continue
        error = abs(Fraction(float(got[i])) - exact)
        for other in (np.nextafter(got[i], np.float16(np.inf)), np.nextafter(got[i], np.float16(-np.inf))):
            if np.isfinite(other):
                distance = abs(Fraction(float(other)) - exact)
                assert error < distance or (error == distance and got.view(np.uint16)[i] % 2 == 0)


def test_pairs_compute_on_both_elements(kernels: Kernels) -> None:
    a, b = (np.array(v, np.float16) for v in ([1, 2, 3, 4], [10, 20, 30, 40]))
    *_, y, f = kernels.arrays("pairs", a, b, np.zeros(8, np.float16), np.zeros(4, np.float32), 2)
    assert y.tolist() == [11, 22, 12, 41, 33, 44, 94, 163]
    assert f.tolist() == [10, 40, 90, 160]


def test_comparisons_treat_nan_as_unordered(kernels: Kernels) -> None:
    a, b = (np.array(v, np.float16) for v in ([1, 2, 3, np.nan, 0.0], [2, 2, 2, 1, -0.0]))
    *_, y = kernels.arrays("comparisons", a, b, np.zeros(5, np.int32), 5)
    eq, ne, lt, le, gt, ge, ltu, nan = (1 << k for k in range(8))
    assert y.tolist() == [ne | lt | le | ltu, eq | le | ge, ne | gt | ge, ltu | nan, eq | le | ge]


def test_half_to_integer_saturates_and_nan_is_zero(kernels: Kernels) -> None:
    a = np.array([2.5, -2.5, 3.5, np.inf, -np.inf, np.nan], np.float16)
    _, y = kernels.arrays("integers", a, np.zeros(24, np.int32), 6)
    top, bottom = 2**31 - 1, -(2**31)
    assert y.reshape(6, 4).tolist() == [[2, 2, 2, 3], [-2, -2, -3, -2], [4, 3, 3, 4], [top] * 4, [bottom] * 4, [0] * 4]


def test_half_atomics_lose_no_addition(kernels: Kernels) -> None:
    x = np.full(256, 2, np.float16)
    sums = [np.zeros(1, np.float16), np.zeros(2, np.float16), np.zeros(1, np.uint16)]
    _, total, pair, brain = kernels.arrays("add_all", x, *sums, 256, check=True)
    assert total.tolist() == [512]
    assert pair.tolist() == [512, 256]
    assert (brain.astype(np.uint32) << 16).view(np.float32).tolist() == [256]
