"""One forward pass of a task on fake tensors: shapes and cost without memory or arithmetic.

    code ── fake_run ── FakeTensorMode ──┬──> inputs, model, outputs (shapes only) + Cost (operators counted on the way)
      └──── quick_run ─ the meta device ─┤
                      └ real, if small ──┘

Imports torch and executes task code: for the reference child only. FakeTensorMode follows a task as it stands, and its
first use loads torch's compiler, 1.3 CPU-s a process; the meta device's loads sympy, 0.5 CPU-s, once operators are
called. A quick run does without either wherever the task allows it.

What a fake run cannot know is guessed and said so (`assumptions`): a value that the code reads out of a tensor
(`.item()`, `if tensor:`). Where an operator's output shape depends on values, a real run takes its place
if the task is small enough; else only the inputs and the weights are known.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import types
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from mooreeval.errors import TaskError
from mooreeval.execute.task_module import load_task_module

REAL_RUN_LIMIT = 16 << 20  # bytes of inputs and weights up to which a real run may stand in for a fake one
SMALL_BYTES, SMALL_FLOPS = 4 << 20, 100_000_000  # up to here a real run takes less time than what others load

_NOT_FAKEABLE = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException)
_VIEWS = ("_unsafe_view", "_reshape_alias", "lift_fresh")  # not declared as views
_RECURRENT = ("gru", "lstm", "rnn_tanh", "rnn_relu")
_CHECKED = 1 << 12  # elements up to which torch's own checks (one value a channel) are worth their time
_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"


@dataclass(frozen=True)
class Cost:
    """What one forward pass handles, fused or not.

    elements: of inputs, weights and every operator's output.
    flops: multiply-adds count two; any other operator counts one for each element that it reads or writes.
    bytes: of inputs, weights and every operator's output, an upper bound of the memory.
    """

    elements: int
    flops: int
    bytes: int


@dataclass
class FakeRun:
    """Everything that one pass showed; the tensors have shapes and no values."""

    init_inputs: list[Any]
    inputs: list[Any]
    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    outputs: Any  # None where they are not known
    cost: Cost
    assumptions: tuple[str, ...] = ()


def fake_run(code: str, *, name: str = "task") -> FakeRun:
    """Runs the task once without values.

    Raises:
        TaskError: the task fails.
    """
    with _quiet():
        try:
            with _Fake():
                return _run(code, name, _Counter(guess=True))
        except TaskError as error:
            reason = _unfakeable_reason(error)
            if reason is None:
                raise
        return _real_run(code, name, reason)


def quick_run(code: str, *, name: str = "task") -> FakeRun:
    """As `fake_run`, for real where the task is small, else on the meta device: the same shapes and costs, sooner.

    Strides and devices may differ from the task's own.

    Raises:
        TaskError: the task fails.
    """
    # Whatever goes wrong: a fake run tells the task's faults from those of a device that it does not know.
    with contextlib.suppress(Exception, _NotSmall), compiler_left_out():
        return _run(code, name, _Counter(guess=False, is_small=True))
    with contextlib.suppress(Exception):
        return _meta_run(code, name)
    return fake_run(code, name=name)


def _meta_run(code: str, name: str) -> FakeRun:
    with compiler_left_out(), OnMeta(), torch.device("meta"):
        return _run(code, name, _Counter(guess=False))


def input_bytes(code: str, name: str = "task") -> int:
    """Bytes of what `get_inputs` returns, without making any; 0 where the meta device can't tell."""
    return sum(map(_bytes, tensors_in(inputs_on_meta(code, name))))


def inputs_on_meta(code: str, name: str = "task") -> list[Any] | None:
    """What `get_inputs` returns, as tensors without memory; None where the meta device can't tell."""
    with contextlib.suppress(Exception), compiler_left_out(), OnMeta(), torch.device("meta"), torch.no_grad():
        return list(load_task_module(code, name=name).make_inputs(0))
    return None


class _NotSmall(BaseException):
    """A real run is taking too long. No Exception: tasks and their loader catch those."""


@contextlib.contextmanager
def compiler_left_out() -> Generator[None]:
    """Keeps torch from loading its compiler only to tell it to stay away from this or that function of torch's own.

    A hollow module stands in meanwhile; a task that wants more of it fails, and the fake run decides.
    """
    name = "torch._dynamo"
    if name in sys.modules:
        yield
        return
    hollow: Any = types.ModuleType(name)
    hollow.disable = lambda function, *_args, **_named: function
    sys.modules[name] = hollow
    try:
        yield
    finally:
        sys.modules.pop(name, None)
        vars(torch).pop("_dynamo", None)


