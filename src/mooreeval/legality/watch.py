"""Watches which operators of PyTorch a forward pass runs, in the candidate's own process: a tripwire, not proof.

Two of PyTorch's modes are on while the candidate's model is called. The function mode knows when Python calls a
function of PyTorch; the dispatch mode sees every operator that reaches a kernel, also one that C++ calls, and what a
composite operator is composed of. An operator outside of any function call comes from C++. On the simulator the
device's own log tells what neither saw: operators of other threads, within a candidate's own operators, or with the
modes switched off. Imports torch: for children only.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from mooreeval.legality.operators import TORCH_NAMESPACES, TRUNCATION, base_name, is_allowed

MOST_USES = 512
_MOST_FRAMES = 300
_PRINTING = frozenset("__repr__ __str__ __format__".split())
# Of what moves elements, the place of the argument that they come from.
_COPIES = {"clone": 0, "_to_copy": 0, "copy_": 1, "copy": 1, "_copy_from": 0, "_copy_from_and_resize": 0}
_ALLOCATES = frozenset("empty empty_like empty_strided new_empty new_empty_strided empty_permuted".split())


class OperatorWatch:
    """What ran while `watching`; `file_name` is how the candidate's frames are called."""

    def __init__(self, file_name: str, log: Any = None) -> None:
        self._file_name, self._log = file_name, log
        self._uses: dict[tuple[str, str, str, int | None], list[int]] = {}
        self._functions: list[str] = []  # of PyTorch's, that Python has called and that have not returned
        # Storages on the CPU that hold what came from the device; kept alive, or others would be taken for them.
        self._host_data: dict[int, Any] = {}
        self._numbers_left = False  # a value of the device's has become a number of Python's
        self._hidden: dict[str, int] = {}
        self._given: set[tuple[Any, ...]] = set()  # the inputs as they lie in memory

    @contextlib.contextmanager
    def watching(self, inputs: Any = ()) -> Generator[None]:
        """Note what runs inside, on these inputs; everything noted before is forgotten."""
        self._uses.clear()
        self._given = {_form(tensor) for tensor in _tensors(inputs)}
        self._host_data.clear()
        self._functions, self._numbers_left = [], False
        if self._log:
            self._log.start_log()
        try:
            with _Dispatch(self), _Functions(self):
                yield
        finally:
            if self._log:
                self._log.stop_log()
                self._hidden = self._log.read_log()
            self._host_data.clear()

    def report(self) -> list[dict[str, Any]]:
        """The uses, as `answers.OperatorClaim` reads them."""
        seen = [
            {
                "name": name,
                "origin": origin,
                "function": function,
                "line": line,
                "count": count,
                "bytes": moved,
                "reordered": reordered,
            }
            for (name, origin, function, line), (count, moved, reordered) in self._uses.items()
        ]
        hidden = [
            {"name": name, "origin": "hidden", "function": "", "line": None, "count": count, "bytes": 0}
            for name, count in self._hidden.items()
            if not is_allowed(name)
        ]
        return (hidden + seen)[:MOST_USES]

    # ------------------------------------------------------------------------------------------------------- from modes
    @contextlib.contextmanager
    def calling(self, function: Any) -> Generator[None]:
        """Python calls a function of PyTorch's."""
        name = str(getattr(function, "__name__", None) or type(function).__name__)
        self._functions.append(name)
        try:
            with self.unlogged() if name in _PRINTING else contextlib.nullcontext():
                yield
        finally:
            self._functions.pop()

    @contextlib.contextmanager
    def unlogged(self) -> Generator[None]:
        """What runs inside is accounted for already."""
        if self._log:
            self._log.stop_log()
        try:
            yield
        finally:
            if self._log:
                self._log.resume_log()

    def printing(self, tensor: Any) -> None:
        """Text of a tensor is its numbers, where it is not shortened; no mode sees how they are read."""
        if self._log and isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda":
            shown = tensor.nbytes if tensor.numel() <= torch._tensor_str.PRINT_OPTS.threshold else 0
            self._log.note_taken(tensor.data_ptr(), None, shown)

    def note(self, operator: Any, arguments: Any, results: Any) -> None:
        """One operator has run."""
        name = str(operator.name())
        inputs, outputs = list(_tensors(arguments)), list(_tensors(results))
        source = _source_of_a_copy(name, inputs, outputs)
        if source is not None and _truncates(source, outputs[0]):
            name = TRUNCATION
        if self._is_of_the_host_alone(inputs, outputs) and not is_allowed(name):
            return
        self._follow(inputs, outputs)
        if self._log:
            _note_crossing(self._log, name, inputs, outputs)
        origin = "python" if self._functions else "cpp"
        function = self._functions[0] if self._functions else ""
        key = (name, origin, function, self._line())
        if key not in self._uses and len(self._uses) >= MOST_USES and is_allowed(name):
            return
        use = self._uses.setdefault(key, [0, 0, 0])
        use[0] += 1
        use[1] += _moved(operator, inputs, outputs)
        if source is not None and _form(source) not in self._given and _lies_otherwise(source, outputs[0]):
            use[2] += outputs[0].nbytes

    def _is_of_the_host_alone(self, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> bool:
        """Arithmetic on sizes and constants: nothing in it comes from the task's data, nor is on its device."""
        if self._numbers_left or not (inputs or outputs):
            return False
        if any(t.device.type != "cpu" for t in (*inputs, *outputs)):
            return False
        return not any(_storage(t) in self._host_data for t in inputs)

    def _follow(self, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        """Remember where on the CPU the device's data are."""
        holds_data = any(t.device.type != "cpu" or _storage(t) in self._host_data for t in inputs)
        if not holds_data:
            return
        if not outputs:
            self._numbers_left = True
        # An operator that writes in place returns what it wrote to.
        for tensor in outputs:
            if tensor.device.type == "cpu":
                self._host_data[_storage(tensor)] = tensor

    def _line(self) -> int | None:
        """The candidate's innermost line that led here."""
        frame = sys._getframe(2)
        for _ in range(_MOST_FRAMES):
            if frame is None:
                return None
            if frame.f_code.co_filename == self._file_name:
                return frame.f_lineno
            frame = frame.f_back
        return None


class _Functions(TorchFunctionMode):
    def __init__(self, watch: OperatorWatch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _PRINTING and args:
            self._watch.printing(args[0])
        with self._watch.calling(func):
            return func(*args, **(kwargs or {}))


class _Dispatch(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """PyTorch would import its compiler at the first operator, which takes a second, to keep it from tracing us."""
        return False

    def __init__(self, watch: OperatorWatch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = func.namespace not in TORCH_NAMESPACES  # what runs within it is not accounted for
        with contextlib.nullcontext() if own else self._watch.unlogged(), torch._C.DisableTorchFunction():
            results = func(*args, **(kwargs or {}))
        self._watch.note(func, (args, kwargs), results)
        return results


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _source_of_a_copy(name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> torch.Tensor | None:
    """What a copy or a conversion reads; None of any other operator, and of what is not on a device."""
    place = _COPIES.get(base_name(name))
    if place is None or len(inputs) <= place or not outputs:
        return None
    ends = inputs[place], outputs[0]
    return ends[0] if all(t.device.type != "cpu" and t.layout == torch.strided for t in ends) else None


def _truncates(source: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether a conversion cuts off what stands behind the point. A mask is none."""
    is_real = source.is_floating_point() and source.numel() > 1
    return is_real and not (result.is_floating_point() or result.is_complex() or result.dtype is torch.bool)


def _lies_otherwise(source: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether a copy puts elements into another order, some of them into several places, or a part somewhere."""
    if source.shape != result.shape or _is_a_part(source) or _is_a_part(result):
        return True
    steps = zip(source.shape, source.stride(), result.stride(), strict=True)
    return any(size > 1 and step != other for size, step, other in steps)


def _is_a_part(tensor: torch.Tensor) -> bool:
    return tensor.nbytes < tensor.untyped_storage().nbytes()


def _form(tensor: torch.Tensor) -> tuple[Any, ...]:
    if tensor.layout != torch.strided:
        return (id(tensor),)
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def _storage(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return id(tensor)


def _note_crossing(log: Any, name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
    """Tell the device's run time what an operator brought from the device to the host, or to the device."""
    if name == "aten::lift_fresh":  # the end of `torch.tensor(numbers)`, of which no mode sees more
        log.note_given(None, sum(t.nbytes for t in outputs if t.device.type == "cuda"))
        return
    on_device = [t for t in inputs if t.device.type == "cuda" and t.layout == torch.strided]
    on_host = [t for t in inputs if t.device.type == "cpu" and t.layout == torch.strided]
    for tensor in outputs:
        if tensor.device.type == "cpu" and on_device:
            log.note_taken(on_device[0].data_ptr(), _address(tensor), tensor.nbytes)
        elif tensor.device.type == "cuda":
            for source in on_host:
                log.note_given(_address(source), source.nbytes)
    if on_device and not outputs:
        log.note_taken(on_device[0].data_ptr(), None, on_device[0].element_size())


def _address(tensor: torch.Tensor) -> int | None:
    """Of contents that lie in one piece."""
    return tensor.data_ptr() if tensor.layout == torch.strided and tensor.is_contiguous() else None


def _moved(operator: Any, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    """Bytes of the device's memory that an operator reads and writes; none where it only allocates or renames."""
    returns = operator._schema.returns
    renames = bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)
    if renames or operator._schema.name.split("::")[-1] in _ALLOCATES:
        return 0
    return sum(t.nbytes for t in (*inputs, *outputs) if t.device.type != "cpu")
