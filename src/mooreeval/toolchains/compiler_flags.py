"""A candidate's compiler flags, one by one: what each of them is. By allow-list; whatever is not on it is illegal.

What is not known could reach the machine that compiles: plug-ins, response files, other inputs and outputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["define", "undefine", "include", "library", "library_folder", "architecture", "harmless", "illegal"]

_HARMLESS = re.compile(
    r"-O[0-3sgz]?|-Ofast|-std=(?:c|gnu)\+\+\w+|--std=c\+\+\w+|-g[0-3]?|-G|-lineinfo|--generate-line-info|-w|-v|-pthread"
    r"|-W(?!l,|p,|a,)[\w=+-]*|-m(?:arch|tune|cpu)=[\w.-]+|-m(?:avx|sse|fma|f16c|bmi|popcnt)[\w.]*|-f(?:PIC|pic|openmp)"
    r"|-f(?:no-)?(?:fast-math|strict-aliasing|unroll-loops|inline-functions|finite-math-only|tree-vectorize"
    r"|math-errno|trapping-math|associative-math|reciprocal-math|signed-zeros|exceptions|rtti|lto|permissive"
    r"|omit-frame-pointer|visibility=\w+|fp-contract=\w+|diagnostics-color(?:=\w+)?)"
    r"|-f?permissive|-pedantic|-ansi"
    r"|--?use_fast_math|--?(?:ftz|prec-div|prec-sqrt|fmad)=(?:true|false)|--?extra-device-vectorization"
    r"|--?expt-(?:relaxed-constexpr|extended-lambda)|--?extended-lambda|--?maxrregcount=\d+|--?restrict"
    r"|--?threads=\d+|-t=?\d+|--?(?:keep|resource-usage|verbose|source-in-ptx|dc|rdc=\w+|relocatable-device-code=\w+"
    r"|default-stream=[\w-]+|split-compile=\d+|allow-unsupported-compiler|disable-warnings|display-error-number)"
    r"|--?dopt(?:=on)?|--?diag-(?:suppress|error|warn)=[\w,]+|-Xptxas=[\w=,-]+|--ptxas-options=[\w=,-]+"
    r"|-Xfatbin=[\w-]+|-Xcudafe=[\w=-]+|-Xnvlink=\w+"
    r"|-Xcompiler=(?:-O\d|-fPIC|-w|-W[\w-]+|-march=\w+|-fopenmp|-ffast-math|,)+|--compiler-options=(?:-O\d|-fPIC|,)+"
)
_ARCHITECTURE = re.compile(
    r"--?(?:arch|gpu-architecture)=\w+|--?(?:gencode|generate-code)=[\w=,\[\]\"']+|--?gpu-code=[\w,]+"
)
# Options whose value is the next word.
_WITH_VALUE = {
    "-Xptxas": r"[\w=,.-]+", "--ptxas-options": r"[\w=,.-]+", "-Xcudafe": r"[\w=\"'.-]+", "-Xfatbin": r"[\w-]+",
    "-Xcompiler": r"[\"']?(?:-O\d|-fPIC|-w|-Wall|-Wno-[\w-]+|-march=\w+|-fopenmp|-ffast-math|-fno-[\w-]+|,)+[\"']?",
    "--compiler-options": r"[\"']?(?:-O\d|-fPIC|-w|-Wall|,)+[\"']?", "-maxrregcount": r"\d+",
    "--maxrregcount": r"\d+", "--threads": r"\d+", "-t": r"\d+",
    "-diag-suppress": r"[\w,]+", "--diag-suppress": r"[\w,]+", "--default-stream": r"[\w-]+", "--std": r"c\+\+\w+",
    "-std": r"c\+\+\w+", "-Xnvlink": r"[\w-]+", "--optimize": r"\d",
}  # fmt: skip
_ARCHITECTURE_WITH_VALUE = {
    "-gencode": r"[\w=,\[\]\"']+", "--generate-code": r"[\w=,\[\]\"']+", "-arch": r"\w+",
    "--gpu-architecture": r"\w+", "-code": r"[\w,]+", "--gpu-code": r"[\w,]+",
}  # fmt: skip
_DEFINITION = re.compile(r"([A-Za-z_]\w*)(\([\w, .]*\))?(?:=(.*))?", re.DOTALL)
# Names that steer the simulator, the sanitizer, the compilers or PyTorch's headers.
_RESERVED = re.compile(
    r"(?i:moore_sim)\w*|__tsan\w*|__SANITIZE\w*|__GNU\w*|__CUDA_ARCH__|__CUDACC\w*|__NVCC__|TORCH_EXTENSION_NAME"
)
_LIBRARY = re.compile(r"-l(?:cu\w+|nv\w+|c10\w*|torch\w*|m|pthread|dl|rt|stdc\+\+|gomp)")
_LINKER = re.compile(r"-pthread|-fopenmp|-O\d|-s|-shared|-fPIC|-w|-Wl,-O\d|-Wl,--as-needed|-Wl,--no-as-needed")
_LIBRARY_FOLDER = re.compile(
    r"-L(?:/usr/(?:local/)?(?:cuda[\w.-]*/)?(?:lib|lib64|targets/[\w-]+/lib)(?:/stubs)?|/opt/cuda/lib64)/?"
)


@dataclass(frozen=True)
class Flag:
    """One flag: the words of it, and for a definition the name, the parameters "(a, b)" or "", and the value."""

    kind: Kind
    words: tuple[str, ...]
    name: str = ""
    parameters: str = ""
    value: str = ""

    @property
    def text(self) -> str:
        return " ".join(self.words)


def compiler_flags(group: Iterable[str]) -> Iterator[Flag]:
    """The flags of extra_cflags or extra_cuda_cflags."""
    words = split(group)
    for word in words:
        yield _compiler_flag(word, words)


def linker_flags(group: Iterable[str]) -> Iterator[Flag]:
    """The flags of extra_ldflags."""
    for word in split(group):
        if _LIBRARY.fullmatch(word):
            yield Flag("library", (word,), word[2:])
        elif _LINKER.fullmatch(word):
            yield Flag("harmless", (word,))
        else:
            yield Flag("library_folder" if _LIBRARY_FOLDER.fullmatch(word) else "illegal", (word,))


def split(group: Iterable[str]) -> Iterator[str]:
    """Flags are written into a shell line, so one string may hold several; quotes only group."""
    for text in group:
        for word in re.findall(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+|[\"']", text):
            yield word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def _compiler_flag(word: str, rest: Iterator[str]) -> Flag:
    if word in ("-D", "-U", "--define-macro", "--undefine-macro"):
        word = ("-U" if "-u" in word.lower() else "-D") + next(rest, "")
    if word.startswith(("-D", "-U")):
        return _definition(word)
    if word.startswith("-I") or word in ("-isystem", "--include-path"):
        folder = word[2:] if word.startswith("-I") and len(word) > 2 else next(rest, "")
        return Flag("include", (word,), folder)
    with_value = _WITH_VALUE.get(word) or _ARCHITECTURE_WITH_VALUE.get(word)
    if with_value:
        value = next(rest, "")
        if not re.fullmatch(with_value, value):
            return Flag("illegal", tuple(w for w in (word, value) if w))
        return Flag("harmless" if word in _WITH_VALUE else "architecture", (word, value))
    if _LIBRARY.fullmatch(word):
        return Flag("library", (word,), word[2:])
    if _ARCHITECTURE.fullmatch(word):
        return Flag("architecture", (word,))
    if _LIBRARY_FOLDER.fullmatch(word):
        return Flag("library_folder", (word,))
    return Flag("harmless" if _HARMLESS.fullmatch(word) else "illegal", (word,))


def _definition(word: str) -> Flag:
    found = _DEFINITION.fullmatch(word[2:])
    if not found or _RESERVED.fullmatch(found[1]) or "\n" in word:
        return Flag("illegal", (word,))
    if word.startswith("-U"):
        return Flag("undefine", (word,), found[1])
    value = "1" if found[3] is None else re.sub(r"\\?([\"'])", r"\1", found[3])
    return Flag("define", (word,), found[1], found[2] or "", value)
