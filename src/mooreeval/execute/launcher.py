"""The launcher: a process with torch imported that forks one child for each job, in milliseconds.

    judge ──control (seqpacket, JSON)──> launcher ──fork──> keeper ──fork──> child (in namespaces of its own)
      └───────────────────── channel (stream, wire.py) ──────────────────────────┘

The launcher holds no secret and never reads a task's or a candidate's bytes. A child enters its own session, user, PID,
network and IPC namespaces where the kernel allows it, its scratch folder and its limits before it reads the first
message. PID 1 of the namespaces is an idle process beside the child: the kernel shields PID 1 from most signals, and a
candidate that kills itself or calls abort must end as it would anywhere. When the keeper is killed, PID 1 goes and the
whole namespace with it, whatever the candidate started. Where namespaces are not to be had the child is killed by
process group, and `doctor` says so.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import functools
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
MAX_REQUEST = 64 << 10
FIRST_NUMBER, NUMBERS = 100, 30_000  # of children in their own PID namespaces
IDLE_SECONDS = 5.0  # longer than any pause of a first verdict whose builds are cached
REPORT_FD = 200  # where a child finds the file for its run time's last report
_libc = ctypes.CDLL(None, use_errno=True)


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


def serve(control: socket.socket) -> None:
    """Answer requests until the judge closes the control socket."""
    gc.disable()  # what is imported stays: looking for garbage in it is a tenth of the start
    import torch  # noqa: F401  the reason for this process

    from mooreeval.execute import reference_child, roles  # noqa: F401

    # Asked once, before the forks that need the answer; a /proc of one's own takes namespaces of one's own.
    namespaces = own_proc_available() or namespaces_available()
    gc.freeze()  # nor do children look at it, each in a copy of its own
    control.send(json.dumps({"ready": True, "namespaces": namespaces}).encode())
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
            control.send(json.dumps(_spawn(fields, descriptors, control)).encode())
            if not loaded:
                _load_what_others_need()
                loaded = True
        elif fields["op"] == "reap":
            control.send(json.dumps(_reap(fields["pid"])).encode())


def _load_what_others_need() -> None:
    """Imports of the roles that come second, while the first child, a task's, is at work."""
    from mooreeval.execute import candidate_child, compare_child, reader_child  # noqa: F401
    from mooreeval.simulator import torch_device  # noqa: F401

    gc.freeze()


def _load_what_some_need() -> None:
    """What the children of larger tasks would load each for itself, while there is nothing else to do."""
    from mooreeval.execute.fake_run import warm_up

    warm_up()
    gc.freeze()


def namespaces_available() -> bool:
    """Whether an unprivileged child can have its own user and PID namespaces here."""
    return _works(lambda: _libc.unshare(NAMESPACES) == 0)


@functools.cache
def own_proc_available() -> bool:
    """Whether it can have a /proc of its own there, too: in some containers parts of /proc are masked, and it can't."""

    def attempt() -> bool:
        uid, gid = os.getuid(), os.getgid()
        if _libc.unshare(NAMESPACES | CLONE_NEWNS) != 0:
            return False
        _map_ids(uid, gid)
        return _works(_mount_proc)

    return _works(attempt)


def _works(attempt: Callable[[], bool]) -> bool:
    """The answer of a process that may be left in any state."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if attempt() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _mount_proc() -> bool:
    """A /proc of this PID namespace, seen in this mount namespace alone."""
    if _libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    return _libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None) == 0


def _spawn(fields: dict[str, Any], descriptors: list[int], control: socket.socket) -> dict[str, Any]:
    sys.stdout.flush()
    pid = _fork(lambda: _become_keeper(fields, descriptors, control))
    _close(descriptors)
    return {"pid": pid}


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _reap(pid: int) -> dict[str, Any]:
    """Wait for a child that has ended or was killed; negative numbers are signals. CPU seconds: with all it started."""
    try:
        _pid, status, usage = os.wait4(pid, 0)
        return {"exit": os.waitstatus_to_exitcode(status), "cpu_seconds": usage.ru_utime + usage.ru_stime}
    except ChildProcessError:
        return {"exit": None, "cpu_seconds": 0.0}


def _become_keeper(fields: dict[str, Any], descriptors: list[int], control: socket.socket) -> int:
    """Own session and namespaces, then fork PID 1 and the child that does the job, and pass the child's end on."""
    control.close()
    os.setsid()
    _die_with_parent()
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_namespaces_for(fields)) != 0:
        return _become_child(fields, *descriptors, isolated=False)
    _map_ids(uid, gid)
    ready, told = os.pipe()
    first = _fork(lambda: _become_first([*descriptors, ready], fields.get("serial", 0), told))
    os.close(told)
    os.read(ready, 1)  # when PID 1 has said, or gone
    os.close(ready)
    child = _fork(lambda: _become_child(fields, *descriptors))
    _close(descriptors)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)  # returns when everything in the namespace is gone
    return _end_alike(code)


