"""What the device does in one forward pass, by PyTorch's profiler in the candidate's own process. For children only."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

MOST_ROWS = 2000
_KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}
_HOST_CALLS = ("cuda_runtime", "cuda_driver")


def traced(call: Callable[[], None]) -> list[dict[str, Any]]:
    """Runs `call`, which must wait for the device, and tells what the device did, as `answers.KernelClaim` reads it."""
    from torch.autograd.profiler import profile  # torch.profiler's own imports PyTorch's compiler, which takes a second

    with profile(use_device="cuda", use_kineto=True) as profiler:
        call()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return rows_of(json.loads(path.read_text(encoding="utf-8"))["traceEvents"])


def rows_of(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The device's activities in a Chrome trace, equal ones added up, each with the operators around its launch."""
    spans = [e for e in events if e.get("ph") == "X"]
    operators = _by_thread(e for e in spans if e.get("cat") == "cpu_op")
    launches = {_correlation(e): e for e in spans if e.get("cat") in _HOST_CALLS and _correlation(e) is not None}
    rows: dict[tuple[Any, ...], list[float]] = {}
    for event in spans:
        kind = _KINDS.get(str(event.get("cat")))
        if kind is None:
            continue
        arguments = event.get("args", {})
        around = _around(launches.get(_correlation(event)), operators)
        key = (kind, str(event["name"]), _triple(arguments.get("grid")), _triple(arguments.get("block")), around)
        row = rows.setdefault(key, [0, 0.0])
        row[0] += 1
        row[1] += float(event.get("dur", 0.0))
    longest = sorted(rows.items(), key=lambda item: -item[1][1])[:MOST_ROWS]
    return [
        {
            "kind": kind, "name": name[:2000], "grid": grid, "block": block, "operators": around,
            "count": int(count), "us": us,
        }
        for (kind, name, grid, block, around), (count, us) in longest
    ]  # fmt: skip


def _by_thread(operators: Any) -> dict[Any, list[tuple[float, float, str]]]:
    """Begin, end and name of operators, by thread, in the order in which they begin."""
    found: dict[Any, list[tuple[float, float, str]]] = {}
    for event in operators:
        begin = float(event["ts"])
        found.setdefault(event.get("tid"), []).append((begin, begin + float(event.get("dur", 0.0)), str(event["name"])))
    return {thread: sorted(spans, key=lambda span: (span[0], -span[1])) for thread, spans in found.items()}


def _around(
    launch: Mapping[str, Any] | None, operators: Mapping[Any, list[tuple[float, float, str]]]
) -> tuple[str, ...]:
    """The operators within which a launch was made, outermost first."""
    if launch is None:
        return ()
    moment = float(launch["ts"])
    spans = operators.get(launch.get("tid"), [])
    return tuple(name[:200] for begin, end, name in spans if begin <= moment <= end)[:16]


def _correlation(event: Mapping[str, Any]) -> Any:
    return event.get("args", {}).get("correlation")


def _triple(value: Any) -> tuple[int, int, int]:
    if isinstance(value, (list, tuple)) and len(value) == 3:
        return int(value[0]), int(value[1]), int(value[2])
    return 0, 0, 0
