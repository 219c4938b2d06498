"""Slim headers: PyTorch's own C++ interface without the operators that a source does not name.

Reading torch/extension.h three times is nearly all of a small extension's build. `Index` takes the generated headers
of the installed PyTorch apart, operator by operator; `render` puts together again what a source needs: the class
Tensor with the methods that are named, and the functions of at:: that are named, each with all of its overloads. They
are the real declarations, so that what compiles means the same and links to the same libraries. The result is a
folder that shadows PyTorch's umbrella headers; all other headers are PyTorch's own. Nothing of it is ever checked in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mooreeval.errors import NotJudged

_WORD = re.compile(r"[A-Za-z_]\w*")
_METHOD = re.compile(
    r"  (?!return\b|static\b|explicit\b|friend\b|using\b)(?:C10_DEPRECATED\w*(?:\(.*?\))? )?"
    r"[\w:<>, &]+? ?(\w+)\(.*\) const;"
)
_DEFINITION = re.compile(r"^// aten::[^\n]*\n(inline [^\n]*? Tensor::(\w+)\([^\n]*\{\n[^\n]*\n\}\n)", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?:// aten::[^\n]*\n)?((?:C10_DEPRECATED\w* )?inline [^\n]*?\b(\w+)\([^\n]*\) \{\n.*?^\}\n)",
    re.MULTILINE | re.DOTALL,
)
_STRUCT = re.compile(r"^struct TORCH_API (\w+) \{\n.*?^\};\n", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"  static [^\n]* call\([^\n]*\);")
_USED = re.compile(r"at::_ops::(\w+)::")
_GENERATED = "// aten::"

# Named in what candidates write most, and so always there: one precompiled header then serves nearly all of them.
COMMON = frozenset(
    """
    abs add add_ addmm all amax amin any arange argmax argmin bmm ceil chunk clamp clamp_min clone contiguous copy_
    cos cumsum detach div div_ dot elu empty empty_like empty_strided eq equal erf exp expand expand_as eye
    fill_
    flatten floor full full_like gather ge gelu gt index index_select is_nonzero item layer_norm le leaky_relu linear
    log log_softmax lt masked_fill matmul max mean min mm mul mul_ narrow ne neg norm ones ones_like permute pow prod
    reciprocal relu relu_ repeat reshape resize_ round rsqrt scalar_tensor select sigmoid sign silu sin slice
    softmax sort split sqrt square squeeze std sub sub_ sum t tanh to topk transpose tril triu unbind unsqueeze
    unsqueeze_ var view view_as where zero_ zeros zeros_like numel size stride is_floating_point
    """.split()
)
# What the core's own headers and inline members name.
_OWN_NEEDS = ("ATen/TensorOperators.h", "ATen/core/Tensor.h", "ATen/core/TensorBase.h")
# What lists of tensors bring with them.
_LIST_NEEDS = ("ATen/core/ivalue.h", "ATen/core/ivalue_inl.h", "ATen/core/IListRef_inl.h", "ATen/core/List_inl.h")
_LISTS = r"\bITensorListRef\b"
_ADDED = {  # a header that a declaration needs, by a word of it
    _LISTS: "ATen/core/IListRef.h",
    r"\bGenerator\b": "ATen/core/Generator.h",
    r"\bReduction::": "ATen/core/Reduction.h",
    r"\bStorage\b": "c10/core/Storage.h",
}
_STANDARD = """algorithm array cmath cstdint cstdio cstdlib cstring functional iostream limits map memory mutex numeric
    optional set sstream stdexcept string tuple type_traits unordered_map unordered_set utility vector""".split()
UMBRELLAS = (
    "torch/extension.h", "torch/types.h", "torch/all.h", "torch/torch.h", "ATen/ATen.h",
    "ATen/Tensor.h", "ATen/Functions.h", "ATen/NativeFunctions.h",
)  # fmt: skip


@dataclass
class Index:
    """The generated headers, by the name of the operator."""

    head: list[str] = field(default_factory=list)  # lines of TensorBody.h before the methods' definitions
    tail: str = ""  # what TensorBody.h holds behind them
    methods: dict[str, list[str]] = field(default_factory=dict)  # name -> definitions
    functions: dict[str, list[str]] = field(default_factory=dict)  # name -> definitions in at::
    operators: dict[str, str] = field(default_factory=dict)  # name in at::_ops -> declaration
    dtypes: list[str] = field(default_factory=list)  # torch::kFloat32 and its like
    needed: list[str] = field(default_factory=list)  # names that the core needs for itself
    needed_by_lists: list[str] = field(default_factory=list)  # ... and where lists of tensors are passed

    @property
    def names(self) -> set[str]:
        """Every method of Tensor and every function of at:: that PyTorch generates."""
        return self.methods.keys() | self.functions.keys()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Index:
        return cls(**json.loads(text))


def words_of(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def make_index(include: Path) -> Index:
    """Take PyTorch's headers apart. Raises NotJudged where they do not look as expected."""
    index = Index()
    try:
        body = (include / "ATen/core/TensorBody.h").read_text(encoding="utf-8")
        head, mark, definitions = body.partition(f"\n{_GENERATED}")
        index.head = head.split("\n")
        for found in _DEFINITION.finditer(mark + definitions):
            index.methods.setdefault(found[2], []).append(found[1])
        index.tail = _DEFINITION.sub("", mark + definitions)
        for path in sorted((include / "ATen/ops").glob("*_ops.h")):
            for found in _STRUCT.finditer(path.read_text(encoding="utf-8")):
                if call := _CALL.search(found[0]):
                    index.operators[found[1]] = f"struct TORCH_API {found[1]} {{\n{call[0]}\n}};\n"
        _take_all_functions(include, index)
        types = (include / "torch/csrc/api/include/torch/types.h").read_text(encoding="utf-8")
        index.dtypes = re.findall(r"^constexpr auto k\w+ = [^\n]*;", types, re.MULTILINE)
        own = [line for line in index.head if not _is_declaration(line)]
        index.needed = _named_in(["\n".join([*own, index.tail]), *_texts(include, _OWN_NEEDS)], index)
        index.needed_by_lists = _named_in(_texts(include, _LIST_NEEDS), index)
    except OSError as error:
        raise NotJudged(f"PyTorch's headers cannot be read: {error}") from error
    if len(index.methods) < 300 or len(index.functions) < 1000 or len(index.operators) < 2000:
        raise NotJudged("PyTorch's headers do not look as expected: use the tier full alone")
    return index


