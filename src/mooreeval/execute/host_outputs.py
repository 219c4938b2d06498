"""Which outputs a task keeps on the CPU whatever device it runs on, found where there is no device.

The reference runs on the CPU here and what it asks to have on an accelerator is redirected, so the place of a tensor
says nothing. One more pass follows the tensors instead: inputs and weights count as on a device, `.device` answers so,
and what is made without them, or moved by `.cpu()`, is on the host. Where that can't be told, an output counts as on
the device. Imports torch and runs task code: for the reference child only.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mooreeval.execute.task_module import TaskModule
from mooreeval.execute.tensors import crossing_tensors, map_tensors
from mooreeval.task import INIT_INPUTS_NAME, INPUTS_NAME

_MAKERS = {
    "cpu", "numpy", "from_numpy", "frombuffer", "tensor", "as_tensor", "asarray", "scalar_tensor", "zeros", "ones",
    "full", "empty", "eye", "arange", "linspace", "logspace", "rand", "randn", "randint", "randperm", "normal",
    "tril_indices", "triu_indices", "hann_window", "hamming_window", "blackman_window", "kaiser_window",
}  # fmt: skip
_DEFAULTS = ("set_default_device", "set_default_tensor_type", "get_default_device")
_ACCELERATOR = re.compile(r"\b(cuda|musa|xpu|mps|hip|accelerator)\b|is_available", re.IGNORECASE)
_PRETENDED = torch.device("cuda", 0)
_HOST = torch.device("cpu")


def may_keep_on_host(code: str) -> bool:
    """Whether a task's text, but for what makes its inputs, names anything that leaves a tensor on the CPU."""
    tree = ast.parse(code)
    inputs = (INPUTS_NAME, INIT_INPUTS_NAME)
    parts = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in inputs)]
    words = {word for part in parts for word in map(_word, ast.walk(part)) if word}
    return bool(words & _MAKERS) and not words.intersection(_DEFAULTS)


def _word(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return node.id if isinstance(node, ast.Name) else None


def outputs_on_host(module: TaskModule, code: str, model: Any, inputs: list[Any]) -> list[bool]:
    """For each tensor of the output whether the task keeps it on the CPU; empty where that can't be told.

    Runs on copies, and leaves torch's generator as it was.
    """
    follow = _Follow(trusted=_ACCELERATOR.search(code) is None)
    try:
        own = copy.deepcopy(model)

        def followed(*arguments: Any) -> Any:
            with follow:
                return own(*arguments)

        with torch.random.fork_rng(devices=[]):
            outputs = module.forward(followed, map_tensors(inputs, torch.clone))
    except Exception:  # noqa: BLE001  whatever it was: the run that counts tells the task's faults
        return []
    return [follow.is_on_host(tensor) for tensor in crossing_tensors(outputs)]


class _Follow(TorchFunctionMode):
    """Knows the storages on the host. `trusted`: a `cpu` that is asked for does not stand in for an accelerator."""

    def __init__(self, *, trusted: bool) -> None:
        super().__init__()
        self.trusted = trusted
        self._host: dict[int, torch.Tensor] = {}  # by storage, with a tensor that keeps its address from being reused

    def is_on_host(self, tensor: torch.Tensor) -> bool:
        return _storage(tensor) in self._host

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self._attribute(func, args)
        if name == "get_device":
            return -1 if self.is_on_host(args[0]) else 0
        asked = self._asked_place(name, args, kwargs)
        sources = list(_tensors((args, kwargs)))
        on_host = asked == _HOST if asked else all(map(self.is_on_host, sources))
        result = func(*args, **kwargs)
        if asked:
            result = map_tensors(result, lambda t: self._moved(t, sources, on_host=on_host))
        if on_host:
            self._host.update((_storage(t), t) for t in _tensors(result))
        return result

    def _attribute(self, func: Any, args: Any) -> Any:
        on_host = self.is_on_host(args[0])
        if func == _DEVICE:
            return _HOST if on_host else _PRETENDED
        if func in (_IS_CUDA, _IS_CPU):
            return on_host == (func == _IS_CPU)
        value = func(*args)
        if on_host:  # `.T`, `.real` and the like
            self._host.update((_storage(t), t) for t in _tensors(value))
        return value

    def _asked_place(self, name: str, args: Any, kwargs: Any) -> torch.device | None:
        """The place that a call names: `_HOST`, or `_PRETENDED` for any other and for one that is not trusted."""
        if name in ("cpu", "cuda"):
            return _HOST if name == "cpu" else _PRETENDED
        named = [kwargs.get("device"), *(args[1:2] if name == "to" else ())]
        for value in named:
            if isinstance(value, torch.Tensor):
                return _HOST if self.is_on_host(value) else _PRETENDED
            if isinstance(value, str | torch.device):
                return _HOST if self.trusted and torch.device(value).type == "cpu" else _PRETENDED
            if isinstance(value, int) and not isinstance(value, bool):
                return _PRETENDED
        return None

    def _moved(self, tensor: torch.Tensor, sources: list[torch.Tensor], *, on_host: bool) -> torch.Tensor:
        """A copy where the move would have made one: nothing moves here, so the storage would be the old place's."""
        shared = any(_storage(tensor) == _storage(source) for source in sources)
        return tensor.clone() if shared and self.is_on_host(tensor) != on_host else tensor


_DEVICE, _IS_CUDA, _IS_CPU = (getattr(torch.Tensor, name).__get__ for name in ("device", "is_cuda", "is_cpu"))


def _storage(tensor: torch.Tensor) -> int:
    """The identity of a tensor's memory; that of the tensor where it has none."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return id(tensor)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
