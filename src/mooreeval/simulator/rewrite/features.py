"""What a source uses that this backend does not emulate, and what only somebody who fights it would write.

Both look at tokens in live code: comments, strings, mere includes, and lines that the preprocessor drops for an
sm_80 device are not accused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mooreeval.simulator.rewrite.conditions import dead_tokens
from mooreeval.simulator.rewrite.tokens import Kind, Tokens
from mooreeval.verdict import Place, RuleHit

# A namespace followed by `::`, or named by `using namespace`.
_NAMESPACES = {
    "nvcuda": "wmma", "wmma": "wmma", "cub": "CUB", "thrust": "Thrust", "cutlass": "CUTLASS", "cute": "CuTe",
    "cuda": "", "nvtx3": "", "cg": "", "cooperative_groups": "",
}  # fmt: skip
# Members of namespace `cuda` that are not emulated; the rest (cuda::std and the like) is left to the headers.
_CUDA_MEMBERS = re.compile(r"pipeline\w*|make_pipeline|barrier|memcpy_async|device|ptx|annotated_ptr|access_property")
# Whole identifiers: a call or a type.
_IDENTIFIERS: tuple[tuple[str, str], ...] = (
    ("cuBLAS", r"cublas(?:Lt|Xt)?[A-Z]\w*|CUBLAS_\w+|getCurrentCUDABlas(?:Lt)?Handle"),
    ("cuDNN", r"cudnn[A-Z]\w*|CUDNN_\w+|getCudnnHandle"),
    (
        "cuRAND",
        r"curand(?:_init|_uniform\d?(?:_double)?|_(?:log_)?normal\d?(?:_double)?|_poisson\d?|State\w*|Generator_t"
        r"|[A-Z]\w*Generator\w*|Generate\w*|Philox\w*|4)|CURAND_\w+",
    ),
    ("cuSPARSE", r"cusparse[A-Z]\w*|CUSPARSE_\w+"),
    ("cuSOLVER", r"cusolver[A-Z]\w*"),
    ("cuFFT", r"cufft[A-Z]\w*"),
    ("NCCL", r"nccl[A-Z]\w*"),
    ("NVRTC", r"nvrtc[A-Z]\w*"),
    ("wmma", r"load_matrix_sync|store_matrix_sync|mma_sync|fill_fragment"),
    ("TMA", r"CUtensorMap\w*|__grid_constant_tma__"),
    (
        "textures",
        r"cudaTextureObject_t|cudaSurfaceObject_t|tex[123]D(?:fetch|Lod|Grad|Layered|gather)?|surf[123]D(?:read|write)"
        r"|cuda(?:Create|Destroy)(?:Texture|Surface)Object|cudaBindTexture\w*|cudaMalloc3?DArray|cudaMallocArray"
        r"|cudaArray_t",
    ),
    ("cooperative grid launch", r"this_grid|grid_group|this_multi_grid|multi_grid_group|cudaLaunchCooperative\w+"),
    ("dynamic parallelism", r"cudaLaunchDevice\w*|cudaGetParameterBuffer\w*"),
    ("async copy pipeline", r"memcpy_async|__pipeline_\w+|__cp_async\w*"),
    ("CUDA graphs", r"cudaGraph[A-Z_]\w*|cudaStream(?:Begin|End)Capture\w*|CUDAGraph"),
    (
        "thread-block clusters",
        r"this_cluster|cluster_group|__cluster_dims__|map_shared_rank|cudaLaunchAttributeCluster\w+|cluster_dim_blocks",
    ),
    ("fp8", r"__nv_fp[468]\w*|__nv_cvt_\w*fp[468]\w*"),
    (
        "driver API",
        r"CU(?:device|module|function|context|deviceptr|result|stream|event)"
        r"|cu(?:Init|Launch|Module|Ctx|Mem|Stream|Device|Func|Event|Graph|TensorMap|Link|Library|Kernel|Driver|Array"
        r"|Tex|Surf|Occupancy|Pointer|GetErrorName|GetErrorString|GetProcAddress)(?:[A-Z]\w*)?(?=\()",
    ),
)
_IDENTIFIER = re.compile("|".join(f"(?P<f{k}>{pattern})" for k, (_, pattern) in enumerate(_IDENTIFIERS)))
# Common enough words that only their call or template form counts.
_NEEDS_CALL = re.compile(r"tex[123]D\w*|surf[123]D\w*|memcpy_async|mma_sync|fill_fragment|curand4?|this_\w+")

_OURS = re.compile(r"__tsan_|moore_(?:sim|shared|device|args|binding|functions)|MOORE_SIM", re.ASCII)
_SANITIZER_WORDS = re.compile(
    r"_*no_sanitize\w*|_*disable_sanitizer_instrumentation_*|no_instrument_function|__no_instrument_function__"
)
_COMPILER_TESTS = frozenset(
    "__GNUC__ __GNUG__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__ __VERSION__ __OPTIMIZE__ __NO_INLINE__ __EDG__ "
    "__SANITIZE_THREAD__ __SANITIZE_ADDRESS__ __EDG_VERSION__ __INCLUDE_LEVEL__ __BASE_FILE__".split()
)
_OPTIMISATION = frozenset(("optimize", "__optimize__", "target", "__target__", "target_clones"))


def unsupported_features(tokens: Tokens) -> list[tuple[str, int]]:
    """(feature, 1-based line) of every use in live code of what is not emulated, in order, one per feature."""
    first_lines: dict[str, int] = {}
    dead = dead_tokens(tokens)
    for i in range(len(tokens)):
        if not dead[i] and tokens.kinds[i] == Kind.IDENT:
            feature = _feature(tokens, i)
            if feature and feature not in first_lines and not _is_own_name(tokens, i):
                first_lines[feature] = tokens.line(i)
    return sorted(first_lines.items(), key=lambda found: found[1])


def _feature(tokens: Tokens, i: int) -> str:
    word = tokens[i]
    if tokens.directive_name(i) in ("include", "pragma", "error", "warning", "ifdef", "ifndef", "undef", "if", "elif"):
        return ""
    if word in ("asm", "__asm__", "__asm"):
        return "inline PTX" if _has_assembler(tokens, i) else ""
    if tokens[i - 1] in (".", "->"):
        return ""
    if word in _NAMESPACES:
        return _namespace_feature(tokens, i)
    found = _IDENTIFIER.fullmatch(word) or (tokens[i + 1] == "(" and _IDENTIFIER.match(word + "("))
    if not found or (_NEEDS_CALL.fullmatch(word) and tokens[i + 1] not in ("(", "<")):
        return ""
    return _IDENTIFIERS[int(str(found.lastgroup)[1:])][0]


def _namespace_feature(tokens: Tokens, i: int) -> str:
    used = tokens[i + 1] == "::" or (tokens[i - 1] == "namespace" and tokens[i - 2] == "using")
    if not used or (tokens[i - 1] == "::" and tokens.is_ident(i - 2) and tokens[i - 2] not in ("nvcuda",)):
        return ""
    if tokens[i] == "cuda":
        return "async copy pipeline" if _CUDA_MEMBERS.fullmatch(tokens[i + 2]) else ""
    return _NAMESPACES[tokens[i]]


def _has_assembler(tokens: Tokens, i: int) -> bool:
    """An empty template is only a barrier for the compiler, and as good here."""
    while tokens[i] not in ("(", "{", ";", ""):
        i += 1
    return not (tokens[i] == "(" and tokens[i + 1] == '""')


def _is_own_name(tokens: Tokens, i: int) -> bool:
    """Does the source itself define this name (as a function, variable, type, macro or namespace)?"""
    word = tokens[i]
    return bool(
        re.search(
            rf"\b(?:namespace|struct|class|define|union|enum)\s+{word}\b\s*(?!::|;)"
            rf"|\b(?:void|int|float|double|bool|auto|T|Tensor|half|unsigned|long|size_t)[\s*&]+{word}\s*[({{=;,)]",
            tokens.text,
        )
    )


def tampering(tokens: Tokens, source: str = "") -> list[RuleHit]:
    """Words that reach for the simulator itself: its symbols, its instrumentation, or what compiler it is."""
    lines: dict[int, str] = {}
    for i, words in _tampering_words(tokens):
        lines.setdefault(tokens.line(i), words)
    return [
        RuleHit(
            rule="simulator_tampering",
            message=f"`{words}` is not allowed: it can only serve to tell or to change how kernels are checked",
            place=Place(file=source or "source", line=line),
            evidence=words,
        )
        for line, words in lines.items()
    ]


def _tampering_words(tokens: Tokens) -> Iterator[tuple[int, str]]:
    for i in range(len(tokens)):
        kind, word = tokens.kinds[i], tokens[i]
        if kind == Kind.STRING and (_OURS.search(word) or "no_sanitize" in word or _is_pragma_operator(tokens, i)):
            yield i, word[:80]
        elif kind != Kind.IDENT:
            continue
        elif _OURS.match(word) or _SANITIZER_WORDS.fullmatch(word) or word in _COMPILER_TESTS:
            yield i, word[:80]
        elif word in _OPTIMISATION and _in_attribute(tokens, i):
            yield i, f"__attribute__(({word}))"
        elif word == "pragma" and tokens[i - 1] in ("#", "%:") and _steers_compiler(tokens[i + 1], tokens[i + 2]):
            yield i, f"#pragma {tokens[i + 1]} {tokens[i + 2]}"


def _steers_compiler(who: str, what: str) -> bool:
    return who in ("GCC", "STDC") and what in (
        "optimize", "target", "push_options", "pop_options", "reset_options", "pch_preprocess", "system_header",
    )  # fmt: skip


def _is_pragma_operator(tokens: Tokens, i: int) -> bool:
    """`_Pragma("GCC optimize ...")`."""
    if tokens[i - 1] != "(" or tokens[i - 2] not in ("_Pragma", "__pragma"):
        return False
    words = [*re.findall(r"\w+", tokens[i]), "", ""]
    return _steers_compiler(words[0], words[1])


def _in_attribute(tokens: Tokens, i: int) -> bool:
    scope = tokens.scope[i]
    if tokens[i - 1] == "::" and tokens[i - 2] in ("gnu", "__gnu__"):
        return True
    return scope > 1 and tokens[scope] == "(" and tokens[scope - 1] == "(" and "attribute" in tokens[scope - 2]
