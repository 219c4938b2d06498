"""A class is made self-contained from text alone: what it needs comes with it, what it does not need stays behind."""

import ast

import pytest
import torch
from support.module_folders import HEAD, package, write

from mooreeval.errors import UsageError
from musacoder.data.expand.bundle import Bundle, bundle
from musacoder.data.expand.folder import read_folder
from musacoder.data.expand.names import Names
from musacoder.data.expand.records import Dropped, Reason

MOST = 24_000


def bundled(folder, module, name="Planted", most=MOST):
    return bundle(read_folder(folder), module, name, most_characters=most)


def planted(tmp_path, text, **others):
    write(tmp_path, {"one.py": text, **{f"{k}.py": v for k, v in others.items()}})
    return bundled(tmp_path, "one")


def executed(made):
    assert isinstance(made, Bundle), made
    namespace = {}
    exec(compile(made.code, "<bundle>", "exec"), namespace)
    return namespace


def test_what_a_class_needs_of_other_files_comes_with_it_and_computes_the_same(tmp_path):
    made = bundled(package(tmp_path) / "pack", "pack.gated", "Gated")
    namespace = executed(made)
    torch.manual_seed(0)
    gated = namespace["Gated"](8)
    x = torch.randn(2, 8)
    value, gate = gated.fc(x).chunk(2, dim=-1)
    assert torch.equal(gated(x), value * torch.relu(gate / 2) * torch.nn.functional.softplus(gate))
    assert made.files == ("pack.gated", "pack.helpers")


def test_what_is_not_needed_or_computes_nothing_stays_behind(tmp_path):
    code = bundled(package(tmp_path) / "pack", "pack.gated", "Gated").code
    for word in ("unused", "_logger", "fused_gate", "os.environ", "More words", "pack", "HAS_FUSED"):
        assert word not in code
    assert "A gate beside a value." in code


def test_two_definitions_of_one_name_are_told_apart(tmp_path):
    text = HEAD + "from two import scale as other\n\ndef scale(x):\n    return x * 2\n\nclass Planted(nn.Module):\n"
    text += "    def forward(self, scale_by):\n        return scale(scale_by) + other(scale_by)\n"
    made = planted(tmp_path, text, two="def scale(x):\n    return x * 10\n")
    assert float(executed(made)["Planted"]()(torch.ones(1))) == 12


def test_a_local_of_the_same_name_is_no_name_of_the_module(tmp_path):
    text = HEAD + "from two import scale as s\n\nclass Planted(nn.Module):\n    def forward(self, x):\n"
    text += "        return s(x) + sum(s for s in [1, 2]) + (lambda s: s)(4)\n"
    made = planted(tmp_path, text, two="def scale(x):\n    return x * 10\n")
    assert float(executed(made)["Planted"]()(torch.ones(1))) == 17


def test_definitions_come_before_what_is_executed_with_them(tmp_path):
    text = HEAD + "class Planted(nn.Module):\n    sizes = [Later.size, twice(3)]\n    def forward(self, x):\n"
    text += "        return x + self.sizes[0] + self.sizes[1]\n\nclass Later:\n    size = 1\n    user = None\n\n"
    text += "def twice(n):\n    return n * helper()\n\ndef helper():\n    return 2\n"
    assert float(executed(planted(tmp_path, text))["Planted"]()(torch.ones(1))) == 8


