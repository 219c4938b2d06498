"""Is an unknown name CUDA's or PyTorch's? Then the gap may be ours, and the candidate is not accused.

The answer rests on how these libraries name things and, in `cuda_names`, on lists of what they have; not on what is
installed, so that every machine says the same.
"""

from __future__ import annotations

import re

from mooreeval.toolchains.cuda_names import exists

_VECTORS = r"(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]"
_CUDA = re.compile(
    r"cuda[A-Z_]\w*|cu[A-Z]\w*|CU[A-Za-z_]\w*|CUDA\w*|CUDART\w*|cu(?:blas|dnn|rand|sparse|solver|fft)\w*|nv\w+|NV\w+"
    r"|nccl\w*|__(?!FILE__|LINE__|func__|FUNCTION__|int128|restrict\b)[a-z]\w*"
    r"|atomic[A-Z]\w*|(?:tex|surf)[123]D\w*|make_" + _VECTORS + "|" + _VECTORS + r"(?:_\d\w+)?"
    r"|half2?|bfloat16|__half\w*|nv_bfloat16\w*|h2?(?:add|sub|mul|div|fma|sqrt|rsqrt|exp2?|exp10|log2?|log10|sin|cos|tan"
    r"|tanh|rcp|ceil|floor|rint|trunc|abs|neg|max|min)\w{0,8}"
    r"|threadIdx|blockIdx|blockDim|gridDim|warpSize|dim3|clock(?:64)?|cooperative_groups"
)
# What the headers for CUDA of PyTorch itself define outside a namespace of their own.
_TORCH_CUDA = re.compile(
    r"[gp]puAtomic\w+|fastAtomicAdd\w*|fastSpecializedAtomicAdd|WARP_\w+|opmath_type|acc_type|(?:C10|AT|TORCH)_CUDA_\w+"
    r"|CUDA_KERNEL_\w+"
)
_TORCH_CUDA_HEADER = re.compile(r"(?:ATen|c10|torch|THC)\b.*(?:cuda|CUDA|THC).*")
# Plain structs and enumerations, modelled whole: a message that speaks of no other name of CUDA's is true of nvcc too.
_PLAIN = re.compile(
    _VECTORS + r"|dim3|cuda(?:Stream|Event|Error)_t|threadIdx|blockIdx|blockDim|gridDim|warpSize|cudaSuccess"
)
_ARITHMETIC = re.compile(
    r"(?:const|volatile|signed|unsigned|char|short|int|long|float|double|bool|__half2?|__nv_bfloat16|size_t|u?int\d+_t|[*&\s])+"
)
# Functions whose overloads for arithmetic types are those of CUDA, each and no other (compared with nvcc 13.0, sm_80).
_WHOLE = re.compile(
    r"__shfl(?:_up|_down|_xor)?_sync|__(?:ballot|any|all)_sync|__syncthreads(?:_count|_and|_or)?|__syncwarp|__activemask"
    r"|atomic(?:Add|Sub|Min|Max|Exch|CAS|And|Or|Xor|Inc|Dec)(?:_block|_system)?|__reduce_\w+_sync"
    r"|__float_as_u?int|__u?int_as_float|__threadfence(?:_block|_system)?|make_" + _VECTORS
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
# Libraries that are out of scope: their names are not listed one by one.
_LIBRARY = re.compile(
    r"(?i:cu(?:blas|dnn|rand|sparse|solver|fft|file|tensor)|nccl|nvtx|nvml|nvrtc|nvJitLink|nvvm|nvshmem)\w*|nv\w+|NV\w+"
    r"|__nvvm_\w+|__builtin_\w+|wmma|cub|thrust|cutlass|cute"
)
_LIBRARY_HEADERS = re.compile(
    r"(?:cu(?:blas|dnn|rand|sparse|solver|fft|file|tensor)|nv\w*|nccl|helper_)[\w.]*"
    r"|(?:cub|thrust|cutlass|cute|nvtx3|nv|cuda|cccl|ATen/ops|pybind11/(?:detail|eigen))/[\w./-]+"
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


def is_torch_cuda_name(name: str) -> bool:
    """A name that only the headers for CUDA of PyTorch define, e.g. C10_CUDA_CHECK."""
    return bool(_TORCH_CUDA.fullmatch(name))


def is_torch_cuda_header(path: str) -> bool:
    return bool(_TORCH_CUDA_HEADER.fullmatch(path))


def is_plain(name: str) -> bool:
    """A struct or enumeration of CUDA's that the simulator models whole."""
    return bool(_PLAIN.fullmatch(name))


def is_modelled_whole(function: str) -> bool:
    """Does the simulator have this function with all of CUDA's overloads, and no others?"""
    return bool(_WHOLE.fullmatch(function))


def is_arithmetic(type_name: str) -> bool:
    """A number, or a pointer or reference to one, as g++ writes its type."""
    return bool(_ARITHMETIC.fullmatch(type_name))


def is_library_name(name: str) -> bool:
    """A name of a library that is out of scope, as far as its shape tells."""
    return bool(_LIBRARY.fullmatch(name))


def is_library_header(path: str) -> bool:
    """A header of a library that is out of scope, by its path in an #include."""
    return bool(_LIBRARY_HEADERS.fullmatch(path))


def mentions_cuda(message: str) -> str | None:
    """The first name of CUDA's, or of the simulator's own, between the quotes of a compiler message."""
    for quoted in re.findall(r"'([^']*)'", message):
        for name in _WORD.findall(quoted):
            if name.startswith("moore_sim") or is_library_name(name):
                return name
            if is_cuda_name(name) and not is_plain(name) and not _OF_THE_HOST.match(name) and exists(name):
                return name
    return None
