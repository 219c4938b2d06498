"""Tasks with smaller sizes: what is made smaller, what is kept, and that the result still runs."""

from pathlib import Path

import pytest

from mooreeval.errors import TaskError
from mooreeval.execute.fake_run import fake_run
from mooreeval.execute.reduce import Budget, ReducedTask, reduce_task
from mooreeval.execute.reduce_ladder import ladder
from mooreeval.execute.reduce_literals import candidate_literals
from mooreeval.execute.reduce_sites import find_sites, with_values
from mooreeval.task_sources import load_tasks

KERNELBENCH = Path(__file__).parents[3] / ".data/kernelbench/KernelBench"

HEAD = "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n"
RELU = f"""{HEAD}    def forward(self, x):
        return torch.relu(x)

batch_size = 4096
dim = 393216  # per row

def get_inputs():
    return [torch.rand(batch_size, dim)]
"""
CONV = f"""{HEAD}    def __init__(self, cin, cout, k, groups):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, k)
        self.norm = nn.GroupNorm(groups, cout)

    def forward(self, x):
        return self.norm(self.conv(x))

batch_size = 128
in_channels, out_channels = 64, 128
height = width = 256
kernel_size = 3
num_groups = 8

def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]

def get_init_inputs():
    return [in_channels, out_channels, kernel_size, num_groups]
"""


def simple(forward: str, body: str) -> str:
    return f"{HEAD}    def forward(self, x, *y):\n        return {forward}\n\n{body}\n"


def used(reduced: ReducedTask) -> dict[str, int]:
    return {reduction.name: reduction.used for reduction in reduced.reductions}


def test_a_task_within_the_budget_is_left_as_it_is() -> None:
    code = RELU.replace("4096", "16").replace("393216", "1000")
    reduced = reduce_task(code, "")
    assert reduced.code == code
    assert reduced.reductions == []
    assert reduced.within_budget


def test_sizes_fit_the_budget_and_the_text_keeps_its_lines() -> None:
    reduced = reduce_task(RELU, "")
    assert reduced.cost_before.elements > 3_000_000_000
    assert reduced.within_budget
    assert reduced.cost_after == fake_run(reduced.code).cost
    assert [(r.name, r.original, r.line) for r in reduced.reductions] == [("batch_size", 4096, 8), ("dim", 393216, 9)]
    changed = [line for line in reduced.code.splitlines() if line not in RELU.splitlines()]
    assert changed == [f"batch_size = {used(reduced)['batch_size']}", f"dim = {used(reduced)['dim']}  # per row"]


def test_sizes_keep_the_residue_of_the_original() -> None:
    for size in (393216, 393217, 65535, 100_000):
        after = used(reduce_task(RELU.replace("393216", str(size)), ""))["dim"]
        assert after % 1024 == size % 1024


def test_the_result_is_the_same_each_time() -> None:
    assert reduce_task(CONV, "x = 64") == reduce_task(CONV, "x = 64")


def test_what_is_small_or_semantic_stays() -> None:
    reduced = reduce_task(CONV, "")
    assert reduced.within_ceiling
    names = {"kernel_size": "kernel_size = 3", "num_groups": "num_groups = 8"}
    assert all(line in reduced.code for line in names.values())
    assert used(reduced)["batch_size"] >= 2
    assert used(reduced)["height"] >= 16


def test_equal_sizes_stay_equal_and_different_ones_different() -> None:
    reduced = reduce_task(CONV, "")
    namespace: dict[str, int] = {}
    exec("\n".join(line for line in reduced.code.splitlines() if " = " in line and not line.startswith(" ")), namespace)
    assert namespace["height"] == namespace["width"] < 256
    sizes = [namespace[name] for name in ("batch_size", "in_channels", "out_channels", "height")]
    assert len(set(sizes)) == 4


def test_no_dimension_becomes_nothing_or_one() -> None:
    code = simple(
        "torch.nn.functional.avg_pool2d(x, 32)", "def get_inputs():\n    return [torch.rand(64, 64, 512, 512)]"
    )
    reduced = reduce_task(code, "")
    assert min(fake_run(reduced.code).outputs.shape) >= 2
    assert reduced.reductions


