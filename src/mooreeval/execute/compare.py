"""Compares a candidate's outputs with the reference's and describes the first difference for a repairer.

The order is: structure, type, shape, dtype, device, values. `compare_values` holds the tolerance and its reasons,
`compare_where` and `compare_patterns` the description. Runs in the judge, on copies that no candidate can reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch

from mooreeval.config import Tolerance
from mooreeval.execute.compare_patterns import Pattern, layout_pattern, number, source_pattern, value_patterns
from mooreeval.execute.compare_values import FLOAT8, Reference, Tally, boxes, chunk_of, tally
from mooreeval.execute.compare_where import index_text, unravel, where_wrong
from mooreeval.execute.wire import Opaque
from mooreeval.verdict import Mismatch

EXAMPLES = 5

Leaf = tuple[str, Any, Any, Any]  # path, got, expected, expected in float64
Example = tuple[tuple[int, ...], int | float, int | float]  # index, got, expected


def compare_outputs(
    got: Any,
    expected32: Any,
    expected64: Any = None,
    tolerance: Tolerance | None = None,
    *,
    devices: Sequence[str] | None = None,
    expected_devices: Sequence[str] | None = None,
    inputs: Sequence[tuple[str, torch.Tensor]] = (),
) -> Mismatch | None:
    """The first difference between a candidate's outputs and the reference's, or None where they agree.

    The values are tensors, numbers, strings, None, or tuples, lists and dicts of those; what is `Opaque` equals
    nothing. `expected32` is the reference in the task's own precision, `expected64` the same structure computed in
    float64 where that was possible. `devices` name where each tensor of `got` was, `expected_devices` where each of
    `expected32` belongs, each in its own order. `inputs` are (name, tensor) that an output may turn out to be a copy
    of.
    """
    tolerance = tolerance or Tolerance()
    fault = _structure("output", got, expected32)
    if fault is not None:
        return fault
    leaves = list(_leaves("output", got, expected32, expected64))
    for leaf in leaves:
        fault = _form(leaf)
        if fault is not None:
            return _with_swap_hint(fault, leaf, leaves, tolerance)
    fault = _device("output", (got, devices), (expected32, expected_devices))
    return fault or _first_wrong_value(leaves, tolerance, inputs)


def compare_inputs(
    before: Any, after_reference: Any, after_candidate: Any, tolerance: Tolerance | None = None
) -> Mismatch | None:
    """The first input that a candidate left unlike the reference left it, as kind `mutated_input`, or None.

    Inputs that the reference leaves alone must be the same bit for bit; those that it changes in place must come out
    the same within the tolerance.
    """
    tolerance = tolerance or Tolerance()
    fault = _structure("input", after_candidate, after_reference)
    if fault is not None:
        return _mutated(fault, fault.message)
    for path, got, expected, original in _leaves("input", after_candidate, after_reference, before):
        fault = _form((path, got, expected, None))
        if fault is not None:
            return _mutated(fault, f"The candidate changes {path} itself. {fault.message}")
        if not isinstance(got, torch.Tensor) or _same_bits(got, expected):
            continue
        untouched = isinstance(original, torch.Tensor) and _same_bits(expected, original)
        fault = _values((path, got, expected, None), _EXACT if untouched else tolerance, ())
        if fault is not None:
            return _mutated(fault, _mutation_story(path, untouched, got, original) + " " + fault.message)
    return None


_EXACT = Tolerance(float32=0, half=0, float64=0, noise_factor=0)


def _mutated(fault: Mismatch, message: str) -> Mismatch:
    return fault.model_copy(update={"kind": "mutated_input", "message": message})


def _mutation_story(path: str, untouched: bool, got: torch.Tensor, original: Any) -> str:
    if untouched:
        return f"The candidate writes to {path}, which the reference leaves as it was."
    if isinstance(original, torch.Tensor) and _same_bits(got, original):
        return f"The reference changes {path} in place and the candidate leaves it as it was."
    return f"The reference changes {path} in place, and the candidate changes it differently."


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal elements, NaN equal to NaN, in chunks. Of bools the bytes."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype is torch.bool:
        a, b = a.view(torch.uint8), b.view(torch.uint8)
    parts = ((a[box], b[box]) for box in boxes(tuple(a.shape), chunk_of(a)))
    return all(bool(((x == y) | ((x != x) & (y != y))).all()) for x, y in parts)


def _structure(path: str, got: Any, expected: Any) -> Mismatch | None:
    """Containers must nest alike. A list in place of a tuple unpacks alike and is let pass."""
    for kinds in ((tuple, list), (dict,)):
        if isinstance(expected, kinds) != isinstance(got, kinds):
            return _fault(path, "structure", f"{path} is {_kind(got)}; the reference returns {_kind(expected)}.")
    if isinstance(expected, dict):
        if list(map(repr, sorted(expected, key=repr))) != list(map(repr, sorted(got, key=repr))):
            message = f"{path} has the keys {_listed(got)}; the reference returns {_listed(expected)}."
            return _fault(path, "structure", message)
        return next(filter(None, (_structure(f"{path}[{k!r}]", got[k], expected[k]) for k in expected)), None)
    if isinstance(expected, (tuple, list)):
        if len(got) != len(expected):
            message = f"{path} has {len(got)} elements; the reference returns {len(expected)}."
            return _fault(path, "structure", message)
        return next(filter(None, (_structure(f"{path}[{i}]", got[i], e) for i, e in enumerate(expected))), None)
    return None


def _leaves(path: str, got: Any, expected: Any, wide: Any) -> Iterator[Leaf]:
    """Pairs of leaves of two structures that nest alike; a float64 structure that does not is ignored there."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            below = wide.get(key) if isinstance(wide, dict) else None
            yield from _leaves(f"{path}[{key!r}]", got[key], value, below)
    elif isinstance(expected, (tuple, list)):
        same = isinstance(wide, (tuple, list)) and len(wide) == len(expected)
        for i, value in enumerate(expected):
            yield from _leaves(f"{path}[{i}]", got[i], value, wide[i] if same else None)
    else:
        yield path, got, expected, wide


