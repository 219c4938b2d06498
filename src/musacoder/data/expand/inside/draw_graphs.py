"""Draws graphs by NNSmith: `python -m musacoder.data.expand.inside.draw_graphs`, a line of JSON for each line it reads.

    {"seed": 17, "nodes": 5} -> {"inputs": [[name, shape]], "weights": [[name, shape]], "steps": [], "outputs": [name]}

A step is an operator: how it is called in a forward pass, or the layer that it is. NNSmith's constraints make each
shape fit. Operators that round, have poles or are not defined everywhere are left out, since small errors would become
large ones, and so is all that is not float32. It is a process of its own because it brings torch, z3 and more.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

SEARCH_MS = 20_000
FEWEST_ELEMENTS = 64  # of the largest tensor
MOST_ELEMENTS = 1 << 22  # of one tensor

_CALLS = {
    "ReLU": "torch.relu({0})",
    "GELU": "F.gelu({0})",
    "LeakyReLU": "F.leaky_relu({0}, 0.01)",
    "Sigmoid": "torch.sigmoid({0})",
    "Sin": "torch.sin({0})",
    "Cos": "torch.cos({0})",
    "Atan": "torch.atan({0})",
    "Abs": "torch.abs({0})",
    "Neg": "-{0}",
    "Clip": "torch.clip({0}, -1.5, 1.5)",
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Max": "torch.maximum({0}, {1})",
    "Min": "torch.minimum({0}, {1})",
    "PTMatMul": "torch.matmul({0}, {1})",
    "Flatten": "torch.flatten({0})",
}
_INTERPOLATIONS = {
    "NearestInterp": "nearest",
    "LinearInterp": "linear",
    "BilinearInterp": "bilinear",
    "BicubicInterp": "bicubic",
    "TrilinearInterp": "trilinear",
}
_REDUCTIONS = {"TorchReduceSum": "sum", "ReduceMean": "mean", "ReduceMin": "amin", "ReduceMax": "amax"}


def _reduction(op: Any, name: str) -> str:
    dim = op.extra_attrs["reduce_dim"]
    return f"torch.{name}({{0}}, dim={dim})" if dim is not None else f"{{0}}.{name}()"


def _slice(op: Any) -> str:
    """As NNSmith slices: ends that count from the right stay what they mean."""
    axis, size = op.extra_attrs["axis"], int(op.input_like[0].shape[op.extra_attrs["axis"]])
    start, end, step = slice(int(op.start), int(op.end), int(op.step)).indices(size)
    leading = ":, " * axis
    return f"{{0}}[{leading}{start}:{end}:{step}]"


def _pad(op: Any) -> str:
    mode = op.extra_attrs["type"]
    value = ", value=0.5" if mode == "constant" else ""
    return f"F.pad({{0}}, {tuple(map(int, op.padding_list))}, mode={mode!r}{value})"


def _transpose(op: Any) -> str:
    first, second = op._init_swap_dims(op.input_like[0].shape)
    return f"{{0}}.transpose({int(first)}, {int(second)})"


def _squeeze(op: Any) -> str:
    dim = op.extra_attrs["reduce_dim"]
    return f"{{0}}.squeeze({'' if dim is None else dim})"


def _pool(op: Any, name: str) -> str:
    kernel = (int(op.kernel_h_size), int(op.kernel_w_size))
    return f"nn.{name}(kernel_size={kernel}, stride={int(op.stride)}, padding={int(op.padding)})"


def _conv1d(op: Any) -> str:
    return (
        f"nn.Conv1d({int(op.in_channels)}, {int(op.out_channels)}, kernel_size={int(op.kernel_size)}, "
        f"stride={int(op.stride)}, padding={int(op.padding)}, dilation={int(op.dilation)})"
    )


def _conv2d(op: Any) -> str:
    kernel = (int(op.kernel_h_size), int(op.kernel_w_size))
    dilation = (int(op.dilation_h), int(op.dilation_w))
    return (
        f"nn.Conv2d({int(op.in_channels)}, {int(op.out_channels)}, kernel_size={kernel}, "
        f"stride={int(op.stride)}, padding={int(op.padding)}, dilation={dilation})"
    )


def _sizes(shape: Any) -> str:
    return ", ".join(str(int(size)) for size in shape)


_WRITTEN: dict[str, Callable[[Any], str]] = {
    **{name: (lambda _op, text=text: text) for name, text in _CALLS.items()},
    **{
        name: (lambda op, mode=mode: f"F.interpolate({{0}}, size=({_sizes(op.size)},), mode={mode!r})")
        for name, mode in _INTERPOLATIONS.items()
    },
    **{name: (lambda op, to=to: _reduction(op, to)) for name, to in _REDUCTIONS.items()},
    **{f"Concat{n}": (lambda op, n=n: _concatenation(op, n)) for n in range(1, 6)},
    **{f"ExpandLast{n}": (lambda op: f"{{0}}.expand({_sizes(op.output_like[0].shape)})") for n in range(1, 5)},
    **dict.fromkeys(("ConstPad", "ReflectPad", "ReplicatePad"), _pad),
    "Softmax": lambda op: f"torch.softmax({{0}}, dim={int(op.dim)})",
    "Slice": _slice,
    "Reshape": lambda op: f"{{0}}.reshape({_sizes(op.target_shape)})",
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Tril": lambda op: f"torch.tril({{0}}, diagonal={int(op.diagonal)})",
    "Triu": lambda op: f"torch.triu({{0}}, diagonal={int(op.diagonal)})",
}
_LAYERS: dict[str, Callable[[Any], str]] = {
    "PReLU": lambda _op: "nn.PReLU()",
    "MaxPool2d": lambda op: _pool(op, "MaxPool2d"),
    "AvgPool2d": lambda op: _pool(op, "AvgPool2d"),
    "BatchNorm2d": lambda op: f"nn.BatchNorm2d({int(op.nfeat)})",
    "Conv1d": _conv1d,
    "NCHWConv2d": _conv2d,
    "Linear": lambda op: f"nn.Linear({int(op.ifeat)}, {int(op.ofeat)})",
}


def _concatenation(op: Any, count: int) -> str:
    names = ", ".join(f"{{{i}}}" for i in range(count))
    return f"torch.cat([{names}], dim={int(op.extra_attrs['axis'])})"


def drawn(seed: int, nodes: int) -> dict[str, Any]:
    """A graph of this seed; `{"failure": ...}` where NNSmith finds none, or one that is no task."""
    import numpy
    from nnsmith.abstract.dtype import DType
    from nnsmith.graph_gen import model_gen
    from nnsmith.materialize.torch.forward import ALL_TORCH_OPS

    random.seed(seed)
    numpy.random.seed(seed)
    operators = [op for op in ALL_TORCH_OPS if op.__name__ in _WRITTEN or op.__name__ in _LAYERS]
    try:
        made = model_gen(
            opset=operators,  # ty: ignore[invalid-argument-type]  a list is what it takes
            method="symbolic-cinit",
            seed=seed,
            max_nodes=nodes,
            timeout_ms=SEARCH_MS,
            dtype_choices=[DType.float32],
        )
        return _as_plain(made.make_concrete())
    except Exception as error:  # noqa: BLE001  whatever NNSmith raises, this seed has no graph
        return {"failure": f"NNSmith: {type(error).__name__}: {error}"[:300]}


def _as_plain(graph: Any) -> dict[str, Any]:
    inputs, weights, steps, used = [], [], [], set()
    for number, instruction in enumerate(graph.insts):
        op, kind = instruction.iexpr.op, type(instruction.iexpr.op).__name__
        name = instruction.retvals()[0]
        if kind in ("Input", "Constant"):
            shape = [int(size) for size in op.abs_tensor.shape]
            (inputs if kind == "Input" else weights).append([name, shape])
            continue
        used.update(instruction.iexpr.args)
        step = {"name": name, "operator": kind, "inputs": list(instruction.iexpr.args), "number": number}
        step["layer" if kind in _LAYERS else "call"] = (_LAYERS.get(kind) or _WRITTEN[kind])(op)
        steps.append(step)
    if failure := _failure(graph, inputs):
        return {"failure": failure}
    outputs = [step["name"] for step in steps if step["name"] not in used]
    return {"inputs": inputs, "weights": weights, "steps": steps, "outputs": outputs}


def _failure(graph: Any, inputs: list[Any]) -> str | None:
    if not inputs:
        return "it has no input"
    tensors = list(_tensors(graph))
    if any(str(tensor.dtype).rpartition(".")[2] not in ("float32", "f32") for tensor in tensors):
        return "it is not all float32"
    if max(_count(tensor.shape) for tensor in tensors) < FEWEST_ELEMENTS:
        return f"no tensor has {FEWEST_ELEMENTS} elements"
    if max(_count(tensor.shape) for tensor in tensors) > MOST_ELEMENTS:
        return f"a tensor has more than {MOST_ELEMENTS} elements"
    return None


def _tensors(graph: Any) -> Iterator[Any]:
    for instruction in graph.insts:
        for name in instruction.retvals():
            yield graph.vars[name]


def _count(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= int(size)
    return count


def main() -> None:
    """Answers until its standard input ends. What libraries print goes to standard error."""
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(drawn(asked["seed"], asked["nodes"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
