"""The toolchain of NVIDIA GPUs: recorded CUDA C++ in, a Python extension module out, by nvcc and g++. Needs no GPU.

    Extension ── policy (flags, includes) ── tiers, cheap to whole ── Artefact, or BuildFailure
                                               │  mini: a small tensor header of our own
                                               │  slim: what the sources name of PyTorch
                                               └─ full: what torch.utils.cpp_extension.load_inline does

A tier takes what it can build with the same meaning. Where a cheap one fails, the next one decides: a candidate is
accused by the full build alone (see `confirm_failures`), which looks first where the cheap one failed. Successes and
failures are cached by content; what the deadline ended is not, and what the compilers failed at by themselves is
NotJudged (see `compiler_faults`).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mooreeval.cache import FileCache
from mooreeval.config import Confirm, PoolConfig
from mooreeval.errors import NotJudged, UsageError
from mooreeval.hashing import content_hash
from mooreeval.simulator.rewrite import Tokens, join_lines
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Recording
from mooreeval.toolchains.build_pool import BuildClock, BuildPool, CompilerCrashed
from mooreeval.toolchains.cuda_certain import is_certain
from mooreeval.toolchains.cuda_flags import CudaFlags, cuda_flags
from mooreeval.toolchains.cuda_mini import MiniTier
from mooreeval.toolchains.cuda_slim_tier import SlimTier
from mooreeval.toolchains.cuda_tiers import FullTier, Tier
from mooreeval.toolchains.cuda_toolkit import Toolkit
from mooreeval.toolchains.cuda_workshop import CompileFailed, DeadlineReached, Job, Phase, Workshop
from mooreeval.toolchains.kept_builds import Built, KeptBuilds
from mooreeval.toolchains.refusals import illegal_include, refused_unread
from mooreeval.toolchains.simulator_flags import foreign_includes
from mooreeval.toolchains.simulator_units import module_name
from mooreeval.verdict import Finding

_OF_THE_DEVICE = (Path(__file__).parent / "cuda_on_device.py", Path(__file__).parent / "cuda_probe.py")  # build nothing
# What a judge times on a device is not to wait for compilers. A choice: docs/results/build-pool.md has what is known.
_NICE = 5


class CudaToolchain:
    """Builds for one compute capability; needs nvcc, g++, Python's headers and a CUDA build of PyTorch.

    `cache_dir`: where builds are kept (default: see `mooreeval.cache`). `torch_dir`: PyTorch's folder (default: the one
    this Python would import; it is never imported). `arch`: compute capability, "9.0". `tiers`: names of the ways to
    build, tried in this order. `confirm_failures`: which failures of a cheap tier the next one must confirm: always;
    ambiguous (not those that any compiler would report, see cuda_certain); sampled (a share of `confirm_share` of all,
    chosen by content). Raises NotJudged where a tool is missing, UsageError for a bad cache folder or argument.
    """

    def __init__(
        self,
        cache_dir: Path | None = None,
        torch_dir: Path | None = None,
        arch: str = "9.0",
        tiers: Sequence[str] = ("slim", "full"),
        confirm_failures: Confirm = "always",
        confirm_share: float = 0.1,
        pool: PoolConfig | None = None,
    ):
        self.toolkit = Toolkit(torch_dir, arch)
        self.cache = FileCache(cache_dir)
        self._kept = KeptBuilds(self.cache)
        self.pool = BuildPool(self.cache, pool, nice=_NICE)
        self.pool.show(*self.toolkit.folders)
        slim = SlimTier(self.toolkit, self.cache, self.pool)
        makers: dict[str, Callable[[], Tier]] = {
            "mini": lambda: MiniTier(self.toolkit, self.cache, self.pool, slim),
            "slim": lambda: slim,
            "full": lambda: FullTier(self.toolkit),
        }
        if not tiers or set(tiers) - makers.keys():
            raise UsageError(f"tiers must be some of {', '.join(makers)}, not {', '.join(tiers) or 'none'}")
        self.tiers: list[Tier] = [makers[name]() for name in tiers]
        self._confirm, self._share = confirm_failures, confirm_share
        self.link_flags: tuple[str, ...] = ()  # more for the linker, from whoever runs the modules

    def prepare(self) -> dict[str, float]:
        """Make what all builds share; CPU seconds spent on each part (0.0: it was in the cache)."""
        self.cache.require_space()
        return {part: seconds for tier in self.tiers for part, seconds in tier.prepare().items()}

    def is_prepared(self) -> bool:
        """Whether `prepare` finds its parts; making them takes about a minute, once a machine and PyTorch version."""
        return all(tier.is_prepared() for tier in self.tiers)

    def compiler_versions(self) -> dict[str, str]:
        """What builds candidates, for the verdict."""
        versions = self.toolkit.versions
        return {"nvcc": versions["nvcc"].rpartition("V")[2], "g++": versions["compiler"]}

    def device_options(self) -> dict[str, Any]:
        """What a child needs to open the device: nothing of a toolchain's."""
        return {}

    def shown_to_children(self) -> list[str]:
        """What a child reads that loads an artefact: the toolkit's libraries, and PyTorch's."""
        return [str(self.toolkit.root), str(self.toolkit.torch)]

    def findings(
        self, report: dict[str, Any], artefacts: list[Artefact], candidate_text: str, recording: Recording
    ) -> list[Finding]:
        """A GPU reports none."""
        return []

    def build(self, extension: Extension, deadline_seconds: float) -> Artefact | BuildFailure:
        """The extension as a Python module, or why there is none. The deadline is wall time without waiting."""
        flags = cuda_flags(extension, self.toolkit)
        if refused := _refuse(extension, flags):
            return refused
        if flags.missing:
            raise NotJudged(f"{flags.missing[0]} is not installed on this machine")
        job = Job(extension, flags, module_name(extension), self.link_flags)
        key = f"cuda-module-{self._key(job)}"
        clock = BuildClock(deadline_seconds)
        with contextlib.ExitStack() as stack:
            with clock.stopped():
                stack.enter_context(self.cache.lock(key))
            built = self._kept.get(key, extension, job.module) or self._make(key, job, clock)
        return replace(built, waited_seconds=clock.waited_seconds)

    def still_has(self, artefacts: Sequence[Artefact]) -> bool:
        """Are they as they were built?"""
        return all(self._kept.has(artefact) for artefact in artefacts)

    def fullest(self) -> Self:
        """The same toolchain with its last way to build alone."""
        fullest = copy.copy(self)
        fullest.tiers = self.tiers[-1:]
        return fullest

    def use_fullest_alone(self) -> None:
        """From now on, the last way to build alone."""
        self.tiers = self.tiers[-1:]

    def close(self) -> None:
        """End what is being built."""
        self.pool.close()

    def _key(self, job: Job) -> str:
        how = [[tier.name for tier in self.tiers], self._confirm, self._share]
        parts = [job.extension.content_hash(), job.flags.everything, job.flags.specific, job.link_flags]
        return content_hash([parts, how, self.toolkit.versions, _own_code()])[:40]

    def _make(self, key: str, job: Job, clock: BuildClock) -> Artefact | BuildFailure:
        with clock.stopped():
            self.prepare()
        with self.cache.scratch("cuda-") as scratch:
            try:
                built = self._built(job, scratch, clock)
            except DeadlineReached:
                return BuildFailure("timeout", f"the build took longer than {clock.seconds:.0f} s")
            return self._kept.put(key, job.extension, job.module, built)

    def _built(self, job: Job, scratch: Path, clock: BuildClock) -> Built | BuildFailure:
        """What the first tier makes that can; the last one's word is final."""
        willing = [tier for tier in self.tiers if tier.takes(job)]
        suspect: Phase | None = None
        seconds = 0.0
        for tier in willing:
            workshop = Workshop(self.toolkit, scratch / tier.name, self.pool, clock)
            workshop.folder.mkdir()
            try:
                tier.build(job, workshop, suspect)
                marks = workshop.warnings
                seconds += workshop.cpu_seconds
                return Built(workshop.library, seconds, tuple(job.flags.warnings), marks, tier.name)
            except CompileFailed as failed:
                seconds += workshop.cpu_seconds
                if tier is willing[-1] or not self._to_be_confirmed(failed, job):
                    return failed.as_failure(tier.name, seconds)
                suspect = failed.phase
            except CompilerCrashed:  # another way to build may not lead it there
                seconds += workshop.cpu_seconds
                if tier is willing[-1]:
                    raise
        return BuildFailure("unsupported", "no tier of this toolchain builds such sources", feature="the tier full")

    def _to_be_confirmed(self, failed: CompileFailed, job: Job) -> bool:
        """Must a fuller build say so too?"""
        if self._confirm == "sampled":
            return int(job.extension.content_hash()[:8], 16) / (1 << 32) < self._share
        certain = is_certain(failed, by_the_linker_alone=self._confirm == "always")
        return not certain


