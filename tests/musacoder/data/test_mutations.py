"""Mutations change what they name and nothing else, and keep away from where their argument does not hold."""

from __future__ import annotations

import ast

import pytest
from support.mutation_specimens import MORE, SOFTMAX, STRIDE, TASK

from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.task import make_task
from mooreeval.verify import LocalVerifier
from musacoder.data.mutations import MEASURED, NOTHING, RULES, SILENT, Mutant, mutants, mutants_of_task

ALL = {"softmax": SOFTMAX, "more": MORE, "stride": STRIDE}

# Of each rule: a specimen, the line that it changes, and what stands there instead.
EXPECTED = {
    "guard_inclusive": ("softmax", "if (i < n) y[i] = x[i];", "if (i <= n) y[i] = x[i];"),
    "guard_removed": ("softmax", "if (i < n) y[i] = x[i];", "if (true) y[i] = x[i];"),
    "read_one_on": ("softmax", "if (i < n) y[i] = x[i];", "if (i < n) y[i] = x[i + 1];"),
    "barrier_removed": ("softmax", "__syncthreads();", ""),
    "atomic_made_plain": ("more", "atomicAdd(&c[row], sum);", "c[row] += sum;"),
    "shared_one_short": ("more", "threads * sizeof(float)", "(threads - 1) * sizeof(float)"),
    "shared_array_one_short": ("softmax", "s[256]", "s[255]"),
    "shared_rows_one_short": ("more", "tile[16][17]", "tile[16 - 1][17]"),
    "shared_store_one_on": ("softmax", "s[tid] = best;", "s[tid + 1] = best;"),
    "output_not_zeroed": ("more", "torch::zeros", "torch::empty"),
    "barrier_in_branch": ("softmax", "__syncthreads();", "if (threadIdx.x % 2 == 0) __syncthreads();"),
    "accumulator_starts_at_one": ("softmax", "float sum = 0.0f;", "float sum = 1;"),
    "maximum_starts_at_zero": ("softmax", "float best = -INFINITY;", "float best =  0;"),
    "sign_of_sum": ("more", "sum += a[", "sum -= a["),
    "sign_of_term": ("more", "] + b[col]", "] - b[col]"),
    "greatest_for_least": ("stride", "fmaxf", "fminf"),
    "comparison_turned": ("more", "sum > 0 ?", "sum < 0 ?"),
    "loop_one_short": ("more", "k < depth;", "k < depth - 1;"),
    "factor_dropped": ("more", "sum = sum * scale;", "sum = sum  ;"),
    "indices_swapped": ("more", "a[row * cols + col]", "a[col * cols + row]"),
    "index_of_first_block": ("more", "blockIdx.x * blockDim.x + threadIdx.x", "  threadIdx.x"),
    "index_stride_wrong": ("more", "blockIdx.x * blockDim.x +", "blockIdx.x * 1  +"),
    "tail_dropped": ("softmax", "(n + 127) / 128", "(n ) / 128"),
    "shuffle_starts_at_eight": ("more", "d = 16;", "d = 8;"),
    "tree_starts_at_quarter": ("softmax", "blockDim.x / 2;", "blockDim.x / 4;"),
    "shuffle_turned": ("more", "__shfl_down_sync", "__shfl_up_sync"),
    "constant_changed": ("more", "0.7071f", "0.77781f"),
    "stride_doubled": ("softmax", "c += blockDim.x", "c += 2 * blockDim.x"),
    "pointer_of_other_type": ("stride", "x.data_ptr<float>()", "(float*)x.data_ptr<double>()"),
    "name_misspelt": ("softmax", "y[i] = x[i];", "y[i] = x[ii];"),
    "argument_missing": ("stride", ", x.numel());", ");"),
    "semicolon_missing": ("softmax", "s[tid] = best;", "s[tid] = best"),
    "block_too_large": ("stride", "threads = 256;", "threads = 2048;"),
    "launch_missing": ("stride", "relu<<<40", "if (false) relu<<<40"),
    "statement_dropped": ("more", "sum = sum * scale;", ""),
    "function_dropped": (
        "softmax",
        "expf(x[blockIdx.x * cols + c] - best) / s[0]",
        "(x[blockIdx.x * cols + c] - best) / s[0]",
    ),
    "bound_dropped": ("stride", "fmaxf(x[i], 0.0f)", "(x[i])"),
    "operand_dropped": ("more", "] + b[col];", "]  ;"),
    "number_made_whole": ("softmax", "float sum = 0.0f;", "int sum = 0.0f;"),
    "pointer_made_double": ("stride", "fmaxf(x[i]", "fmaxf(((const double*)x)[i]"),
    "output_of_other_type": ("more", "a.options()", "a.options().dtype(torch::kFloat64)"),
    "grid_longer": (
        "more",
        "cols + block.x - 1) / block.x, (rows + 15) / 16)",
        "cols + block.x - 1) / block.x + 1, (rows + 15) / 16 + 1)",
    ),
    "barrier_doubled": ("more", "__syncthreads();", "__syncthreads(); __syncthreads();"),
    "block_halved": ("stride", "threads = 256;", "threads = 128;"),
}


def of(rule: str, code: str) -> list[Mutant]:
    return [mutant for mutant in mutants(code, RULES) if mutant.rule.name == rule]


def test_every_rule_has_an_expectation():
    assert set(EXPECTED) == {name for name, rule in RULES.items() if rule.kind != "fallback"}


def test_what_simulator_and_gpu_are_compared_on_stays_what_it_was():
    assert set(MEASURED) < set(RULES) and len(MEASURED) == 37
    assert not any(rule.kind in ("operator", "fallback") for name, rule in MEASURED.items() if name != "factor_dropped")


