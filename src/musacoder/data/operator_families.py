"""The family of an operator of `aten`: the families of `musacoder.evaluate.families`, told by an operator's name."""

from __future__ import annotations

import re

from musacoder.evaluate.families import family_of_word

LAYOUT, ALLOCATION, ELEMENTWISE = "layout", "allocation", "elementwise"
_PREFIX = re.compile(r"^_+|^(native|mkldnn|cudnn|miopen|thnn|slow|fused|foreach|efficient|safe|sparse)_+")
_SUFFIX = re.compile(
    r"(_with_indices|_forward|_backward|_for_cpu|_overrideable|_nogrouped|_data|_vec|_impl|_tensor|_scalar|_self|_out|_"
    r"|_flash_attention|_fused|_decomposed)$"
)
_ALLOCATION = re.compile(
    r"^(empty|new_empty|resize|set|detach|lift|result_type|zeros|ones|full|fill|zero|scalar_tensor)"
)
_LAYOUT = re.compile(r"^(as_strided|clone|copy|to$|to_copy|contiguous|slice|alias|unsafe_view|reshape|resolve|expand)")
_BY_START = (
    ("convolution", "convolution"),
    ("mkldnn_convolution", "convolution"),
    ("scaled_dot_product", "attention"),
    ("upsample", "indexing"),
    ("index", "indexing"),
    ("constant_pad", "indexing"),
    ("reflection_pad", "indexing"),
    ("replication_pad", "indexing"),
    ("im2col", "convolution"),
    ("col2im", "convolution"),
    ("addmm", "matmul"),
    ("linalg_vector_norm", "normalisation"),
    ("nll", "loss"),
    ("batch_norm", "normalisation"),
    ("cudnn_rnn", "network"),
    ("lstm", "network"),
    ("gru", "network"),
    ("rnn", "network"),
)


def family_of_operator(name: str) -> str:
    """One of `FAMILIES`, `layout` where only a view or a copy is made, `allocation` where nothing is computed."""
    bare = _bare(name.rpartition("::")[2])
    if _ALLOCATION.match(bare):
        return ALLOCATION
    if _LAYOUT.match(bare):
        return LAYOUT
    for start, family in _BY_START:
        if bare.startswith(start):
            return family
    return {"recurrent": "network", "transformer": "network"}.get(
        found := family_of_word(re.sub(r"[123]d$", "", bare)) or ELEMENTWISE, found
    )


def _bare(name: str) -> str:
    """Without what tells only where and how it is computed."""
    while (shorter := _SUFFIX.sub("", _PREFIX.sub("", name))) != name and shorter:
        name = shorter
    return name
