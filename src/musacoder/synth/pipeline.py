"""The stages of `synth` in order, each a function of the run that goes on where an earlier process stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from musacoder.synth.auditing import audit_programs
from musacoder.synth.dataset import curated_dataset, rows_of_programs
from musacoder.synth.folder import STAGES, StageDone
from musacoder.synth.programs import make_programs
from musacoder.synth.run import SynthRun
from musacoder.synth.tasks import expanded_tasks


@dataclass(frozen=True)
class Stage:
    """A name, which is kept in the folder, and what is done. The facts that `run` returns are kept and shown."""

    name: str
    run: Callable[[SynthRun], Mapping[str, Any]]


PIPELINE: tuple[Stage, ...] = (
    Stage("tasks", expanded_tasks),
    Stage("programs", make_programs),
    Stage("audit", audit_programs),
    Stage("rows", rows_of_programs),
    Stage("dataset", curated_dataset),
)


def run_stages(run: SynthRun, stages: Sequence[Stage] = PIPELINE) -> list[StageDone]:
    """Every stage that is not done yet; all of them as they ended. What a stage raises ends the run there."""
    ended = []
    for stage in stages:
        done = run.folder.done(stage.name)
        if done is None:
            start = time.monotonic()
            facts = stage.run(run)
            done = StageDone(stage=stage.name, seconds=round(time.monotonic() - start, 2), facts=facts)
            run.folder.append(STAGES, [done])
        ended.append(done)
    return ended
