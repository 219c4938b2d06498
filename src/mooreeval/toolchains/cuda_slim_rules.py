"""Which sources may be built against slim headers. Conservative: what is not known to mean the same goes to full.

A textual rule over the sources without comments and literals. Slim headers hold the real declarations of everything
that a source names, so that most code cannot tell them from PyTorch's. What could:

- automatic differentiation: torch::empty and its like are at:: functions without `requires_grad`;
- names of torch::, at:: and c10:: beyond tensors (modules, accessors of lists, the interpreter's types, registration);
- `using namespace torch`: another set of names may make another name visible or ambiguous;
- templates over Tensor, and traits of it: what a template asks may depend on members that are not there;
- names made by pasting tokens; macros that steer PyTorch's headers; headers of PyTorch's that are not known here;
- pybind11 beyond naming functions and their arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.cuda_slim import UMBRELLAS, Index
from mooreeval.toolchains.cuda_units import sources_by_name

_IGNORED = re.compile(
    r'R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/',
    re.DOTALL,
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
PYTORCHS = re.compile(r"(?:torch|ATen|c10|caffe2|pybind11|at)/|Python\.h$")
_KNOWN_HEADERS = frozenset(
    """
    ATen/Dispatch.h ATen/DeviceGuard.h ATen/core/Tensor.h ATen/cuda/CUDAContext.h ATen/cuda/CUDAContextLight.h
    ATen/cuda/Exceptions.h ATen/AccumulateType.h ATen/OpMathType.h c10/core/ScalarType.h c10/core/TensorOptions.h
    c10/core/Device.h c10/core/DeviceGuard.h c10/core/Scalar.h c10/macros/Macros.h c10/util/Exception.h c10/util/Half.h
    c10/util/BFloat16.h c10/util/ArrayRef.h c10/util/Optional.h c10/util/complex.h c10/cuda/CUDAGuard.h
    c10/cuda/CUDAStream.h c10/cuda/CUDAException.h c10/cuda/CUDAFunctions.h c10/cuda/CUDAMacros.h
    c10/cuda/CUDAMathCompat.h
    """.split()
)
_NAMES = frozenset(
    """
    Tensor TensorOptions Device DeviceType DeviceIndex ScalarType Dtype Layout MemoryFormat IntArrayRef ArrayRef Scalar
    optional nullopt nullopt_t Half BFloat16 Float8_e4m3fn Float8_e5m2 complex Error dtype device layout memory_format
    TensorAccessor PackedTensorAccessor32 PackedTensorAccessor64 RestrictPtrTraits DefaultPtrTraits OptionalDeviceGuard
    DeviceGuard device_of cuda toString elementSize isFloatingType isIntegralType opmath_type
    acc_type CppTypeToScalarType     SmallVector string str is_same
    """.split()
)
_CUDA_NAMES = frozenset(
    """
    CUDAStream CUDAGuard OptionalCUDAGuard CUDAStreamGuard OptionalCUDAStreamGuard getCurrentCUDAStream
    getDefaultCUDAStream getStreamFromPool setCurrentCUDAStream getCurrentDeviceProperties getDeviceProperties warp_size
    current_device device_count set_device device_synchronize is_available canDeviceAccessPeer getNumGPUs
    """.split()
)
_CONTAINERS = (
    "vector|optional|tuple|pair|array|initializer_list|ArrayRef|List|function|unique_ptr|shared_ptr|map|unordered_map"
)
_WORDS = re.compile(
    r"\b(?:autograd|requires_grad_?|set_requires_grad|grad|grad_fn|backward|register_hook|retain_grad|is_leaf|no_grad"
    r"|NoGradGuard|AutoGradMode|InferenceMode|AutoDispatch\w*|IValue|ivalue|TensorList|ITensorListRef|Generator|TensorIndex"
    r"|indexing|DimVector|SymInt\w*|MaybeOwned|intrusive_ptr|TensorImpl|StorageImpl|DataPtr|Allocator|globalContext"
    r"|TORCH_LIBRARY\w*|TORCH_SELECTIVE\w*|TORCH_MODULE|THP\w+|Py[A-Z_]\w*|_Py\w+|__has_include|decltype_auto"
    r"|AT_CUDA_DRIVER_CHECK|AT_CUDA_NVRTC_CHECK|AT_CUDNN\w*|TORCH_CU\w+_CHECK|getCurrentCUDABlas\w*|getCurrentCUDAS\w+Handle"
    r"|is_convertible\w*|is_constructible\w*|is_invocable\w*|requires|concept)\b"
)
_PYBIND = re.compile(
    r"\bpy(?:bind11)?::(?!(?:arg|none|call_guard|gil_scoped_release|module_?|literals)\b)|\bPYBIND11_(?!MODULE\b)"
    r"|wrap_pybind_function"
)
SCOPED = re.compile(r"(?<![\w:])(?:::[ \t]*)?(torch|at|c10)\s*::\s*(?:(cuda)\s*::\s*)?(\w+)")
_USING = re.compile(
    r"\b(?:using\s+namespace|namespace\s+\w+\s*=)\s*(?:::)?\s*(?:torch|at|c10)\b|\bnamespace\s+(?:torch|at|c10)\b"
)
_TEMPLATE = re.compile(rf"\b(?!(?:{_CONTAINERS})\b)\w+\s*<[^<>;(){{}}]*\bTensor\b")
_STEERING = re.compile(
    r"(?:AT|C10|TORCH|PYBIND11|CAFFE2|FBCODE|USE|MOORE)_\w+|_GLIBCXX\w*|__\w+|private|protected|class|struct|namespace"
    r"|Tensor|torch|at|c10|const|inline|static|template|typename"
)
_TESTED = re.compile(r"^[ \t]*#[ \t]*(?:el)?if\w*\b.*\b(?:TORCH|AT|C10|CAFFE2|PYBIND11)_\w+.*", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.MULTILINE)
_HALF_FLAGS = re.compile(r"__CUDA_NO_\w+__|_USE_MATH_DEFINES|__STDC_\w+")


def plain(text: str) -> str:
    """A source without its comments and the contents of its literals; lines stay where they are."""
    return _IGNORED.sub(lambda found: _emptied(found[0]), text.replace("\\\n", "  "))


def _emptied(text: str) -> str:
    lines = "\n" * text.count("\n")
    return f'""{lines}' if text[0] in "R\"'" else f" {lines}"


def reason_for_full(extension: Extension, defined: Iterable[str], index: Index) -> str | None:
    """What in the sources slim headers could change, in a few words; None where nothing is known that they could.

    `defined`: names that flags define or take back.
    """
    for name in sorted(defined):
        if _STEERING.fullmatch(name) and not _HALF_FLAGS.fullmatch(name):
            return f"the flag defines {name}"
    own = {header.name for header in extension.headers}
    for text in sources_by_name(extension).values():
        if reason := _unknown_header(text, own) or _reason(plain(text), index):
            return reason
    return None


def _unknown_header(text: str, own: set[str]) -> str | None:
    for path in INCLUDE.findall(text):
        if path not in own and PYTORCHS.match(path) and path not in UMBRELLAS and path not in _KNOWN_HEADERS:
            return f"header {path}"
    return None


def _reason(text: str, index: Index) -> str | None:
    for pattern in (_WORDS, _PYBIND, _USING, _TEMPLATE):
        if found := pattern.search(text):
            return " ".join(found[0].split())[:80]
    for name in _DEFINED.findall(text):
        if _STEERING.fullmatch(name) and not _HALF_FLAGS.fullmatch(name):
            return f"#define {name}"
    if found := _TESTED.search(text):
        return " ".join(found[0].split())[:80]
    if "##" in text and re.search(r"\b(?:torch|at|c10)\b", text):
        return "pasted tokens"
    for _scope, cuda, name in SCOPED.findall(text):
        known = name in _CUDA_NAMES if cuda else name in _NAMES or _is_tensor_name(name, index)
        if not known:
            return f"torch's {name}"
    return None


def _is_tensor_name(name: str, index: Index) -> bool:
    """A number format's constant or an operator; those that differ by their scope are left out."""
    if re.fullmatch(r"k[A-Z]\w*", name):
        return True
    return name in index.functions and name not in ("tensor", "from_blob")
