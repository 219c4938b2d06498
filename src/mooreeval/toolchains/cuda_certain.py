"""Failures of a cheap build that the full one would surely report as well.

- Names that the linker does not find and that are none of PyTorch's: headers define no functions of a candidate's.
- Syntax errors in a candidate's own line: headers that are read before it cannot mend them.
- An unknown name in a candidate's own line that neither CUDA's nor PyTorch's headers are known to hold.

Macros of PyTorch's could in theory take part in the last two, and so they count in the mode "ambiguous" only.
"""

from __future__ import annotations

import re

from mooreeval.toolchains.cuda_names import exists
from mooreeval.toolchains.cuda_workshop import CompileFailed

_PYTORCHS = re.compile(r"\b(?:at|c10|torch|caffe2|moore_sim|pybind11)::(?!Tensor\b)|moore")
_SYNTAX = re.compile(
    r"expected (?:an? )?(?:[\"'][;)}\]{(,][\"']|expression|primary-expression|unqualified-id|declaration)(?!\w).*"
    r"|missing (?:closing|terminating).*"
)
_UNKNOWN = (
    re.compile(r'identifier "(?P<name>\w+)" is undefined'),
    re.compile(r"'(?P<name>\w+)' was not declared in this scope.*"),
)
_MACRO_LIKE = re.compile(r"[A-Z][A-Z0-9_]*\Z")


def is_certain(failed: CompileFailed, *, by_the_linker_alone: bool) -> bool:
    """Would the full build fail in the same way?"""
    first = failed.first
    if failed.phase == "link":
        return first.text.startswith("undefined symbol") and not _PYTORCHS.search(failed.log)
    if by_the_linker_alone or not first.is_own:
        return False
    if _SYNTAX.match(first.text):
        return not re.search(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", first.place.text or "") if first.place else False
    for pattern in _UNKNOWN:
        if found := pattern.fullmatch(first.text):
            name = found["name"]
            return not exists(name) and not _MACRO_LIKE.match(name)
    return False
