"""Lines of recorded sources and addresses of findings, back in the candidate's own file."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.toolchains.addresses import resolve
from mooreeval.toolchains.base import Artefact, Extension, Recording, Source
from mooreeval.toolchains.locate import SourceMap, findings_from_report

KERNEL = """#include <cuda_runtime.h>
__global__ void k(float* x, int n) {
  int i = threadIdx.x;
  x[i] = 1.0f;
}
"""


def lines_told(candidate: str, source: str) -> list[tuple[str, int | None]]:
    places = [source_map(candidate, source).place("cuda_sources[0]", k + 1) for k in range(len(source.split("\n")))]
    return [(place.file, place.line) for place in places]


def source_map(candidate: str, *texts: str) -> SourceMap:
    sources = tuple(Source(f"cuda_sources[{k}]", "cuda", text) for k, text in enumerate(texts))
    return SourceMap(candidate, Recording((Extension("e", sources, None),)))


def recorded(candidate: str) -> str:
    scope: dict[str, Any] = {}
    exec(candidate, scope)
    return scope["source"]


FORMS = {
    "plain": f'import os\nsource = """{KERNEL}"""\n',
    "raw": f'source = (\n  r"""{KERNEL}"""\n)\n',
    "single quotes": f"x = 1\nsource = '''\n{KERNEL}'''\n",
    "concatenated": f'source = """{KERNEL}""" + """\nvoid other() {{}}\n"""\n',
    "replaced": f'source = """{KERNEL.replace("1.0f", "VALUE")}""".replace("VALUE", "3.0f")\n',
    "stripped": f'source = """\n\n{KERNEL}""".strip()\n',
    "f-string": 'n = 3\nsource = f"""' + KERNEL.replace("{", "{{").replace("}", "}}").replace("1.0f", "{n}") + '"""\n',
    "format": 'source = """' + KERNEL.replace("1.0f", "%d") + '""" % 7\n',
    "dedented": "import textwrap\ndef f():\n    return textwrap.dedent('''\\\n"
    + "".join(f"        {row}\n" for row in KERNEL.split("\n")) + "''')\nsource = f()\n",
    "line by line": "source = (\n" + "".join(f"    {row + chr(10)!r}\n" for row in KERNEL.split("\n")[:-1]) + ")\n",
    "joined": "source = '\\n'.join([\n" + "".join(f"    {row!r},\n" for row in KERNEL.split("\n")) + "])\n",
    "twice": f'a = """{KERNEL}"""\nsource = """// second\n{KERNEL}"""\n',
}  # fmt: skip


@pytest.mark.parametrize("candidate", FORMS.values(), ids=FORMS.keys())
def test_every_way_to_write_a_source_leads_back_to_its_line(candidate: str) -> None:
    source = recorded(candidate)
    rows, own = source.split("\n"), candidate.split("\n")
    told = lines_told(candidate, source)
    for word in ("__global__ void k", "int i = threadIdx.x", "x[i] ="):
        at = next(k for k, row in enumerate(rows) if word in row)
        file, line = told[at]
        assert file == "candidate"
        assert word in own[(line or 0) - 1]


def test_the_second_of_two_equal_kernels_is_not_taken_for_the_first() -> None:
    candidate = FORMS["twice"]
    rows, own = recorded(candidate).split("\n"), candidate.split("\n")
    last = max(k for k, line in enumerate(own, 1) if "x[i] = 1.0f;" in line)
    assert lines_told(candidate, "\n".join(rows))[rows.index("  x[i] = 1.0f;")] == ("candidate", last)


def test_a_source_that_is_nowhere_in_the_file_keeps_its_own_place() -> None:
    made = source_map("source = make()\n", KERNEL)
    place = made.place("cuda_sources[0]", 4)
    assert (place.file, place.line, place.text) == ("cuda_sources[0]", 4, "x[i] = 1.0f;")
    assert made.place("bindings", 2).file == "bindings"


def test_a_file_that_is_no_python_is_searched_all_the_same() -> None:
    assert lines_told(f'def broken(:\nsource = """{KERNEL}"""\n', KERNEL)[3] == ("candidate", 5)