def test_a_name_through_an_init_and_a_star_is_found(tmp_path):
    files = {
        "p/__init__.py": "from .inner import *\n",
        "p/inner.py": "def scale(x):\n    return x * 3\n",
        "p/one.py": HEAD
        + "import p\nfrom . import scale as s\n\nclass Planted(nn.Module):\n    def forward(self, x):\n"
        "        return s(x) + p.scale(x)\n",
    }
    made = bundled(write(tmp_path, files), "p.one")
    assert float(executed(made)["Planted"]()(torch.ones(1))) == 6


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("import numpy as np\n", Reason.NOT_SELF_CONTAINED, "package numpy"),
        ("from nowhere import np\n", Reason.NOT_SELF_CONTAINED, "package nowhere"),
        ("", Reason.NOT_SELF_CONTAINED, "np is defined nowhere"),
        ("import subprocess as np\n", Reason.EXTERNAL_STATE, "Python's subprocess"),
        ("from torch.hub import load as np\n", Reason.EXTERNAL_STATE, "torch.hub"),
        ("import random as np\n", Reason.RANDOMNESS, "Python's random"),
        ("def np():\n    return open('x')\n", Reason.EXTERNAL_STATE, "it calls open"),
        ("COUNT = 0\ndef np():\n    global COUNT\n    COUNT += 1\n", Reason.EXTERNAL_STATE, "module's own COUNT"),
        ("def np():\n    import socket\n", Reason.EXTERNAL_STATE, "Python's socket"),
        ("np = " + "[" * 50 + "]" * 50 + f"\nother = '{'x' * 30_000}'\nnp = other\n", Reason.TOO_LARGE, "characters"),
    ],
)
def test_what_needs_more_than_torch_is_dropped_with_the_reason(tmp_path, text, reason, words):
    made = planted(
        tmp_path, f"{HEAD}{text}\nclass Planted(nn.Module):\n    def forward(self, x):\n        return x, np\n"
    )
    assert isinstance(made, Dropped)
    assert (made.reason, words in made.message) == (reason, True), made.message


def test_imports_in_a_circle_end(tmp_path):
    made = planted(
        tmp_path,
        HEAD + "from two import thing\nclass Planted(nn.Module):\n    def forward(self, x):\n        return thing(x)\n",
        two="from three import thing\n",
        three="from two import thing\n",
    )
    assert isinstance(made, Dropped)
    assert "circle" in made.message


def test_a_files_other_statements_never_run_and_are_told(tmp_path):
    gone = tmp_path / "precious"
    gone.write_text("here")
    text = f"{HEAD}import os\nos.remove({str(gone)!r})\nwhile True:\n    pass\n\nclass Planted(nn.Module):\n"
    write(tmp_path / "files", {"one.py": text + "    def forward(self, x):\n        return x * 2\n"})
    folder = read_folder(tmp_path / "files")
    assert [line.partition(": ")[0] for line in folder.files["one"].effects] == ["line 4", "line 5"]
    executed(bundle(folder, "one", "Planted", most_characters=MOST))
    assert gone.read_text() == "here"


def test_only_modules_are_found_also_by_a_base_in_another_file(tmp_path):
    files = {
        "one.py": HEAD
        + "import two\nfrom two import Base as B\nclass A(B): pass\nclass C(two.Base): pass\nclass D: pass\n"
        "class _Hidden(nn.Module): pass\nclass Data(torch.utils.data.Dataset): pass\nclass E(nn.ReLU): pass\n",
        "two.py": "from torch.nn import Module\nclass Base(Module): pass\nclass Loop(Loop): pass\n",
    }
    folder = read_folder(write(tmp_path, files))
    found = {m: [c.name for c in Names(folder).modules(f)] for m, f in folder.files.items()}
    assert found == {"one": ["A", "C", "E"], "two": ["Base"]}


def test_files_that_are_no_python_are_told_and_the_others_are_read(tmp_path):
    (tmp_path / "bad.py").write_text("def (:\n")
    (tmp_path / "binary.py").write_bytes(b"\0\1\2")
    (tmp_path / "deep.py").write_text("x = " + "(" * 5000 + ")" * 5000)
    write(tmp_path, {"good.py": HEAD})
    folder = read_folder(tmp_path)
    assert set(folder.files) == {"good"}
    assert {d.what: d.reason for d in folder.dropped} == dict.fromkeys(
        ("bad.py", "binary.py", "deep.py"), Reason.NOT_PYTHON
    )


def test_no_folder_and_an_empty_one_are_usage_errors(tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no Python files"):
        read_folder(tmp_path)


def test_a_bundle_is_python_with_its_future_import_first(tmp_path):
    made = bundled(package(tmp_path) / "pack", "pack.gated", "Gated")
    assert isinstance(ast.parse(made.code).body[0], ast.ImportFrom)
    assert made.code.startswith("from __future__ import annotations\n")
