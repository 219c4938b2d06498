"""What `bench` and `generate` share: which run, with which configuration, judge and manifest."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from mooreeval.backends import choose_backend
from mooreeval.config_reading import validated_as
from mooreeval.errors import UsageError
from mooreeval.execute.seeds import new_secret
from mooreeval.hashing import content_hash
from mooreeval.verify import LocalVerifier, versions
from musacoder.config import FREE, BenchConfig, GenerateConfig, RftConfig, plain, read_config
from musacoder.models import Model
from musacoder.pipeline import NoMoreAnswers
from musacoder.prompts import Templates, rehearse, target_of
from musacoder.runlog import Manifest, RunFolder, TaskEntry
from musacoder.suites import SuiteTask

RUNS = Path("runs")
Kind = Literal["bench", "generate", "rft"]
C = TypeVar("C", BenchConfig, GenerateConfig, RftConfig)
_KINDS: dict[type, Kind] = {BenchConfig: "bench", GenerateConfig: "generate", RftConfig: "rft"}


def run_path(name: str | None, *parts: str) -> Path:
    """The folder of a run: a path as it is, a name below `runs/`, else a new name made of the parts and the time."""
    if name is not None:
        if not name.strip() or name.strip() in (".", ".."):
            raise UsageError(f"--run {name!r} names no folder")
        return Path(name) if "/" in name else RUNS / name
    last = [part.rstrip("/").rpartition("/")[2].removesuffix(".py") for part in parts]
    words = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in last]
    return RUNS / "-".join([*filter(None, words), time.strftime("%Y%m%d-%H%M%S")])


def configuration(
    kind: type[C], path: Path, file: Path | None, settings: Iterable[str], options: Mapping[str, Any]
) -> C:
    """The configuration of a run, its backend chosen and its seed drawn.

    Where the run exists, what is not given is as it was begun with; what a file says is taken whole.
    """
    begun = _begun(kind, path) if RunFolder.exists(path) else None
    base = None if begun is None or file is not None else _readable(kind, begun, path)
    config = read_config(kind, file, settings, options, base=base)
    seed = config.verify.seed or (begun or {}).get("verify", {}).get("seed") or new_secret()
    verify = {**config.verify.model_dump(), "backend": choose_backend(config.verify.backend), "seed": seed}
    return validated_as(kind, {**config.model_dump(), "verify": verify}, origin="configuration")


def _begun(kind: type[C], path: Path) -> dict[str, Any]:
    run, wanted = RunFolder.open(path), _KINDS[kind]
    if run.manifest.kind != wanted:
        raise UsageError(f"{path} is a run of musacoder {run.manifest.kind}, not of {wanted}")
    return run.config


def _readable(kind: type[C], begun: Mapping[str, Any], path: Path) -> dict[str, Any]:
    validated_as(kind, begun, origin=f"{path}/config.yaml")  # told as that file's fault, not as an option's
    return dict(begun)


def manifest_of(
    kind: Kind,
    path: Path,
    config: BenchConfig | GenerateConfig,
    suite: str,
    tasks: Iterable[SuiteTask],
    turns: int,
    verifier: LocalVerifier,
) -> Manifest:
    """What would be run now."""
    verify = verifier.config
    return Manifest(
        name=path.name,
        kind=kind,
        model=config.model.name or "",
        suite=suite,
        samples=config.samples,
        turns=turns,
        backend=verify.backend,
        policy=verify.policy,
        protocol=verify.protocol,
        evidence="device" if verifier.device_name else "emulation",
        device=verifier.device_name,
        versions={**versions(), "prompts": Templates(config.prompt.templates).content_hash()[:12]},
        config_hash=content_hash(plain(config)),
        created_at=time.time(),
        tasks=tuple(TaskEntry(name=t.task.task_id, hash=t.task.task_hash, level=t.level) for t in tasks),
    )


def opened(path: Path, manifest: Manifest, config: BenchConfig | GenerateConfig) -> RunFolder:
    """The run, begun or taken up again. A template that is wrong begins none."""
    if RunFolder.exists(path):
        origin = f"{path}/config.yaml"

        def understood(begun: Mapping[str, Any]) -> Mapping[str, Any]:
            return plain(validated_as(type(config), dict(begun), origin=origin))

        return RunFolder.resume(path, manifest, plain(config), free=FREE, understood=understood)
    if config.prompt.templates is not None:
        target = target_of(manifest.backend, device=manifest.device, policy=config.verify.policy)
        rehearse(config.prompt, target)
    return RunFolder.create(path, manifest, plain(config))


def closing(model: Model, verifier: LocalVerifier) -> Callable[[], None]:
    """What frees whatever waits for model or verifier."""

    def close() -> None:
        model.close()
        verifier.close()

    return close


def stopped(error: NoMoreAnswers, command: str, path: Path) -> NoMoreAnswers:
    """The error with how to go on."""
    more = " (--again asks for what failed too)"
    return NoMoreAnswers(f"stopped: {error}; go on with: musacoder {command} --run {shown_run(path)}{more}")


def tell(line: str) -> None:
    """One line on standard error."""
    print(f"musacoder: {line}", file=sys.stderr, flush=True)


def shown_run(path: Path) -> str:
    """What `--run` takes for it."""
    return path.name if path.parent == RUNS else f"./{path}" if path.parent == Path() else str(path)
