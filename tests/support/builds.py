"""What tests of builds share: a cache of one's own that is prepared already, compilers that fail, small extensions."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mooreeval.toolchains.base import Extension, Source
from mooreeval.toolchains.simulator import SimulatorToolchain

GOOD = "torch::Tensor f(torch::Tensor x) { return x + %d; }\n"
WRONG = "torch::Tensor f(torch::Tensor x) { return y + %d; }\n"

# It is no process group of its own: g++'s and nvcc's programs are in that of the wrapper.
_WRAPPER = """#!{python}
import os, pathlib, signal, subprocess, sys, time
real, program, number, count = {real!r}, {program!r}, {number}, pathlib.Path(__file__ + ".count")
left = int(count.read_text())
if not left or {{"-dumpfullversion", "--version", "--dryrun"}} & {{*sys.argv}}:
    os.execv(real, [real, *sys.argv[1:]])
child = subprocess.Popen([real, *sys.argv[1:]])
while child.poll() is None:
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = stat.read_text().rpartition(")")
        except OSError:
            continue
        if head.endswith("(" + program) and int(tail.split()[2]) == os.getpgrp():
            os.kill(int(stat.parent.name), number)
            count.write_text(str(left - 1))
            sys.exit(child.wait())
    time.sleep(0.001)
sys.exit(child.returncode)
"""


def extension(text: str, name: str = "mine") -> Extension:
    """One that binds `f`."""
    sources = (
        Source("cpp_sources[0]", "cpp", "torch::Tensor f(torch::Tensor x);"),
        Source("cuda_sources[0]", "cuda", text),
    )
    return Extension(name, sources, (("f", "f"),))


def prepared_cache(folder: Path) -> Path:
    """A cache that holds the shared parts of the simulator, and nothing else."""
    parts = SimulatorToolchain(tiers=("mini", "full"))
    prepared = parts.prepare()
    paths = (prepared.runtime_lib, prepared.device_lib, prepared.binding_lib, prepared.prelude)
    entries = {path.parent for path in paths if path}
    if parts._mini:
        entries |= {
            parts.cache.root / "entries" / parts._mini._key(f"mini-{n}")
            for n in ("library", "lean", "prelude", "names")
        }
    for entry in entries:
        shutil.copytree(entry, folder / "entries" / entry.name, copy_function=_link, dirs_exist_ok=True)
    return folder


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def falling_gxx(folder: Path, program: str, number: int, times: int, compiler: str = "g++") -> str:
    """A PATH on which a compiler has one of its programs ended by a signal, the first `times` that it is called."""
    real = shutil.which(compiler)
    text = _WRAPPER.format(python=sys.executable, real=real, program=program, number=int(number))
    path = _in_place_of(compiler, text, folder)
    (folder / f"{compiler}.count").write_text(str(times))
    return path


def scripted_gxx(folder: Path, script: str, compiler: str = "g++") -> str:
    """A PATH on which a compiler is a shell script; `$REAL` is the real one."""
    asked = '*-dumpfullversion*|*--version*|*--dryrun*) exec $REAL "$@"'
    text = f'#!/bin/sh\nREAL={shutil.which(compiler)}\ncase "$*" in {asked};; esac\n{script}\n'
    return _in_place_of(compiler, text, folder)


def _in_place_of(compiler: str, text: str, folder: Path) -> str:
    folder.mkdir()
    (folder / compiler).write_text(text, encoding="utf-8")
    (folder / compiler).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def working_in(folder: Path) -> list[int]:
    """Processes whose working folder is below."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if link.readlink().is_relative_to(folder):
                found.append(int(link.parent.name))
    return found


def becomes(true_of: Callable[[], Any], seconds: float = 60.0) -> bool:
    """Whether a condition comes to hold."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true_of():
            return True
        time.sleep(0.02)
    return False
