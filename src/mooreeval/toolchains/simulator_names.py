"""Is an unknown name CUDA's or PyTorch's? Then the gap may be ours, and the candidate is not accused.

The answer rests on how these libraries name things, not on what is installed, so that every machine says the same.
"""

from __future__ import annotations

import re

_VECTORS = r"(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]"
_CUDA = re.compile(
    r"cuda[A-Z_]\w*|cu[A-Z]\w*|CU[A-Z_]\w*|CUDA\w*|CUDART\w*|cu(?:blas|dnn|rand|sparse|solver|fft)\w*|nv\w+|NV\w+"
    r"|nccl\w*|__(?!FILE__|LINE__|func__|FUNCTION__|int128|restrict\b)[a-z]\w*"
    r"|atomic[A-Z]\w*|(?:tex|surf)[123]D\w*|make_" + _VECTORS + "|" + _VECTORS + r"(?:_\d\w+)?"
    r"|half2?|bfloat16|__half\w*|nv_bfloat16\w*|h2?(?:add|sub|mul|div|fma|sqrt|rsqrt|exp2?|exp10|log2?|log10|sin|cos|tan"
    r"|tanh|rcp|ceil|floor|rint|trunc|abs|neg|max|min)\w{0,8}"
    r"|threadIdx|blockIdx|blockDim|gridDim|warpSize|dim3|clock(?:64)?|cooperative_groups|cg|wmma|cub|thrust|cutlass|cute"
    r"|[gp]puAtomic\w+|fastAtomicAdd\w*|fastSpecializedAtomicAdd|WARP_\w+|opmath_type|acc_type"
)
# CUDA's math functions beyond those of the C library; their f and other suffixes included.
_MATH = re.compile(
    r"(?:r?sqrt|rcbrt|cbrt|r?hypot|r?norm[34]?d?|normcdf(?:inv)?|erfc?(?:inv|x)?|sin(?:pi|cos|cospi|h)?|cos(?:pi|h)?"
    r"|tan(?:pi|h)?|a(?:sin|cos|tan2?)h?|exp(?:10|2|m1)?|log(?:10|2|1p|b)?|pow[in]?|[jy][01n]|cyl_bessel_i[01]"
    r"|[lt]gamma|fma|f?(?:min|max|mod|dim|abs)|fdivide|copysign|ceil|floor|rint|round|trunc|nearbyint|l?lr(?:int|ound)"
    r"|u?l{0,2}(?:min|max)|l{0,2}abs|isnan|isinf|isfinite|signbit|ldexp|frexp|modf|remainder|scalbl?n|nextafter|saturate"
    r"|u?mul(?:24|hi|64hi)|popcl?l?|clzl?l?|ffsl?l?|brevl?l?)f?"
)
_TORCH_MACRO = re.compile(r"(?:TORCH|AT|C10|CAFFE2|GENERIC|PYBIND11|CUDA_KERNEL)_\w+")
_TORCH_NAMESPACE = re.compile(r"(?:::)?(?:at|c10|torch|caffe2|pybind11|py)(?:::\w+)*")
_HEADERS = re.compile(
    r"(?:cuda|cu(?:blas|dnn|rand|sparse|solver|fft)|nv|cub/|thrust/|cutlass|cute/|mma\.h|cooperative_groups|device_|sm_\d"
    r"|ATen/|c10/|torch/|caffe2/|pybind11/|vector_types|vector_functions|math_constants|math_functions|crt/|driver_types"
    r"|helper_cuda|nccl)[\w./-]*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
# Names between underscores are the C++ library's as well.
_OF_THE_HOST = re.compile(r"__(?!half|nv_|cuda|shfl|ldg|float2|syncwarp|syncthreads)")


def is_cuda_name(name: str) -> bool:
    """Does CUDA (or a library of NVIDIA's) define a name like this, as far as its shape tells?"""
    return bool(_CUDA.fullmatch(name))


def is_cuda_function(name: str) -> bool:
    """Also CUDA's overloads of the mathematical functions, which the host's compiler resolves otherwise."""
    return bool(_CUDA.fullmatch(name) or _MATH.fullmatch(name.removeprefix("std::").removeprefix("::")))


def is_torch_macro(name: str) -> bool:
    return bool(_TORCH_MACRO.fullmatch(name))


def is_torch_namespace(name: str) -> bool:
    return bool(_TORCH_NAMESPACE.fullmatch(name))


def is_library_header(path: str) -> bool:
    """A header of CUDA's or PyTorch's, by its path in an #include."""
    return bool(_HEADERS.fullmatch(path))


def mentions_cuda(message: str) -> str | None:
    """The first name of CUDA's, or of the simulator's own, between the quotes of a compiler message."""
    for quoted in re.findall(r"'([^']*)'", message):
        for name in _WORD.findall(quoted):
            if name.startswith("moore_sim") or (is_cuda_name(name) and not _OF_THE_HOST.match(name)):
                return name
    return None
