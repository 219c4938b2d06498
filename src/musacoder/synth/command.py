"""`musacoder synth` as a person sees it: the run that is begun or gone on with, and the table that ends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mooreeval.backends import choose_backend
from mooreeval.config_reading import validated_as
from mooreeval.execute.seeds import new_secret
from mooreeval.verify import versions
from musacoder.cli_options import OK
from musacoder.config import read_config
from musacoder.session import shown_run, tell
from musacoder.synth.config import SynthConfig
from musacoder.synth.folder import StageDone, SynthFolder, begun_with
from musacoder.synth.pipeline import PIPELINE, Stage, run_stages
from musacoder.synth.run import SynthRun


def synth_config(
    path: Path, file: Path | None, settings: Iterable[str], options: Mapping[str, Any] | None = None
) -> SynthConfig:
    """The configuration of a run, its secret drawn. Where the run exists, what is not given is as it was begun with."""
    begun = begun_with(path)
    config = read_config(SynthConfig, file, settings, options, base=None if file is not None else begun)
    seed = config.verify.seed or (begun or {}).get("verify", {}).get("seed") or new_secret()
    verify = {**config.verify.model_dump(), "backend": choose_backend("simulator"), "seed": seed}
    return validated_as(SynthConfig, {**config.model_dump(), "verify": verify}, origin="configuration")


def run_synth(
    config: SynthConfig,
    path: Path,
    *,
    as_json: bool = False,
    verbose: bool = False,
    stages: Sequence[Stage] = PIPELINE,
) -> int:
    """Run what is missing, show all of it; the exit code."""
    with SynthFolder.opened(path, config, versions()) as folder:
        if not as_json:
            tell(f"run {path}; whatever ends it, musacoder synth --run {shown_run(path)} goes on with it")
        ended = run_stages(SynthRun(folder, config, quiet=as_json and not verbose), stages)
    if as_json:
        from mooreeval.render import strict_json

        print(strict_json(document(path, ended), indent=2))
    else:
        _show(path, ended)
    return OK


def document(path: Path, ended: Iterable[StageDone]) -> dict[str, Any]:
    """What --json prints."""
    return {"run": str(path), "stages": [done.model_dump(mode="json") for done in ended]}


def _show(path: Path, ended: Iterable[StageDone]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for done in ended:
        facts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in done.facts.items() if _is_plain(value))
        console.print(f"{done.stage}: {facts} ({done.seconds:.0f} s)", markup=False, soft_wrap=True)
        for name in ("kinds", "left_out"):
            if told := done.facts.get(name):
                console.print(f"  {name.replace('_', ' ')}: {_listed(told)}", markup=False, soft_wrap=True)
        if "families" in done.facts:
            console.print(_table(done.facts))
    console.print(f"in {path}", markup=False, soft_wrap=True)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _listed(counts: Mapping[str, Any]) -> str:
    shown = (f"{name} {value:.1%}" if isinstance(value, float) else f"{name} {value}" for name, value in counts.items())
    return ", ".join(shown)


def _table(facts: Mapping[str, Any]) -> Any:
    """Families by what was kept of them and why the rest was not."""
    from rich.box import SIMPLE
    from rich.table import Table

    families, dropped = facts["families"], facts.get("dropped", {})
    reasons = sorted({reason for counts in dropped.values() for reason in counts})
    table = Table("family", "kept", *reasons, box=SIMPLE)
    for column in table.columns[1:]:
        column.justify = "right"
    for family in sorted({*families, *dropped}):
        counts = dropped.get(family, {})
        table.add_row(family, str(families.get(family, 0)), *(str(counts.get(reason, 0)) for reason in reasons))
    return table
