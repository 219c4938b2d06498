"""`python -I -S enter.py WALLS COMMAND...`: enter walls and become another program, a compiler.

WALLS is JSON: `readable`, `writable` and `folder`, the paths of its view, and what may be used here (`Rights`); or
`inside`, where bwrap has put up the walls already. The program is no PID 1: signals mean to it what they always mean.
It ends as the program does, by the same code or signal. bwrap tells nobody what that took, so a file does.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a program it is on no path
    sys.path.insert(0, str(Path(__file__).parents[2]))

from mooreeval.sandbox import kernel, landlock, seccomp, walls
from mooreeval.sandbox.view import View

USAGE = ".usage"  # file in the program's folder
_BASE = ".root"  # an empty folder beside the program's files, while it runs


def main() -> int:
    spec, command = json.loads(sys.argv[1]), sys.argv[2:]
    folder = spec["folder"]
    view = View(tuple(spec["readable"]), writable=(*spec["writable"], folder))
    if spec.get("inside"):
        return _end_alike(_watched(command, folder, view, spec))
    if not spec["root"]:
        if spec["namespaces"]:
            walls.enter_namespaces(walls.BASIC & ~kernel.NEWPID)
        _become(command, folder, view, spec)
    base = os.path.join(folder, _BASE)
    os.makedirs(base, exist_ok=True)
    try:
        return _end_alike(_inside(command, folder, view, spec, base))
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(base)


def _watched(command: list[str], folder: str, view: View, spec: dict[str, Any]) -> int:
    """The status of the program; what it took is left in a file."""
    program = os.fork()
    if not program:
        _become(command, folder, view, {**spec, "root": True})
    _, status, usage = os.wait4(program, 0)
    took = {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss << 10}
    Path(folder, USAGE).write_text(json.dumps(took), encoding="ascii")
    return status


def _inside(command: list[str], folder: str, view: View, spec: dict[str, Any], base: str) -> int:
    """The status of the program within a root folder and a PID namespace of its own."""
    reading, writing = os.pipe()
    outside = os.fork()
    if outside:
        os.close(writing)
        told = os.read(reading, 8)
        os.waitpid(outside, 0)
        return int(told) if told else 127 << 8
    kernel.die_with_parent()
    walls.enter_namespaces(walls.FULL)
    walls.build_root(base, view, None)
    init = os.fork()
    if init:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(init, 0)[1]) & 0xFF)
    kernel.die_with_parent()
    walls.mount_proc(base)
    kernel.change_root(base)
    walls.close_proc()
    program = os.fork()
    if not program:
        os.close(writing)
        _become(command, folder, view, {**spec, "landlock": 0})
    os.write(writing, str(os.waitpid(program, 0)[1]).encode())
    os._exit(0)


def _become(command: list[str], folder: str, view: View, spec: dict[str, Any]) -> None:
    os.chdir(folder)
    kernel.give_up_rights()
    if spec["landlock"] and not spec["root"]:
        landlock.restrict_to(view)
    if spec["calls"]:
        seccomp.install(seccomp.Filter(sockets=(), others=spec["root"]), os.getpid())
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def _end_alike(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main())
