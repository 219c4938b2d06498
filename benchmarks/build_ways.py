"""The ways to build that benchmarks/build.py compares: plain load_inline, and the toolchain with sets of tiers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from mooreeval.config import Confirm
from mooreeval.errors import MooreError
from mooreeval.toolchains.base import Artefact, Extension
from mooreeval.toolchains.build_pool import CompilerCrashed
from mooreeval.toolchains.cuda import CudaToolchain
from mooreeval.toolchains.cuda_tiers import Tier
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_workshop import CompileFailed, Job, Phase, Workshop

PLAIN = "load_inline"
_LONGEST_SECONDS = 1200.0
# Run by a Python with a CUDA build of PyTorch. Its own CPU seconds are told apart from the compilers'.
_PLAIN_SCRIPT = """
import json, resource, sys, time
from torch.utils.cpp_extension import load_inline
call, start = json.load(sys.stdin), time.monotonic()
error = ""
try:
    load_inline(**call, is_python_module=False)
except Exception as exc:
    error = str(exc)
seconds = lambda who: sum(resource.getrusage(who)[:2])
print(json.dumps({"cpu_seconds": seconds(resource.RUSAGE_CHILDREN), "python_seconds": seconds(resource.RUSAGE_SELF),
                  "built_in_seconds": time.monotonic() - start, "error": error[-2000:]}))
"""


class Watched:
    """A tier that writes down what becomes of each build, for the thread that asks for it."""

    def __init__(self, tier: Tier, attempts: threading.local) -> None:
        self._tier, self._attempts, self.name = tier, attempts, tier.name
        self.prepare, self.is_prepared, self.takes = tier.prepare, tier.is_prepared, tier.takes

    def build(self, job: Job, workshop: Workshop, suspect: Phase | None) -> None:
        outcome = "ended"
        try:
            self._tier.build(job, workshop, suspect)
            outcome = "built"
        except CompileFailed as failed:
            outcome = f"failed: {failed.phase}: {failed.first.text[:200]}"
            raise
        except CompilerCrashed:
            outcome = "crashed"
            raise
        finally:
            self._attempts.rows.append([self.name, outcome, round(workshop.cpu_seconds, 2)])


class Toolchains:
    """One toolchain for each set of tiers, over one cache."""

    def __init__(self, cache: Path, torch_dir: Path, arch: str, ways: list[str], confirm: Confirm) -> None:
        self._attempts = threading.local()
        self._toolchains = {way: CudaToolchain(cache, torch_dir, arch, way.split("+"), confirm) for way in ways}
        for toolchain in self._toolchains.values():
            toolchain.tiers = [Watched(tier, self._attempts) for tier in toolchain.tiers]

    def prepare(self) -> dict[str, float]:
        """What all builds share; CPU seconds of each part."""
        spent: dict[str, float] = {}
        for toolchain in self._toolchains.values():
            for part, seconds in toolchain.prepare().items():
                spent[part] = max(seconds, spent.get(part, 0.0))
        return spent

    def build(self, way: str, extension: Extension, until: float | None) -> dict[str, Any]:
        """One build; what the time `until` ends is cut. `attempts`: each tier's own part of it."""
        start, self._attempts.rows = time.monotonic(), []
        try:
            built = self._toolchains[way].build(extension, _LONGEST_SECONDS)
        except MooreError as error:
            result = "cut" if until and time.monotonic() >= until else "not_judged"
            return {"result": result, "error": str(error), "wall_seconds": time.monotonic() - start}
        wall = time.monotonic() - start
        run = {"tier": built.tier, "wall_seconds": wall, "waited_seconds": built.waited_seconds}
        run |= {"cpu_seconds": built.seconds, "attempts": self._attempts.rows}
        if isinstance(built, Artefact):
            return {**run, "result": "built"}
        return {**run, "result": built.kind, "error": built.reason}

    def close(self) -> None:
        for toolchain in self._toolchains.values():
            toolchain.close()


def plain(toolkit: Toolkit, python: str, extension: Extension, until: float | None) -> dict[str, Any]:
    """load_inline in a process of its own; extensions of `load` are left out."""
    start = time.monotonic()
    if not all(s.name.startswith(("cpp_sources[", "cuda_sources[")) for s in extension.sources):
        return {"result": "left_out", "wall_seconds": 0.0}
    with tempfile.TemporaryDirectory(prefix="moore-plain-") as folder:
        environment = {**os.environ, **_plain_environment(toolkit, python, folder)}
        left = None if until is None else max(until - start, 0.1)
        ended = _said([python, "-c", _PLAIN_SCRIPT], json.dumps(_call(extension)), environment, left)
    run: dict[str, Any] = {"wall_seconds": time.monotonic() - start}
    if ended is None:
        return {**run, "result": "cut"}
    out, errors = ended
    try:
        run |= json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        return {**run, "result": "not_run", "error": errors[-1000:]}
    return {**run, "result": "compile_error" if run["error"] else "built"}


def _said(command: list[str], text: str, environment: dict[str, str], seconds: float | None) -> tuple[str, str] | None:
    """stdout and stderr; None where the time ended it, with all its compilers."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = subprocess.Popen(command, text=True, env=environment, start_new_session=True, **pipes)
    try:
        return child.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end_session(child.pid)
        child.wait()


def _end_session(session: int) -> None:
    """ninja puts each compiler into a group of its own; the session is the same for all."""
    for _ in range(3):  # one of them may have begun another meanwhile
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                    os.kill(int(stat.parent.name), signal.SIGKILL)


def _plain_environment(toolkit: Toolkit, python: str, folder: str) -> dict[str, str]:
    """As for a user, but in a fresh folder and without ccache; ninja may come from the Python's own folder."""
    own = Path(shutil.which(python) or python).parent
    paths = [str(own), *(path for path in os.environ["PATH"].split(os.pathsep) if "ccache" not in path)]
    # A bare toolkit lacks headers that PyTorch's wheels bring; load_inline finds them by this variable alone.
    more = {"CUDA_INC_PATH": str(toolkit.cuda_includes[-1])} if len(toolkit.cuda_includes) > 1 else {}
    return {
        "TORCH_EXTENSIONS_DIR": folder, "TORCH_CUDA_ARCH_LIST": toolkit.arch, "CCACHE_DISABLE": "1", "TMPDIR": folder,
        "CUDA_HOME": str(toolkit.root), "PATH": os.pathsep.join(paths), **more,
    }  # fmt: skip


def _call(extension: Extension) -> dict[str, Any]:
    texts = {kind: [s.text for s in extension.sources if s.language == kind] for kind in ("cpp", "cuda")}
    return {
        "name": extension.name, "cpp_sources": texts["cpp"], "cuda_sources": texts["cuda"] or None,
        "functions": dict(extension.functions) if extension.functions is not None else None,
        "extra_cflags": [f for f in extension.cflags if not f.startswith("-I")],
        "extra_cuda_cflags": list(extension.cuda_cflags), "extra_ldflags": list(extension.ldflags),
        "with_cuda": extension.with_cuda, "no_implicit_headers": not extension.implicit_headers,
    }  # fmt: skip