def _form(leaf: Leaf) -> Mismatch | None:
    """Type, shape and dtype; the values of what is no tensor and no number."""
    path, got, expected, _ = leaf
    if isinstance(expected, torch.Tensor) != isinstance(got, torch.Tensor):
        return _fault(path, "type", f"{path} is {_kind(got)}; the reference returns {_kind(expected)}.")
    if not isinstance(expected, torch.Tensor):
        if type(got) is not type(expected) or isinstance(got, Opaque):
            return _fault(path, "type", f"{path} is {_kind(got)}; the reference returns {_kind(expected)}.")
        if not isinstance(expected, float | complex) and got != expected:
            return _fault(path, "values", f"{path} is {_shown(got)}; expected {_shown(expected)}.")
        return None
    if got.shape != expected.shape:
        return _fault(
            path, "shape", f"{path} has shape {_shape(got)}; expected {_shape(expected)}.{_shape_hint(got, expected)}"
        )
    if got.dtype != expected.dtype:
        return _fault(path, "dtype", f"{path} is {_dtype(got)}; expected {_dtype(expected)}.")
    return None


def _shape_hint(got: torch.Tensor, expected: torch.Tensor) -> str:
    mine, wanted = tuple(got.shape), tuple(expected.shape)
    if [s for s in mine if s != 1] == [s for s in wanted if s != 1]:
        return " They differ in dimensions of size 1 (keepdim, squeeze or unsqueeze)."
    if sorted(mine) == sorted(wanted):
        return " The same sizes in another order: a transposed result."
    if math.prod(mine) == math.prod(wanted):
        return " The same number of elements: a reshape is missing."
    return ""


def _device(
    path: str, got: tuple[Any, Sequence[str] | None], wanted: tuple[Any, Sequence[str] | None]
) -> Mismatch | None:
    """Both are a structure and its tensors' devices; the structures nest alike."""
    if got[1] is None or wanted[1] is None:
        return None
    paths, wanted_paths = list(_tensor_paths(path, got[0])), list(_tensor_paths(path, wanted[0]))
    devices = list(got[1])
    if len(paths) != len(devices):  # told by the candidate's process, so it may be anything
        return _fault(path, "device", f"{path} holds {len(paths)} tensors; devices were named for {len(devices)}.")
    wants = dict(zip(wanted_paths, wanted[1], strict=True))
    for tensor_path, there in zip(paths, devices, strict=True):
        if there != wants[tensor_path]:
            return _fault(tensor_path, "device", f"{tensor_path} is on {there}; expected on {wants[tensor_path]}.")
    return None