def _refuse(extension: Extension, flags: CudaFlags) -> BuildFailure | None:
    """What needs no compiler to be refused."""
    if refused := refused_unread(extension, flags.illegal):
        return refused
    for source in (*extension.sources, *extension.headers):
        for path, line in foreign_includes(Tokens(join_lines(source.text))):
            return illegal_include(source, path, line)
        if line := _assembler_include(source.text):
            return illegal_include(source, "a file by the assembler", line)
    return None


def _assembler_include(text: str) -> int | None:
    """The line from which the assembler is told to read another file, however its literal is cut and escaped.

    A tripwire: what macros can still put together has to be kept away from files by whoever runs the builder.
    """
    characters = [(c, n) for n, row in enumerate(text.split("\n"), 1) for c in _unescaped(row) if c not in ' \t"\\#()']
    found = re.search(r"\.incbin|\.include(?!\w)", "".join(c for c, _ in characters))
    return characters[found.start()][1] if found else None


def _unescaped(row: str) -> str:
    return re.sub(r"\\x([0-9a-fA-F]{2})|\\([0-7]{3})", lambda m: chr(int(m[1], 16) if m[1] else int(m[2], 8)), row)


@functools.cache
def _own_code() -> str:
    """Hash of the code that decides what is compiled and how a failure is told: a change must not meet old entries."""
    here = Path(__file__).parent
    shared = (
        "compiler_flags.py",
        "simulator_flags.py",
        "simulator_messages.py",
        "simulator_units.py",
        "compiler_faults.py",
    )
    files = [*(here / name for name in shared), *sorted(set(here.glob("cuda*.py")) - {*_OF_THE_DEVICE})]
    files += sorted((here.parent / "simulator" / "binding").glob("b*"))
    files += sorted((here / "cuda_include" / "moore_mini").iterdir())
    return content_hash([path.read_text(encoding="utf-8") for path in files])
