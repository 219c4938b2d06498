"""The keeper of one child: puts up the walls, forks the child, watches what it takes, and ends all that it started.

    launcher ──fork──> keeper ──fork──> PID 1 of the child's namespaces
                         └─────fork───> child

A keeper can't be reached by its child: it is in no namespace that the child sees. PID 1 is an idle process beside the
child: the kernel shields PID 1 from most signals, and a candidate that kills itself or calls abort must end as it would
anywhere. When PID 1 goes, whatever is in its namespace goes with it. Without a PID namespace the keeper adopts what the
child orphans, and ends it all by number.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from mooreeval.sandbox import kernel, landlock, seccomp, walls
from mooreeval.sandbox.descendants import descendants, end_descendants
from mooreeval.sandbox.modes import Rights
from mooreeval.sandbox.view import SCRATCH, View, system_view

FIRST_NUMBER, NUMBERS = 100, 2_000  # of children in their own PID namespaces
REPORT_FD = 200  # where a child finds the file for its run time's last report
LEAST_PID_MAX = 512  # the kernel takes no less for a machine with up to 64 cores
PID_MAX_OF_A_NAMESPACE = (6, 14)  # before this Linux it is one for the whole machine
UP = b"\1"  # what a keeper says when the walls are up
# Between two looks at what a child takes: longer while it is alone, not to disturb what is timed.
LOOK_SECONDS, LOOK_SECONDS_ALONE = 0.1, 0.25
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


@dataclass(frozen=True)
class Spawn:
    """What the judge asks for. `limits`: see `_limit` and `Watch`; `readable`: paths beyond the system's."""

    role: str
    scratch: str
    limits: dict[str, int]
    device: bool
    serial: int
    readable: tuple[str, ...]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Spawn:
        return cls(
            fields["role"], fields["scratch"], fields["limits"], fields["device"], fields["serial"],
            tuple(fields["readable"]),
        )  # fmt: skip

    @property
    def is_profiler(self) -> bool:
        return self.role == "profile"

    def view(self) -> View:
        return system_view(device=self.device, more=self.readable)


