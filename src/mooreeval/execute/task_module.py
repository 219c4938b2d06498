"""Task code, executed: only in children that may be lost (the reference child), never in the judge.

    code -> load_task_module -> TaskModule -> make_inputs(seed), make_model(weight_seed), init_inputs()

Everything the task does wrong is a TaskError of one line; the task's own stack frames are attached as a note.
On the CPU a task runs as if written for it: what it places on an accelerator is created on the CPU instead.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import random
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mooreeval.errors import TaskError
from mooreeval.execute.tensors import map_tensors
from mooreeval.task import INIT_INPUTS_NAME, INPUTS_NAME, MODEL_NAME

_ACCELERATORS = ("cuda", "musa", "xpu", "mps", "hip")
_SCALARS = (int, float, bool, str, type(None))
_serial = itertools.count()


class OnCpu(TorchFunctionMode):
    """Creates and keeps on the CPU whatever the code asks to have on an accelerator."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in (*_ACCELERATORS, "pin_memory") and args and isinstance(args[0], torch.Tensor):
            return args[0]
        kwargs = {key: _on_cpu(value) for key, value in (kwargs or {}).items()}
        if name in ("to", "type", "set_default_device"):
            args = tuple(_on_cpu(value) for value in args)
        return func(*args, **kwargs)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type in _ACCELERATORS:
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] in _ACCELERATORS:
        return "cpu"
    return value


class TaskModule:
    """A task's executed module. Seeds as KernelBench does: the generator is seeded before each of the calls."""

    def __init__(self, module: types.ModuleType, name: str, device: str) -> None:
        self.name, self.device = name, device
        self._module = module
        self._weight_seed = 0

    def make_inputs(self, seed: int) -> list[Any]:
        """What `get_inputs()` returns under this seed, as a list with at least one tensor in it.

        Raises:
            TaskError: it raises, or returns something else.
        """
        inputs = self._on_device(self._called(INPUTS_NAME, seed, made_there=True))
        if not _holds_tensor(inputs):
            raise TaskError(f"task {self.name}: {INPUTS_NAME}() returns no tensor; there is nothing to compute on")
        return inputs

    def init_inputs(self) -> list[Any]:
        """The arguments of `Model`, under the seed of the last `make_model`: the same values that it was given."""
        if not hasattr(self._module, INIT_INPUTS_NAME):
            return []
        return self._called(INIT_INPUTS_NAME, self._weight_seed)

    def make_model(self, weight_seed: int) -> Any:
        """A new `Model`, with the weights that this seed gives.

        Raises:
            TaskError: it cannot be constructed.
        """
        self._weight_seed = weight_seed
        arguments = self.init_inputs()
        seed_generators(weight_seed)
        model = self._guarded(f"{MODEL_NAME}.__init__", lambda: getattr(self._module, MODEL_NAME)(*arguments))
        there = self.device == "cpu" or not isinstance(model, torch.nn.Module)
        return model if there else model.to(self.device)

    def forward(self, model: Any, inputs: list[Any]) -> Any:
        """One forward pass without gradients.

        Raises:
            TaskError: it raises, or returns no tensor.
        """
        with torch.no_grad():
            outputs = self._guarded(f"{MODEL_NAME}.forward", lambda: model(*inputs))
        if not _holds_tensor(outputs):
            raise TaskError(f"task {self.name}: {MODEL_NAME}.forward returns no tensor; a task returns at least one")
        return outputs

    def _on_device(self, value: Any) -> Any:
        return value if self.device == "cpu" else map_tensors(value, lambda t: t.to(self.device))

    def _called(self, function: str, seed: int, *, made_there: bool = False) -> list[Any]:
        """`made_there`: on the device itself where the code does not say otherwise, and works so."""
        call = getattr(self._module, function)
        if made_there and self.device != "cpu":
            with contextlib.suppress(Exception), torch.device(self.device):
                seed_generators(seed)
                return self._checked(function, call())
        seed_generators(seed)
        return self._checked(function, self._guarded(f"{function}()", call))

    def _checked(self, function: str, returned: Any) -> list[Any]:
        if not isinstance(returned, (list, tuple)):
            raise TaskError(
                f"task {self.name}: {function}() returns {_type_name(returned)}, not a list; return its values in [...]"
            )
        for position, value in enumerate(returned):
            _refuse_strange(value, f"task {self.name}: {function}()[{position}]")
        return list(returned)

    def _guarded(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            with OnCpu() if self.device == "cpu" else contextlib.nullcontext():
                return call()
        except (Exception, SystemExit) as error:
            raise _task_error(self.name, what, error, self._module.__file__ or "") from error


def load_task_module(code: str, *, name: str, device: str = "cpu") -> TaskModule:
    """Executes task code as a module of its own.

    Args:
        code: the task's source.
        name: the task's id, for messages.
        device: where its model and its inputs are.

    Raises:
        TaskError: the code is not Python, raises while it is executed, or lacks a part of the format.
    """
    # The file name is no path: the code may not even be on disk. linecache knows it, so that frames show their lines
    # and `inspect.getsource` (which torch.jit uses) works.
    module = types.ModuleType(f"task_module_{next(_serial)}")
    module.__file__ = f"<{name}>"
    linecache.cache[module.__file__] = (len(code), None, code.splitlines(keepends=True), module.__file__)
    sys.modules[module.__name__] = module  # dataclasses and type hints look their module up
    _execute(module, code, name, device)
    for required in (MODEL_NAME, INPUTS_NAME):
        if not callable(getattr(module, required, None)):
            raise TaskError(f"task {name}: after its code ran, {required} is missing or cannot be called")
    return TaskModule(module, name, device)


def _execute(module: types.ModuleType, code: str, name: str, device: str) -> None:
    file = module.__file__ or ""
    try:
        compiled = compile(code, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"task {name}: not valid Python: {_one_line(error)}") from error
    seed_generators(0)  # module-level random values must not depend on what ran before
    try:
        with OnCpu() if device == "cpu" else contextlib.nullcontext():
            exec(compiled, module.__dict__)
    except (Exception, SystemExit) as error:
        sys.modules.pop(module.__name__, None)
        raise _task_error(name, "its code", error, file) from error


def seed_generators(seed: int) -> None:
    """Seeds torch as KernelBench does, and Python's and numpy's generators for tasks that use those."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _task_error(name: str, what: str, error: BaseException, file: str) -> TaskError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, ModuleNotFoundError) and error.name:
        message = f"task {name}: needs the Python package {error.name}, which is not installed"
    else:
        message = f"task {name}: {what} raised {type(error).__name__}: {_one_line(error)}"
    if frames:
        message += f" (line {frames[-1].lineno}: {(frames[-1].line or '').strip()[:100]})"
    task_error = TaskError(message)
    if frames:
        task_error.add_note("".join(traceback.format_list(frames[-10:])).rstrip())
    return task_error


def _one_line(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:300]
    except Exception:  # noqa: BLE001  a task's own exception class may fail here too
        return "(its message cannot be read)"


def _refuse_strange(value: Any, place: str) -> None:
    """Only values that can cross to the candidate's process: tensors, plain values, containers of those."""
    if isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            _refuse_strange(item, f"{place}[{position}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_strange(item, f"{place}[{key!r}]")
    elif not isinstance(value, (torch.Tensor, *_SCALARS)):
        raise TaskError(f"{place} is {_type_name(value)}; only tensors, numbers, strings, None and containers of them")


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(item) for item in value)
    return isinstance(value, torch.Tensor)


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
