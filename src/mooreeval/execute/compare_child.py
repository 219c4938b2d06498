"""The compare child: decodes what a candidate returned and compares it with what the reference did. Runs nobody's code.

Operations
    start     backend, options: compare on this device; without it on the CPU
    rest      whether the device still answers: nothing is held between comparisons
    compare   devices, expected_device, tolerance, held; values: got {outputs, inputs_after}, want {inputs,
              inputs_after, expected32, expected64} -> mismatch (None where they agree), or malformed; where kernels
              were held, also whether what agrees is plain

The judge hands on bytes that it never decodes: hostile tensors can at most end this process, and the judge, which
needs no torch then, starts sooner.
"""

from __future__ import annotations

import cmath
import traceback
from typing import Any

import torch

from mooreeval.config import Tolerance
from mooreeval.execute.compare import compare_inputs, compare_outputs
from mooreeval.execute.device import Device, open_device
from mooreeval.execute.device_memory import DeviceMemoryError, Exchange
from mooreeval.execute.tensors import crossing_tensors, devices_of, from_wire
from mooreeval.verdict import Mismatch


class CompareChild:
    """Holds nothing from one comparison to the next."""

    def __init__(self) -> None:
        torch.set_num_threads(1)  # a second one costs more CPU time than it saves, most of it spent waiting
        self._device: Device | None = None
        self._exchange: Exchange | None = None

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if op == "start":
            self._device = device = open_device(fields["backend"], fields["options"])
            self._exchange = device.exchange
            return {"name": device.name, "tensor_device": device.tensor_device}, {}
        if op == "rest":
            if self._device:
                self._device.synchronize()  # whatever a candidate's memory did: this process ends of it now, or not
            return {}, {}
        if op != "compare":
            raise ValueError(f"the compare child has no operation {op}")
        exchange = self._exchange
        copied, viewed = (exchange.copy, exchange.view) if exchange else (None, None)
        try:
            got = {name: from_wire(value, open_tensor=copied) for name, value in values["got"].items()}
        except torch.OutOfMemoryError:
            raise  # the device is too small for both sides: no fault of the candidate's
        except Exception as error:  # whatever a candidate's bytes do to torch
            if isinstance(error, DeviceMemoryError) and error.is_shortage:
                raise
            traceback.print_exc()
            return {"malformed": True, "mismatch": None, "plain": False}, {}
        want = {name: from_wire(value, open_tensor=viewed) for name, value in values["want"].items()}
        places = devices_of(values["want"]["expected32"], fields["expected_device"])
        mismatch = _compared(got, want, fields, places)
        plain = fields["held"] and mismatch is None and are_plain(got["outputs"], want["inputs"])
        if exchange:
            del got, want
            exchange.clear()
        return {"malformed": False, "mismatch": mismatch and mismatch.model_dump(mode="json"), "plain": plain}, {}


def are_plain(outputs: Any, inputs: Any) -> bool:
    """Whether nobody had to compute these outputs: each is one value everywhere, or holds what an input holds."""
    known = list(crossing_tensors(inputs))
    return all(_is_constant(t) or any(_hold_the_same(t, other) for other in known) for t in crossing_tensors(outputs))


def _is_constant(tensor: torch.Tensor) -> bool:
    """One value everywhere. A single number says nothing where it is one that is there without being computed."""
    if tensor.numel() == 0:
        return True
    bits = _bits(tensor)
    if tensor.numel() > 1:
        return bool((bits == bits[:1]).all())
    number = tensor.item()
    return number in (0, 1, -1) or not cmath.isfinite(number) or bool((bits == 0xFF).all())


def _hold_the_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same bits in the same order, whatever the shapes."""
    return one.dtype == other.dtype and one.numel() == other.numel() and torch.equal(_bits(one), _bits(other))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Elements by their bytes, one row each, so that a NaN equals itself."""
    flat = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return flat.contiguous().view(-1).view(torch.uint8).view(tensor.numel(), -1)


def _compared(got: dict[str, Any], want: dict[str, Any], fields: dict[str, Any], places: list[str]) -> Mismatch | None:
    """Outputs first, then what was left behind in the inputs."""
    tolerance = Tolerance.model_validate(fields["tolerance"])
    mismatch = compare_outputs(
        got["outputs"],
        want["expected32"],
        want["expected64"],
        tolerance,
        devices=fields["devices"],
        expected_devices=places,
        inputs=[(f"input[{i}]", t) for i, t in enumerate(want["inputs"]) if isinstance(t, torch.Tensor)],
    )
    return mismatch or compare_inputs(want["inputs"], want["inputs_after"], got["inputs_after"], tolerance)
