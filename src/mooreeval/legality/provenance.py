"""Whose kernels ran, and whose work the output is. Judges what the run child observed of itself; no torch.

A kernel is the candidate's by the module that launched it, never by its name. On the simulator the run time knows the
module of each launch, how many bytes kernels read and wrote, and where what they wrote has gone. On a device a profiler
tells every kernel that ran with its time and the operator within which it was launched; the candidate's own launches,
which the linker sends through a counter, are taken out by name, grid and block as often as they were counted, and what
is left must belong to an operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from mooreeval.legality.operators import FILLS, TORCH_NAMESPACES, base_name, is_allowed
from mooreeval.verdict import KernelUse, RuleHit

LEAST_OWN_SHARE = 0.5  # of the device's time: below, somebody else does the work
# Bytes are not time: an honest kernel that reads a matrix once after PyTorch has transposed it moves a third of all.
LEAST_OWN_SHARE_OF_BYTES = 0.25
LEAST_OTHER_US = 10.0  # so short a copy or fill is no work that a kernel could be a decoy for
LEAST_OTHER_BYTES = 4096

# Of the inputs' bytes, or of the outputs' on the way back: an honest forward pass asks for a number, or for a few.
LEAST_SHARE_IN_THE_HOSTS_HANDS = 0.25


@dataclass(frozen=True)
class HostTraffic:
    """Bytes that crossed between the simulated device and the host in one watched forward pass."""

    foreign_taken: int  # by the host, of memory that no kernel had written; weights left out
    own_taken: int  # by the host, of what kernels wrote
    own_before_launch: int  # of these, before the last launch
    given: int  # to the device, without what had come from there and was not changed
    returned: int  # to the device, that had


@dataclass(frozen=True)
class Emulated:
    """What the simulator's run time observed in one watched forward pass."""

    modules: Sequence[str | None]  # of the launches
    kernel_bytes: int  # read and written by the kernels, device and shared memory
    operator_bytes: int  # by PyTorch's operators, fills left out
    outputs: int  # tensors on the device that came out
    own_outputs: int  # that hold something which kernels wrote, or copies of it
    host_saw_own_work: bool  # from there it may have gone anywhere
    watched_whole: bool  # every block was watched, so that nothing was missed
    host: HostTraffic | None = None
    bytes_of_a_call: tuple[int, int] = (0, 0)  # of the task's inputs and outputs

    @property
    def own_share(self) -> float | None:
        """Of the bytes that kernels and operators moved."""
        return _share(self.kernel_bytes, self.operator_bytes)


def emulated_hits(seen: Emulated, artefacts: Iterable[str], policy: str) -> list[RuleHit]:
    """The rules that one watched forward pass on the simulator breaks."""
    own = {_in_its_folder(path) for path in artefacts}
    hits = []
    foreign = [module for module in seen.modules if module is not None and _in_its_folder(module) not in own]
    if foreign:
        message = "a kernel ran that is in no module which was built from the recorded sources"
        hits.append(RuleHit(rule="foreign_kernel", message=message, evidence=f"module {foreign[0][-200:]}"))
    if policy != "native" or not seen.modules:
        return hits
    share = seen.own_share
    if share is not None and share < LEAST_OWN_SHARE_OF_BYTES and seen.operator_bytes >= LEAST_OTHER_BYTES:
        evidence = f"{seen.kernel_bytes} of {seen.kernel_bytes + seen.operator_bytes} bytes"
        message = f"the candidate's kernels move {share:.0%} of the bytes, PyTorch's operators the rest"
        hits.append(RuleHit(rule="decoy_kernel", message=message, evidence=evidence))
    if seen.outputs and not seen.own_outputs and not seen.host_saw_own_work and seen.watched_whole:
        message = "nothing that the candidate's kernels wrote reaches the output"
        evidence = f"{seen.outputs} output{'s' if seen.outputs > 1 else ''}, none written by a kernel"
        hits.append(RuleHit(rule="decoy_kernel", message=message, evidence=evidence))
    return hits + _hits_of_the_host(seen)


def _hits_of_the_host(seen: Emulated) -> list[RuleHit]:
    """The task's data in the hands of host code, which a kernel is then told the result of.

    Data are the host's where it takes what no kernel has written. What kernels wrote may go there, and come back as it
    is; where other bytes come back, or another kernel is told what was made of it, they may have done no more than to
    carry the data.
    """
    if seen.host is None:
        return []
    into, out = (max(LEAST_OTHER_BYTES, each * LEAST_SHARE_IN_THE_HOSTS_HANDS) for each in seen.bytes_of_a_call)
    host = seen.host
    carried = host.own_taken - host.returned >= into and host.given >= out
    carried = carried or host.own_before_launch - host.returned >= into
    if host.foreign_taken < into and not carried:
        return []
    taken = host.foreign_taken + host.own_taken
    message = "host code takes the task's data from the device: what computes with them there is no kernel"
    evidence = f"{taken} bytes went to the host, {seen.bytes_of_a_call[0]} are the inputs'"
    return [RuleHit(rule="host_compute", message=message, evidence=evidence)]


def _in_its_folder(path: str) -> tuple[str, ...]:
    """A module by its file and the folder that is named after its content: a sandbox may show it elsewhere."""
    return PurePath(path).parts[-2:]


