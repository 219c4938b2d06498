"""Reasoning that is derived is short and exact: shapes, offsets and formulas are those that a run confirms."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from support.programs import gallery_programs

from mooreeval.execute.metadata import task_metadata
from mooreeval.task_metadata import read_metadata
from musacoder.data import author
from musacoder.data.asking import Asking
from musacoder.data.author.sample import slice_axes
from musacoder.data.graph import Graph, Node, TensorSpec
from musacoder.data.operators import CATALOGUE, FAMILIES, Pointwise, Sliced
from musacoder.data.reason import NAMES, metadata, reason
from musacoder.data.reason.formulas import formula
from musacoder.data.reason.indices import filled, offset, slice_offset
from musacoder.data.records import Program
from musacoder.data.teacher import ReasonConfig, why_refused

PROGRAMS = [author.write(seed, family=family) for seed, family in enumerate(FAMILIES * 3)]


def told(program: Program) -> dict[str, str]:
    """The steps by name."""
    text = reason(program)
    assert text is not None
    lines = text.split("\n")
    assert [line.split(": ", 1)[0] for line in lines] == [f"{i}. {name}" for i, name in enumerate(NAMES, 1)]
    return {name: line.split(": ", 1)[1] for name, line in zip(NAMES, lines, strict=True)}


def graph_of(program: Program) -> Graph:
    assert program.graph is not None
    return program.graph


def specs_of(graph: Graph) -> dict[str, TensorSpec]:
    return {s.name: s for s in (*graph.inputs, *graph.weights, *(n.output for n in graph.nodes))}


def alone(graph: Graph, node: Node) -> Graph:
    """A graph of this node only: what it reads are inputs, or weights as they were."""
    specs, weights = specs_of(graph), {w.name for w in graph.weights}
    read = [specs[name] for name in dict.fromkeys(node.inputs)]
    inputs = tuple(s for s in read if s.name not in weights)
    return Graph(inputs=inputs, weights=tuple(s for s in read if s.name in weights), nodes=(node,),
                 outputs=(node.output.name,))  # fmt: skip


def shape_in_pytorch(graph: Graph) -> tuple[int, ...]:
    """What PyTorch makes of the author's own spelling of the graph."""
    names: dict = {}
    exec(author.write_task(graph, 0), names)
    model = names["Model"](*(names["get_init_inputs"]() if "get_init_inputs" in names else ()))
    return tuple(model(*names["get_inputs"]()).shape)


@pytest.mark.parametrize("program", PROGRAMS[:20], ids=lambda p: f"{p.family} {p.seed}")
def test_shapes_that_are_told_are_those_of_pytorch(program: Program):
    graph, said = graph_of(program), told(program)["Shape computation"]
    for name, spec in specs_of(graph).items():
        assert f"{name} {spec.shape}" in said
    for node in graph.nodes:
        assert shape_in_pytorch(alone(graph, node)) == node.output.shape


def value(text: str, index: tuple[int, ...], **names: int) -> int:
    """A formula's value; `/` divides whole numbers, as in C++."""
    indices = {f"i{axis}": i for axis, i in enumerate(index)}
    return eval(text.replace("/", "//"), {"__builtins__": {}}, {**indices, **names})


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.family} {p.seed}")
def test_offsets_that_are_told_are_those_of_memory(program: Program):
    specs, chance = specs_of(graph_of(program)), random.Random(1)
    found = re.findall(r"(\w+) (?:has element|beside (\w+))\[?[^\]]*\] at ([^;.]+)", told(program)["Index mapping"])
    assert found
    for name, beside, text in found:
        main, own = specs[beside or name].shape, specs[name].shape
        places = torch.arange(int(np.prod(own))).reshape(own)
        if len(own) == 1 and text == "i1" and len(main) == 4 and own[0] == main[1]:
            places = places.reshape(1, -1, 1, 1)  # one for each channel
        for _ in range(5):
            index = tuple(chance.randrange(size) for size in main)
            assert value(text, index) == int(torch.broadcast_to(places, main)[index])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.family} {p.seed}")
def test_values_of_slices_lie_where_it_is_told(program: Program):
    graph, chance = graph_of(program), random.Random(2)
    said = told(program)["Index mapping"]
    for node in graph.nodes:
        operator = CATALOGUE[node.operator]
        if not isinstance(operator, Sliced):
            continue
        shape = specs_of(graph)[node.inputs[0]].shape
        places = torch.arange(int(np.prod(shape))).reshape(shape)
        if operator.slices in ("any", "last"):
            slices = places.movedim(int(node.parameters.get("dim", -1)), -1).reshape(-1, slice_axes(
                operator, shape, node.parameters)[1])  # fmt: skip
        else:
            slices = places.reshape(shape[0] * int(node.parameters.get("groups", shape[1])), -1)
        (text,) = re.findall(rf"value j of slice r of {node.inputs[0]} at ([^;.]+)", said)
        for _ in range(5):
            r, j = chance.randrange(slices.shape[0]), chance.randrange(slices.shape[1])
            assert value(text, (), r=r, j=j) == int(slices[r, j])


