"""Calls that hostile code is refused, by a filter in the kernel that it can't take off.

Namespaces keep it from other processes and networks; this keeps it from parts of the kernel that no candidate needs and
that faults have been found in, from sockets that no namespace covers (vsock), and, where it has no PID namespace,
from sending signals to others.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from dataclasses import dataclass

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# (x86-64, arm64); None where it does not exist
_NEVER = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "acct": (163, 89), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "syslog": (103, 116), "iopl": (172, None), "ioperm": (173, None),
    "lookup_dcookie": (212, 18), "vhangup": (153, 58), "fanotify_init": (300, 262),
    "landlock_restrict_self": (446, 446),
}  # fmt: skip
_TRACING = {
    "ptrace": (101, 117), "perf_event_open": (298, 241), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
}  # fmt: skip
# Without namespaces: what would outlive all processes, or reach those of others.
_OUTSIDE = {
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "tkill": (200, 130),
    "pidfd_send_signal": (424, 424), "setpriority": (141, 140), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30), "migrate_pages": (256, 238),
}  # fmt: skip
_TO_A_PROCESS = {
    "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261),
}  # fmt: skip
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
_X32 = 0x40000000
_AF_UNIX, _AF_INET, _AF_NETLINK, _AF_INET6 = 1, 2, 16, 10
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW... flag but that of time, which clone takes for a signal
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST = 0, 4, 16  # offsets of struct seccomp_data; arguments are 64 bits, low half first
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


@dataclass(frozen=True)
class Filter:
    """What is refused. `tracing`: of other processes. `sockets`: families that may be opened.

    `others`: whether signals may go to other processes, and whether things may be made in the kernel that outlive all
    processes: only where namespaces of one's own hold both.
    """

    tracing: bool = False
    sockets: tuple[int, ...] = (_AF_UNIX,)
    others: bool = True


# A profiler traces, and speaks to its program over the loopback device of its own network namespace.
FOR_A_PROFILER = Filter(tracing=True, sockets=(_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK))


def is_known() -> bool:
    """Whether there is a filter for this machine's architecture."""
    return platform.machine() in _ARCHITECTURE


def install(filter_: Filter, own_pid: int) -> None:
    """Filter this process's calls and those of all its future children; for good. Needs `no_new_privs`."""
    program = compiled(filter_, own_pid, platform.machine())
    code = ctypes.create_string_buffer(program, len(program))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, fprog, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def compiled(filter_: Filter, own_pid: int, machine: str) -> bytes:
    """The filter as a BPF program."""
    column = list(_ARCHITECTURE).index(machine)
    numbers = lambda names: [pair[column] for pair in names.values() if pair[column] is not None]  # noqa: E731
    program = [_op(_LOAD, _ARCH), _op(_EQUAL, _ARCHITECTURE[machine], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if machine == "x86_64":
        program += [_op(_GREATER_EQUAL, _X32, 0, 1), _op(_RETURN, _ERRNO | _ENOSYS)]
    refused = numbers(_NEVER)
    if not filter_.tracing:
        refused += numbers(_TRACING)
    if not filter_.others:
        refused += numbers(_OUTSIDE)
    for number in refused:
        program += [_op(_EQUAL, number, 0, 1), _op(_RETURN, _ERRNO | _EPERM)]
    program += [_op(_EQUAL, _CLONE3[column], 0, 1), _op(_RETURN, _ERRNO | _ENOSYS)]  # its flags can't be looked at
    program += _when(_CLONE[column], [_op(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _op(_RETURN, _ERRNO | _EPERM)])
    program += _when(_SOCKET[column], _only(filter_.sockets, _EAFNOSUPPORT))
    if not filter_.others:
        for number in numbers(_TO_A_PROCESS):
            program += _when(number, _only((own_pid, 0), _EPERM))
    return b"".join([*program, _op(_RETURN, _ALLOW)])


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """`body`, with the first argument loaded, where the call is this one; the number is loaded before and after."""
    inner = [_op(_LOAD, _FIRST), *body, _op(_LOAD, _NUMBER)]
    return [_op(_EQUAL, number, 0, len(inner)), *inner]


def _only(values: tuple[int, ...], error: int) -> list[bytes]:
    """Go on where the loaded argument is one of `values`, else return an error."""
    checks = [_op(_EQUAL, value, len(values) - index, 0) for index, value in enumerate(values)]
    return [*checks, _op(_RETURN, _ERRNO | error)]
