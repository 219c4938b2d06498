"""What arXiv 2606.04847 publishes for KernelBench, in percent: 8 samples a task, on GPUs; not measured by us."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "arXiv 2606.04847"
SAMPLES = 8


@dataclass(frozen=True)
class PublishedRow:
    """One model's published rates over levels 1 to 3, in percent; None where none is given."""

    model: str
    pass_at_8: float
    avg_at_8: float
    faster_eager: float | None = None
    faster_compile: float | None = None


CUDA = (
    PublishedRow("Qwen3.5-9B (base)", 23.6, 7.05, 0.9, 0.5),
    PublishedRow("MusaCoder-9B-SFT", 69.6, 61.60),
    PublishedRow("MusaCoder-9B-RL", 83.6, 77.20, 12.6, 7.9),
    PublishedRow("Qwen3.6-27B (base)", 67.2, 35.60, 3.4, 1.6),
    PublishedRow("MusaCoder-27B-SFT", 84.8, 79.40, 6.3, 4.1),
    PublishedRow("MusaCoder-27B-RL", 93.2, 88.60, 15.0, 9.2),
    PublishedRow("Claude Opus 4.7", 87.2, 77.30, 11.8, 7.5),
)
MUSA = (PublishedRow("MusaCoder-27B-RL, on MUSA", 92.4, 81.7, 12.5),)
