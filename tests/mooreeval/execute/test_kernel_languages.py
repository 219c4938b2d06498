"""Kernels in another language are out of scope, and no fault of the candidate's."""

import pytest

from mooreeval.candidate import Candidate
from mooreeval.execute.kernel_languages import other_language
from mooreeval.task import make_task
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier

TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return x + 1
def get_inputs(): return [torch.rand(8)]
"""
MODEL = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x): return x + 1\n"


@pytest.mark.parametrize(
    ("raised", "language"),
    [
        (("ModuleNotFoundError", "No module named 'triton'", ""), "Triton"),
        (("ModuleNotFoundError", "No module named 'triton.language'", "torch"), "Triton"),
        (("ModuleNotFoundError", "No module named 'einops'", ""), None),
        (("ValueError", "No module named 'triton'", ""), None),
        (("RuntimeError", "0 active drivers ([]). There should only be one.", "triton"), "Triton"),
        (("RuntimeError", "shapes differ", "torch"), None),
        (("RuntimeError", "shapes differ", ""), None),
    ],
)
def test_the_language_is_told_from_the_exception(raised, language):
    assert other_language(*raised) == language


@pytest.mark.parametrize(
    ("code", "status", "feature"),
    [
        ("import tilelang\n" + MODEL, Status.UNSUPPORTED, "TileLang"),
        (MODEL.replace("return", "import tilelang.language; return"), Status.UNSUPPORTED, "TileLang"),
        ("import no_such_package\n" + MODEL, Status.RUNTIME_ERROR, None),
    ],
)
def test_a_candidate_in_another_language_is_unsupported_where_its_source_may_be(source_unread, code, status, feature):
    with LocalVerifier() as verifier:
        verdict = verifier.verify(make_task("t", TASK), Candidate(code))
    assert (verdict.status, verdict.unsupported_feature) == (status, feature), verdict.reason
