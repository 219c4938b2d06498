"""A view kept by the kernel's Landlock (Linux 5.13): rights to paths, for a process without namespaces of its own.

It also keeps a process from tracing others, and where the kernel is new enough from TCP (6.7), from abstract sockets
and from sending signals (6.12) to processes outside. Other files can still be seen to be there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat

from mooreeval.sandbox import kernel
from mooreeval.sandbox.view import View

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_CHANGE_FOLDERS = 0x1FF0  # remove, make of every kind
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_BIND_AND_CONNECT_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OWN_THREADS = "/proc/self/task"
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Of the kernel's Landlock; 0 where there is none."""
    with contextlib.suppress(OSError):
        return kernel.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return 0


def restrict_to(view: View, *, names_threads: bool = False) -> None:
    """Confine this process and its future children to a view; for good. Needs `no_new_privs`.

    /proc can be read. `names_threads`: this process alone can write to the files of its own threads, as CUDA does.
    """
    found = version()
    handled = _READ | _WRITE_FILE | _CHANGE_FOLDERS | (_REFER if found >= 2 else 0) | (_TRUNCATE if found >= 3 else 0)
    rules = _Ruleset(
        handled,
        _BIND_AND_CONNECT_TCP if found >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if found >= 6 else 0,
    )
    size = 24 if found >= 6 else 16 if found >= 4 else 8
    ruleset = kernel.syscall(_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in (*view.readable, "/proc"):
            _allow(ruleset, path, _READ)
        for path in view.nodes:
            _allow(ruleset, path, handled & (_READ | _WRITE_FILE | _TRUNCATE))
        for path in view.writable:
            _allow(ruleset, path, handled)
        if names_threads:
            _allow(ruleset, _OWN_THREADS, handled & (_READ | _WRITE_FILE | _TRUNCATE))
            os.open(_OWN_THREADS, os.O_PATH | os.O_CLOEXEC)  # the rule is of an inode, which lives while this is open
        kernel.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_FILES
        rule = _Beneath(rights, handle)
        kernel.syscall(_ADD_RULE, ruleset, _BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(handle)
