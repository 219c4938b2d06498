"""What a candidate may ask of the compiler: flags by allow-list, includes that stay inside.

Flags that only tune nvcc or the host compiler mean nothing to the simulator and are dropped; definitions are kept.
Everything else could reach the machine that compiles (plug-ins, response files, other inputs) and is illegal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mooreeval.simulator.rewrite import Tokens

_HARMLESS = re.compile(
    r"-O[0-3sgz]?|-Ofast|-std=(?:c|gnu)\+\+\w+|--std=c\+\+\w+|-g[0-3]?|-G|-lineinfo|--generate-line-info|-w|-v|-pthread"
    r"|-W(?!l,|p,|a,)[\w=+-]*|-m(?:arch|tune|cpu)=[\w.-]+|-m(?:avx|sse|fma|f16c|bmi|popcnt)[\w.]*|-f(?:PIC|pic|openmp)"
    r"|-f(?:no-)?(?:fast-math|strict-aliasing|unroll-loops|inline-functions|finite-math-only|tree-vectorize"
    r"|math-errno|trapping-math|associative-math|reciprocal-math|signed-zeros|exceptions|rtti|lto|permissive"
    r"|omit-frame-pointer|visibility=\w+|fp-contract=\w+|diagnostics-color(?:=\w+)?)"
    r"|-f?permissive|-pedantic|-ansi"
    r"|--?use_fast_math|--?(?:ftz|prec-div|prec-sqrt|fmad)=(?:true|false)|--?extra-device-vectorization"
    r"|--?expt-(?:relaxed-constexpr|extended-lambda)|--?extended-lambda|--?maxrregcount=\d+|--?restrict"
    r"|--?(?:arch|gpu-architecture)=\w+|--?(?:gencode|generate-code)=[\w=,\[\]\"']+|--?gpu-code=[\w,]+"
    r"|--?threads=\d+|-t=?\d+|--?(?:keep|resource-usage|verbose|source-in-ptx|dc|rdc=\w+|relocatable-device-code=\w+"
    r"|default-stream=[\w-]+|split-compile=\d+|allow-unsupported-compiler|disable-warnings|display-error-number)"
    r"|--?dopt(?:=on)?|--?diag-(?:suppress|error|warn)=[\w,]+|-Xptxas=[\w=,-]+|--ptxas-options=[\w=,-]+"
    r"|-Xfatbin=[\w-]+|-Xcudafe=[\w=-]+|-Xnvlink=\w+"
    r"|-Xcompiler=(?:-O\d|-fPIC|-w|-W[\w-]+|-march=\w+|-fopenmp|-ffast-math|,)+|--compiler-options=(?:-O\d|-fPIC|,)+"
)
# Options whose value is the next word.
_WITH_VALUE = {
    "-Xptxas": r"[\w=,.-]+", "--ptxas-options": r"[\w=,.-]+", "-Xcudafe": r"[\w=\"'.-]+", "-Xfatbin": r"[\w-]+",
    "-Xcompiler": r"[\"']?(?:-O\d|-fPIC|-w|-Wall|-Wno-[\w-]+|-march=\w+|-fopenmp|-ffast-math|-fno-[\w-]+|,)+[\"']?",
    "--compiler-options": r"[\"']?(?:-O\d|-fPIC|-w|-Wall|,)+[\"']?", "-gencode": r"[\w=,\[\]\"']+",
    "--generate-code": r"[\w=,\[\]\"']+", "-arch": r"\w+", "--gpu-architecture": r"\w+", "-code": r"[\w,]+",
    "--gpu-code": r"[\w,]+", "-maxrregcount": r"\d+", "--maxrregcount": r"\d+", "--threads": r"\d+", "-t": r"\d+",
    "-diag-suppress": r"[\w,]+", "--diag-suppress": r"[\w,]+", "--default-stream": r"[\w-]+", "--std": r"c\+\+\w+",
    "-std": r"c\+\+\w+", "-Xnvlink": r"[\w-]+", "--optimize": r"\d",
}  # fmt: skip
_DEFINITION = re.compile(r"([A-Za-z_]\w*)(\([\w, .]*\))?(?:=(.*))?", re.DOTALL)
# Names that steer the simulator, the sanitizer or PyTorch's headers, all of which are compiled already.
_RESERVED = re.compile(
    r"(?i:moore_sim)\w*|__tsan\w*|__SANITIZE\w*|__GNU\w*|__CUDA_ARCH__|__CUDACC\w*|__NVCC__|TORCH_EXTENSION_NAME"
)
_MEANINGLESS = re.compile(r"TORCH_USE_CUDA_DSA|_GLIBCXX_USE_CXX11_ABI|_GNU_SOURCE|__STDC_\w+")
_LIBRARY = re.compile(
    r"-l(?:cu\w+|nv\w+|c10\w*|torch\w*|m|pthread|dl|rt|stdc\+\+|gomp)|-pthread|-fopenmp|-O\d|-s|-shared|-fPIC|-w"
    r"|-Wl,-O\d|-Wl,--as-needed|-Wl,--no-as-needed"
)
_LIBRARY_FOLDER = re.compile(
    r"-L(?:/usr/(?:local/)?(?:cuda[\w.-]*/)?(?:lib|lib64|targets/[\w-]+/lib)(?:/stubs)?|/opt/cuda/lib64)/?"
)


@dataclass
class Flags:
    """A candidate's flags, sorted."""

    defines: list[str] = field(default_factory=list)  # preprocessor lines
    illegal: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def sort_flags(cflags: Iterable[str], cuda_cflags: Iterable[str], ldflags: Iterable[str]) -> Flags:
    """What is to be defined, what is illegal, and what is ignored with a word about it."""
    flags = Flags()
    for group in (cflags, cuda_cflags):
        words = _words(group)
        for word in words:
            _sort_flag(word, words, flags)
    for word in _words(ldflags):
        if _LIBRARY.fullmatch(word) and not re.fullmatch(r"-l(?:c10\w*|torch\w*|cuda|cudart)", word):
            if word.startswith("-l"):
                flags.warnings.append(_ignored_library(word))
        elif not _LIBRARY.fullmatch(word) and not _LIBRARY_FOLDER.fullmatch(word):
            flags.illegal.append(word)
    return flags


