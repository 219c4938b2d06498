"""The recorder and the run child: the only processes that execute a candidate's Python.

Operations
    start   backend, options -> name and tensor_device of the device
    load    code, weight_seed, mode ("record" | "run"), artefacts, other_weights (None, or seed, names and kinds:
            the weights that have other values than a model begins with); values: init_inputs, state
            -> error or None, extensions recorded, refusals, asked_for_more, without_counterpart (of those weights),
            surplus (weights of its own that are one too many)
    trial   schedule, seconds; values: inputs -> as of load, report, operators; values: outputs, inputs_after
    held    as trial, but no kernel of the candidate's runs
    release -> nothing; the device's memory is given back, the model stays
    arenas  leaves, count, cycle, core; values: arenas -> error or None
    block   calls, first, keep, held -> error or None
    show    back -> error or None, devices; values: outputs, inputs_after
    trace   seconds -> error or None, report, operators, kernels, missing

Both roles see the same emulated or real device properties and run the same code; the recorder hands over strings and
its kernels are stand-ins, the run child loads artefacts that were built from those strings and refuses any other.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import importlib.machinery
import importlib.util
import linecache
import os
import signal
import sys
import traceback
import types
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

from mooreeval.execute.device import Device, open_device
from mooreeval.execute.neutral_weights import made_otherwise, surplus, without_counterpart
from mooreeval.execute.same_places import SamePlaces
from mooreeval.execute.tensors import crossing_tensors, from_wire, to_wire
from mooreeval.execute.timed_calls import TimedCalls, stay_on
from mooreeval.legality.device_trace import traced
from mooreeval.legality.watch import OperatorWatch
from mooreeval.toolchains.base import Extension
from mooreeval.toolchains.record import Interceptor, Refused, StandIn

FILE_NAME = "candidate.py"
MAX_TEXT = 4000


class Unrecorded(Exception):
    """The candidate asked for other sources than were recorded."""


class BadPython(Exception):
    """The candidate's file is not Python; `line` is 1-based where it is known."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(getattr(cause, "msg", None) or _message(cause) or type(cause).__name__)
        self.line = cause.lineno if isinstance(cause, SyntaxError) else None
        self.cause_name = type(cause).__qualname__