def test_a_value_in_init_inputs_and_inputs_stays_one_value() -> None:
    code = f"""{HEAD}    def __init__(self, a, b):
        super().__init__()
        self.fc = nn.Linear(a, b)
    def forward(self, x):
        return self.fc(x)
def get_inputs():
    return [torch.rand(1024, 8192)]
def get_init_inputs():
    return [8192, 4096]
"""
    reduced = reduce_task(code, "")
    assert reduced.within_budget
    assert len({r.used for r in reduced.reductions if r.original == 8192}) == 1
    assert fake_run(reduced.code).outputs.shape[1] == next(r.used for r in reduced.reductions if r.original == 4096)


def test_sizes_that_only_change_together_are_changed_together() -> None:
    inputs = "[torch.rand(batch_size, *shape), torch.rand(batch_size)]"
    equal = simple("x * y[0]", f"batch_size = 32768\nshape = (32768,)\ndef get_inputs():\n    return {inputs}")
    assert reduce_task(equal, "").within_budget
    body = "width = 4096\nscale = 8192\ndef get_inputs():\n    return [torch.rand(4000, width), torch.rand(scale)]"
    twice = reduce_task(simple("torch.cat([x, x], 1) * y[0]", body), "")
    assert twice.within_budget
    assert 2 * used(twice)["width"] == used(twice)["scale"] < 8192


def test_values_that_the_model_refuses_are_avoided() -> None:
    code = f"""{HEAD}    def __init__(self, width, groups):
        super().__init__()
        self.fc, self.norm = nn.Linear(width, width), nn.GroupNorm(groups, width)
    def forward(self, x):
        return self.norm(self.fc(x))
batch_size = 1024
width = 8192
num_groups = 512
def get_inputs():
    return [torch.rand(batch_size, width)]
def get_init_inputs():
    return [width, num_groups]
"""
    reduced = reduce_task(code, "")
    assert reduced.within_ceiling
    assert "num_groups = 512" in reduced.code
    assert used(reduced)["width"] % 512 == 0


@pytest.mark.parametrize(
    "body",
    [
        "shape = (4096, 65536)\ndef get_inputs():\n    return [torch.rand(*shape)]",
        "def get_inputs():\n    return [torch.rand(4096, 65536)]",
        "def get_inputs():\n    n = 64 * 1024\n    return [torch.randn((4096, n))]",
        "c = {'rows': 4096, 'columns': 1 << 16}\ndef get_inputs():\n    return [torch.ones(c['rows'], c['columns'])]",
        "n: int = 65536\ndef get_inputs():\n    return [torch.zeros(size=(4096, n)) for _ in range(1)]",
        "é = 4096; ü = 65536\ndef get_inputs():\n    return [torch.rand(é, ü)]",
    ],
)
def test_constants_are_found_wherever_tasks_write_them(body: str) -> None:
    reduced = reduce_task(simple("x + 1", body), "")
    assert reduced.within_budget
    assert {r.original for r in reduced.reductions} == {4096, 65536}


def test_a_task_without_constants_is_left_as_it_is() -> None:
    reduced = reduce_task(simple("x + 1", "def get_inputs():\n    return [torch.rand(*[int('9999')] * 2)]"), "")
    assert not reduced.within_budget
    assert reduced.reductions == []


def test_a_task_that_fails_at_its_own_sizes_is_an_error() -> None:
    with pytest.raises(TaskError, match="RuntimeError"):
        reduce_task(RELU.replace("torch.relu(x)", "x @ x"), "")


def test_a_task_whose_shapes_depend_on_values_is_reduced_by_its_inputs() -> None:
    reduced = reduce_task(RELU.replace("torch.relu(x)", "x[x > 0.5]"), "")
    assert reduced.within_budget
    assert fake_run(reduced.code).outputs.numel() > 0


def test_a_size_that_the_candidate_carries_is_kept() -> None:
    reduced = reduce_task(RELU, 'SOURCE = "const int COLUMNS = 393216;"')
    assert used(reduced).keys() == {"batch_size"}
    assert reduced.kept_literals == ["dim=393216"]
    assert reduced.forced == []
    assert not reduced.shape_specialised_risk


