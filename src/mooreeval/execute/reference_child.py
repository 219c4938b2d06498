"""The reference child: runs the task, and nothing of any candidate, in true float32 and in float64.

Operations
    start     backend, options -> name of the device; without it the task runs on the CPU
    prepare   name, code, candidate_text, budget (None: the task as it is), careful, weight_seed, example_seed
              -> the code as run (sizes reduced), reductions, forced and doubtful ones, input_kinds, init_kinds,
              single_precision (see `argument_kinds`), neutral (weights that begin as ones or zeros); values:
              init_inputs, state, example
    trial     seed, inputs (plain, or a variation of them) -> values: inputs, expected32, expected64 (None where there
              is no float64 run), inputs_after
    other     seed, weights -> silent (why nothing can be told, or ""), varied (names of weights), kinds (of these);
              values as of a trial, of a model whose neutral weights have other values, and its state
    arenas    seeds, cycle, core -> leaves (the form of each tensor); values: arenas, see `timed_calls`
    compile   seed -> error or None: torch.compile of the model, and its first call
    block     calls, first, keep, held, compiled (or not): queued calls of the task's own model
    expected  index of a set -> values as of a trial
    release   give back the device's memory; the model stays
    rest      drop everything but the device: the next `prepare` may be long in coming
"""

from __future__ import annotations

import copy
import functools
import traceback
from dataclasses import asdict
from typing import Any

import torch

from mooreeval.errors import TaskError
from mooreeval.execute.argument_kinds import argument_kinds, is_single_precision
from mooreeval.execute.device import Device, open_device
from mooreeval.execute.fake_run import input_bytes, inputs_on_meta
from mooreeval.execute.host_outputs import may_keep_on_host, outputs_on_host
from mooreeval.execute.neutral_weights import kinds_of, made_otherwise, neutral_names, says_nothing, vary
from mooreeval.execute.reduce import Budget, reduce_task
from mooreeval.execute.task_module import TaskModule, load_task_module
from mooreeval.execute.tensors import Export, crossing_tensors, first_foreign, kept_on_host, map_tensors, to_wire
from mooreeval.execute.timed_calls import TimedCalls, make_arenas, stay_on
from mooreeval.execute.vary_inputs import varied
from mooreeval.task import INIT_INPUTS_NAME, INPUTS_NAME

EXAMPLE_BYTES = 256 << 20  # larger example inputs are not sent: a recorder has no use for 6 GB


