"""The admission child: runs a task in the ways that show what it can tell apart. A task's code runs here, no other.

Operations, beside `start`, `prepare` and `rest` of the reference child
    inputs    seeds -> of each input tensor: path, shape, dtype, whether it is the same under every seed
    weights   seed -> the weights: names, whether one seed gives one set of values, which are all zeros or all ones
    trial     seed, variation -> seconds of a forward pass, inputs that it changes, how many the variation varied;
              values: inputs, expected32, expected64
    rerun     how (same, generator, threads, again) -> as `variant`
    variant   kind, ... -> made, or why not; values: outputs of a run on the trial's inputs with one thing changed

Every run has a fresh copy of the model and the generators seeded before it, so that no run sees another.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import torch

from mooreeval.errors import TaskError
from mooreeval.execute.lower_precision import LOWERED, is_full_precision
from mooreeval.execute.neutral_weights import neutral_names
from mooreeval.execute.reference_child import ReferenceChild
from mooreeval.execute.task_module import seed_generators
from mooreeval.execute.tensors import dtype_name, map_tensors, tensor_paths, to_wire
from mooreeval.execute.vary_inputs import flooded, perturbed, varied, without_last
from mooreeval.execute.without_limits import without_limit
from mooreeval.task import INPUTS_NAME

Answer = tuple[dict[str, Any], dict[str, Any]]


class AdmissionChild(ReferenceChild):
    """State: the task's model, which is never run itself, and the inputs of the last trial."""

    def __init__(self) -> None:
        super().__init__()
        torch.set_num_threads(1)  # several tasks at once, each small: threads would only wait for one another
        self._weight_seed = self._seed = 0
        self._inputs: list[Any] = []

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> Answer:
        if op == "prepare":
            self._weight_seed = fields["weight_seed"]
        if op == "inputs":
            return {"inputs": self._input_facts(fields["seeds"])}, {}
        if op == "weights":
            return self._weight_facts(), {}
        if op == "trial":
            return self._tried(fields["seed"], fields["variation"])
        if op == "rerun":
            return self._variant(lambda: self._rerun(fields["how"]))
        if op == "variant":
            return self._variant(lambda: self._varied_run(**fields))
        return super().handle(op, fields, values)

    # ----------------------------------------------------------------------------------------------------- what it has
    def _input_facts(self, seeds: list[int]) -> list[dict[str, Any]]:
        assert self.module is not None
        first = list(tensor_paths("input", self.module.make_inputs(seeds[0])))
        fixed = [True] * len(first)
        for seed in seeds[1:]:
            others = list(tensor_paths("input", self.module.make_inputs(seed)))
            fixed = [f and len(first) == len(others) and _same(a, b) for f, (_, a), (_, b) in zip(fixed, first, others)]  # noqa: B905
        return [
            {"path": path, "shape": list(tensor.shape), "dtype": dtype_name(tensor.dtype), "fixed": is_fixed}
            for (path, tensor), is_fixed in zip(first, fixed, strict=True)
        ]

    def _weight_facts(self) -> dict[str, Any]:
        assert self.module is not None
        mine, other = _state(self.model), _state(self.module.make_model(self._weight_seed))
        stable = mine.keys() == other.keys() and all(_same(tensor, other[name]) for name, tensor in mine.items())
        weights = _parameters(self.model)
        return {
            "stable": stable,
            "weights": [name for name, tensor in weights.items() if tensor.is_floating_point() and tensor.numel()],
            "neutral": neutral_names(self.model),
        }

    # ------------------------------------------------------------------------------------------------------------ runs
    def _tried(self, seed: int, variation: str) -> Answer:
        """A run of both references, on fresh inputs."""
        assert self.module is not None
        exchange = self.device.exchange if self.device else None
        if exchange:
            exchange.clear()
        self._seed = seed
        made = self._checked(list(self.module.make_inputs(seed)), f"{INPUTS_NAME}()")
        self._inputs, number = varied(made, variation, seed)
        seed_generators(seed + 1)
        expected64 = self._in_float64(self._inputs)
        inputs = self._own_inputs()
        start = time.monotonic()
        expected32 = self._checked(self._forward(self._fresh_model(), inputs), "output")
        if self.device:
            self.device.synchronize()
        seconds = time.monotonic() - start
        before, after = list(tensor_paths("input", self._inputs)), list(tensor_paths("input", inputs))
        changed = [path for (path, a), (_, b) in zip(before, after, strict=True) if not _same(a, b)]
        values = {"inputs": self._inputs, "expected32": expected32, "expected64": expected64}
        return {"seconds": seconds, "changed": changed, "varied": number}, self._sent_all(values)

    def _variant(self, run: Callable[[], Any]) -> Answer:
        """The outputs of a run that may not be possible."""
        if self.device and self.device.exchange:
            self.device.exchange.clear()  # what the run before sent has been read
        try:
            outputs = run()
        except (TaskError, RuntimeError, NotImplementedError, TypeError, ValueError, MemoryError) as error:
            return {"made": False, "why": " ".join(f"{error}".split())[:300]}, {}
        if outputs is None:
            return {"made": False, "why": ""}, {}
        return {"made": True, "why": ""}, self._sent_all({"outputs": outputs})

    def _sent_all(self, values: dict[str, Any]) -> dict[str, Any]:
        exchange = self.device.exchange if self.device else None
        sent = {name: to_wire(value, exchange.export if exchange else None) for name, value in values.items()}
        if self.device:
            self.device.synchronize()
        return sent

    def _rerun(self, how: str) -> Any:
        """The same inputs and weights once more: as before; with another state of the generators; with more threads; a
        second call.
        """
        model = self._fresh_model()
        if how == "again":
            self._forward(model, self._own_inputs())
        if how != "threads":
            return self._forward(model, self._own_inputs(), generator=self._seed + 2 if how == "generator" else None)
        torch.set_num_threads(2)
        try:
            return self._forward(model, self._own_inputs())
        finally:
            torch.set_num_threads(1)

    def _varied_run(self, kind: str, path: str = "", dim: int = 0, seed: int = 0, name: str = "") -> Any:
        assert self.module is not None
        if kind in LOWERED:
            return self._lowered(kind)
        if kind == "limit":
            return without_limit(self._fresh_model(), self._own_inputs(), self._forward, dim, name)
        if kind == "weight":
            return self._with_weight(name, seed)
        if kind == "fresh":
            made = dict(tensor_paths("input", self.module.make_inputs(seed)))
            return self._with_input(path, lambda tensor: perturbed(tensor, made.get(path), seed))
        if kind == "last":
            return self._with_input(path, lambda tensor: without_last(tensor, dim))
        if kind == "flood":
            return self._with_input(path, lambda tensor: flooded(tensor, dim, seed))
        raise ValueError(f"the admission child has no variant {kind}")

    def _lowered(self, kind: str) -> Any:
        """The task in lower precision, its outputs back in their own; None where it has no full one."""
        tensors = [t for _, t in tensor_paths("", [self._inputs, dict(_state(self.model))])]
        if not is_full_precision(tensors):
            return None
        lowered = LOWERED[kind]
        dtypes = [t.dtype for _, t in tensor_paths("", self._forward(self._fresh_model(), self._own_inputs()))]
        outputs = lowered(self._fresh_model(), self._own_inputs(), self._forward)
        own = iter(dtypes)
        return None if outputs is None else map_tensors(outputs, lambda t: _as(t, next(own)))

    def _with_input(self, path: str, change: Callable[[torch.Tensor], torch.Tensor | None]) -> Any:
        """A run with one input changed; None where the change changes nothing."""
        inputs = self._own_inputs()
        place = dict(tensor_paths("input", inputs))[path]
        changed = change(place)
        if changed is None or _same(changed, place):
            return None
        return self._forward(self._fresh_model(), _replaced(inputs, place, changed))

    def _with_weight(self, name: str, seed: int) -> Any:
        """A run with one weight changed by noise of its own size."""
        model = self._fresh_model()
        weight = _parameters(model)[name]
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(weight.shape, generator=generator).to(weight.device, weight.dtype)
        size = float(weight.detach().double().pow(2).mean().sqrt()) or 1.0
        with torch.no_grad():
            weight.add_(noise * size)
        return self._forward(model, self._own_inputs())

    def _forward(self, model: Any, inputs: list[Any], generator: int | None = None) -> Any:
        assert self.module is not None
        seed_generators(self._seed + 1 if generator is None else generator)
        return self.module.forward(model, inputs)

    def _fresh_model(self) -> Any:
        assert self.module is not None
        try:
            return copy.deepcopy(self.model)
        except Exception:  # noqa: BLE001  a model that can't be copied is made again
            return self.module.make_model(self._weight_seed)

    def _own_inputs(self) -> list[Any]:
        return map_tensors(self._inputs, torch.clone)


def _replaced(value: Any, old: torch.Tensor, new: torch.Tensor) -> Any:
    return map_tensors(value, lambda t: new if t is old else t)


def _as(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() and dtype.is_floating_point else tensor


def _state(model: Any) -> dict[str, torch.Tensor]:
    return dict(model.state_dict()) if isinstance(model, torch.nn.Module) else {}


def _parameters(model: Any) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}


def _same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return False
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())
