"""What a process may see of the file system: programs and libraries, and nothing of a user's.

A view is a list of paths. They are read-only; only the scratch folder can be written to.
"""

from __future__ import annotations

import functools
import glob
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SCRATCH = "/scratch"  # where a process with a root of its own finds its folder
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/run/opengl-driver", "/opt/nvidia", "/opt/cuda",
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
)  # fmt: skip
_ABOUT_CPUS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
NODES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_DEVICES = (
    "/dev/nvidia*", "/dev/nvidia-caps", "/dev/nvidia-uvm*", "/dev/dri", "/dev/dxg", "/dev/mtgpu*", "/dev/mthreads*",
)  # fmt: skip


@dataclass(frozen=True)
class View:
    """`readable`: files and folders, absolute; `writable`: folders, at their own paths; `nodes`: device files."""

    readable: tuple[str, ...]
    writable: tuple[str, ...] = ()
    nodes: tuple[str, ...] = NODES


def system_view(*, device: bool = False, more: Iterable[str] = ()) -> View:
    """The system's programs and libraries, this Python with its packages, and `more`; `device`: real devices, too."""
    nodes = (*NODES, *device_nodes()) if device else NODES
    return View(_outermost([*_usual(device), *more]), nodes=nodes)


@functools.cache
def _usual(device: bool) -> tuple[str, ...]:
    """What every process of this one's may read. It is asked for before there are walls, and by forks within them."""
    return _outermost([*_SYSTEM, *python_paths(), *library_paths(), *(["/sys"] if device else _ABOUT_CPUS)])


def device_nodes() -> tuple[str, ...]:
    """The files of real devices."""
    return tuple(sorted({path for pattern in _DEVICES for path in glob.glob(pattern)}))


def python_paths() -> list[str]:
    """Where this interpreter and everything that it imports is. A home folder on its path is not opened for that."""
    own = str(Path(__file__).parents[1])
    places = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path, own]
    return [os.path.abspath(place) for place in places if place and not holds_a_home(os.path.abspath(place))]


def library_paths() -> list[str]:
    """Where the loader was told to look."""
    places = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [place for place in places if os.path.isabs(place) and not holds_a_home(place)]


def holds_a_home(place: str) -> bool:
    """Whether a folder is the root, a user's home, or above it."""
    home = os.path.realpath(os.path.expanduser("~"))
    return os.path.realpath(place) == "/" or Path(home).is_relative_to(os.path.realpath(place))


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Without what lies in another one of them; a link is kept, and what it leads to, too."""
    there = [os.path.normpath(path) for path in paths if os.path.lexists(path)]
    wanted = sorted({*there, *map(os.path.realpath, there)})
    kept: list[str] = []
    for path in wanted:
        if not any(path == other or path.startswith(f"{other}/") for other in kept if not os.path.islink(other)):
            kept.append(path)
    return tuple(kept)