def become_keeper(spawn: Spawn, descriptors: list[int], rights: Rights) -> int:
    """Own session and walls, then PID 1 and the child that does the job; its end is passed on.

    `descriptors`: the child's channel, its log, its report, and where one byte says that the walls are up, or a line
    why they are not.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    os.setsid()
    kernel.die_with_parent()
    kernel.adopt_orphans()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory ends, it is not the judge who goes
    # Root's processes have no limit in number, and a keeper and PID 1 must not wait behind all that a child forks; only
    # root can have this.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    inherited = _status(Path("/proc/self")).get("RssAnon", 0)
    told = descriptors.pop()
    try:
        space, first = _own_space(spawn, [*descriptors, told], rights)
    except OSError as error:
        os.write(told, f"the sandbox could not be set up: {error}".encode()[:500])
        return 70
    os.write(told, UP)
    os.close(told)
    child = fork(lambda: _become_child(spawn, rights, space, *descriptors))
    channel, log, report = descriptors
    close([channel, report])
    code = _until_the_end(child, first, Watch(spawn.limits, log, space, inherited))
    return _end_alike(code)


def _end_all(child: int | None, first: int | None) -> None:
    """Nothing that the child started is left. When PID 1 dies, no process of its namespace can fork again."""
    if first is not None:
        os.kill(first, signal.SIGKILL)
    else:
        end_descendants()
    for pid in (child, first):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0) if pid else None  # PID 1 goes when everything in the namespace is gone


def _own_space(spawn: Spawn, descriptors: list[int], rights: Rights) -> tuple[str, int | None]:
    """Enter namespaces; "root" with a root folder and a /proc, "pids", "nets" or "none", and PID 1 where there is one.

    A driver that finds a /proc of another PID namespace refuses: with a device it is all or no PID namespace.
    """
    if rights.root:
        walls.enter_namespaces(walls.FULL)
        _bring_up_loopback() if spawn.is_profiler else None
        base = spawn.scratch
        walls.build_root(base, spawn.view(), spawn.limits["disk_bytes"])
        first = _fork_first(descriptors, spawn, f"{base}/proc", lambda: walls.mount_proc(base))
        kernel.change_root(base)
        walls.close_proc(but_own=spawn.device)
        return "root", first
    if not rights.namespaces:
        return "none", None
    if spawn.device:
        walls.enter_namespaces(walls.BASIC & ~kernel.NEWPID)
        return "nets", None
    walls.enter_namespaces(walls.BASIC)
    return "pids", _fork_first(descriptors, spawn, "/proc", lambda: None)


def _fork_first(descriptors: list[int], spawn: Spawn, proc: str, prepare: Callable[[], None]) -> int:
    """PID 1 of a new namespace, when it has prepared what only it can; `proc`: where it finds a /proc then."""
    ready, told = os.pipe()
    first = fork(lambda: _become_first([*descriptors, ready], spawn, told, proc, prepare))
    os.close(told)
    prepared = os.read(ready, 1)  # when PID 1 has said so, or gone
    os.close(ready)
    if not prepared:
        raise OSError("PID 1 of the namespaces could not be set up")
    return first


def _become_first(descriptors: list[int], spawn: Spawn, told: int, proc: str, prepare: Callable[[], None]) -> NoReturn:
    """PID 1: waits for its own end. Orphans of the namespace become its children, and the kernel reaps them.

    First it sees to it that the child gets a number of its own: a handle of device memory names its process, and CUDA
    takes a process of the same number in another namespace for the one that made it, and refuses.
    """
    kernel.die_with_parent()
    close(descriptors)
    prepare()
    number = FIRST_NUMBER + spawn.serial % NUMBERS
    with contextlib.suppress(OSError):
        Path(f"{proc}/sys/kernel/ns_last_pid").write_text(str(number))
    if "tasks" in spawn.limits and kernel.version() >= PID_MAX_OF_A_NAMESPACE:
        with contextlib.suppress(OSError):
            Path(f"{proc}/sys/kernel/pid_max").write_text(str(max(number + spawn.limits["tasks"], LEAST_PID_MAX)))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.write(told, b"1")
    os.close(told)
    while True:
        signal.pause()


def _become_child(spawn: Spawn, rights: Rights, space: str, channel: int, log: int, report: int) -> int:
    """The job itself: limits, scratch, output to the judge's log, the last walls, then the role.

    Log and report are files of the judge's without a name: what a child does to its folder can't change what is read.
    """
    import gc

    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.setsid()  # a signal to its own group does not reach its keeper, in whatever namespace that is
    kernel.die_with_parent()
    gc.enable()
    for number, action in ((signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL)):
        signal.signal(number, action)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    scratch = SCRATCH if space == "root" else spawn.scratch
    os.chdir(scratch)
    _redirect(log, report)
    extensions = str(Path(scratch) / "extensions")
    os.environ.update(HOME=scratch, TMPDIR=scratch, TORCH_EXTENSIONS_DIR=extensions, USER="judged")
    tempfile.tempdir = None  # what the launcher remembers is not ours
    sys.dont_write_bytecode = True  # the launcher may keep what it compiled of our own code, a child may not
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    _limit(spawn.limits, others=_tasks_of_this_user() if space == "none" else 0)
    _confine(spawn, rights, space, scratch)
    from mooreeval.execute.roles import run_role
    from mooreeval.execute.wire import Channel

    return run_role(spawn.role, Channel(socket.socket(fileno=channel)))


def _confine(spawn: Spawn, rights: Rights, space: str, scratch: str) -> None:
    """The last walls, which a process puts up around itself."""
    kernel.give_up_rights()
    if space != "root" and rights.landlock:
        landlock.restrict_to(replace(spawn.view(), writable=(scratch,)), names_threads=spawn.device)
    if rights.calls:
        filter_ = seccomp.FOR_A_PROFILER if spawn.is_profiler else seccomp.Filter()
        if space in ("none", "nets") and not spawn.is_profiler:
            filter_ = replace(filter_, others=False, sockets=filter_.sockets if spawn.device else ())
        seccomp.install(filter_, os.getpid())


def _redirect(log: int, report: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, number in ((null, 0), (log, 1), (log, 2), (report, REPORT_FD)):
        os.dup2(descriptor, number)
    close([null, log, report])


def _limit(limits: dict[str, int], others: int) -> None:
    """`data_bytes`: private writable memory; `file_bytes`: largest file; `core_bytes`; `tasks`: processes and threads.

    The last is of this user namespace, in which there are `others`, and holds for no process of root's: `Watch` counts.
    """
    for name, number in (
        ("data_bytes", resource.RLIMIT_DATA),
        ("file_bytes", resource.RLIMIT_FSIZE),
        ("core_bytes", resource.RLIMIT_CORE),
        ("tasks", resource.RLIMIT_NPROC),
    ):
        if name in limits:
            _soft, hard = resource.getrlimit(number)
            wanted = limits[name] + (others if name == "tasks" else 0)
            value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(number, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _tasks_of_this_user() -> int:
    own = os.getuid()
    found = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == own:
                found += len(os.listdir(f"/proc/{name}/task"))
    return found


# ---------------------------------------------------------------------------------------------------------------- watch
class Watch:
    """What all processes of a child take together: `data_bytes` of memory, `tasks`, and `log_bytes` printed."""

    def __init__(self, limits: dict[str, int], log: int, space: str, inherited: int) -> None:
        """`inherited`: KiB of memory that a fork of the launcher begins with."""
        self._limits, self._log, self._space, self._inherited = limits, log, space, inherited
        self.processes = 0  # at the last look, PID 1 among them

    def excess(self) -> str | None:
        """What is over its limit, in words; None where nothing is."""
        written, most = os.fstat(self._log).st_size, self._limits.get("log_bytes")
        if most is not None and written > most:
            return f"it printed more than {most >> 20} MiB"
        processes = self._processes()
        self.processes = len(processes)
        if len(processes) > self._limits.get("tasks", len(processes)):
            return self._too_many()
        found = [_status(process) for process in processes]
        tasks, memory = self._limits.get("tasks"), self._limits.get("data_bytes")
        if tasks is not None and sum(status.get("Threads", 0) for status in found) > tasks:
            return self._too_many()
        # What it had from the launcher is nobody's. What its own forks share counts in each: the kernel's careful count
        # waits for locks that a process without CPU time may hold.
        held = sum(max(status.get("RssAnon", 0) - self._inherited, 0) + status.get("RssShmem", 0) for status in found)
        if memory is not None and held > memory >> 10:
            return f"its processes held more than {memory >> 20} MiB of memory"
        return None

    def _too_many(self) -> str:
        return f"it had more than {self._limits['tasks']} processes and threads"

    def tell(self, excess: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._log, f"\nended by the sandbox: {excess}\n".encode())

    def _processes(self) -> list[Path]:
        """Their folders in /proc."""
        if self._space == "root":  # /proc is that of the child's PID namespace
            numbers = [name for name in os.listdir("/proc") if name.isdigit()]
        else:
            numbers = [str(pid) for pid in descendants(os.getpid())]
        return [Path("/proc") / number for number in numbers]


def _status(process: Path) -> dict[str, int]:
    """Numbers of /proc/PID/status by name: threads, and KiB of memory; empty where the process has gone."""
    with contextlib.suppress(OSError):
        rows = (row.split(":", 1) for row in (process / "status").read_text(errors="replace").splitlines())
        words = {name: rest.split() for name, rest in rows if name in ("Threads", "RssAnon", "RssShmem")}
        return {name: int(rest[0]) for name, rest in words.items() if rest and rest[0].isdigit()}
    return {}


def _until_the_end(child: int, first: int | None, watch: Watch) -> int:
    """How the child ends: by itself, by what is over a limit, or because the judge has had enough (SIGTERM)."""
    while True:
        pause = LOOK_SECONDS if watch.processes > 2 else LOOK_SECONDS_ALONE
        told = signal.sigtimedwait({signal.SIGTERM, signal.SIGCHLD}, pause)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            _end_all(None, first)
            return os.waitstatus_to_exitcode(status)
        excess = watch.excess()
        if excess or (told is not None and told.si_signo == signal.SIGTERM):
            _end_all(child, first)
            watch.tell(excess) if excess else None  # after the last thing that it printed
            return -signal.SIGKILL
        while told is not None and told.si_signo == signal.SIGCHLD and _reap_others(child):
            pass


def _reap_others(child: int) -> bool:
    """One orphan that has ended, where there is any."""
    found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None or found.si_pid == child:
        return False
    os.waitpid(found.si_pid, 0)
    return True


def _end_alike(code: int) -> int:
    """Die of the signal that the child died of, or return its exit code."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        signal.signal(signal.SIGTERM, signal.SIG_IGN) if code != -signal.SIGTERM else None  # one may be waiting
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.kill(os.getpid(), -code)
    return code


def _bring_up_loopback() -> None:
    """A network namespace of one's own begins with its loopback down; a profiler may speak to its program over it."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


# ---------------------------------------------------------------------------------------------------------------- forks
def fork(job: Callable[[], int]) -> int:
    pid = os.fork()
    if pid == 0:
        _exit_with(job)
    return pid


def close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _exit_with(job: Callable[[], int]) -> NoReturn:
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
