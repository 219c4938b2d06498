"""The impostor child: tells whether the judge's comparison sees a wrong output of a task. Runs nobody's code.

Operations
    start, rest   as of the compare child
    hold          tolerance; values: inputs, expected32, expected64 -> facts of each output; the run before is kept
    impostors     wanted (None: all) -> of each impostor that is made of the outputs held, whether it is told
    compare       again; values: outputs -> agrees (within the tolerance), same (bit for bit). `again`: these are of the
                  same run once more, which float64 has no say in: what differs each time would excuse itself
"""

from __future__ import annotations

from typing import Any

from mooreeval.config import Tolerance
from mooreeval.execute.compare_child import CompareChild
from mooreeval.execute.impostors import HeldOutputs, Named, told
from mooreeval.execute.tensors import from_wire, tensor_paths


class ImpostorChild(CompareChild):
    """State: the outputs of one run and of the one before it, which outlives the memory it came in."""

    def __init__(self) -> None:
        super().__init__()
        self._held: HeldOutputs | None = None
        self._before: HeldOutputs | None = None
        self._inputs: list[Named] = []

    def handle(self, op: str, fields: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if op == "hold":
            return self._hold(fields, values), {}
        if op == "impostors":
            wanted = fields["wanted"] and {(name, at) for name, at in fields["wanted"]}
            return {"impostors": told(self._expected, self._before, self._inputs, wanted)}, {}
        if op == "compare":
            got = self._read(values["outputs"])
            expected = self._expected.without_float64() if fields["again"] else self._expected
            answer = {"agrees": expected.agrees(got), "same": expected.is_same(got)}
            if self._exchange:
                del got, expected
                self._exchange.clear()  # the task's process needs the room
            return answer, {}
        return super().handle(op, fields, values)

    def _hold(self, fields: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        tolerance = Tolerance.model_validate(fields["tolerance"])
        self._before = self._held
        self._inputs = list(tensor_paths("input", self._read(values["inputs"])))
        self._held = HeldOutputs(self._read(values["expected32"]), self._read(values["expected64"]), tolerance)
        return {"outputs": self._held.facts()}

    @property
    def _expected(self) -> HeldOutputs:
        assert self._held is not None
        return self._held

    def _read(self, value: Any) -> Any:
        """On a device a copy: the task's process gives back what it sent."""
        return from_wire(value, open_tensor=self._exchange.copy if self._exchange else None)
