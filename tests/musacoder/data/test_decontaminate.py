"""Every planted leak is found, whatever its names, spelling and order; what merely looks like a task is none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support.mutation_specimens import TASK

from mooreeval.errors import UsageError
from musacoder.data.decontaminate import Contamination, Reference, references, signature_of
from musacoder.data.decontaminate.names import words_of

# Written for these tests, in KernelBench's format and layout.
BENCHMARK = {
    "level1/3_Softplus.py": """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return nn.functional.softplus(x)

def get_inputs():
    return [torch.rand(4096, 7777)]
""",
    "level2/11_Conv2d_HardSwish_Scale_MaxPool.py": """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.pool = nn.MaxPool2d(2)
        self.factor = factor

    def forward(self, x, gate):
        x = self.conv(x)
        g = torch.sigmoid(gate)
        x = nn.functional.hardswish(x) * self.factor
        return self.pool(x) + g

def get_inputs():
    return [torch.rand(32, 3, 64, 64), torch.rand(1)]

def get_init_inputs():
    return [3, 16, 3, 0.5]
""",
}
SUITES = ("gallery", "bundled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bench") / "KernelBench"
    for name, code in BENCHMARK.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(code, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def known(folder: Path) -> list[Reference]:
    return references([*SUITES, str(folder)])


@pytest.fixture(scope="module")
def contamination(known: list[Reference]) -> Contamination:
    return Contamination(known)


class _Renamed(ast.NodeTransformer):
    """Other names for everything that a task names itself."""

    def __init__(self, tree: ast.AST) -> None:
        own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg) and n.arg != "self"}
        attributes = {
            n.attr
            for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
        }
        self.names = {name: f"renamed_{i}" for i, name in enumerate(sorted(own | attributes))}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.names.get(node.arg, node.arg), node.annotation)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(self.names.get(node.value, node.value) if isinstance(node.value, str) else node.value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = self.visit(node.value)
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        return ast.Attribute(value, self.names.get(node.attr, node.attr) if of_self else node.attr, node.ctx)


def renamed(code: str) -> str:
    """Without comments and docstrings too, because they are no part of a tree that is written out here."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1 and isinstance(body[0], ast.Expr):
            node.body = body[1:]  # ty: ignore
    return ast.unparse(_Renamed(tree).visit(tree))


def found(contamination: Contamination, code: str, *names: str) -> set[tuple[str, str]]:
    return {(leak.reference, leak.by) for leak in contamination.of_task(code, names)}


def test_every_reference_is_found_as_it_stands_and_under_other_names(
    contamination: Contamination, known: list[Reference]
):
    assert len(known) >= 82
    missed = [
        (reference.name, what)
        for reference in known
        for what, code in (("itself", reference.code), ("renamed", renamed(reference.code)))
        if reference.name not in {name for name, _ in found(contamination, code)}
    ]
    assert not missed


PARAPHRASED = {
    "other spelling": """
class Model(nn.Module):
    def __init__(self, a, b, k, c):
        super(Model, self).__init__()
        self.first = nn.Conv2d(a, b, k)
        self.act = nn.Hardswish()
        self.last = nn.MaxPool2d(kernel_size=2)
        self.c = c
    def forward(self, inp, other):
        y = self.act(self.first(inp))
        y = self.c * y
        return torch.sigmoid(other) + self.last(y.contiguous())
""",
    "other order": """
class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, factor):
        super().__init__()
        self.factor = factor
        self.pool = nn.MaxPool2d(2)
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
    def forward(self, x, gate):
        g = gate.sigmoid()
        x = self.conv(x)
        x = nn.functional.hardswish(x) * self.factor
        x = self.pool(x)
        x += g
        return x
""",
}


@pytest.mark.parametrize("how", PARAPHRASED)
def test_what_computes_the_same_is_found_by_its_signature(contamination: Contamination, how: str):
    code = f"import torch\nimport torch.nn as nn\n{PARAPHRASED[how]}\ndef get_inputs():\n    return [torch.rand(2)]\n"
    assert ("level2/11_Conv2d_HardSwish_Scale_MaxPool", "signature") in found(contamination, code)


@pytest.mark.parametrize(
    "name", ["conv2d_hardswish_scaling_max_pool", "Max pooling of a scaled HardSwish after a Convolution",
             "ScaledConvolutionHard_SwishMaxpool", "level2/11_Conv2d_HardSwish_Scale_MaxPool"]
)  # fmt: skip
def test_a_paraphrased_name_is_found(contamination: Contamination, name: str):
    expected = ("level2/11_Conv2d_HardSwish_Scale_MaxPool", "name")
    assert expected in found(contamination, TASK, name)
    assert expected in found(contamination, f'"""{name}"""\n{TASK}')


def test_a_module_that_is_quoted_in_a_text_is_found_by_its_words(contamination: Contamination, known: list[Reference]):
    (reference,) = [r for r in known if r.name.endswith("alibi_softmax")] or [known[-1]]
    text = f"Somebody asked about this:\n\n```python\n{reference.code}\n```\nand I said: use a block for each row."
    assert reference.name in {leak.reference for leak in contamination.of_text(text)}
    assert not contamination.of_text("Somebody asked about softmax, and I said: use a block for each row.")


def test_single_operators_count_only_at_the_benchmarks_own_sizes(contamination: Contamination):
    code = BENCHMARK["level1/3_Softplus.py"]
    other = code.replace("4096, 7777", "64, 300").replace("nn.functional.softplus", "torch.nn.functional.softplus")
    assert ("level1/3_Softplus", "signature") in found(contamination, renamed(code))
    assert not found(contamination, other)


def test_other_operators_and_other_wiring_are_no_leak(contamination: Contamination):
    code = f"import torch\nimport torch.nn as nn\n{PARAPHRASED['other spelling']}\n"
    for was, now in (("nn.Hardswish()", "nn.ELU()"), ("self.last(y.contiguous())", "self.last(torch.relu(y))")):
        assert was in code and not found(contamination, code.replace(was, now))
    assert signature_of("class Model:\n    def forward(self, x, y):\n        return x / y") != signature_of(
        "class Model:\n    def forward(self, x, y):\n        return y / x"
    )


def test_names_are_sets_of_words():
    assert words_of("19_ReLU") == words_of("relu") == {"relu"}
    assert words_of("Gemm_BatchNorm_Scaling") == words_of("matmul_scale_batch_norm")
    assert words_of("Matmul_Add") != words_of("Matmul_Sub")


def test_a_folder_that_is_none_is_one_line():
    with pytest.raises(UsageError) as told:
        references(["/no/such/folder"])
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("code", ["", "def f(:", "class Model: pass", "import torch"])
def test_what_is_no_task_has_no_signature_and_no_leaks(contamination: Contamination, code: str):
    assert signature_of(code) is None and not contamination.of_task(code)
