"""Which walls this machine can put up, and what they cover.

`bubblewrap`  bwrap is installed and works: the launcher and every compiler run in it. Children still get namespaces and
              a root of their own inside, where the kernel lets them.
`namespaces`  the same without bwrap: the kernel's namespaces, entered by our own code.
`limits`      no namespaces are to be had, as in a container without further rights: Landlock, a filter of system calls
              and limits, and what these leave open is in `lacks`.

`$MOOREEVAL_SANDBOX` names the one to take; then it is that or no verdict.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mooreeval.errors import NotJudged, UsageError
from mooreeval.sandbox import kernel, landlock, seccomp, walls
from mooreeval.sandbox.bubblewrap import around_launcher, bwrap_path, bwrap_works
from mooreeval.sandbox.view import system_view

Mode = Literal["bubblewrap", "namespaces", "limits"]
MODES: tuple[Mode, ...] = ("bubblewrap", "namespaces", "limits")
VARIABLE = "MOOREEVAL_SANDBOX"
FILES, WRITES, PROCESSES, NETWORK, CALLS, DISK, DEVICES = (
    "other files are hidden", "other files can't be written", "other processes are hidden", "no network",
    "system calls are filtered", "scratch space is bounded", "devices are hidden",
)  # fmt: skip
DEVICE_MEMORY = "device memory is bounded"  # lacked by verdicts of a device whose driver does not tell who holds it
ALL = (FILES, WRITES, PROCESSES, NETWORK, CALLS, DISK, DEVICES)


@dataclass(frozen=True)
class Rights:
    """What a process may do here. `root`: namespaces and a root folder of its own with a /proc of its own.

    `namespaces`: at least those of users, PIDs, networks and IPC. `landlock`: its version, 0 without. `calls`: a filter
    of system calls.
    """

    root: bool
    namespaces: bool
    landlock: int
    calls: bool

    @classmethod
    def found(cls, base: str) -> Rights:
        """Tried in processes of their own; `base`: an empty folder."""
        root = walls.works(lambda: _whole_root(base))
        namespaces = root or walls.works(lambda: walls.enter_namespaces(walls.BASIC))
        return cls(root, namespaces, landlock.version(), seccomp.is_known())

    def covers(self, *, inside_bwrap: bool = False) -> tuple[str, ...]:
        """Which of `ALL` hold for a child."""
        files = self.root or self.landlock > 0
        held = {
            FILES: files,
            WRITES: files or inside_bwrap,
            PROCESSES: self.root,
            NETWORK: self.namespaces or inside_bwrap or self.calls,
            CALLS: self.calls,
            DISK: self.root,
            DEVICES: files,
        }
        return tuple(name for name in ALL if held[name])

    def to_json(self) -> dict[str, Any]:
        return {"root": self.root, "namespaces": self.namespaces, "landlock": self.landlock, "calls": self.calls}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Rights:
        return cls(fields["root"], fields["namespaces"], fields["landlock"], fields["calls"])


def _whole_root(base: str) -> None:
    """What a child's keeper does, with the smallest view, in processes that end here."""
    walls.enter_namespaces(walls.FULL)
    walls.build_root(base, system_view(), 1 << 20)
    if not walls.works(lambda: walls.mount_proc(base)):
        raise OSError("no /proc of one's own")
    kernel.change_root(base)


@dataclass(frozen=True)
class Sandbox:
    """The mode that was taken and what it covers, of `ALL`; the rest is in `lacks`."""

    mode: Mode
    covers: tuple[str, ...]

    @property
    def lacks(self) -> tuple[str, ...]:
        return tuple(name for name in ALL if name not in self.covers)


def wanted_mode() -> Mode | None:
    """What `$MOOREEVAL_SANDBOX` names; None where the best that works is taken. UsageError for anything else."""
    name = os.environ.get(VARIABLE, "").strip()
    if not name or name == "auto":
        return None
    for mode in MODES:
        if name == mode:
            return mode
    raise UsageError(f"{VARIABLE} is {name!r}; it can be auto, {', '.join(MODES)}")


def takes_bwrap() -> bool:
    """Whether the launcher and compilers are started by bwrap. NotJudged where it was asked for and doesn't work."""
    wanted = wanted_mode()
    if wanted == "bubblewrap" and not bwrap_works():
        missing = "is not on PATH" if bwrap_path() is None else "can't make a sandbox here"
        raise NotJudged(f"{VARIABLE} is bubblewrap, but bwrap {missing}; see docs/security.md")
    return wanted in (None, "bubblewrap") and bwrap_works()


def mode_of(rights: Rights, *, inside_bwrap: bool) -> Sandbox:
    """The mode with these rights of children. NotJudged where another one was asked for."""
    mode: Mode = "bubblewrap" if inside_bwrap else "namespaces" if rights.namespaces else "limits"
    wanted = wanted_mode()
    if wanted not in (None, mode):
        raise NotJudged(f"{VARIABLE} is {wanted}, but this machine gives {mode}; see docs/security.md")
    return Sandbox(mode, rights.covers(inside_bwrap=inside_bwrap))


def limited(rights: Rights) -> Rights:
    """These without namespaces, though the machine may have them: what is used under `limits`."""
    return replace(rights, root=False, namespaces=False)


@functools.cache
def rights_here(*, inside_bwrap: bool = False) -> Rights:
    """The rights of programs that this process starts, found by one that it starts: safe beside threads."""
    own = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(prefix="mooreeval-") as folder:
        around = around_launcher(folder) if inside_bwrap else []
        done = subprocess.run(
            [*around, sys.executable, "-I", "-S", "-c", _PROBE, own, folder], capture_output=True, text=True,
            check=False, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    if done.returncode != 0:
        return Rights(root=False, namespaces=False, landlock=0, calls=False)
    return Rights.from_json(json.loads(done.stdout))


_PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from mooreeval.sandbox.modes import Rights
os.mkdir(sys.argv[2] + "/base")
print(json.dumps(Rights.found(sys.argv[2] + "/base").to_json()))
"""


def sandbox_here() -> Sandbox:
    """What children will have on this machine. Raises as `takes_bwrap` and `mode_of` do."""
    inside = takes_bwrap()
    rights = rights_here(inside_bwrap=inside)
    return mode_of(limited(rights) if wanted_mode() == "limits" else rights, inside_bwrap=inside)
