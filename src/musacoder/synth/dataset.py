"""The stages from programs to a data set: rows of all classes, and what curation leaves of them, with its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from mooreeval.verify import LocalVerifier, versions
from musacoder.data.asking import Asking
from musacoder.data.curate import curate
from musacoder.data.dataset import write_dataset
from musacoder.data.io import read_rows
from musacoder.data.mixture import mixture
from musacoder.data.reason import metadata, reason
from musacoder.data.records import Split
from musacoder.data.rows import FILE as ROWS
from musacoder.data.rows import make_rows, programs_of_rows
from musacoder.synth.folder import PROGRAMS
from musacoder.synth.run import SynthRun

DATASET = "dataset"  # the folder


def rows_of_programs(run: SynthRun) -> Mapping[str, Any]:
    """Rows of the programs, after some of them and mutants of them were judged; goes on where judging stopped."""
    path, wanted = run.folder.path, run.config.rows
    judging = wanted.judging.model_copy(update={"workers": run.config.work.workers})
    config = wanted.model_copy(update={"judging": judging})
    with run.progress("rows", None) as tell, LocalVerifier(run.config.verify) as verifier:
        asking = Asking(prompt=run.config.prompt, describe=metadata, reason=reason)
        report = make_rows(
            path / PROGRAMS, path, asking, config, verifier, lambda line: tell(0, line), verifier.close
        )  # fmt: skip
    return {
        "rows": report.rows,
        "judged": report.judging.judged + report.judging.kept,
        "not_judged": len(report.judging.not_judged),
        "wrong_programs": report.judging.wrong_programs,
        "kinds": {kind.value: round(share, 4) for kind, share in report.kinds.items()},
        "families": dict(sorted(report.families.items())),
        "left_out": dict(report.left_out),
    }


def curated_dataset(run: SynthRun) -> Mapping[str, Any]:
    """The data set and its card, in the folder `dataset` of the run."""
    path = run.folder.path
    curated = curate(read_rows(path / ROWS), programs_of_rows(path / PROGRAMS, path), run.config.curation)
    if run.config.programs.split is Split.TRAIN:
        curated.rows, left = mixture(curated.rows, run.config.mixture), len(curated.rows)
        curated.dropped["one of too many of its class or family"] = left - len(curated.rows)
    how = {"command": "musacoder synth", "seed of the verdicts": str(run.config.verify.seed), **versions()}
    write_dataset(curated, path / DATASET, path.name, how)
    kinds = Counter(row.kind.value for row in curated.rows)
    return {
        "rows": len(curated.rows),
        "kinds": {kind: round(count / len(curated.rows), 4) for kind, count in sorted(kinds.items())},
        "families": dict(sorted(Counter(row.family for row in curated.rows).items())),
        "left_out": dict(curated.dropped),
        "leaks": len(curated.leaks),
        "folder": str(path / DATASET),
    }
