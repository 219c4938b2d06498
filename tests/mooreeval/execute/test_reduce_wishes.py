"""What smaller sizes keep for honest candidates, and what they must still show of wrong ones."""

import math
from itertools import pairwise

import pytest

from mooreeval.execute.reduce import Budget, ReducedTask, reduce_task
from mooreeval.execute.reduce_ladder import ladder
from mooreeval.execute.reduce_literals import candidate_literals
from mooreeval.execute.reduce_wishes import rests_on_all, tile, wishes

HEAD = "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n"
NONE: frozenset[int] = frozenset()


def rows(m: int, n: int) -> str:
    return f"{HEAD}    def forward(self, x):\n        return x * 2 + 1\nM = {m}\nN = {n}\n\ndef get_inputs():\n    return [torch.rand(M, N)]\n"  # noqa: E501


def product(m: int, k: int, n: int, first: str = "M") -> str:
    inputs = f"[torch.rand({first}, K), torch.rand(K, N)]"
    return f"{HEAD}    def forward(self, a, b):\n        return a @ b\n{first} = {m}\nK = {k}\nN = {n}\n\ndef get_inputs():\n    return {inputs}\n"  # noqa: E501


def cpp(body: str) -> str:
    return f'SOURCE = """{body}"""\n'


def sizes(reduced: ReducedTask, **originals: int) -> dict[str, int]:
    return {**originals, **{r.name: r.used for r in reduced.reductions}}


# ------------------------------------------------------------------------------------------------- honest: written for
@pytest.mark.parametrize(
    ("n", "text"),
    [
        (4096, "y[i] = x[i] * b[i & 4095];"),
        (4096, "y[i] = x[i] * b[i & 0xFFFu];"),
        (4096, "int row = i >> 12;"),
        (8192, "enum { kLog = 13 };\nint row = i >> kLog;"),
        (4096, "constexpr int kDim = 4'096;"),
        (4096, "constexpr long kDim = 0x1'000L;"),
        (4096, "constexpr int kDim = 1 << 12;"),
        (4000, "#define VEC_PER_ROW 1000\nfloat4 v = x[row * VEC_PER_ROW + i];"),
        (3000, "const int half = 1500;"),
        (12000, "const int kVec = 3 * 1000;"),
        (4096, "template <int D> __global__ void k(const float* x) {}\nk<64 * 64><<<m, 256>>>(x);"),
        (4608, "constexpr int kHeads = 36, kHead = 128;\nint row = kHeads * kHead;"),
    ],
)
def test_a_size_from_which_a_number_of_the_candidate_follows_is_kept(n: int, text: str) -> None:
    reduced = reduce_task(rows(7776, n), cpp(text))
    assert reduced.kept_literals == [f"N={n}"]
    assert reduced.reductions
    assert reduced.forced == []


@pytest.mark.parametrize("text", ["y = b[i & 8191];", "const int kVec = 2'048 + 0;"])
def test_such_a_size_that_had_to_be_reduced_nonetheless_is_named(text: str) -> None:
    reduced = reduce_task(product(8192, 8192, 8192), cpp(text))
    assert reduced.within_ceiling
    assert reduced.forced


# ------------------------------------------------------------------------------------------------------- honest: tiles
@pytest.mark.parametrize(
    ("m", "n", "text", "modulus"),
    [
        (6000, 5000, "constexpr int kBlock = 100;\nint i = blockIdx.x * kBlock + threadIdx.x;", 100),
        (8192, 8192, "#define BLOCK 256\nk<<<dim3(n / (BLOCK * 4), m), BLOCK>>>(x);", 1024),
        (4800, 4800, "#define TILE 48\nint c = blockIdx.x * TILE + threadIdx.x;\nint r = i % 160;", 480),
        (8192, 1536, "const int threads = 192;\nk<<<x.numel() / threads, threads>>>(x);", 192),
        (8192, 6144, "template <int B, int ITEMS> void k() {}\nint per = n / (128 * 6);\nk<128, 6>();", 768),
        (8000, 2560, "int i = blockIdx.x * SPAN;", 1),
    ],
)
def test_sizes_stay_multiples_of_tiles_of_any_kind(m: int, n: int, text: str, modulus: int) -> None:
    reduced = reduce_task(rows(m, n), cpp(text))
    used = sizes(reduced, N=n)["N"]
    assert reduced.reductions
    assert used % modulus == n % modulus
    assert reduced.forced == []


