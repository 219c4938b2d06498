"""`musacoder rl`, before anything heavy is imported: the configuration, the tasks, the run's folder. No torch.

recipe ──> configuration ──> tasks ──> folder ──> rl_run.Assembly ──> stages ──> model/
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mooreeval.backends import choose_backend
from mooreeval.config_reading import validated_as
from mooreeval.errors import UsageError
from mooreeval.execute.seeds import new_secret
from mooreeval.hashing import content_hash
from mooreeval.render import strict_json
from mooreeval.task import Task
from musacoder.config import plain, read_config
from musacoder.data.splits import test_tasks
from musacoder.session import tell
from musacoder.suites import load_suite
from musacoder.train.folder import TrainingFolder
from musacoder.train.rl_config import FREE, RlConfig
from musacoder.train.sft import stage_words, told_by

OK = 0
_EXTRA = "pip install 'musacoder[train]'"
_TOP_P = (
    "sampling.top_p is below 1: tokens are drawn from another distribution than the one whose log-probabilities are "
    "trained on, so every ratio is biased"
)


def configuration(
    path: Path, recipe: Path | None, settings: Iterable[str], options: Mapping[str, Any] | None = None
) -> RlConfig:
    """The configuration of a run; where it exists and no recipe is named, what is not given is as it was begun with."""
    begun = TrainingFolder(path, writes=False).begun()
    config = read_config(RlConfig, recipe, settings, options, base=begun if recipe is None else None)
    if config.model is None:
        raise UsageError("name what to train: --model PATH_OR_ID, or `model` in a recipe")
    if config.tasks.source is None:
        raise UsageError("name what to train on: --tasks SUITE, or `tasks.source` in a recipe")
    seed = config.verify.seed or (begun or {}).get("verify", {}).get("seed") or new_secret()
    verify = {**config.verify.model_dump(), "backend": choose_backend(config.verify.backend), "seed": seed}
    return validated_as(RlConfig, {**config.model_dump(), "verify": verify}, origin="configuration")


def run_rl(config: RlConfig, path: Path, *, as_json: bool, verbose: bool) -> int:
    """Begin the training in `path`, or go on with it, for one stage; 0, whether it is finished or not."""
    began = time.monotonic()
    is_first = int(os.environ.get("RANK", "0")) == 0
    tasks = _training_tasks(config)
    if config.sampling.top_p < 1 and is_first:
        print(f"warning: {_TOP_P}", file=sys.stderr)
    # DeepSpeed and others write to where standard output is when they are imported; it is for the result alone.
    with TrainingFolder(path, writes=is_first) as folder, contextlib.redirect_stdout(sys.stderr):
        done = _stage(config, folder, tasks, began, verbose=verbose)
    if is_first and as_json:
        print(strict_json({"run": str(path), **done}, indent=2))
    elif is_first:
        tell(stage_words("rl", done, path))
    return OK


def _training_tasks(config: RlConfig) -> list[Task]:
    """UsageError where a task of a fixed test set is among them: a table of it would mean nothing afterwards."""
    tasks = [item.task for item in load_suite(config.tasks).tasks]
    if tested := sum(task.task_hash in test_tasks() for task in tasks):
        raise UsageError(f"{config.tasks.source}: {tested} of its {len(tasks)} tasks belong to test sets")
    return tasks


def _stage(
    config: RlConfig, folder: TrainingFolder, tasks: list[Task], began: float, *, verbose: bool
) -> dict[str, Any]:
    try:
        from musacoder.train import loading, rl_run
    except ImportError as error:
        raise UsageError(f"training needs {error.name}: {_EXTRA}") from None
    loading.quiet()
    arguments = rl_run.arguments_of(config, folder)
    identities = {"tasks": content_hash(sorted(task.task_hash for task in tasks))}
    is_first = arguments.process_index == 0
    with arguments.main_process_first(local=False):
        _begin(config, folder, identities, writes=is_first)
    told = told_by(is_first, verbose)
    assembly = rl_run.Assembly(config, folder, tasks, arguments, told)
    stage = rl_run.RlStage(folder, config, began, told)
    try:
        finished = rl_run.go_on(assembly, stage, folder.last_checkpoint())
        if finished and not folder.model.is_dir():
            loading.export(assembly.trainer, assembly.tokenizer, folder)
    finally:
        assembly.close()
    if stage.interrupted:
        raise KeyboardInterrupt
    state = assembly.trainer.state
    seconds = round(time.monotonic() - began, 1)
    return {"finished": finished, "step": state.global_step, "steps": state.max_steps, "seconds": seconds}


def _begin(config: RlConfig, folder: TrainingFolder, identities: Mapping[str, str], *, writes: bool) -> None:
    """Check a run against what it was begun with, or write down what it begins with."""
    if folder.begun() is not None:
        folder.require_same("rl", plain(config), identities, FREE)
    elif writes:
        folder.begin("rl", plain(config), identities)
    if writes:
        folder.remove_torn()
