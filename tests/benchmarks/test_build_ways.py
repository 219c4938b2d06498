"""What the benchmark of builds starts is ended with it, compilers in groups of their own too."""

from __future__ import annotations

import os
import time
from pathlib import Path

from build_ways import _said


def test_what_the_time_ends_is_ended_with_all_its_children(tmp_path: Path) -> None:
    own_group = 'import os; os.setpgid(0, 0); os.execvp("sleep", ["sleep", "600"])'
    script = f"python3 -c '{own_group}' & echo $! >{tmp_path / 'pid'}; wait"
    start = time.monotonic()
    assert _said(["/bin/sh", "-c", script], "", dict(os.environ), 2.0) is None
    assert time.monotonic() - start < 60
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_ends_by_itself_is_read() -> None:
    assert _said(["/bin/cat"], "text", dict(os.environ), 60.0) == ("text", "")