def test_a_product_of_sizes_that_the_candidate_carries_keeps_its_factors() -> None:
    code = simple(
        "x * 2",
        "batch_size = 512\nh = 300\nw = 200\ndef get_inputs():\n    return [torch.rand(batch_size, h, w)]",
    )
    reduced = reduce_task(code, 'SOURCE = "if (i < 60000) {}"')
    assert used(reduced).keys() == {"batch_size"}
    assert set(reduced.kept_literals) == {"h=300", "w=200"}


def test_an_output_size_that_the_candidate_carries_keeps_what_it_comes_from() -> None:
    reduced = reduce_task(CONV.replace("256", "200"), 'SOURCE = "int out = 198;"')
    assert "height=200" in reduced.kept_literals


def test_a_size_that_had_to_be_reduced_nonetheless_is_named() -> None:
    reduced = reduce_task(RELU, 'SOURCE = "const int ROWS = 4096, COLUMNS = 393216;"')
    assert reduced.within_ceiling
    assert reduced.forced
    assert reduced.shape_specialised_risk
    assert set(reduced.forced) | set(reduced.kept_literals) == {"batch_size=4096", "dim=393216"}


def test_larger_ceilings_keep_more() -> None:
    budget = Budget(ceiling_elements=1 << 40, ceiling_flops=1 << 50, ceiling_bytes=1 << 50)
    assert reduce_task(RELU, 'S = "4096 393216"', budget).reductions == []


def test_a_copied_get_inputs_carries_nothing() -> None:
    candidate = "batch_size = 4096\ndim = 393216\ndef get_inputs():\n    return [torch.rand(batch_size, dim)]\n"
    assert reduce_task(RELU, candidate).kept_literals == []


COPIED = "\ndim = 393216\ndef get_inputs():\n    return [torch.rand(4096, dim)]\n"


@pytest.mark.parametrize(
    "own",
    [
        "def forward(x):\n    n, dim = x.shape\n    return run(x, dim)",
        "def forward(x, dim):\n    return run(x, dim)",
        "class A:\n    def forward(self, x):\n        for dim in x.shape:\n            x = (lambda: run(x, dim))()",
        "def forward(x):\n    dim = x.size(1)\n    def inner():\n        return run(x, dim)\n    return inner()",
    ],
)
def test_a_copied_size_is_not_carried_by_a_function_that_has_a_variable_of_that_name(own: str) -> None:
    assert 393216 not in candidate_literals(own + COPIED).all


@pytest.mark.parametrize(
    "reading",
    [
        "def forward(x):\n    return run(x, dim)",
        "def forward(x, dim=dim):\n    return run(x, dim)",
        "def forward(x):\n    global dim\n    run(x, dim)\n    dim = 3",
        "def forward(x):\n    def inner():\n        dim = 3\n    return run(x, dim)",
        "def forward(x):\n    [dim for dim in x.shape]\n    return run(x, dim)",
        "class A:\n    dim = 3\n    def forward(self, x):\n        return run(x, dim)",
        "def outer(dim):\n    def inner():\n        global dim\n        return run(dim)",
    ],
)
def test_a_size_that_the_candidate_reads_is_carried(reading: str) -> None:
    assert 393216 in candidate_literals(reading + COPIED).all


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('S = "int n = 64 * 1024;"', {64, 1024, 65536}),
        ('S = "x << 3; int m = 1 << 14; 0x1000u"', {3, 1, 14, 16384, 4096}),
        ('S = "1.5f 2e3 a12 12.0 .5"', set()),
        ('S = "// 77\\n/* 88 */ 99"', {99}),
        ("class A:\n    '''Docs of 77.'''\n    n = 16 * 8\n", {128, 16, 8}),
        ("def f(:\n 4096", {4096}),
        ("print(1 << 99999999)\n", {1, 99999999}),
        ('S = "a" * 50 + "99999999999999999999999"', {50}),
    ],
)
def test_integers_of_a_candidate(text: str, expected: set[int]) -> None:
    assert candidate_literals(text).all == expected


