"""Namespaces, and a root folder of one's own that is made of a view.

/            a small tmpfs, read-only; system folders and Python are bound into it, read-only
/dev         the harmless nodes, and those of real devices where the view has them
/proc        of the process's own PID namespace, read-only: whoever is root may write to the kernel's settings there.
             With a device only its processes' own files can be written: a CUDA driver names its threads there
/scratch     a tmpfs of bounded size: the only place to write, gone with the last process; /tmp and /dev/shm lead to it
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from mooreeval.sandbox import kernel
from mooreeval.sandbox.view import SCRATCH, View

BASIC = kernel.NEWUSER | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC
FULL = BASIC | kernel.NEWNS | kernel.NEWUTS
_LINKS = (("/dev/fd", "/proc/self/fd"), ("/dev/stdin", "fd/0"), ("/dev/stdout", "fd/1"), ("/dev/stderr", "fd/2"))
_MAX_FILES = 1 << 16  # of a scratch folder


def enter_namespaces(flags: int) -> None:
    """New namespaces for this process, whose user is the same in them. OSError where they are not to be had."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(flags)
    kernel.map_ids(uid, gid)
    if flags & kernel.NEWNS:
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)


def build_root(base: str, view: View, scratch_bytes: int | None) -> None:
    """On the folder `base` what shall be the root: all but /proc, whose mount is for a process of the PID namespace.

    `scratch_bytes`: size of a scratch folder in memory; None where `view.writable` holds what can be written to.
    """
    kernel.mount("tmpfs", base, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4m,mode=755")
    _write_skeleton(base, view, with_scratch=scratch_bytes is not None)
    for path in view.readable:
        _bind(path, base)
    for path in view.writable:
        os.makedirs(base + path, exist_ok=True)
    for path in view.nodes:
        _make_point(path, base + path)
    kernel.restrict_mounts(base, kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV)
    for path in view.nodes:
        kernel.mount(path, base + path, None, kernel.MS_BIND | kernel.MS_REC)
    for path in view.writable:
        kernel.mount(path, base + path, None, kernel.MS_BIND)
        kernel.restrict_mounts(base + path, kernel.ATTR_NOSUID | kernel.ATTR_NODEV)
    if scratch_bytes is not None:
        options = f"size={scratch_bytes},nr_inodes={_MAX_FILES},mode=700"
        kernel.mount("tmpfs", base + SCRATCH, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)


def mount_proc(base: str = "") -> None:
    """/proc of this process's PID namespace."""
    kernel.mount("proc", f"{base}/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)


def close_proc(*, but_own: bool = False) -> None:
    """Nothing more can be written to /proc; `but_own`: to nothing but the files of the namespace's own processes.

    CUDA writes to /proc/self/task/TID/comm when it starts a thread, and where that fails it does not open the device.
    """
    if not but_own:
        kernel.restrict_mounts("/proc", kernel.ATTR_RDONLY)
        return
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() or entry.is_symlink():
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) or mode & 0o222:
            kernel.mount(entry.path, entry.path, None, kernel.MS_BIND)
            kernel.restrict_mounts(entry.path, kernel.ATTR_RDONLY, recursive=False)


def works(attempt: Callable[[], object]) -> bool:
    """Whether something can be done: tried in a process that may be left in any state."""
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            attempt()
            code = 0
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _write_skeleton(base: str, view: View, *, with_scratch: bool) -> None:
    for folder in ("proc", "dev", "etc", "run", "var", "sys"):
        os.mkdir(f"{base}/{folder}")
    for name, target in _LINKS:
        os.symlink(target, base + name)
    if with_scratch:
        os.mkdir(base + SCRATCH)
        for name in ("/dev/shm", "/var/tmp", "/tmp"):
            if not any(path.startswith(f"{name}/") for path in (*view.readable, *view.writable)):
                os.symlink(SCRATCH, base + name)
    home = SCRATCH if with_scratch else "/"
    _write(f"{base}/etc/passwd", f"judged:x:{os.getuid()}:{os.getgid()}::{home}:/bin/sh\n")
    _write(f"{base}/etc/group", f"judged:x:{os.getgid()}:\n")
    _write(f"{base}/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _bind(path: str, base: str) -> None:
    """Show a path of the host at its own place; of a link, the link."""
    target = base + path
    if os.path.islink(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            os.symlink(os.readlink(path), target)
        return
    _make_point(path, target)
    kernel.mount(path, target, None, kernel.MS_BIND | kernel.MS_REC)


def _make_point(path: str, target: str) -> None:
    """An empty folder or file to mount `path` on."""
    if stat.S_ISDIR(os.stat(path).st_mode):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
