"""`RunFolder`: one run on the disk, read by anybody, written by one process and its threads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import yaml

from mooreeval.errors import NotJudged, UsageError
from mooreeval.locks import unlock
from mooreeval.render import strict_json
from musacoder.runlog.drift import changed_keys, shortened
from musacoder.runlog.lines import Lines, read_line, read_lines
from musacoder.runlog.records import SCHEMA_VERSION, Judged, Key, Manifest, Sample, record_of
from musacoder.runlog.whole import locked, write_whole

CONFIG, MANIFEST, SAMPLES, VERDICTS, METRICS = (
    "config.yaml",
    "manifest.json",
    "samples.jsonl",
    "verdicts.jsonl",
    "metrics.jsonl",
)
LOCK = ".lock"
_NOT_COMPARED = ("created_at", "config_hash", "name", "schema_version")  # of the manifest, on resuming

R = TypeVar("R", Sample, Judged)


class RunFolder:
    """A run. `open` reads it; `create` and `resume` write to it, and are context managers that hold its lock.

    Writing is safe from several threads. Only keys and offsets are held in memory, never answers.
    """

    def __init__(self, path: Path, manifest: Manifest, config: dict[str, Any], lock: int | None = None) -> None:
        self.path, self.manifest, self.config = path, manifest, config
        self._lock = lock
        self._guard = threading.Lock()
        self._offsets: dict[str, dict[Key, int]] = {SAMPLES: {}, VERDICTS: {}}
        self._files: dict[str, Lines] = {}

    @classmethod
    def exists(cls, path: str | Path) -> bool:
        """Whether there is a run, begun if not finished, in that folder."""
        return (Path(path) / MANIFEST).is_file()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """A run to read, also while another process writes to it.

        Raises UsageError: there is no run, it is damaged, or a newer version wrote it.
        """
        folder = Path(path)
        return cls(folder, _manifest(folder), _config(folder))

    @classmethod
    def create(cls, path: str | Path, manifest: Manifest, config: Mapping[str, Any]) -> Self:
        """A new run, ready to be written to.

        Raises UsageError: there is one already, or the folder can't be made.
        """
        folder = Path(path)
        if cls.exists(folder):
            raise UsageError(f"there is a run in {folder} already")
        lock = locked(folder, LOCK)
        try:
            write_whole(folder / CONFIG, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
            write_whole(folder / MANIFEST, strict_json(manifest, indent=2) + "\n")  # last: from here on it is a run
            return cls(folder, manifest, dict(config), lock)._ready_to_write()
        except BaseException:
            unlock(lock)
            raise

    @classmethod
    def resume(
        cls,
        path: str | Path,
        manifest: Manifest,
        config: Mapping[str, Any],
        *,
        free: Iterable[str] = (),
        understood: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    ) -> Self:
        """An existing run, ready to be written to, its torn last lines cut off.

        Args:
            manifest: what would be run now; `created_at` and `name` may differ.
            config: the configuration now.
            free: dotted keys of it that may differ because they change no result.
            understood: what the configuration that the run was begun with means now; fields may be new since then.

        Raises:
            UsageError: no run, a run that another process writes to, or a changed configuration, its keys named.
        """
        folder = Path(path)
        lock = locked(folder, LOCK)
        try:
            run = cls(folder, _manifest(folder), _config(folder), lock)
            run._require_same(manifest, understood(run.config), config, free)
            return run._ready_to_write()
        except BaseException:
            unlock(lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the lock back; idempotent. What was written is on the disk already."""
        for file in self._files.values():
            file.close()
        if self._lock is not None:
            unlock(self._lock)
        self._lock = None

    # ---------------------------------------------------------------------------------------------------------- reading
    def samples(self) -> Iterator[Sample]:
        """Every sample, in the order in which they were written; of one that was asked again, the last."""
        return self._records(SAMPLES, Sample)

    def verdicts(self) -> Iterator[Judged]:
        """Every judgement, in the order in which they were written; of one that was made again, the last."""
        return self._records(VERDICTS, Judged)

    def metrics(self) -> Iterator[Mapping[str, Any]]:
        """Every summing up, in the order in which they were written."""
        return (data for _offset, _place, data in read_lines(self.path / METRICS))

    def has_sample(self, key: Key) -> bool:
        """Whether that answer, or its failure, is recorded. Of a run that is written to."""
        return key in self._offsets[SAMPLES]

    def has_verdict(self, key: Key) -> bool:
        """Whether that answer is judged. Of a run that is written to."""
        return key in self._offsets[VERDICTS]

    def sample(self, key: Key) -> Sample:
        """One sample of a run that is written to; KeyError where there is none."""
        return self._record(SAMPLES, Sample, key)

    def verdict(self, key: Key) -> Judged:
        """One judgement of a run that is written to; KeyError where there is none."""
        return self._record(VERDICTS, Judged, key)

    # ---------------------------------------------------------------------------------------------------------- writing
    def add_sample(self, sample: Sample) -> None:
        """Append a sample; ValueError where its key is there already."""
        self._add(SAMPLES, sample)

    def add_verdict(self, judged: Judged) -> None:
        """Append a judgement; ValueError where its key is there already, or its sample is not."""
        if not self.has_sample(judged.key):
            raise ValueError(f"there is no sample {judged.key} to judge")
        self._add(VERDICTS, judged)

    def replace_sample(self, key: Key) -> None:
        """Let a sample without an answer be written once more; readers take the last."""
        self._offsets[SAMPLES].pop(key)

    def replace_verdict(self, key: Key) -> None:
        """Let a judgement without a verdict be written once more; readers take the last."""
        self._offsets[VERDICTS].pop(key)

    def add_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Append how the run was summed up."""
        self._file(METRICS).append(strict_json({"schema_version": SCHEMA_VERSION, **metrics}))

    # -------------------------------------------------------------------------------------------------------- internals
    def _records(self, name: str, kind: type[R]) -> Iterator[R]:
        last = {_key_in(data): offset for offset, _place, data in read_lines(self.path / name)}
        for offset, place, data in read_lines(self.path / name):
            if last.get(_key_in(data), offset) == offset:
                yield record_of(kind, data, place)

    def _record(self, name: str, kind: type[R], key: Key) -> R:
        path = self.path / name
        return record_of(kind, read_line(path, self._offsets[name][key]), str(path))

    def _add(self, name: str, record: Sample | Judged) -> None:
        text, key, known = strict_json(record), record.key, self._offsets[name]
        with self._guard:
            if key in known:
                raise ValueError(f"{self.path / name} has {key} already")
            known[key] = -1  # taken, while it is written
        try:
            known[key] = self._file(name).append(text)
        except BaseException:
            known.pop(key, None)
            raise

    def _file(self, name: str) -> Lines:
        if name not in self._files:
            raise NotJudged(f"{self.path} is not open for writing")
        return self._files[name]

    def _ready_to_write(self) -> Self:
        self._files = {name: Lines(self.path / name) for name in (SAMPLES, VERDICTS, METRICS)}
        for name, kind in ((SAMPLES, Sample), (VERDICTS, Judged)):
            known = self._offsets[name]
            for offset, place, data in read_lines(self.path / name):
                known[record_of(kind, data, place).key] = offset
        return self

    def _require_same(
        self, manifest: Manifest, before: Mapping[str, Any], config: Mapping[str, Any], free: Iterable[str]
    ) -> None:
        changes = changed_keys(_plain(before), _plain(config), free)
        changes = changes or changed_keys(_compared(self.manifest), _compared(manifest))
        if changes:
            raise UsageError(
                f"{self.path} was begun with another configuration ({shortened(changes)}): "
                "go on with the old one, or give the new run another name"
            )


def _key_in(data: Any) -> tuple[Any, ...]:
    """The key of a line that is not checked yet."""
    return tuple(str(data.get(name)) for name in Key._fields) if isinstance(data, Mapping) else ()


def _compared(manifest: Manifest) -> dict[str, Any]:
    """The manifest by keys that say what changed: a task by its name, not by its place in a list."""
    data = manifest.model_dump(mode="json", exclude={*_NOT_COMPARED, "tasks"})
    return {**data, "tasks": {task.name: task.model_dump(mode="json", exclude={"name"}) for task in manifest.tasks}}


def _plain(config: Mapping[str, Any]) -> Any:
    """As it reads from YAML, so that the same configuration compares equal."""
    return yaml.safe_load(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))


def _manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    return record_of(Manifest, _read(path, json.loads, folder), str(path))


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    data = _read(path, yaml.safe_load, folder)
    if not isinstance(data, dict):
        raise UsageError(f"{path} is damaged: it holds no configuration")
    return data


def _read(path: Path, parse: Callable[[str], Any], folder: Path) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no run in {folder}: it has no {path.name}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError, yaml.YAMLError):
        raise UsageError(f"{path} is damaged: it cannot be read") from None
