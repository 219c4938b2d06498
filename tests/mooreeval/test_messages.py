"""What verdicts say, end to end on the simulator: words that lead to the fault, and nothing said twice."""

from __future__ import annotations

import re

from mooreeval.verdict import Status

from .conftest import changed

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
