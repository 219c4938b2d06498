"""Cores and memory are what the tightest control group leaves, whichever version of them a machine has."""

from pathlib import Path

import pytest

from mooreeval.machine import Machine

GIB = 1 << 30


def machine(tmp_path: Path, groups: dict[str, str], own: str) -> Machine:
    files = {"proc/self/cgroup": own, "proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n"}
    for name, text in {**files, **{f"groups/{path}": text for path, text in groups.items()}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Machine(tmp_path / "proc", tmp_path / "groups")


def test_without_groups_the_machine_is_ours(tmp_path: Path) -> None:
    found = machine(tmp_path, {}, "0::/\n")
    assert (found.memory_bytes(), found.available_bytes()) == (64 * GIB, 32 * GIB)
    assert found.cores() >= 1


@pytest.mark.parametrize("folder", ["", "a/", "a/b/"])
def test_a_limit_of_version_2_counts_wherever_it_is_set(tmp_path: Path, folder: str) -> None:
    groups = {
        f"{folder}cpu.max": "150000 100000\n",
        f"{folder}memory.max": f"{8 * GIB}\n",
        f"{folder}memory.current": f"{5 * GIB}\n",
        f"{folder}memory.stat": f"anon 1\ninactive_file {GIB}\nactive_file {GIB}\n",
    }
    found = machine(tmp_path, {**groups, "a/b/c/memory.max": "max\n", "a/b/c/cpu.max": "max 100000\n"}, "0::/a/b/c\n")
    assert found.cores() == 1
    assert (found.memory_bytes(), found.available_bytes()) == (8 * GIB, 5 * GIB)


def test_limits_of_version_1_are_read_too(tmp_path: Path) -> None:
    groups = {
        "cpu,cpuacct/cpu.cfs_quota_us": "100000\n",
        "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "1\n",
        "memory/box/memory.limit_in_bytes": f"{4 * GIB}\n",
        "memory/box/memory.usage_in_bytes": f"{3 * GIB}\n",
        "memory/box/memory.stat": f"inactive_file 5\ntotal_inactive_file {GIB}\n",
    }
    found = machine(tmp_path, groups, "4:memory:/box\n3:cpu,cpuacct:/elsewhere\n0::/\n")
    assert found.cores() == 1
    assert (found.memory_bytes(), found.available_bytes()) == (4 * GIB, 2 * GIB)


def test_what_makes_no_sense_limits_nothing(tmp_path: Path) -> None:
    groups = {"cpu.max": "fast\n", "memory.max": "\n", "memory.current": "much\n"}
    found = machine(tmp_path, groups, "0::/../..\nnonsense\n")
    assert found.memory_bytes() == 64 * GIB
    assert found.cores() >= 1


def test_this_machine_has_cores_and_memory() -> None:
    assert Machine().cores() >= 1
    assert 0 < Machine().available_bytes() <= Machine().memory_bytes()
