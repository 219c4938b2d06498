"""Tables as ncu 2025.3 printed them on an H200 (data/), and what else may stand where a table is expected."""

from pathlib import Path

import pytest

from mooreeval.profile.kernels import kernel_profiles
from mooreeval.profile.read import read_profile
from mooreeval.profile.table import number, read_table, short_name

DATA = Path(__file__).parent / "data"
RECORDED = (DATA / "two_kernels.csv").read_text()
WITH_TABLES = (DATA / "with_tables.csv").read_text()
HEADER = '"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum","dram__bytes.sum.per_second"\n'


def test_a_recorded_table_gives_both_kernels_the_longer_one_first():
    matmul, saxpy = kernel_profiles(read_table(RECORDED))
    assert (matmul.kernel, matmul.grid, matmul.block) == ("mm", (64, 64, 1), (16, 16, 1))
    assert (matmul.duration_us, matmul.share_percent, matmul.launches) == (471.776, 88.4, 1)
    assert (matmul.registers, matmul.shared_bytes, matmul.waves) == (32, 2176, 3.88)
    assert (matmul.arithmetic_pipe, matmul.arithmetic_percent) == ("single precision (FMA)", 11.7)
    assert (matmul.stall, matmul.stall_percent) == ("mio_throttle", 47.7)
    assert (saxpy.memory_percent, saxpy.memory_gb_per_s, saxpy.memory_peak_gb_per_s) == (61.6, 2964.04, 4814.3)
    assert (saxpy.stall, saxpy.stall_percent, saxpy.spill_requests) == ("long_scoreboard", 79.6, 0)
    assert (saxpy.occupancy_percent, saxpy.occupancy_possible_percent, saxpy.occupancy_limiter) == (73.9, 100.0, None)


def test_what_a_table_lacks_is_none_and_what_it_has_is_read():
    without, with_them = (kernel_profiles(read_table(text))[0] for text in (RECORDED, WITH_TABLES))
    assert (without.load_bytes_per_sector, without.bank_conflict_percent, without.shared_percent) == (None, None, None)
    assert (with_them.load_bytes_per_sector, with_them.store_bytes_per_sector) == (32, 32)
    assert (with_them.bank_conflict_percent, with_them.shared_percent) == (5.7, 81.6)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("65,536", 65536),
        ("2,964,043,500,776.80", 2964043500776.8),
        ("61.62", 61.62),
        ("1e9", 1e9),
        ("-3", -3),
        (" 7 ", 7),
        ("", None),
        ("no data", None),
        ("n/a", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("1,23", None),
        ("(256, 1, 1)", None),
        ("PolicySpread", None),
    ],
)
def test_a_cell_is_a_number_or_nothing(cell, value):
    assert number(cell) == value


@pytest.mark.parametrize(
    ("time_unit", "rate_unit", "time", "rate"),
    [
        ("ns", "byte/s", "61792", "2e12"),
        ("us", "Gbyte/s", "61.792", "2,000"),
        ("usecond", "Tbyte/second", "61.792", "2"),
    ],
)
def test_units_that_a_version_prefixes_mean_the_same(time_unit, rate_unit, time, rate):
    units = f'"","","","","{time_unit}","{rate_unit}"\n'
    (kernel,) = kernel_profiles(read_table(f'{HEADER}{units}"0","k()","(1, 1, 1)","(2, 1, 1)","{time}","{rate}"\n'))
    assert (kernel.duration_us, kernel.memory_gb_per_s, kernel.grid) == (61.792, 2000, (2, 1, 1))


def test_equal_launches_are_one_kernel_and_others_are_not():
    units = '"","","","","ns",""\n'
    launches = "".join(f'"{k}","k<{k % 2}>(int)","(1, 1, 1)","(2, 1, 1)","{1000 * (k + 1)}","1"\n' for k in range(4))
    odd, even = kernel_profiles(read_table(HEADER + units + launches))
    assert [(k.kernel, k.launches, k.duration_us, k.share_percent) for k in (odd, even)] == [
        ("k", 2, 3.0, 60.0),
        ("k", 2, 2.0, 40.0),
    ]


def test_a_second_table_and_lines_between_are_read_past():
    other = HEADER.replace(',"dram__bytes.sum.per_second"', "")
    text = f'noise\n{HEADER}"","","","","ns","byte/s"\n"0","a()","(1, 1, 1)","(1, 1, 1)","5","1"\n==WARNING== x\n'
    text += f'printed\n"not", "ours"\n{other}"","","","","ns"\n"1","b()","(1, 1, 1)","(1, 1, 1)","7"\n"2","c'
    assert [(row.kernel, row.metrics["gpu__time_duration.sum"]) for row in read_table(text)] == [
        ("a()", pytest.approx(5e-9)),
        ("b()", pytest.approx(7e-9)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no table",
        '"ID"',
        HEADER,
        HEADER + '"' + "x" * 300_000,
        HEADER + '"0","' + "x" * 200_000 + '"\n',
        RECORDED[:5000].rpartition("\n")[0],
        "\x00\ufffd" * 1000,
    ],
)
def test_what_is_no_table_gives_no_kernels_and_one_line_why(text):
    profile = read_profile(text, "")
    assert profile.kernels == ()
    assert profile.missing
    assert "\n" not in profile.missing


def test_a_row_without_figures_is_a_kernel_of_which_nothing_is_said():
    profile = read_profile(HEADER + '"0","k(int)","?","?","no data","no data"\n', "")
    assert profile.missing is None
    (kernel,) = profile.kernels
    assert (kernel.kernel, kernel.duration_us, kernel.limit, kernel.grid) == ("k", 0, None, (0, 0, 0))
    assert profile.advice == ()


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("saxpy(const float *, float *, int)", "saxpy"),
        ("void softmax<float, (int)256>(const T1 *, int)", "softmax"),
        ("void at::native::vectorized_elementwise_kernel<(int)4, std::array<char *, (unsigned long)1>>(int, T2)",
         "at::native::vectorized_elementwise_kernel"),
        ("void (anonymous namespace)::scan<3>(int)", "scan"),
        ("mine", "mine"),
        ("k" * 500, "k" * 120),
    ],
)  # fmt: skip
def test_a_name_is_short(name, short):
    assert short_name(name) == short
