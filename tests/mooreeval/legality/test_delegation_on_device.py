"""The same delegation on a GPU, where a profiler tells which kernels ran: `pytest -m gpu tests/mooreeval/legality -s`.

Prints what was seen of each case, so that a run on a new machine or PyTorch can be read.
"""

from __future__ import annotations

import pytest

from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.task import make_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier

from .test_delegation import SOURCE, TASK, TASKS, candidate

# What the source shows is for `test_python_source.py`: here the layers behind it are on their own.
pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("source_unread")]

SIZES = ("torch.randn(48, 40), torch.randn(40, 56)", "torch.randn(4096, 2048), torch.randn(2048, 1024)")
PRODUCT, TRANSPOSE, NORM, _ = (make_task(name, TASK.format(text).replace(*SIZES)) for name, text in TASKS.items())
# A kernel with a name of PyTorch's own, which does next to nothing.
NAMESAKE = SOURCE.replace("__global__ void touch_one", "namespace native { __global__ void gemm_kernel").replace(
    "{ y[0] = y[0]; }", "{ y[0] = y[0]; } }\nusing native::gemm_kernel;"
).replace("touch_one<<<", "gemm_kernel<<<")  # fmt: skip

HONEST = {
    "a kernel alone": (PRODUCT, candidate("return ext.product_of(a, b)")),
    "a copy before it": (PRODUCT, candidate("return ext.product_of(a.t().contiguous().t().contiguous(), b)")),
    "a result that was on the host": (PRODUCT, candidate("return ext.product_of(a, b).cpu().to(a.device)")),
    "a kernel that moves": (TRANSPOSE, candidate("return ext.transposed(a)")),
    "a number finished on the host": (NORM, candidate("return torch.full((), ext.norm(a), device=a.device)")),
}
CHEATS = {
    "a library after a decoy": (PRODUCT, candidate("y = a @ b\next.touch(y)\nreturn y"), "torch_compute"),
    "a copy after one element": (
        TRANSPOSE,
        candidate("y = a.t().contiguous()\next.touch(y)\nreturn y"),
        "decoy_kernel",
    ),
    "a namesake": (
        TRANSPOSE,
        candidate("y = a.t().contiguous()\next.touch(y)\nreturn y", source=NAMESAKE),
        "decoy_kernel",
    ),
}
OUT_OF_SIGHT = {
    "a thread": "import threading\ndef mm(a, b):\n    out = []\n"
    "    t = threading.Thread(target=lambda: out.append(torch.mm(a, b)))\n    t.start()\n    t.join()\n"
    "    return out[0]",
    "modes switched off": "from torch.utils._python_dispatch import _disable_current_modes\ndef mm(a, b):\n"
    "    with _disable_current_modes():\n        return torch.mm(a, b)",
    "an operator of its own": "@torch.library.custom_op('mine::mm', mutates_args=())\n"
    "def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:\n    return torch.mm(a, b)",
}


@pytest.fixture(scope="module", params=["timed", "untimed"])
def judge(request):
    """A verifier; with timing the traced call is on inputs of the last timed block, without on those of a trial."""
    settings = ["backend=cuda", "seed=5eed", "trials=2", "timing.compile_baseline=false"]
    if request.param == "untimed":
        settings.append("timing.enabled=false")
    with LocalVerifier(load_config(settings=settings)) as verifier:
        yield verifier


def told(verdict: Verdict) -> Verdict:
    print(f"\n{verdict.status}: {verdict.reason}\n  own share {verdict.own_share}, seconds {verdict.stage_seconds}")
    for use in (*verdict.kernels, *verdict.operators):
        print(f"  {use}")
    print(*(f"  warning: {warning}" for warning in verdict.warnings), sep="\n")
    return verdict


@pytest.mark.parametrize("how", HONEST)
def test_the_candidates_kernels_are_its_own_and_its_copies_are_excepted(judge, how):
    verdict = told(judge.verify(*HONEST[how]))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.own_share_of == "device_time"
    assert verdict.own_share is not None
    assert "candidate" in {use.owner for use in verdict.kernels}
    assert not [use for use in verdict.kernels if use.kind == "kernel" and use.owner == "unknown"]


@pytest.mark.parametrize("how", CHEATS)
def test_work_that_others_do_on_the_device_is_illegal(judge, how):
    task, what, rule = CHEATS[how]
    verdict = told(judge.verify(task, what))
    assert verdict.status is Status.ILLEGAL, verdict.reason
    assert rule in {hit.rule for hit in verdict.rules}


@pytest.mark.parametrize("how", OUT_OF_SIGHT)
def test_what_the_watch_does_not_see_the_profiler_does(judge, how):
    what: Candidate = candidate("y = mm(a, b)\next.touch(y)\nreturn y", OUT_OF_SIGHT[how])
    verdict = told(judge.verify(PRODUCT, what))
    assert verdict.status is Status.ILLEGAL, verdict.reason
