"""Extensions of many programs in one run of g++, each in a namespace of its own. For code of a trusted author only.

    extensions ── rewritten, renamed, includes in front ── one unit ── g++ ── one shared object with a module for each

Reading the prelude, starting the compiler and linking are paid once. Nothing keeps one program's sources from what
another's declare: who is hostile is built alone, by `simulator.SimulatorToolchain`. Code is made with -O1, half the
compiler's time of -O2, and with the same hooks on memory accesses, so that a run can be watched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mooreeval.errors import NotJudged
from mooreeval.hashing import content_hash
from mooreeval.toolchains.base import Artefact, BuildFailure, Extension
from mooreeval.toolchains.build_pool import BuildClock, BuildPool, CompilerCrashed
from mooreeval.toolchains.simulator_compile import WRAPPED, with_run_path
from mooreeval.toolchains.simulator_merge import macros
from mooreeval.toolchains.simulator_mini import MiniTier
from mooreeval.toolchains.simulator_parts import Parts, Prepared, candidate_flags, first_error
from mooreeval.toolchains.simulator_process import Ran
from mooreeval.toolchains.simulator_units import Headers, compose, is_mergeable, module_name

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*$", re.MULTILINE)
_NAMED = re.compile(r"^program(\d+)/[^:\n]+:\d+(?::\d+)?: (?:fatal )?error:", re.MULTILINE)
_UNDEFINED = re.compile(r"undefined reference to [`']moore_batch_(\d+)::")
_UNDEFINED_NAME = re.compile(r"undefined reference to [^\n]*")
_SOURCE_OF_A_BATCH = re.compile(r"program\d+/|moore_batch_\d+::")
_SOURCE_LINE = re.compile(r'^#line 1 "', re.MULTILINE)


@dataclass(frozen=True)
class BatchBuild:
    """What became of each extension, in the order in which they were given."""

    results: tuple[Artefact | BuildFailure, ...]
    cpu_seconds: float
    runs: int  # of the compiler: 1 where nothing fails


class BatchCompiler:
    """Builds extensions that the small tensor header holds. Safe for several threads, each with a folder of its own."""

    def __init__(self, tier: MiniTier, parts: Parts, prepared: Prepared, pool: BuildPool) -> None:
        self._tier, self._parts, self._prepared, self._pool = tier, parts, prepared, pool
        self.flags = tuple("-O1" if flag == "-O2" else flag for flag in candidate_flags(False))

    def reason_against(self, extension: Extension) -> str | None:
        """Why an extension can't be one of many; None where it can."""
        if extension.headers:
            return "it brings header files of its own"
        if not is_mergeable(extension):
            return "its C++ and CUDA sources can't be read as one unit"
        return None

    def build(self, extensions: Sequence[Extension], folder: Path, deadline_seconds: float) -> BatchBuild:
        """Each extension as a module of a shared object in `folder`, or why it is none.

        One that does not compile costs one more run of the compiler, and itself alone.
        """
        work = _Work(self, folder, BuildClock(deadline_seconds))
        results: dict[int, Artefact | BuildFailure] = {}
        groups: dict[Path, list[int]] = {}
        for number, extension in enumerate(extensions):
            groups.setdefault(self._tier.prelude([s.text for s in extension.sources], self.flags), []).append(number)
        for prelude, numbers in groups.items():
            results |= work.built(prelude, {number: extensions[number] for number in numbers})
        return BatchBuild(tuple(results[k] for k in range(len(extensions))), work.cpu_seconds, work.runs)

    def compile_command(self, prelude: Path, source: str, output: str) -> list[str]:
        """One unit to an object file."""
        return [
            self._parts.compiler, *self.flags, "-include", str(prelude), *self._tier.include_flags,
            "-fmax-errors=200", "-c", source, "-o", output,
        ]  # fmt: skip

    def link_command(self, source: str, output: str) -> list[str]:
        """One object file to a shared object."""
        libraries = [str(self._prepared.runtime_lib), *with_run_path(self._tier.library)]
        checks = [WRAPPED, "-Wl,-z,defs", "-Wl,--warn-unresolved-symbols"]
        return [self._parts.compiler, "-shared", source, "-o", output, *checks, *self._parts.linker_flags, *libraries]

    def run(self, command: list[str], folder: Path, clock: BuildClock) -> Ran:
        """A compiler in a slot of the pool."""
        return self._pool.run(command, folder, clock)


