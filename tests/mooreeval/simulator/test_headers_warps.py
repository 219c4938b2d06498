"""Shuffles, votes and groups among the lanes that exist, also in a warp that is not full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.simulator_headers import Kernels, build_kernels


@pytest.fixture(scope="module")
def kernels(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build_kernels("warps", runtime_library, tmp_path_factory.mktemp("warps"))


@pytest.mark.parametrize("width", [32, 16, 8, 2])
def test_shuffles_stay_in_their_segment(kernels: Kernels, width: int) -> None:
    threads = 64
    (y,) = kernels.arrays("shuffles", np.zeros(8 * threads, np.int32), threads, width, check=True)
    for t, row in enumerate(y.reshape(threads, 8).tolist()):
        lane, first = t % width, t // width * width
        up = {d: t - d if lane >= d else t for d in (1, 2, 3)}
        down = t + 1 if lane + 1 < width else t
        assert row == [first + 2 % width, up[3], down, t ^ 1, up[1], up[2], up[2], up[2]]


def test_shuffles_work_in_a_partial_last_warp(kernels: Kernels) -> None:
    threads = 40
    (y,) = kernels.arrays("shuffles", np.zeros(8 * threads, np.int32), threads, 8, check=True)
    assert y.reshape(threads, 8)[37].tolist() == [34, 34, 38, 36, 36, 35, 35, 35]


@pytest.mark.parametrize("threads", [64, 44])
def test_votes_matches_and_reductions_see_the_lanes_that_exist(kernels: Kernels, threads: int) -> None:
    x = np.random.default_rng(0).integers(0, 50, threads).astype(np.int32)
    x[5] = 3
    _, y = kernels.arrays("votes", x, np.zeros(12 * threads, np.uint32), threads, check=True)
    for t, row in enumerate(y.reshape(threads, 12).tolist()):
        lanes = x[t // 32 * 32 : t // 32 * 32 + 32].tolist()
        mask = (1 << len(lanes)) - 1
        odd = sum((v & 1) << k for k, v in enumerate(lanes))
        alike = sum((v % 4 == x[t] % 4) << k for k, v in enumerate(lanes))
        xor = int(np.bitwise_xor.reduce(lanes))
        votes = [odd, int(3 in lanes), 1, alike, mask, 1]
        largest_negated = -min(lanes) & 0xFFFFFFFF
        assert row == [*votes, sum(lanes), largest_negated, min(lanes), xor, int((x & 1).sum()), mask]


def test_groups_reduce_scan_and_number_their_threads(kernels: Kernels) -> None:
    threads = 64
    x = np.random.default_rng(1).random(threads).astype(np.float32)
    _, y = kernels.arrays("groups", x, np.zeros(8 * threads, np.float32), threads, check=True)
    for t, row in enumerate(y.reshape(threads, 8)):
        warp, tile, rank = x[t // 32 * 32 : t // 32 * 32 + 32], x[t // 8 * 8 : t // 8 * 8 + 8], t % 8
        assert row[0] == pytest.approx(warp.sum(), rel=1e-5)
        assert row[1] == tile.max()
        assert row[2] == tile[3]
        assert row[3] == pytest.approx(tile[: rank + 1].sum(), rel=1e-5)
        assert row[4] == sum(1 << k for k in range(8) if tile[k] > 0.5)
        assert row[5] == t // 8 * 100 + rank
        assert row[6] == ((warp[::3] > 0.5).sum() if t % 32 % 3 == 0 else 0)
        assert row[7] == 64 + 32 + 8 + rank


@pytest.mark.parametrize("threads", [32, 96, 250])
def test_the_common_block_sum_is_right_and_finds_nothing(kernels: Kernels, threads: int) -> None:
    x = np.random.default_rng(2).random(1000).astype(np.float32)
    if threads % 32:  # its last warp sums with lanes that do not exist: any value but an accusation of a race
        outcome = kernels.call("block_sum", x, np.zeros(1, np.float32), 1000, threads)
        assert outcome.exit_code == 0
        assert "race" not in outcome.kinds
        return
    _, y = kernels.arrays("block_sum", x, np.zeros(1, np.float32), 1000, threads, check=True)
    assert y[0] == pytest.approx(x.sum(), rel=1e-5)
