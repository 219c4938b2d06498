"""Families from profiles, a balanced set, rates of a run by family, and the weights that follow from them."""

import json

import pytest
from support.cli import TASK, musacoder
from support.small_runs import small_run

from mooreeval import gallery
from mooreeval.task import load_task, make_task
from musacoder.data.diagnose import (
    DiagnoseConfig,
    OperatorCost,
    TaskProfile,
    balanced,
    diagnosis,
    family_of_costs,
    profile_task,
    rates_by_family,
    weights_of,
)
from musacoder.data.expand.sandboxed import Sandboxed
from musacoder.data.operator_families import family_of_operator


@pytest.mark.parametrize(
    ("operator", "family"),
    [
        ("aten::addmm", "matmul"),
        ("bmm", "matmul"),
        ("mkldnn_convolution", "convolution"),
        ("_slow_conv2d_forward", "convolution"),
        ("native_layer_norm", "normalisation"),
        ("_softmax", "softmax"),
        ("_log_softmax", "softmax"),
        ("max_pool2d_with_indices", "pooling"),
        ("_adaptive_avg_pool2d", "pooling"),
        ("_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("nll_loss_forward", "loss"),
        ("mse_loss", "loss"),
        ("sum", "reduction"),
        ("cumsum", "reduction"),
        ("upsample_bilinear2d", "indexing"),
        ("index_select", "indexing"),
        ("relu_", "elementwise"),
        ("add", "elementwise"),
        ("transpose", "layout"),
        ("copy_", "layout"),
        ("empty_strided", "allocation"),
    ],
)
def test_an_operator_of_aten_has_a_family(operator, family):
    assert family_of_operator(operator) == family


def costs(**us):
    return [OperatorCost(name=f, calls=1, self_us=t, family=f) for f, t in us.items()]


@pytest.mark.parametrize(
    ("spent", "family"),
    [
        ({"matmul": 60, "elementwise": 40, "allocation": 900}, "matmul"),
        ({"elementwise": 1, "layout": 500}, "elementwise"),
        ({"layout": 5, "allocation": 1}, "indexing"),
        ({"allocation": 1}, None),
        ({"softmax": 90, "loss": 1}, "loss"),
        ({"matmul": 40, "softmax": 20, "normalisation": 20, "elementwise": 20}, "network"),
    ],
)
def test_a_tasks_family_is_where_its_time_goes(spent, family):
    assert family_of_costs(costs(**spent)) == family


def profiles(**counts):
    return [
        TaskProfile(task_id=f"{family}{i}", task_hash=f"{family}{i}", family=family)
        for family, n in counts.items()
        for i in range(n)
    ]


def test_a_balanced_set_takes_as_many_of_each_family_and_is_drawn_by_its_seed():
    found = profiles(matmul=9, softmax=2)
    drawn = balanced(found, 3, seed=0)
    assert sorted(t.rstrip("0123456789") for t in drawn) == ["matmul"] * 3 + ["softmax"] * 2
    assert balanced(list(reversed(found)), 3, seed=0) == drawn
    assert balanced(found, 3, seed=1) != drawn


def test_weights_follow_the_formula():
    config = DiagnoseConfig(prior=0, least=0.01, most=100)
    found = weights_of({"matmul": (0.8, 10), "softmax": (0.4, 10)}, config)
    assert found["matmul"] == pytest.approx((0.8, 0.5))  # 0.2 and 0.6 over their mean of 0.4
    assert found["softmax"] == pytest.approx((0.4, 1.5))
    smoothed = weights_of({"matmul": (1.0, 1), "softmax": (0.5, 99)}, DiagnoseConfig(prior=4))
    assert smoothed["matmul"][0] == pytest.approx((1 + 4 * 0.505) / 5)
    assert smoothed["matmul"][1] < 1 < smoothed["softmax"][1]


def test_a_family_that_is_always_right_keeps_the_least_weight_and_sharpness_zero_is_all_alike():
    rates = {"matmul": (1.0, 1000), "softmax": (0.0, 1000)}
    weights = {f: w for f, (_, w) in weights_of(rates, DiagnoseConfig()).items()}
    assert weights["softmax"] / weights["matmul"] == pytest.approx(2 / 0.25, rel=0.02)
    assert sum(weights.values()) == pytest.approx(2)
    alike = weights_of(rates, DiagnoseConfig(sharpness=0))
    assert {w for _, w in alike.values()} == {1.0}
    assert {w for _, w in weights_of({"matmul": (1.0, 5)}, DiagnoseConfig(prior=0)).values()} == {1.0}


def test_rates_are_those_of_the_profiles_families_and_unscored_is_not_zero():
    found = profiles(matmul=2, softmax=1, pooling=1)
    run = small_run(
        {"matmul0": ["correct", "correct"], "matmul1": ["incorrect:0", "correct"], "softmax0": ["compile_error"] * 2,
         "pooling0": ["!disk", "wmma?"]},
        families={"matmul0": "elementwise"},
    )  # fmt: skip
    told = diagnosis(found, DiagnoseConfig(), rates_by_family(found, run.manifest, run.samples, run.verdicts))
    rows = {row.family: row for row in told.families}
    assert (rows["matmul"].rate, rows["matmul"].scored) == (0.75, 4)
    assert (rows["softmax"].rate, rows["pooling"].rate, rows["pooling"].weight) == (0.0, None, 1.0)
    assert rows["softmax"].weight > 1 > rows["matmul"].weight
    assert sum(row.share for row in told.families) == pytest.approx(1)
    assert told.weights()["softmax"] == rows["softmax"].weight


@pytest.mark.slow
def test_a_task_is_profiled_in_a_child_and_one_that_does_harm_is_told():
    hostile = TASK.replace("import torch", "import os, torch\nos._exit(9)")
    hangs = TASK.replace("return x", "\n        while True: pass")
    with Sandboxed() as children:
        conv = profile_task(load_task(gallery.FOLDER / "conv2d" / "task.py"), children, 60)
        gone = profile_task(make_task("gone", hostile), children, 60)
        late = profile_task(make_task("late", hangs), children, 5)
        broken = profile_task(make_task("broken", TASK.replace("return x", "return x @ x.missing")), children, 60)
    assert conv.family == "convolution"
    assert any(cost.family == "convolution" and cost.self_us > 0 for cost in conv.operators)
    assert "exited with code 9" in gone.failure
    assert "did not come to an end" in late.failure
    assert "missing" in broken.failure


@pytest.mark.slow
def test_the_command_prints_a_table_and_json_and_keeps_profiles(tmp_path):
    (tmp_path / "a.py").write_text(TASK.replace("return x", "return torch.softmax(x, 0)"))
    (tmp_path / "b.py").write_text(TASK.replace("return x", "return x.nothing"))
    table = musacoder("diagnose", "a.py", "b.py", "--profiles", "p.jsonl", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    assert "softmax" in table.stdout
    assert "left out  b: " in table.stdout
    told = json.loads(musacoder("diagnose", "a.py", "--profiles", "p.jsonl", "--json", cwd=tmp_path).stdout)
    assert [row["family"] for row in told["families"]] == ["softmax"]
    assert len((tmp_path / "p.jsonl").read_text().splitlines()) == 2  # a is known, b's failure is no profile
    bad = musacoder("diagnose", "a.py", "--run", "nowhere", cwd=tmp_path)
    assert (bad.returncode, bad.stderr.count("\n")) == (2, 1 + bad.stderr.count("1/1"))
