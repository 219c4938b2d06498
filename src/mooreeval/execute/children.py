"""The judge's side of its children: start, talk to, kill, and tell how they ended."""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from mooreeval.errors import NotJudged, Transient, WireError
from mooreeval.execute.keeper import UP
from mooreeval.execute.kept_children import KeptChildren
from mooreeval.execute.remove_tree import remove_tree
from mooreeval.execute.scratch_root import ScratchRoot, sweep
from mooreeval.execute.wire import Channel, DeadlineExceeded, Message, PeerClosed
from mooreeval.sandbox.bubblewrap import around_launcher
from mooreeval.sandbox.modes import Rights, Sandbox, mode_of, takes_bwrap, wanted_mode

START_SECONDS = 120.0  # importing torch on a cold, busy disk
LOG_TAIL_BYTES = 4000
MAX_REPORT_BYTES = 8 << 20
LEAVE_SECONDS = 0.5
END_SECONDS = 60.0  # for a keeper to end a thousand processes, or a driver to let go of what they held
DISK_BYTES = 1 << 30  # of a scratch folder where nothing else is said


class ChildEnded(Exception):
    """A child is gone: `exit_code` is negative for a signal, None where unknown.

    `timed_out` and `broke_protocol` tell that it was we who ended it, and why.
    """

    def __init__(self, exit_code: int | None, *, timed_out: bool = False, broke_protocol: bool = False) -> None:
        super().__init__(f"child ended with {exit_code}" + (" after its deadline" if timed_out else ""))
        self.exit_code = exit_code
        self.timed_out = timed_out
        self.broke_protocol = broke_protocol