def _tensor_paths(path: str, value: Any) -> Iterator[str]:
    """Paths of a structure's tensors in its own order, which for a dict need not be the reference's."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _tensor_paths(f"{path}[{key!r}]", below)
    elif isinstance(value, (tuple, list)):
        for i, below in enumerate(value):
            yield from _tensor_paths(f"{path}[{i}]", below)
    elif isinstance(value, torch.Tensor):
        yield path


def _first_wrong_value(
    leaves: list[Leaf], tolerance: Tolerance, inputs: Sequence[tuple[str, torch.Tensor]]
) -> Mismatch | None:
    for leaf in leaves:
        fault = _values(leaf, tolerance, inputs)
        if fault is not None:
            return _with_swap_hint(fault, leaf, leaves, tolerance)
    return None


def _values(leaf: Leaf, tolerance: Tolerance, sources: Sequence[tuple[str, torch.Tensor]]) -> Mismatch | None:
    path, got, expected, wide = leaf
    if isinstance(expected, float | complex):
        got, expected, wide, tolerance = _as_tensors(got, expected, wide, tolerance)
    if not isinstance(expected, torch.Tensor):
        return None
    got, reference = _plain(got), Reference(_plain(expected), _usable(wide, expected))
    counts = tally(got, reference, tolerance)
    return _describe(path, got, reference, counts, tolerance, sources) if counts.wrong else None


def _as_tensors(got: Any, expected: Any, wide: Any, tolerance: Tolerance) -> tuple[Any, Any, Any, Tolerance]:
    """Python's floats and complex numbers, e.g. the `.item()` of a float32 result: judged like one.

    What a float32 cannot hold is a float64 here, as exact as a float32.
    """
    is_complex = isinstance(expected, complex)
    if _in_float32s_range(got, expected):
        own = torch.complex64 if is_complex else torch.float32
    else:
        own, tolerance = (
            torch.complex128 if is_complex else torch.float64,
            tolerance.model_copy(update={"float64": tolerance.float32}),
        )
    best = torch.complex128 if is_complex else torch.float64
    wide = torch.tensor(wide, dtype=best) if type(wide) is type(expected) else None
    return torch.tensor(got, dtype=own), torch.tensor(expected, dtype=own), wide, tolerance


def _in_float32s_range(got: complex, expected: complex) -> bool:
    """Neither is too large for a finite float32, and what is expected is not too small for one that is not 0."""
    of_got, of_expected = ([abs(p) for p in (v.real, v.imag) if math.isfinite(p)] for v in (got, expected))
    too_large = any(p > _FLOAT32.max for p in (*of_got, *of_expected))
    return not too_large and not any(0 < p < _FLOAT32.smallest_normal * _FLOAT32.eps for p in of_expected)


_FLOAT32 = torch.finfo(torch.float32)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg()


def _usable(wide: Any, expected: torch.Tensor) -> torch.Tensor | None:
    """The float64 reference where it has the same form; one of another shape or kind tells nothing.

    Nor does one that the task itself rounds to a float8: it differs by a whole step where it differs at all.
    """
    if not isinstance(wide, torch.Tensor) or wide.shape != expected.shape or wide.dtype in FLOAT8:
        return None
    if not (wide.is_floating_point() or wide.is_complex()) or wide.is_complex() != expected.is_complex():
        return None
    return _plain(wide)


def _describe(
    path: str,
    got: torch.Tensor,
    reference: Reference,
    counts: Tally,
    tolerance: Tolerance,
    sources: Sequence[tuple[str, torch.Tensor]],
) -> Mismatch:
    first, last = counts.first or 0, counts.last or 0
    where = where_wrong(counts.mask, counts.shape, counts.wrong, first, last)
    told = _stories(got, reference, counts, tolerance, sources)
    head = f"{counts.wrong} of {counts.total} elements of {path} are wrong ({_share(counts)} %): {where.phrase}."
    what = f" The wrong values {'; they '.join(p.phrase for p in told)}." if told else ""
    examples = _examples(got, reference, counts)
    return _fault(
        path,
        "values",
        f"{head}{what}{_how_far(counts)}{_first_text(counts, examples)}",
        wrong=counts.wrong,
        total=counts.total,
        max_abs_error=counts.max_abs,
        max_rel_error=counts.max_rel,
        patterns=(*(p.name for p in told), where.pattern),
        first=unravel(first, counts.shape),
        examples=examples,
    )


def _share(counts: Tally) -> str:
    """Per cent of wrong elements; 100 only where all are."""
    share = f"{100 * counts.wrong / counts.total:.3g}"
    return "over 99.9" if share == "100" and counts.wrong < counts.total else share


def _stories(
    got: torch.Tensor,
    reference: Reference,
    counts: Tally,
    tolerance: Tolerance,
    sources: Sequence[tuple[str, torch.Tensor]],
) -> list[Pattern]:
    """What the wrong values have in common. A whole layout explains more than single values, so it speaks alone."""
    whole = source_pattern(got, sources, counts) or layout_pattern(got, reference, counts, tolerance)
    return [whole] if whole else value_patterns(counts, got.dtype)


def _how_far(counts: Tally) -> str:
    if counts.max_abs is None or counts.max_abs == 0:
        return ""
    relative = "" if counts.max_rel is None else f", relative {number(counts.max_rel)}"
    return f" Largest error {number(counts.max_abs)}{relative}."


def _first_text(counts: Tally, examples: tuple[Example, ...]) -> str:
    if not examples or counts.shape == ():
        return f" Got {number(examples[0][1])}, expected {number(examples[0][2])}." if examples else ""
    _, got, expected = examples[0]
    return f" First at {index_text(counts.first or 0, counts.shape)}: got {number(got)}, expected {number(expected)}."


def _examples(got: torch.Tensor, reference: Reference, counts: Tally) -> tuple[Example, ...]:
    """The first wrong element and a few others, evenly spread: (index, got, expected)."""
    if got.is_complex():
        return ()
    flat = counts.sample()[0].long()
    pick = torch.linspace(0, flat.numel() - 1, min(EXAMPLES, flat.numel()), dtype=torch.float64).long()
    indices = [unravel(int(i), counts.shape) for i in flat[pick]]
    return tuple((index, _number_of(got[index]), _number_of(reference.own[index])) for index in indices)


def _number_of(element: torch.Tensor) -> int | float:
    """Integers as such: those beyond 2**53 are different ones as floats. A bool as the byte that it holds."""
    return (element.view(torch.uint8) if element.dtype is torch.bool else element).item()


def _with_swap_hint(fault: Mismatch, leaf: Leaf, leaves: list[Leaf], tolerance: Tolerance) -> Mismatch:
    """The same fault, with a word where two outputs were returned in each other's place."""
    path, got, expected, wide = leaf
    for other_path, other_got, other_expected, other_wide in leaves:
        if other_path == path:
            continue
        crossed = [(path, got, other_expected, other_wide), (other_path, other_got, expected, wide)]
        if all(_form(c) is None and _values(c, tolerance, ()) is None for c in crossed):
            message = f"{fault.message} {path} and {other_path} are swapped."
            return fault.model_copy(update={"message": message, "patterns": ("swapped", *fault.patterns)})
    return fault


def _fault(
    path: str,
    kind: Literal["structure", "type", "shape", "dtype", "device", "layout", "values", "mutated_input"],
    message: str,
    **fields: Any,
) -> Mismatch:
    return Mismatch(output=path, kind=kind, message=message, **fields)


def _kind(value: Any) -> str:
    """A value's type in words; values of foreign types come as a record of their type's name."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a value of type {getattr(value, 'type_name', type(value).__name__)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _listed(keys: Any) -> str:
    shown = [repr(k) for k in list(keys)[:8]]
    return ", ".join(shown) + (", ..." if len(keys) > 8 else "") if shown else "none"


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
