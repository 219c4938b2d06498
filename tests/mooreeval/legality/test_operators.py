"""The list of allowed operators: what it holds, by which names it is asked, and what is computation."""

from __future__ import annotations

import pytest

from mooreeval.legality.operators import ALLOWED, PAPER, QUESTIONS, SPELLINGS, base_name, is_allowed, is_allowed_in_cpp

PLUMBING = """
empty.memory_format zeros_like t contiguous select.int view to.dtype _to_copy copy_ detach item unsqueeze fill_.Scalar
"""
COMPUTATION = """
add.Tensor mul_.Scalar matmul mm addmm linear relu sum.dim_IntList mean cat stack pad constant_pad_nd index.Tensor
index_select gather where.self softmax.int conv2d convolution _native_batch_norm max_pool2d clamp exp tril triu cumsum
sort.stable bmm einsum tensordot repeat tile embedding masked_fill.Scalar addcmul_ lerp_.Scalar div.Tensor
select_backward slice_scatter select_scatter unfold_backward expand_copy_backward diagonal_scatter
"""


@pytest.mark.parametrize("name", PLUMBING.split())
def test_what_allocates_moves_or_renames_memory_is_allowed(name):
    assert is_allowed(f"aten::{name}")


@pytest.mark.parametrize("name", COMPUTATION.split())
def test_what_computes_is_not(name):
    assert not is_allowed(f"aten::{name}")
    assert not is_allowed_in_cpp(name.replace(".", "_"))


@pytest.mark.parametrize(
    "name", ["aten::add.Tensor", "aten.add.Tensor", "torch.ops.aten.add.Tensor", "add.Tensor", "add"]
)
def test_an_operator_is_known_by_every_way_of_writing_it(name):
    assert base_name(name) == "add"


def test_the_list_is_the_papers_and_other_names_of_the_same():
    assert len(PAPER) == 41
    known = PAPER | set(SPELLINGS)
    assert {stands_for for group in SPELLINGS.values() for stands_for in group} <= known
    assert not PAPER & set(SPELLINGS) and not PAPER & QUESTIONS and not set(SPELLINGS) & QUESTIONS
    assert known | QUESTIONS == ALLOWED


def test_the_name_in_a_binary_means_the_same_as_the_operator_for_every_operator_of_this_torch():
    import torch

    registered = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    assert len(registered) > 2500
    differs = [n for n in registered if is_allowed(n) != is_allowed_in_cpp(n.removeprefix("aten::").replace(".", "_"))]
    assert not differs


def test_every_operator_of_the_papers_list_exists_in_this_torch():
    import torch

    registered = {base_name(name) for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    assert not PAPER - registered
