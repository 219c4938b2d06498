"""Drawn graphs and rows of tables become plain tasks that run, are of float32, and can be made again."""

import ast

import pytest
import torch

from mooreeval.task import make_task
from musacoder.data.expand.graph_task import DrawnGraph, graph_task
from musacoder.data.expand.graphs import Drawer, graph_jobs
from musacoder.data.expand.records import ExpandConfig
from musacoder.data.expand.run import fingerprint
from musacoder.data.expand.variant_tables import TABLES
from musacoder.data.expand.variants import Row, variant_jobs, variant_task, variants
from musacoder.evaluate.families import FAMILIES

GRAPH = {
    "inputs": [["v1", [4, 8]], ["v0", []]],
    "weights": [["v3", [8]]],
    "steps": [
        {"name": "v2", "operator": "Linear", "inputs": ["v1"], "number": 2, "layer": "nn.Linear(8, 8)"},
        {"name": "v4", "operator": "Add", "inputs": ["v2", "v3"], "number": 4, "call": "{0} + {1}"},
        {"name": "v5", "operator": "Mul", "inputs": ["v4", "v0"], "number": 5, "call": "{0} * {1}"},
    ],
    "outputs": ["v5", "v2"],
}


def run(code):
    namespace = {}
    exec(compile(code, "<task>", "exec"), namespace)
    torch.manual_seed(0)
    model, inputs = namespace["Model"](), namespace["get_inputs"]()
    with torch.no_grad():
        outputs = model(*inputs)
    return model, inputs, outputs if isinstance(outputs, tuple) else (outputs,)


def test_a_graph_is_written_as_it_is_wired():
    model, (x, scale), (scaled, linear) = run(graph_task(DrawnGraph.model_validate(GRAPH)))
    assert torch.equal(linear, model.linear_2(x))
    assert torch.equal(scaled, (model.linear_2(x) + model.w0) * scale)


@pytest.mark.slow
def test_nnsmith_draws_tasks_that_run_and_draws_them_again():
    first, second = Drawer(), Drawer()
    try:
        jobs = list(graph_jobs(ExpandConfig(graphs=12, graph_nodes=6), first))
        tasks = [task for job in jobs for task in job.explore(None).tasks]
        again = [
            t for job in graph_jobs(ExpandConfig(graphs=3, graph_nodes=6), second) for t in job.explore(None).tasks
        ]
    finally:
        first.close()
        second.close()
    assert len(tasks) >= 8
    assert [t.code for t in again] == [t.code for t in tasks if t.task_id in {a.task_id for a in again}]
    for task in tasks:
        assert make_task(task.task_id, task.code).code == task.code
        outputs = run(task.code)[2]
        assert all(o.dtype is torch.float32 and torch.isfinite(o).all() for o in outputs), task.code
    assert len({t.operators for t in tasks}) > len(tasks) // 2


def test_the_tables_are_over_a_hundred_distinct_tasks_of_most_families():
    tasks = [job.explore(None).tasks[0] for job in variant_jobs(TABLES)]
    assert len({fingerprint(task.code) for task in tasks}) == len(tasks) >= 100
    assert len({task.task_id for task in tasks}) == len(tasks)
    assert {task.family for task in tasks} >= set(FAMILIES) - {"network"}


@pytest.mark.slow
def test_every_row_of_the_tables_runs_and_is_finite():
    for row in TABLES:
        for variant in variants((row,)):
            outputs = run(variant_task(variant))[2]
            assert torch.isfinite(outputs[0]).all(), variant.label


@pytest.mark.parametrize(
    ("layout", "strides"),
    [("contiguous", (7, 1)), ("transposed", (1, 5)), ("every_second", (14, 2)), ("offset", (7, 1))],
)
def test_a_layout_keeps_the_shape_and_changes_the_strides(layout, strides):
    row = Row("relu", "torch.relu(x)", (((5, 7),),), layouts=(layout,))
    _model, (x,), _outputs = run(variant_task(next(variants((row,)))))
    assert (tuple(x.shape), x.stride()) == ((5, 7), strides)
    assert x.storage_offset() == (7 if layout == "offset" else 0)


def test_a_row_is_all_combinations_of_its_grid():
    row = Row("a", "x * {p} + {q}", (((3,),), ((4,),)), {"p": (1, 2), "q": (5, 6)})
    codes = [variant_task(v) for v in variants((row,))]
    assert len(set(codes)) == 8
    assert all(ast.parse(code) for code in codes)
