"""The run folder of `synth`: what each stage has made, and what going on with it needs.

    runs/NAME/
      config.yaml       the configuration, whole; resuming with another is refused
      run.json          versions; written last, so it marks a run
      stages.jsonl      one line for each stage that is done, with its facts                        StageDone
      checked.jsonl     every program that a batch called correct, as batches came                  Program
      batches.jsonl     one line for each batch, written after its programs                         BatchDone
      programs.jsonl    the programs: distinct, in the order of their seeds, capped by family       Program
      audit.jsonl       one line for each program that was judged again, alone                      Audited
      judgements.jsonl  what the judge said of some programs and of mutants of them                 Judgement
      rows.jsonl        the rows before curation                                                    Row
      expansion/        tasks of graphs, tables and modules, where they are asked for: see musacoder.data.expand.run
      dataset/          what is left of them, as a data set with a card
      .lock             held by the process that writes

Lines are only ever appended, and a batch's line comes after its programs: what a kill loses is the batches that were in
the works, and they are made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import yaml

from mooreeval.errors import UsageError
from mooreeval.locks import unlock
from mooreeval.render import strict_json
from mooreeval.verdict import Record
from musacoder.config import plain
from musacoder.data.io import read_records
from musacoder.data.records import SCHEMA_VERSION
from musacoder.runlog.drift import changed_keys, shortened
from musacoder.runlog.lines import Lines
from musacoder.runlog.whole import locked, write_whole
from musacoder.synth.config import FREE, SynthConfig

CONFIG, MARK, LOCK = "config.yaml", "run.json", ".lock"
STAGES, CHECKED, BATCHES, PROGRAMS, AUDIT = (
    "stages.jsonl", "checked.jsonl", "batches.jsonl", "programs.jsonl", "audit.jsonl",
)  # fmt: skip
R = TypeVar("R", bound=Record)


class StageDone(Record):
    """A stage that has ended, and what it has to say of itself."""

    schema_version: Literal[1] = SCHEMA_VERSION
    stage: str
    seconds: float  # wall, of the process that ended it
    facts: Mapping[str, Any]


class SynthFolder:
    """A run that is written to: a context manager that holds its lock."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path, self._lock = path, lock
        self._files: dict[str, Lines] = {}

    @classmethod
    def opened(cls, path: Path, config: SynthConfig, versions: Mapping[str, str]) -> Self:
        """A new run, or one to go on with. UsageError: another process has it, or its configuration is another."""
        lock = locked(path, LOCK)
        try:
            if (path / MARK).is_file():
                _require_same(path, config)
            else:
                write_whole(path / CONFIG, yaml.safe_dump(plain(config), sort_keys=False))
                mark = {"schema_version": SCHEMA_VERSION, "kind": "synth", "versions": dict(versions)}
                write_whole(path / MARK, strict_json(mark, indent=2) + "\n")
            return cls(path, lock)
        except BaseException:
            unlock(lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        unlock(self._lock)

    def append(self, name: str, records: Iterable[Record]) -> None:
        """All of them by one write, on the disk when this returns."""
        if name not in self._files:
            self._files[name] = Lines(self.path / name)
        if text := "\n".join(map(strict_json, records)):
            self._files[name].append(text)

    def read(self, name: str, kind: type[R]) -> Iterator[R]:
        """Every record of a file; none where there is no file."""
        return read_records(kind, self.path / name)

    def replace(self, name: str, records: Iterable[Record]) -> None:
        """The file holds these from now on, or what it held before."""
        write_whole(self.path / name, "".join(f"{strict_json(record)}\n" for record in records))

    def done(self, stage: str) -> StageDone | None:
        """What a stage said when it ended; None where it did not."""
        return next((each for each in self.read(STAGES, StageDone) if each.stage == stage), None)


def begun_with(path: Path) -> dict[str, Any] | None:
    """The configuration that a run was begun with; None where there is no run. UsageError for another kind of run."""
    if not (path / MARK).is_file():
        if (path / CONFIG).exists() and (path / "manifest.json").exists():
            raise UsageError(f"{path} is a run of another command, not of musacoder synth")
        return None
    return _config(path)


def _require_same(path: Path, config: SynthConfig) -> None:
    if changes := changed_keys(_config(path), yaml.safe_load(yaml.safe_dump(plain(config))), FREE):
        raise UsageError(
            f"{path} was begun with another configuration ({shortened(changes)}): "
            "go on with the old one, or give the new run another name"
        )


def _config(path: Path) -> dict[str, Any]:
    try:
        mark = json.loads((path / MARK).read_text(encoding="utf-8"))
        data = yaml.safe_load((path / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        raise UsageError(f"the run in {path} is damaged: {CONFIG} or {MARK} cannot be read") from None
    if not isinstance(data, dict) or not isinstance(mark, dict):
        raise UsageError(f"the run in {path} is damaged: {CONFIG} or {MARK} holds something else")
    if mark.get("schema_version", 0) > SCHEMA_VERSION:
        raise UsageError(f"{path} was written by a newer version: update musacoder")
    return data
