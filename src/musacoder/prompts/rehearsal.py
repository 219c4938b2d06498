"""Every prompt that a run may need, made once for a task that nobody sees: a wrong template is told before a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mooreeval.task import make_task
from mooreeval.task_metadata import Leaf, TaskMetadata, TensorMetadata
from mooreeval.verdict import KernelProfile, Profile, Status, Timing, Verdict
from musacoder.prompts.build import build_first, build_optimise, build_repair
from musacoder.prompts.config import PromptConfig
from musacoder.prompts.target import Target
from musacoder.prompts.types import Turn

_TASK = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8)]
"""


def rehearse(config: PromptConfig, target: Target) -> None:
    """Raises UsageError, one line that names file and place, for a template that is wrong in any kind of turn."""
    roomy = config.model_copy(update={"tokens": 1 << 30})
    task = make_task("rehearsal", _TASK)
    for given in (_Given(None, None, None), _Given(_metadata(), _timing(), _profile())):
        right = Turn("", _verdict(Status.CORRECT, q=1.0, timing=given.timing, profile=given.profile), "")
        wrong = Turn("", _verdict(Status.COMPILE_ERROR), "a line of feedback")
        build_first(task, roomy, target, given.metadata)
        build_repair(task, [right, wrong], roomy, target, given.metadata)
        build_optimise(task, [wrong, right], roomy, target, given.metadata)


@dataclass(frozen=True)
class _Given:
    """What a template is given, or not."""

    metadata: TaskMetadata | None
    timing: Timing | None
    profile: Profile | None


def _metadata() -> TaskMetadata:
    leaf = Leaf(path="[0]", tensor=TensorMetadata(shape=(8,), stride=(1,), dtype="float32"))
    return TaskMetadata(
        init_inputs=(), inputs=(leaf,), parameters=(), buffers=(), outputs=(leaf,), elements=8, flops=8, bytes=64
    )


def _timing() -> Timing:
    return Timing(candidate_ms=1.0, eager_ms=2.0, compile_ms=2.0)


def _profile() -> Profile:
    kernel = KernelProfile(kernel="relu", grid=(1, 1, 1), block=(32, 1, 1), launches=1, duration_us=1.0)
    return Profile(kernels=(kernel,), launches=1, total_us=1.0, advice=("Use more blocks.",))


def _verdict(status: Status, **fields: Any) -> Verdict:
    return Verdict(
        status=status,
        reason="it was so",
        backend="simulator",
        task_hash="",
        candidate_hash="",
        config_hash="",
        **fields,
    )
