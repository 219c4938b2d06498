"""The launcher: a process with torch imported that forks one child for each job, in milliseconds.

    judge ──control (seqpacket, JSON)──> launcher ──fork──> keeper ──fork──> child, within its walls
      └───────────────────── channel (stream, wire.py) ──────────────────────────┘

The launcher holds no secret and never reads a task's or a candidate's bytes. Where bwrap works it runs in that, and can
write to nothing but the folder of scratch folders. A child's walls are up before it reads the first message; what they
are is in `keeper.py` and `mooreeval.sandbox`.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mooreeval.execute.keeper import Spawn, become_keeper, close, fork
from mooreeval.sandbox import kernel
from mooreeval.sandbox.bubblewrap import PROC
from mooreeval.sandbox.descendants import end_descendants
from mooreeval.sandbox.modes import Rights, limited
from mooreeval.sandbox.view import system_view

MAX_REQUEST = 64 << 10
IDLE_SECONDS = 5.0  # longer than any pause of a first verdict whose builds are cached


def receive_request(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The judge's next request with the descriptors it carries; None when the judge is gone."""
    data, ancillary, _flags, _address = control.recvmsg(MAX_REQUEST, socket.CMSG_SPACE(4 * 4))
    if not data:
        return None
    descriptors: list[int] = []
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers = array.array("i")
            numbers.frombytes(payload[: len(payload) - len(payload) % 4])
            descriptors.extend(numbers)
    return json.loads(data), descriptors


def serve(control: socket.socket, *, only_limits: bool = False) -> None:
    """Answer requests until the judge closes the control socket. `only_limits`: no namespaces, though there be some."""
    gc.disable()  # what is imported stays: looking for garbage in it is a tenth of the start
    import torch  # noqa: F401  the reason for this process

    from mooreeval.execute import reference_child, roles  # noqa: F401

    rights = _rights(only_limits=only_limits)
    system_view(), system_view(device=True)  # looked up once, for all forks
    gc.freeze()  # nor do children look at it, each in a copy of its own
    control.send(json.dumps({"ready": True, "rights": rights.to_json()}).encode())
    idle: float | None = IDLE_SECONDS
    loaded = False
    while True:
        if not select.select([control], [], [], idle)[0]:
            _load_what_some_need()
            idle = None
            continue
        request = receive_request(control)
        if request is None:
            return
        fields, descriptors = request
        if fields["op"] == "spawn":
            _spawn(fields, descriptors, control, rights)
            if not loaded:
                _load_what_others_need()
                loaded = True
        elif fields["op"] == "reap":
            _answer(control, _reap(fields["pid"]))


def _rights(*, only_limits: bool) -> Rights:
    """What children may do. Where they get no root folder of their own, none may see the whole machine's /proc."""
    with tempfile.TemporaryDirectory(dir=".") as base:
        found = Rights.found(str(Path(base).absolute()))
    if Path(PROC).is_mount() and not found.root:
        kernel.unmount(PROC)
    return limited(found) if only_limits else found


def _load_what_others_need() -> None:
    """Imports of the roles that come second, while the first child, a task's, is at work."""
    from mooreeval.execute import candidate_child, compare_child, reader_child  # noqa: F401
    from mooreeval.simulator import recurrent_cells, torch_device  # noqa: F401

    with contextlib.suppress(ImportError):  # torch.utils.cpp_extension, which looks for CUDA, imports it in each child
        import setuptools.command.build_ext  # noqa: F401
        import torch.utils.hipify.hipify_python  # noqa: F401
    gc.freeze()


def _load_what_some_need() -> None:
    """What the children of larger tasks would load each for itself, while there is nothing else to do."""
    from mooreeval.execute.fake_run import warm_up

    warm_up()
    gc.freeze()


def _spawn(fields: dict[str, Any], descriptors: list[int], control: socket.socket, rights: Rights) -> None:
    """Fork a keeper, and answer with its number here and a handle of it."""
    sys.stdout.flush()
    spawn = Spawn.from_json(fields)

    def job() -> int:
        control.close()
        return become_keeper(spawn, descriptors, rights)

    pid = fork(job)
    close(descriptors)
    handle = os.pidfd_open(pid)
    _answer(control, {"pid": pid}, [handle])
    os.close(handle)


def _answer(control: socket.socket, fields: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    control.sendmsg([json.dumps(fields).encode()], rights if descriptors else [])


def _reap(pid: int) -> dict[str, Any]:
    """Wait for a child that has ended or was killed; negative numbers are signals. CPU seconds: with all it started."""
    try:
        _pid, status, usage = os.wait4(pid, 0)
        return {"exit": os.waitstatus_to_exitcode(status), "cpu_seconds": usage.ru_utime + usage.ru_stime}
    except ChildProcessError:
        return {"exit": None, "cpu_seconds": 0.0}


def main() -> None:
    """`python -m mooreeval.execute.launcher FD [limits]`: FD is the judge's control socket."""
    kernel.die_with_parent()
    kernel.adopt_orphans()  # of keepers that were killed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the judge decides when work ends
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            serve(socket.socket(fileno=int(sys.argv[1])), only_limits=sys.argv[2:] == ["limits"])
    finally:
        end_descendants()


if __name__ == "__main__":
    main()