class CandidateChild:
    """State: the device, the candidate's module and its one ModelNew."""

    def __init__(self) -> None:
        self.device: Device | None = None
        self.model: Any = None
        self.artefacts: dict[str, dict[str, str]] = {}
        self.mode = "run"
        self.interceptor = Interceptor(self._extension_module)
        self._asked_for_more = False  # than was recorded
        self._loaded: dict[str, Any] = {}
        self._watch: OperatorWatch | None = None
        self._kept_inputs: list[Any] | None = None
        self._without_counterpart: list[str] = []
        self._surplus: list[str] = []
        self._places = SamePlaces()

    @functools.cached_property
    def _timed(self) -> TimedCalls:
        return TimedCalls(self._device)

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if op == "start":
            print_line_by_line()
            signal.signal(signal.SIGALRM, signal.SIG_IGN)  # until a simulator's run time takes it, see `alarm`
            self.device = open_device(fields["backend"], fields["options"])
            self._watch = OperatorWatch(FILE_NAME, self.device.operator_log)
            return {"name": self.device.name, "tensor_device": self.device.tensor_device}, {}
        if op == "load":
            return self._load(fields, values), {}
        if op == "trial":
            return self._trial(fields, values)
        if op == "held":
            self._device.hold_launches(True)
            try:
                with unheard():
                    return self._trial(fields, values)
            finally:
                self._device.hold_launches(False)
        if op == "release":
            self._places.forget()
            if self._device.exchange:
                self._device.exchange.clear()
            return {}, {}
        if op == "arenas":
            return self._arenas(fields, values), {}
        if op == "block":
            return self._block(fields), {}
        if op == "show":
            return self._show(fields["back"])
        if op == "trace":
            return self._trace(fields["seconds"]), {}
        raise ValueError(f"the candidate's child has no operation {op}")

    # ------------------------------------------------------------------------------------------------------------ load
    def _load(self, fields: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        self.mode, self.artefacts = fields["mode"], fields.get("artefacts", {})
        if self.mode == "record":
            torch.set_num_threads(1)  # what it computes is of no interest, and others need the cores
        self.interceptor.install()
        error = _error_of(lambda: self._make_model(fields, values))
        fits = {"without_counterpart": self._without_counterpart, "surplus": self._surplus}
        return {"error": error, **fits, **self._recorded()}

    def _recorded(self) -> dict[str, Any]:
        if self.mode != "record":
            return {"asked_for_more": self._asked_for_more or bool(self.interceptor.refusals)}
        return {
            "extensions": [e.to_json() for e in self.interceptor.extensions],
            "refusals": [{"reason": str(r), "feature": r.feature} for r in self.interceptor.refusals],
        }

    def _make_model(self, fields: dict[str, Any], values: dict[str, Any]) -> None:
        module = execute_candidate(fields["code"])
        if not isinstance(getattr(module, "ModelNew", None), type):
            raise NameError("the candidate's code ran, but defines no class ModelNew")
        init_inputs = from_wire(values["init_inputs"])
        other, state = fields.get("other_weights"), from_wire(values["state"])
        torch.manual_seed(fields["weight_seed"])
        with torch.no_grad():
            with _other_weights(other):
                self.model = module.ModelNew(*init_inputs)
            if isinstance(self.model, torch.nn.Module):
                self.model = self.model.to(self._device.tensor_device)
                if other:
                    wanted = {name: state[name] for name in other["names"]}
                    self._without_counterpart = without_counterpart(self.model, wanted)
                    self._surplus = surplus(self.model, wanted)
                given = copy_state(self.model, state)
                if self._device.operator_log:
                    for tensor in given:
                        self._device.operator_log.mark_weights(tensor.untyped_storage().data_ptr())

    @property
    def _device(self) -> Device:
        assert self.device is not None
        return self.device

    def _extension_module(self, extension: Extension) -> Any:
        if self.mode == "record":
            return StandIn(extension, self._stand_in_result)
        key = extension.content_hash()
        if key not in self.artefacts:
            self._asked_for_more = True  # told even where the candidate catches what is raised
            raise Unrecorded(f"extension {extension.name!r} was not among the recorded ones, or its sources changed")
        if key not in self._loaded:
            self._loaded[key] = load_artefact(self.artefacts[key])
        return self._loaded[key]

    def _stand_in_result(self, args: tuple[Any, ...]) -> Any:
        """A tensor like the first argument: enough for most Python around a kernel to go on while recording."""
        for arg in args:
            if isinstance(arg, torch.Tensor):
                return torch.zeros_like(arg)
        return torch.zeros(1, device=self._device.tensor_device)

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        """On this device in memory of its own; what was received by handle is there already."""
        return self._device.place(tensor) if tensor.device.type == "cpu" else tensor

    # ----------------------------------------------------------------------------------------------------------- trial
    def _trial(self, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        exchange = self._device.exchange
        if exchange:
            exchange.clear()
        inputs = self._places.placed(values["inputs"], self._placed, exchange)
        self._device.begin_trial(fields["schedule"])
        answer: dict[str, Any] = {"devices": []}
        out: dict[str, Any] = {}
        with alarm(fields["seconds"]):
            answer["error"] = _error_of(lambda: out.update(self._forward(inputs, answer["devices"])))
        flush_output()
        self._kept_inputs = inputs if fields.get("keep") else None
        answer.update(report=self._device.report(), operators=self._operators(), **self._recorded())
        return answer, out if self.mode == "run" else {}

    def _forward(self, inputs: list[Any], devices: list[str]) -> dict[str, Any]:
        """Wire values of one forward; `devices` receives the device of each tensor among them."""
        with torch.no_grad(), self._watched(inputs):
            result = self.model(*inputs)
        self._device.synchronize()
        self._device.note_outputs(crossing_tensors(result))
        return self._sent(result, inputs, devices)

    def _watched(self, inputs: list[Any]) -> contextlib.AbstractContextManager[None]:
        watch = self._watch if self.mode == "run" else None
        return watch.watching(inputs) if watch else contextlib.nullcontext()

    def _operators(self) -> list[dict[str, Any]]:
        return self._watch.report() if self._watch and self.mode == "run" else []

    def _trace(self, seconds: float) -> dict[str, Any]:
        """One more call on inputs that are here already, with a profiler that sees what the device does."""
        inputs = self._timed.sets[-1] if self._timed.sets else self._kept_inputs
        answer: dict[str, Any] = {"error": None, "kernels": [], "missing": None}
        if inputs is None:
            answer["missing"] = "no inputs were kept"
        else:
            self._device.begin_trace()
            with alarm(seconds):
                answer["error"] = _error_of(lambda: answer.update(self._traced(inputs)))
        flush_output()
        answer.update(report=self._device.report(), operators=self._operators())
        return answer

    def _traced(self, inputs: list[Any]) -> dict[str, Any]:
        def call() -> None:
            with torch.no_grad(), self._watched(inputs):
                self.model(*inputs)
            self._device.synchronize()

        return {"kernels": traced(call)}

    def _sent(self, result: Any, inputs: list[Any], devices: list[str]) -> dict[str, Any]:
        """Wire values of an output and of the inputs as they are now; `devices` receives where each output is."""
        devices.extend(str(t.device) for t in crossing_tensors(result))
        exchange = self._device.exchange
        export = exchange.export if exchange else None
        sent = {"outputs": to_wire(result, export), "inputs_after": to_wire(inputs, export)}
        self._device.synchronize()  # copies of what goes to another process have arrived
        return sent

    # ---------------------------------------------------------------------------------------------------------- timing
    def _arenas(self, fields: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        """Take fresh sets of inputs into this process's own memory."""
        exchange = self._device.exchange
        assert exchange is not None
        stay_on(fields["core"])
        self._places.forget()
        self._timed.use([], [], 0)
        exchange.clear(keep_warm=True)
        arenas = from_wire(values["arenas"], open_tensor=exchange.receive)
        self._timed.use(arenas, fields["leaves"], fields["count"], fields["cycle"])
        self._device.synchronize()
        return {"error": None}

    def _block(self, fields: dict[str, Any]) -> dict[str, Any]:
        numbers = [fields[name] for name in ("calls", "first", "keep", "held")]
        return {"error": _error_of(lambda: self._timed.block(self.model, *numbers))}

    def _show(self, back: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """One output of the last block, and the inputs that it was made of as they are now."""
        out: dict[str, Any] = {}
        answer: dict[str, Any] = {"devices": []}
        answer["error"] = _error_of(lambda: out.update(self._shown(back, answer["devices"])))
        return answer, out

    def _shown(self, back: int, devices: list[str]) -> dict[str, Any]:
        index, result = self._timed.output(back)
        return self._sent(result, self._timed.sets[index], devices)


def print_line_by_line() -> None:
    """What a kernel or its host code prints in C reaches the log before a crash can lose it."""
    line_buffered = 1  # _IOLBF of glibc and musl
    libc = ctypes.CDLL(None)
    libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, line_buffered, ctypes.c_size_t(1 << 12))


@contextlib.contextmanager
def unheard() -> Generator[None]:
    """What is printed within is kept by nobody: it was printed before."""
    kept = []
    for number in (1, 2):
        with contextlib.suppress(OSError):  # the candidate may have closed it
            kept.append((number, os.dup(number)))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number, _copy in kept:
        os.dup2(nowhere, number)
    try:
        yield
    finally:
        flush_output()
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


def flush_output() -> None:
    """Lines that have not ended yet, of C and of Python."""
    ctypes.CDLL(None).fflush(None)
    with contextlib.suppress(Exception):  # the candidate may have closed or replaced it
        sys.stdout.flush()


@contextlib.contextmanager
def alarm(seconds: float) -> Generator[None]:
    """Shortly before the judge's deadline, say where this process is: a kernel by the run time, Python in the log."""
    early = max(0.5 * seconds, seconds - 1.0)
    faulthandler.dump_traceback_later(early, exit=False)
    signal.setitimer(signal.ITIMER_REAL, early / 2, early / 2)  # the run time compares the two moments
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def execute_candidate(code: str) -> types.ModuleType:
    """Run the candidate's file as a module of its own; its exceptions pass through."""
    module = types.ModuleType("candidate")
    module.__file__ = FILE_NAME
    sys.modules["candidate"] = module
    Path(FILE_NAME).write_text(code, encoding="utf-8", errors="replace", newline="\n")
    linecache.cache[FILE_NAME] = (len(code), None, code.splitlines(keepends=True), FILE_NAME)
    try:
        compiled = compile(code, FILE_NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise BadPython(error) from error
    exec(compiled, module.__dict__)
    return module


def _other_weights(other: dict[str, Any] | None) -> contextlib.AbstractContextManager[None]:
    if other is None:
        return contextlib.nullcontext()
    return made_otherwise(other["seed"], frozenset((begins_as, count) for begins_as, count in other["kinds"]))


def load_artefact(artefact: dict[str, str]) -> Any:
    """Import the shared object that was built from the recorded strings."""
    loader = importlib.machinery.ExtensionFileLoader(artefact["module_name"], artefact["path"])
    spec = importlib.util.spec_from_file_location(artefact["module_name"], artefact["path"], loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def copy_state(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Give parameters and buffers the reference's values where name and shape agree; these are returned.

    Another order of construction draws other random numbers from the same seed: no error of the candidate.
    """
    own = model.state_dict()
    given: list[torch.Tensor] = []
    for name, value in state.items():
        both = isinstance(own.get(name), torch.Tensor) and isinstance(value, torch.Tensor)
        if both and own[name].shape == value.shape:
            given.append(own[name].copy_(value))
    return given


# --------------------------------------------------------------------------------------------------------------- errors
def _error_of(action: Any) -> dict[str, Any] | None:
    """What the candidate raised, as data. SystemExit and the like are its errors too."""
    try:
        action()
    except BaseException as error:  # noqa: BLE001  whatever it raises is what we report
        return describe_error(error)
    return None


def describe_error(error: BaseException) -> dict[str, Any]:
    """Type, message, place and the candidate's own frames of an exception."""
    every = traceback.extract_tb(error.__traceback__)
    frames = [f for f in every if f.filename == FILE_NAME]
    line = error.line if isinstance(error, BadPython) else frames[-1].lineno if frames else None
    return {
        "kind": _error_kind(error),
        "type": (error.cause_name if isinstance(error, BadPython) else type(error).__qualname__)[:100],
        "message": _message(error)[:MAX_TEXT],
        "line": line,
        "traceback": "".join(traceback.format_list(frames))[-MAX_TEXT:],
        "raised_in": _package(every[-1].filename) if every else "",
    }


def _package(path: str) -> str:
    """The installed package that a file belongs to."""
    _, installed, inner = path.rpartition("/site-packages/")
    return inner.split("/")[0].removesuffix(".py")[:100] if installed else ""


def _error_kind(error: BaseException) -> str:
    if isinstance(error, Unrecorded):
        return "unrecorded"
    if isinstance(error, Refused):
        return "refused"
    if isinstance(error, BadPython):
        return "syntax"
    if isinstance(error, NameError) and "defines no class ModelNew" in str(error):
        return "no_model"
    return "exception"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  a hostile __str__ is the candidate's to have
        text = "<unprintable>"
    text = text.split("\nException raised from")[0].split("\nC++ CapturedTraceback")[0]
    return text.encode("utf-8", "replace").decode()  # a lone surrogate is no text for the wire
