"""What a child can see, reach, take and leave behind, under each mode. One test for each property."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
import torch
from support.walled import MIB, ended, launcher_in, none_runs, told

from mooreeval.cache import default_cache_dir
from mooreeval.execute.scratch_root import OWNER
from mooreeval.sandbox.descendants import descendants
from mooreeval.sandbox.modes import DISK, MODES, PROCESSES

PRINTING = "while True: os.write(1, b'more and more ' * 500); time.sleep(0.0005)"


@pytest.fixture(scope="module", params=MODES)
def launcher(request):
    os.environ["MOORE_TEST_API_KEY"] = "hunter2"
    with launcher_in(request.param) as launcher:
        yield launcher
    del os.environ["MOORE_TEST_API_KEY"]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the user's: in his home and in a temporary folder."""
    file = tmp_path / "id_ed25519"
    file.write_text("a private key")
    return file


def test_the_mode_is_the_one_that_was_asked_for(launcher, request):
    told(launcher, "tell(1)")
    assert launcher.sandbox.mode == request.node.callspec.params["launcher"]
    if launcher.sandbox.mode != "limits":
        assert launcher.sandbox.lacks == ()
    else:
        assert {PROCESSES, DISK} <= set(launcher.sandbox.lacks)


def test_no_file_of_a_users_can_be_read(launcher, secret):
    places = [str(secret), "/etc/shadow", str(Path.home() / ".bashrc"), str(default_cache_dir() / "entries")]
    code = f"tell([tried(lambda: os.listdir(p) if os.path.isdir(p) else open(p).read()) for p in {places!r}])"
    for place, result in zip(places, told(launcher, code), strict=True):
        assert result in ("PermissionError", "FileNotFoundError"), place


def test_what_python_needs_can_be_read(launcher):
    code = "import torch._inductor.config, sqlite3; tell(len(os.listdir(os.path.dirname(torch.__file__))))"
    assert told(launcher, "import torch\n" + code) > 10


def test_nothing_but_its_scratch_folder_can_be_written(launcher, tmp_path):
    places = [
        "/", "/etc", "/usr/lib", "/var/lib", "/run", "/home", "/root", "/proc/sys/kernel", "/sys/kernel",
        str(Path(torch.__file__).parent), str(tmp_path), str(Path(sys.prefix)), str(launcher.root), str(Path.home()),
    ]  # fmt: skip
    code = f"""
    tell([tried(lambda: open(os.path.join(p, "moore_was_here"), "w").close()) for p in {places!r}])
    """
    assert "done" not in told(launcher, code)
    assert not any(os.access(Path(place) / "moore_was_here", os.F_OK) for place in places)
    assert told(launcher, "tell(tried(lambda: open('mine', 'w').close()))") == "done"


@pytest.mark.parametrize("device", [False, True])
def test_settings_of_the_kernel_cant_be_changed(launcher, device):
    code = """
    files = ["/sys/kernel/mm/transparent_hugepage/enabled"]
    for folder, folders, names in os.walk("/proc"):
        folders[:] = [name for name in folders if not (folder == "/proc" and name.isdigit())]
        files += [os.path.join(folder, name) for name in names]
    opened = [f for f in files if tried(lambda: os.close(os.open(f, os.O_WRONLY))) == "done"]
    tell(["/proc/sys/kernel/core_pattern" in files, len(files), opened])
    """
    seen, count, opened = told(launcher, code, device=device)
    assert seen
    assert count > 100
    assert opened == []


def test_a_driver_can_name_its_threads(launcher):
    code = """
    import threading
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    comm = f"/proc/self/task/{thread.native_id}/comm"
    tell([tried(lambda: open(comm, "w").write("cuda-EvtHandlr")), open(comm).read()])
    leave.set()
    """
    assert told(launcher, code, device=True) == ["done", "cuda-EvtHandlr\n"]


