"""The one list of PyTorch operators that a candidate may use under policy `native`; every layer asks it.

`PAPER` is the list of the paper (arXiv 2606.04847, appendix J). `SPELLINGS` are the same operators by other names: what
newer versions of PyTorch call them, Python's and C++'s short forms, and forms that PyTorch itself makes of those on the
list. They allocate, fill, move, convert or rename memory; none computes a task. An operator that is on neither is
computation, also where it only copies (`cat`, `pad`, indexing by a tensor). Imports no torch.
"""

from __future__ import annotations

PAPER = frozenset(
    """
    _assert_async _assert_scalar _assert_tensor_metadata _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half
    _cast_Int _cast_Long _cast_Short _local_scalar_dense alias allclose arange as_strided broadcast_to clone contiguous
    copy_ empty empty_like equal expand flatten full item ones permute rand randint randn reshape select slice squeeze
    stride transpose unsqueeze view zeros
    """.split()
)

# Each stands for operators of the paper's list, or of the first group.
SPELLINGS: dict[str, tuple[str, ...]] = {
    # what newer versions call the same plumbing
    "_to_copy": ("empty", "copy_"),
    "detach": ("alias",),
    "empty_strided": ("empty",),
    "fill_": ("full",),
    "new_empty": ("empty",),
    "to": ("_to_copy",),
    "zero_": ("zeros",),
    # on a MUSA device
    "_copy_from": ("copy_",),
    "_copy_from_and_resize": ("copy_",),
    # allocated and filled in one
    "empty_permuted": ("empty",),
    "new_empty_strided": ("empty",),
    "new_full": ("full",),
    "new_ones": ("ones",),
    "new_zeros": ("zeros",),
    "full_like": ("full",),
    "ones_like": ("ones",),
    "zeros_like": ("empty_like", "zero_"),
    "rand_like": ("rand",),
    "randint_like": ("randint",),
    "randn_like": ("randn",),
    "scalar_tensor": ("full",),
    "tensor": ("empty", "copy_"),
    "from_blob": ("empty",),
    "new_tensor": ("empty", "copy_"),
    # the same values seen in another shape
    "_reshape_alias": ("view",),
    "_reshape_copy": ("reshape",),
    "_unsafe_view": ("view",),
    "adjoint": ("transpose",),
    "as_strided_": ("as_strided",),
    "broadcast_tensors": ("expand",),
    "chunk": ("slice",),
    "detach_": ("detach",),
    "diagonal": ("as_strided",),
    "expand_as": ("expand",),
    "matrix_H": ("transpose",),
    "mH": ("transpose",),
    "mT": ("transpose",),
    "moveaxis": ("permute",),
    "movedim": ("permute",),
    "narrow": ("slice",),
    "numpy_T": ("permute",),
    "T": ("permute",),
    "H": ("transpose",),
    "ravel": ("reshape",),
    "reshape_as": ("reshape",),
    "split": ("slice",),
    "split_with_sizes": ("slice",),
    "squeeze_": ("squeeze",),
    "swapaxes": ("transpose",),
    "swapdims": ("transpose",),
    "t": ("transpose",),
    "t_": ("transpose",),
    "tensor_split": ("slice",),
    "transpose_": ("transpose",),
    "unbind": ("select",),
    "unflatten": ("view",),
    "unfold": ("as_strided",),
    "unsafe_chunk": ("slice",),
    "unsafe_split": ("slice",),
    "unsqueeze_": ("unsqueeze",),
    "view_as": ("view",),
    # complex numbers by their parts; a conjugate is the same memory with a mark
    "_conj": ("alias",),
    "_neg_view": ("alias",),
    "conj": ("alias",),
    "imag": ("select",),
    "real": ("select",),
    "view_as_complex": ("view",),
    "view_as_real": ("view",),
    # handed over as they are
    "lift": ("alias",),
    "lift_fresh": ("alias",),
    "resolve_conj": ("alias",),
    "resolve_neg": ("alias",),
    "data": ("detach",),
    "variable_data": ("detach",),
    "set_data": ("alias",),
    # moved or converted
    "_pin_memory": ("copy_",),
    "pin_memory": ("copy_",),
    "type_as": ("to",),
    "cpu": ("to",),
    "cuda": ("to",),
    "musa": ("to",),
    "type": ("to",),
    "double": ("to",),
    "float": ("to",),
    "half": ("to",),
    "bfloat16": ("to",),
    "int": ("to",),
    "long": ("to",),
    "short": ("to",),
    "char": ("to",),
    "byte": ("to",),
    "bool": ("to",),
    "tolist": ("item",),
    "is_nonzero": ("item",),
}

# Asked of a tensor; none reads or writes an element.
QUESTIONS = frozenset(
    """
    _version data_ptr const_data_ptr mutable_data_ptr dim device dtype element_size get_device is_complex is_contiguous
    is_cpu is_cuda is_floating_point is_leaf is_non_overlapping_and_dense is_pinned is_same_size is_set_to layout nbytes
    ndim ndimension nelement numel output_nr record_stream requires_grad requires_grad_ retain_grad shape size
    storage_offset strides sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride untyped_storage itemsize
    """.split()
)

# Write one value everywhere, which is no part of a task that a kernel could be spared.
FILLS = frozenset(
    """
    fill_ full full_like new_full new_ones new_zeros ones ones_like scalar_tensor zero_ zeros zeros_like
    """.split()
)

# What a conversion from numbers with a point to whole ones is told as: of all conversions it alone computes.
TRUNCATION = "aten::trunc"

ALLOWED = PAPER | frozenset(SPELLINGS) | QUESTIONS

# Of overloads of what is allowed, over the versions of PyTorch that we build against: C++ writes them into the name.
_OVERLOADS = frozenset(
    """
    Dimname DimnameList Scalar Scalar_out Tensor Tensor_generator Tensor_generator_out Tensor_out device dim dimname
    dimnames dims dtype dtype_layout generator generator_out generator_with_names generator_with_names_out indices int
    intlist low low_dtype low_dtype_out low_generator low_generator_dtype low_generator_dtype_out low_generator_out
    low_out memory_format msg named_out_dim names names_out other out sections self sizes start start_out start_step
    tensor_indices_or_sections using_ints using_names
    """.split()
)

# What PyTorch registers itself; any other namespace is an operator that somebody registered.
TORCH_NAMESPACES = frozenset("profiler aten prim prims quantized _quantized mkldnn onednn mkl xnnpack inductor".split())


def base_name(operator: str) -> str:
    """`aten::add.Tensor`, `aten.add.Tensor`, `add.Tensor` and `add` as `add`."""
    name = operator.removeprefix("torch.ops.").split("::")[-1]
    parts = name.split(".")
    return parts[1] if parts[0] in TORCH_NAMESPACES and len(parts) > 1 else parts[0]


def is_allowed(operator: str) -> bool:
    """Whether the list has an operator, by any of the names that `base_name` takes."""
    if operator.startswith(("profiler::", "profiler.")):  # marks for a profiler are no work
        return True
    return base_name(operator) in ALLOWED


def is_allowed_in_cpp(struct: str) -> bool:
    """The same for `at::_ops::STRUCT::call`, where the overload is part of the name: `empty_memory_format`."""
    if struct in ALLOWED:
        return True
    cuts = (at for at, letter in enumerate(struct) if letter == "_")
    return any(struct[:at] in ALLOWED and struct[at + 1 :] in _OVERLOADS for at in cuts)