def function_names(include: Path) -> set[str]:
    """Every function of at:: by name. Raises NotJudged where PyTorch's headers do not look as expected."""
    index = Index()
    try:
        _take_all_functions(include, index)
    except OSError as error:
        raise NotJudged(f"PyTorch's headers cannot be read: {error}") from error
    if len(index.functions) < 1000:
        raise NotJudged("PyTorch's headers do not look as expected: use the tier full alone")
    return set(index.functions)


def _take_all_functions(include: Path, index: Index) -> None:
    for path in sorted((include / "ATen/ops").glob("*.h")):
        if not path.stem.endswith(("_ops", "_native", "_dispatch", "_meta")):
            _take_functions(path.read_text(encoding="utf-8"), index)
    _take_functions((include / "ATen/Functions.h").read_text(encoding="utf-8"), index)


def _take_functions(text: str, index: Index) -> None:
    # What is in namespace symint repeats the functions for symbolic sizes; candidates have none.
    text = re.sub(r"^namespace symint \{\n.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    for found in _FUNCTION.finditer(text):
        index.functions.setdefault(found[2], []).append(found[1])


def _texts(include: Path, paths: Iterable[str]) -> list[str]:
    return [(include / path).read_text(encoding="utf-8") for path in paths if (include / path).is_file()]


def _named_in(texts: Iterable[str], index: Index) -> list[str]:
    return sorted(words_of(re.sub(r"//.*", "", text) for text in texts) & index.names)


def _is_declaration(line: str) -> str | None:
    found = _METHOD.fullmatch(line)
    return found[1] if found else None


def render(index: Index, words: set[str]) -> dict[str, str]:
    """Path -> text of the headers for a source that uses `words`."""
    functions = _with_what_they_use(index, (words | COMMON | set(index.needed)) & index.functions.keys())
    bodies = [text for name in sorted(functions) for text in index.functions[name]]
    called = {word for text in bodies for word in re.findall(r"\.(\w+)\(", text)}
    lists = set(index.needed_by_lists) if any(re.search(_LISTS, text) for text in bodies) else set()
    methods = (words | COMMON | lists | set(index.needed) | called) & index.methods.keys()
    definitions = [text for name in sorted(methods) for text in index.methods[name]]
    dropped = index.methods.keys() - methods
    head = "\n".join(line for line in index.head if _is_declaration(line) not in dropped)
    head = head.replace("#include <ATen/MethodOperators.h>", "#include <torch_slim/operators.h>")
    used = dict.fromkeys(_USED.findall("\n".join([head, *definitions, *bodies])))
    return {
        "ATen/core/TensorBody.h": f"{head}\n{''.join(definitions)}{index.tail}",
        "torch_slim/operators.h": _operators([index.operators[name] for name in used if name in index.operators]),
        "torch_slim/core.h": _core(bodies, index.dtypes),
        "torch_slim/guard.h": _GUARD,
        "ATen/MethodOperators.h": "#pragma once\n",
        "ATen/DeviceGuard.h": "#pragma once\n#include <torch_slim/guard.h>\n",
        "ATen/cuda/CUDAContext.h": _CUDA_CONTEXT,
        "ATen/cuda/CUDAContextLight.h": _CUDA_CONTEXT,
        "ATen/cuda/Exceptions.h": _CUDA_EXCEPTIONS,
        **dict.fromkeys(UMBRELLAS, "#pragma once\n#include <torch_slim/core.h>\n"),
    }


def _with_what_they_use(index: Index, names: set[str]) -> set[str]:
    """The functions, and those of at:: that their own bodies call."""
    todo, found = list(names), set(names)
    while todo:
        for text in index.functions[todo.pop()]:
            for name in re.findall(r"(?<!_ops)::(\w+)\(", text):
                if name in index.functions and name not in found:
                    found.add(name)
                    todo.append(name)
    return found


def _operators(declarations: list[str]) -> str:
    head = (
        "#pragma once\n#include <string_view>\n#include <tuple>\n#include <vector>\n#include <ATen/core/ATen_fwd.h>\n"
    )
    return f"{head}namespace at::_ops {{\n{''.join(declarations)}}}\n"


def _core(functions: list[str], dtypes: list[str]) -> str:
    text = "".join(functions)
    added = [header for words, header in _ADDED.items() if re.search(words, text)]
    includes = [*_STANDARD, "ATen/core/Tensor.h", "ATen/Dispatch.h", "c10/core/TensorOptions.h", *added]
    return "\n".join(
        [
            "#pragma once",
            *(f"#include <{header}>" for header in includes),
            "namespace at {", text, "}",
            "#include <torch_slim/guard.h>",
            "#include <ATen/TensorOperators.h>",
            "namespace torch {",
            "using namespace at;", "using std::nullopt;", "using std::optional;", "using Dtype = at::ScalarType;",
            *dtypes, "}", "",
        ]
    )  # fmt: skip


# ATen/DeviceGuard.h without lists of tensors, which bring in half of the interpreter's types.
_GUARD = """#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
namespace at {
inline std::optional<Device> device_of(const Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  return tensor.device();
}
inline std::optional<Device> device_of(const std::optional<Tensor>& tensor) {
  return tensor ? device_of(*tensor) : std::nullopt;
}
}
"""
# Without cuBLAS, cuSPARSE and cuSOLVER: a source that names their handles is not given to this tier.
_CUDA_CONTEXT = """#pragma once
#include <cuda_runtime_api.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <ATen/cuda/Exceptions.h>
namespace at::cuda {
inline bool is_available() { return c10::cuda::device_count() > 0; }
inline int64_t getNumGPUs() { return c10::cuda::device_count(); }
TORCH_CUDA_CPP_API cudaDeviceProp* getCurrentDeviceProperties();
TORCH_CUDA_CPP_API int warp_size();
TORCH_CUDA_CPP_API cudaDeviceProp* getDeviceProperties(c10::DeviceIndex device);
TORCH_CUDA_CPP_API bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer_device);
}
"""
_CUDA_EXCEPTIONS = """#pragma once
#include <c10/cuda/CUDAException.h>
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
"""
