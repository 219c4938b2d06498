"""How a compiler tells that it failed by itself: such a failure is never held against the sources.

    killed      somebody ended one of its programs: the kernel for want of memory, or a person. Another try may succeed.
    crashed     a program fell over a bug of its own. Tried once more at once; then there is no verdict.
    exhausted   it asked for more memory than a compiler may have, or the disk is full. There is no verdict.
    incomplete  one of its programs or files is missing. There is no verdict.

Only the form of a line counts, not words in it: a candidate's own words stand behind a place and "error: ". What it
could gain by imitating such a line is not to be judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["killed", "crashed", "exhausted", "incomplete"]

# Sent from outside; a compiler raises none of them against itself.
_SENT = {1: "Hangup", 2: "Interrupt", 9: "Killed", 15: "Terminated"}
_PROGRAM = r"^(?:\S*/)?(?:[\w.-]*(?:g\+\+|gcc|collect2|nvcc|cc1plus|as|ld|lto1)[\w.-]*|nvlink|ptxas|cicc|cudafe\+\+)"
_PLACED = r"^[^\n:]*(?::\d+(?::\d+)?|\(\d+\))?"
_HEADER_LOST = r"(?:cannot (?:read|get position in) PCH file|PCH allocation failure|while reading precompiled header)"
_FORMS: tuple[tuple[Kind, str], ...] = (
    ("killed", _PROGRAM + r": (?:fatal )?error: (?:Killed|Terminated|Hangup|Interrupt) signal terminated program .*$"),
    ("killed", r"^collect2: (?:fatal )?error: \S+ terminated with signal (?:1|2|9|15) \[.*$"),
    ("killed", r"^nvcc (?:error|fatal)\s*: '[^']+' died due to signal (?:1|2|9|15)\b.*$"),
    ("killed", r"^(?:Killed|Terminated)$"),
    ("exhausted", _PLACED + r": (?:catastrophic|fatal) error: out of memory.*$"),
    ("exhausted", r"^(?:\S+: )?(?:virtual memory exhausted: |out of memory allocating \d+ bytes).*$"),
    ("exhausted", _PROGRAM + r": [^\n]*(?:cannot allocate memory|memory exhausted|No space left on device).*$"),
    ("exhausted", r"^[^\n]*(?:fatal error|nvcc fatal\s*|final link failed): [^\n]*(?:No space left|File too large).*$"),
    ("exhausted", r"^(?:nvcc \w+\s*: )?(?:could not|cannot) create temporary file.*$"),
    ("exhausted", r"^terminate called after throwing an instance of 'std::bad_alloc'$"),
    ("crashed", _PLACED + r": internal (?:compiler )?error: .*$"),
    ("crashed", _PLACED + r": (?:(?:fatal )?error|sorry, unimplemented): " + _HEADER_LOST + r".*$"),
    ("crashed", _PROGRAM + r": (?:fatal )?error: [\w ]+ signal terminated program .*$"),
    ("crashed", r"^collect2: (?:fatal )?error: \S+ terminated with signal \d+ \[.*$"),
    ("crashed", r"^nvcc (?:error|fatal)\s*: '[^']+' died due to signal .*$"),
    ("crashed", r"^(?:Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception)\b.*$"),
    ("incomplete", _PROGRAM + r": (?:fatal )?error: cannot execute .*$"),
    ("incomplete", r"^(?:sh|/bin/sh)?(?:: \d+)?:? ?[^\s:]+: (?:not found|Permission denied)$"),
    ("incomplete", _PROGRAM + r": (?:fatal )?error: (?:cannot (?:open|find) )?/[^\n]*: No such file or directory$"),
    ("incomplete", r"^<command-line>: (?:fatal )?error: /[^\n]*: No such file or directory$"),
    ("incomplete", _PROGRAM + r": cannot find /[^\n]*$"),
    ("incomplete", _PROGRAM + r": error while loading shared libraries: .*$"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(form, re.MULTILINE | re.IGNORECASE)) for kind, form in _FORMS)


@dataclass(frozen=True)
class Fault:
    """What became of the compiler, and the line in which it says so."""

    kind: Kind
    line: str


def fault_of(returncode: int, log: str) -> Fault | None:
    """The compiler's own fault in a run that failed; None where the sources may be to blame."""
    if returncode == 0:
        return None
    for kind, form in _COMPILED:
        for found in form.finditer(log):
            if not found[0].startswith((" ", "\t")):
                return Fault(kind, found[0].strip()[:300])
    number = -returncode if returncode < 0 else returncode - 128  # a shell, and nvcc, add 128 to a signal
    if 0 < number <= 64:
        return Fault("killed" if number in _SENT else "crashed", f"ended by signal {number}")
    return None