def _namespaces_for(fields: dict[str, Any]) -> int:
    """All of them; a driver that finds a /proc of another PID namespace refuses, so there this one is left out."""
    if own_proc_available():
        return NAMESPACES | CLONE_NEWNS
    return NAMESPACES & ~CLONE_NEWPID if fields.get("device") else NAMESPACES


def _fork(job: Callable[[], int]) -> int:
    pid = os.fork()
    if pid == 0:
        _exit_with(job)
    return pid


def _become_first(descriptors: list[int], serial: int, told: int) -> NoReturn:
    """PID 1: waits for its own end. Orphans of the namespace become its children, and the kernel reaps them.

    First it sees to it that the child gets a number of its own: a handle of device memory names its process, and CUDA
    takes a process of the same number in another namespace for the one that made it, and refuses.
    """
    _die_with_parent()
    _close(descriptors)
    with contextlib.suppress(OSError):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(FIRST_NUMBER + serial % NUMBERS))
    os.close(told)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


def _end_alike(code: int) -> int:
    """Die of the signal that the child died of, or return its exit code."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


def _map_ids(uid: int, gid: int) -> None:
    """Keep the user's own id, so that the scratch folder stays writable."""
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _become_child(fields: dict[str, Any], channel: int, log: int, report: int, *, isolated: bool = True) -> int:
    """The job itself: limits, scratch, output to the judge's log, then the role.

    Log and report are files of the judge's without a name: what a child does to its folder can't change what is read.
    """
    _die_with_parent()
    gc.enable()
    if isolated and own_proc_available():
        _mount_proc()
    for number, action in ((signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL)):
        signal.signal(number, action)
    scratch = fields["scratch"]
    os.chdir(scratch)
    _redirect(log, report)
    os.environ.update(HOME=scratch, TMPDIR=scratch, TORCH_EXTENSIONS_DIR=str(Path(scratch) / "extensions"))
    sys.dont_write_bytecode = True  # the launcher may keep what it compiled of our own code, a child may not
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    _limit(fields["limits"])
    from mooreeval.execute.roles import run_role
    from mooreeval.execute.wire import Channel

    return run_role(fields["role"], Channel(socket.socket(fileno=channel)))


def _redirect(log: int, report: int) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, number in ((log, 1), (log, 2), (report, REPORT_FD)):
        os.dup2(descriptor, number)
    _close([log, report])


def _limit(limits: dict[str, int]) -> None:
    """`data_bytes`: private writable memory; `file_bytes`: largest file; `processes`: of this user namespace."""
    for name, number in (
        ("data_bytes", resource.RLIMIT_DATA),
        ("file_bytes", resource.RLIMIT_FSIZE),
        ("processes", resource.RLIMIT_NPROC),
        ("core_bytes", resource.RLIMIT_CORE),
    ):
        if name in limits:
            _soft, hard = resource.getrlimit(number)
            value = limits[name] if hard == resource.RLIM_INFINITY else min(limits[name], hard)
            resource.setrlimit(number, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _exit_with(job: Any) -> NoReturn:
    """Run a job in a forked process and leave without the parent's clean-up handlers."""
    code = 70
    try:
        code = job()
    except BaseException:  # noqa: BLE001  a fork must never return into the launcher's loop
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """`python -m mooreeval.execute.launcher FD`: FD is the judge's control socket."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the judge decides when work ends
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
