"""A small world for rejection sampling: the gallery's kernels as a script's answers, each with the verdict it gets."""

from __future__ import annotations

import json
from pathlib import Path

from mooreeval import gallery

TASKS = ("relu", "matmul", "row_softmax")


def save_work(folder: Path, tasks: tuple[str, ...] = TASKS) -> Path:
    """`tasks/` and `script.json`: of each task its right candidates, one of them renamed, and two wrong ones."""
    script: dict[str, list[str]] = {}
    for name in tasks:
        entries = [e for e in gallery.load() if e.task_name == name]
        file = folder / "tasks" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(entries[0].task_path.read_text(encoding="utf-8"), encoding="utf-8")
        codes = {s: [e.candidate_path.read_text("utf-8") for e in entries if e.expected.status == s] for s in _STATUSES}
        right = codes["correct"]
        renamed = right[0].replace("blockIdx.x * blockDim.x", "blockDim.x * blockIdx.x").replace("out", "result_value")
        answers = [f"# verdict: correct\n{code}" for code in [*right, renamed]]
        answers += [f"# verdict: {status}\n{code}" for status in _STATUSES[1:] for code in codes[status][:1]]
        script[f"tasks/{name}.py"] = [f"```python\n{code}\n```\n" for code in answers]
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    return folder


_STATUSES = ("correct", "incorrect", "runtime_error")
