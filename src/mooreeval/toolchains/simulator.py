"""The toolchain of the simulator: recorded CUDA C++ in, a shared object for any CPU out, by g++ alone.

    Extension ── policy (flags, includes, tampering, features) ── units (rewritten text) ── g++ ── Artefact
                     │                                                                       │
                     └──────────────────────────── BuildFailure ─────────────────────────────┘

Where the sources allow it they are built against a small tensor header first (`simulator_mini`), which costs a tenth;
what does not compile so is built behind PyTorch's own headers, and they alone can accuse a candidate.
Successes and failures are cached by content; what the deadline ended is not.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mooreeval.cache import FileCache
from mooreeval.config import PoolConfig
from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.simulator.rewrite import Tokens, host_calls, join_lines, tampering, unsupported_features
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension, Recording
from mooreeval.toolchains.build_pool import BuildClock, BuildPool
from mooreeval.toolchains.kept_builds import Built, KeptBuilds
from mooreeval.toolchains.locate import SourceMap, findings_from_report
from mooreeval.toolchains.refusals import illegal, illegal_include, place_in, refused_unread
from mooreeval.toolchains.simulator_batch import BatchCompiler
from mooreeval.toolchains.simulator_compile import Compiler, lifts_half_flags
from mooreeval.toolchains.simulator_flags import Flags, foreign_includes, sort_flags
from mooreeval.toolchains.simulator_mini import MiniCompiler, MiniTier
from mooreeval.toolchains.simulator_parts import Parts, Prepared
from mooreeval.toolchains.simulator_units import module_name
from mooreeval.verdict import Diagnostic, Finding, Place


class SimulatorToolchain:
    """Builds for the simulator; needs g++, Python's and PyTorch's headers, and no device.

    `cache_dir`: where built parts are kept (default: see `mooreeval.cache`). `torch_dir`: PyTorch's folder (default:
    the one this Python would import). Raises NotJudged where a tool is missing, UsageError for a bad cache folder.
    """

    facts = None  # there is no device to know of
    device_name = "cpu"  # where tasks run

    def __init__(
        self,
        cache_dir: Path | None = None,
        torch_dir: Path | None = None,
        pool: PoolConfig | None = None,
        tiers: Sequence[str] = ("full",),
    ):
        self.cache = FileCache(cache_dir)
        self.pool = BuildPool(self.cache, pool)
        self._kept = KeptBuilds(self.cache)
        self._parts = Parts(self.cache, self.pool, torch_dir)
        self._prepared: Prepared | None = None
        if not tiers or tiers[-1] != "full" or set(tiers) - {"mini", "full"}:
            raise UsageError(f"simulator.tiers must be mini and full, or full alone, not {', '.join(tiers) or 'none'}")
        self._mini = MiniTier(self._parts, self.cache, self.pool) if "mini" in tiers else None
        self._every_mini = (self._mini,) if self._mini else ()  # built with, also where it is out of use now

    def prepare(self) -> Prepared:
        """The shared parts, built by whoever comes first; see `Prepared`."""
        self.cache.require_space()
        prepared = self._prepared
        if prepared is None or not self._are_there(prepared):  # others' entries may have pushed them out
            prepared = self._parts.prepare()
            if self._mini:
                prepared = replace(
                    prepared, cpu_seconds=prepared.cpu_seconds | self._mini.prepare(prepared.runtime_lib)
                )
            self._prepared = prepared
        return prepared

    def _are_there(self, prepared: Prepared) -> bool:
        return self._parts.are_there(prepared) and (self._mini is None or self._mini.is_prepared())

    def fullest(self) -> Self:
        """The same toolchain with PyTorch's own headers alone."""
        fullest = copy.copy(self)
        fullest.use_fullest_alone()
        return fullest

    def use_fullest_alone(self) -> None:
        """From now on, PyTorch's own headers alone."""
        self._mini = None

    def batch_compiler(self) -> BatchCompiler:
        """What builds many extensions of a trusted author at once; `simulator.tiers` must have `mini`."""
        prepared = self.prepare()
        if self._mini is None:
            raise UsageError("many programs are built at once by the tier mini, which simulator.tiers does not have")
        return BatchCompiler(self._mini, self._parts, prepared, self.pool)

    def refused(self, extension: Extension) -> BuildFailure | None:
        """What needs no compiler to be refused; and, of a batch, what the small tensor header does not hold."""
        flags = sort_flags(extension.cflags, extension.cuda_cflags, extension.ldflags)
        if failure := _refuse(extension, flags):
            return failure
        if self._mini is None or not self._mini.takes(extension, flags):
            return BuildFailure("unsupported", "it needs PyTorch's own headers, and many are built without them")
        return None

    def close(self) -> None:
        """End what is being built."""
        self.pool.close()

    def is_prepared(self) -> bool:
        """Whether `prepare` finds its parts; making them takes about a minute, once a machine and PyTorch version."""
        prelude = self.cache.get(f"prelude-{self._parts.prelude_key(half_operators=False)}")
        return prelude is not None and (self._mini is None or self._mini.is_prepared())

    def compiler_versions(self) -> dict[str, str]:
        """What builds candidates, for the verdict."""
        return {"g++": self._parts.versions["compiler"]}

    def device_turn(self, *, shared: bool) -> AbstractContextManager[None]:
        """No waiting: everyone has a simulated device of their own."""
        del shared
        return nullcontext()

    def recorder_options(self) -> dict[str, Any]:
        """The same for the recorder, which runs no kernel."""
        return self.device_options()

    def device_options(self) -> dict[str, Any]:
        """What a child needs to open the simulated device: paths of the run time and of the device library."""
        prepared = self.prepare()
        return {"runtime_lib": str(prepared.runtime_lib), "device_lib": str(prepared.device_lib)}

    def shown_to_children(self) -> list[str]:
        """What a child reads that opens the device or loads an artefact."""
        prepared = self.prepare()
        libraries = [prepared.runtime_lib, prepared.device_lib, prepared.binding_lib]
        libraries += [mini.library for mini in self._every_mini]
        return [str(path.parent) for path in libraries if path]

    def build(self, extension: Extension, deadline_seconds: float) -> Artefact | BuildFailure:
        """The extension as a shared object, or why there is none. The deadline is wall time without waiting."""
        flags = sort_flags(extension.cflags, extension.cuda_cflags, extension.ldflags)
        refused = _refuse(extension, flags)
        if refused:
            return refused
        prepared = self.prepare()
        mini = self._mini  # an audit may take it away meanwhile
        key = f"module-{self._key(extension, flags, mini)}"
        clock = BuildClock(deadline_seconds)
        with ExitStack() as stack:
            with clock.stopped():
                stack.enter_context(self.cache.lock(key))
            kept = self._kept.get(key, extension, module_name(extension))
            built = kept or self._make(key, extension, flags, prepared, clock, mini)
        return replace(built, waited_seconds=clock.waited_seconds)

    def still_has(self, artefacts: Sequence[Artefact]) -> bool:
        """Are they, and the libraries that they load, as they were built?"""
        shared = self._prepared is None or self._are_there(self._prepared)
        return shared and all(self._kept.has(artefact) for artefact in artefacts)

    def findings(
        self, report: dict[str, Any], artefacts: list[Artefact], candidate_text: str, recording: Recording
    ) -> list[Finding]:
        """The run time's findings with lines of the candidate's own file."""
        if not report.get("findings"):
            return []
        return findings_from_report(report, artefacts, SourceMap(candidate_text, recording), self.pool.walls)

    def _key(self, extension: Extension, flags: Flags, mini: MiniTier | None) -> str:
        return content_hash(
            [
                extension.content_hash(),
                flags.defines,
                self._parts.prelude_key(lifts_half_flags(flags.defines)),
                _own_code(),
                mini.key() if mini else "",
            ]
        )[:40]

    def _make(
        self,
        key: str,
        extension: Extension,
        flags: Flags,
        prepared: Prepared,
        clock: BuildClock,
        mini: MiniTier | None,
    ) -> Artefact | BuildFailure:
        """What the first way makes that can; the last one's word is final."""
        with self.cache.scratch("build-") as scratch:
            failed, tier, seconds = None, "", 0.0
            for tier, compiler in self._ways(extension, flags, prepared, clock, mini, scratch):
                failed = compiler.build(extension, flags.defines)
                seconds += compiler.cpu_seconds
                if failed is None:
                    built = Built(compiler.library, seconds, tuple(flags.warnings), compiler.warnings, tier)
                    return self._kept.put(key, extension, module_name(extension), built)
                if failed.kind == "timeout":
                    return failed
            assert failed is not None
            return self._kept.put(key, extension, module_name(extension), replace(failed, tier=tier, seconds=seconds))

    def _ways(
        self,
        extension: Extension,
        flags: Flags,
        prepared: Prepared,
        clock: BuildClock,
        mini: MiniTier | None,
        scratch: Path,
    ) -> Iterator[tuple[str, Compiler]]:
        """Compilers by the names of their tiers, each with a folder of its own."""
        if mini and mini.takes(extension, flags):
            yield "mini", MiniCompiler(mini, self._parts, prepared, _folder(scratch, "mini"), self.pool, clock)
        yield "full", Compiler(self._parts, prepared, _folder(scratch, "full"), self.pool, clock)


