"""Verdicts of every status, as tests of what is made of them need them."""

from __future__ import annotations

from typing import Any

from mooreeval.verdict import (
    Diagnostic,
    Finding,
    FindingKind,
    Launch,
    Mismatch,
    Place,
    Reduction,
    RuleHit,
    Shape,
    Status,
    Trial,
    Verdict,
)

CODE = """import torch
from torch.utils.cpp_extension import load_inline

source = r'''
__global__ void scale(const float* x, float* y, int n) {
\tint i = blockIdx.x * blockDim.x + threadIdx.x;
\tif (i <= n) y[i] = 2 * x[i];
}
'''


class ModelNew(torch.nn.Module):
    pass
"""
PLACE = Place(file="candidate", line=7, column=14, text="if (i <= n) y[i] = 2 * x[i];")


def verdict(status: Status, **fields: Any) -> Verdict:
    """A valid verdict of that status, with the payload that it needs where none is given."""
    needed: dict[str, Any] = {
        Status.CORRECT: {"q": 1.0},
        Status.INCORRECT: {"q": 0.0},
        Status.ILLEGAL: {"rules": (RuleHit(rule="no_kernel_launched", message="no kernel ran"),)},
        Status.UNSUPPORTED: {"unsupported_feature": "wmma"},
    }.get(status, {})
    identity = {"backend": "simulator", "task_hash": "7" * 64, "candidate_hash": "c" * 64, "config_hash": "f" * 64}
    return Verdict(**{"status": status, "reason": f"reason of {status}", **identity, **needed, **fields})


def out_of_bounds(**fields: Any) -> Finding:
    """A finding with every place and thread filled in."""
    known: dict[str, Any] = {
        "kind": FindingKind.OUT_OF_BOUNDS,
        "severity": "error",
        "message": "writes 4 bytes past the end of an allocation of 4000 bytes",
        "kernel": "scale",
        "block": (3, 0, 0),
        "thread": (232, 0, 0),
        "place": PLACE,
        "count": 5,
    }
    return Finding(**{**known, **fields})


def full(status: Status) -> Verdict:
    """A verdict with something in every field that its status allows."""
    mismatch = Mismatch(
        output="output",
        kind="values",
        message="24 of 1000 elements of output are wrong (2.4 %): the last 24 of 1000 (from 976 on).",
        wrong=24,
        total=1000,
        patterns=("nan", "tail"),
        first=(976,),
        examples=(((976,), float("nan"), 0.5), ((999,), float("inf"), -1.25)),
    )
    return verdict(
        status,
        trials=(Trial(index=0, seed=1, passed=True), Trial(index=1, seed=2, passed=False, mismatch=mismatch)),
        diagnostics=(
            Diagnostic(severity="error", message="'foo' was not declared in this scope", place=PLACE),
            Diagnostic(severity="note", message="suggested alternative", place=PLACE),
        ),
        findings=(out_of_bounds(), out_of_bounds(kind=FindingKind.WARP_SYNC, severity="warning")),
        warnings=("a barrier after some threads have left",),
        launches=(Launch(kernel="scale", grid=(4, 1, 1), block=(256, 1, 1), shared_bytes=0, count=3),),
        exception="Traceback (most recent call last):\n  boom\nRuntimeError: boom",
        output_tail="hello from the kernel\n",
        reductions=(Reduction(name="batch_size", original=4096, used=64, line=3),),
        versions={"torch": "2.13.0"},
        seed="ab" * 16,
        shapes=(Shape(name="input[0]", shape=(1000,), dtype="float32"),),
        stage_seconds={"build": 6.1, "run": 0.4},
    )
