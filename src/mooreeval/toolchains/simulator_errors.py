"""Whose fault is it that g++ refuses? `compile_error` is the candidate's; `unsupported` is, perhaps, ours.

The first error decides, for the later ones often follow from it. Errors that standard C++ alone explains in the
candidate's own line are the candidate's, and so are names, headers and numbers of arguments that CUDA itself does not
have; wherever a name that CUDA does have is involved the simulator's headers may be at fault, and the candidate is not
accused.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from mooreeval.toolchains.base import BuildFailure
from mooreeval.toolchains.cuda_names import exists, header_exists, nearest, nearest_header, numbers_of_arguments
from mooreeval.toolchains.simulator_messages import Message, diagnostics, readable
from mooreeval.toolchains.simulator_names import (
    is_arithmetic,
    is_cuda_function,
    is_cuda_name,
    is_library_header,
    is_library_name,
    is_modelled_whole,
    is_plain,
    is_torch_cuda_header,
    is_torch_cuda_name,
    is_torch_macro,
    is_torch_namespace,
    mentions_cuda,
)

_UNSUPPORTED = re.compile(r"MOORE_SIM_UNSUPPORTED: ([^\"\n]+?)(?:\"|$|\s*\[)")
_OWN_ERROR = re.compile(r"MOORE_SIM_ERROR: ([^\"\n]+)")
_UNKNOWN = (
    re.compile(r"'(?P<name>[^']+)' was not declared in this scope.*"),
    re.compile(r"'(?P<name>[^']+)' has not been declared.*"),
    re.compile(r"'(?P<name>[^']+)' does not name a type.*"),
    re.compile(r"'(?P<name>[^']+)' is not a member of '(?P<scope>[^']+)'.*"),
    re.compile(r"'(?P<name>[^']+)' in namespace '(?P<scope>[^']+)' does not name .*"),
    re.compile(r"'(?P<scope>[^']+)' has no member named '(?P<name>[^']+)'.*"),
    re.compile(r"there are no arguments to '(?P<name>[^']+)' that depend on a template parameter.*"),
    re.compile(r"'(?P<name>[^']+)' (?:is not a class, namespace, or enumeration|is not a template).*"),
)
_CALL = re.compile(r"(?:no matching function for call to|call of overloaded|no match for call to) '(?P<call>.+)'.*")
_COUNT = re.compile(r"too (?:few|many) arguments to function '(?P<signature>[^']+)'.*")
_MISSING_FILE = re.compile(r"(?P<path>\S+): No such file or directory")
_NULL = re.compile(r"invalid conversion from '(?:int|long int)' to '[^']*\*'.*")
_HALF_OPERATOR = re.compile(r"no match for 'operator[^']*'.*'(?:__half2?|__nv_bfloat16|half2?)\b")
_HALF_ADVICE = (
    "; PyTorch compiles extensions without operators on __half: use intrinsics such as __hadd,"
    " or -U__CUDA_NO_HALF_OPERATORS__ in extra_cuda_cflags"
)
# Said before the error that is meant: a parameter's type is unknown.
_ECHO = re.compile(r"variable or field '.*' declared void.*")
# One merged unit may fail so where separate files would not.
_OF_A_MERGE = re.compile(
    r"redefinition of|redeclar|default argument given|conflicting declaration|ambiguating new declaration|is ambiguous"
    r"|later 'static'|later 'extern'|multiple definition|previously (?:declared|defined)|different exception spec"
    r"|overloads|conflicts with|redefined|already declared|was declared"
)


@dataclass(frozen=True)
class Blame:
    """Who is at fault, and in which words."""

    kind: Literal["compile_error", "unsupported"]
    reason: str
    feature: str | None = None
    torch_name: str = ""  # a name that more of PyTorch's headers might know


def is_of_a_merge(messages: list[Message]) -> bool:
    """Could compiling the sources apart, as PyTorch does, mend one of these errors?"""
    return any(m.severity == "error" and _OF_A_MERGE.search(m.text) for m in messages)


def blame(messages: list[Message], includes: Set[str] = frozenset()) -> Blame:
    """The verdict on a failed compilation of sources that include the headers `includes`."""
    errors = [m for m in messages if m.severity == "error" and not _ECHO.fullmatch(m.text)]
    for message in errors:
        if found := _OWN_ERROR.search(message.text):
            return Blame("compile_error", found[1])
    if not errors:
        return Blame("unsupported", "g++ failed without an error message", "internal error of g++")
    return _blame_one(errors[0], includes)


def failure(messages: list[Message], log: str, includes: Set[str] = frozenset()) -> BuildFailure:
    found = blame(messages, includes)
    return BuildFailure(
        kind=found.kind,
        reason=found.reason,
        feature=found.feature,
        diagnostics=diagnostics(messages),
        log_tail=log[-4000:],
    )


def _blame_one(message: Message, includes: Set[str]) -> Blame:
    text = message.text
    where = f"{message.place}: " if message.place else ""
    if found := _UNSUPPORTED.search(text):
        return Blame("unsupported", f"{where}{found[1]} is not emulated", found[1].strip())
    if found := _MISSING_FILE.search(text):
        return _blame_missing_header(found["path"], where)
    if re.search(r"internal compiler error|out of memory|virtual memory exhausted|Killed signal|cannot allocate", text):
        return Blame("unsupported", f"g++ gave up: {text}", "internal error of g++")
    for pattern in _UNKNOWN:
        if found := pattern.fullmatch(text):
            groups = found.groupdict()
            return _blame_unknown(message, groups["name"], groups.get("scope") or "", where, includes)
    if found := _CALL.fullmatch(text):
        return _blame_call(message, found["call"], where)
    if (found := _COUNT.fullmatch(text)) and _has_the_length_of_cudas(found["signature"]):
        return Blame("compile_error", f"{where}{readable(text)}")
    return _blame_other(message, where)


def _blame_missing_header(path: str, where: str) -> Blame:
    if is_library_header(path) or header_exists(path):
        return Blame("unsupported", f"{where}header {path} is not emulated", path)
    return Blame("compile_error", f"{where}{path}: no such file{_meant(nearest_header(path))}")


def _blame_unknown(message: Message, name: str, scope: str, where: str, includes: Set[str]) -> Blame:
    bare = name.removeprefix("::").split("::")[-1].split("<")[0].split("(")[0]
    reason = f"{where}{readable(message.text)}"
    scope_words = re.findall(r"\w+", scope)
    gap = Blame("unsupported", reason, f"{scope}::{bare}" if scope else bare)
    if is_library_name(bare) or any(is_library_name(word) or word == "moore_sim" for word in scope_words):
        return gap
    if any(is_cuda_name(word) and exists(word) and not is_plain(word) for word in scope_words):
        return gap
    if is_torch_cuda_name(bare) or (is_torch_namespace(scope or name) and "cuda" in [*scope_words, bare]):
        # None of PyTorch's other headers brings these.
        if any(is_torch_cuda_header(path) for path in includes):
            return Blame("unsupported", reason, bare, torch_name=bare)
        return Blame("compile_error", f"{reason}; no header of ATen/cuda or c10/cuda is included")
    if is_torch_macro(bare) or is_torch_namespace(scope) or is_torch_namespace(name):
        known = is_torch_macro(bare) and exists(bare)
        kind: Literal["compile_error", "unsupported"] = "unsupported" if known else "compile_error"
        return Blame(kind, reason, bare if known else None, torch_name=bare)
    if is_cuda_name(bare):
        if exists(bare):
            return gap
        return Blame("compile_error", reason if "did you mean" in reason else reason + _meant(nearest(bare)))
    return Blame("compile_error", reason)


def _meant(name: str | None) -> str:
    return f"; did you mean '{name}'?" if name else ""


def _blame_call(message: Message, call: str, where: str) -> Blame:
    callee = re.split(r"[(<]", call.lstrip("("), maxsplit=1)[0].split("::")[-1].strip()
    reason = f"{where}{readable(message.text)}"
    if "moore_sim" in call.split("(")[0]:
        return Blame("unsupported", reason, f"these arguments of {callee}")
    if is_cuda_function(callee):
        numbers = numbers_of_arguments(callee)
        if numbers and (given := _number_of_arguments(call)) is not None and given not in numbers:
            takes = " or ".join(map(str, sorted(numbers)))
            return Blame("compile_error", f"{reason}; {callee} takes {takes} argument{'' if numbers == {1} else 's'}")
        whole = is_modelled_whole(callee) and all(map(is_arithmetic, re.split(r"[(,)]", call)[1:-1]))
        if whole and message.text.startswith("no matching function"):
            return Blame("compile_error", reason)
        return Blame("unsupported", reason, f"these arguments of {callee}")
    if not message.is_own and message.place is None:
        return Blame("unsupported", reason, "a header that g++ refuses")
    return Blame("compile_error", reason)


def _has_the_length_of_cudas(signature: str) -> bool:
    """Is a function of the simulator's declared with as many parameters as CUDA's own?"""
    name = re.split(r"[(<]", signature, maxsplit=1)[0].split()[-1].lstrip("*&")
    numbers = numbers_of_arguments(name)
    return bool(numbers) and _number_of_arguments(signature) == max(numbers)


def _number_of_arguments(call: str) -> int | None:
    """How many types stand between the last pair of parentheses of a call as g++ writes it."""
    if not call.endswith(")"):
        return None
    depth, commas, some = 0, 0, False
    for sign in reversed(call):
        depth += {")": 1, ">": 1, "}": 1, "(": -1, "<": -1, "{": -1}.get(sign, 0)
        if depth == 0:
            return commas + 1 if some else 0
        commas += sign == "," and depth == 1
        some = some or sign not in "() \t"
    return None


def _blame_other(message: Message, where: str) -> Blame:
    reason = f"{where}{readable(message.text)}"
    if message.place is None:
        return Blame("unsupported", reason or "g++ failed", "C++ that g++ refuses")
    if not message.is_own and ("moore_sim/" in message.file or "/simulator/include/" in message.file):
        return Blame("unsupported", reason, "C++ that g++ refuses")
    if _HALF_OPERATOR.search(message.text):
        return Blame("compile_error", reason + _HALF_ADVICE)
    if _NULL.fullmatch(message.text) and re.search(r"[(,]\s*0\s*[,)]", message.place.text or "0,"):
        return Blame("unsupported", reason, "0 as a pointer in a launch")
    if (name := mentions_cuda(message.text)) or (name := _odd_qualifier(message)):
        return Blame("unsupported", reason, name)
    return Blame("compile_error", reason)


_KNOWN_WORDS = frozenset(
    "__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __restrict __forceinline__ "
    "__noinline__ __inline__ __launch_bounds__ __align__ __syncthreads __syncwarp __ldg __attribute__ __half __half2 "
    "__nv_bfloat16 __nv_bfloat162 __expf __logf __shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync __FILE__ "
    "__LINE__ __float2half __half2float __fdividef __fmaf_rn".split()
)


def _odd_qualifier(message: Message) -> str | None:
    """A word of CUDA's that we do not know, in a line that does not parse."""
    if not message.text.startswith("expected") or message.place is None:
        return None
    words = re.findall(r"\b__\w+", message.place.text or "")
    return next((word for word in words if word not in _KNOWN_WORDS and is_cuda_name(word) and exists(word)), None)