def _folder(scratch: Path, name: str) -> Path:
    (scratch / name).mkdir()
    return scratch / name


def _refuse(extension: Extension, flags: Flags) -> BuildFailure | None:
    """What needs no compiler to be refused: first what is illegal, then what is not emulated."""
    if refused := refused_unread(extension, flags.illegal):
        return refused
    features: list[tuple[str, Place]] = []
    texts: list[Tokens] = []
    for source in (*extension.sources, *extension.headers):
        tokens = Tokens(join_lines(source.text))
        texts.append(tokens)
        for path, line in foreign_includes(tokens):
            return illegal_include(source, path, line)
        if hits := tampering(tokens, source.name):
            places = [place_in(source, hit.place.line) for hit in hits if hit.place and hit.place.line]
            return illegal(hits[0].rule, hits[0].message, places)
        features += [(f, place_in(source, line)) for f, line in unsupported_features(tokens)]
    if features:
        feature, place = features[0]
        return BuildFailure(
            "unsupported",
            f"{place}: {feature} is not emulated",
            feature=feature,
            diagnostics=tuple(
                Diagnostic(severity="error", message=f"{f} is not emulated", place=p) for f, p in features
            ),
        )
    return _host_in_a_kernel(extension, texts)


def _host_in_a_kernel(extension: Extension, texts: Sequence[Tokens]) -> BuildFailure | None:
    """What nvcc refuses and g++ takes: device code that calls a function of the host."""
    sources = (*extension.sources, *extension.headers)
    errors = [
        Diagnostic(severity="error", message=call.message, place=place_in(sources[call.source], call.line))
        for call in host_calls(texts)
    ]
    if not errors:
        return None
    return BuildFailure("compile_error", f"{errors[0].place}: {errors[0].message}", diagnostics=tuple(errors))


@functools.cache
def _own_code() -> str:
    """Hash of the code that decides what is compiled and how a failure is told: a change must not meet old entries."""
    here = Path(__file__).parent
    files = [here / "compiler_flags.py", here / "compiler_faults.py", *sorted(here.glob("simulator*.py"))]
    files += sorted((here.parent / "simulator" / "rewrite").glob("*.py"))
    return content_hash([path.read_text(encoding="utf-8") for path in files])
