"""The kernel's calls that Python has no names for. All raise OSError."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
from pathlib import Path

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_CAPABILITY_VERSION = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
SIGKILL = 9
_libc = ctypes.CDLL(None, use_errno=True)


def _require(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def version() -> tuple[int, int]:
    """Of the running Linux."""
    words = os.uname().release.split(".")
    return int(words[0]), int("".join(c for c in words[1] if c.isdigit()) or 0)


def syscall(number: int, *arguments: object) -> int:
    """A call by its number."""
    return _require(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def unshare(flags: int) -> None:
    """New namespaces for this process; of PIDs, for its children."""
    _require(_libc.unshare(flags), "unshare")


def map_ids(uid: int, gid: int) -> None:
    """In a new user namespace, keep the user's own ids: files stay his."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    parts = [None if part is None else os.fsencode(part) for part in (source, target, kind, options)]
    _require(_libc.mount(parts[0], parts[1], parts[2], ctypes.c_ulong(flags), parts[3]), f"mount on {target}")


def restrict_mounts(target: str, attributes: int, *, recursive: bool = True) -> None:
    """Add `ATTR_...` to a mount, and to all below it (Linux 5.12)."""
    wanted = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    how = _AT_RECURSIVE if recursive else 0
    syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), how, ctypes.byref(wanted), ctypes.c_size_t(32))


def change_root(root: str) -> None:
    """Make a mount point the root of this mount namespace; the old root can't be reached any more."""
    os.chdir(root)
    syscall(_PIVOT_ROOT[platform.machine()], b".", b".")
    _require(_libc.umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")


def unmount(target: str) -> None:
    _require(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount2 of {target}")


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever is orphaned below."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def give_up_rights() -> None:
    """No capability, now or after any exec, in whatever user namespace this process is."""
    _require(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    with contextlib.suppress(AttributeError):
        _require(_libc.capset(ctypes.byref(header), ctypes.byref(none)), "capset")