def test_other_processes_cant_be_seen_traced_or_signalled(launcher):
    judge = os.getpid()
    code = f"""
    import ctypes
    trace = ctypes.CDLL(None).ptrace(16, {judge}, 0, 0)
    seen = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
    tell([[tried(lambda: os.kill(pid, 0)) for pid in ({judge}, -1, os.getppid() or 1)], trace,
          [tried(lambda: open(f"/proc/{judge}/{{name}}", "rb").read(1)) for name in ("mem", "environ", "maps")], seen,
          os.getpid()])
    """
    signalled, trace, read, seen, own = told(launcher, code)
    assert "done" not in signalled[:1]
    assert trace == -1
    assert "done" not in read
    if launcher.sandbox.mode == "limits":
        assert "done" not in signalled
    else:
        assert seen == [1, own]


def test_no_network_of_any_kind_can_be_reached(launcher):
    with socket.socket(socket.AF_UNIX) as listening, socket.socket() as over_tcp:
        listening.bind("\0moore-test-of-walls")
        listening.listen()
        over_tcp.bind(("127.0.0.1", 0))
        over_tcp.listen()
        code = f"""
        families = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_VSOCK, socket.AF_PACKET)
        tell([[tried(lambda: socket.socket(f, socket.SOCK_RAW).close()) for f in families],
              tried(lambda: socket.socket(socket.AF_UNIX).connect("\\0moore-test-of-walls")),
              tried(lambda: socket.create_connection(("127.0.0.1", {over_tcp.getsockname()[1]}), 5))])
        """
        opened, abstract, tcp = told(launcher, code)
    assert "done" not in [*opened, abstract, tcp]


def test_it_has_no_rights_and_can_get_none(launcher):
    status = told(launcher, "tell(open('/proc/self/status').read())")
    rows = dict(row.split(":\t") for row in status.splitlines() if ":\t" in row)
    sets = ["CapInh", "CapPrm", "CapEff", "CapAmb"]
    if launcher.sandbox.mode != "limits" or os.getuid() == 0:
        sets.append("CapBnd")  # a plain user can't empty it without namespaces, and has nothing of it
    assert {rows[name].strip("0") for name in sets} == {""}
    assert (rows["NoNewPrivs"], rows["Seccomp"]) == ("1", "2")


def test_calls_that_no_candidate_needs_are_refused(launcher):
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    calls = {
        "mount": (165, 0, 0, 0, 0, 0), "unshare": (272, 0x10000000), "keyctl": (250, 0, -3, 0), "bpf": (321, 0, 0, 0),
        "perf_event_open": (298, 0, 0, -1, -1, 0), "io_uring_setup": (425, 1, 0), "userfaultfd": (323, 0),
        "ptrace": (101, 0, 0, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0), "chroot": (161, 0),
        "clone into a user namespace": (56, 0x10000011, 0, 0, 0, 0), "kexec_load": (246, 0, 0, 0, 0),
    }  # fmt: skip
    code = f"""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    tell({{name: (libc.syscall(*call), ctypes.get_errno()) for name, call in {calls!r}.items()}})
    """
    assert told(launcher, code) == {name: [-1, 1] for name in calls}


def test_no_secret_of_the_judges_is_in_its_environment(launcher):
    assert "hunter2" not in str(told(launcher, "tell(dict(os.environ))"))


def test_it_inherits_nothing_but_its_channel_its_log_and_its_report(launcher):
    code = """
    found = {}
    for number in range(1024):
        try:
            found[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            pass
    tell(found)
    """
    kinds = told(launcher, code)
    files = sorted(place for place in kinds.values() if not place.startswith("socket:"))
    assert sum(place.startswith("socket:") for place in kinds.values()) == 1
    assert all(place == "/dev/null" or place.endswith("(deleted)") for place in files), kinds


def test_no_device_can_be_opened(launcher):
    nodes = [
        str(node)
        for node in Path("/dev").iterdir()
        if not node.is_symlink() and (node.is_block_device() or node.is_char_device())
    ]
    harmless = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
    code = f"tell([n for n in {nodes!r} if tried(lambda: os.close(os.open(n, os.O_RDONLY | os.O_NONBLOCK))) == 'done'])"
    assert set(told(launcher, code)) == harmless & set(nodes)


