"""Configuration of `synth`. No torch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mooreeval.batch import BatchLimits
from mooreeval.config import Count, Positive, VerifyConfig, Whole
from mooreeval.verdict import Record
from musacoder.data.curate import CurationConfig
from musacoder.data.expand.records import ExpandConfig
from musacoder.data.judging import JudgingConfig
from musacoder.data.mixture import MixtureConfig
from musacoder.data.records import RowKind, Split
from musacoder.data.rows import RowsConfig
from musacoder.prompts import PromptConfig

Share = Annotated[float, Field(gt=0, le=1)]


class ProgramsConfig(Record):
    """Which programs are written, and how closely each is looked at."""

    count: Count = Field(10_000, description="Distinct programs that were found correct.")
    split: Split = Field(Split.TRAIN, description="Whose tasks they are: train, unseen_op, unseen_combo, long_chain.")
    first_seed: Whole = Field(0, description="The author's first seed; the next programs have the next ones.")
    most_seeds: Count = Field(1_000_000, description="Seeds after which a run that has not enough gives up.")
    family_most: Share = Field(0.2, description="Largest share of a family of operators.")
    batch: Annotated[Count, Field(le=128)] = Field(32, description="Programs in one build and one process.")
    plain_trials: Count = Field(2, description="Runs on inputs of the task's own; one with other signs follows.")
    check_budget: Count = Field(
        400_000, description="Watched memory accesses of a launch of the first run; the rest runs unwatched."
    )
    program_seconds: Positive = Field(30, description="Wall seconds that all runs of one program may take.")

    @property
    def limits(self) -> BatchLimits:
        """As the check takes them."""
        return BatchLimits(self.plain_trials, self.check_budget, self.program_seconds)


class AuditConfig(Record):
    """Which programs are judged again, alone."""

    share: Share = Field(0.01, description="Share of the programs, drawn by lot.")
    seed: Whole = Field(0, description="Of the lots.")


class WorkConfig(Record):
    """How much is done at once. Changes no result, so a run may go on with other values."""

    workers: Annotated[Count, Field(le=64)] = Field(2, description="Batches, or judgements, at once.")


class SynthConfig(Record):
    """Everything `synth` can be told."""

    expand: ExpandConfig = ExpandConfig(graphs=0, variants=False)
    programs: ProgramsConfig = ProgramsConfig()
    audit: AuditConfig = AuditConfig()
    rows: RowsConfig = RowsConfig(judging=JudgingConfig(programs=400))
    prompt: PromptConfig = PromptConfig()
    curation: CurationConfig = CurationConfig()
    # Profiles need a device: without one that class is left out on purpose.
    mixture: MixtureConfig = MixtureConfig(without=(RowKind.PROFILING,))
    verify: VerifyConfig = VerifyConfig()
    work: WorkConfig = WorkConfig()


# What may change when a run goes on: it decides how long something takes, not what comes out.
FREE = (
    "work",
    "expand.workers",
    "expand.trial_seconds",
    "rows.judging.workers",
    "verify.pool",
    "verify.simulator.threads",
    "verify.backend",
)
