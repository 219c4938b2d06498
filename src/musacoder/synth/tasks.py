"""The stage of expansion: tasks of drawn graphs, of tables and of other people's modules, each admitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from musacoder.data.expand.run import expand_tasks
from musacoder.synth.run import SynthRun

EXPANSION = "expansion"  # the folder


def expanded_tasks(run: SynthRun) -> Mapping[str, Any]:
    """Tasks in the folder `expansion` of the run; goes on where it stopped. Nothing where nothing is asked for."""
    wanted = run.config.expand
    if not (wanted.folders or wanted.graphs or wanted.variants):
        return {"tasks": 0}
    config = wanted.model_copy(update={"workers": run.config.work.workers})
    folder, lines = run.folder.path / EXPANSION, iter(range(1, 1 << 62))
    with run.progress("tasks", None) as tell:
        found = expand_tasks(config, folder, lambda line: tell(next(lines), line), run.config.verify)
    return {
        "tasks": found.admitted,
        "of": found.tasks,
        "looked_at": found.jobs,
        "kinds": dict(found.by_origin),
        "left_out": {row.reason.value: row.count for row in found.dropped},
        "folder": str(folder),
    }
