"""Which operators a forward pass runs: seen by whoever calls them, told with the line, judged by the list.

Tensors are on the meta device, which stands in for any device that is not the CPU.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch

from mooreeval.legality.dispatch import SeenOperator, operator_hits, operator_uses, own_namespaces
from mooreeval.legality.watch import OperatorWatch, _form, _lies_otherwise, _truncates
from mooreeval.toolchains.base import Extension, Recording, Source
from mooreeval.verdict import RuleHit

FILE = "candidate.py"


def watched(body: str, **values: object) -> tuple[str, list[SeenOperator]]:
    """The operators that the body of `forward` runs, as lines 5 and following of a candidate."""
    head = "import torch\nimport torch.nn.functional as F\n\ndef forward(x, w):\n"
    code = f"{head}{textwrap.indent(body, '    ')}\n"
    namespace: dict[str, object] = dict(values)
    exec(compile(code, FILE, "exec"), namespace)
    watch = OperatorWatch(FILE)
    with torch.no_grad(), watch.watching():
        namespace["forward"](torch.empty(8, 8, device="meta"), torch.empty(8, 8, device="meta"))
    return code, [
        SeenOperator(r["name"], r["origin"], r["function"], r["line"], r["count"], r["bytes"]) for r in watch.report()
    ]


def hits_of(body: str, policy: str = "native", **values: object) -> list[RuleHit]:
    code, seen = watched(body, **values)
    return operator_hits(seen, code, Recording(), policy)


COMPUTATION = {
    "a function": "return torch.matmul(x, w)",
    "an operator sign": "return x @ w",
    "a method": "return x.mm(w)",
    "of the functional module": "return F.linear(x, w)",
    "by its name in pieces": "return getattr(torch, 'mat' + 'mul')(x, w)",
    "through an alias": "f = torch.mm\nreturn f(x, w)",
    "through torch.ops": "return torch.ops.aten.mm(x, w)",
    "one overload": "return torch.ops.aten.mm.default(x, w)",
    "of the C module": "return torch._C._VariableFunctions.mm(x, w)",
    "a lambda": "return (lambda a: a * 2)(x)",
    "by exec": "exec('y = x + w')\nreturn x",
    "a fallback": "try:\n    raise RuntimeError\nexcept RuntimeError:\n    return torch.relu(x)",
    "a module": "return torch.nn.Linear(8, 8, device='meta')(x)",
    "a small tail": "return x.sum()",
    "indexing by a tensor": "return x[torch.zeros(3, dtype=torch.long, device='meta')]",
    "a concatenation": "return torch.cat([x, w])",
    "in place": "x.add_(1)\nreturn x",
    "an einsum": "return torch.einsum('ij,jk->ik', x, w)",
    "softmax": "return F.softmax(x, dim=-1)",
}
PLUMBING = {
    "allocation": "return torch.zeros_like(x), x.new_empty(3), torch.full((2,), 1.0, device='meta')",
    "views": "return x.t(), x.T, x.view(-1), x.reshape(64), x[0], x[:, None], x[1:3], x.permute(1, 0), x.flatten()",
    "copies": "return x.contiguous(), x.t().contiguous(), x.clone(), x.detach(), w.copy_(x)",
    "conversions": "return x.float(), x.half(), x.to(torch.float64), x.double(), x.type_as(w)",
    "fills": "x.zero_(), x.fill_(2.0)\nreturn x",
    "shapes": "n = x.size(0) * x.shape[1] + x.numel() + x.dim()\nreturn torch.empty(n, device='meta'), x.stride()",
    "parts": "a, b = x.chunk(2)\nc = x.split(4)\nreturn a, x.unbind(0), x.narrow(0, 1, 2), x.expand(2, 8, 8)",
    "constants on the CPU": "s = torch.tensor([8, 8]).prod() + 1\nreturn torch.empty(int(s), device='meta')",
    "a kernel in a try": "try:\n    y = torch.empty_like(x)\nexcept RuntimeError:\n    y = torch.relu(x)\nreturn y",
}


@pytest.mark.parametrize("how", COMPUTATION)
def test_computation_is_found_however_python_calls_it(how):
    (hit, *_) = hits_of(COMPUTATION[how])
    assert hit.rule == "torch_compute"
    assert hit.place is not None and hit.place.line is not None and hit.place.line >= 5
    assert hits_of(COMPUTATION[how], policy="mixed") == []


@pytest.mark.parametrize("how", PLUMBING)
def test_plumbing_passes(how):
    assert hits_of(PLUMBING[how]) == []


def test_what_a_composite_is_made_of_is_told_with_what_python_called():
    (hit,) = hits_of("y = torch.empty_like(x)\nreturn F.linear(x, w)")
    assert "linear (aten::" in hit.message
    assert hit.place is not None
    assert (hit.place.line, hit.place.text) == (6, "return F.linear(x, w)")


def test_an_operator_that_no_function_of_pythons_asked_for_comes_from_cpp():
    @torch.jit.script
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # run by PyTorch's own interpreter, in C++
        return torch.mm(a, b)

    (hit,) = hits_of("return product(x, w)", product=product)
    assert hit.rule == "cpp_torch_compute"
    assert hit.place is not None
    assert hit.place.line == 5


def test_arithmetic_on_the_cpu_counts_once_it_sees_the_tasks_data():
    code = "def forward(x, w):\n    return x.mean()\n"
    host = torch.arange(4.0)
    namespace: dict[str, object] = {}
    exec(compile(code, FILE, "exec"), namespace)
    for tensor, found in ((host, []), (torch.empty(4, device="meta"), ["aten::mean"])):
        watch = OperatorWatch(FILE)
        with watch.watching():
            namespace["forward"](tensor, None)
        assert [use["name"].partition(".")[0] for use in watch.report()] == found


def test_equal_calls_are_counted_and_moved_bytes_leave_out_views_and_allocations():
    _, seen = watched("for _ in range(3):\n    y = x.clone()\nreturn y.view(64)")
    by_name = {each.name: each for each in seen}
    assert (by_name["aten::clone"].count, by_name["aten::clone"].moved_bytes) == (3, 3 * 2 * 8 * 8 * 4)
    assert by_name["aten::view"].moved_bytes == 0


def test_operators_that_the_candidate_defines_are_its_own_and_those_of_other_packages_are_not():
    source = Source("cuda_sources[0]", "cuda", 'TORCH_LIBRARY(mine, m) { m.def("f(Tensor x) -> Tensor"); }')
    recording = Recording((Extension("mine", (source,), None),))
    code = "lib = torch.library.Library('theirs_not', 'FRAGMENT')\n"
    assert own_namespaces(code, recording) == {"mine", "theirs_not"}
    seen = [
        SeenOperator(name, "cpp", "", None, 1, 0) for name in ("mine::f", "torchvision::nms", "aten::mm", "aten::t")
    ]
    hits = operator_hits(seen, code, recording, "native")
    assert [hit.evidence for hit in hits] == ["operator torchvision::nms", "operator aten::mm"]
    assert [use.name for use in operator_uses(seen, code, recording) if use.allowed] == ["aten::t", "mine::f"]


def test_operators_in_the_namespace_of_the_extension_are_the_candidates_own():
    source = Source("cuda_sources[0]", "cuda", "TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {}")
    assert "fast_relu" in own_namespaces("", Recording((Extension("fast_relu", (source,), None),)))


def test_a_mark_for_a_profiler_is_no_computation():
    assert hits_of("with torch.profiler.record_function('part'):\n    return torch.empty_like(x)") == []


def test_a_candidate_cannot_make_an_operator_of_pytorchs_its_own_by_defining_it():
    assert own_namespaces("torch.library.Library('aten', 'IMPL')", Recording()) == frozenset()


def test_printing_a_tensor_is_no_computation():
    watch = OperatorWatch(FILE)
    with watch.watching():
        text = str(torch.ones(3))
    assert "1." in text
    assert not [use for use in watch.report() if use["name"] not in ("aten::ones", "aten::fill_.Scalar")]


def test_values_shapes_and_errors_are_as_without_the_watch():
    def forward(x: torch.Tensor) -> torch.Tensor:
        return (x @ x.t()).sum(dim=0)[None].contiguous()

    x = torch.randn(5, 7)
    with OperatorWatch(FILE).watching():
        got = forward(x)
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            x @ x
    assert torch.equal(got, forward(x))
    assert type(got) is torch.Tensor


def test_watching_does_not_import_pytorchs_compiler():
    code = (
        "import sys, torch; from mooreeval.legality.watch import OperatorWatch\n"
        "with OperatorWatch('candidate.py').watching(): torch.ones(3).contiguous()\n"
        "print([name for name in sys.modules if name.startswith(('torch._dynamo', 'torch._inductor'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def reordered(made: torch.Tensor, source: torch.Tensor, given=()) -> bool:
    return _form(source) not in {_form(t) for t in given} and _lies_otherwise(source, made)


def test_a_copy_in_another_order_or_of_a_part_is_told_from_one_as_it_lies():
    x = torch.randn(4, 6)
    turned = x.t()
    assert reordered(turned.contiguous(), turned)
    assert reordered(x.expand(3, 4, 6).contiguous(), x.expand(3, 4, 6))
    assert reordered(x[1].clone(), x[1])
    assert not reordered(x.clone(), x)
    assert not reordered(x.view(24).clone(), x.view(24))
    assert not reordered(turned.contiguous(), turned, given=[turned])  # an input that is made contiguous


def test_a_conversion_to_whole_numbers_is_told_as_truncation_and_one_of_masks_or_whole_numbers_is_not():
    x = torch.randn(8)
    assert _truncates(x, x.int())
    assert not _truncates(x, x.bool())
    assert not _truncates(x.int(), x.long())
    assert not _truncates(x, x.half())
    assert not _truncates(x[:1], x[:1].int())  # one number is no work