class Launcher:
    """Handle of the launcher process; safe for several threads. A dead launcher is started again until it is closed."""

    def __init__(self, scratch_parent: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        sweep(scratch_parent)
        self._root = ScratchRoot(scratch_parent)
        self.root = self._root.path  # where all scratch folders are
        self._inside_bwrap = self._is_closed = False
        self.sandbox: Sandbox | None = None  # of all children; None before the first
        self.kept = KeptChildren()
        self._serial = itertools.count()

    def start(self) -> None:
        """Start the process without waiting for it to be ready."""
        with self._lock:
            self._start()

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        if self._is_closed:
            raise Transient("the launcher was closed")
        self._inside_bwrap = takes_bwrap()
        around = around_launcher(str(self.root)) if self._inside_bwrap else []
        how = ["limits"] if wanted_mode() == "limits" else []
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            # -P: what lies in the folder that all scratch folders are in must never be imported
            [*around, sys.executable, "-P", "-m", "mooreeval.execute.launcher", str(theirs.fileno()), *how],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=_clean_environment(),
            cwd=self.root,
            start_new_session=True,  # bwrap is two processes, and one killed at its start may leave the other
        )
        theirs.close()
        self._control = ours
        self._control.settimeout(START_SECONDS)
        self._ready = False

    def _await_ready(self) -> socket.socket:
        self._start()
        assert self._control is not None
        if not self._ready:
            hello = json.loads(self._control.recv(4096) or b"{}")
            if not hello.get("ready"):
                raise NotJudged("the launcher process did not start; run `musacoder doctor`")
            self.sandbox = mode_of(Rights.from_json(hello["rights"]), inside_bwrap=self._inside_bwrap)
            self._ready = True
        return self._control

    def _request(self, fields: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        """The answer, and the descriptors that came with it."""
        with self._lock:
            try:
                control = self._await_ready()
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
                control.sendmsg([json.dumps(fields).encode()], rights if descriptors else [])
                answer, handles, _flags, _address = socket.recv_fds(control, 4096, 1)
            except (OSError, ValueError) as error:
                self._kill()
                raise Transient(f"the launcher process was lost ({type(error).__name__})") from error
            if not answer:
                self._kill()
                raise Transient("the launcher process died")
            return json.loads(answer), handles

    def spawn(self, role: str, limits: dict[str, int], *, device: bool = False, readable: Iterable[str] = ()) -> Child:
        """A fresh child in a fresh scratch folder, within its walls.

        `limits`: see `keeper._limit` and `keeper.Watch`; `device`: it will open a real one; `readable`: files and
        folders beyond the system's that it may read. Where its walls could not be put up, its end raises Transient.
        """
        scratch = Path(tempfile.mkdtemp(prefix=f"{role.rpartition(':')[2]}-", dir=self.root))
        ours, theirs = socket.socketpair()
        log, report = (tempfile.TemporaryFile(buffering=0, dir=self.root) for _ in range(2))  # noqa: SIM115
        fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
        fields = {"op": "spawn", "role": role, "scratch": str(scratch), "device": device, "readable": list(readable)}
        fields.update(serial=next(self._serial), limits={"disk_bytes": DISK_BYTES, **limits})
        walls, told = os.pipe()
        try:
            answer, handles = self._request(fields, (theirs.fileno(), log.fileno(), report.fileno(), told))
        except BaseException:
            for opened in (ours, log, report):
                opened.close()
            os.close(walls)
            remove_tree(scratch)
            raise
        finally:
            theirs.close()
            os.close(told)
        return Child(self, answer["pid"], handles[0], walls, Channel(ours), scratch, log, report)

    def reap(self, pid: int) -> tuple[int | None, float]:
        """Exit code of a child that has ended, and the CPU seconds that it took with all that it started."""
        answer = self._request({"op": "reap", "pid": pid})[0]
        return answer["exit"], answer["cpu_seconds"]

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._control is not None:
            self._control.close()
            self._control = None

    def close(self) -> None:
        """Kill the launcher and with it every child; remove every scratch folder."""
        self.kept.close()
        with self._lock:
            self._is_closed = True
            self._kill()
        self._root.remove()


_ahead: list[Launcher] = []


def start_ahead() -> None:
    """Start the launcher of this process's first verifier while everything else is still being imported.

    Where that fails it is left to that verifier to tell.
    """
    with contextlib.suppress(OSError):
        launcher = Launcher()
        atexit.register(_close_unused)
        _ahead.append(launcher)
        launcher.start()


def take_launcher() -> Launcher:
    """The launcher that was started ahead, else a new one; the caller closes it."""
    return _ahead.pop() if _ahead else Launcher()


def _close_unused() -> None:
    while _ahead:
        _ahead.pop().close()


def _clean_environment() -> dict[str, str]:
    """What a child needs and nothing of the judge's secrets (tokens, proxies, credentials)."""
    keep = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "OMP_NUM_THREADS")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    if "PYTHONPATH" in env:  # children run elsewhere
        env["PYTHONPATH"] = os.pathsep.join(str(Path(p).absolute()) for p in env["PYTHONPATH"].split(os.pathsep) if p)
    return {
        **env,
        "CUDA_VISIBLE_DEVICES": "",  # no real device may be touched before the fork, nor by the simulator after it
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",  # the order of a set is no accident of a run: a verdict can be had again
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "KINETO_LOG_LEVEL": "99",  # PyTorch's profiler says nothing among what the candidate prints
        # A fork copies a table of pages: of large ones there are fewer, which saves two thirds of what it costs. Where
        # the kernel or the C library has none this changes nothing.
        "PYTHONMALLOC": "malloc",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


class Child:
    """One child. Use as a context manager: leaving it kills whatever is left and removes the scratch folder."""

    def __init__(
        self,
        launcher: Launcher,
        pid: int,
        pidfd: int,
        walls: int,
        channel: Channel,
        scratch: Path,
        log: IO[bytes],
        report: IO[bytes],
    ) -> None:
        """`pid`: its keeper's number, as the launcher has it; `pidfd`: a handle of that process.

        `walls`: where it says that the child's walls are up.
        """
        self._launcher, self._number, self._pidfd = launcher, pid, pidfd
        self.channel, self.scratch = channel, scratch
        self._log, self._report, self._walls = log, report, walls
        self._exit: int | None = None
        self._ended = False
        self.cpu_seconds = 0.0  # known when it has ended
        self._deadline = 0.0  # of the question that is open
        self.is_asked = False  # is a question open?
        self.is_reused = False  # has it served an earlier verdict?
        self.device: dict[str, Any] = {}  # what it says of the one that it has opened

    @property
    def pid(self) -> int:
        """Its keeper's number here; -1 where it has been reaped."""
        text = Path(f"/proc/self/fdinfo/{self._pidfd}").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pid:"))

    @property
    def pidfd(self) -> int:
        """A handle of its keeper, which ends the child and all below it when it is told to terminate."""
        return self._pidfd

    def tell(self, line: str) -> None:
        """Add a line to what the child has printed."""
        with contextlib.suppress(OSError, ValueError):
            os.write(self._log.fileno(), f"\n{line}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, and remove what it leaves behind."""
        self.channel.close()
        if not self._ended:
            self._await_exit(time.monotonic() + LEAVE_SECONDS)  # a child that leaves by itself is accounted for in full
        with contextlib.suppress(NotJudged):
            self.end()
        for opened in (self._log, self._report):
            opened.close()
        remove_tree(self.scratch)

    def is_alive(self) -> bool:
        """Whether its process runs."""
        if self._ended or self._pidfd < 0:
            return False
        return not self._has_gone(0)

    def ask(self, op: str, fields: dict[str, Any], values: dict[str, Any], seconds: float) -> Message:
        """Send a request and return the answer; ChildEnded when it dies or its time is over."""
        self.begin(op, fields, values, seconds)
        return self.finish()

    def begin(self, op: str, fields: dict[str, Any], values: dict[str, Any], seconds: float) -> None:
        """Send a request; its answer is for `finish`, and there is time for other children meanwhile."""
        self._deadline = time.monotonic() + seconds
        self.is_asked = True
        with self._ending():
            self.channel.send_values(op, fields, values, self._deadline)

    def finish(self) -> Message:
        """The answer to what was begun."""
        self.is_asked = False
        with self._ending():
            self._await_answer(self._deadline)
            return self.channel.receive(self._deadline)

    @contextlib.contextmanager
    def _ending(self) -> Generator[None]:
        """What goes wrong on the wire ends the child."""
        try:
            yield
        except DeadlineExceeded:
            raise ChildEnded(self.end(), timed_out=True) from None
        except PeerClosed:
            self._await_exit(min(self._deadline, time.monotonic() + 5))
            raise ChildEnded(self.end()) from None
        except WireError:
            raise ChildEnded(self.end(), broke_protocol=True) from None

    def leave(self) -> None:
        """Nothing more will be asked: the child may end by itself while others are waited for."""
        self.channel.close()

    def _await_answer(self, deadline: float) -> None:
        """Until there is something to read. A grandchild may keep the socket open: the child's own end counts too."""
        poll = select.poll()
        poll.register(self.channel.sock, select.POLLIN)
        if self._pidfd >= 0:
            poll.register(self._pidfd, select.POLLIN)
        left = deadline - time.monotonic()
        ready = poll.poll(max(0, left) * 1000)
        if not ready:
            raise DeadlineExceeded("no answer in time")
        if all(number == self._pidfd for number, _event in ready):
            raise PeerClosed("the child has ended")

    def _await_exit(self, deadline: float) -> None:
        if self._pidfd >= 0:
            self._has_gone(max(0, deadline - time.monotonic()))

    def end(self) -> int | None:
        """Have its keeper end all that is left, and return the exit code; idempotent."""
        if self._ended:
            return self._exit
        self._ended = True
        for number, seconds in ((signal.SIGTERM, END_SECONDS), (signal.SIGKILL, END_SECONDS)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._pidfd, number)
            if self._has_gone(seconds):  # here: the launcher, which waits too, serves others
                break
        os.close(self._pidfd)
        self._pidfd = -1
        self._exit, self.cpu_seconds = self._launcher.reap(self._number)
        self._require_walls()
        return self._exit

    def _require_walls(self) -> None:
        """Transient where the child never ran because its walls could not be put up: no candidate's fault."""
        said = os.read(self._walls, 500)
        os.close(self._walls)
        if said != UP:
            raise Transient(said.decode("utf-8", "replace") or "a child's keeper was lost before its walls were up")

    def _has_gone(self, seconds: float) -> bool:
        """Whether its keeper ends within so many seconds."""
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def log_tail(self) -> str:
        """The end of what the child printed; bounded, decoded leniently."""
        end = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), LOG_TAIL_BYTES, max(0, end - LOG_TAIL_BYTES)).decode("utf-8", "replace")

    def last_report(self) -> bytes:
        """What the child's run time wrote down before it had to leave; empty where it did not."""
        return os.pread(self._report.fileno(), MAX_REPORT_BYTES, 0)