class OnMeta(TorchFunctionMode):
    """Creates and keeps on the meta device what the code asks to have on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "cpu" and args and isinstance(args[0], torch.Tensor):
            return args[0]
        kwargs = {key: _on_meta(value) for key, value in (kwargs or {}).items()}
        if name == "to":
            args = tuple(_on_meta(value) for value in args)
        return func(*args, **kwargs)


def _on_meta(value: Any) -> Any:
    is_cpu = (
        value.type == "cpu" if isinstance(value, torch.device) else value == "cpu" if isinstance(value, str) else False
    )
    return torch.device("meta") if is_cpu else value


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in a structure, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Without torch's log of failed fake operators: here they are ordinary answers."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


class _Fake(FakeTensorMode):
    """A fake mode that survives `copy.deepcopy` of a module: a copied tensor must stay in the same mode."""

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Fake:
        return self


def _run(code: str, name: str, counter: _Counter, *, forward: bool = True) -> FakeRun:
    with torch.no_grad():
        with _Guesses(counter):
            task = load_task_module(code, name=name)
            inputs = task.make_inputs(0)
            model = task.make_model(0)
            init_inputs = task.init_inputs()
        parameters, buffers = _state(model)
        weights = {id(t): t for t in (*parameters.values(), *buffers.values())}
        for tensor in (*tensors_in(inputs), *weights.values()):
            counter.add_tensor(tensor)
        with _Shortcuts(counter), counter:
            outputs = task.forward(model, inputs) if forward else None
    return FakeRun(init_inputs, inputs, parameters, buffers, outputs, counter.cost(), tuple(counter.assumptions))


def _state(model: Any) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    if not isinstance(model, torch.nn.Module):
        return {}, {}
    return dict(model.named_parameters()), dict(model.named_buffers())


def _unfakeable_reason(error: BaseException) -> str | None:
    """Why no fake run is possible; None where the task itself is at fault."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _NOT_FAKEABLE):
            return f"an operator's result depends on values ({type(cause).__name__}: {cause})"
        if "FakeTensor" in str(cause) or "fake tensor" in str(cause):
            return "the code reads the memory of a tensor"
        cause = cause.__cause__
    return None


def _real_run(code: str, name: str, reason: str) -> FakeRun:
    """A real run where the task is small; else what is known without running it."""
    try:
        with _Fake():
            known = _run(code, name, _Counter(guess=True), forward=False)
    except TaskError as error:
        if _unfakeable_reason(error) is None:
            raise
        known = None  # not even the inputs can be faked
    if known is not None and known.cost.bytes > REAL_RUN_LIMIT:
        known.assumptions = (f"outputs unknown, too large to try: {reason}",)
        return known
    run = _run(code, name, _Counter(guess=False))
    run.assumptions = (f"run on real tensors: {reason}",)
    return run


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