def test_metadata_is_what_a_child_tells_that_runs_the_task():
    for program in PROGRAMS:
        told = read_metadata(task_metadata(program.task_code), "task")
        free = {"elements": 0, "flops": 0, "bytes": 0}
        assert metadata(program) == told.model_copy(update=free), program.task_code
    assert metadata(gallery_programs("relu")[0]) is None


def test_reasoning_is_short_in_six_steps_and_passes_what_a_teachers_must():
    texts = [reason(p) for p in PROGRAMS]
    for program, text in zip(PROGRAMS, texts, strict=True):
        assert text and len(text) < 1600
        assert why_refused(text, None, ReasonConfig()) is None, (program.family, text)


def test_what_is_said_of_barriers_and_shuffles_stands_in_the_kernel():
    for program in PROGRAMS:
        errors = told(program)["Error pre-analysis"]
        assert ("__syncthreads()" in errors) == ("__syncthreads" in program.candidate_code)
        assert ("shuffle" in errors) == ("__shfl" in program.candidate_code)
        assert ("atomics" in errors) == ("atomicAdd" in program.candidate_code)


def test_a_program_without_a_graph_or_of_unknown_operators_has_none():
    known = PROGRAMS[0]
    strange = Node(operator="no_such", inputs=("x",), output=TensorSpec(name="y", shape=(3,)))
    graph = Graph(inputs=(TensorSpec(name="x", shape=(3,)),), nodes=(strange,), outputs=("y",))
    assert reason(gallery_programs("relu")[0]) is None and reason(known.model_copy(update={"graph": graph})) is None


def test_an_answer_thinks_these_steps_where_prompts_ask_for_them():
    asking, program = Asking(reason=reason), PROGRAMS[0]
    assert asking.answer("x", asking.reason(program)).startswith("<think>\n1. Semantic decomposition: t1 = ")


def test_formulas_of_memory_by_hand():
    assert offset((4, 8, 16)) == "i0 * 128 + i1 * 16 + i2" and offset((16,), (4, 8, 16)) == "i2"
    assert offset((8, 1), (4, 8, 16)) == "i1" and offset(()) == "0"
    assert slice_offset(4, 8, 1) == "r * 8 + j" and slice_offset(1, 8, 4) == "j * 4 + r"
    assert slice_offset(2, 3, 5) == "(r / 5 * 3 + j) * 5 + r % 5"
    assert (filled(300, 32), filled(64, 32), filled(20, 32)) == (
        "300 = 9 * 32 + 12",
        "64 = 2 * 32",
        "20, fewer than 32",
    )


@pytest.mark.slow
def test_formulas_of_single_values_compute_what_the_operators_are(tmp_path: Path):
    """Each formula as C++, built by g++ and run, against the catalogue's own values."""
    operators = [o for o in CATALOGUE.values() if isinstance(o, Pointwise)]
    draws, lines, expected = np.random.default_rng(0), [], []
    for operator in operators:
        roles = [o.role for o in operator.operands]
        constants = {name: round(sum(bounds) / 2, 2) or 0.1 for name, bounds in operator.constants.items()}
        given = draws.random(1 + len(roles)) + 0.2
        node = Node(operator=operator.key, inputs=("x", *(f"{r}_in" for r in roles)), parameters=constants,
                    output=TensorSpec(name="out", shape=(1,)))  # fmt: skip
        text = formula(node, {})
        names = ", ".join(f"{name} = {v:.9g}f" for name, v in zip(node.inputs, given, strict=True))
        lines.append(f'    {{ float {names}; float {text}; printf("%.7g\\n", out); }}')
        expected.append(float(operator.value(np.array(given[0]), *map(np.array, given[1:]), **constants)))
    source = tmp_path / "formulas.cpp"
    code = "\n".join(["#include <cmath>", "#include <cstdio>", "static float rsqrtf(float v) { return 1 / sqrtf(v); }",
                      "int main() {", *lines, "}"])  # fmt: skip
    source.write_text(code, encoding="utf-8")
    subprocess.run(["g++", "-o", tmp_path / "formulas", source], check=True, timeout=120)
    printed = subprocess.run([tmp_path / "formulas"], check=True, capture_output=True, text=True, timeout=20).stdout
    for operator, line, wanted in zip(operators, printed.split(), expected, strict=True):
        if operator.key != "batch_norm":  # the catalogue's sample keeps its variance from zero in another way
            assert float(line) == pytest.approx(wanted, rel=2e-3, abs=1e-4), operator.key
