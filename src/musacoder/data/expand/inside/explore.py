"""Tries one class: arguments by which it can be made, inputs on which it runs, and whether it is fit to be a task."""

from __future__ import annotations

import ast
import inspect
import signal
import sys
import time
import types
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from mooreeval.execute.fake_run import compiler_left_out
from musacoder.data.expand import guesses
from musacoder.data.expand.guesses import Hints, Layer, Parameter
from musacoder.data.expand.inside.watching import Seen, Unfit, watched
from musacoder.data.expand.records import Reason

TRY_SECONDS = 3.0
MOST_SHAPES = 60  # tried for one way to make a module
MOST_FITS = 30  # other configurations tried
MOST_PARAMETERS = 30_000_000
MOST_WORDS = 200  # of an error's message


class TooLong(BaseException):
    """One try took too long. No Exception: modules catch those."""


@dataclass
class _Search:
    """One class, what was found so far, and the last obstacle."""

    kind: type[torch.nn.Module]
    most: int
    deadline: float
    found: list[dict[str, Any]] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)
    obstacle: tuple[Reason, str] = (Reason.NO_ARGUMENTS, "no arguments were tried")


def explore(code: str, name: str, most: int, seconds: float) -> dict[str, Any]:
    """`found`: up to `most` configurations; where there are none `reason` and `message` say why."""
    torch.set_num_threads(1)
    try:
        namespace = _loaded(code)
        kind = namespace[name]
    except (Exception, SystemExit) as error:  # noqa: BLE001  it is somebody's code
        return _answer([], *_told(error, Reason.FAILS_TO_LOAD))
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        return _answer([], Reason.FAILS_TO_LOAD, "it is no torch.nn.Module once it is loaded")
    if kind.forward is torch.nn.Module.forward:
        return _answer([], Reason.ABSTRACT, "it has no forward of its own")
    search = _Search(kind, most, time.monotonic() + seconds)
    with compiler_left_out():  # noting operators loads it, for seconds, only to tell it to stay away
        _search(search)
    return _answer(search.found, *(search.obstacle if not search.found else (None, "")))


def _answer(found: list[dict[str, Any]], reason: Reason | None, message: str) -> dict[str, Any]:
    return {"found": found, "reason": reason and reason.value, "message": message}