@dataclass
class _Counter(TorchDispatchMode):
    """Adds up the cost of every operator; answers reads of values with a guess where there are none."""

    guess: bool
    elements: int = 0
    flops: int = 0
    bytes: int = 0
    is_small: bool = False  # raises _NotSmall where it turns out not to be
    assumptions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def cost(self) -> Cost:
        return Cost(self.elements, self.flops, self.bytes)

    def add_tensor(self, tensor: torch.Tensor) -> None:
        self.elements += tensor.numel()
        self.bytes += _bytes(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.guess and func is torch.ops.aten._local_scalar_dense.default:
            return self.guessed_value(func, args)
        out = func(*args, **kwargs)
        if not func.is_view and func._overloadpacket.__name__ not in _VIEWS:
            self._count(func, args, kwargs, out)
        if self.is_small and self.flops > SMALL_FLOPS:
            raise _NotSmall
        return out

    def guessed_value(self, func: Any, args: Any) -> Any:
        """A value for a tensor that has none: its constant where torch knows it, else neither 0 nor 1 for floats."""
        try:
            return func(*args)
        except DataDependentOutputException:
            note = "a value that the code reads out of a tensor was guessed"
            if note not in self.assumptions:
                self.assumptions.append(note)
            dtype = args[0].dtype
            return False if dtype is torch.bool else 0.5 if dtype.is_floating_point else 1

    def _count(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        outputs = list(tensors_in(out))
        for tensor in outputs:
            self.add_tensor(tensor)
        packet = func._overloadpacket
        if packet in flop_registry:
            self.flops += int(flop_registry[packet](*args, **kwargs, out_val=out))
        elif packet.__name__ == _ATTENTION:
            query, key = args[0], args[1]
            self.flops += 4 * query.numel() * key.shape[-2]
        elif outputs and not _only_allocates(packet.__name__):
            self.flops += max(tensor.numel() for tensor in (*outputs, *tensors_in(args)))


def _only_allocates(operator: str) -> bool:
    return operator.startswith(("empty", "new_empty"))


class _Guesses(TorchDispatchMode):
    """Guesses values, without counting, while inputs and weights are made; stops where a small task's are large."""

    def __init__(self, counter: _Counter) -> None:
        super().__init__()
        self.counter = counter
        self.bytes: dict[int, int] = {}  # by address

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.counter.guess and func is torch.ops.aten._local_scalar_dense.default:
            return self.counter.guessed_value(func, args)
        if self.counter.is_small and _elements_asked_for(func, args) * 4 > SMALL_BYTES:
            raise _NotSmall
        out = func(*args, **(kwargs or {}))
        if self.counter.is_small:
            self.bytes.update((t.untyped_storage().data_ptr(), t.untyped_storage().nbytes()) for t in tensors_in(out))
            if sum(self.bytes.values()) > SMALL_BYTES:
                raise _NotSmall
        return out


def _elements_asked_for(func: Any, args: Any) -> int:
    """How many elements an operator makes that is told a size, before it does; 0 where it is told none."""
    size = args[0] if args else 0
    if isinstance(size, list | tuple) and all(type(n) is int for n in size):
        return math.prod(size)
    if isinstance(size, int | float):
        return int(size) ** 2 if func._overloadpacket.__name__ == "eye" else int(max(map(abs, _numbers(args))))
    return 0


def _numbers(args: Any) -> Iterator[float]:
    return (a for a in args if isinstance(a, int | float) and math.isfinite(a))


def _has_no_values(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, FakeTensor) or tensor.is_meta


class _Shortcuts(TorchFunctionMode):
    """Layers as one operator each, where torch's own way of faking them takes too long.

    A recurrent layer is faked step by step (10 s for 512 steps of a GRU); batch normalisation by a dozen Python
    operators, which was most of the time of a DenseNet. Attention is no single operator on the meta device.
    """

    def __init__(self, counter: _Counter) -> None:
        super().__init__()
        self.counter = counter

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        # (input, hidden state(s), weights, has_biases, layers, dropout, train, bidirectional, batch_first);
        # packed sequences pass other arguments and take torch's own way.
        if name in _RECURRENT and len(args) == 9:
            if _has_no_values(args[0]):
                return self._recurrent(*args)
            if self.counter.is_small:
                raise _NotSmall  # what one is counted as must not depend on where it runs
        if func is torch.nn.functional.batch_norm and _has_no_values(args[0]) and args[0].numel() > _CHECKED:
            return self._normalised(*args, **(kwargs or {}))
        if func is torch.nn.functional.scaled_dot_product_attention and args[0].is_meta:
            return self._attention(*args[:3])
        return func(*args, **(kwargs or {}))

    def _normalised(self, x: torch.Tensor, *others: Any, **named: Any) -> torch.Tensor:
        for other in (*others, *named.values()):
            if isinstance(other, torch.Tensor) and other.numel() != x.shape[1]:
                raise RuntimeError(f"batch_norm: {x.shape[1]} channels, but {other.numel()} weights or statistics")
        self.counter.flops += x.numel()
        return x.new_empty(x.shape)

    def _attention(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        scores = torch.broadcast_shapes(query.shape[:-1], (*key.shape[:-2], 1))
        if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
            raise RuntimeError("scaled_dot_product_attention: query, key and value don't fit")
        self.counter.flops += 2 * math.prod(scores) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
        return query.new_empty((*scores, value.shape[-1]))

    def _recurrent(self, x: torch.Tensor, state: Any, weights: Any, *options: Any) -> tuple[torch.Tensor, ...]:
        _has_biases, layers, _dropout, _train, bidirectional, _batch_first = options
        states = list(state) if isinstance(state, (list, tuple)) else [state]
        width = states[0].shape[-1] * (2 if bidirectional else 1)
        steps = math.prod(x.shape[:-1])  # time steps times batch
        self.counter.flops += 2 * steps * sum(w.numel() for w in weights if w.dim() == 2)
        self.counter.elements += steps * width * (layers - 1)
        output = x.new_empty((*x.shape[:-1], width))
        return (output, *(each.new_empty(each.shape) for each in states))


def warm_up() -> None:
    """Loads what torch loads on the first run on the meta device, half a second, for a process that is going to fork.

    Real operators would start threads, which no fork survives.
    """
    for code in (_SMALLEST, _SMALLEST.replace("relu(x)", "conv2d(x, x)")):
        _meta_run(code, "warm-up")


_SMALLEST = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(torch.relu(x), 1)

def get_inputs():
    return [torch.rand(2, 2, 2, 2)]
"""
