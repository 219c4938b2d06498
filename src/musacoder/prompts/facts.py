"""Facts of a task and of a verdict as lines of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooreeval.feedback import plain
from mooreeval.task_metadata import Leaf, TaskMetadata, TensorMetadata
from mooreeval.verdict import KernelProfile, Profile, Timing

_WIDTH = 160
_MOST_KERNELS, _MOST_ADVICE, _MOST_ASSUMPTIONS = 6, 6, 3


@dataclass(frozen=True)
class Group:
    """Tensors of one kind; `left_out`: how many are not listed."""

    title: str
    lines: tuple[str, ...]
    left_out: int


@dataclass(frozen=True)
class Metadata:
    """What the template shows."""

    groups: tuple[Group, ...]
    cost: str
    assumptions: tuple[str, ...]

    @property
    def left_out(self) -> int:
        return sum(group.left_out for group in self.groups)


def metadata_facts(metadata: TaskMetadata, most: int) -> Metadata:
    """At most so many lines of each kind."""
    kinds = (
        ("Inputs of forward", "input", metadata.inputs),
        ("Arguments of the constructor", "argument", metadata.init_inputs),
        ("Parameters", "", metadata.parameters),
        ("Buffers", "", metadata.buffers),
        ("Outputs", "output", metadata.outputs or ()),
    )
    groups = tuple(_group(title, prefix, leaves, most) for title, prefix, leaves in kinds if leaves)
    cost = f"One forward pass handles {metadata.elements:,} elements and does about {metadata.flops:,} operations."
    assumptions = tuple(plain(a, _WIDTH) for a in metadata.assumptions[:_MOST_ASSUMPTIONS])
    return Metadata(groups, cost if metadata.elements else "", assumptions)


def _group(title: str, prefix: str, leaves: Sequence[Leaf], most: int) -> Group:
    lines = tuple(_leaf(f"{prefix}{leaf.path}", leaf) for leaf in leaves[:most])
    return Group(title, lines, len(leaves) - len(lines))


def _leaf(name: str, leaf: Leaf) -> str:
    what = _tensor(leaf.tensor) if leaf.tensor else (leaf.plain or "?")
    return plain(f"{name}: {what}".replace("\n", " "), _WIDTH)


def _tensor(tensor: TensorMetadata) -> str:
    if tensor.stride is None:
        return f"shape {tensor.shape}, {tensor.dtype}, not dense"
    order = "contiguous" if tensor.is_contiguous else "not contiguous"
    return f"shape {tensor.shape}, stride {tensor.stride} ({order}), {tensor.dtype}"


def times(timing: Timing | None) -> list[str]:
    """How long one call takes, and the baselines; empty where nothing was measured."""
    if timing is None:
        return []
    lines = [f"yours: {timing.candidate_ms:.4g} ms"]
    for name, ms in (("PyTorch eager", timing.eager_ms), ("torch.compile", timing.compile_ms)):
        if ms is not None:
            lines.append(f"{name}: {ms:.4g} ms, so yours is {ms / timing.candidate_ms:.3g} times as fast")
    return lines


def profile(found: Profile | None) -> list[str]:
    """The longest kernels with what limits them, and what follows from that."""
    if found is None or found.missing is not None:
        return []
    kernels = [plain("; ".join(_kernel(kernel)), 2 * _WIDTH) for kernel in found.kernels[:_MOST_KERNELS]]
    return kernels + [plain(" ".join(advice.split()), 3 * _WIDTH) for advice in found.advice[:_MOST_ADVICE]]


def _kernel(kernel: KernelProfile) -> Iterator[str]:
    grid, block = ("x".join(map(str, size)) for size in (kernel.grid, kernel.block))
    yield f"{kernel.kernel}: {kernel.launches} x {kernel.duration_us:.1f} us, grid {grid}, block {block}"
    for name, percent in (
        ("of all time", kernel.share_percent),
        ("of the memory's peak", kernel.memory_percent),
        ("of the arithmetic peak", kernel.arithmetic_percent),
        ("occupancy", kernel.occupancy_percent),
    ):
        if percent is not None:
            yield f"{percent:.0f} % {name}"
    if kernel.registers is not None:
        yield f"{kernel.registers} registers a thread"
    if kernel.limit:
        yield f"limited by {kernel.limit}"
