"""Small runs of `synth` with the gallery's programs in place of the author's."""

from __future__ import annotations

import sys
from pathlib import Path

from support.gallery_author import write

from musacoder.synth.config import SynthConfig
from musacoder.synth.folder import SynthFolder
from musacoder.synth.programs import ProgramsStage
from musacoder.synth.run import SynthRun

SECRET = "5eed"


def small_config(**programs: object) -> SynthConfig:
    """Eight programs in batches of two, whatever their families."""
    known = {"count": 8, "batch": 2, "family_most": 1, "most_seeds": 40, **programs}
    return SynthConfig.model_validate({"programs": known, "verify": {"seed": SECRET, "backend": "simulator"}})


def opened(path: Path, config: SynthConfig | None = None) -> SynthFolder:
    """The run in that folder, begun or gone on with."""
    return SynthFolder.opened(path, config or small_config(), {})


def programs_made(path: Path, config: SynthConfig | None = None):
    """The facts of the stage, run to its end."""
    config = config or small_config()
    with opened(path, config) as folder:
        return ProgramsStage(SynthRun(folder, config, quiet=True), write).facts()


if __name__ == "__main__":  # a process to kill
    programs_made(Path(sys.argv[1]), small_config(count=4))