class ReferenceChild:
    """State: the task's module and its one model, which lives through all trials as KernelBench's does."""

    def __init__(self) -> None:
        self.device: Device | None = None
        self.module: TaskModule | None = None
        self.model: torch.nn.Module | None = None
        self._compiled: Any = None
        self._code = ""
        self._on_host: list[bool] | None = None  # of each output, once it is known
        self._weight_seed = 0

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        del values
        if op == "start":
            self.device = open_device(fields["backend"], fields["options"])
            return {"name": self.device.name, "tensor_device": self.device.tensor_device}, {}
        if op == "rest":
            self._rest()
            return {}, {}
        if op == "release":
            self._release()
            return {}, {}
        if op == "prepare":
            return self._prepare(fields)
        if op == "trial":
            return {}, self._trial(fields["seed"], fields.get("inputs", ""))
        if op == "other":
            return self._trial_on_other_weights(fields["seed"], fields["weights"])
        if op == "arenas":
            stay_on(fields["core"])
            return self._arenas(fields["seeds"], fields["cycle"])
        if op == "block":
            model = self._compiled if fields.get("compiled") else self._model
            self._timed.block(model, fields["calls"], fields["first"], fields["keep"], fields["held"])
            return {}, {}
        if op == "compile":
            return {"error": self._compile(fields["seed"])}, {}
        if op == "expected":
            return {}, self._run_on(map_tensors(self._timed.sets[fields["index"]], torch.clone), keep_warm=True)
        raise ValueError(f"the reference child has no operation {op}")

    @property
    def _place(self) -> str:
        return self.device.tensor_device if self.device else "cpu"

    def _prepare(self, fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        name, code, reduced = fields["name"], fields["code"], None
        if fields["budget"] is not None:
            reduced = reduce_task(
                code,
                fields["candidate_text"],
                Budget(**fields["budget"]),
                name=name,
                careful=fields.get("careful", False),
            )
            code = reduced.code
        self._code, self._on_host = code, None
        self.module = load_task_module(code, name=name, device=self._place)
        self._weight_seed = fields["weight_seed"]
        self.model = self.module.make_model(self._weight_seed)
        state = dict(self.model.state_dict()) if isinstance(self.model, torch.nn.Module) else {}
        init_inputs = self._checked(list(self.module.init_inputs()), f"{INIT_INPUTS_NAME}()")
        example = self._example(fields["example_seed"])
        inputs = inputs_on_meta(code, name) if example is None else example
        answer = {
            "input_kinds": argument_kinds(inputs),
            "init_kinds": argument_kinds(init_inputs),
            "single_precision": is_single_precision(code, [inputs or [], state]),
            "neutral": neutral_names(self.model),
            "code": code,
            "reductions": [asdict(r) for r in reduced.reductions] if reduced else [],
            "forced": list(reduced.forced) if reduced else [],
            "doubtful": list(reduced.doubtful) if reduced else [],
        }
        values = {
            "init_inputs": to_wire(init_inputs),
            "state": to_wire(state),
            "example": to_wire(example),
        }
        return answer, values

    def _rest(self) -> None:
        """Nothing of the last verdict is left, and the host's cores are free again."""
        self.module = self.model = self._compiled = None
        self.__dict__.pop("_timed", None)
        stay_on(None)
        self._release()

    def _release(self) -> None:
        if self.device and self.device.exchange:
            self.device.exchange.clear()

    def _example(self, seed: int) -> list[Any] | None:
        """Inputs for the recorder, which has a device of its own, if any: None where they are large."""
        assert self.module is not None
        if self.device is not None and input_bytes(self._code, self.module.name) > EXAMPLE_BYTES:
            return None  # nor made: the device may be another's now
        return self._checked(self.module.make_inputs(seed), f"{INPUTS_NAME}()")

    def _trial(self, seed: int, variation: str) -> dict[str, Any]:
        assert self.module is not None
        made = self._checked(list(self.module.make_inputs(seed)), f"{INPUTS_NAME}()")
        return self._run_on(varied(made, variation, seed)[0])

    def _trial_on_other_weights(self, seed: int, weights: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """A trial of another model, made under the same seed, whose neutral weights are none; the first one stays."""
        assert self.module is not None
        kept = self._model
        try:
            with made_otherwise(weights):
                model = self.module.make_model(self._weight_seed)
            for weight in model.parameters():
                vary(weight, weights)  # what was filled past the constructors
            self.model = model
            state = dict(model.state_dict())
            silent: list[str] = []
            values = self._run_on(self._checked(self.module.make_inputs(seed), f"{INPUTS_NAME}()"), silent=silent)
        finally:
            self.model = kept
        names = [name for name in neutral_names(kept) if isinstance(state.get(name), torch.Tensor)]
        return {"silent": silent[0], "varied": names, "kinds": sorted(kinds_of(kept))}, {
            **values,
            "state": to_wire(state),
        }

    def _run_on(self, inputs: list[Any], *, keep_warm: bool = False, silent: list[str] | None = None) -> dict[str, Any]:
        """Both references on these inputs, which are the task's to write to.

        `silent` receives why nothing can be told by the outputs, or "".
        """
        assert self.module is not None
        exchange = self.device.exchange if self.device else None
        export = exchange.export if exchange else None
        if exchange:
            exchange.clear(keep_warm=keep_warm)
        before = map_tensors(inputs, exchange.place if exchange else _own_copy)  # forward may write to its inputs
        made64 = self._in_float64(before)
        expected64 = to_wire(made64, export)
        if silent is None:
            made64 = None
        if exchange:
            exchange.release(keep_warm=keep_warm)  # float64 copies are the largest that there are
        if self._on_host is None and export is None:
            follow = may_keep_on_host(self._code)
            self._on_host = outputs_on_host(self.module, self._code, self.model, before) if follow else []
        expected32 = self._checked(self.module.forward(self.model, inputs), "output")
        if silent is not None:
            silent.append(says_nothing(expected32, made64))
        self._checked(inputs, "input")
        sent = to_wire(before, export)
        untouched = exchange is not None and _same(before, inputs)
        values = {
            "inputs": sent,
            "expected32": self._sent(expected32, export),
            "expected64": expected64,
            "inputs_after": sent if untouched else to_wire(inputs, export),
        }
        if self.device:
            self.device.synchronize()
        return values

    # ---------------------------------------------------------------------------------------------------------- timing
    @functools.cached_property
    def _timed(self) -> TimedCalls:
        assert self.device is not None
        return TimedCalls(self.device)

    @property
    def _model(self) -> torch.nn.Module:
        assert self.model is not None
        return self.model

    def _arenas(self, seeds: list[int], cycle: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fresh sets of inputs, here and for the candidate."""
        assert self.module is not None
        assert self.device is not None
        exchange = self.device.exchange
        assert exchange is not None
        self._timed.use([], [], 0)
        exchange.clear(keep_warm=True)
        arenas, leaves = make_arenas(self.module.make_inputs, seeds, exchange.empty)
        self._timed.use(arenas, leaves, len(seeds), cycle)
        self.device.synchronize()
        return {"leaves": leaves}, {"arenas": to_wire(arenas, exchange.export)}

    def _compile(self, seed: int) -> str | None:
        """Why there is no compiled model; None where there is one."""
        assert self.module is not None
        assert self.device is not None
        try:
            self._compiled = torch.compile(self._model)
            with torch.no_grad():
                self._compiled(*self.module.make_inputs(seed))
            self.device.synchronize()
        except Exception as error:  # noqa: BLE001  whatever the compiler makes of a task
            traceback.print_exc()
            return " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return None

    def _sent(self, outputs: Any, export: Export | None) -> Any:
        """Expected outputs for the wire, with a mark on those that the task keeps on the CPU."""
        tensors = list(crossing_tensors(outputs))
        on_host = [t.device.type == "cpu" for t in tensors] if export else self._on_host or []
        sent = to_wire(outputs if export else map_tensors(outputs, _own_copy), export)
        return kept_on_host(sent, iter(on_host)) if len(on_host) == len(tensors) else sent

    def _checked(self, value: Any, path: str) -> Any:
        """The value itself, where all of it can be handed to another process and compared there."""
        if (found := first_foreign(value, path)) is None:
            return value
        assert self.module is not None
        place, name = (" ".join(text.split())[:200] for text in found)
        raise TaskError(
            f"task {self.module.name}: {place} can't be compared: {name}; a task takes and returns dense tensors, "
            "numbers, strings, None, and lists, tuples and dicts of those (keys: strings, whole numbers, tuples)"
        )

    def _in_float64(self, inputs: list[Any]) -> Any:
        """The outputs of a float64 copy of the model as it is now, or None where the task does not run in float64."""
        assert self.module is not None
        assert self.model is not None
        if not _has_floating(inputs) and not _has_floating(list(self.model.state_dict().values())):
            return None
        try:
            model = copy.deepcopy(self.model).double()
            widened = map_tensors(inputs, lambda t: t.double() if t.is_floating_point() else t.clone())
            outputs = self.module.forward(model, widened)
            # An export copies anyway, and of the largest tensors that there are each copy counts.
            return outputs if self.device and self.device.exchange else map_tensors(outputs, _own_copy)
        except Exception:  # noqa: BLE001  any failure means only that this task has no float64 run
            return None


def _same(before: Any, after: Any) -> bool:
    """Equal in every tensor; NaN counts as a difference, which costs a copy and no more."""
    pairs = list(crossing_tensors(before)), list(crossing_tensors(after))
    return len(pairs[0]) == len(pairs[1]) and all(map(torch.equal, *pairs))


def _own_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.preserve_format)


def _has_floating(values: list[Any]) -> bool:
    found: list[bool] = []
    map_tensors(values, lambda t: found.append(t.is_floating_point()))
    return any(found)