def test_words_of_blocks_and_tiles_tell_sizes_of_blocks() -> None:
    source = (
        "const int threads = 256;\nk<<<n, 128>>>();\nint i = blockIdx.x * 4096;\n__shared__ float s[512];\nw = 300;"
    )
    found = candidate_literals(f'S = """{source}"""')
    assert found.sizes == {4096, 300}
    assert found.all == {256, 128, 4096, 512, 300}


def test_dimensions_indices_and_tiny_values_are_no_sites() -> None:
    code = simple(
        "x",
        "def get_inputs():\n    x = torch.rand(64, 32).transpose(8, 9).sum(dim=7)[5]\n    return [x * 16, x.shape[6]]",
    )
    assert [site.value for site in find_sites(code)] == [64, 32]


def test_values_are_written_in_their_places() -> None:
    code = "a = 'ä'; b = (100, 16 * 4, 100)\nc = 100\n"
    sites = find_sites(code)
    assert [(site.name, site.value) for site in sites] == [("b", 100), ("b", 64), ("b", 100), ("c", 100)]
    assert with_values(code, dict(zip(sites, (7, 12345, 9, 8), strict=True))) == "a = 'ä'; b = (7, 12345, 9)\nc = 8\n"


@pytest.mark.parametrize("original", [4, 7, 31, 100, 224, 255, 1000, 1024, 1025, 2048, 5000, 393216, 10**9])
def test_a_ladder_descends_in_values_like_the_original(original: int) -> None:
    values = ladder(original)
    assert values == sorted(set(values), reverse=True)
    assert all(2 <= value < original for value in values)
    assert all(value % 1024 == original % 1024 for value in values if value > 1024)
    assert original < 8 or min(values) <= 8


# ---- at large


@pytest.mark.slow
@pytest.mark.skipif(not KERNELBENCH.is_dir(), reason="KernelBench is not here")
@pytest.mark.parametrize(("level", "over"), [(1, 0), (2, 0), (3, 6)])
def test_the_tasks_of_kernelbench_fit(level: int, over: int) -> None:
    """Six networks of level 3 fix their image size inside the model, where no size may be changed."""
    too_large = []
    for task in load_tasks(KERNELBENCH, levels=[level]):
        try:
            reduced = reduce_task(task.code, "")
        except TaskError as error:
            assert "needs the Python package" in str(error)  # noqa: PT017  only those may fail
            continue
        if not reduced.within_ceiling:
            too_large.append(task.task_id)
    assert len(too_large) <= over


# ------------------------------------------------------------------------------------------------------------ tiles
def kernel_text(body: str) -> str:
    return f'SOURCE = """{body}"""\n'


def test_sizes_keep_their_residue_modulo_the_candidates_tile() -> None:
    # No guard is needed on 384 times 1024 elements, nor where the last 200 of them are known to remain.
    row = kernel_text("for (int i = 0; i < n / 1024; ++i) sum += x[i * 1024 + threadIdx.x];")
    assert used(reduce_task(RELU, row))["dim"] % 1024 == 0
    odd = RELU.replace("393216", str(393216 + 200))
    assert used(reduce_task(odd, row))["dim"] % 1024 == 200
    assert reduce_task(RELU, row).forced == []


def test_a_product_of_matrices_keeps_whole_tiles_below_the_ceiling() -> None:
    code = simple(
        "torch.matmul(x, y[0])", "N = 4096\n\ndef get_inputs():\n    return [torch.rand(N, N), torch.rand(N, N)]"
    )
    for tile in (16, 128, 1024):
        reduced = reduce_task(code, kernel_text(f"mm<<<dim3(n / {tile}, n / {tile}), {tile}>>>(a, b, c, n);"))
        assert used(reduced)["N"] % tile == 0
        assert reduced.forced == []
        assert reduced.within_ceiling


def test_tiles_that_cost_too_much_are_given_up_and_said() -> None:
    body = "N = 2048\n\ndef get_inputs():\n    return [torch.rand(N, N, 4), torch.rand(N, N)]"
    code = simple("torch.einsum('abk,cd->abcd', x, y[0]).sum()", body)
    reduced = reduce_task(code, kernel_text("const int tile = 1024;"))
    assert reduced.within_ceiling
    assert used(reduced)["N"] < 1024
    assert reduced.forced == ["N=2048"]
