"""Machines that lack something: a compiler, disk space. One clear line, exit 3, and never a verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import TASK, candidate, environment


def verify(
    work: Path, *before: str, script: str = "", backend: str = "simulator", **env: str
) -> subprocess.CompletedProcess[str]:
    """The real command line in a folder of its own, after `script` and under the command `before`."""
    (work / "task.py").write_text(TASK)
    (work / "candidate.py").write_text(candidate("nothing is built"))
    command = f"{script}\nexec {sys.executable} -m musacoder verify task.py candidate.py --backend {backend}"
    return subprocess.run(
        [*before, "/bin/sh", "-c", command],
        cwd=work,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=900,
    )


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    (line,) = (told for told in done.stderr.splitlines() if "preparing backend" not in told)
    return line


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, str]:
    """A folder, and the shell command that makes it a file system of so many megabytes in a namespace of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", str(folder)], check=False
    )
    if done.returncode:
        pytest.skip("no user namespaces here")
    return folder, f"mount -t tmpfs -o size=%dm none {folder} || exit 99"


ALONE = ("unshare", "--user", "--map-root-user", "--mount")


@pytest.mark.parametrize("backend", ["auto", "simulator"])
def test_without_a_compiler_nothing_is_judged(tmp_path, backend):
    done = verify(tmp_path, backend=backend, PATH=str(tmp_path))
    line = only_line(done)
    assert "g++ is not on PATH" in line
    assert "apt-get install g++" in line


def test_a_full_scratch_folder_is_named_with_the_remedy(tmp_path, small):
    folder, mount = small
    line = only_line(verify(tmp_path, *ALONE, script=mount % 1, TMPDIR=str(folder)))
    assert "no space left" in line
    assert str(folder) in line
    assert "TMPDIR" in line


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [1, 50])  # at once; while the header is compiled
def test_a_full_cache_folder_is_named_with_the_remedy(tmp_path, small, megabytes):
    folder, mount = small
    line = only_line(verify(tmp_path, *ALONE, script=mount % megabytes, MOOREEVAL_CACHE=str(folder / "cache")))
    assert "no space left" in line
    assert str(folder) in line
    assert "MOOREEVAL_CACHE" in line
