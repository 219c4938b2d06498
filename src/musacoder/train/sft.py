"""`musacoder sft`: rows become a better model, in stages that any crash leaves whole.

    recipe ──> rows ──> tokens ──> plan ──> engine ──> model/

Several processes may run it, under `accelerate launch` or `torch.distributed.run`; the first prepares and writes.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.render import strict_json
from musacoder.config import plain
from musacoder.models.tokens import load_tokenizer
from musacoder.session import shown_run, tell
from musacoder.train.config import FREE, SftConfig, read_recipe
from musacoder.train.folder import TrainingFolder
from musacoder.train.mixture import weights_of
from musacoder.train.packing import Plan, plan_of
from musacoder.train.rows import Rows, content_of, read_rows
from musacoder.train.tokenizer import identity_of, make_tokenizer, saved, texts_of
from musacoder.train.tokens import TokenRows, kept_tokens

OK = 0
_TOKENIZER_ROWS = 20_000  # whose texts make a tokenizer
_EXTRA = "pip install 'musacoder[train]'"


@dataclass(frozen=True)
class Prepared:
    """What a training is made of."""

    tokenizer: Any
    tokens: TokenRows
    plan: Plan
    start: str  # folder or id of the checkpoint that training starts from


def configuration(
    path: Path, recipe: Path | None, settings: Iterable[str], options: Mapping[str, Any] | None = None
) -> SftConfig:
    """The configuration of a run; where it exists and no recipe is named, what is not given is as it was begun with."""
    begun = TrainingFolder(path, writes=False).begun() if recipe is None else None
    config = read_recipe(recipe, settings, options, base=begun)
    if config.model.name is None and config.model.size is None:
        raise UsageError("name what to train: a recipe, or --set model.name=PATH_OR_ID, or --set model.size=nano")
    return config


def run_sft(config: SftConfig, path: Path, *, as_json: bool, verbose: bool) -> int:
    """Begin the training in `path`, or go on with it, for one stage; 0, whether it is finished or not."""
    began = time.monotonic()
    is_first = int(os.environ.get("RANK", "0")) == 0
    # DeepSpeed and others write to where standard output is when they are imported; it is for the result alone.
    with TrainingFolder(path, writes=is_first) as folder, contextlib.redirect_stdout(sys.stderr):
        done = _stage(config, folder, began, told_by(is_first, verbose))
    if is_first and as_json:
        print(strict_json({"run": str(path), **done}, indent=2))
    elif is_first:
        tell(stage_words("sft", done, path))
    return OK


def told_by(is_first: bool, verbose: bool) -> Callable[[str], None]:
    """Lines of progress: one in ten seconds, all of them under -v, none from other processes than the first."""
    last = [0.0]

    def told(line: str) -> None:
        if is_first and (verbose or time.monotonic() - last[0] > 10):
            last[0] = time.monotonic()
            tell(line)

    return told


def stage_words(command: str, done: Mapping[str, Any], path: Path) -> str:
    """The line that ends a stage: what is next."""
    if done["finished"]:
        return f"all {done['steps']} steps are done; the model is {path}/model: musacoder bench --model hf:{path}/model"
    run = shown_run(path)
    return f"{done['step']} of {done['steps']} steps are done; go on with: musacoder {command} --run {run}"


def _stage(config: SftConfig, folder: TrainingFolder, began: float, told: Callable[[str], None]) -> dict[str, Any]:
    try:
        from musacoder.train import engine, loading
    except ImportError as error:
        raise UsageError(f"training needs {error.name}: {_EXTRA}") from None
    loading.quiet()
    arguments = engine.arguments_of(config.train, folder)
    with arguments.main_process_first(local=False):
        prepared = _prepared(config, folder, told, writes=arguments.process_index == 0)
    checkpoint = folder.last_checkpoint()
    if checkpoint is not None:
        loading.require_vocabulary(str(checkpoint), prepared.tokenizer)
    model = loading.load(prepared.start, config, prepared.tokenizer)
    after = engine.tokens_after(prepared.plan, prepared.tokens, config.train.batch)
    stage = engine.Stage(folder, config.train, after, began, told)
    trainer = engine.trainer_of(
        model, prepared.tokenizer, arguments, config.train, prepared.plan, prepared.tokens, stage
    )
    finished = engine.train(trainer, stage, checkpoint)
    if finished and not folder.model.is_dir():
        loading.export(trainer, prepared.tokenizer, folder)
    if stage.interrupted:
        raise KeyboardInterrupt
    state = trainer.state
    return {
        "finished": finished, "step": state.global_step, "steps": state.max_steps,
        "tokens": int(after[state.global_step]), "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def _prepared(config: SftConfig, folder: TrainingFolder, told: Callable[[str], None], *, writes: bool) -> Prepared:
    """Tokens, plan and start of a run, checked against what it was begun with; written where they are not there yet."""
    rows = read_rows(config.data)
    weights = weights_of(config.mixture, rows.kinds, rows.families)
    begun = folder.begun()
    identities = {"data": content_of(config.data)}
    if begun is not None:
        folder.require_same("sft", plain(config), identities, FREE)
    tokenizer, start = _start(config, folder, rows)
    identity = content_hash([identities["data"], identity_of(tokenizer)])
    tokens = kept_tokens(folder.tokens, rows, tokenizer, identity)
    if writes:
        folder.remove_torn()
        if begun is None:
            folder.begin("sft", plain(config), identities)
    return Prepared(tokenizer, tokens, _plan(config, rows, tokens, weights, told), start)


def _start(config: SftConfig, folder: TrainingFolder, rows: Rows) -> tuple[Any, str]:
    """The tokenizer, and what is loaded: a named checkpoint, or one that is made here from nothing."""
    from musacoder.train import loading

    model = config.model
    if model.name is not None:
        tokenizer = load_tokenizer(model.tokenizer or model.name)
        loading.require_vocabulary(model.name, tokenizer)
        return tokenizer, model.name
    assert model.size is not None
    size = model.size

    def make(part: Path) -> None:
        from musacoder.train.from_scratch import create

        if model.tokenizer is None:
            made = make_tokenizer(texts_of(rows.prompts, rows.completions, _TOKENIZER_ROWS), model.vocabulary)
            saved(made, part)  # and read again, so that the first stage has what later ones have
        create(size, load_tokenizer(model.tokenizer or str(part)), model.context_tokens, model.seed, part)

    start = folder.made(folder.start, make)
    return load_tokenizer(str(start)), str(start)


def _plan(config: SftConfig, rows: Rows, tokens: TokenRows, weights: np.ndarray, told: Callable[[str], None]) -> Plan:
    train = config.train
    fits = tokens.lengths <= train.sequence_tokens
    if not (weights * fits).sum() > 0:
        raise UsageError(f"train.sequence_tokens: no row is as short as {train.sequence_tokens} tokens")
    plan = plan_of(
        tokens.lengths, weights * fits, train.epochs, train.seed, train.sequence_tokens, packing=train.packing
    )
    if train.steps is not None:
        plan = plan.first(train.steps * train.batch, tokens.lengths)
    filled = plan.tokens / (len(plan) * train.sequence_tokens)
    told(
        f"{len(rows)} rows, {int((~fits).sum())} of them too long; {plan.tokens:,} tokens in {len(plan):,} sequences, "
        f"{filled:.0%} full"
    )
    return plan
