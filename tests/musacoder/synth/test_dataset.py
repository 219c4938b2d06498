"""The stages of rows and of the data set, with the real author and the real judge."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.synth_runs import SECRET, opened

from mooreeval.errors import UsageError
from musacoder.data import author
from musacoder.data.dataset import read_dataset
from musacoder.data.io import append
from musacoder.data.judging import JudgingConfig
from musacoder.data.records import Program, RowKind
from musacoder.data.rows import RowsConfig
from musacoder.runlog.lines import Lines
from musacoder.synth.config import SynthConfig
from musacoder.synth.dataset import DATASET, curated_dataset, rows_of_programs
from musacoder.synth.folder import PROGRAMS
from musacoder.synth.run import SynthRun


def config(**mixture: object) -> SynthConfig:
    """One program is judged and gets a mutant and a second answer; shares are as given."""
    return SynthConfig.model_validate({
        "rows": {"judging": {"programs": 1, "mutants": 1}}, "mixture": {"family_most": 1, **mixture},
        "verify": {"seed": SECRET, "backend": "simulator"},
    })  # fmt: skip


def programs(folder: Path) -> list[Program]:
    verified = {"status": "correct", "judged_by": "trusted batch"}
    written = [author.write(seed, length=2).model_copy(update=verified) for seed in range(4)]
    lines = Lines(folder / PROGRAMS)
    append(lines, written)
    lines.close()
    return written


@pytest.mark.slow
def test_programs_become_a_data_set_whose_answers_think_in_derived_steps(tmp_path: Path):
    wanted = config(least=0)
    with opened(tmp_path, wanted) as folder:
        made = programs(folder.path)
        run = SynthRun(folder, wanted, quiet=True)
        facts = rows_of_programs(run)
        told = curated_dataset(run)
    rows = read_dataset(tmp_path / DATASET)
    kinds = Counter(r.kind for r in rows)
    assert facts["wrong_programs"] == [] and facts["not_judged"] == 0 and told["rows"] == len(rows)
    assert kinds[RowKind.GENERATION] >= len(made) and kinds[RowKind.QUESTION] >= 1
    generated = [r for r in rows if r.kind is RowKind.GENERATION]
    assert all("1. Semantic decomposition: " in r.completion[0].content for r in generated)
    assert all("Its tensors (strides count elements)" in r.prompt[-1].content for r in generated)


@pytest.mark.slow
def test_a_data_set_in_which_a_class_is_missing_is_refused_and_its_rows_stay(tmp_path: Path):
    wanted = config()
    wanted = wanted.model_copy(
        update={"rows": RowsConfig(judging=JudgingConfig(programs=1, mutants=0), rewrites=False)}
    )
    with opened(tmp_path, wanted) as folder:
        programs(folder.path)
        run = SynthRun(folder, wanted, quiet=True)
        rows_of_programs(run)
        with pytest.raises(UsageError, match=r"too rare in the mixture.*profiling_analysis 0 of"):
            curated_dataset(run)
    assert (tmp_path / "rows.jsonl").exists() and not (tmp_path / DATASET).exists()
