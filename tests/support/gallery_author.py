"""An author for tests: right programs of the gallery, each made another by a comment with its seed."""

from pathlib import Path

from mooreeval import gallery
from musacoder.data.records import Program, Split

FOLDER = Path(gallery.__file__).parent
RIGHT = (
    "relu/plain",
    "relu/grid_stride",
    "row_softmax/warp_per_row",
    "transposed_add/cooperative_tile",
    "matmul/tiled",
)


def gallery_program(name: str, seed: int = 0, source: str = "author") -> Program:
    """One of the gallery as if our author had written it under this seed."""
    task, _, candidate = name.partition("/")
    code = (FOLDER / task / "candidates" / f"{candidate}.py").read_text(encoding="utf-8")
    return Program(
        task_code=(FOLDER / task / "task.py").read_text(encoding="utf-8"),
        candidate_code=f"{code}# {seed}\n",
        family=task,
        source=source,
        licence="Apache-2.0",
        seed=seed,
    )


def write(seed: int, split: Split = Split.TRAIN) -> Program:
    """Seeds go round; every seventh program is wrong."""
    del split
    if seed % 7 == 6:
        return gallery_program("relu/missing_tail", seed)
    return gallery_program(RIGHT[seed % len(RIGHT)], seed)