@pytest.mark.parametrize(
    "text",
    [
        "BM = 16 * 12\nSOURCE = f'int r = blockIdx.y * {BM};'\n",
        "BM = 192\nSOURCE = 'int r = blockIdx.y * BM;'\nFLAGS = [f'-DBM={BM}']\n",
        "FLAGS = ['-DBM=192']\nSOURCE = 'int r = blockIdx.y * BM;'\n",
        "ROWS, ITEMS = 64, 3\nSPAN = ROWS * ITEMS\nSOURCE = 'n / @S@'.replace('@S@', str(SPAN))\ngrid = n // SPAN\n",
        cpp(
            "template <int TM, int BX> __global__ void k() { int r = blockIdx.y * (TM * BX); }\nk<12, 16><<<g, b>>>();"
        ),
    ],
)
def test_constants_of_python_of_flags_and_of_templates_are_tiles(text: str) -> None:
    reduced = reduce_task(rows(8192, 6144), text)
    assert sizes(reduced, N=6144)["N"] % 192 == 0
    assert reduced.forced == []


def test_a_block_that_divides_all_elements_only_is_heeded() -> None:
    reduced = reduce_task(rows(25600, 300), cpp("int i = blockIdx.x * 96 + threadIdx.x;\nk<<<n / 96, 96>>>(x);"))
    used = sizes(reduced, M=25600, N=300)
    assert reduced.reductions
    assert used["M"] * used["N"] % 96 == 0


def test_rows_of_a_batch_of_a_matrix_stay_a_multiple_of_the_tile() -> None:
    code = product(2048, 1024, 2048, first="batch_size")
    reduced = reduce_task(code, cpp("#define BM 64\nint r = blockIdx.y * BM;"))
    assert sizes(reduced, batch_size=2048)["batch_size"] % 64 == 0
    assert reduced.within_ceiling


def test_a_product_of_matrices_keeps_more_than_one_tile_of_named_constants() -> None:
    text = "constexpr int TM=8, BX=16, BK=8, BM=TM*BX;\n__shared__ float a[BK][BM];\nint r0 = blockIdx.y * BM;"
    reduced = reduce_task(product(4096, 4096, 4096), cpp(text))
    used = sizes(reduced)
    assert all(value % 128 == 0 and value >= 256 for value in used.values())
    assert reduced.cost_after.flops <= 5 * Budget().flops


# --------------------------------------------------------------------------------------- wrong: what lies beyond a tile
@pytest.mark.parametrize(
    ("code", "text", "above"),
    [
        (rows(4096, 16384), "int c = threadIdx.x;\nk<<<m, 1024>>>(x);", {"N": 1024}),
        (rows(8192, 4096), "#define T 256\nv = x[threadIdx.x] + x[T + threadIdx.x];\nk<<<m, T>>>(x);", {"N": 512}),
        (rows(4096, 4096), "#define TILE 64\nint c = blockIdx.x * TILE;", {"M": 128, "N": 128}),
        (product(2048, 4096, 1024), "#define KMAX 256\nint end = k < KMAX ? k : KMAX;", {"K": 256}),
        (rows(4096, 65536), "if (c < 8 * 1024) y[c] = x[c];", {"N": 8192}),
        (rows(7777, 5003), "if (c < 2000) y[c] = x[c];", {"N": 2000}),
    ],
)
def test_something_lies_beyond_the_numbers_of_the_candidate(code: str, text: str, above: dict[str, int]) -> None:
    reduced = reduce_task(code, cpp(text))
    used = sizes(reduced)
    assert all(used.get(name, bound + 1) > bound for name, bound in above.items())
    assert reduced.forced == []


def test_more_elements_remain_than_a_constant_grid_has_threads() -> None:
    used = sizes(reduce_task(rows(8192, 8192), cpp("k<<<4096, 256>>>(x);")))
    assert used["M"] * used["N"] > 4096 * 256


def test_what_costs_too_much_is_not_crossed() -> None:
    reduced = reduce_task(product(4096, 4096, 4096), cpp("if (i < 2000) y[i] = 0;"))
    assert max(sizes(reduced).values()) < 2000
    assert reduced.cost_after.flops <= 5 * Budget().flops


