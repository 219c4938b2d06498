"""Barriers between two lines: found only where every way from the one to the other goes through."""

from __future__ import annotations

import pytest

from mooreeval.toolchains.barriers import Barriers, Between

KERNEL = "__global__ void __launch_bounds__(256) k(float* x) {{\n{}\n}}"
LOOP = "for (int p = 0; p < 4; ++p) {{\nwrites();\n{}\nuses();\n}}"


def between(text: str, *, warp: bool = False) -> Between | None:
    rows = text.split("\n")
    low, high = (next(k for k, row in enumerate(rows, 1) if word in row) for word in ("writes();", "uses();"))
    return Barriers(text).between(low, high, warp=warp)


@pytest.mark.parametrize(
    ("barrier", "line"),
    [
        ("__syncthreads();", 4),
        ("if (__syncthreads_or(x[0] > 0)) break;", None),
        ("int any;\n__syncthreads_or(x[0] > 0);", 5),
        ("auto block = cg::this_thread_block();\nblock.sync();", 5),
        ("cg::thread_block block = cg::this_thread_block();\ncg::sync(block);", 5),
        ("__syncwarp();", None),
        ("tile.sync();", None),
        ("// __syncthreads();", None),
        ("if (p) __syncthreads();", None),
        ("if (p)\n  __syncthreads();", None),
        ("if (p) {\n__syncthreads();\n}", None),
        ("while (p--) { __syncthreads(); }", None),
        ("if (p) { more(); }\n__syncthreads();", 5),
        ("{ int q; }", None),
    ],
)
def test_a_barrier_counts_where_no_way_leads_around_it(barrier, line):
    found = between(KERNEL.format(LOOP.format(barrier)))
    assert found == (Between(line, 2) if line else None)


def test_a_barrier_behind_the_first_access_on_its_line_counts():
    text = KERNEL.format(LOOP.format("")).replace("writes();", "writes(); __syncthreads();")
    assert between(text) == Between(3, 2)
    assert between(text.replace("writes(); __syncthreads();", "__syncthreads(); writes();")) is None
    together = KERNEL.format("for (;;) { writes();\n__syncthreads();\nuses(); }")
    assert between(together) == Between(3, 2)


def test_a_warps_barrier_orders_its_lanes():
    assert between(KERNEL.format(LOOP.format("__syncwarp();")), warp=True) == Between(4, 2)


def test_the_loop_is_named_only_where_a_thread_runs_its_function_once():
    text = LOOP.format("__syncthreads();")
    assert between(f"__device__ float sum(float v) {{\n{text}\n}}") == Between(4, None)
    inner = KERNEL.format(f"do {{\nif (x) {{\n{LOOP.format('__syncthreads();')}\n}}\n}} while (x);")
    assert between(inner) == Between(6, 4)
    assert between(KERNEL.format("writes();\n__syncthreads();\nuses();")) == Between(3, None)


@pytest.mark.parametrize("text", ["writes();\nuses();", "writes(); }}}\n__syncthreads();\n{{{ uses();"])
def test_any_text_is_taken(text):
    assert between(text) is None