def test_every_kind_of_mistake_is_planted():
    kinds = {"index", "guard", "barrier", "memory", "dtype", "operator", "value", "launch", "syntax", "fallback"}
    assert {rule.kind for rule in RULES.values() if rule.planted != NOTHING} == kinds


@pytest.mark.parametrize(
    ("rule", "was", "now"),
    [
        ("forward_by_pytorch", "return ext.run(x)", "return torch.softmax(x, dim=1)"),
        ("result_by_operator", "return ext.run(x)", "return torch.add(ext.run(x), 0)"),
        ("operator_in_cpp", "    return z;", "    return z.add(0);"),
    ],
)
def test_a_fallback_lets_pytorch_compute_and_stays_python(rule: str, was: str, now: str):
    (mutant,) = [m for m in mutants_of_task(TASK, SOFTMAX) if m.rule.name == rule]
    ast.parse(mutant.code)
    assert was in SOFTMAX and was not in mutant.code and now in mutant.code
    assert "class ModelNew" in mutant.code and "class Model(" not in mutant.code


def test_what_plants_nothing_is_no_mutant_of_a_task():
    assert all(m.rule.planted != NOTHING for m in mutants_of_task(TASK, SOFTMAX))


@pytest.mark.parametrize("rule", EXPECTED)
def test_a_rule_changes_what_it_names(rule):
    specimen, was, now = EXPECTED[rule]
    changed = [mutant for mutant in of(rule, ALL[specimen]) if mutant.now == mutant.was.replace(was, now).strip()]
    assert changed, [(mutant.was, mutant.now) for mutant in of(rule, ALL[specimen])]


@pytest.mark.parametrize("specimen", ALL)
def test_no_mutant_touches_comments_strings_directives_or_python(specimen):
    kept = ["# if (i < n) { __sync", "#define LAST (i < n)", "// not i < n; __sync", "/* if (i < n) */", "assert i < n",
            '"if (i < n) __syncthreads();"']  # fmt: skip
    for mutant in mutants(ALL[specimen]):
        ast.parse(mutant.code)
        assert [text in mutant.code for text in kept] == [text in ALL[specimen] for text in kept], mutant.now
        assert mutant.code.count("\n") == ALL[specimen].count("\n")


def test_mutants_are_all_different_and_come_in_the_same_order_each_time():
    codes = [mutant.code for mutant in mutants(SOFTMAX)]
    assert len(codes) == len(set(codes)) > 40
    assert codes == [mutant.code for mutant in mutants(SOFTMAX)]


def test_whatever_a_gpu_may_run_without_a_trace_is_planted_by_argument():
    for rule in MEASURED.values():
        assert rule.shown == (rule.planted in SILENT), rule.name
        assert rule.argument.endswith(".")


def test_a_loosened_guard_comes_with_a_block_whose_threads_it_lets_through():
    (mutant,) = of("guard_inclusive", SOFTMAX)
    assert "copy<<<(n + 127) / 128 + 1, 128>>>" in mutant.code


def test_a_guard_is_left_alone_where_no_thread_may_come_to_it():
    exact = SOFTMAX.replace("(n + 127) / 128", "n / 128")
    assert not of("guard_inclusive", exact) and not of("guard_removed", exact)


def test_a_guard_is_left_alone_where_another_one_holds():
    twice = SOFTMAX.replace("if (i < n) y[i]", "if (i >= n) return; if (i < n) y[i]")
    assert of("guard_removed", SOFTMAX) and not of("guard_removed", twice)


def test_a_strided_loop_reaches_its_bound_in_any_grid():
    (mutant,) = of("guard_inclusive", STRIDE)
    assert "i <= n; i += gridDim.x" in mutant.code and "relu<<<40, threads>>>" in mutant.code


def test_a_barrier_that_orders_nothing_is_not_removed():
    idle = SOFTMAX.replace("if (i < n) y[i] = x[i];", "__syncthreads(); if (i < n) y[i] = x[i];")
    assert len(of("barrier_removed", idle)) == len(of("barrier_removed", SOFTMAX)) == 5


def test_a_barrier_at_the_end_of_a_loop_counts_by_what_the_loop_does_next():
    loop = STRIDE.replace("y[i] = fmaxf(x[i], 0.0f);", "{ s[0] = x[i]; y[i] = s[0]; __syncthreads(); }")
    shared = loop.replace("    for (int i", "    __shared__ float s[1];\n    for (int i")
    assert len(of("barrier_removed", shared)) == 1
    assert not of("barrier_removed", loop)


def test_a_changed_constant_is_still_a_number_with_a_fraction():
    changed = of("constant_changed", MORE.replace("0.7071f", "20.0f"))
    assert any("22.0f" in mutant.now for mutant in changed)


def test_an_array_longer_than_the_block_is_not_shortened():
    assert not of("shared_array_one_short", SOFTMAX.replace("s[256]", "s[512]"))


@pytest.mark.slow
def test_the_simulator_tells_what_was_planted():
    wanted = {
        "guard_inclusive": "out of bounds", "barrier_removed": "race", "shared_store_one_on": "out of bounds",
        "sign_of_sum": "of 5 trials pass", "name_misspelt": "'ii' was not declared", "barrier_doubled": "all 5 trials",
    }  # fmt: skip
    task = make_task("softmax", TASK)
    with LocalVerifier(load_config(settings=["backend=simulator", "seed=12"])) as verifier:
        assert verifier.verify(task, Candidate(SOFTMAX)).status == "correct"
        for rule, words in wanted.items():
            mutant = of(rule, SOFTMAX)[0]
            verdict = verifier.verify(task, Candidate(mutant.code))
            assert words in verdict.reason.replace("‘", "'").replace("’", "'"), (rule, verdict.reason)
            assert (verdict.status == "correct") == (mutant.rule.planted == NOTHING)