class _Work:
    """One batch: halved, where it fails and the compiler names nobody."""

    def __init__(self, compiler: BatchCompiler, folder: Path, clock: BuildClock) -> None:
        self._compiler, self._folder, self._clock = compiler, folder, clock
        self.cpu_seconds, self.runs = 0.0, 0

    def built(self, prelude: Path, extensions: dict[int, Extension]) -> dict[int, Artefact | BuildFailure]:
        """Results by number."""
        if not extensions:
            return {}
        failure = self._attempt(prelude, extensions)
        if isinstance(failure, Path):
            return {number: _artefact(number, extension, failure) for number, extension in extensions.items()}
        if len(extensions) == 1:
            return dict.fromkeys(extensions, failure.told)
        named = failure.numbers & extensions.keys()
        if not named or named == extensions.keys():
            named = set(list(extensions)[: len(extensions) // 2])
            return self.built(prelude, _only(extensions, named)) | self.built(prelude, _without(extensions, named))
        alone = [self.built(prelude, {number: extensions[number]}) for number in sorted(named)]
        rest = self.built(prelude, _without(extensions, named))
        return {number: result for part in (*alone, rest) for number, result in part.items()}

    def _attempt(self, prelude: Path, extensions: dict[int, Extension]) -> Path | _Failed:
        """The shared object, or who is to blame for there being none."""
        self.runs += 1
        name = f"batch{self.runs}"
        (self._folder / f"{name}.cpp").write_text(unit_of(extensions), encoding="utf-8", errors="replace")
        try:
            ran = self._run(self._compiler.compile_command(prelude, f"{name}.cpp", f"{name}.o"))
            if ran.returncode == 0:
                ran = self._run(self._compiler.link_command(f"{name}.o", f"{name}.so"))
        except CompilerCrashed as crash:
            return _Failed(frozenset(), BuildFailure("unsupported", str(crash), feature="a compiler that crashes"))
        missing = frozenset(map(int, _UNDEFINED.findall(ran.log)))
        if ran.returncode == 0 and not missing:
            return self._folder / f"{name}.so"
        if ran.returncode is None:
            return _Failed(frozenset(), BuildFailure("timeout", "the build took too long"))
        named = frozenset(map(int, _NAMED.findall(ran.log))) | missing
        undefined = _UNDEFINED_NAME.search(ran.log)
        reason = _SOURCE_OF_A_BATCH.sub("", undefined[0] if undefined else first_error(ran.log))[:300]
        return _Failed(named, BuildFailure("compile_error", reason, log_tail=ran.log[-4000:]))

    def _run(self, command: list[str]) -> Ran:
        ran = self._compiler.run(command, self._folder, self._clock)
        self.cpu_seconds += ran.cpu_seconds
        if "-Winvalid-pch" in ran.log:
            raise NotJudged("the precompiled header does not fit this compiler any more: remove it from the cache")
        return ran


@dataclass(frozen=True)
class _Failed:
    numbers: frozenset[int]  # of the extensions that the compiler names
    told: BuildFailure


def unit_of(extensions: dict[int, Extension]) -> str:
    """One translation unit of them all: their includes, then each in a namespace, with its macros taken back."""
    texts = {number: _text_of(number, extension) for number, extension in extensions.items()}
    includes = [
        f'#line 1 "program{number}/includes"\n{line}\n'
        for number, text in texts.items()
        for line in dict.fromkeys(_INCLUDE.findall(text))
    ]
    return "".join([*includes, *(_enclosed(number, text) for number, text in texts.items())])


def _text_of(number: int, extension: Extension) -> str:
    renamed = replace(extension, name=module_of(number, extension))
    text = compose(renamed, merged=True, headers=Headers.LIGHT)[0].text
    return _SOURCE_LINE.sub(f'#line 1 "program{number}/', text)


def _enclosed(number: int, text: str) -> str:
    names = dict.fromkeys(["TORCH_EXTENSION_NAME", *macros(text)])
    before = "".join(f'#pragma push_macro("{name}")\n' for name in names)
    after = "".join(f'#pragma pop_macro("{name}")\n' for name in names)
    return f"{before}namespace moore_batch_{number} {{\n{_INCLUDE.sub('', text)}\n}}\n{after}"


def module_of(number: int, extension: Extension) -> str:
    """A module's name that no other of a batch has."""
    return f"b{number}_{content_hash([module_name(extension), extension.content_hash()])[:16]}"


def _artefact(number: int, extension: Extension, library: Path) -> Artefact:
    return Artefact(extension.content_hash(), module_of(number, extension), library, tier="batch")


def _only(extensions: dict[int, Extension], numbers: set[int]) -> dict[int, Extension]:
    return {number: extension for number, extension in extensions.items() if number in numbers}


def _without(extensions: dict[int, Extension], numbers: frozenset[int] | set[int]) -> dict[int, Extension]:
    return {number: extension for number, extension in extensions.items() if number not in numbers}