def test_a_full_scratch_folder_is_its_own_trouble(launcher):
    if DISK in launcher.sandbox.lacks:
        pytest.skip("this mode has no bound on all files together, as it says")
    code = """
    written = 0
    try:
        for number in range(1000):
            with open(f"file{number}", "wb") as file:
                written += file.write(bytes(1 << 20))
    except OSError as error:
        tell([written >> 20, error.errno])
    """
    written, number = told(launcher, code, disk_bytes=16 * MIB)
    assert written <= 16
    assert number == 28  # ENOSPC


def test_one_that_forks_without_end_is_ended_with_all_of_them(launcher):
    told(launcher, "tell(1)")
    before = descendants(launcher._process.pid)
    code = """
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass
    """
    end, log = ended(launcher, code, seconds=10, tasks=100)
    if not end.timed_out:  # else it was the kernel that refused more: a plain user's, or a new one
        assert end.exit_code == -9
        assert "more than 100 processes" in log
    assert descendants(launcher._process.pid) == before


def test_memory_of_all_its_processes_counts_together(launcher):
    code = """
    for _ in range(4):
        if os.fork() == 0:
            held = bytearray(os.urandom(1 << 10)) * (200 << 10)
            time.sleep(60)
    time.sleep(60)
    """
    end, log = ended(launcher, code, data_bytes=512 * MIB)
    assert end.exit_code == -9
    assert not end.timed_out
    assert "memory" in log


def test_shared_memory_counts_too(launcher):
    code = """
    import mmap
    held = mmap.mmap(-1, 400 << 20)
    for page in range(0, 400 << 20, 4096):
        held[page] = 1
    time.sleep(60)
    """
    end, log = ended(launcher, code, data_bytes=300 * MIB)
    assert (end.exit_code, end.timed_out) == (-9, False)
    assert "memory" in log


def test_one_that_prints_without_end_is_ended(launcher):
    end, log = ended(launcher, PRINTING, log_bytes=4 * MIB, file_bytes=1024 * MIB)
    assert end.exit_code == -9
    assert "printed more than 4 MiB" in log


def test_what_it_starts_ends_with_it_whatever_that_does(launcher):
    code = """
    import signal
    daemon = "import os, signal, time; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15)]; time.sleep(600)"
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            subprocess.Popen([sys.executable, "-S", "-c", daemon, "moore-test-of-daemons"], start_new_session=True)
            os._exit(0)
        os._exit(0)
    time.sleep(1)
    """
    end, _log = ended(launcher, code)
    assert end.exit_code == 0
    assert none_runs("moore-test-of-daemons")


def test_one_that_ignores_every_signal_is_ended_at_its_deadline(launcher):
    code = """
    import signal
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass
    """
    end, _log = ended(launcher, code, seconds=2.0)
    assert end.timed_out


def test_one_that_kills_its_process_group_ends_nothing_but_itself(launcher):
    end, _log = ended(launcher, "import signal; os.killpg(0, signal.SIGKILL); time.sleep(5)")
    assert end.exit_code in (0, -9)
    assert told(launcher, "tell(1)") == 1


def test_no_memory_or_semaphore_of_the_kernels_outlives_it(launcher):
    before = Path("/proc/sysvipc/shm").read_text(), sorted(Path("/dev/shm").iterdir())
    code = """
    import ctypes
    libc = ctypes.CDLL(None)
    made = [libc.shmget(0x6D6F, 1 << 20, 0o1666), libc.semget(0x6D6F, 1, 0o1666)]
    name = b"/moore-test"
    made.append(libc.shm_open(name, 0o102, 0o666))
    tell(made)
    """
    told(launcher, code)
    assert (Path("/proc/sysvipc/shm").read_text(), sorted(Path("/dev/shm").iterdir())) == before


def test_what_one_child_wrote_the_next_does_not_find(launcher):
    told(launcher, "tell([tried(lambda: open(name, 'w').close()) for name in ('left', '/tmp/left')])")
    assert told(launcher, "tell([os.path.exists('left'), os.path.exists('/tmp/left')])") == [False, False]
    assert [entry.name for entry in launcher.root.iterdir() if entry.name not in ("proc", OWNER)] == []
