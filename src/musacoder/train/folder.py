"""The folder of a training: what it was begun with, its checkpoints, its metrics. No torch.

    config.yaml              the whole configuration, written once
    run.json                 kind, the data's and the tokenizer's identity; last of what begins a run
    start/                   random weights and the tokenizer, where training starts from nothing
    tokens/                  the rows as tokens
    checkpoints/             the last two; one without `whole.json` was cut off and counts for nothing
    metrics.jsonl            a line every few steps; where steps were done twice, after a crash, the last line holds
    model/                   what came out, as transformers opens it

Processes of one run share it; the first alone writes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from mooreeval.errors import UsageError
from mooreeval.locks import unlock
from musacoder.runlog.drift import changed_keys, shortened
from musacoder.runlog.whole import locked, write_whole

CONFIG, RUN, METRICS, WHOLE = "config.yaml", "run.json", "metrics.jsonl", "whole.json"
SCHEMA_VERSION = 1


class TrainingFolder:
    """One training on the disk; a context manager that holds its lock where this process writes."""

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self.path, self._writes = path, writes
        self._lock: int | None = None

    def __enter__(self) -> TrainingFolder:
        if self._writes:
            self._lock = locked(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            unlock(self._lock)
        self._lock = None

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def start(self) -> Path:
        return self.path / "start"

    @property
    def tokens(self) -> Path:
        return self.path / "tokens"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    def begun(self) -> dict[str, Any] | None:
        """The configuration that the run was begun with; None where there is no run yet."""
        if not (self.path / RUN).is_file():
            return None
        try:
            data = yaml.safe_load((self.path / CONFIG).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError, UnicodeDecodeError):
            data = None
        if not isinstance(data, dict):
            raise UsageError(f"{self.path / CONFIG} is damaged: it holds no configuration")
        return data

    def begin(self, kind: str, config: Mapping[str, Any], identities: Mapping[str, str]) -> None:
        """Write down what the run begins with."""
        write_whole(self.path / CONFIG, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
        run = {"schema_version": SCHEMA_VERSION, "kind": kind, **identities}
        write_whole(self.path / RUN, json.dumps(run, indent=2) + "\n")

    def require_same(
        self, kind: str, config: Mapping[str, Any], identities: Mapping[str, str], free: tuple[str, ...]
    ) -> None:
        """UsageError where the run was begun with something else, the keys named."""
        run = self._run()
        if run.get("kind") != kind:
            raise UsageError(f"{self.path} is a run of musacoder {run.get('kind')}, not of {kind}")
        now = yaml.safe_load(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
        changes = changed_keys(self.begun() or {}, now, free)
        if changes:
            raise UsageError(
                f"{self.path} was begun with another configuration ({shortened(changes)}): "
                "go on with the old one, or give the new run another name"
            )
        for name, value in identities.items():
            if run.get(name) != value:
                raise UsageError(f"{self.path}: the {name} is no longer what the run was begun with")

    def last_checkpoint(self) -> Path | None:
        """The newest whole one."""
        whole = [p for p in self.checkpoints.glob("checkpoint-*") if (p / WHOLE).is_file()]
        return max(whole, key=step_of, default=None)

    def remove_torn(self) -> None:
        """Checkpoints that were cut off while they were written."""
        for path in self.checkpoints.glob("checkpoint-*"):
            if not (path / WHOLE).is_file():
                shutil.rmtree(path)

    def mark_whole(self, step: int) -> None:
        """A checkpoint is all on the disk."""
        write_whole(self.checkpoints / f"checkpoint-{step}" / WHOLE, json.dumps({"step": step}) + "\n")

    def made(self, folder: Path, make: Callable[[Path], object]) -> Path:
        """A folder of the run that is made whole or not at all, once."""
        if not folder.is_dir():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            make(part)
            part.rename(folder)
        return folder

    def _run(self) -> dict[str, Any]:
        path = self.path / RUN
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            data = None
        if not isinstance(data, dict):
            raise UsageError(f"{path} is damaged: it cannot be read")
        if data.get("schema_version", 0) > SCHEMA_VERSION:
            raise UsageError(f"{path} was written by a newer version: update musacoder")
        return data


def step_of(checkpoint: Path) -> int:
    """Of a checkpoint's folder; -1 where its name has none."""
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1
