"""Products of matrices, and layers made of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from musacoder.data.operators.types import Operand, Operator, Product

_SPREAD = "torch.randn({shape}) * {spread}"
_WEIGHT = ("weight", "kernel", "proj")


def _second(is_weight: bool) -> Operand:
    return Operand("w", "own", is_weight, _SPREAD, _WEIGHT if is_weight else ("y", "rhs", "other", "mat"))


def products() -> Iterator[Operator]:
    """All of them."""
    bias = Operand("b", "own", True, "torch.randn({shape})", ("bias", "offset"))
    nt: dict[str, Any] = {"is_transposed": True}
    layer: dict[str, Any] = {"attribute": "fc", "held": {"w": "weight"}}
    for key, rank in (("linear", (2,)), ("linear_rows", (3,))):
        yield Product(key, "matmul", ("F.linear({x}, {w}, {b})",), "nn.Linear({K}, {N})", "fc",
                      {"w": "weight", "b": "bias"}, (_second(True), bias), rank=rank, **nt)  # fmt: skip
        yield Product(f"{key}_no_bias", "matmul", ("F.linear({x}, {w})", "{x} @ {w}.t()"),
                      "nn.Linear({K}, {N}, bias=False)", operands=(_second(True),), rank=rank, **layer,
                      **nt)  # fmt: skip
    yield Product("matmul_weight", "matmul", ("torch.matmul({x}, {w})", "{x} @ {w}"), operands=(_second(True),),
                  rank=(2, 3))  # fmt: skip
    yield Product("addmm", "matmul", ("torch.addmm({b}, {x}, {w})", "{x} @ {w} + {b}"), operands=(_second(True), bias))
    yield Product("matmul", "matmul", ("torch.matmul({x}, {w})", "{x} @ {w}", "torch.mm({x}, {w})"),
                  operands=(_second(False),))  # fmt: skip
    yield Product("matmul_nt", "matmul", ("torch.matmul({x}, {w}.t())", "{x} @ {w}.T", "F.linear({x}, {w})"),
                  operands=(_second(False),), **nt)  # fmt: skip
    yield Product("bmm", "matmul", ("torch.bmm({x}, {w})", "torch.matmul({x}, {w})", "{x} @ {w}"),
                  operands=(_second(False),), rank=(3,), is_batched=True)  # fmt: skip
    yield Product("bmm_nt", "matmul", ("torch.bmm({x}, {w}.transpose(1, 2))", "{x} @ {w}.transpose(-1, -2)"),
                  operands=(_second(False),), rank=(3,), is_batched=True, **nt)  # fmt: skip
    yield Product("bmm_weight", "matmul", ("torch.bmm({x}, {w})", "torch.einsum('bik,bkj->bij', {x}, {w})"),
                  operands=(_second(True),), rank=(3,), is_batched=True)  # fmt: skip
