"""bwrap's command lines. It is a program of its own, small and much reviewed, that makes namespaces and mounts.

Where the distribution lets it alone make user namespaces (Ubuntu 24.04 by AppArmor), it is the only way to have them.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

from mooreeval.sandbox.view import View

_NAMESPACES = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
)

PROC = "proc"


def bwrap_path() -> str | None:
    """Where it is; a name in a user's folder of scripts may be anything, but so may PATH's g++."""
    return shutil.which("bwrap")


@functools.cache
def bwrap_works() -> bool:
    """Whether it is installed and may do here what we need."""
    path = bwrap_path()
    if path is None:
        return False
    command = [path, *_NAMESPACES, "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "true"]
    try:
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def around_launcher(folder: str) -> list[str]:
    """What stands before the launcher's command: nothing but `folder` can be written to.

    Its children narrow that down further. They may use devices, where they are to. Of root's /proc bwrap covers parts,
    and the kernel allows a new /proc only where a whole one can be seen: `PROC` in `folder`, which the launcher takes
    away where it is of no use.
    """
    path = bwrap_path()
    assert path is not None
    shown = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", folder, folder, "--proc", "/proc"]
    if os.geteuid() == 0:
        os.makedirs(os.path.join(folder, PROC), exist_ok=True)
        shown += ["--dev-bind", "/proc", os.path.join(folder, PROC)]
    return [path, *_NAMESPACES, *shown, "--"]


def around_compiler(view: View, folder: str) -> list[str]:
    """What stands before a compiler's command: a view, and a folder to work in."""
    path = bwrap_path()
    assert path is not None
    shown: list[str] = ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]
    for readable in view.readable:
        if os.path.islink(readable):
            shown += ["--symlink", os.readlink(readable), readable]
        else:
            shown += ["--ro-bind", readable, readable]
    for writable in (*view.writable, folder):
        shown += ["--bind", writable, writable]
    return [path, *_NAMESPACES, "--cap-drop", "ALL", *shown, "--chdir", folder, "--"]
