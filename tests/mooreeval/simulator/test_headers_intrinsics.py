"""Scalar intrinsics against exact arithmetic, numpy and the standard library; atomics across blocks."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from support.simulator_headers import Kernels, build_kernels


@pytest.fixture(scope="module")
def kernels(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build_kernels("intrinsics", runtime_library, tmp_path_factory.mktemp("intrinsics"))


def clamped(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def test_float_to_int_rounds_in_four_modes_saturates_and_maps_nan_to_zero(kernels: Kernels) -> None:
    x = np.array([0.5, 1.5, -1.5, 2.5, -2.7, 1e10, -1e10, np.inf, -np.inf, 2147483520.0, np.nan], np.float32)
    _, y = kernels.arrays("to_int", x, np.zeros(4 * len(x), np.int32), len(x))
    for value, row in zip(x.tolist(), y.reshape(-1, 4).tolist(), strict=True):
        if math.isnan(value):
            assert row == [0, 0, 0, 0]
        elif math.isinf(value):
            assert row == [2**31 - 1 if value > 0 else -(2**31)] * 4
        else:
            modes = [round(value), math.trunc(value), math.floor(value), math.ceil(value)]
            assert row == [clamped(v, -(2**31), 2**31 - 1) for v in modes]


def test_double_to_unsigned_long_saturates(kernels: Kernels) -> None:
    x = np.array([3.9, -3.9, 1e30, 2.0**63, 1.8446744073709550e19], np.float64)
    _, y = kernels.arrays("to_unsigned_long", x, np.zeros(len(x), np.uint64), len(x))
    assert y.tolist() == [3, 0, 2**64 - 1, 2**63, 18446744073709549568]


def is_rounded(exact: Fraction, nearest: float, zero: float, down: float, up: float) -> bool:
    """Whether the four floats are what the modes make of the exact value."""
    below, above = Fraction(down), Fraction(up)
    adjacent = down == up or np.nextafter(np.float32(down), np.float32(np.inf)) == np.float32(up)
    best = min(abs(exact - below), abs(exact - above))
    return (
        below <= exact <= above
        and adjacent
        and abs(exact - Fraction(nearest)) == best
        and zero == (down if exact > 0 else up)
    )


def random_floats(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(count) * 2.0 ** rng.integers(-20, 20, count)).astype(np.float32)


def test_arithmetic_with_a_rounding_mode_is_exact_arithmetic_rounded(kernels: Kernels) -> None:
    n = 1500
    a, b = random_floats(n, 1), random_floats(n, 2)
    *_, y = kernels.arrays("rounded", a, b, np.zeros(16 * n, np.float32), n)
    for p, q, row in zip(a.tolist(), b.tolist(), y.reshape(n, 4, 4).tolist(), strict=True):
        exact = Fraction(p) + Fraction(q), Fraction(p) * Fraction(q), Fraction(p) / Fraction(q)
        for value, four in zip(exact, row, strict=False):
            assert is_rounded(value, *four)
        _, zero, down, up = row[3]  # a root: its square must enclose the argument
        assert Fraction(down) ** 2 <= Fraction(abs(p)) <= Fraction(up) ** 2
        assert zero == down


def test_fused_multiply_add_with_a_rounding_mode_rounds_once(kernels: Kernels) -> None:
    n = 1500
    a, b = random_floats(n, 3), random_floats(n, 4)
    c = np.where(np.arange(n) % 2, -a * b, random_floats(n, 5)).astype(np.float32)  # every second one cancels
    *_, y = kernels.arrays("fused", a, b, c, np.zeros(4 * n, np.float32), n)
    for p, q, r, row in zip(a.tolist(), b.tolist(), c.tolist(), y.reshape(n, 4).tolist(), strict=True):
        exact = Fraction(p) * Fraction(q) + Fraction(r)
        if exact:
            assert is_rounded(exact, *row)


def test_integers_to_float_round_in_four_modes(kernels: Kernels) -> None:
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.integers(-(2**63), 2**63 - 1, 500), [2**63 - 1, -(2**63), 16777217, -16777219, 1]])
    _, y = kernels.arrays("integers_to_float", x.astype(np.int64), np.zeros(4 * len(x), np.float32), len(x))
    assert all(is_rounded(Fraction(v), *row) for v, row in zip(x.tolist(), y.reshape(-1, 4).tolist(), strict=True))


def bit_functions(x: int, y: int) -> list[int]:
    both = (y << 32) | x
    permuted = [(both >> (8 * k)) & 255 for k in (1, 3, 5, 7)]
    signed = [[(v >> s & 255) - (256 if v >> s & 128 else 0) for s in (0, 8, 16, 24)] for v in (x, y)]
    return [
        x.bit_count(),
        32 - x.bit_length(),
        (x & -x).bit_length(),
        int(f"{x:032b}"[::-1], 2),
        sum(b << (8 * k) for k, b in enumerate(permuted)),
        (both << 5 >> 32) & 0xFFFFFFFF,
        (x * y) >> 32,
        (sum(p * q for p, q in zip(*signed, strict=True)) + 5) & 0xFFFFFFFF,
    ]


def test_bit_functions_equal_their_definition(kernels: Kernels) -> None:
    rng = np.random.default_rng(7)
    edges = [0, 1, 0x80000000, 0xFFFFFFFF]
    x, y = (np.concatenate([rng.integers(0, 2**32, 300), edges]).astype(np.uint32) for _ in range(2))
    *_, o = kernels.arrays("bit_functions", x, y, np.zeros(8 * len(x), np.uint32), len(x))
    assert o.reshape(-1, 8).tolist() == [bit_functions(p, q) for p, q in zip(x.tolist(), y.tolist(), strict=True)]


def test_special_functions_agree_with_torch(kernels: Kernels) -> None:
    x = np.array([-0.999, -0.7, -0.5, -1e-3, 1e-6, 0.25, 0.5, 0.75, 0.9999], np.float32)
    _, y = kernels.arrays("special", x, np.zeros(8 * len(x)), len(x))
    got, v = y.reshape(-1, 8).T, torch.from_numpy(x).double()
    expected = [
        torch.special.ndtr(v),
        torch.special.erfinv(v),
        torch.special.erfinv(-v),  # erfcinv(1 + v)
        torch.special.erfcx(v),
        torch.sin(math.pi * v),
        torch.cos(math.pi * v),
        1 / torch.sqrt(v + 2),
        torch.special.i1(v),
    ]
    for k, want in enumerate(expected):
        np.testing.assert_allclose(got[k], want.numpy(), rtol=1e-9, atol=1e-12)


def test_min_and_max_of_mixed_types_nan_and_vector_layouts_are_cudas(kernels: Kernels) -> None:
    (y,) = kernels.arrays("mixed_min_max", np.zeros(8, np.int32), 8)
    assert y.tolist() == [1, 225, 7, 4, 1, 1, 16 + 16 + 16 + 4 + 8, 10 + 32]


def test_atomics_are_atomic_across_blocks_and_find_nothing(kernels: Kernels) -> None:
    n = 512
    integers = np.array([0, 0, 0, 0, 0, -1, 0, 0], np.int32)
    arguments = [integers, np.array([0, 0, 0], np.uint32), np.zeros(2, np.uint64), np.zeros(2, np.float32), np.zeros(1)]
    # Checked runs use one host thread, unchecked ones several: both must agree.
    for check in (True, False):
        i, u, wide, f, d = kernels.arrays("atomics", *[a.copy() for a in arguments], n, check=check)
        cleared, set_bits = -1 & ~0x7F, 0x1FF
        assert i.tolist() == [n, -n, 1 - n, n - 1, 0, cleared, set_bits, n * (n - 1) // 2]
        assert u.tolist() == [n % 10, (-n) % 10, 2 * n]
        assert wide.tolist() == [n << 33, (n - 1) << 40]
        assert f.tolist() == [n / 2, 1.0]
        assert d.tolist() == [n / 4]


def test_compare_and_swap_loops_lose_nothing(kernels: Kernels) -> None:
    n = 1024
    largest, total = kernels.arrays("loops", np.zeros(1, np.int32), np.zeros(1), n)
    assert largest.tolist() == [(n - 1) ** 2]
    assert total.tolist() == [n / 2]