# ------------------------------------------------------------------------------------------------------ second attempts
@pytest.mark.parametrize(
    ("m", "n", "text"),
    [
        (8192, 4096, "constexpr int kThreads = 256, kItems = 16;\nfor (int j = 0; j < kItems; ++j) v[j] = x[j * 256];"),
        (8192, 4096, "#define VEC_BLOCK 1024\nfloat4 v = x[blockIdx.x * VEC_BLOCK + threadIdx.x];"),
        (8192, 1024, "int row = i >> 10;"),
        (8192, 2048, "extern __shared__ char s[];\nk<<<m, 256, 8192>>>(x);"),
    ],
)
def test_a_careful_reduction_keeps_what_may_be_meant(m: int, n: int, text: str) -> None:
    first = reduce_task(rows(m, n), cpp(text))
    assert first.doubtful
    assert first.forced == []
    careful = reduce_task(rows(m, n), cpp(text), careful=True)
    assert sizes(careful, N=n)["N"] == n
    assert careful.within_ceiling


@pytest.mark.parametrize("n", [1 << 14, 1 << 16, 3 << 12])
def test_a_careful_reduction_keeps_powers_of_two_and_makes_nothing_smaller(n: int) -> None:
    text = cpp("for (int d = n >> 1; d > 0; d >>= 1) {}\nk<<<m, 1024>>>(x);")
    first, careful = reduce_task(rows(8192, n), text), reduce_task(rows(8192, n), text, careful=True)
    before, after = sizes(first, M=8192, N=n), sizes(careful, M=8192, N=n)
    assert all(after[name] >= before[name] for name in before)
    assert after["M"].bit_count() == 1
    assert after["N"].bit_count() == n.bit_count()


def test_where_nothing_is_guessed_a_careful_reduction_is_the_same() -> None:
    plain = reduce_task(rows(6000, 5000), cpp("x[blockIdx.x * 100]"))
    assert plain.doubtful == []
    assert reduce_task(rows(6000, 5000), cpp("x[blockIdx.x * 100]"), careful=True) == plain


# -------------------------------------------------------------------------------------------------------------- numbers
@pytest.mark.parametrize(
    ("body", "tiles"),
    [
        ("n / 96; n % 80; i += 48", {96, 80, 48}),
        ("blockIdx.x * 200 + threadIdx.x; 120 * blockIdx.y", {200, 120}),
        ("#define A 24\n#define B (A * 2)\nconstexpr int C = B + A;\nn / C", {72}),
        ("n / (16 * 4)", {64}),
        ("if (i < 77) {}\n__syncthreads(); x = 33;", set()),
        ("const int threads = 160;", {160}),
        ("__shared__ float tile[32][32 * 32];", {32}),
    ],
)
def test_numbers_that_seem_to_be_tiles(body: str, tiles: set[int]) -> None:
    found = candidate_literals(cpp(body)).tiles
    assert tiles <= found
    assert found - tiles <= {2, 4, 16}


@pytest.mark.parametrize(
    "text",
    ["1*" * 50_000, "(" * 100_000, "(1*" * 50_000, "template<int A> void f(" * 10_000, "f<2," * 50_000, "'1" * 50_000],
)
def test_hostile_texts_are_read(text: str) -> None:
    assert candidate_literals(cpp(text)).all <= set(range(3)) | {1 << n for n in range(63)} | {11, 111}


def test_endless_definitions_have_few_values() -> None:
    body = "".join(f"a{n} = a{n + 1} * 2; a{n} = {n};" for n in range(300))
    assert candidate_literals(cpp(body)).all


@pytest.mark.parametrize("original", [384, 1000, 4096, 5000, 6144, 393216])
@pytest.mark.parametrize(
    "text", ["", "n / 48; n % 100", "TILE = 128; 8 * 16", "const int threads = 256; x / 4; y < 3000"]
)
def test_wishes_descend_and_can_be_granted(original: int, text: str) -> None:
    literals = candidate_literals(cpp(text))
    ways = wishes(original, literals, NONE)
    least = [way.least(original) for way in ways]
    assert all(way.grants(original, value) for way, value in zip(ways, least, strict=True))
    assert ways[-1].modulus == tile(original, literals, NONE)
    assert all(later.modulus <= way.modulus and later.above <= way.above for way, later in pairwise(ways))
    assert all((original - value) % ways[-1].modulus == 0 for value in ladder(original, 2, ways[-1].modulus))


def test_tiles_that_no_smaller_size_has_in_common_are_told() -> None:
    literals = candidate_literals(cpp("n / 7; n / 11; n / 13; n / 5"))
    assert rests_on_all(7 * 11 * 13 * 5, literals, NONE)
    assert not rests_on_all(7 * 11 * 13 * 5 * 2, literals, NONE)
    assert tile(7 * 11 * 13 * 5 * 2, literals, NONE) == math.lcm(5, 7, 11, 13)
