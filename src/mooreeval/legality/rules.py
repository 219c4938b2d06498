"""The rules of the source layer: their ids, in the order of their gravity, and how a broken one is told.

What reaches for the judge or the machine is graver than what lets others compute; the first rule of a verdict decides
its reason. The table for readers is `docs/legality.md`; a test holds both alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mooreeval.verdict import Place, RuleHit

# Refused under every policy: id -> what the rule is about. Order is gravity.
EVERYWHERE = {
    "import": "a module outside the list is imported",
    "introspection": "what the interpreter keeps about itself is read or changed",
    "code_from_text": "text is run as code",
    "hidden_name": "what is called is chosen at run time, so that no reader can tell",
    "patching": "something that is not the candidate's own is replaced",
    "process": "a process, a signal or a user is dealt with",
    "file_access": "a file that is not the candidate's own is read or written",
    "network": "a connection is made",
    "dynamic_loading": "a library is loaded or searched for symbols",
    "memory_map": "memory of the process is mapped, protected or shared",
    "address_from_integer": "an address is made of a number",
    "computed_call": "a function is called, or taken for data, by an address that is no function's name",
    "thread": "work is handed to another thread",
    "python_from_cpp": "Python is called from C++",
    "host_assembler": "assembler of the host",
    "static_initialiser": "code runs because a library is loaded",
    "simulator_tampering": "what only tells or changes how kernels are checked",
    "torch_internals": "parts of PyTorch that a kernel does not need",
    "backend_flags": "global settings of PyTorch are changed",
    "tensor_subclass": "a tensor that decides itself what its operators do",
    "side_stream": "work on a stream that nobody waits for",
    "cuda_graph": "work is recorded and replayed",
    "cuda_call": "a call of CUDA's run time that a kernel does not need",
    "ipc_handle": "memory of other processes",
    "l2_persistence": "what stays in the device's cache is steered",
    "runtime_compiler": "code is compiled while the candidate runs",
    "other_language": "a kernel in another language than CUDA C++",
    "delegation": "a compiler or an exporter makes the kernels",
    "hidden_model": "the class that is judged, or its forward, can't be found",
    "unreadable_source": "source that can't be read to its end",
    "low_precision": "half precision, bfloat16 or TF32 in a task of single precision",
    "cached_result": "results are kept from one call for the next",
}
# Refused under policy `native` alone: what is not the candidate's own kernel computes.
NATIVE_ONLY = {
    "torch_compute": "an operator or module of PyTorch outside the list computes in the forward path",
    "cpp_torch_compute": "the same from C++",
    "library_call": "a library's kernel is called",
    "host_compute": "the host computes in the forward path: NumPy, or code that takes the data from the device",
    "fallback_branch": "PyTorch computes where the own kernel fails",
}
RULES = {**EVERYWHERE, **NATIVE_ONLY}
_GRAVITY = {rule: number for number, rule in enumerate(RULES)}
MAX_HITS = 50
MAX_EVIDENCE = 120


@dataclass(frozen=True)
class Accusation:
    """A broken rule at a line of one text; `evidence` are the words it rests on."""

    rule: str
    line: int
    evidence: str
    message: str
    column: int | None = None  # 1-based
    source: str = "candidate"  # or the name of a recorded source


def shown(text: str, length: int = MAX_EVIDENCE) -> str:
    """Words of a candidate as one printable line."""
    joined = " ".join(text.split())
    return re.sub(r"[^\x20-\x7e]", "?", joined)[:length]


def ordered(hits: Iterable[RuleHit]) -> tuple[RuleHit, ...]:
    """The gravest first, then by place; each rule once a line; at most `MAX_HITS`, of every rule some."""
    seen: dict[tuple[str, str], RuleHit] = {}
    for hit in hits:
        seen.setdefault((hit.rule, str(hit.place)), hit)
    every = sorted(seen.values(), key=lambda hit: (_GRAVITY[hit.rule], *_where(hit.place)))
    first = {hit.rule: hit for hit in reversed(every)}
    kept = [hit for hit in every if first[hit.rule] is hit]
    kept += [hit for hit in every if first[hit.rule] is not hit]
    return tuple(sorted(kept[:MAX_HITS], key=lambda hit: (_GRAVITY[hit.rule], *_where(hit.place))))


def _where(place: Place | None) -> tuple[str, int]:
    return (place.file, place.line or 0) if place else ("", 0)
