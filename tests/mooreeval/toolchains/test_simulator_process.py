"""A compiler that hangs, grows or writes without end is ended, with all that it started."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mooreeval.errors import NotJudged
from mooreeval.toolchains.simulator_process import run_compiler

SH = "/bin/sh"


def is_gone(pid: str) -> bool:
    """A killed process takes a moment to go; one that was not killed sleeps for ten minutes."""
    for _ in range(200):
        try:
            if "Z" in (Path("/proc") / pid / "stat").read_text().split(")")[1][:3]:
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_command_is_told_with_its_output_status_and_cost(tmp_path: Path) -> None:
    ran = run_compiler([sys.executable, "-c", "print(sum(range(3_000_000))); raise SystemExit(3)"], tmp_path, 60)
    assert ran.returncode == 3
    assert ran.log.strip() == str(sum(range(3_000_000)))
    assert ran.cpu_seconds > 0


def test_the_deadline_ends_grandchildren_too(tmp_path: Path) -> None:
    ran = run_compiler([SH, "-c", "sh -c 'sleep 600; touch late' & echo $!; wait"], tmp_path, 0.5)
    assert ran.returncode is None
    assert is_gone(ran.log.strip())


def test_what_outlives_the_compiler_is_ended(tmp_path: Path) -> None:
    ran = run_compiler([SH, "-c", "sleep 600 & echo $!"], tmp_path, 60)
    assert ran.returncode == 0
    assert is_gone(ran.log.strip())


def test_a_compiler_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    compiler = "sleep 600 & echo $! $$ >pids.new; mv pids.new pids; wait"
    code = (
        "import sys; from pathlib import Path; from mooreeval.toolchains.simulator_process import run_compiler;"
        f"run_compiler(['/bin/sh', '-c', {compiler!r}], Path(sys.argv[1]), 600)"
    )
    judge = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    pids = tmp_path / "pids"
    for _ in range(1200):
        if pids.exists():
            break
        time.sleep(0.05)
    judge.kill()
    judge.wait()
    assert all(is_gone(pid) for pid in pids.read_text().split())


@pytest.mark.parametrize("code", ["bytearray(20 << 30)", "f = open('big', 'wb'); f.truncate(3 << 30)"])
def test_memory_and_files_are_bounded(code: str, tmp_path: Path) -> None:
    assert run_compiler([sys.executable, "-c", code], tmp_path, 60).returncode != 0


def test_the_environment_holds_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPATH", "/secret")
    monkeypatch.setenv("TOKEN", "secret")
    assert "secret" not in run_compiler([SH, "-c", "env"], tmp_path, 60).log


def test_a_compiler_that_is_not_there_is_the_judges_failure(tmp_path: Path) -> None:
    with pytest.raises(NotJudged, match="cannot be started"):
        run_compiler([str(tmp_path / "g++")], tmp_path, 60)