# --------------------------------------------------------------------------------------------------------- on a device
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class TracedKernel:
    """Equal activities of the device in one forward pass."""

    kind: Literal["kernel", "copy", "fill"]
    name: str  # as demangled
    grid: Shape
    block: Shape
    operators: tuple[str, ...]  # within which it was launched, outermost first
    count: int
    us: float  # of all of them


@dataclass(frozen=True)
class OwnLaunch:
    """Equal launches that the counter in the candidate's own modules saw."""

    name: str
    grid: Shape
    block: Shape
    count: int


def kernel_uses(traced: Sequence[TracedKernel], own: Sequence[OwnLaunch]) -> list[KernelUse]:
    """Whose each kernel is, with its share of the device's time, the longest first."""
    counts = _own_counts(traced, own)
    total = sum(each.us for each in traced)
    uses: list[KernelUse] = []
    for each, mine in zip(traced, counts, strict=True):
        for count, owner in ((mine, "candidate"), (each.count - mine, "other")):
            if not count:
                continue
            operator = _outermost_of_torch(each.operators) if owner == "other" else None
            uses.append(
                KernelUse(
                    kernel=plain_name(each.name)[:300],
                    kind=each.kind,
                    owner="candidate" if owner == "candidate" else "operator" if operator else "unknown",
                    operator=operator,
                    count=count,
                    us=round(each.us * count / each.count, 3),
                    share=round(each.us * count / each.count / total, 4) if total else None,
                )
            )
    return sorted(uses, key=lambda use: -use.us)


def own_share(uses: Sequence[KernelUse]) -> float | None:
    """Of the device's time without fills and copies to or from the host; None where nothing else was seen to run."""
    return _share(sum(use.us for use in uses if use.owner == "candidate"), _others_us(uses))


def _others_us(uses: Sequence[KernelUse]) -> float:
    return sum(use.us for use in uses if use.owner != "candidate" and not (_is_fill(use) or _crosses_to_host(use)))


def _crosses_to_host(use: KernelUse) -> bool:
    """Time that the bus takes, in which nothing is computed: a result that goes by way of the host is only slow."""
    return use.kind == "copy" and use.kernel.startswith(("Memcpy DtoH", "Memcpy HtoD"))


def _is_fill(use: KernelUse) -> bool:
    return use.kind == "fill" or (use.operator is not None and base_name(use.operator) in FILLS)


def traced_hits(uses: Sequence[KernelUse], policy: str) -> list[RuleHit]:
    """The rules that one traced forward pass on a device breaks."""
    hits = [
        RuleHit(
            rule="foreign_kernel",
            message=f"the kernel {use.kernel[:120]} ran, which no module of the candidate and no operator launched",
            evidence=f"kernel {use.kernel}, {use.us:g} us",
        )
        for use in uses
        if use.owner == "unknown" and use.kind == "kernel"
    ]
    if policy != "native":
        return hits
    hits += [
        RuleHit(
            rule="cpp_torch_compute",
            message=f"PyTorch computes in the forward pass: {use.operator} ran the kernel {use.kernel[:120]}",
            evidence=f"operator {use.operator}, {use.us:g} us",
        )
        for use in uses
        if use.operator is not None and not is_allowed(use.operator)
    ]
    share = own_share(uses)
    others = _others_us(uses)
    if share is not None and share < LEAST_OWN_SHARE and others >= LEAST_OTHER_US:
        message = f"the candidate's kernels take {share:.0%} of the device's time in a forward pass"
        hits.append(RuleHit(rule="decoy_kernel", message=message, evidence=f"{others:g} us are of others"))
    return hits


def plain_name(demangled: str) -> str:
    """A kernel's name without return type and parameters, as the counter of launches writes it."""
    name = demangled.removeprefix("void ")
    depth = 0
    for k, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and not name.startswith("(anonymous namespace)", k):
            return name[:k].rstrip()
    return name


def _own_counts(traced: Sequence[TracedKernel], own: Sequence[OwnLaunch]) -> list[int]:
    """How many of each are the candidate's: first those outside of PyTorch's operators, then by name, then by shape."""
    counts = [0] * len(traced)
    outside = [k for k, each in enumerate(traced) if each.kind == "kernel" and not _outermost_of_torch(each.operators)]
    left: Counter[tuple[str, Shape, Shape]] = Counter()
    for launch in own:
        left[launch.name, launch.grid, launch.block] += launch.count
    for k in outside:
        each = traced[k]
        key = plain_name(each.name), each.grid, each.block
        counts[k] = min(each.count, left[key])
        left[key] -= counts[k]
    shapes: Counter[tuple[Shape, Shape]] = Counter()  # exotic names are not demangled alike everywhere
    for (_, grid, block), count in left.items():
        shapes[grid, block] += count
    for k in outside:
        shape = traced[k].grid, traced[k].block
        more = min(traced[k].count - counts[k], shapes[shape])
        counts[k] += more
        shapes[shape] -= more
    return counts


def _outermost_of_torch(operators: Sequence[str]) -> str | None:
    """What was called of PyTorch's own: what composes it is its matter."""
    return next((name for name in operators if name.partition("::")[0] in TORCH_NAMESPACES), None)


def _share(own: float, others: float) -> float | None:
    return own / (own + others) if own + others > 0 else None
