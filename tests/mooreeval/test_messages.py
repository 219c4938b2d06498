"""What verdicts say, end to end on the simulator: words that lead to the fault, and nothing said twice."""

from __future__ import annotations

import re

import pytest

from mooreeval.config import load_config
from mooreeval.verdict import FindingKind, Status
from mooreeval.verify import LocalVerifier

from .conftest import SCALE_CANDIDATE, changed

GUARD = "    if (i < n) y[i]"
PRINTS = '    if (i == 0) printf("n is %d\\n", n);\n'


def test_what_a_kernel_and_its_python_print_is_kept_whatever_the_verdict(verifier, scale_task):
    noisy = (GUARD, PRINTS + GUARD), ("        return ext", "        print('forward', end='')\n        return ext")
    right = verifier.verify(scale_task, changed(*noisy))
    wrong = verifier.verify(scale_task, changed(*noisy, ("x[i] * factor", "2 * x[i] * factor")))
    dead = verifier.verify(scale_task, changed(*noisy, ("    return y;", "    abort();")))
    assert [v.status for v in (right, wrong, dead)] == [Status.CORRECT, Status.INCORRECT, Status.RUNTIME_ERROR]
    assert right.output_tail == wrong.output_tail == "forwardn is 2048\n" * 5
    assert "n is 2048\n" in dead.output_tail


def test_a_failed_assertion_is_told_with_one_line(verifier, scale_task):
    verdict = verifier.verify(scale_task, changed((GUARD, "    assert(i < 3);\n" + GUARD)))
    assert verdict.status is Status.RUNTIME_ERROR
    assert verdict.place is not None and verdict.place.text == "assert(i < 3);"
    assert re.findall(r":(\d+)", verdict.reason) == [str(verdict.place.line)]
    assert "assertion `i < 3' failed in void scale(" in verdict.reason
    assert verdict.output_tail is None


def test_an_access_past_an_allocation_names_the_kernels_parameter(verifier, scale_task):
    verdict = verifier.verify(scale_task, changed(("x[i] * factor", "x[i + 1] * factor")))
    assert "at byte 8192 of an allocation of 8192 bytes (parameter x): 4 bytes past its end" in verdict.reason


STAGED = """    __shared__ float tile[128];
    tile[threadIdx.x] = 2 * i;
    if (i < n) y[i] = tile[127 - threadIdx.x]; return;
"""


def test_a_race_and_an_access_past_a_shared_variable_name_it(verifier, scale_task):
    race = verifier.verify(scale_task, changed((GUARD, STAGED + GUARD)))
    assert "writes byte 256 of 512 of the shared variable tile, which thread (63, 0, 0) of block (0, 0, 0) read" in (
        race.reason
    )
    past = STAGED.replace("tile[threadIdx.x] =", "tile[threadIdx.x + 1] =")
    verdict = verifier.verify(scale_task, changed((GUARD, past + GUARD)))
    finding = next(f for f in verdict.findings if f.kind == "shared_out_of_bounds")
    assert "at byte 512 of the shared variable tile of 512 bytes: 4 bytes past its end" in finding.message


def test_a_race_in_device_memory_names_the_kernels_parameter(verifier, scale_task):
    verdict = verifier.verify(scale_task, changed((GUARD, "    y[0] = i;\n" + GUARD)))
    assert "writes another value to byte 0 of 8192 of a device allocation (parameter y), which" in verdict.reason


def test_dynamic_shared_memory_that_the_launch_did_not_ask_for_is_told_as_such(verifier, scale_task):
    forgotten = "    extern __shared__ float s[];\n    s[threadIdx.x] = i;\n"
    verdict = verifier.verify(scale_task, changed((GUARD, forgotten + GUARD)))
    assert "of the dynamic shared memory: past the 0 bytes that the launch asked for" in verdict.reason


def place_of(text: str) -> str:
    """Where the honest candidate says that, as reasons tell it."""
    number = next(k for k, line in enumerate(SCALE_CANDIDATE.split("\n"), 1) if text in line)
    return f"candidate:{number}: "


DECLARED = "torch::Tensor run(torch::Tensor x, torch::Tensor bias, double factor);"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["run"]', '["rum"]', "function 'rum' is not declared in cpp_sources; did you mean 'run'?"),
        (DECLARED, "", "function 'run' is defined in the cuda sources, but not declared in cpp_sources"),
        ("torch::Tensor run(torch::Tensor x, torch::Tensor bias, double factor) {", "torch::Tensor go(torch::Tensor x,"
         " torch::Tensor bias, double factor) {",
         "function 'run' is declared in cpp_sources, but not defined in the cuda sources: run(at::Tensor, "),
        (DECLARED, DECLARED.replace("double", "float"), "what they define has other parameters"),
    ],
)  # fmt: skip
def test_a_function_that_is_not_declared_or_not_defined_is_told_at_the_build_call(verifier, scale_task, old, new, said):
    verdict = verifier.verify(scale_task, changed((old, new)))
    assert verdict.status is Status.COMPILE_ERROR
    assert verdict.reason.startswith(place_of('functions=["run"]'))
    assert said in verdict.reason
    assert [d.place for d in verdict.diagnostics if d.severity == "error"] == [verdict.place]


LOOP = """    __shared__ float tile[128];
    for (int pass = 0; pass < 4; ++pass) {
        tile[threadIdx.x] = i + pass;  // writes
        __syncthreads();
        if (i < n) y[i] = tile[127 - threadIdx.x];  // reads
    }
"""


def line_of(code: str, text: str) -> int:
    return next(k for k, line in enumerate(code.split("\n"), 1) if text in line)


def test_a_race_from_one_pass_of_a_loop_to_the_next_says_so(verifier, scale_task):
    candidate = changed((GUARD, LOOP + GUARD))
    verdict = verifier.verify(scale_task, candidate)
    loop, writes, barrier, reads = (
        line_of(candidate.code, text) for text in ("for (int pass", "// writes", "__syncthreads", "// reads")
    )
    said = (
        f"no barrier lies between; the barrier at line {barrier} orders the two lines in one pass of the loop at line "
        f"{loop}, but nothing orders line {reads} of one pass and line {writes} of the next"
    )
    (race,) = [f for f in verdict.findings if f.kind == "race"]
    assert race.message.endswith(said)
    assert {race.place.line, race.other.line} == {writes, reads}


def test_a_race_without_any_barrier_says_nothing_of_passes(verifier, scale_task):
    verdict = verifier.verify(scale_task, changed((GUARD, LOOP.replace("__syncthreads();", "") + GUARD)))
    assert verdict.reason.endswith("; no barrier lies between")


@pytest.mark.slow
@pytest.mark.parametrize(
    "wait",
    [
        "while (atomicCAS(&mine, -7, 1) != -7);",
        "for (;;) { mine = n; __syncthreads(); }",
        "for (volatile int k = 1; k > 0;) k = 1;",
    ],
    ids=["lock", "barriers", "loop"],
)
def test_a_kernel_that_never_ends_is_told_at_the_line_where_it_waits(scale_task, wait):
    held = changed((GUARD, f"    __shared__ int mine;\n    {wait}\n{GUARD}"))
    with LocalVerifier(load_config(settings=["backend=simulator", "deadlines.run_seconds=8"])) as patient:
        verdict = patient.verify(scale_task, held)
    assert verdict.status is Status.RUNTIME_ERROR, verdict.reason
    hang = next(f for f in verdict.findings if f.kind is FindingKind.HANG)
    assert hang.place is not None and hang.place.text == wait
    assert hang.other is None