def _words(group: Iterable[str]) -> Iterator[str]:
    """Flags are written into a shell line, so one string may hold several; quotes only group."""
    for text in group:
        for word in re.findall(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+|[\"']", text):
            yield word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def _sort_flag(word: str, rest: Iterator[str], flags: Flags) -> None:
    if word in ("-D", "-U", "--define-macro", "--undefine-macro"):
        word = ("-U" if "-u" in word.lower() else "-D") + next(rest, "")
    if word.startswith(("-D", "-U")):
        _define(word, flags)
    elif word.startswith("-I") or word in ("-isystem", "--include-path"):
        folder = word[2:] if word.startswith("-I") and len(word) > 2 else next(rest, "")
        flags.warnings.append(f"include folder {folder[:200]} is ignored")
    elif word in _WITH_VALUE:
        value = next(rest, "")
        if not re.fullmatch(_WITH_VALUE[word], value):
            flags.illegal.append(f"{word} {value}".strip())
    elif word.startswith("-l") and _LIBRARY.fullmatch(word):
        flags.warnings.append(_ignored_library(word))
    elif not (_HARMLESS.fullmatch(word) or _LIBRARY_FOLDER.fullmatch(word)):
        flags.illegal.append(word)


def _ignored_library(word: str) -> str:
    return f"{word} is ignored: the simulator links no such library"


def _define(word: str, flags: Flags) -> None:
    found = _DEFINITION.fullmatch(word[2:])
    if not found or _RESERVED.fullmatch(found[1]) or "\n" in word:
        flags.illegal.append(word)
    elif _MEANINGLESS.fullmatch(found[1]):
        return
    elif word.startswith("-U"):
        flags.defines.append(f"#undef {found[1]}")
    else:
        value = "1" if found[3] is None else re.sub(r"\\?([\"'])", r"\1", found[3])
        flags.defines.append(f"#define {found[1]}{found[2] or ''} {value}")


def foreign_includes(tokens: Tokens) -> list[tuple[str, int]]:
    """(path, line) of each include that names a place outside: an absolute path, `..`, or a computed name."""
    found = []
    for first in tokens.directive_first[1:]:
        if tokens[first + 1] not in ("include", "include_next", "import", "embed"):
            continue
        last = first + 1
        while last + 1 < len(tokens) and tokens.same_line_of_code(last + 1, first):
            last += 1
        path = tokens.text[tokens.ends[first + 1] : tokens.ends[last]].strip()
        plain = re.match(r"<([^>]*)>|\"([^\"]*)\"", path)
        name = (plain[1] or plain[2] or "") if plain else path
        if not plain or name.startswith(("/", "~")) or ".." in name.split("/") or "\\" in name:
            found.append((name, tokens.line(first)))
    return found
