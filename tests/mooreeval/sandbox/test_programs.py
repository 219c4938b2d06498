"""What a compiler can see, reach and leave behind, under each mode."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.walled import needs_mode, none_runs

from mooreeval.sandbox.modes import MODES, VARIABLE
from mooreeval.sandbox.programs import ProgramWalls
from mooreeval.toolchains.simulator_process import Ran, run_compiler


@pytest.fixture(scope="module", params=MODES)
def mode(request):
    before = os.environ.get(VARIABLE)
    needs_mode(request.param)
    yield request.param
    os.environ.pop(VARIABLE)
    if before is not None:
        os.environ[VARIABLE] = before


@pytest.fixture
def run(mode: str, tmp_path: Path) -> Callable[..., Ran]:
    """Runs Python code as if it were a compiler, in a folder of its own."""
    folder = tmp_path / "build"
    folder.mkdir()

    def run(code: str, seconds: float = 60, readable: tuple[str, ...] = ()) -> Ran:
        program = ["import os, signal, socket, subprocess, sys, time", code]
        command = [sys.executable, "-I", "-c", "\n".join(program)]
        return run_compiler(command, folder, seconds, None, ProgramWalls(readable))

    return run


def test_it_works_in_its_folder_and_finds_its_output_there(run, tmp_path):
    ran = run("open('module.so', 'w').write(os.getcwd()); print('made')")
    assert (ran.returncode, ran.log.strip()) == (0, "made")
    assert (tmp_path / "build" / "module.so").read_text() == str(tmp_path / "build")


def test_it_ends_by_the_code_or_the_signal_of_the_compiler(run):
    assert run("sys.exit(3)").returncode == 3
    assert run("os.kill(os.getpid(), signal.SIGSEGV)").returncode == -11
    assert run("os.abort()").returncode == -6
    assert run("os.kill(os.getpid(), signal.SIGKILL)").returncode == -9


def test_its_cost_is_told_as_without_walls(run):
    assert run("sum(range(5_000_000))").cpu_seconds > 0.02


def test_it_reads_what_it_is_shown_and_nothing_else(run, tmp_path):
    shown, hidden = tmp_path / "entry", tmp_path / "other"
    for folder in (shown, hidden):
        folder.mkdir()
        (folder / "kernel.cu").write_text("text")
    read = f"print(open({str(shown / 'kernel.cu')!r}).read())"
    assert run(read, readable=(str(shown),)).log.strip() == "text"
    for file in (hidden / "kernel.cu", Path("/etc/shadow"), Path.home() / ".bashrc"):
        ran = run(f"print(open({str(file)!r}).read())")
        assert ran.returncode == 1
        assert "Error" in ran.log


def test_it_writes_nowhere_but_in_its_folder(run, tmp_path):
    places = [
        str(tmp_path),
        "/usr/lib",
        "/etc",
        str(Path.home()),
        str(Path(sys.prefix)),
        "/proc/sys/kernel",
        "/var/tmp",
    ]
    code = f"""
for place in {places!r}:
    try:
        open(place + "/moore_was_here", "w").close()
    except OSError:
        pass
"""
    assert run(code).returncode == 0
    assert not any((Path(place) / "moore_was_here").exists() for place in places)


def test_it_sees_no_process_of_the_judges(run, mode):
    judge = os.getpid()
    ran = run(f"print(open('/proc/{judge}/environ').read())")
    assert ran.returncode == 1
    if mode != "limits":
        seen = run("print(len([p for p in os.listdir('/proc') if p.isdigit()]))")
        assert int(seen.log) <= 3


def test_it_reaches_no_network(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        ran = run(f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)")
    assert ran.returncode == 1
    assert "Error" in ran.log


def test_all_that_it_started_ends_at_the_deadline(run):
    daemon = "import time; time.sleep(600)"
    code = f"subprocess.Popen([sys.executable, '-S', '-c', {daemon!r}, 'moore-test-of-compilers']); time.sleep(600)"
    assert run(code, seconds=3).returncode is None
    assert none_runs("moore-test-of-compilers")