def _loaded(code: str) -> dict[str, Any]:
    module = types.ModuleType("module_under_trial")
    sys.modules[module.__name__] = module
    exec(compile(code, "<module>", "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def _search(search: _Search) -> None:
    parameters = signature(search.kind.__init__)
    for arguments in guesses.constructors(parameters):
        if time.monotonic() > search.deadline:
            return
        if (inputs := _first_fit(search, arguments)) is not None:
            _vary(search, arguments, inputs, parameters)
            return


def _first_fit(search: _Search, arguments: dict[str, str]) -> tuple[str, ...] | None:
    """Inputs on which a module of these arguments is fit; what stands in the way is kept."""
    module = _made(search, arguments)
    if module is None:
        return None
    parameters = signature(search.kind.forward, takes_any=True)
    if not parameters:
        search.obstacle = (Reason.NO_INPUTS, "its forward takes nothing")
        return None
    hints = hints_of(module, arguments, signature(search.kind.__init__))
    is_near = False  # did it run at all?
    for number, shape in enumerate(guesses.main_inputs(hints)):
        if number >= MOST_SHAPES or time.monotonic() > search.deadline:
            break
        for inputs in guesses.inputs(parameters, shape):
            ran = _tried(search, module, arguments, inputs, keep_obstacle=is_near)
            if ran is None:
                continue
            if ran:
                return inputs
            is_near = True
            if search.obstacle[0] in (Reason.RANDOMNESS, Reason.UNSTABLE_CONTROL_FLOW):
                return None
    return None


def _vary(search: _Search, base: dict[str, str], inputs: tuple[str, ...], parameters: Sequence[Parameter]) -> None:
    """More configurations of a class of which one is fit."""
    for tries, arguments in enumerate(guesses.variations(base, parameters)):
        if len(search.found) >= search.most or tries >= MOST_FITS or time.monotonic() > search.deadline:
            return
        module = _made(search, arguments)
        if module is None:
            continue
        if not _tried(search, module, arguments, inputs, keep_obstacle=True):
            before = len(search.found)
            hints = hints_of(module, arguments, parameters)
            for shape in [s for s, _ in zip(guesses.main_inputs(hints), range(8), strict=False)]:
                for others in guesses.inputs(signature(search.kind.forward, takes_any=True), shape):
                    if len(search.found) == before:
                        _tried(search, module, arguments, others, keep_obstacle=True)


def _made(search: _Search, arguments: dict[str, str]) -> torch.nn.Module | None:
    """A module in evaluation mode whose weights are no zeros and ones alone; None where it cannot be made."""
    try:
        with _within(TRY_SECONDS):
            torch.manual_seed(0)
            values = {name: _value(text) for name, text in arguments.items()}
            module = search.kind(**values).eval()
            randomise(module)
    except (Exception, SystemExit, TooLong) as error:  # noqa: BLE001
        if search.obstacle[0] is Reason.NO_ARGUMENTS:
            search.obstacle = _told(error, Reason.NO_ARGUMENTS)
        return None
    count = sum(p.numel() for p in module.parameters())
    if count > MOST_PARAMETERS:
        search.obstacle = (Reason.TOO_LARGE, f"it has {count} weights")
        return None
    return module


def _tried(
    search: _Search, module: torch.nn.Module, arguments: dict[str, str], inputs: tuple[str, ...], *, keep_obstacle: bool
) -> bool | None:
    """Whether it is fit on these inputs, and noted; None where it does not run on them."""
    try:
        with _within(TRY_SECONDS):
            torch.manual_seed(0)
            values = [_value(text) for text in inputs]
            seen = watched(module, values)
    except Unfit as unfit:
        search.obstacle = (unfit.reason, str(unfit))
        return False
    except (Exception, SystemExit, TooLong) as error:  # noqa: BLE001
        if not keep_obstacle:
            search.obstacle = _told(error, Reason.NO_INPUTS)
        return None
    return _noted(search, module, arguments, inputs, seen)


def _noted(
    search: _Search, module: torch.nn.Module, arguments: dict[str, str], inputs: tuple[str, ...], seen: Seen
) -> bool:
    """Equal operators on equal shapes are one configuration."""
    key = (seen.operators, seen.shapes, tuple(tuple(p.shape) for p in module.parameters()))
    if key in search.seen:
        return True
    search.seen.add(key)
    search.found.append(
        {
            "arguments": arguments,
            "inputs": list(inputs),
            "operators": sorted(set(seen.operators)),
            "has_neutral_weights": has_neutral_weights(module, search, arguments),
        }
    )
    return True


def has_neutral_weights(module: torch.nn.Module, search: _Search, arguments: dict[str, str]) -> bool:
    """Whether weights that are made by it are all zeros or ones before anything changes them."""
    torch.manual_seed(0)
    fresh = search.kind(**{name: _value(text) for name, text in arguments.items()})
    return any(is_neutral(tensor) for tensor in fresh.state_dict().values())


def is_neutral(tensor: torch.Tensor) -> bool:
    """Whether it is floating, and all its elements are one number."""
    return tensor.is_floating_point() and tensor.numel() > 0 and float(tensor.min()) == float(tensor.max())


def randomise(module: torch.nn.Module) -> None:
    """As a task's `Model` does (`module_task.NEUTRAL`)."""
    with torch.no_grad():
        for tensor in module.state_dict().values():
            if is_neutral(tensor):
                tensor.uniform_(0.5, 1.5)


def _value(text: str) -> Any:
    return eval(text, {"torch": torch, "__builtins__": {"True": True, "False": False, "None": None}})


@contextmanager
def _within(seconds: float) -> Generator[None]:
    """TooLong in what takes longer, as far as Python sees it; the rest is for the judge's deadline."""

    def stop(_signal: int, _frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _told(error: BaseException, otherwise: Reason) -> tuple[Reason, str]:
    """Reason and one line. What the sandbox refused was external."""
    if isinstance(error, TooLong):
        return Reason.HANGS, f"one try took longer than {TRY_SECONDS:g} s"
    if isinstance(error, NotImplementedError) and otherwise is Reason.NO_INPUTS:
        return Reason.ABSTRACT, "its forward is not implemented"
    reason = Reason.EXTERNAL_STATE if isinstance(error, (OSError, EOFError)) else otherwise
    if isinstance(error, ImportError):
        reason = Reason.NOT_SELF_CONTAINED
    if isinstance(error, SystemExit):
        reason = Reason.ENDS_PROCESS
    try:
        words = " ".join(str(error).split())[:MOST_WORDS]
    except Exception:  # noqa: BLE001
        words = ""
    return reason, f"{type(error).__name__}: {words}"


def signature(function: Any, *, takes_any: bool = False) -> list[Parameter]:
    """Its parameters after the first, without those that collect the rest.

    `takes_any`: of a function that only collects there is one.
    """
    try:
        every = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        return []
    collecting = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    kept = [p for p in every if p.kind not in collecting]
    if not kept and any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in every):
        return [Parameter("x")] if takes_any else []
    return [Parameter(p.name, str(p.annotation) if p.annotation is not p.empty else "", _default(p)) for p in kept]


def _default(parameter: inspect.Parameter) -> str:
    return guesses.REQUIRED if parameter.default is inspect.Parameter.empty else repr(parameter.default)[:100]


_CHANNELS = ("in_", "inp", "dim", "chan", "chs", "embed", "feat", "width", "hidden", "planes", "d_model")
_SIZES = ("img", "size", "resolution", "feat_size", "grid")


def hints_of(module: torch.nn.Module, arguments: dict[str, str], parameters: Sequence[Parameter]) -> Hints:
    """What a module's layers and arguments tell of its input."""
    numbers: list[int] = []
    sizes: list[int] = []
    texts = {p.name: arguments.get(p.name, p.default) for p in parameters}
    for name, text in texts.items():
        for value in _whole_numbers(text):
            if name in _SIZES or (any(word in name for word in ("size", "resolution")) and "kernel" not in name):
                sizes.append(value)
            elif any(word in name for word in _CHANNELS):
                numbers.append(value)
    others = [v for text in arguments.values() for v in _whole_numbers(text)]
    good = [n for n in (*numbers, *others) if 2 < n <= 4096]
    return Hints(tuple(_layers(module)), tuple(dict.fromkeys(good)), tuple(s for s in sizes if 3 < s <= 256))


def _whole_numbers(text: str) -> Iterator[int]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return
    for item in value if isinstance(value, (tuple, list)) else (value,):
        if type(item) is int:
            yield item


def _layers(module: torch.nn.Module) -> Iterator[Layer]:
    """The first layers in the order in which they were made."""
    for layer in list(module.modules())[:40]:
        match layer:
            case torch.nn.Conv1d() | torch.nn.Conv2d() | torch.nn.Conv3d():
                yield Layer(f"conv{len(layer.kernel_size)}d", layer.in_channels)
            case torch.nn.BatchNorm2d() | torch.nn.InstanceNorm2d():
                yield Layer("conv2d", layer.num_features)
            case torch.nn.GroupNorm():
                yield Layer("conv2d", layer.num_channels)
            case torch.nn.Linear():
                yield Layer("linear", layer.in_features)
            case torch.nn.LayerNorm():
                yield Layer("norm", int(layer.normalized_shape[-1]))
