"""Builds in the cache: what an extension became, or why it did not. Both are kept by content; deadlines are not."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooreeval.cache import FileCache
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension
from mooreeval.verdict import Diagnostic

_LIBRARY, _RECORD = "module.so", "build.json"


@dataclass(frozen=True)
class Built:
    """A shared object in a scratch folder, with what the compiler said of it."""

    library: Path
    cpu_seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    tier: str = ""


class KeptBuilds:
    """Entries of a `FileCache` that hold one build each."""

    def __init__(self, cache: FileCache) -> None:
        self._cache = cache

    def get(self, key: str, extension: Extension, module_name: str) -> Artefact | BuildFailure | None:
        """The build under this key; None where there is none."""
        folder = self._cache.get(key)
        if folder is None:
            return None
        try:
            record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
            return _build_from(record, extension, module_name, folder / _LIBRARY)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):  # not what `put` wrote: it would stay so
            self._cache.drop(key)
            return None

    def has(self, artefact: Artefact) -> bool:
        """Is an artefact of `get` or `put` still as it was?"""
        return self._cache.get(artefact.path.parent.name) == artefact.path.parent

    def put(
        self, key: str, extension: Extension, module_name: str, built: Built | BuildFailure
    ) -> Artefact | BuildFailure:
        """Keep a build, and return it as `get` would, with the CPU seconds that it took."""
        if isinstance(built, BuildFailure):
            self._cache.put(key, lambda folder: _write(folder, {"failure": _failure_record(built)}))
            return built

        def write(folder: Path) -> None:
            shutil.move(built.library, folder / _LIBRARY)
            marks = [d.model_dump(mode="json") for d in built.diagnostics]
            record = {"failure": None, "warnings": list(built.warnings), "diagnostics": marks, "tier": built.tier}
            _write(folder, record)

        path = self._cache.put(key, write) / _LIBRARY
        return Artefact(
            extension.content_hash(),
            module_name,
            path,
            built.cpu_seconds,
            built.warnings,
            built.diagnostics,
            built.tier,
        )


def _write(folder: Path, record: dict[str, Any]) -> None:
    (folder / _RECORD).write_text(json.dumps(record), encoding="utf-8")


def _build_from(
    record: dict[str, Any], extension: Extension, module_name: str, library: Path
) -> Artefact | BuildFailure:
    if record["failure"]:
        return _failure_from(record["failure"])
    return Artefact(
        extension_hash=extension.content_hash(),
        module_name=module_name,
        path=library,
        warnings=tuple(record["warnings"]),
        diagnostics=_diagnostics_from(record["diagnostics"]),
        tier=record.get("tier", ""),
    )


def _failure_record(failure: BuildFailure) -> dict[str, Any]:
    fields = {name: getattr(failure, name) for name in ("kind", "reason", "feature", "rule", "log_tail", "tier")}
    return {**fields, "diagnostics": [d.model_dump(mode="json") for d in failure.diagnostics]}


def _failure_from(record: dict[str, Any]) -> BuildFailure:
    fields: dict[str, Any] = {**record, "diagnostics": _diagnostics_from(record["diagnostics"])}
    return BuildFailure(**fields)


def _diagnostics_from(marks: list[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic.model_validate(mark) for mark in marks)