MODULE = """#line 1 "header.h"
inline __attribute__((always_inline)) void ours(volatile int* x) { x[0] = 1; }
#line 1 "cuda_sources[0]"
extern "C" void f(volatile int* x) {
  ours(x);

  x[1] = 2;
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("module")
    (folder / "unit.cpp").write_text(MODULE)
    subprocess.run(["g++", "-O1", "-g1", "-fPIC", "-shared", "unit.cpp", "-o", "m.so"], cwd=folder, check=True)
    return folder / "m.so"


def stores(module: Path) -> list[int]:
    """Addresses behind the two stores of f."""
    text = subprocess.run(["objdump", "-d", str(module)], capture_output=True, text=True, check=True).stdout
    body = text[text.index("<f>:") :].split("\n\n")[0].split("\n")[1:]
    rows = [int(row.split(":")[0], 16) for row in body]
    return [rows[k + 1] for k, row in enumerate(body) if "movl" in row]


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs binutils")
def test_addresses_lead_to_the_candidates_frame_not_to_what_it_called(module: Path) -> None:
    known = source_map("nothing", "a\nb\nc\nd\n")
    lines = [("cuda_sources[0]", 2), ("cuda_sources[0]", 4), None]
    assert resolve(module, [*stores(module), 1], known.knows) == lines
    assert resolve(module, [*stores(module), 1], known.knows, ProgramWalls()) == lines


@pytest.mark.skipif(not shutil.which("addr2line"), reason="needs binutils")
def test_what_reads_a_module_reads_nothing_else_of_the_users(module: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "m.so"
    shutil.copy(module, elsewhere)
    link = module.parent / "link.so"
    link.symlink_to(elsewhere)  # leads out of what is shown, unless it is followed before
    known = source_map("nothing", "a\nb\nc\nd\n").knows
    first = stores(module)[:1]
    assert resolve(link, first, known, ProgramWalls()) == [("cuda_sources[0]", 2)]
    walled = ProgramWalls().command(["/bin/cat", str(elsewhere)], str(module.parent))
    assert subprocess.run(walled, capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs binutils")
def test_findings_are_placed_merged_and_freed_of_false_divergence(module: Path) -> None:
    source = MODULE.split("\n", 3)[3]
    first, second = stores(module)
    base = {"severity": "error", "message": "m", "kernel": "f", "block": [0, 0, 0], "thread": [1, 0, 0], "count": 2}
    race = {**base, "kind": "race", "module": str(module), "offset": first, "other_module": str(module)}
    report = {
        "findings": [
            {**race, "other_offset": second, "other_thread": [2, 0, 0]},
            {**race, "other_offset": second, "other_thread": [3, 0, 0]},
            {**race, "kind": "divergent_barrier", "other_offset": first},
            {**race, "kind": "divergent_barrier", "other_offset": second},
            {**base, "kind": "trap", "module": None, "offset": None},
        ]
    }
    candidate = f'source = """{source}"""\n'
    found = findings_from_report(report, [Artefact("h", "m", module)], source_map(candidate, source))
    assert [(f.kind.value, f.count, f.place and f.place.line, f.other and f.other.line) for f in found] == [
        ("race", 4, 2, 4),
        ("divergent_barrier", 2, 2, 4),
        ("trap", 2, None, None),
    ]
    assert found[0].place is not None
    assert (found[0].place.file, found[0].place.text) == ("candidate", "ours(x);")


def test_modules_that_were_not_built_here_are_not_opened(tmp_path: Path) -> None:
    finding = {"kind": "trap", "severity": "error", "message": "m", "module": "/etc/passwd", "offset": 3}
    assert findings_from_report({"findings": [finding]}, [], source_map("", "x"))[0].place is None


BUILDS = {
    "load_inline(name='e', functions=['f',\n  'g'])": 2,
    "from torch.utils import cpp_extension\ncpp_extension.load_inline(\n  functions=names)": 2,
    "from torch.utils.cpp_extension import load_inline as li\nli(functions='g')": 2,
    "load_inline(functions=['f'])\nload_inline(functions=['g'])": 2,
    "load_inline(functions=first)\nload_inline(functions=second)": None,
    "def broken(": None,
}


@pytest.mark.parametrize(("code", "line"), BUILDS.items())
def test_a_fault_in_the_bindings_is_at_the_build_call_that_asks_for_them(code: str, line: int | None) -> None:
    for row in ('::moore_sim::binding::describe("g", &g, "g"),', 'm.def("g", torch::wrap_pybind_function(g), "g");'):
        place = source_map(code, KERNEL).place("bindings", 3, 40, row)
        assert (place.file, place.line, place.column) == (("candidate", line, None) if line else ("bindings", 3, 40))
